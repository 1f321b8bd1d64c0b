//! The seams between all overlapping cameras of a warp, and the blending weights that they give.
//!
//! Each pair of cameras with an overlap has its own [`Seam`]. A pair that allows no seam is blended with the warp's
//! weights instead. [`kernels_gpu::seam`] defines how the weights of more than two cameras follow from the pairs.

use cuda_std::DeviceSlice;
use kernels_gpu::seam::{SeamCover, SeamLayer, SeamWhole};
use shared_types::seam::{BLOCK, SeamBlend, SeamGrid};
use shared_types::stitch::MIN_WEIGHT;

use super::{Seam, SeamError, SeamOptions};
use crate::device::{Buffer, DeviceError, ErrorKind, Image, LaunchConfig, Stream};
use crate::frame::FrameView;
use crate::ops::colour::{Colours, find_box};
use crate::ops::stitch::Pictures;
use crate::warp::DeviceWarp;

/// The seams of a warp.
#[derive(Debug)]
pub struct Seams {
    seams: Vec<Seam>,
    /// The number of cameras of the warp.
    cameras: usize,
    /// The overlaps of pairs that allow no seam: the cameras, and a grid over the bounding box.
    feathered: Vec<([usize; 2], SeamGrid)>,
    /// Memory for the weights of more than two cameras, and a buffer for the missing paths of feathered pairs.
    several: Option<(Image<f32>, Buffer<u32>)>,
}

impl Seams {
    /// Creates the seams of all pairs of cameras that overlap. Waits for the device. Also returns the reason for each
    /// overlap that allows no seam.
    ///
    /// # Errors
    /// Returns [`SeamError`] if no pair allows a seam, the feather is out of range, or the device fails.
    #[track_caller]
    pub fn new(
        stream: &Stream,
        warp: &DeviceWarp,
        options: SeamOptions,
    ) -> Result<(Self, Vec<SeamError>), SeamError> {
        let cameras = warp.sources().len();
        let (mut seams, mut feathered, mut reasons) = (Vec::new(), Vec::new(), Vec::new());
        for right in 1..cameras {
            for left in 0..right {
                match Seam::new(stream, warp, [left, right], options) {
                    Ok(seam) => seams.push(seam),
                    Err(SeamError::NoOverlap) => {}
                    Err(reason) if reason.is_of_warp() => {
                        let place = find_box(stream, warp, [left, right], MIN_WEIGHT)?;
                        let (min, max) = (place.min, place.max);
                        let grid = SeamGrid { min, max, cell: 1, ..SeamGrid::default() };
                        feathered.push(([left, right], grid));
                        reasons.push(reason);
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        if seams.is_empty() {
            return Err(reasons.into_iter().next().unwrap_or(SeamError::NoOverlap));
        }
        let several = if cameras > 2 {
            let size = warp.size();
            let rest = Image::new(stream.device(), size.x, size.y)?;
            Some((rest, Buffer::new(stream.device(), 1)?))
        } else {
            None
        };
        Ok((Self { seams, cameras, feathered, several }, reasons))
    }

    /// Returns the seams.
    #[must_use]
    pub fn pairs(&self) -> &[Seam] {
        &self.seams
    }

    /// Returns the seams for searches.
    pub fn pairs_mut(&mut self) -> &mut [Seam] {
        &mut self.seams
    }

    /// Submits the kernels that write the blending weights of all cameras. `parts` contains the progress of the fade to
    /// the current path for each seam, from 0 to 1. `warp` must be the one for which the seams were created, and `out` a
    /// copy of it, made by [`Seam::copy`].
    ///
    /// # Errors
    /// Returns [`DeviceError`] if `parts` does not contain one value per seam, `warp` has another size or another number
    /// of cameras than the warp of the seams, `out` is not a copy of `warp`, or a launch fails.
    #[track_caller]
    pub fn weigh(
        &mut self,
        stream: &Stream,
        warp: &DeviceWarp,
        parts: &[f32],
        out: &mut DeviceWarp,
    ) -> Result<(), DeviceError> {
        self.write(stream, warp, parts, out)?;
        out.written(stream)
    }

    /// Does the same as [`weigh`](Self::weigh), but leaves the call of [`DeviceWarp::written`] to the caller, who may
    /// change the weights further.
    #[track_caller]
    pub(crate) fn write(
        &mut self,
        stream: &Stream,
        warp: &DeviceWarp,
        parts: &[f32],
        out: &mut DeviceWarp,
    ) -> Result<(), DeviceError> {
        for (what, found, expected) in [
            ("parts of the fades", parts.len(), self.seams.len()),
            ("cameras of the warp", warp.sources().len(), self.cameras),
        ] {
            if found != expected {
                let kind =
                    ErrorKind::SizeMismatch { what, found: (found, 1), expected: (expected, 1) };
                return Err(DeviceError::new("blending along seams", kind));
            }
        }
        self.seams.iter().try_for_each(|seam| seam.check(warp))?;
        out.check_copy(warp)?;
        let Some((rest, no_path)) = &mut self.several else {
            // A warp of two cameras has one seam.
            return (self.seams.iter().zip(parts))
                .try_for_each(|(seam, part)| seam.write(stream, warp, *part, out));
        };
        out.await_ready(stream)?;
        let config = LaunchConfig::cover(warp.size().x, warp.size().y, BLOCK);
        let covers = out.weights_mut();
        for (camera, cover) in covers.iter_mut().enumerate() {
            let (planes, size) = (warp.planes(camera)?, warp.sources()[camera]);
            stream.launch(&config, &SeamWhole { planes, size, cover: cover.view_mut() })?;
        }
        let mut lower = |cameras: [usize; 2],
                         grid: SeamGrid,
                         [to, from]: [DeviceSlice<'_, u32>; 2],
                         blend: SeamBlend| {
            let size = grid.max - grid.min;
            let ([planes_left, planes_right], [left, right]) = warp.pair(cameras)?;
            let cover = covers[cameras[1]].view_mut();
            let kernel =
                SeamCover { planes_left, planes_right, left, right, grid, from, to, blend, cover };
            stream.launch(&LaunchConfig::cover(size.x, size.y, BLOCK), &kernel)
        };
        for (seam, part) in self.seams.iter().zip(parts) {
            lower(seam.cameras(), seam.grid(), seam.paths(), seam.blend(*part))?;
        }
        for (cameras, grid) in &self.feathered {
            let from_path = SeamBlend::NO_PATH;
            let blend = SeamBlend { feather: 1.0, part: 1.0, from_path };
            lower(*cameras, *grid, [no_path.view(), no_path.view()], blend)?;
        }
        for (i, cover) in covers.iter_mut().rev().enumerate() {
            let (last, rest) = ((i == 0).into(), rest.view_mut());
            stream.launch(&config, &SeamLayer { last, rest, cover: cover.view_mut() })?;
        }
        Ok(())
    }
}

/// Returns a copy of the warp with the weights of the best seams for these frames, one per camera, which are first
/// corrected by `colours`. Also returns the reason for each overlap that allows no seam and keeps the feathered
/// weights.
///
/// # Errors
/// Returns [`SeamError`] if the warp does not allow a seam (see [`SeamError::is_of_warp`]), an argument is invalid, or
/// the device fails.
#[track_caller]
pub fn seamed(
    stream: &Stream,
    warp: &DeviceWarp,
    frames: &[FrameView<'_>],
    colours: Colours,
    options: SeamOptions,
) -> Result<(DeviceWarp, Vec<SeamError>), SeamError> {
    Pictures::new(frames.iter().copied(), warp.sources())?;
    let (mut seams, reasons) = Seams::new(stream, warp, options)?;
    for seam in seams.pairs_mut() {
        let [left, right] = seam.cameras().map(|camera| frames[camera]);
        // SAFETY: the seam is new, so no earlier search is running, and all work is submitted to this stream.
        unsafe { seam.submit(stream, warp, left, right, colours)? };
        seam.accept();
    }
    let mut out = Seam::copy(stream, warp)?;
    let parts = vec![1.0; seams.pairs().len()];
    seams.weigh(stream, warp, &parts, &mut out)?;
    Ok((out, reasons))
}
