//! Options for cameras that fail, and the state, the events and the health figures of each camera.

use std::fmt;
use std::time::Duration;

use shared_types::Rgba8;

use super::error::LiveError;

/// The maximum number of frames of a fade, and of the other options that count frames.
const MOST: u32 = 1000;

/// Options for cameras that fail. A camera fails if it delivers no frames, frames that do not change, or frames without
/// a picture.
///
/// When a camera fails, its share of the panorama fades to the neighbours that cover the same pixels. Where no other
/// camera covers a pixel, the panorama shows the camera's last frame for the time [`hold`](Self::hold), and then fades
/// to [`colour`](Self::colour). When the camera works again, it fades in.
///
/// A failed camera is not compared with the others, so it changes neither their colours nor the seams. Colours that
/// have followed it since the failure began are set back.
///
/// Panoramas follow with every [`Lookup`](crate::ops::stitch::Lookup), and so do views. While all cameras work, no
/// extra work is submitted. In each panorama of a fade, a kernel rewrites the weights of all cameras, and with
/// [`Mesh`](crate::ops::stitch::Lookup::Mesh) another kernel the shares of the mesh. While a camera shows `colour`, a
/// panorama with another lookup takes one launch per camera and one more.
///
/// Device memory per panorama pixel: 4 bytes per camera for a copy of the weights and, with a lookup other than `Mesh`,
/// 16 bytes for sums.
///
/// A view of two cameras does not show `colour` if the device cannot read their frames as textures.
///
/// No panorama is made while all cameras are gone, because the cameras set the pace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FailureOptions {
    /// The time without a frame after which a camera is [`Late`](CameraState::Late). The panorama still shows its last
    /// frame. Choose at least two frame times.
    pub late: Duration,
    /// The time without a frame after which a camera is [`Gone`](CameraState::Gone). Longer than `late`.
    pub gone: Duration,
    /// The number of consecutive frames with which a camera that was late or gone returns, 1 to 1000. Each must follow
    /// within three quarters of `late` (or, to be no longer gone, of `gone`). For a camera that was frozen or black,
    /// this is the number of consecutive analyses with good pictures.
    pub settle: u32,
    /// The number of panoramas from one analysis of the pictures to the next, 1 to 1000.
    pub every: u32,
    /// The time without a change of the picture after which a camera is [`Frozen`](CameraState::Frozen). Real cameras
    /// have noise, so no two of their pictures are equal. Test pictures, screens and strongly compressed videos may be
    /// equal without a failure.
    pub frozen: Duration,
    /// The time without content in the picture after which a camera is [`Black`](CameraState::Black).
    pub black: Duration,
    /// The maximum standard deviation of the luma, in levels of 255, of a picture without content. Such a picture has
    /// one colour, for instance because the lens is covered or the signal is missing. Sensor noise at night is usually
    /// higher.
    pub deviation: f64,
    /// Whether a frozen camera leaves the panorama like a camera that is gone. If not, its state is only reported. The
    /// default is `false`, because equal pictures need not be a failure.
    pub act_on_frozen: bool,
    /// Whether a black camera leaves the panorama like a camera that is gone. If not, its state is only reported. The
    /// default is `true`. If no camera has content, the scene is dark, so all cameras stay in the panorama.
    pub act_on_black: bool,
    /// The number of panoramas in which a failed camera fades out, 1 to 1000.
    pub fade_out: u32,
    /// The number of panoramas in which a returning camera fades in, 1 to 1000.
    pub fade_in: u32,
    /// The time during which the last frame of a failed camera is shown where no other camera covers a pixel.
    pub hold: Duration,
    /// The number of panoramas in which the last frame then fades to `colour`, 1 to 1000.
    pub fade_colour: u32,
    /// The colour that replaces a failed camera where no other camera covers a pixel. The default is a dark grey: it
    /// differs from black, which is the colour of pixels that no camera covers.
    pub colour: Rgba8,
}

impl Default for FailureOptions {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl FailureOptions {
    /// The default options.
    pub const DEFAULT: Self = Self {
        late: Duration::from_millis(150),
        gone: Duration::from_secs(1),
        settle: 5,
        every: 5,
        frozen: Duration::from_secs(3),
        black: Duration::from_secs(1),
        deviation: 2.0,
        act_on_frozen: false,
        act_on_black: true,
        fade_out: 6,
        fade_in: 12,
        hold: Duration::from_secs(2),
        fade_colour: 24,
        colour: Rgba8::opaque(40, 40, 40),
    };

    /// Checks that all options are valid.
    pub(super) fn check(&self) -> Result<(), LiveError> {
        let counts = [self.settle, self.every, self.fade_out, self.fade_in, self.fade_colour];
        let error = if self.late.is_zero() || self.gone <= self.late {
            "`failure.late` must be positive, and `failure.gone` must be longer than `failure.late`"
        } else if !counts.iter().all(|count| (1..=MOST).contains(count)) {
            "`settle`, `every`, `fade_out`, `fade_in` and `fade_colour` of `failure` must be 1 to 1000"
        } else if !self.deviation.is_finite() || self.deviation < 0.0 {
            "`failure.deviation` must be a finite number that is not negative"
        } else {
            return Ok(());
        };
        Err(LiveError::Options(error))
    }
}

/// The state of a camera. If several states apply, the later one in this list is reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CameraState {
    /// The camera delivers frames in time.
    #[default]
    Live,
    /// The camera delivers frames in time, but the picture does not change.
    Frozen,
    /// The camera delivers frames in time, but the picture has only one colour.
    Black,
    /// No frame of the camera was in time for longer than [`FailureOptions::late`].
    Late,
    /// No frame of the camera was in time for longer than [`FailureOptions::gone`], the camera was
    /// set [absent](super::Stitcher::set_present), or three consecutive frames were rejected.
    Gone,
}

impl CameraState {
    /// All states.
    pub const ALL: [Self; 5] = [Self::Live, Self::Frozen, Self::Black, Self::Late, Self::Gone];
}

impl fmt::Display for CameraState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Live => "live",
            Self::Frozen => "frozen",
            Self::Black => "black",
            Self::Late => "late",
            Self::Gone => "gone",
        })
    }
}

/// A change of a camera's state.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct CameraEvent {
    /// The index of the camera.
    pub camera: usize,
    /// The new state.
    pub state: CameraState,
    /// The time of the change, in seconds since the creation of the stitcher.
    pub at: f64,
}

/// The changes of the cameras' states since the last call.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct CameraEvents {
    /// The changes, oldest first.
    pub events: Vec<CameraEvent>,
    /// The number of changes that were lost before these events, because the queue was full.
    pub lost: u64,
}

/// The number of times that a camera entered each state. The initial state does not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct StateCounts {
    /// The number of changes to [`CameraState::Live`].
    pub live: u64,
    /// The number of changes to [`CameraState::Frozen`].
    pub frozen: u64,
    /// The number of changes to [`CameraState::Black`].
    pub black: u64,
    /// The number of changes to [`CameraState::Late`].
    pub late: u64,
    /// The number of changes to [`CameraState::Gone`].
    pub gone: u64,
}

impl StateCounts {
    /// Returns the number of changes to `state`.
    #[must_use]
    pub fn of(&self, state: CameraState) -> u64 {
        let mut counts = *self;
        *counts.at(state)
    }

    pub(super) fn at(&mut self, state: CameraState) -> &mut u64 {
        match state {
            CameraState::Live => &mut self.live,
            CameraState::Frozen => &mut self.frozen,
            CameraState::Black => &mut self.black,
            CameraState::Late => &mut self.late,
            CameraState::Gone => &mut self.gone,
        }
    }

    /// Returns the number of changes to any state.
    #[must_use]
    pub fn total(&self) -> u64 {
        CameraState::ALL.iter().map(|&state| self.of(state)).sum()
    }
}

/// The state and the counters of a camera.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct CameraHealth {
    /// The current state.
    pub state: CameraState,
    /// The time of the last change of the state, in seconds since the creation of the stitcher.
    pub since: f64,
    /// The number of changes to each state.
    pub entered: StateCounts,
    /// The number of sets of frames that were completed without a frame of this camera.
    pub missing: u64,
    /// The number of rejected frames.
    pub rejected: u64,
    /// The number of consecutive rejected frames. The third makes the camera [`Gone`](CameraState::Gone).
    pub strikes: u32,
    /// The share of the camera in the newest panorama, from 0 (faded out) to 1.
    pub presence: f32,
    /// The share of [`FailureOptions::colour`] in place of the camera's picture in the newest panorama, from 0 to 1.
    pub cover: f32,
    /// The mean luma of the last analysed picture, in levels of 255. 0 before the first analysis.
    pub mean: f64,
    /// The standard deviation of the luma of the last analysed picture, in levels of 255. 0 before the first analysis.
    pub deviation: f64,
}
