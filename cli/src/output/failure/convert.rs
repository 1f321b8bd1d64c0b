//! Converts the errors of the library to failures.

use panoweave::device::DeviceError;
use panoweave::io::video::VideoError;
use panoweave::live::LiveError;
use panoweave::ops::convolve::ConvolveError;
use panoweave::ops::features::FeatureError;
use panoweave::ops::matching::MatchError;
use panoweave::ops::resample::ResampleError;
use panoweave::ops::stitch::StitchError;
use panoweave::ops::trajectory::TrajectoryError;
use panoweave::ops::view::{TrackError, ViewError};
use panoweave::panorama::PanoramaError;
use panoweave::quality::QualityError;
use panoweave::video::VideoStitchError;
use panoweave::video::sound::SyncError;
use panoweave::warp::RenderError;

use crate::output::failure::Failure;

impl From<DeviceError> for Failure {
    fn from(error: DeviceError) -> Self {
        if error.is_no_device() { Self::NoDevice(error) } else { Self::Device(error) }
    }
}

impl From<RenderError> for Failure {
    fn from(error: RenderError) -> Self {
        match error {
            RenderError::Device(error) => error.into(),
            other => Self::Render(other),
        }
    }
}

impl From<StitchError> for Failure {
    fn from(error: StitchError) -> Self {
        match error {
            StitchError::Device(error) => error.into(),
            other => Self::Stitch(other),
        }
    }
}

impl From<PanoramaError> for Failure {
    fn from(error: PanoramaError) -> Self {
        match error {
            PanoramaError::Device(error) => error.into(),
            other => Self::Panorama(other),
        }
    }
}

impl From<FeatureError> for Failure {
    fn from(error: FeatureError) -> Self {
        match error {
            FeatureError::Device(error) | FeatureError::Convolve(ConvolveError::Device(error)) => {
                error.into()
            }
            other => Self::Features(other),
        }
    }
}

impl From<MatchError> for Failure {
    fn from(error: MatchError) -> Self {
        match error {
            MatchError::Device(error) => error.into(),
            MatchError::Features(error) => error.into(),
            other => Self::Matching(other),
        }
    }
}

impl From<QualityError> for Failure {
    fn from(error: QualityError) -> Self {
        match error {
            QualityError::Device(error) => error.into(),
            other => Self::Quality(other),
        }
    }
}

impl From<ViewError> for Failure {
    fn from(error: ViewError) -> Self {
        match error {
            ViewError::Stitch(error) => error.into(),
            other => Self::View(other),
        }
    }
}

impl From<TrackError> for Failure {
    fn from(error: TrackError) -> Self {
        match error {
            TrackError::Trajectory(error) => error.into(),
            other => Self::Track(other),
        }
    }
}

impl From<TrajectoryError> for Failure {
    fn from(error: TrajectoryError) -> Self {
        match error {
            TrajectoryError::Resample(ResampleError::Device(error)) => error.into(),
            other => Self::Trajectory(other),
        }
    }
}

impl From<LiveError> for Failure {
    fn from(error: LiveError) -> Self {
        match error {
            LiveError::Device(error) => error.into(),
            other => Self::Live(other),
        }
    }
}

impl From<VideoStitchError> for Failure {
    fn from(error: VideoStitchError) -> Self {
        match error {
            VideoStitchError::Video(error) => error.into(),
            VideoStitchError::Live(error) => error.into(),
            VideoStitchError::Incomplete { output, written, source } => {
                Self::Incomplete { output, written, source: Box::new((*source).into()) }
            }
        }
    }
}

impl From<SyncError> for Failure {
    fn from(error: SyncError) -> Self {
        match error {
            SyncError::Video(error) => error.into(),
            other => Self::Sync(other),
        }
    }
}

impl From<VideoError> for Failure {
    fn from(error: VideoError) -> Self {
        match error {
            VideoError::Picture(error) => Self::Picture(error),
            other => Self::Video(other),
        }
    }
}
