//! Compares two videos frame by frame: computes SSIM and PSNR of each frame and of the whole video.
//!
//! Frame n of one video is compared with frame n of the other, even if the frame rates differ. With an [`Offset`] or a
//! rate for the comparison, the frames that are nearest in time are compared. The comparison ends with the
//! shorter video, and reports which video ended first. It allocates no memory per frame: the frames of each video
//! use the few buffers of its [`VideoSource`] and one buffer on the device.
//!
//! For NV12 and P010, the stored luma is compared. As is customary, the highest level in the formula of PSNR is 255 for
//! 8 bits and 1023 for 10 bits, even for videos in limited range.

use std::time::Duration;

use glam::UVec2;
use thiserror::Error;

use super::Offset;
use super::feeds::{Feed, Wanted};
use crate::device::{Device, DeviceError};
use crate::error::passes_on;
use crate::frame::{DeviceFrame, FrameFormat, FrameView, Rate};
use crate::io::video::{Stop, VideoError, VideoSource};
use crate::ops::ssim::{Compared, Comparer, Similarity, SsimError};

/// The error if videos cannot be compared or read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CompareError {
    /// The frames of the two videos have different sizes.
    #[error("comparing videos: the frames are {}×{} pixels in the first video but {}×{} in the second; scale one of the videos", .0[0].x, .0[0].y, .0[1].x, .0[1].y)]
    Sizes([UVec2; 2]),
    /// The frames cannot be compared, or the device failed.
    #[error(transparent)]
    Ssim(SsimError),
    /// The device failed.
    #[error(transparent)]
    Device(DeviceError),
    /// A video cannot be read.
    #[error(transparent)]
    Video(#[from] VideoError),
}

passes_on!(CompareError: Device | Video);

impl From<SsimError> for CompareError {
    fn from(error: SsimError) -> Self {
        match error {
            SsimError::Device(error) => Self::Device(error),
            error => Self::Ssim(error),
        }
    }
}

impl From<DeviceError> for CompareError {
    fn from(error: DeviceError) -> Self {
        Self::Device(error)
    }
}

/// The similarity of one frame of the first video and the corresponding frame of the second video.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameSimilarity {
    /// The number of the frame, from 0, in the first video, or at the rate of the comparison if it has one.
    pub frame: u64,
    /// The time of the frame since the start of the first video.
    pub time: Duration,
    /// The similarity of the two frames.
    pub similarity: Similarity,
}

/// A value, and the number of the frame that has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AtFrame {
    /// The number of the frame; see [`FrameSimilarity::frame`].
    pub frame: u64,
    /// The value. The field that has this type documents its unit.
    pub value: f64,
}

/// The similarity of two videos.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// The number of compared frames; not 0.
    pub frames: u64,
    /// The mean SSIM of all compared frames.
    pub ssim: f64,
    /// The lowest SSIM of a frame, and the number of the first frame with this SSIM.
    pub least_ssim: AtFrame,
    /// The PSNR of luma in dB, computed from the mean squared error over all frames. It is infinite for identical
    /// videos.
    pub psnr: f64,
    /// The lowest PSNR of luma of a frame, in dB, and the number of the first frame with this PSNR. It is infinite for
    /// identical videos.
    pub least_psnr: AtFrame,
    /// The PSNR of red, green and blue, computed like [`psnr`](Self::psnr). `None` if only luma was compared.
    pub psnr_rgb: Option<f64>,
    /// The index (0 or 1) of the video that ended before the other one. `None` if both ended together or a stop was
    /// requested.
    pub ended_first: Option<usize>,
    /// Whether a stop was requested before the videos ended.
    pub stopped: bool,
}

/// The sums over all frames so far.
struct Totals {
    frames: u64,
    ssim: f64,
    /// The sum over the frames of the mean squared error of luma. The errors are relative to the square of the highest
    /// level.
    squares: f64,
    colour_squares: Option<f64>,
    least_ssim: AtFrame,
    least_psnr: AtFrame,
}

impl Totals {
    fn new() -> Self {
        let none = AtFrame { frame: 0, value: f64::INFINITY };
        Self {
            frames: 0,
            ssim: 0.0,
            squares: 0.0,
            colour_squares: None,
            least_ssim: none,
            least_psnr: none,
        }
    }

    fn add(&mut self, frame: u64, Similarity { ssim, psnr, psnr_rgb }: Similarity) {
        // Computes the mean squared error from the PSNR, relative to the square of the highest level. It is 0 for
        // identical frames, whose PSNR is infinite.
        let square = |psnr: f64| 10.0_f64.powf(-psnr / 10.0);
        for (least, value) in [(&mut self.least_ssim, ssim), (&mut self.least_psnr, psnr)] {
            if value < least.value {
                *least = AtFrame { frame, value };
            }
        }
        self.ssim += ssim;
        self.squares += square(psnr);
        if let Some(psnr) = psnr_rgb {
            *self.colour_squares.get_or_insert(0.0) += square(psnr);
        }
        self.frames += 1;
    }

    fn finish(self, ended_first: Option<usize>, stopped: bool) -> Comparison {
        let frames = self.frames.max(1) as f64;
        let psnr = |squares: f64| -10.0 * (squares / frames).log10();
        Comparison {
            frames: self.frames,
            ssim: self.ssim / frames,
            least_ssim: self.least_ssim,
            psnr: psnr(self.squares),
            least_psnr: self.least_psnr,
            psnr_rgb: self.colour_squares.map(psnr),
            ended_first,
            stopped,
        }
    }
}

/// Compares two videos on a device, and calls `each` with the result of every frame.
///
/// `offset` is the offset of the second video to the first one, and `rate` is the number of comparisons per second. If
/// one of them is given, the frames that are nearest in time are compared; without a rate, each frame of the first video
/// is. If both are `None`, frames are compared by number.
///
/// # Errors
/// Returns [`CompareError`] if the videos differ in size or format, the frames are smaller than the window of SSIM, a
/// video cannot be read, or the device fails.
pub fn compare_videos(
    device: &Device,
    sources: [VideoSource; 2],
    offset: Option<Offset>,
    rate: Option<Rate>,
    mut each: impl FnMut(&FrameSimilarity),
) -> Result<Comparison, CompareError> {
    let formats = sources.each_ref().map(VideoSource::format);
    let sizes = formats.map(|format| format.size);
    if sizes[0] != sizes[1] {
        return Err(CompareError::Sizes(sizes));
    }
    let stored = formats.map(FrameFormat::stored);
    if stored[0] != stored[1] {
        let [expected, found] = formats.map(|format| format.pixels);
        let reason = format!(
            "the pixel format is {found}, but the other video's is {expected}; convert one of them"
        );
        return Err(VideoError::input(sources[1].name(), reason).into());
    }
    let stream = device.stream()?;
    // The buffers are allocated when both videos have a frame, because a file can claim frames of any size.
    let mut buffers: Option<(Comparer, [DeviceFrame; 2])> = None;
    let stops = sources.each_ref().map(|source| source.stop().clone());
    let by_time = offset.is_some() || rate.is_some();
    let (offset, rate) = (offset.unwrap_or(Offset::NONE), rate.unwrap_or(sources[0].rate()));
    let first = Offset::first_tick(&[offset], rate);
    let [a, b] = sources;
    let mut feeds = [Feed::new(a, Offset::NONE), Feed::new(b, offset)];
    let mut totals = Totals::new();
    let ended_first = loop {
        let [a, b] = &mut feeds;
        let number = first.saturating_add(totals.frames);
        let wanted = |feed: &Feed| match by_time {
            true => feed.wanted(number, rate),
            false => Wanted { nearest: number, begun: number },
        };
        let [in_a, in_b] = [wanted(a), wanted(b)];
        match [a.advance(in_a)?, b.advance(in_b)?] {
            [true, true] => {}
            [false, false] => break None,
            [false, true] => break Some(0),
            [true, false] => break Some(1),
        }
        let (comparer, frames) = match &mut buffers {
            Some(buffers) => buffers,
            None => {
                let [a, b] = formats.map(|format| DeviceFrame::new(device, format));
                buffers.insert((Comparer::new(&stream, sizes[0])?, [a?, b?]))
            }
        };
        for (feed, on_device) in feeds.iter_mut().zip(&mut *frames) {
            if let Some(frame) = feed.host_frame() {
                on_device.upload(&stream, &frame?)?;
            }
        }
        comparer.submit(&stream, compared(frames)?, None)?;
        let similarity = comparer.result(&stream)?;
        totals.add(number, similarity);
        each(&FrameSimilarity { frame: number, time: rate.time(number), similarity });
    };
    let stopped = stops.iter().any(Stop::is_asked);
    Ok(totals.finish(ended_first.filter(|_| !stopped), stopped))
}

/// Wraps two frames of the same format as a pair for the [`Comparer`].
fn compared(frames: &[DeviceFrame; 2]) -> Result<Compared<'_>, CompareError> {
    match frames.each_ref().map(DeviceFrame::view) {
        [FrameView::Rgba8(a), FrameView::Rgba8(b)] => Ok(Compared::Rgba8(a, b)),
        [FrameView::Nv12(a, _), FrameView::Nv12(b, _)] => Ok(Compared::Luma8(a.y, b.y)),
        [FrameView::P010(a, _), FrameView::P010(b, _)] => Ok(Compared::P010(a.y, b.y)),
        // Unreachable, because both frames have the same format.
        [a, b] => Err(CompareError::Sizes([a.format().size, b.format().size])),
    }
}
