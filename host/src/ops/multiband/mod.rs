//! Multiband blending: changes a stitched panorama so that differences between cameras fade over a distance that fits
//! their size. [`kernels_gpu::multiband`] defines the method.
//!
//! Use it with a seam that is a few pixels wide. Fine detail then appears only once, as with a seam alone, and a
//! difference in brightness fades gradually, as with a wide blend. [`Multiband::submit`] follows a
//! [`stitch`](crate::ops::stitch::stitch) with any lookup, input and output format.
//!
//! Differences fade inside the overlap and, by up to the reach of the last level, beyond it.
//!
//! Cost: four launches per panorama, and up to `n` more after the weights have changed, for `n` levels. Device memory
//! per panorama pixel: about 7 bytes for each camera in the overlaps, and 1.4 bytes for each camera in its part of the
//! panorama, which is the bounding box of its overlaps and their reach.

mod layout;

use cuda_std::prelude::View;
use cuda_std::{DeviceTable, KernelArg};
use glam::UVec2;
use half::f16;
use kernels_gpu::multiband as kernels;
use shared_types::multiband::{
    ApplyParams, BLOCK, CORRECT_BLOCK, CameraPart, Cell, DeviceProbedCamera, DeviceWeightedCamera,
    KEPT_CELLS, ProbedCamera, SLOT, Share, SplitCamera, Task, Tile, WeightedCamera,
};
use shared_types::nv12::P010;
use shared_types::picture::{AnyPicture, DeviceAnyPicture};
use shared_types::stitch::MAX_CAMERAS;
use shared_types::stitch::mesh::{DeviceWeighedCamera, SourcePoint, WeighedCamera};

use crate::device::{Buffer, Device, DeviceError, Image, LaunchConfig, Stream};
use crate::frame::{DeviceP010, DeviceView, FrameView, FrameViewMut, PixelFormat};
use crate::io::picture::{Pixel, Rgba16};
use crate::ops::stitch::sum::{LayerView, SumView};
use crate::ops::stitch::{
    StitchError, StitchOptions, StitchSet, Target, check_depths, check_size, check_sources,
};
use crate::warp::{DeviceWarp, Plane};
use layout::{Layout, Survey};

pub use shared_types::multiband::MAX_LEVELS;

/// Options of multiband blending.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MultibandOptions {
    /// The number of levels, from 1 to [`MAX_LEVELS`]. With each level, differences fade over twice the distance.
    pub levels: u32,
    /// The width in panorama pixels of the blend of the finest detail along the seam: 1 to 1000.
    pub feather: f32,
}

impl MultibandOptions {
    /// Five levels, with which differences in brightness fade over about a hundred pixels, and a feather of 4 pixels.
    pub const DEFAULT: Self = Self { levels: 5, feather: 4.0 };
}

impl Default for MultibandOptions {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The memory to blend the panoramas of one warp. Only one stream at a time may use it.
#[derive(Debug)]
pub struct Multiband {
    panorama: UVec2,
    sources: Vec<UVec2>,
    levels: u32,
    layout: Layout,
    tiles: Buffer<Tile>,
    /// The squares of cells of level 2.
    squares: Buffer<Tile>,
    /// The places of the cells of level 1 in the cameras' pictures, slot by slot.
    places: Buffer<SourcePoint>,
    /// The shares of the cameras in the cells of level 1, slot by slot.
    shares: Buffer<Share>,
    /// The differences of all cameras at level 1, slot by slot, in tiles in which several cameras have weights.
    first: Buffer<Cell>,
    /// The differences of all cameras at level 2.
    second: Image<Cell>,
    /// The differences of all cameras at levels 3 and 4.
    third: Image<Cell>,
    fourth: Image<Cell>,
    /// The corrections of all cameras at level 2. With one level, they are 0.
    corrections: Image<Cell>,
    /// The weights of all cameras at level 1, slot by slot.
    first_weights: Buffer<f16>,
    /// The weights of all cameras, from level 2 on.
    weights: Vec<Image<f16>>,
    /// The state of each tile for the current weights.
    states: Buffer<u32>,
    /// The tiles with their states, in the order in which they are changed.
    tasks: Buffer<Task>,
    /// The [version](DeviceWarp::version) of the weights of all levels. `None` until they are computed, and after a
    /// failure, which may leave any weights.
    version: Option<u64>,
}

impl Multiband {
    /// Allocates the memory for a warp and 1 to [`MAX_LEVELS`] levels. Waits for the search of the overlaps. Returns
    /// `None` if no cameras overlap; then there is nothing to blend.
    ///
    /// # Errors
    /// Returns [`StitchError`] if the number of levels is out of range or the device fails.
    #[track_caller]
    pub fn new(
        stream: &Stream,
        warp: &DeviceWarp,
        levels: u32,
    ) -> Result<Option<Self>, StitchError> {
        if !(1..=MAX_LEVELS).contains(&levels) {
            return Err(StitchError::Invalid(format!(
                "the number of levels of multiband blending is {levels}; it must be 1 to {MAX_LEVELS}"
            )));
        }
        warp.await_ready(stream)?;
        let (panorama, cameras) = (warp.size(), warp.sources().len());
        let survey = survey(stream, warp)?;
        let Some(layout) = Layout::new(&survey, cameras, levels) else { return Ok(None) };
        let device = stream.device();
        let cells = layout.slots * SLOT;
        let mut multiband = Self {
            panorama,
            sources: warp.sources().to_vec(),
            levels,
            tiles: Buffer::from_slice(stream, &layout.tiles)?,
            squares: Buffer::from_slice(stream, &layout.squares)?,
            places: Buffer::new(device, cells)?,
            shares: Buffer::new(device, cells)?,
            first: Buffer::new(device, cells)?,
            second: image(device, &layout, 2)?,
            third: image(device, &layout, 3)?,
            fourth: image(device, &layout, 4)?,
            corrections: image(device, &layout, 2)?,
            first_weights: Buffer::new(device, cells)?,
            weights: {
                let level = |level| image(device, &layout, level);
                (2..=levels.max(2)).map(level).collect::<Result<_, _>>()?
            },
            states: Buffer::new(device, layout.tiles.len() as u32)?,
            tasks: Buffer::new(device, layout.tiles.len() as u32)?,
            version: None,
            layout,
        };
        multiband.probe(stream, warp)?;
        stream.synchronize()?;
        Ok(Some(multiband))
    }

    /// Submits the change of a panorama that was stitched from `frames` with `options`, without waiting.
    ///
    /// `weights` is the warp with which the panorama was stitched: the warp for which this memory was allocated, or a
    /// [copy](crate::ops::seam::Seam::copy) with other weights.
    ///
    /// # Errors
    /// Returns [`StitchError`] if frames, weights and panorama do not match, or the device fails. The panorama may
    /// then have changed in part.
    #[track_caller]
    pub fn submit<'a>(
        &mut self,
        stream: &Stream,
        frames: &[FrameView<'_>],
        weights: &DeviceWarp,
        options: &StitchOptions,
        panorama: impl Into<FrameViewMut<'a>>,
    ) -> Result<(), StitchError> {
        let set = StitchSet::new(frames.iter().copied(), weights, options)?;
        self.submit_set(stream, &set, SumView::Frame(panorama.into()))
    }

    /// Submits the change of a panorama of still pictures like [`submit`](Self::submit), which follows
    /// [`stitch_images`](crate::ops::stitch::stitch_images).
    #[track_caller]
    pub fn submit_images<P: Pixel>(
        &mut self,
        stream: &Stream,
        images: &[Image<P>],
        weights: &DeviceWarp,
        options: &StitchOptions,
        panorama: &mut Image<P>,
    ) -> Result<(), StitchError> {
        let set = StitchSet::new(images.iter().map(P::view), weights, options)?;
        self.submit_set(stream, &set, panorama.panorama())
    }

    /// Submits the change of a panorama of a set, whose warp has the weights of the stitch.
    #[track_caller]
    pub(crate) fn submit_set(
        &mut self,
        stream: &Stream,
        set: &StitchSet<'_>,
        panorama: SumView<'_>,
    ) -> Result<(), StitchError> {
        let StitchSet { pictures, warp: weights, options } = set;
        let pictures = pictures.all();
        check_sources(weights.sources(), &self.sources)?;
        check_size(weights.size(), self.panorama)?;
        set.check_output(&panorama)?;
        check_depths(pictures.iter().map(|it| it.format()).chain([panorama.format()]))?;
        weights.await_ready(stream)?;
        if self.version != Some(weights.version()) {
            self.version = None;
            self.weigh(stream, weights)?;
            self.version = Some(weights.version());
        }
        self.split(stream, pictures, options)?;
        self.correct(stream)?;
        Ok(self.apply(stream, weights, options, panorama)?)
    }

    /// Submits the search for the place of each cell in the cameras' pictures.
    #[track_caller]
    fn probe(&mut self, stream: &Stream, warp: &DeviceWarp) -> Result<(), DeviceError> {
        let cameras = warp.sources().iter().zip(&self.layout.parts).enumerate();
        let cameras = cameras.map(|(camera, (&size, &part))| {
            Ok::<_, DeviceError>(DeviceProbedCamera { planes: warp.planes(camera)?, size, part })
        });
        let kernel = kernels::MultibandProbe {
            cameras: table::<ProbedCamera>(&cameras.collect::<Result<Vec<_>, _>>()?),
            tiles: self.tiles.view(),
            places: self.places.view_mut(),
            shares: self.shares.view_mut(),
            cells: self.second.view_mut(),
        };
        // SAFETY: the images and buffers have the size of the layout, whose tiles are distinct.
        unsafe { stream.launch_unchecked(&blocks(self.tiles.len()), &kernel) }
    }

    /// Submits the computation of the weights of all levels, and of the states of all tiles.
    #[track_caller]
    fn weigh(&mut self, stream: &Stream, warp: &DeviceWarp) -> Result<(), DeviceError> {
        let kernel = kernels::MultibandWeigh {
            cameras: weighted(&self.layout, warp),
            size: self.panorama,
            tiles: self.tiles.view(),
            first: self.first_weights.view_mut(),
            second: self.weights[0].view_mut(),
            states: self.states.view_mut(),
        };
        // SAFETY: the images and buffers have the size of the layout, whose tiles are distinct.
        unsafe { stream.launch_unchecked(&blocks(self.tiles.len()), &kernel) }?;
        let (tiles, states) = (self.tiles.view(), self.states.view());
        let kernel = kernels::MultibandOrder { tiles, states, tasks: self.tasks.view_mut() };
        // SAFETY: there is one block, and both buffers have an element for each tile.
        unsafe { stream.launch_unchecked(&blocks(1), &kernel) }?;
        let parts = table::<CameraPart>(&self.layout.parts);
        let sizes = self.layout.parts.iter().map(|part| part.size);
        let most = sizes.fold(UVec2::ZERO, UVec2::max);
        for level in 3..=self.levels {
            let (before, after) = self.weights.split_at_mut(level as usize - 2);
            let mut config = LaunchConfig::cover(most.x >> level, most.y >> level, BLOCK);
            config.grid[2] = self.layout.parts.len() as u32;
            let (weights, out) = (before[level as usize - 3].view(), after[0].view_mut());
            let kernel = kernels::MultibandReduce { parts, level, weights, out };
            // SAFETY: the images have the size of the layout.
            unsafe { stream.launch_unchecked(&config, &kernel) }?;
        }
        Ok(())
    }

    /// Submits the comparison of the pictures.
    #[track_caller]
    fn split(
        &mut self,
        stream: &Stream,
        pictures: &[LayerView<'_>],
        options: &StitchOptions,
    ) -> Result<(), DeviceError> {
        let camera = |(camera, picture): (usize, &LayerView<'_>)| {
            let (colour, offset, vignette) = options.correction(camera);
            let covered = options.covers.parts[camera] > 0.0;
            SplitCamera {
                part: self.layout.parts[camera],
                colour,
                vignette,
                offset,
                exact: (covered || options.lookup.is_exact()).into(),
                decode: picture.format().pixels.to_rgb(),
            }
        };
        let cameras: Vec<_> = pictures.iter().enumerate().map(camera).collect();
        let mut config = blocks(self.layout.overlaps);
        config.dynamic_shared = self.layout.most * SLOT * size_of::<Cell>() as u32;
        macro_rules! launch {
            ($kernel:ident, $pictures:expr) => {{
                let kernel = kernels::$kernel {
                    pictures: $pictures,
                    cameras: table::<SplitCamera>(&cameras),
                    width: if options.edge_boost { self.panorama.x } else { 0 },
                    tiles: self.tiles.view(),
                    states: self.states.view(),
                    places: self.places.view(),
                    shares: self.shares.view(),
                    first: self.first.view_mut(),
                    second: self.second.view_mut(),
                };
                // SAFETY: the caller has checked that the pictures match the warp for which the layout was made, and
                // that they are whole. The images and buffers have the size of the layout, whose first tiles have
                // slots.
                unsafe { stream.launch_unchecked(&config, &kernel) }
            }};
        }
        // The caller has checked that all pictures have the same number of bits per channel.
        let p010: Vec<_> = pictures.iter().filter_map(p010).collect();
        let rgba16: Vec<_> = pictures.iter().filter_map(rgba16).collect();
        debug_assert!(p010.is_empty() || p010.len() == pictures.len());
        debug_assert!(rgba16.is_empty() || rgba16.len() == pictures.len());
        if !p010.is_empty() {
            launch!(MultibandSplitP010, table::<P010>(&p010))
        } else if !rgba16.is_empty() {
            launch!(MultibandSplitRgba16, table::<View<Rgba16>>(&rgba16))
        } else {
            let pictures: Vec<_> = pictures.iter().filter_map(picture).collect();
            launch!(MultibandSplit, table::<AnyPicture>(&pictures))
        }
    }

    /// Submits the computation of the corrections at level 2.
    #[track_caller]
    fn correct(&mut self, stream: &Stream) -> Result<(), DeviceError> {
        if self.levels == 1 {
            return Ok(());
        }
        let (parts, squares) = (table::<CameraPart>(&self.layout.parts), self.squares.view());
        let mut config = blocks(self.squares.len());
        if self.levels > 2 {
            let kernel = kernels::MultibandCoarsen {
                parts,
                squares,
                second: self.second.view(),
                third: self.third.view_mut(),
                fourth: self.fourth.view_mut(),
            };
            // SAFETY: the images have the size of the layout, whose squares are distinct.
            unsafe { stream.launch_unchecked(&config, &kernel) }?;
        }
        let weights: Vec<_> = self.weights.iter().map(Image::view).collect();
        let kernel = kernels::MultibandCorrect {
            parts,
            levels: self.levels,
            squares,
            second: self.second.view(),
            third: self.third.view(),
            fourth: self.fourth.view(),
            weights: DeviceTable::<View<f16>, _>::new(&weights).expect("1 to MAX_LEVELS levels"),
            corrections: self.corrections.view_mut(),
        };
        let most = self.layout.squares.iter().map(|square| square.cameras.count_ones()).max();
        config.block = [CORRECT_BLOCK[0], CORRECT_BLOCK[1], 1];
        config.dynamic_shared = most.unwrap_or(0) * KEPT_CELLS * size_of::<Cell>() as u32;
        // SAFETY: the images have the size of the layout, whose squares are distinct.
        unsafe { stream.launch_unchecked(&config, &kernel) }
    }

    /// Submits the change of the panorama.
    #[track_caller]
    fn apply(
        &mut self,
        stream: &Stream,
        warp: &DeviceWarp,
        options: &StitchOptions,
        panorama: SumView<'_>,
    ) -> Result<(), DeviceError> {
        let pixels = panorama.format().pixels;
        let grouped = pixels != PixelFormat::Rgba8;
        let odd = if options.flip && grouped { self.panorama % 2 } else { UVec2::ZERO };
        let (decode, encode) = (pixels.to_rgb(), pixels.to_yuv());
        let params = ApplyParams { flip: options.flip.into(), odd, decode, encode };
        macro_rules! launch {
            ($kernel:ident, $panorama:ident) => {{
                let kernel = kernels::$kernel {
                    cameras: weighted(&self.layout, warp),
                    tasks: self.tasks.view(),
                    corrections: self.corrections.view(),
                    weights: self.first_weights.view(),
                    differences: self.first.view(),
                    params,
                    panorama: $panorama,
                };
                // SAFETY: the caller has checked that the panorama and the weights match the warp for which the layout
                // was made, and that the panorama is whole. The images and buffers have the size of the layout, whose
                // tiles are distinct.
                unsafe { stream.launch_unchecked(&blocks(self.tiles.len()), &kernel) }
            }};
        }
        match panorama {
            SumView::Rgba16(panorama) => launch!(MultibandApplyRgba16, panorama),
            SumView::Frame(FrameViewMut::Rgba8(panorama)) => launch!(MultibandApplyRgba8, panorama),
            SumView::Frame(FrameViewMut::Nv12(panorama, _)) => {
                launch!(MultibandApplyNv12, panorama)
            }
            SumView::Frame(FrameViewMut::P010(panorama, _)) => {
                launch!(MultibandApplyP010, panorama)
            }
        }
    }
}

/// Allocates the image of a level, with the parts of all cameras.
#[track_caller]
fn image<T: bytemuck::Pod>(
    device: &Device,
    layout: &Layout,
    level: u32,
) -> Result<Image<T>, DeviceError> {
    Image::new(device, layout.image.x >> level, layout.image.y >> level)
}

/// Returns an 8-bit frame as a kernel argument.
fn picture<'a>(picture: &LayerView<'a>) -> Option<DeviceAnyPicture<'a>> {
    match *picture {
        LayerView::Frame(FrameView::Rgba8(picture)) => Some(DeviceAnyPicture::Rgba8(picture)),
        LayerView::Frame(FrameView::Nv12(picture, _)) => Some(DeviceAnyPicture::Nv12(picture)),
        _ => None,
    }
}

/// Returns a P010 frame as a kernel argument.
fn p010<'a>(picture: &LayerView<'a>) -> Option<DeviceP010<'a>> {
    match *picture {
        LayerView::Frame(FrameView::P010(picture, _)) => Some(picture),
        _ => None,
    }
}

/// Returns a picture with 16 bits per channel as a kernel argument.
fn rgba16<'a>(picture: &LayerView<'a>) -> Option<DeviceView<'a, Rgba16>> {
    match *picture {
        LayerView::Rgba16(picture) => Some(picture),
        LayerView::Frame(_) => None,
    }
}

/// Finds the cameras that see each square of the panorama, and waits for them.
#[track_caller]
fn survey(stream: &Stream, warp: &DeviceWarp) -> Result<Survey, DeviceError> {
    let squares = Survey::squares(warp.size());
    let mut seen = Image::new(stream.device(), squares.x, squares.y)?;
    let cameras = warp.sources().iter().enumerate().map(|(camera, &size)| {
        Ok::<_, DeviceError>(DeviceWeighedCamera { planes: warp.planes(camera)?, size })
    });
    let cameras = table::<WeighedCamera>(&cameras.collect::<Result<Vec<_>, _>>()?);
    let mut config = blocks(squares.x);
    config.grid[1] = squares.y;
    stream.launch(&config, &kernels::MultibandSurvey { cameras, seen: seen.view_mut() })?;
    Ok(Survey::new(warp.size(), seen.download(stream)?))
}

/// Returns the launch of this number of blocks.
fn blocks(count: u32) -> LaunchConfig {
    LaunchConfig { grid: [count, 1, 1], block: [BLOCK[0], BLOCK[1], 1], dynamic_shared: 0 }
}

/// Returns the weights of all cameras of a warp as a kernel argument.
fn weighted<'a>(
    layout: &Layout,
    warp: &'a DeviceWarp,
) -> DeviceTable<'a, WeightedCamera, MAX_CAMERAS> {
    let weights = |(camera, part): (usize, &CameraPart)| DeviceWeightedCamera {
        part: *part,
        weights: warp.plane(Plane::Weight(camera)).view(),
    };
    table::<WeightedCamera>(&layout.parts.iter().enumerate().map(weights).collect::<Vec<_>>())
}

/// Returns one entry per camera as a kernel argument.
fn table<'a, A: KernelArg>(cameras: &[A::Host<'a>]) -> DeviceTable<'a, A, MAX_CAMERAS>
where
    A::Host<'a>: Copy,
{
    DeviceTable::new(cameras).expect("a warp has 1 to 16 cameras")
}
