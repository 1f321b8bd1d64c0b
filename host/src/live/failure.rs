//! Options for cameras that fail, and the state, the events and the health figures of each camera.

use std::fmt;
use std::time::Duration;

use shared_types::Rgba8;

use super::error::LiveError;

/// The maximum of the options that count frames.
const MOST: u32 = 10_000;

/// Options for cameras that fail: those that deliver no frames, or frames without a picture.
///
/// The share of a failed camera fades to the neighbours that cover the same pixels. Where no other camera covers a
/// pixel, the panorama shows its last frame for [`hold`](Self::hold) panoramas, and then fades to
/// [`colour`](Self::colour). A failed camera is not compared with the others, so their colours and seams stay as they
/// are.
///
/// All times are numbers of panoramas, so a pause does not count. [`at_rate`](Self::at_rate) computes them from the
/// frame rate. No panorama is made, and no state changes, while no camera delivers frames.
///
/// Panoramas and views follow with every [`Lookup`](crate::ops::stitch::Lookup). Only a fade takes extra time: a kernel
/// rewrites the weights of all cameras, and with [`Mesh`](crate::ops::stitch::Lookup::Mesh) another one the shares of
/// the mesh. While a camera shows `colour`, a panorama with another lookup takes one launch per camera and one more.
/// Device memory per panorama pixel: 4 bytes per camera for a copy of the weights and, without `Mesh`, 16 bytes for
/// sums. A view of two cameras does not show `colour` if the device cannot read their frames as textures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FailureOptions {
    /// The time by which a camera's next frame may lag behind the newest frame of the other cameras. After that, a set
    /// is completed with the last frame of this camera. If a timestamp is wrong by seconds and in the future, the
    /// frames of all other cameras are late until the next frame of its camera, or until this camera is absent.
    pub deadline: Duration,
    /// The number of consecutive panoramas without its frame after which a camera is [`Gone`](CameraState::Gone).
    pub gone: u32,
    /// The number of frames with which a camera that was gone returns, and of consecutive analyses with good pictures
    /// with which a camera is no longer frozen or black.
    pub settle: u32,
    /// The number of panoramas from one analysis of the pictures to the next.
    pub every: u32,
    /// The number of consecutive analyses without a change of the picture after which a camera is
    /// [`Frozen`](CameraState::Frozen). Real cameras have noise, so no two of their pictures are equal. Test pictures,
    /// screens and strongly compressed videos may be equal without a failure, so the state is only reported.
    pub frozen: u32,
    /// The number of consecutive analyses without content in the picture after which a camera is
    /// [`Black`](CameraState::Black) and leaves the panorama. If no camera has content, the scene is dark, so all
    /// cameras stay.
    pub black: u32,
    /// The maximum standard deviation of the luma, in levels of 255, of a picture without content. Such a picture has
    /// one colour, for instance because the lens is covered or the signal is missing. Sensor noise at night is usually
    /// higher.
    pub deviation: f64,
    /// The number of panoramas in which a camera fades out or in, and in which the last frame fades to `colour`.
    pub fade: u32,
    /// The number of panoramas that show the last frame of a failed camera where no other camera covers a pixel.
    pub hold: u32,
    /// The colour that replaces a failed camera where no other camera covers a pixel. The default is a dark grey: it
    /// differs from black, which is the colour of pixels that no camera covers.
    pub colour: Rgba8,
}

impl Default for FailureOptions {
    /// Returns the options for cameras with 30 frames per second.
    fn default() -> Self {
        Self::at_rate(30.0)
    }
}

impl FailureOptions {
    /// Returns the default options for cameras with this number of frames per second: a camera is gone after 1 s
    /// without a frame, black after 1 s, frozen after 3 s, fades in 0.4 s, and is held for 2 s.
    #[must_use]
    pub fn at_rate(per_second: f64) -> Self {
        let every = 5;
        let panoramas =
            |seconds: f64| (seconds * per_second).round().clamp(1.0, MOST.into()) as u32;
        let analyses = |seconds: f64| panoramas(seconds / f64::from(every));
        Self {
            deadline: Duration::from_millis(50),
            gone: panoramas(1.0),
            settle: 5,
            every,
            frozen: analyses(3.0),
            black: analyses(1.0),
            deviation: 2.0,
            fade: panoramas(0.4),
            hold: panoramas(2.0),
            colour: Rgba8::opaque(40, 40, 40),
        }
    }

    /// Checks that all options are valid.
    pub(super) fn check(&self) -> Result<(), LiveError> {
        let counts = [self.gone, self.settle, self.every, self.frozen, self.black, self.fade];
        if !counts.iter().all(|count| (1..=MOST).contains(count)) {
            return Err(LiveError::invalid(
                "`gone`, `settle`, `every`, `frozen`, `black` and `fade` of `failure` must be 1 to 10000",
            ));
        }
        if !self.deviation.is_finite() || self.deviation < 0.0 {
            return Err(LiveError::invalid(
                "`failure.deviation` must be a finite number that is not negative",
            ));
        }
        Ok(())
    }
}

/// The state of a camera. If several states apply, the later one in this list is reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CameraState {
    /// The camera delivers frames.
    #[default]
    Live,
    /// The camera delivers frames, but the picture does not change.
    Frozen,
    /// The camera delivers frames, but the picture has only one colour.
    Black,
    /// The camera has not delivered a frame yet.
    Waiting,
    /// The camera has delivered no frame for [`FailureOptions::gone`] panoramas, or was set
    /// [absent](super::Session::set_present).
    Gone,
}

impl fmt::Display for CameraState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Live => "live",
            Self::Frozen => "frozen",
            Self::Black => "black",
            Self::Waiting => "waiting",
            Self::Gone => "gone",
        })
    }
}

/// A change of a camera's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct CameraEvent {
    /// The index of the camera.
    pub camera: usize,
    /// The new state.
    pub state: CameraState,
}

/// The state and the figures of a camera.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct CameraHealth {
    /// The current state.
    pub state: CameraState,
    /// The number of sets that were completed without a new frame of this camera.
    pub missing: u64,
    /// The share of the camera in the newest panorama, from 0 (faded out) to 1.
    pub presence: f32,
    /// The share of [`FailureOptions::colour`] in place of the camera's picture in the newest panorama, from 0 to 1.
    pub cover: f32,
    /// The mean luma of the last analysed picture, in levels of 255. 0 before the first analysis.
    pub mean: f64,
    /// The standard deviation of the luma of the last analysed picture, in levels of 255. 0 before the first analysis.
    pub deviation: f64,
}
