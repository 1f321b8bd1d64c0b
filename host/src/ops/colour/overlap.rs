//! Finds the overlap of a warp's two cameras on a device, and computes the colour sums of a pair of frames over the
//! overlap. `estimate.rs` computes the colour corrections from these sums.

use glam::UVec2;
use kernels_gpu::colour::{ColourSumsNv12, ColourSumsRgba8, FindOverlap, MapOverlap};
use shared_types::colour::{
    BLOCK, BLOCK_ROWS, ColourSums, MIN_WEIGHT, OverlapBox, OverlapPixel, RUNNING_SUMS, SumParams,
};

use super::{Colours, EstimateLimits, estimate};
use crate::device::{Buffer, Device, DeviceError, Image, LaunchConfig, Pinned, Stream};
use crate::frame::{FrameView, PixelFormat};
use crate::io::picture::Picture;
use crate::ops::stitch::{StitchError, check_frames};
use crate::warp::DeviceWarp;

/// The overlap of two cameras: for each panorama pixel in the overlap's bounding box, the nearest pixel of each
/// camera's picture.
#[derive(Debug)]
pub struct Overlap {
    place: OverlapBox,
    sources: [UVec2; 2],
    pixels: Image<OverlapPixel>,
}

/// Device memory for the colour sums of one pair of frames. Only one launch at a time may use it.
#[derive(Debug)]
pub struct Summing {
    running: Buffer<u64>,
    sums: Buffer<ColourSums>,
}

/// Returns the launch configuration for kernels over an overlap of `size` pixels. Each thread processes up to 8 pixels
/// of one column.
fn cover(size: UVec2) -> LaunchConfig {
    LaunchConfig {
        grid: [size.x.div_ceil(BLOCK[0]), size.y.div_ceil(BLOCK_ROWS), 1],
        block: [BLOCK[0], BLOCK[1], 1],
        dynamic_shared: 0,
    }
}

/// Returns the bounding box of the panorama pixels at which both of two cameras have a weight greater than
/// `min_weight`. Waits for the result.
#[track_caller]
pub(crate) fn find_box(
    stream: &Stream,
    warp: &DeviceWarp,
    [a, b]: [usize; 2],
    min_weight: f32,
) -> Result<OverlapBox, DeviceError> {
    warp.await_ready(stream)?;
    let empty = bytemuck::cast::<_, [u32; 4]>(OverlapBox::EMPTY);
    let mut found = Buffer::from_slice(stream, &empty)?;
    let corners = found.view_mut();
    let (planes_left, planes_right) = (warp.planes(a)?, warp.planes(b)?);
    let (left, right) = (warp.sources()[a], warp.sources()[b]);
    let kernel = FindOverlap { planes_left, planes_right, left, right, min_weight, corners };
    stream.launch(&cover(warp.size()), &kernel)?;
    Ok(bytemuck::pod_read_unaligned(bytemuck::cast_slice(&found.download(stream)?)))
}

impl Summing {
    /// Allocates the memory on `device`.
    ///
    /// # Errors
    /// Returns [`DeviceError`] if the allocation fails.
    #[track_caller]
    pub fn new(device: &Device) -> Result<Self, DeviceError> {
        Ok(Self { running: Buffer::new(device, RUNNING_SUMS)?, sums: Buffer::new(device, 1)? })
    }

    /// Submits the copy of the sums to the host without waiting.
    ///
    /// # Safety
    /// `sums` must stay valid, and must not be accessed, until the copy is done.
    pub(crate) unsafe fn submit_download(
        &self,
        stream: &Stream,
        sums: &mut Pinned<ColourSums>,
    ) -> Result<(), DeviceError> {
        // SAFETY: the caller guarantees that `sums` stays valid and is not accessed until the copy is done.
        unsafe { self.sums.submit_download(stream, sums) }
    }
}

impl Overlap {
    /// Finds the overlap of two cameras of a warp: the pixels at which both have a weight greater than 0.1. Waits for
    /// the result. Returns `None` if there are no such pixels.
    ///
    /// # Errors
    /// Returns [`DeviceError`] if the device fails.
    #[track_caller]
    pub fn find(
        stream: &Stream,
        warp: &DeviceWarp,
        cameras: [usize; 2],
    ) -> Result<Option<Self>, DeviceError> {
        let place = find_box(stream, warp, cameras, MIN_WEIGHT)?;
        if place.is_empty() {
            return Ok(None);
        }
        let size = place.size();
        let mut pixels = Image::new(stream.device(), size.x, size.y)?;
        let out = pixels.view_mut();
        let [a, b] = cameras;
        let (planes_left, planes_right) = (warp.planes(a)?, warp.planes(b)?);
        let sources = cameras.map(|camera| warp.sources()[camera]);
        let [left, right] = sources;
        let kernel = MapOverlap { planes_left, planes_right, left, right, place, out };
        stream.launch(&cover(size), &kernel)?;
        stream.synchronize()?;
        Ok(Some(Self { place, sources, pixels }))
    }

    /// Downloads the nearest source pixels of both cameras, one element per panorama pixel of the [bounding
    /// box](Self::place), row by row. The element is [`OverlapPixel::NONE`] if the weight of at least one camera is 0.1
    /// or less at this pixel.
    ///
    /// # Errors
    /// Returns [`DeviceError`] if the download fails.
    #[track_caller]
    pub fn pixels(&self, stream: &Stream) -> Result<Vec<OverlapPixel>, DeviceError> {
        self.pixels.download(stream)
    }

    /// Returns the overlap's bounding box in panorama pixels.
    #[must_use]
    pub fn place(&self) -> OverlapBox {
        self.place
    }

    /// Returns the approximate sum of the weights in [`sums`](Self::sums) for a bounding box that is completely in the
    /// overlap and well exposed. It is a third of the number of pixels, because the weights fall quadratically from 1
    /// at the middle column of the box to 0 at its left and right edge.
    #[must_use]
    pub fn full_weight(&self) -> f32 {
        self.place.size().as_vec2().element_product() / 3.0
    }

    /// Returns the default limits of an estimate. For a small overlap, the minimum weight is lower: a quarter of
    /// [`full_weight`](Self::full_weight).
    #[must_use]
    pub fn limits(&self) -> EstimateLimits {
        let limits = EstimateLimits::default();
        EstimateLimits { min_weight: limits.min_weight.min(0.25 * self.full_weight()), ..limits }
    }

    /// Returns the minimum number of bytes that [`sums`](Self::sums) reads: for each pixel of the box, the entry of
    /// the overlap and one pixel of each picture.
    #[must_use]
    pub fn bytes(&self, pixels: PixelFormat) -> u64 {
        let pixel = match pixels {
            PixelFormat::Rgba8 => 4.0,
            PixelFormat::Nv12(_) => 1.5,
        };
        let count = f64::from(self.place.size().x) * f64::from(self.place.size().y);
        (count * (size_of::<OverlapPixel>() as f64 + 2.0 * pixel)) as u64
    }

    /// Computes the colour sums of a pair of frames over the overlap and waits for the result.
    ///
    /// # Errors
    /// Returns [`StitchError`] if the frames do not match the warp or the device fails.
    #[track_caller]
    pub fn sums<'a>(
        &self,
        stream: &Stream,
        left: impl Into<FrameView<'a>>,
        right: impl Into<FrameView<'a>>,
    ) -> Result<ColourSums, StitchError> {
        let mut summing = Summing::new(stream.device())?;
        // SAFETY: `summing` is new, so no other stream uses it.
        unsafe { self.submit(stream, left.into(), right.into(), &mut summing)? };
        Ok(summing.sums.download(stream)?[0])
    }

    /// Submits the computation of the colour sums of a pair of frames over the overlap, without waiting.
    ///
    /// # Safety
    /// Work on `summing` in other streams must be done before this call.
    ///
    /// # Errors
    /// Returns [`StitchError`] if the frames do not match the warp or the device fails.
    #[track_caller]
    pub unsafe fn submit(
        &self,
        stream: &Stream,
        left: FrameView<'_>,
        right: FrameView<'_>,
        summing: &mut Summing,
    ) -> Result<(), StitchError> {
        let (l, r) = (left.format(), right.format());
        check_frames(&[left, right], &self.sources)?;
        let width = self.place.size().x as f32;
        let params = SumParams {
            centre: 0.5 * (width - 1.0),
            per_column: 2.0 / width,
            decode: l.pixels.encoding().to_rgb(),
        };
        macro_rules! launch {
            ($kernel:ident, $left:ident, $right:ident) => {
                // SAFETY: `cover` configures the launch for the size of the overlap. The caller guarantees that no
                // other stream uses `summing`. The checks above guarantee that the frames have the warp's source sizes
                // and complete chroma planes.
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
        match (left, right) {
            (FrameView::Rgba8(left), FrameView::Rgba8(right)) => {
                launch!(ColourSumsRgba8, left, right)
            }
            (FrameView::Nv12(left, a), FrameView::Nv12(right, b)) if a == b => {
                launch!(ColourSumsNv12, left, right)
            }
            _ => return Err(StitchError::Formats { left: l, right: r }),
        }
        .map_err(StitchError::from)
    }
}

/// Returns the colours that equalise the pictures of two cameras in their overlap. Returns `None` if the pictures do not
/// overlap, or if the overlap is too dark or too bright for an estimate.
///
/// # Errors
/// Returns [`StitchError`] if the pictures do not match the warp or the device fails.
#[track_caller]
pub fn matched_pictures(
    stream: &Stream,
    pictures: &[&Picture],
    warp: &DeviceWarp,
) -> Result<Option<Colours>, StitchError> {
    let images: Vec<_> =
        pictures.iter().map(|picture| picture.upload(stream)).collect::<Result<_, _>>()?;
    let frames: Vec<_> = images.iter().map(FrameView::from).collect();
    matched(stream, &frames, warp)
}

/// Returns the colours that equalise two frames on the device, as [`matched_pictures`] does for pictures.
///
/// # Errors
/// Returns [`StitchError`] if the frames do not match the warp or the device fails.
#[track_caller]
pub fn matched(
    stream: &Stream,
    frames: &[FrameView<'_>],
    warp: &DeviceWarp,
) -> Result<Option<Colours>, StitchError> {
    check_frames(frames, warp.sources())?;
    let &[left, right] = frames else { return Ok(None) };
    let Some(overlap) = Overlap::find(stream, warp, [0, 1])? else { return Ok(None) };
    Ok(estimate(&overlap.sums(stream, left, right)?, &overlap.limits()))
}
