//! The virtual camera of an output, which moves along a track of keyframes.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use glam::UVec2;

use super::JobError;
use super::options::ViewOptions;
use crate::device::Stream;
use crate::frame::Rate;
use crate::geometry::Geometry;
use crate::lock::lock;
use crate::ops::stitch::StitchOptions;
use crate::ops::view::{DEFAULT_SIZE, Track, ViewPath, ViewPose, Viewer};

/// A virtual camera, the size of its view, and a record of the corrections that keep the view inside the area that the
/// cameras cover.
#[derive(Clone, Debug)]
pub struct View {
    /// The real cameras.
    pub viewer: Viewer,
    /// The pose over time.
    pub path: ViewPath,
    /// The size in pixels.
    pub size: UVec2,
    /// The camera's path updates the record while the session runs.
    pub corrections: Arc<Mutex<Corrections>>,
}

/// The number of views that were moved into the area that the cameras cover, and the largest correction of a view.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Corrections {
    /// The number of views that were moved.
    pub views: u64,
    /// The largest change of pan, tilt, roll or field of view, in degrees.
    pub most: f64,
    /// The time of the view with the largest correction, relative to the first frame.
    pub at: Duration,
}

impl Corrections {
    fn add(&mut self, wanted: &ViewPose, kept: &ViewPose, at: Duration) {
        let parts = |view: &ViewPose| [view.pan, view.tilt, view.roll, view.fov];
        let off = parts(wanted).into_iter().zip(parts(kept)).map(|(a, b)| (a - b).abs());
        let off = off.fold(0.0, f64::max);
        self.views += 1;
        if off > self.most {
            (self.most, self.at) = (off, at);
        }
    }
}

impl ViewOptions {
    /// Checks that the options of a view are given only with a track, and that the view is not too large.
    ///
    /// # Errors
    /// Returns [`JobError`] if one of them is not so.
    pub fn check(&self) -> Result<(), JobError> {
        let default = Self { view: self.view.clone(), ..Self::default() };
        if self.view.is_none() && *self != default {
            return Err(JobError::usage(
                "`view-size`, `view-smooth` and `view-free` require `view`; give a track, or remove them",
            ));
        }
        self.view_size.map_or(Ok(()), |size| size.check_area("view-size"))
    }

    /// Opens the track and creates the virtual camera, or returns `None` for a panorama. `geometry` is that of the rig,
    /// if there is one. `rate` is the output frame rate.
    ///
    /// # Errors
    /// Returns [`JobError`] if the track cannot be read, or if there is no rig for it.
    pub fn open(
        &self,
        stream: &Stream,
        geometry: Option<&Geometry>,
        stitch: &StitchOptions,
        rate: Rate,
    ) -> Result<Option<View>, JobError> {
        let Some(file) = &self.view else { return Ok(None) };
        let Some(geometry) = geometry else {
            return Err(JobError::usage(
                "`view` needs the cameras' lenses, which only a rig describes; give `rig`",
            ));
        };
        if stitch.edge_boost {
            return Err(JobError::usage(
                "`edge-boost` brightens the ends of a panorama and does not apply to a view; remove it",
            ));
        }
        let viewer = Viewer::new(geometry, stitch.flip)?;
        let size = self.view_size.map_or(DEFAULT_SIZE, |size| size.0);
        let track = Track::open(stream, &**file, rate, self.view_smooth)?;
        let limits = if self.view_free { None } else { viewer.limits() };
        if limits.is_none() && !self.view_free {
            return Err(JobError::usage(
                "the view cannot be kept inside the area that this rig's cameras cover; set `view-free`",
            ));
        }
        let corrections = Arc::new(Mutex::new(Corrections::default()));
        let record = Arc::clone(&corrections);
        let path = move |time| {
            let wanted = track.at(time);
            let Some(limits) = &limits else { return wanted };
            let kept: ViewPose = limits.keep(&wanted, size);
            if kept != wanted {
                lock(&record).add(&wanted, &kept, time);
            }
            kept
        };
        Ok(Some(View { viewer, path: ViewPath::new(path), size, corrections }))
    }
}
