//! The stitcher's warp with the data derived from it (mesh, overlaps and seam), the settings for the next frame, and
//! the release of replaced warps.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use glam::UVec2;

use super::error::LiveError;
use super::faded::FadedWarp;
use super::seam::LiveSeam;
use crate::device::{DeviceError, Stream};
use crate::frame::FrameFormat;
use crate::lock::lock;
use crate::ops::colour::{Colours, Overlaps, Summing};
use crate::ops::multiband::Multiband;
use crate::ops::seam::Blend;
use crate::ops::stitch::{Lookup, StitchOptions};
use crate::ops::view::Viewer;
use crate::warp::DeviceWarp;

/// A warp and the data derived from it. `viewer` is the geometry of the cameras, for a stitcher that renders views.
#[derive(Debug)]
pub(super) struct LiveWarp {
    pub(super) warp: DeviceWarp,
    /// The overlaps, and the memory to analyse them. `None` if no cameras overlap.
    pub(super) overlaps: Option<(Overlaps, Mutex<Summing>)>,
    pub(super) seam: Option<Mutex<LiveSeam>>,
    /// The reasons why overlaps have no seam although the blend asks for seams.
    seamless: Vec<String>,
    /// A copy of the warp for a stitcher without seams. It follows the presences of cameras that fail. `None` if such
    /// cameras are not detected.
    pub(super) faded: Option<Mutex<FadedWarp>>,
    /// The memory for multiband blending, if it is used and cameras overlap.
    pub(super) multiband: Option<Mutex<Multiband>>,
    pub(super) viewer: Option<Viewer>,
}

impl LiveWarp {
    pub(super) fn new(
        stream: &Stream,
        warp: DeviceWarp,
        viewer: Option<Viewer>,
        size: UVec2,
        Follow { blend, lookup, failures, inputs }: Follow<'_>,
    ) -> Result<Self, LiveError> {
        let warp = match &viewer {
            Some(viewer) => {
                viewer.check_warp(&warp)?;
                warp
            }
            None if warp.size() == size => warp,
            None => warp.resized(stream, size)?,
        };
        if lookup == Lookup::Mesh && viewer.is_none() {
            // Build the mesh here, so that the first frame does not wait for it. The mesh must be built before the
            // seam copies the warp and changes the weights of the copy.
            warp.mesh(stream)?;
        }
        let alike = inputs.iter().all(|format| format.pixels == inputs[0].pixels);
        let deep = inputs.iter().any(|format| format.pixels.bits() > 8);
        let needs_sums = warp.sources().len() > 2 || failures || !alike || deep;
        if lookup != Lookup::Mesh && viewer.is_none() && needs_sums {
            // Allocate the sums here, so that no set of frames waits for them. Two cameras need them if one fails, if
            // their formats differ, or for 10 bits.
            warp.summing(stream)?;
        }
        let overlaps = Overlaps::find(stream, &warp)?;
        let overlaps = match overlaps.all() {
            [] => None,
            _ => Some((overlaps, Mutex::new(Summing::new(stream.device())?))),
        };
        let (seam, seamless) = match blend.seam() {
            None => (None, Vec::new()),
            Some(options) => LiveSeam::new(stream, &warp, options, inputs)?,
        };
        let seam = seam.map(Mutex::new);
        let multiband = match blend.levels() {
            None => None,
            Some(levels) => Multiband::new(stream, &warp, levels)?.map(Mutex::new),
        };
        let faded = match seam {
            None if failures => Some(Mutex::new(FadedWarp::new(stream, &warp)?)),
            _ => None,
        };
        Ok(Self { warp, overlaps, seam, seamless, faded, multiband, viewer })
    }

    /// Takes over the seams of the warp that this one replaces. Waits for the device.
    pub(super) fn take_over(&mut self, stream: &Stream, former: &Self) -> Result<(), DeviceError> {
        match (&mut self.seam, &former.seam) {
            (Some(seam), Some(former)) => {
                let seam = seam.get_mut().unwrap_or_else(PoisonError::into_inner);
                seam.take_over(stream, &lock(former))
            }
            _ => Ok(()),
        }
    }

    /// Logs a warning for each overlap without a seam, except those of the warp that this one replaces.
    pub(super) fn warn(&self, former: Option<&Self>) {
        let known = former.map_or(&[][..], |former| &former.seamless);
        let new = self.seamless.iter().filter(|reason| !known.contains(reason));
        new.for_each(|reason| tracing::warn!("{reason}"));
    }
}

/// The properties of a stitcher that determine which data it derives from a warp.
#[derive(Clone, Copy, Debug)]
pub(super) struct Follow<'a> {
    pub(super) blend: Blend,
    pub(super) lookup: Lookup,
    /// Whether cameras that fail are detected.
    pub(super) failures: bool,
    /// The formats of the cameras' frames.
    pub(super) inputs: &'a [FrameFormat],
}

/// The warp and the stitch options that apply to the next frame.
#[derive(Clone)]
pub(super) struct FrameSettings {
    pub(super) warp: Arc<LiveWarp>,
    pub(super) stitch: StitchOptions,
}

impl FrameSettings {
    /// Returns the colour corrections that the user set in the stitch options.
    pub(super) fn colours(&self) -> Colours {
        self.stitch.colours
    }
}

/// Replaced warps that frames in flight may still use.
#[derive(Debug, Default)]
pub(super) struct RetiredWarps(Vec<Arc<LiveWarp>>);

impl RetiredWarps {
    /// Waits until no frame in flight uses `former` or an earlier replaced warp, and frees these warps. After half a
    /// second, stops waiting and leaves the warps that are still in use to the next call.
    ///
    /// Freeing device memory waits for the device, so it must not happen on the threads that process frames.
    pub(super) fn free(&mut self, former: Arc<LiveWarp>) {
        self.0.push(former);
        let deadline = Instant::now() + Duration::from_millis(500);
        loop {
            self.0.retain(|warp| Arc::strong_count(warp) > 1);
            if self.0.is_empty() || Instant::now() > deadline {
                return;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}
