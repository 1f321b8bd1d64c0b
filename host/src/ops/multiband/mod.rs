//! Multiband blending: changes a stitched panorama so that differences between cameras fade over a distance that fits
//! their size. [`kernels_gpu::multiband`] defines the method.
//!
//! Use it with a seam that is a few pixels wide. Fine detail then appears only once, as with a seam alone, and a
//! difference in brightness fades gradually, as with a wide blend. [`Multiband::submit`] follows a
//! [`stitch`](crate::ops::stitch::stitch) with any lookup, input and output format.
//!
//! Differences fade inside the overlap and, by up to the reach of the last level, beyond it. Where a seam runs along the
//! edge of a picture, nothing is known of that picture beyond the edge, so the difference fades on one side of the seam
//! only, and half of it stays.
//!
//! Cost: about 10 bytes of device memory per overlap pixel, and `2n + 1` short launches per panorama for `n` levels.

mod layout;

use cuda_std::prelude::View;
use cuda_std::{DeviceTable, KernelArg};
use half::f16;
use kernels_gpu::multiband as kernels;
use shared_types::Rgba8;
use shared_types::multiband::{
    ApplyParams, BLOCK, CameraPart, Cell, CombineParams, DeviceSplitCamera, DeviceWeightedCamera,
    SPLIT_CELLS, SplitCamera, SplitParams, WeightedCamera,
};
use shared_types::nv12::{Nv12, P010};
use shared_types::stitch::MAX_CAMERAS;
use thiserror::Error;

use crate::device::{DeviceError, Image, LaunchConfig, Stream};
use crate::frame::{FrameView, FrameViewMut};
use crate::ops::stitch::{
    Power, StitchError, StitchOptions, check_depths, check_frames, check_output,
};
use crate::warp::{DeviceWarp, Plane};
use layout::Layout;

pub use shared_types::multiband::MAX_LEVELS;

/// Options of multiband blending.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MultibandOptions {
    /// The number of levels, from 1 to [`MAX_LEVELS`]. With each level, differences fade over twice the distance.
    pub levels: u32,
    /// The width in panorama pixels of the blend of the finest detail along the seam: 1 to 1000.
    pub feather: f32,
}

impl Default for MultibandOptions {
    /// Returns five levels, with which differences in brightness fade over about a hundred pixels, and a feather of 4
    /// pixels.
    fn default() -> Self {
        Self { levels: 5, feather: 4.0 }
    }
}

/// The error if the number of levels is wrong, frames, warp and panorama do not match, or the device failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MultibandError {
    /// The number of levels is out of range.
    #[error("multiband blending: the number of levels is {0}; it must be 1 to {MAX_LEVELS}")]
    Levels(u32),
    /// The frames or the panorama do not match the warp.
    #[error(transparent)]
    Stitch(#[from] StitchError),
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// The memory to blend the panoramas of one warp. Only one stream at a time may use it.
#[derive(Debug)]
pub struct Multiband {
    layout: Layout,
    /// The differences of all cameras from the panorama, from level 1 on.
    cells: Vec<Image<Cell>>,
    /// The weights of all cameras, from level 1 on.
    masks: Vec<Image<f16>>,
    /// The sum of the bands from a level on, from level 1 on.
    sums: Vec<Image<Cell>>,
}

impl Multiband {
    /// Allocates the memory for a warp and 1 to [`MAX_LEVELS`] levels. Waits for the search of the overlaps. Returns
    /// `None` if no cameras overlap; then there is nothing to blend.
    ///
    /// # Errors
    /// Returns [`MultibandError`] if the number of levels is out of range or the device fails.
    #[track_caller]
    pub fn new(
        stream: &Stream,
        warp: &DeviceWarp,
        levels: u32,
    ) -> Result<Option<Self>, MultibandError> {
        if !(1..=MAX_LEVELS).contains(&levels) {
            return Err(MultibandError::Levels(levels));
        }
        let Some(layout) = Layout::find(stream, warp, levels)? else { return Ok(None) };
        let device = stream.device();
        let (mut cells, mut masks, mut sums) = (Vec::new(), Vec::new(), Vec::new());
        for level in 1..=levels {
            let [all, area] = layout.images(level);
            cells.push(Image::new(device, all.x, all.y)?);
            masks.push(Image::new(device, all.x, all.y)?);
            sums.push(Image::new(device, area.x, area.y)?);
        }
        Ok(Some(Self { layout, cells, masks, sums }))
    }

    /// Submits the change of a panorama that was stitched from `frames` with `options`, without waiting.
    ///
    /// `warp` is the warp for which this memory was allocated. `weights` is the warp with which the panorama was
    /// stitched: `warp` itself, or a [copy](crate::ops::seam::Seam::copy) with other weights.
    ///
    /// # Errors
    /// Returns [`MultibandError`] if frames, warps and panorama do not match, or the device fails. The panorama may
    /// then have changed in part.
    #[track_caller]
    pub fn submit<'a>(
        &mut self,
        stream: &Stream,
        frames: &[FrameView<'_>],
        [warp, weights]: [&DeviceWarp; 2],
        options: &StitchOptions,
        panorama: impl Into<FrameViewMut<'a>>,
    ) -> Result<(), MultibandError> {
        let panorama = panorama.into();
        options.check(warp.sources().len())?;
        check_frames(frames, warp.sources())?;
        check_frames(frames, weights.sources())?;
        check_output(&panorama, self.layout.panorama)?;
        check_output(&panorama, warp.size())?;
        check_output(&panorama, weights.size())?;
        check_depths(frames.iter().map(FrameView::format).chain([panorama.format()]))?;
        warp.await_ready(stream)?;
        weights.await_ready(stream)?;
        self.split(stream, frames, [warp, weights], options, panorama.read())?;
        self.combine(stream)?;
        Ok(self.apply(stream, weights, options, panorama)?)
    }

    /// Submits the comparison of the pictures with the panorama, as one launch for each pixel format of the pictures.
    #[track_caller]
    fn split(
        &mut self,
        stream: &Stream,
        frames: &[FrameView<'_>],
        [warp, weights]: [&DeviceWarp; 2],
        options: &StitchOptions,
        panorama: FrameView<'_>,
    ) -> Result<(), DeviceError> {
        let (mut rgba8, mut nv12) = ((Vec::new(), Vec::new()), (Vec::new(), Vec::new()));
        let mut p010 = (Vec::new(), Vec::new());
        for (camera, frame) in frames.iter().enumerate() {
            let (colour, offset) = options.covers.mixed(camera, options.colours[camera]);
            let covered = options.covers.parts[camera] > 0.0;
            let split = DeviceSplitCamera {
                planes: warp.planes(camera)?,
                weights: weights.plane(Plane::Weight(camera)).view(),
                part: self.layout.parts[camera],
                colour,
                offset,
                exact: (covered || options.power != Power::Fast).into(),
                decode: frame.format().pixels.to_rgb(),
            };
            match frame {
                FrameView::Rgba8(picture) => {
                    rgba8.0.push(*picture);
                    rgba8.1.push(split);
                }
                FrameView::Nv12(picture, _) => {
                    nv12.0.push(*picture);
                    nv12.1.push(split);
                }
                FrameView::P010(picture, _) => {
                    p010.0.push(*picture);
                    p010.1.push(split);
                }
            }
        }
        let params = SplitParams {
            flip: options.flip.into(),
            edge_boost: options.edge_boost.into(),
            decode: panorama.format().pixels.to_rgb(),
        };
        let largest = self.layout.largest(1).to_array();
        let [columns, rows] = [0, 1].map(|axis| largest[axis].div_ceil(SPLIT_CELLS[axis]));
        let (out_cells, out_masks) = (&mut self.cells[0], &mut self.masks[0]);
        macro_rules! launch {
            ($kernel:ident, $pictures:ident: $picture:ty, $panorama:ident) => {{
                let (pictures, cameras) = &$pictures;
                let config = LaunchConfig {
                    grid: [columns, rows, pictures.len() as u32],
                    block: [BLOCK[0], BLOCK[1], 1],
                    dynamic_shared: 0,
                };
                let kernel = kernels::$kernel {
                    pictures: table::<$picture>(pictures)?,
                    cameras: table::<SplitCamera>(cameras)?,
                    params,
                    panorama: $panorama,
                    cells: out_cells.view_mut(),
                    masks: out_masks.view_mut(),
                };
                // SAFETY: the caller has checked that pictures, panorama and weights match the warp for which the layout
                // was made, and that pictures and panorama are whole. The images have the size of the layout.
                unsafe { stream.launch_unchecked(&config, &kernel) }
            }};
        }
        // The caller has checked that all frames are P010 if and only if the panorama is.
        if !rgba8.0.is_empty() {
            match panorama {
                FrameView::Rgba8(to) => launch!(MultibandSplitRgba8, rgba8: View<Rgba8>, to)?,
                FrameView::Nv12(to, _) => launch!(MultibandSplitRgba8Nv12, rgba8: View<Rgba8>, to)?,
                FrameView::P010(..) => {}
            }
        }
        if !nv12.0.is_empty() {
            match panorama {
                FrameView::Rgba8(to) => launch!(MultibandSplitNv12Rgba8, nv12: Nv12, to)?,
                FrameView::Nv12(to, _) => launch!(MultibandSplitNv12, nv12: Nv12, to)?,
                FrameView::P010(..) => {}
            }
        }
        if let (FrameView::P010(to, _), false) = (panorama, p010.0.is_empty()) {
            launch!(MultibandSplitP010, p010: P010, to)?;
        }
        Ok(())
    }

    /// Submits the computation of the further levels, and of the sums of the bands.
    #[track_caller]
    fn combine(&mut self, stream: &Stream) -> Result<(), DeviceError> {
        let last = self.cells.len() - 1;
        let cameras = table::<CameraPart>(&self.layout.parts)?;
        for next in 1..=last {
            let (cells, next_cells) = self.cells.split_at_mut(next);
            let (masks, next_masks) = self.masks.split_at_mut(next);
            let (out_cells, out_masks) = (next_cells[0].view_mut(), next_masks[0].view_mut());
            let level = next as u32 + 1;
            let most = self.layout.largest(level);
            let mut config = LaunchConfig::cover(most.x, most.y, BLOCK);
            config.grid[2] = self.layout.parts.len() as u32;
            let (cells, masks) = (cells[next - 1].view(), masks[next - 1].view());
            let kernel =
                kernels::MultibandReduce { cameras, level, cells, masks, out_cells, out_masks };
            // SAFETY: the images have the size of the layout.
            unsafe { stream.launch_unchecked(&config, &kernel) }?;
        }
        for i in (0..=last).rev() {
            let (sums, next_sums) = self.sums.split_at_mut(i + 1);
            let level = i as u32 + 1;
            let CameraPart { min, size, .. } = self.layout.area;
            let size = layout::extent(size, level);
            let params = CombineParams { min, size, level, last: (i == last).into() };
            let config = LaunchConfig::cover(size.x.div_ceil(2), size.y.div_ceil(2), BLOCK);
            let (cells, masks) = (self.cells[i].view(), self.masks[i].view());
            // The kernel does not read the next level of the last level, so any image can stand in for it.
            let kernel = kernels::MultibandCombine {
                cameras,
                params,
                cells,
                masks,
                next_cells: self.cells.get(i + 1).map_or(cells, Image::view),
                next_sums: next_sums.first().map_or(cells, Image::view),
                sums: sums[i].view_mut(),
            };
            // SAFETY: the images have the size of the layout.
            unsafe { stream.launch_unchecked(&config, &kernel) }?;
        }
        Ok(())
    }

    /// Submits the change of the panorama.
    #[track_caller]
    fn apply(
        &mut self,
        stream: &Stream,
        weights: &DeviceWarp,
        options: &StitchOptions,
        panorama: FrameViewMut<'_>,
    ) -> Result<(), DeviceError> {
        let cameras = self.layout.parts.iter().enumerate();
        let cameras: Vec<_> = cameras
            .map(|(camera, part)| DeviceWeightedCamera {
                part: *part,
                weights: weights.plane(Plane::Weight(camera)).view(),
            })
            .collect();
        let cameras = table::<WeightedCamera>(&cameras)?;
        let [from, end] = self.layout.stored(options.flip);
        let from = from / 2 * 2;
        let threads = (end - from).map(|side| side.div_ceil(2));
        let config = LaunchConfig::cover(threads.x, threads.y, BLOCK);
        let CameraPart { min, size, .. } = self.layout.area;
        let pixels = panorama.format().pixels;
        let (decode, encode) = (pixels.to_rgb(), pixels.to_yuv());
        let flip = options.flip.into();
        let params = ApplyParams { min, size, from, flip, decode, encode };
        let (cells, sums) = (self.cells[0].view(), self.sums[0].view());
        macro_rules! launch {
            ($kernel:ident, $panorama:ident) => {{
                let kernel =
                    kernels::$kernel { cameras, cells, sums, params, panorama: $panorama };
                // SAFETY: the caller has checked that the panorama and the weights match the warp for which the layout
                // was made, and that the panorama is whole. The images have the size of the layout.
                unsafe { stream.launch_unchecked(&config, &kernel) }
            }};
        }
        match panorama {
            FrameViewMut::Rgba8(panorama) => launch!(MultibandApplyRgba8, panorama),
            FrameViewMut::Nv12(panorama, _) => launch!(MultibandApplyNv12, panorama),
            FrameViewMut::P010(panorama, _) => launch!(MultibandApplyP010, panorama),
        }
    }
}

/// Returns one entry per camera as a kernel argument.
#[track_caller]
fn table<'a, A: KernelArg>(
    cameras: &[A::Host<'a>],
) -> Result<DeviceTable<'a, A, MAX_CAMERAS>, DeviceError>
where
    A::Host<'a>: Copy,
{
    DeviceTable::new(cameras)
        .ok_or_else(|| DeviceError::refused("multiband blending", CameraCount(cameras.len())))
}

/// The number of cameras exceeds the limit of the kernels.
#[derive(Clone, Copy, Debug, Error)]
#[error("the warp has {0} cameras; it must have 1 to {MAX_CAMERAS}")]
struct CameraCount(usize);
