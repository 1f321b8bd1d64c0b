//! The error of a job.

use std::path::{Path, PathBuf};

use glam::UVec2;

use crate::device::DeviceError;
use crate::error::{Classify, Kind, TextPlace};
use crate::geometry::calibrate::Refusal;
use crate::geometry::homography::HomographyError;
use crate::geometry::intrinsics::IntrinsicsError;
use crate::geometry::rig::RigError;
use crate::io::picture::PictureError;
use crate::io::text::TextError;
use crate::io::video::VideoError;
use crate::live::LiveError;
use crate::ops::matching::MatchError;
use crate::ops::view::{TrackError, ViewError};
use crate::panorama::PanoramaError;
use crate::video::VideoStitchError;
use crate::video::sound::SyncError;
use crate::warp::{RenderError, WarpError};

/// Defines the error with a variant for each error that it passes on unchanged.
macro_rules! job_error {
    ($($name:ident($type:ty),)+) => {
        /// The error for a job that could not be read or done.
        #[derive(Debug, thiserror::Error)]
        #[non_exhaustive]
        #[expect(missing_docs, reason = "the fields of each variant are explained by its message")]
        pub enum JobError {
            /// The file of the job is no TOML, or does not describe a job.
            #[error("{}:{line}:{column}: {reason}", file.display())]
            Syntax { file: PathBuf, line: usize, column: usize, reason: String },
            /// Fields of the job contradict each other or are missing.
            #[error("{0}")]
            Usage(String),
            /// An input does not fit the job.
            #[error("{}: {reason}", file.display())]
            Input { file: PathBuf, reason: String },
            /// The pictures could not be calibrated.
            #[error("{files}: {refusal}")]
            Refused { files: String, refusal: Refusal },
            /// An output file cannot be written.
            #[error("{}: cannot be written: {reason}", file.display())]
            Output { file: PathBuf, reason: String },
            /// The job was stopped before it wrote an output.
            #[error("{}: not written: stopped before the first frame", file.display())]
            Stopped { file: PathBuf },
            /// The job was stopped before it had a result.
            #[error("stopped by a signal; each output file is either complete or unchanged")]
            Interrupted,
            $(#[doc = "A part of the job failed."]
            #[error(transparent)]
            $name(#[from] $type),)+
        }

        impl Classify for JobError {
            fn inner(&self) -> Option<&dyn Classify> {
                match self {
                    $(Self::$name(error) => Some(error),)+
                    _ => None,
                }
            }

            fn kind(&self) -> Kind {
                match self {
                    Self::Usage(_) => Kind::Usage,
                    Self::Output { .. } => Kind::Output,
                    Self::Stopped { .. } | Self::Interrupted => Kind::Interrupted,
                    _ => self.inner().map_or(Kind::Input, <dyn Classify>::kind),
                }
            }

            fn place(&self) -> Option<TextPlace<'_>> {
                let Self::Syntax { file, line, column, .. } = self else {
                    return self.inner()?.place();
                };
                Some(TextPlace { file, line: *line, column: *column, word: "" })
            }
        }
    };
}

job_error! {
    Device(DeviceError),
    Intrinsics(IntrinsicsError),
    Match(MatchError),
    Panorama(PanoramaError),
    Picture(PictureError),
    Homography(HomographyError),
    Live(LiveError),
    Render(RenderError),
    Rig(RigError),
    Sync(SyncError),
    Text(TextError),
    Track(TrackError),
    Video(VideoError),
    VideoStitch(VideoStitchError),
    View(ViewError),
    Warp(WarpError),
}

impl JobError {
    pub(super) fn usage(text: &str) -> Self {
        Self::Usage(text.to_owned())
    }

    pub(super) fn input(file: &Path, reason: impl Into<String>) -> Self {
        Self::Input { file: file.to_owned(), reason: reason.into() }
    }

    /// Returns the error of an output file that cannot be written.
    pub(super) fn output(file: &Path, reason: impl Into<String>) -> Self {
        Self::Output { file: file.to_owned(), reason: reason.into() }
    }

    /// Returns the error of an output file that is also an input.
    #[must_use]
    pub fn output_is_input(file: &Path) -> Self {
        Self::output(file, "it is an input too; choose another name")
    }

    /// Returns the error of the pictures in `files`, which could not be calibrated.
    #[must_use]
    pub fn refused(files: &[impl AsRef<Path>], refusal: Refusal) -> Self {
        Self::Refused { files: listed(files), refusal }
    }

    /// Returns the error of a picture whose size does not fit `map`, which is for `which` of another size.
    #[must_use]
    pub fn picture_size(
        file: &Path,
        found: UVec2,
        map: &Path,
        which: &str,
        expected: UVec2,
    ) -> Self {
        let reason = format!(
            "{}×{} pixels, but {} is for {which} of {}×{} pixels; give files of matching sizes",
            found.x,
            found.y,
            map.display(),
            expected.x,
            expected.y
        );
        Self::input(file, reason)
    }
}

/// Joins file names with commas and "and". If there are more than four files, names only the first and the last, and
/// counts the others.
pub fn listed(files: &[impl AsRef<Path>]) -> String {
    let names: Vec<_> = files.iter().map(|file| file.as_ref().display().to_string()).collect();
    match &names[..] {
        [first, rest @ .., last] if rest.len() > 2 => {
            format!("{first}, {} more and {last}", rest.len())
        }
        [rest @ .., last] if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        names => names.concat(),
    }
}
