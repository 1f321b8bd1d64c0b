//! A job: one description of inputs, options and outputs, for files, programs and elements.
//!
//! A [`Job`] stitches the videos ([`VideoJob`]) or the pictures ([`StitchJob`]) of cameras. It is written as TOML, and `panoweave run` does
//! the job in a file:
//!
//! ```
//! use panoweave::job::Job;
//!
//! let text = r#"
//! [video]
//! videos = ["left.mp4", "right.mp4"]
//! map.rig = "rig.toml"
//! blend = { blend = "seam", feather = 8 }
//!
//! [[video.outputs]]
//! output = "panorama.mp4"
//! "#;
//! let job = Job::parse(text, "job.toml")?;
//! assert_eq!(Job::parse(&job.to_toml()?, "printed.toml")?, job);
//! # Ok::<_, panoweave::job::JobError>(())
//! ```
//!
//! Each option is a field with its documentation, and its default in the `Default` of its table. [`schema`] lists the
//! fields, from which the program makes its arguments and the GStreamer element its properties.

mod error;
pub mod files;
mod map;
mod moments;
mod options;
mod photos;
mod rig_check;
pub mod schema;
mod stitch;
mod sync;
mod target;
mod text;
mod video;
mod view;

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::Table;

use crate::io::text::{read_text, toml_place};

pub use error::{JobError, listed};
pub use map::{Map, Recipe, check_pictures};
pub use options::{
    BlendOptions, DecoderName, InputOptions, LensOptions, LookOptions, MapOptions, MaskOptions,
    ShapeOptions, VideoOutputOptions, ViewOptions,
};
pub use photos::{CalibrateJob, Calibrated, calibrate_photos};
pub use rig_check::told;
pub use stitch::{StitchJob, StitchReport, stitch_photos};
pub use sync::Synced;
pub use text::{File, Gain, Moment, Size, Sync};
pub use video::{Event, OutputReport, VideoJob, VideoReport};
pub use view::{Corrections, View};

/// A job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Job {
    /// Stitches videos.
    Video(VideoJob),
    /// Stitches pictures.
    Stitch(StitchJob),
}

impl Job {
    /// Reads the TOML file of a job. Paths in it are relative to the working folder.
    ///
    /// # Errors
    /// Returns [`JobError`] if the file cannot be read or describes no job.
    pub fn open(file: impl AsRef<Path>) -> Result<Self, JobError> {
        Self::parse(&read_text(file.as_ref())?, file)
    }

    /// Parses the TOML of a job. Error messages name `file`.
    ///
    /// # Errors
    /// Returns [`JobError`] if the text describes no job, or a value is out of range.
    pub fn parse(text: &str, file: impl AsRef<Path>) -> Result<Self, JobError> {
        let job: Self = toml::from_str(text).map_err(|error| {
            let (line, column, reason) = toml_place(text, &error);
            JobError::Syntax { file: file.as_ref().to_owned(), line, column, reason }
        })?;
        let checked = match &job {
            Self::Video(job) => schema::check(job),
            Self::Stitch(job) => schema::check(job),
        };
        checked.map_err(|reason| JobError::input(file.as_ref(), reason))?;
        Ok(job)
    }

    /// Returns the TOML of the job, with the values that differ from the defaults.
    ///
    /// # Errors
    /// Returns [`JobError::Usage`] if a value cannot be written as TOML.
    pub fn to_toml(&self) -> Result<String, JobError> {
        let no_toml = |error: toml::ser::Error| JobError::Usage(format!("no TOML: {error}"));
        let mut table = Table::try_from(self).map_err(no_toml)?;
        let default = match self {
            // Each output is compared with the first one here.
            Self::Video(_) => {
                let outputs = vec![VideoOutputOptions::default()];
                Self::Video(VideoJob { outputs, ..VideoJob::default() })
            }
            Self::Stitch(_) => Self::Stitch(StitchJob::default()),
        };
        schema::prune(&mut table, &Table::try_from(default).map_err(no_toml)?);
        toml::to_string(&table).map_err(no_toml)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file is read like the options of a program: names, ranges and texts are checked.
    #[test]
    fn wrong_values_are_refused_with_their_place_and_remedy() {
        let said = |fields: &str| {
            let text = format!("[video]\nvideos = [\"a.mp4\"]\n{fields}\n");
            Job::parse(&text, "job.toml").unwrap_err().to_string()
        };
        for (fields, expected) in [
            ("frame = 1", "job.toml:3:1: unknown field `frame`, expected one of"),
            ("device = \"gpu\"", "job.toml:3:10: the device must be auto, cpu"),
            ("frames = 0", "job.toml: `frames` is 0, but must be a whole number of at least 1"),
            ("look.gamma = [1, 200]", "job.toml: `gamma` is 200.0, but must be a number from"),
            ("look.lookup = \"best\"", "job.toml:3:15: unknown name best; use one of auto, mesh"),
            (
                "[[video.outputs]]\ncrf = 60",
                "job.toml: `crf` is 60, but must be a whole number from 0",
            ),
            ("[[video.outputs]]\ndepth = 9", "job.toml: `depth` is 9, but must be one of 8, 10"),
            ("[[video.outputs]]\nview.view-size = \"3\"", "job.toml:4:18: a size must be"),
        ] {
            let found = said(fields);
            assert!(found.starts_with(expected), "{fields}: {found}");
        }
    }
}
