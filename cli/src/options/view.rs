//! Options of the virtual camera.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use glam::UVec2;
use panoweave::device::Stream;
use panoweave::frame::Rate;
use panoweave::geometry::Geometry;
use panoweave::ops::stitch::StitchOptions;
use panoweave::ops::view::{DEFAULT_SIZE, Track, ViewPose, Viewer, VirtualCamera};

use crate::options::values::{picture_size, smoothing};
use crate::output::failure::Failure;

/// The options of a virtual camera.
#[derive(Debug, clap::Args)]
pub(crate) struct Viewing {
    /// Renders a virtual camera along this track instead of the panorama. The track is a CSV of keyframes with the
    /// columns t, pan, tilt, fov and optionally roll: seconds from the first frame, and degrees from the direction of
    /// the rig's panorama (pan right, tilt up, roll clockwise, fov across the view's width). Needs --rig.
    #[arg(long, value_name = "TRACK.csv")]
    view: Option<PathBuf>,
    /// Size of the view; default 1920x1080.
    #[arg(long, value_name = "WxH", value_parser = picture_size, requires = "view")]
    view_size: Option<UVec2>,
    /// Smoothing of the track: the standard deviation of a Gaussian in seconds. With 0, the camera passes through
    /// every keyframe.
    #[arg(long, value_name = "SECONDS", value_parser = smoothing, default_value = "0.2", requires = "view")]
    view_smooth: f64,
    /// Lets the view leave the area that the cameras cover. Uncovered pixels are black.
    #[arg(long, requires = "view")]
    view_free: bool,
}

/// A virtual camera, the size of its view, and the corrections that keep the view inside the covered area.
pub(crate) struct Viewed {
    pub(crate) camera: VirtualCamera,
    pub(crate) size: UVec2,
    pub(crate) limited: Limited,
}

/// The corrections of views that would have left the covered area. The stitcher's closure adds to them.
#[derive(Clone, Default)]
pub(crate) struct Limited(Arc<Mutex<Corrections>>);

/// The number of corrected views, and the largest correction.
#[derive(Clone, Copy, Default)]
pub(crate) struct Corrections {
    pub(crate) views: u64,
    /// The largest change of pan, tilt, roll or field of view, in degrees.
    pub(crate) most: f64,
    /// The time of the largest correction.
    pub(crate) at: Duration,
}

impl Limited {
    pub(crate) fn get(&self) -> Corrections {
        *self.corrections()
    }

    /// Locks the corrections. They are plain numbers, so they are valid even if another thread panicked.
    fn corrections(&self) -> MutexGuard<'_, Corrections> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, wanted: &ViewPose, kept: &ViewPose, at: Duration) {
        let parts = |view: &ViewPose| [view.pan, view.tilt, view.roll, view.fov];
        let off = parts(wanted).into_iter().zip(parts(kept)).map(|(a, b)| (a - b).abs());
        let off = off.fold(0.0, f64::max);
        let mut corrections = self.corrections();
        corrections.views += 1;
        if off > corrections.most {
            (corrections.most, corrections.at) = (off, at);
        }
    }
}

impl Viewing {
    /// Returns the track file, if `--view` is given.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.view.as_deref()
    }

    /// Opens the virtual camera if `--view` is given. `geometry` is the rig's, or `None` without a rig.
    pub(crate) fn open(
        &self,
        stream: &Stream,
        geometry: Option<&Geometry>,
        look: &StitchOptions,
        rate: Rate,
    ) -> Result<Option<Viewed>, Failure> {
        let Some(file) = &self.view else { return Ok(None) };
        let Some(geometry) = geometry else {
            return Err(Failure::Usage(
                "--view needs the cameras' lenses, which only a rig describes; give --rig",
            ));
        };
        if look.edge_boost {
            return Err(Failure::Usage(
                "--edge-boost brightens the ends of a panorama and does not apply to --view; remove it",
            ));
        }
        let viewer = Viewer::new(geometry, look.flip)?;
        let size = self.view_size.unwrap_or(DEFAULT_SIZE);
        let track = Track::open(stream, file, rate, self.view_smooth)?;
        let limits = if self.view_free { None } else { viewer.limits() };
        if limits.is_none() && !self.view_free {
            return Err(Failure::Usage(
                "the view cannot be kept inside the area that this rig's cameras cover; give --view-free",
            ));
        }
        let limited = Limited::default();
        let noted = limited.clone();
        let path = move |time| {
            let wanted = track.at(time);
            let Some(limits) = &limits else { return wanted };
            let kept: ViewPose = limits.keep(&wanted, size);
            if kept != wanted {
                noted.note(&wanted, &kept, time);
            }
            kept
        };
        Ok(Some(Viewed { camera: VirtualCamera { viewer, path: Arc::new(path) }, size, limited }))
    }
}
