//! Inputs that are pictures or videos, and the properties that raw videos do not store.

use std::path::{Path, PathBuf};

use glam::UVec2;
use panoweave::frame::Rate;
use panoweave::io::picture::Picture;
use panoweave::io::video::{Medium, STANDARD, VideoInput};

use crate::options::format::Format;
use crate::options::values::picture_size;
use crate::output::failure::Failure;

/// Properties of videos whose files do not store them.
#[derive(Debug, clap::Args)]
pub(crate) struct Clips {
    /// Format of the videos. Default: from their names.
    #[arg(long, value_enum, value_name = "FORMAT")]
    input_format: Option<Format>,
    /// Size of the frames of raw videos (nv12, rgba), which do not store it.
    #[arg(long, value_name = "WxH", value_parser = picture_size)]
    input_size: Option<UVec2>,
    /// Frames per second, such as 30 or 30000/1001. Raw videos and numbered pictures, which store none, require it.
    /// Videos that ffmpeg reads are converted to this rate.
    #[arg(long, value_name = "RATE", allow_negative_numbers = true)]
    fps: Option<Rate>,
}

impl Clips {
    /// Returns whether `file` has a picture's extension and is not a pattern of numbered pictures.
    pub(crate) fn is_picture(&self, file: &Path) -> Result<bool, Failure> {
        Ok(self.medium(file)? == Medium::File && Picture::check_name(file).is_ok())
    }

    /// Returns whether all files are pictures rather than videos. A mixture is an error.
    pub(crate) fn are_pictures(&self, files: &[&Path]) -> Result<bool, Failure> {
        let mut kinds = Vec::with_capacity(files.len());
        for file in files {
            kinds.push(self.is_picture(file)?);
        }
        let of = |kind: bool| kinds.iter().position(|is| *is == kind).map(|i| files[i].to_owned());
        let asked = self.input_format.is_some() || self.input_size.is_some() || self.fps.is_some();
        match (of(true), of(false)) {
            (Some(picture), Some(video)) => Err(Failure::Kinds { picture, video }),
            (Some(_), None) if asked => Err(Failure::Usage(
                "--input-format, --input-size and --fps require videos, but these are pictures",
            )),
            (picture, _) => Ok(picture.is_some()),
        }
    }

    /// Returns the description of the video in `file`, for opening it.
    pub(crate) fn input(&self, file: &Path) -> Result<VideoInput, Failure> {
        let (path, medium) = (file.to_owned(), self.medium(file)?);
        Ok(VideoInput { path, medium, size: self.input_size, rate: self.fps })
    }

    fn medium(&self, file: &Path) -> Result<Medium, Failure> {
        Ok(Medium::of_input(file, self.input_format.map(Into::into))?)
    }
}

/// Returns the files from which a video is read: one, or one per numbered picture.
pub(crate) fn files(input: &VideoInput) -> Result<Vec<PathBuf>, Failure> {
    Ok(match &input.medium {
        Medium::Pictures(pattern) => {
            pattern.numbers()?.into_iter().map(|n| pattern.file(n)).collect()
        }
        _ if input.path == Path::new(STANDARD) => vec!["/dev/stdin".into()],
        _ => vec![input.path.clone()],
    })
}
