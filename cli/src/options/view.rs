//! The options of `panoweave video` for a virtual camera, which moves along a track of keyframes.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use glam::UVec2;
use panoweave::device::Stream;
use panoweave::frame::Rate;
use panoweave::geometry::Geometry;
use panoweave::ops::stitch::StitchOptions;
use panoweave::ops::view::{DEFAULT_SIZE, Track, ViewPath, ViewPose, Viewer};

use crate::options::values::{picture_size, smoothing};
use crate::output::failure::Failure;

/// The options of a virtual camera.
#[derive(Debug, clap::Args)]
pub(crate) struct Viewing {
    /// Writes the view of a virtual camera instead of the panorama. TRACK.csv has one keyframe per line, with the
    /// columns t, pan, tilt, fov and optionally roll. t is the time in seconds from the first frame. The other columns
    /// are angles in degrees. pan (to the right) and tilt (up) are relative to the centre of the rig's panorama. roll
    /// is clockwise. fov is the horizontal field of view. Requires --rig.
    #[arg(long, value_name = "TRACK.csv")]
    view: Option<PathBuf>,
    /// Size of the virtual camera's view in pixels. Default: 1920x1080.
    #[arg(long, value_name = "WxH", value_parser = picture_size, requires = "view")]
    view_size: Option<UVec2>,
    /// Smoothing of the virtual camera's motion: the standard deviation in seconds, from 0 to 60, of a Gaussian over
    /// time. With 0, the camera passes exactly through every keyframe.
    #[arg(long, value_name = "SECONDS", value_parser = smoothing, default_value = "0.2", requires = "view")]
    view_smooth: f64,
    /// Allows the view to leave the area that the cameras cover. Pixels outside this area are black. By default, the
    /// virtual camera is moved so that its view stays inside the area.
    #[arg(long, requires = "view")]
    view_free: bool,
}

/// A virtual camera, the size of its view, and a record of the corrections that keep the view inside the area that the
/// cameras cover.
pub(crate) struct Viewed {
    pub(crate) camera: (Viewer, ViewPath),
    pub(crate) size: UVec2,
    pub(crate) limited: Limited,
}

/// A record of the views that were moved because they would have left the area that the cameras cover. Clones share
/// one record: the virtual camera's path updates it while the stitcher runs, and the command reads it at the end.
#[derive(Clone, Default)]
pub(crate) struct Limited(Arc<Mutex<Corrections>>);

/// The number of views that were moved into the area that the cameras cover, and the largest correction of a view.
#[derive(Clone, Copy, Default)]
pub(crate) struct Corrections {
    pub(crate) views: u64,
    /// The largest change of pan, tilt, roll or field of view, in degrees.
    pub(crate) most: f64,
    /// The time of the view with the largest correction, relative to the first frame.
    pub(crate) at: Duration,
}

impl Limited {
    pub(crate) fn get(&self) -> Corrections {
        *self.corrections()
    }

    /// Locks the corrections. Ignores a poisoned lock, because plain numbers stay valid if another thread panics.
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

    /// Opens the track file and creates the virtual camera. Returns `None` if `--view` is not given. Fails if `--view`
    /// is given but `geometry`, the rig's geometry, is `None`. `rate` is the output frame rate.
    pub(crate) fn open(
        &self,
        stream: &Stream,
        geometry: Option<&Geometry>,
        look: &StitchOptions,
        rate: Rate,
    ) -> Result<Option<Viewed>, Failure> {
        let Some(file) = &self.view else { return Ok(None) };
        let Some(geometry) = geometry else {
            return Err(Failure::usage(
                "--view needs the cameras' lenses, which only a rig describes; give --rig",
            ));
        };
        if look.edge_boost {
            return Err(Failure::usage(
                "--edge-boost brightens the ends of a panorama and does not apply to --view; remove --edge-boost",
            ));
        }
        let viewer = Viewer::new(geometry, look.flip)?;
        let size = self.view_size.unwrap_or(DEFAULT_SIZE);
        let track = Track::open(stream, file, rate, self.view_smooth)?;
        let limits = if self.view_free { None } else { viewer.limits() };
        if limits.is_none() && !self.view_free {
            return Err(Failure::usage(
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
        Ok(Some(Viewed { camera: (viewer, ViewPath::new(path)), size, limited }))
    }
}
