//! Finds the overlap of two cameras of a warp on a device, and computes the colour sums of a pair of frames over the
//! overlap. `solve` computes the colour corrections from these sums.

use glam::Vec2;
use kernels_gpu::colour::vignette::factor;
use kernels_gpu::colour::{
    ColourSumsNv12, ColourSumsNv12Rgba8, ColourSumsP010, ColourSumsRgba8, ColourSumsRgba8Nv12,
    MapOverlap,
};
use shared_types::colour::{
    ColourSums, MIN_WEIGHT, OverlapBox, OverlapPixel, OverlapRule, RUNNING_SUMS, SumParams,
};
use shared_types::photometry::Vignette;
use shared_types::stitch::MAX_CAMERAS;

use super::Edge;
use super::solve::LEAST_WEIGHT;
use crate::device::{Buffer, Device, DeviceError, Image, Stream};
use crate::frame::FrameView;
use crate::ops::stitch::{StitchError, Vignettes};
use crate::warp::DeviceWarp;
use crate::warp::bounds::{BoxSearch, cover};

/// The maximum number of overlaps: one for each pair of cameras.
pub(crate) const MAX_OVERLAPS: u32 = (MAX_CAMERAS * (MAX_CAMERAS - 1) / 2) as u32;

/// The overlap of two cameras: for each panorama pixel in the overlap's bounding box, the nearest pixel of each
/// camera's picture.
#[derive(Debug)]
pub struct Overlap {
    cameras: [usize; 2],
    place: OverlapBox,
    pixels: Image<OverlapPixel>,
    samples: Vec<Sample>,
}

/// A pixel of an overlap, at which the vignettes of both cameras are compared.
#[derive(Debug)]
struct Sample {
    /// The weight of its column in the colour sums.
    weight: f32,
    /// The source pixels of the left and the right camera.
    places: [Vec2; 2],
}

/// The maximum number of columns and of rows of [`Sample`]s. Vignettes are smooth, so a coarse grid is enough.
const SAMPLES: u32 = 64;

/// Device memory for the colour sums of one set of frames over all overlaps. Only one stream at a time may use it.
#[derive(Debug)]
pub struct Summing {
    running: Buffer<u64>,
    /// `MAX_OVERLAPS` elements, of which the first ones belong to the overlaps in their order.
    pub sums: Buffer<ColourSums>,
}

/// Returns the rule for the overlaps of a warp. All of its cameras' weights at a pixel add up to 1.
fn rule(warp: &DeviceWarp) -> OverlapRule {
    match warp.sources().len() {
        2 => OverlapRule { weight: MIN_WEIGHT, share: 0.0 },
        _ => OverlapRule { weight: shared_types::stitch::MIN_WEIGHT, share: MIN_WEIGHT },
    }
}

/// Returns the bounding box of the panorama pixels at which both of two cameras have a weight greater than
/// `min_weight`. Waits for the result.
#[track_caller]
pub(crate) fn find_box(
    stream: &Stream,
    warp: &DeviceWarp,
    cameras: [usize; 2],
    min_weight: f32,
) -> Result<OverlapBox, DeviceError> {
    let rule = OverlapRule { weight: min_weight, share: 0.0 };
    warp.await_ready(stream)?;
    submit_box(stream, warp, cameras, rule)?.read(stream)
}

/// Submits the search for the bounding box of an overlap, without waiting. The stream must wait for the warp before.
/// The overlap of a camera with itself is the area that it sees.
#[track_caller]
fn submit_box(
    stream: &Stream,
    warp: &DeviceWarp,
    cameras: [usize; 2],
    rule: OverlapRule,
) -> Result<BoxSearch, DeviceError> {
    let (planes, sources) = warp.pair(cameras)?;
    BoxSearch::submit(stream, warp.size(), planes, sources, rule)
}

impl Summing {
    /// Allocates the memory on `device`.
    #[track_caller]
    pub fn new(device: &Device) -> Result<Self, DeviceError> {
        Ok(Self {
            running: Buffer::new(device, RUNNING_SUMS)?,
            sums: Buffer::new(device, MAX_OVERLAPS)?,
        })
    }
}

impl Overlap {
    /// Finds the overlap of two cameras of a warp: in a warp of two cameras, the pixels at which both have a weight
    /// greater than 0.1. In a warp of more cameras, each weight must exceed a tenth of the sum of both. Waits for the
    /// result. Returns `None` if there are no such pixels.
    ///
    /// # Panics
    /// Panics if the warp has no such cameras.
    #[track_caller]
    pub fn find(
        stream: &Stream,
        warp: &DeviceWarp,
        cameras: [usize; 2],
    ) -> Result<Option<Self>, DeviceError> {
        Ok(Self::find_all(stream, warp, &[cameras])?.pop())
    }

    /// Finds the overlaps of several pairs of cameras of a warp; see [`find`](Self::find). Waits for the result. Pairs
    /// without an overlap have no element in the result.
    #[track_caller]
    pub(super) fn find_all(
        stream: &Stream,
        warp: &DeviceWarp,
        pairs: &[[usize; 2]],
    ) -> Result<Vec<Self>, DeviceError> {
        let rule = rule(warp);
        warp.await_ready(stream)?;
        // Submit all searches before waiting for the first result.
        let search = |&cameras| submit_box(stream, warp, cameras, rule);
        let boxes = pairs.iter().map(search).collect::<Result<Vec<_>, _>>()?;
        let mut overlaps = Vec::new();
        for (&cameras, found) in pairs.iter().zip(&boxes) {
            let place = found.read(stream)?;
            if !place.is_empty() {
                overlaps.push(Self::map(stream, warp, cameras, place, rule)?);
            }
        }
        for overlap in &mut overlaps {
            overlap.samples = overlap.sampled(&overlap.pixels(stream)?);
        }
        Ok(overlaps)
    }

    /// Returns samples of the `pixels` of the overlap.
    fn sampled(&self, pixels: &[OverlapPixel]) -> Vec<Sample> {
        let size = self.place.size();
        let [columns, rows] = size.to_array().map(|side| {
            let step = side.div_ceil(SAMPLES);
            (step / 2..side).step_by(step as usize)
        });
        let (centre, per_column) = self.band();
        let sample = |(x, y): (u32, u32)| {
            let pixel = pixels[(y * size.x + x) as usize];
            let band = (1.0 - (x as f32 - centre).abs() * per_column).clamp(0.0, 1.0);
            let places = [pixel.left, pixel.right].map(|at| Vec2::from(at.map(f32::from)));
            (pixel != OverlapPixel::NONE).then_some(Sample { weight: band * band, places })
        };
        rows.flat_map(|y| columns.clone().map(move |x| (x, y))).filter_map(sample).collect()
    }

    /// Returns the column with the largest weight, and the reciprocal of the distance at which the weight is 0.
    fn band(&self) -> (f32, f32) {
        let width = self.place.size().x as f32;
        (0.5 * (width - 1.0), 2.0 / width)
    }

    /// Returns the colour sums of frames without vignetting, from those of the stored frames. `vignettes` are those of
    /// the left and the right camera.
    ///
    /// The kernels sum stored levels, so the result assumes that light and dark parts of the scene are distributed over
    /// the overlap in the same way. The sums of each camera are multiplied by `Σw / Σ(w/f)`, with the weights `w` of the
    /// pixels and the factors `f` that undo the vignetting.
    fn undo(&self, vignettes: [&Vignette; 2], sums: &ColourSums) -> ColourSums {
        let weight: f64 = self.samples.iter().map(|sample| f64::from(sample.weight)).sum();
        let scaled = |camera: usize, sums: [f32; 4]| {
            let vignette = vignettes[camera];
            if *vignette == Vignette::NONE {
                return sums;
            }
            let stored = |sample: &Sample| {
                f64::from(sample.weight) / f64::from(factor(vignette, sample.places[camera]))
            };
            let scale = weight / self.samples.iter().map(stored).sum::<f64>();
            if scale.is_finite() { sums.map(|sum| (f64::from(sum) * scale) as f32) } else { sums }
        };
        ColourSums { left: scaled(0, sums.left), right: scaled(1, sums.right), ..*sums }
    }

    /// Creates the overlap with this bounding box. Does not wait for the device.
    #[track_caller]
    fn map(
        stream: &Stream,
        warp: &DeviceWarp,
        cameras: [usize; 2],
        place: OverlapBox,
        rule: OverlapRule,
    ) -> Result<Self, DeviceError> {
        let size = place.size();
        let mut pixels = Image::new(stream.device(), size.x, size.y)?;
        let out = pixels.view_mut();
        let ([planes_left, planes_right], [left, right]) = warp.pair(cameras)?;
        let kernel = MapOverlap { planes_left, planes_right, left, right, rule, place, out };
        stream.launch(&cover(size), &kernel)?;
        Ok(Self { cameras, place, pixels, samples: Vec::new() })
    }

    /// Returns the two cameras.
    #[must_use]
    pub fn cameras(&self) -> [usize; 2] {
        self.cameras
    }

    /// Downloads the nearest source pixels of both cameras, one element per panorama pixel of the [bounding
    /// box](Self::place), row by row. The element is [`OverlapPixel::NONE`] at pixels outside the overlap.
    #[track_caller]
    pub fn pixels(&self, stream: &Stream) -> Result<Vec<OverlapPixel>, DeviceError> {
        self.pixels.download(stream)
    }

    /// Returns the overlap's bounding box in panorama pixels.
    #[must_use]
    pub fn place(&self) -> OverlapBox {
        self.place
    }

    /// Returns the edge between this overlap's cameras for colour sums of the stored frames; see [`Edge::new`]. The edge
    /// is that of frames without vignetting.
    ///
    /// The minimum weight of a small overlap is lower: a quarter of the sum of all weights. That sum is a third of the
    /// number of pixels, because the weights fall quadratically from 1 at the middle column to 0 at the left and right
    /// edge of the bounding box.
    pub(super) fn edge(&self, sums: &ColourSums, vignettes: &Vignettes) -> Option<Edge> {
        let all = self.place.size().as_vec2().element_product() / 3.0;
        let sums = self.undo(self.cameras.map(|camera| &vignettes[camera]), sums);
        Edge::new(self.cameras, &sums, LEAST_WEIGHT.min(0.25 * all))
    }

    /// Launches the kernel that writes the colour sums to an element of `summing`.
    ///
    /// # Safety
    /// - `frames` must have the overlap's source sizes and complete chroma planes.
    /// - Work on `summing` in other streams must be done before this call.
    /// - `element` must be less than [`MAX_OVERLAPS`].
    #[track_caller]
    pub(super) unsafe fn launch(
        &self,
        stream: &Stream,
        frames: [FrameView<'_>; 2],
        summing: &mut Summing,
        element: u32,
    ) -> Result<(), DeviceError> {
        let [left, right] = frames.each_ref().map(|frame| frame.format().pixels.to_rgb());
        let (centre, per_column) = self.band();
        let params = SumParams { centre, per_column, left, right, element };
        macro_rules! launch {
            ($kernel:ident, $left:ident, $right:ident) => {
                // SAFETY: `cover` configures the launch for the size of the overlap. The caller guarantees that the
                // frames contain all source pixels of the overlap, that no other stream uses `summing`, and that
                // `summing` has the element. Launches in one stream do not run at the same time.
                unsafe {
                    stream.launch_unchecked(
                        &cover(self.place.size()),
                        &$kernel {
                            left: $left,
                            right: $right,
                            overlap: self.pixels.view(),
                            params,
                            running: summing.running.view_mut(),
                            sums: summing.sums.view_mut(),
                        },
                    )
                }
            };
        }
        match frames {
            [FrameView::Rgba8(left), FrameView::Rgba8(right)] => {
                launch!(ColourSumsRgba8, left, right)
            }
            [FrameView::Nv12(left, _), FrameView::Nv12(right, _)] => {
                launch!(ColourSumsNv12, left, right)
            }
            [FrameView::Rgba8(left), FrameView::Nv12(right, _)] => {
                launch!(ColourSumsRgba8Nv12, left, right)
            }
            [FrameView::Nv12(left, _), FrameView::Rgba8(right)] => {
                launch!(ColourSumsNv12Rgba8, left, right)
            }
            [FrameView::P010(left, _), FrameView::P010(right, _)] => {
                launch!(ColourSumsP010, left, right)
            }
            [left, right] => {
                let error = StitchError::depths(left.format(), right.format());
                Err(DeviceError::refused("computing colour sums", error))
            }
        }
    }
}
