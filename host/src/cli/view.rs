//! The options of the virtual camera.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use glam::UVec2;
use panoweave::device::Stream;
use panoweave::geometry::Geometry;
use panoweave::stitch::StitchOptions;
use panoweave::video::Rate;
use panoweave::view::{DEFAULT_SIZE, Track, View, Viewer, VirtualCamera};

use super::failure::Failure;
use super::values::{picture_size, smoothing};

/// Shows what a virtual camera sees.
#[derive(Debug, clap::Args)]
pub(crate) struct Viewing {
    /// Shows what a virtual camera sees, in place of the panorama: keyframes of t, pan, tilt, fov and perhaps
    /// roll (CSV, the first line names them), in seconds from the first frame and degrees from where the rig's
    /// panorama looks: pan to the right, tilt up, roll clockwise, fov across the view's width. Needs --rig.
    #[arg(long, value_name = "TRACK.csv")]
    view: Option<PathBuf>,
    /// Size of the view; 1920x1080 if not given.
    #[arg(long, value_name = "WxH", value_parser = picture_size, requires = "view")]
    view_size: Option<UVec2>,
    /// How much the whole track is smoothed, its ends too: the standard deviation of a Gaussian. With 0 it passes
    /// through every keyframe.
    #[arg(long, value_name = "SECONDS", value_parser = smoothing, default_value = "0.2", requires = "view")]
    view_smooth: f64,
    /// Lets the view leave what the cameras cover, and show black there.
    #[arg(long, requires = "view")]
    view_free: bool,
}

/// A virtual camera, its size, and how often it would have left what the cameras cover.
pub(crate) struct Viewed {
    pub(crate) camera: VirtualCamera,
    pub(crate) size: UVec2,
    pub(crate) limited: Arc<AtomicU64>,
}

impl Viewing {
    /// The file that is read.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.view.as_deref()
    }

    /// The virtual camera of a video, if one is asked for. `geometry` is a rig's.
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
                "--view looks through the cameras' lenses, which a rig alone knows; give --rig",
            ));
        };
        if look.edge_boost {
            return Err(Failure::Usage("--edge-boost brightens a panorama's ends, not a view's"));
        }
        let viewer = Viewer::new(geometry, look.flip)?;
        let size = self.view_size.unwrap_or(DEFAULT_SIZE);
        let track = Track::open(stream, file, rate, self.view_smooth)?;
        let limits = if self.view_free { None } else { viewer.limits() };
        if limits.is_none() && !self.view_free {
            return Err(Failure::Usage(
                "the rig's cameras cover nothing that a view could be kept in; give --view-free",
            ));
        }
        let limited = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&limited);
        let path = move |time| {
            let wanted = track.at(time);
            let Some(limits) = &limits else { return wanted };
            let kept: View = limits.keep(&wanted, size);
            if kept != wanted {
                count.fetch_add(1, Relaxed);
            }
            kept
        };
        Ok(Some(Viewed { camera: VirtualCamera { viewer, path: Arc::new(path) }, size, limited }))
    }
}
