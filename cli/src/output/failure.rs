//! The errors of commands, each with a kind and an exit code.

mod convert;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use glam::UVec2;
use panoweave::device::DeviceError;
use panoweave::geometry::MAX_CANVAS_AREA;
use panoweave::geometry::calibrate::Refusal;
use panoweave::geometry::homography::HomographyError;
use panoweave::geometry::intrinsics::IntrinsicsError;
use panoweave::geometry::rig::RigError;
use panoweave::io::picture::PictureError;
use panoweave::io::video::VideoError;
use panoweave::live::LiveError;
use panoweave::ops::features::FeatureError;
use panoweave::ops::matching::MatchError;
use panoweave::ops::stitch::StitchError;
use panoweave::ops::trajectory::TrajectoryError;
use panoweave::ops::view::{TrackError, ViewError};
use panoweave::panorama::PanoramaError;
use panoweave::quality::QualityError;
use panoweave::video::CompareError;
use panoweave::video::sound::SyncError;
use panoweave::warp::{RenderError, WarpError};
use thiserror::Error;

/// The error that ended a command.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    #[error("{0}")]
    Usage(&'static str),
    #[error("{}: raw planes do not store their size; give --size WxH", folder.display())]
    RawSize { folder: PathBuf },
    #[error("{}: a warp file stores its own size; remove --size", file.display())]
    NeedlessSize { file: PathBuf },
    #[error(
        "the size of the {side} picture is unknown; give --{side}-size WxH, or give a picture of that size with --{side} PICTURE"
    )]
    SourceSize { side: &'static str },
    #[error("{}: cannot be written: it is an input too; choose another name", file.display())]
    OutputIsInput { file: PathBuf },
    #[error("{}: cannot be written: it is a folder; name a file in it", file.display())]
    OutputIsFolder { file: PathBuf },
    #[error("{}: cannot be written: it is not a regular file; choose another name", file.display())]
    OutputIsSpecial { file: PathBuf },
    #[error("{}: cannot be written: the folder {} does not exist; create it", file.display(), folder.display())]
    OutputFolder { file: PathBuf, folder: PathBuf },
    #[error("{}: cannot be written: two outputs have this name; choose different names", file.display())]
    OutputTwice { file: PathBuf },
    #[error(
        "{}: {}×{} pixels, but {} is for {which} of {}×{} pixels; give files of matching sizes",
        file.display(), found.x, found.y, source_of_warp.display(), expected.x, expected.y
    )]
    PictureSize {
        file: PathBuf,
        which: String,
        found: UVec2,
        expected: UVec2,
        source_of_warp: PathBuf,
    },
    #[error(
        "{}: the panorama is {}×{} pixels, but --max-pixels is {limit}; describe a smaller panorama, or raise --max-pixels (up to {MAX_CANVAS_AREA})",
        map.display(), size.x, size.y
    )]
    PanoramaPixels { map: PathBuf, size: UVec2, limit: u64 },
    #[error("{} is for {expected} pictures, but {found} are given; give one input per camera, or a file for {found} pictures", source_of_warp.display())]
    PictureCount { source_of_warp: PathBuf, found: usize, expected: usize },
    #[error(
        "{}: the size is {}×{} pixels, but {} describes a panorama of {}×{} pixels; give the file that made this panorama",
        panorama.display(), found.x, found.y, map.display(), expected.x, expected.y
    )]
    PanoramaSize { panorama: PathBuf, map: PathBuf, found: UVec2, expected: UVec2 },
    #[error(
        "--sync: {found} offsets are given, but {expected} are needed: one for each video after the first"
    )]
    SyncCount { found: usize, expected: usize },
    #[error(
        "{option}: given {found} time{} for {expected} cameras; give the option once per camera, in the order of the cameras",
        if *found == 1 { "" } else { "s" }
    )]
    ColourCount { option: &'static str, found: usize, expected: usize },
    #[error(
        "the output would have {rows} rows of {columns} numbers, which are {numbers}, but --max-numbers is {limit}; lower --fps, or raise --max-numbers"
    )]
    OutputNumbers { rows: u64, columns: u64, numbers: u64, limit: u64 },
    #[error(
        "--anchor {anchor}: there are only {cameras} cameras; give a number from 1 to {cameras}"
    )]
    Anchor { anchor: usize, cameras: usize },
    #[error(
        "{}: the mask is {}×{} pixels, but the picture {} is {}×{} pixels; give a mask of the size of the picture",
        mask.display(), found.x, found.y, picture.display(), expected.x, expected.y
    )]
    MaskSize { mask: PathBuf, found: UVec2, picture: PathBuf, expected: UVec2 },
    #[error(
        "{}: the mask leaves no visible pixel of the picture {}; a mask is white where its picture is used",
        mask.display(), picture.display()
    )]
    MaskAll { mask: PathBuf, picture: PathBuf },
    #[error("{}: a homography is for exactly two pictures or videos, but {found} are given; give two, or a rig with --rig", homography.display())]
    HomographyCount { homography: PathBuf, found: usize },
    #[error("{}: {reason}; give the cameras' pictures or videos with --cameras LEFT RIGHT", map.display())]
    NeedsCameras { map: PathBuf, reason: &'static str },
    #[error("{}: stopped by a second signal before it was finished", file.display())]
    Interrupted { file: PathBuf },
    #[error(
        "{}: stopped by a signal, but not finished within {} s; its encoder or the reader of a pipe does not read, or the disk is slow: raise --finish-limit",
        file.display(), limit.as_secs()
    )]
    FinishLimit { file: PathBuf, limit: Duration },
    #[error("{}: not written: stopped before the first frame", file.display())]
    NotBegun { file: PathBuf },
    #[error("stopped by a signal; each output file is either complete or unchanged")]
    Stopped,
    #[error("{} is a picture but {} is a video; give only pictures or only videos", picture.display(), video.display())]
    Kinds { picture: PathBuf, video: PathBuf },
    #[error("--fail-below: there is no score {name}; choose one of: {known}")]
    Gate { name: String, known: String },
    #[error(
        "--fail-below: no value was measured for {name}, so the limit cannot be checked; give another score, or remove the option"
    )]
    NotMeasured { name: String },
    #[error("{}: cannot be written: {source}", file.display())]
    TextUnwritable { file: PathBuf, source: io::Error },
    #[error("{}: manual pages cannot be written: {source}; give an existing folder", folder.display())]
    ManPages { folder: PathBuf, source: io::Error },
    #[error("{}: cannot be written: {expected}", file.display())]
    OutputName { file: PathBuf, expected: &'static str },
    #[error("signal handlers cannot be installed: {0}")]
    Signals(io::Error),
    #[error(
        "the threads that compute cannot be started: {0}; allow more memory or processes, or set RAYON_NUM_THREADS=1"
    )]
    Threads(String),
    #[error("the result cannot be printed: {0}")]
    Stdout(#[from] io::Error),
    #[error(transparent)]
    Rig(#[from] RigError),
    #[error(transparent)]
    Homography(#[from] HomographyError),
    #[error(transparent)]
    Lens(#[from] IntrinsicsError),
    #[error(transparent)]
    Warp(#[from] WarpError),
    #[error(transparent)]
    Picture(#[from] PictureError),
    #[error(transparent)]
    Render(RenderError),
    #[error(transparent)]
    Stitch(StitchError),
    #[error(transparent)]
    Panorama(PanoramaError),
    #[error(transparent)]
    Features(FeatureError),
    #[error(transparent)]
    Matching(MatchError),
    #[error(transparent)]
    Trajectory(TrajectoryError),
    #[error("{files}: {refusal}")]
    Refused { files: String, refusal: Refusal },
    #[error(transparent)]
    Quality(QualityError),
    #[error("{files}: {error}")]
    Compare { files: String, error: CompareError },
    #[error(transparent)]
    Video(VideoError),
    #[error("{source}; {} was written, but ends after panorama {written}", output.display())]
    Incomplete { output: PathBuf, written: u64, source: Box<Failure> },
    #[error(transparent)]
    Sync(SyncError),
    #[error(transparent)]
    Live(LiveError),
    #[error(transparent)]
    View(ViewError),
    #[error(transparent)]
    Track(TrackError),
    // Print only the kind of the device error. Its source code location does not help a user who has no device.
    #[error("no usable device: {}", .0.kind)]
    NoDevice(DeviceError),
    #[error(transparent)]
    Device(DeviceError),
}

/// The exit code if `calibrate --check` finds that a rig has drifted, or if a score is below `--fail-below`.
pub(crate) const CHECK_FAILED: u8 = 5;

/// The kind of a failure. The JSON error contains its name, so that scripts can distinguish kinds that share an exit
/// code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Usage,
    Input,
    Output,
    Device,
    NoDevice,
    DeviceLost,
    Interrupted,
}

impl Kind {
    /// Returns the name of the kind in the JSON error.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::Input => "input",
            Self::Output => "output",
            Self::Device => "device",
            Self::NoDevice => "no_device",
            Self::DeviceLost => "device_lost",
            Self::Interrupted => "interrupted",
        }
    }

    /// Returns the program's exit code.
    pub(crate) fn exit_code(self) -> u8 {
        match self {
            Self::Device => 1,
            Self::Usage | Self::Input | Self::Output => 2,
            Self::NoDevice => 3,
            Self::DeviceLost => 4,
            // Shells report 128 + 2 for a program that SIGINT (signal 2) ended.
            Self::Interrupted => 130,
        }
    }
}

impl Failure {
    /// Creates the failure that reports why the pictures in `files` could not be calibrated.
    pub(crate) fn refused(files: &[&Path], refusal: Refusal) -> Self {
        Self::Refused { files: listed(files), refusal }
    }

    /// Creates the failure that reports why the pictures or videos in `files` could not be compared. Converts device
    /// and video errors to the failures that they cause in any other command.
    pub(crate) fn compare(files: &[&Path], error: impl Into<CompareError>) -> Self {
        match error.into() {
            CompareError::Device(error) => error.into(),
            CompareError::Video(error) => error.into(),
            error => Self::Compare { files: listed(files), error },
        }
    }

    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Usage(_)
            | Self::RawSize { .. }
            | Self::NeedlessSize { .. }
            | Self::SourceSize { .. }
            | Self::NeedsCameras { .. }
            | Self::SyncCount { .. }
            | Self::ColourCount { .. }
            | Self::OutputNumbers { .. }
            | Self::Anchor { .. }
            | Self::Gate { .. } => Kind::Usage,
            Self::OutputIsInput { .. }
            | Self::OutputIsFolder { .. }
            | Self::OutputIsSpecial { .. }
            | Self::OutputFolder { .. }
            | Self::OutputTwice { .. }
            | Self::OutputName { .. }
            | Self::TextUnwritable { .. }
            | Self::ManPages { .. }
            | Self::Stdout(_)
            | Self::Warp(WarpError::Unwritable { .. })
            | Self::Trajectory(TrajectoryError::Unwritable { .. } | TrajectoryError::Output(_))
            | Self::Rig(RigError::Unsaved { .. })
            | Self::Picture(
                PictureError::Extension { .. }
                | PictureError::Unencodable { .. }
                | PictureError::Unwritable { .. },
            ) => Kind::Output,
            Self::PictureSize { .. }
            | Self::PictureCount { .. }
            | Self::MaskSize { .. }
            | Self::MaskAll { .. }
            | Self::HomographyCount { .. }
            | Self::Rig(_)
            | Self::Homography(_)
            | Self::Lens(_)
            | Self::Warp(_)
            | Self::Picture(_)
            | Self::Render(_)
            | Self::Stitch(_)
            | Self::Panorama(_)
            | Self::Features(_)
            | Self::Matching(_)
            | Self::Kinds { .. }
            | Self::PanoramaSize { .. }
            | Self::PanoramaPixels { .. }
            | Self::Quality(_)
            | Self::NotMeasured { .. }
            | Self::Compare { .. }
            | Self::View(_)
            | Self::Track(_)
            | Self::Trajectory(_)
            | Self::Sync(_)
            | Self::Refused { .. } => Kind::Input,
            // The system had too little memory or too many threads to start another thread. A later attempt may
            // succeed, as after a device error, so the kind is the same.
            Self::Video(VideoError::Thread(_)) | Self::Live(LiveError::Thread(_)) => Kind::Device,
            Self::Video(error) if let Some(error) = error.device_error() => device_kind(error),
            Self::Video(error) if error.is_of_output() => Kind::Output,
            Self::Video(_) | Self::Live(_) => Kind::Input,
            Self::Interrupted { .. }
            | Self::FinishLimit { .. }
            | Self::NotBegun { .. }
            | Self::Stopped => Kind::Interrupted,
            Self::Signals(_) | Self::Threads(_) => Kind::Device,
            Self::Incomplete { source, .. } => source.kind(),
            Self::NoDevice(_) => Kind::NoDevice,
            Self::Device(error) => device_kind(error),
        }
    }
}

/// Returns the kind of an error of the device.
fn device_kind(error: &DeviceError) -> Kind {
    if error.is_fatal() { Kind::DeviceLost } else { Kind::Device }
}

/// Joins file names with commas and "and". If there are more than four files, names only the first and the last, and
/// counts the others.
fn listed(files: &[&Path]) -> String {
    let names: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
    match &names[..] {
        [first, rest @ .., last] if rest.len() > 2 => {
            format!("{first}, {} more and {last}", rest.len())
        }
        [rest @ .., last] if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        names => names.concat(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use panoweave::video::VideoStitchError;

    use super::*;

    #[test]
    fn a_thread_that_cannot_start_is_no_fault_of_the_input() {
        let error = || io::Error::from(io::ErrorKind::WouldBlock);
        let live = LiveError::Thread(Arc::new(error()));
        for error in [VideoError::Thread(error()).into(), VideoStitchError::Live(live)] {
            assert_eq!(Failure::from(error).kind().exit_code(), 1);
        }
    }
}
