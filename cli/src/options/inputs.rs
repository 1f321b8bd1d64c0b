//! The options for input videos that do not store their size or rate. Also distinguishes pictures from videos by the
//! file name.

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use glam::UVec2;
use panoweave::frame::Rate;
use panoweave::io::picture::Picture;
use panoweave::io::video::{Medium, STANDARD, StreamFormat, VideoInput};

use crate::options::input_limits::InputLimits;
use crate::options::values::{format, picture_size};
use crate::output::failure::Failure;
use crate::output::{inode, input_file};

/// The options that state the format, frame size and frame rate of videos.
#[derive(Debug, clap::Args)]
pub(crate) struct Clips {
    /// Format of the input videos: y4m, or the pixel format of raw frames without a header. Default: the file
    /// extension selects the format (.y4m, .nv12, …), and ffmpeg reads files with any other extension.
    #[arg(long, value_parser = format(), value_name = "FORMAT")]
    input_format: Option<StreamFormat>,
    /// Frame size of raw videos in pixels. Required for raw videos, because they do not store their
    /// size.
    #[arg(long, value_name = "WxH", value_parser = picture_size)]
    input_size: Option<UVec2>,
    /// Frame rate in frames per second, such as 30 or 30000/1001. It is required for raw videos and numbered pictures,
    /// which do not store a rate: they are read at this rate. Other videos keep the times of their frames; the frame
    /// that is nearest in time is measured at this rate.
    #[arg(long, value_name = "RATE", allow_negative_numbers = true)]
    fps: Option<Rate>,
    #[command(flatten)]
    limits: InputLimits,
}

impl Clips {
    /// Returns whether `file` is a single picture: it has a picture's extension, is not a pattern of numbered pictures,
    /// and `--input-format` is not given.
    pub(crate) fn is_picture(&self, file: &Path) -> Result<bool, Failure> {
        Ok(self.medium(file)? == Medium::File && Picture::check_name(file).is_ok())
    }

    /// Returns true if all files are pictures, and false if all files are videos. Fails if there are both, or if all
    /// files are pictures but an option for videos is given.
    pub(crate) fn are_pictures(&self, files: &[&Path]) -> Result<bool, Failure> {
        let mut kinds = Vec::with_capacity(files.len());
        for file in files {
            kinds.push(self.is_picture(file)?);
        }
        let of = |kind: bool| kinds.iter().position(|is| *is == kind).map(|i| files[i].display());
        let asked = self.input_format.is_some() || self.input_size.is_some() || self.fps.is_some();
        match (of(true), of(false)) {
            (Some(picture), Some(video)) => Err(Failure::input(format!(
                "{picture} is a picture but {video} is a video; give only pictures or only videos"
            ))),
            (Some(_), None) if asked => Err(Failure::usage(
                "--input-format, --input-size and --fps require videos, but these are pictures",
            )),
            (picture, _) => Ok(picture.is_some()),
        }
    }

    /// Returns the description from which the video in `file` is opened: its path, medium, frame size and frame rate.
    pub(crate) fn input(&self, file: &Path) -> Result<VideoInput, Failure> {
        Ok(VideoInput {
            size: self.input_size,
            rate: self.fps,
            ten_bit: true,
            limits: self.limits.limits(),
            ..VideoInput::new(file, self.medium(file)?)
        })
    }

    /// Returns the number of frames per second that are measured, if it is given.
    pub(crate) fn rate(&self) -> Option<Rate> {
        self.fps
    }

    fn medium(&self, file: &Path) -> Result<Medium, Failure> {
        Ok(Medium::of_input(file, self.input_format)?)
    }
}

/// Returns the files from which a video is read. For a pattern of numbered pictures, these are all existing pictures.
/// For any other video, it is a single file.
pub(crate) fn files(input: &VideoInput) -> Result<Vec<PathBuf>, Failure> {
    Ok(match &input.medium {
        Medium::Pictures(pattern) => {
            pattern.numbers()?.into_iter().map(|n| pattern.file(n)).collect()
        }
        _ => vec![input_file(&input.path).into()],
    })
}

/// Checks that no two videos are read from the same pipe or device, because each frame of a pipe reaches only one of
/// its readers.
pub(crate) fn check_pipes(files: &[impl AsRef<Path>]) -> Result<(), Failure> {
    let mut pipes = Vec::new();
    let mut reads_stdin = false;
    for file in files.iter().map(AsRef::as_ref) {
        let is_stdin = file == Path::new(STANDARD);
        if is_stdin && reads_stdin {
            return Err(Failure::usage("only one of the videos can be standard input"));
        }
        reads_stdin |= is_stdin;
        // Ignore a file that cannot be queried here: opening it returns an error that names it.
        let Some(pipe) = inode(input_file(file), |kind| kind.is_fifo() || kind.is_char_device())
        else {
            continue;
        };
        if pipes.contains(&pipe) {
            return Err(Failure::usage(
                "two of the videos are the same pipe or device, which would split its frames between them; use one for each video",
            ));
        }
        pipes.push(pipe);
    }
    Ok(())
}
