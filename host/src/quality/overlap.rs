//! How far apart both cameras are where they look at the same thing.
//!
//! Compared are the pixels that [`colour`](crate::ops::colour) compares: for each panorama pixel at which both cameras
//! count with a weight over 0.1, the nearest one of either picture. All of them count, those cut off at white
//! too: what no correction can mend is seen all the same.

use glam::UVec2;
use shared_types::colour::OverlapPixel;
use shared_types::stitch::Colour;
use shared_types::yuv::YuvToRgb;

use super::{QualityError, check_size};
use crate::device::Stream;
use crate::frame::{Frame, PixelFormat};
use crate::ops::colour::{Colours, Overlap};
use crate::warp::DeviceWarp;

/// Most pixels that are compared: a mean of so many is good to a few hundredths of a level.
const MOST: usize = 1 << 18;

/// The overlap of a warp, to measure pairs of frames in.
#[derive(Debug)]
pub struct OverlapMeter {
    sources: [UVec2; 2],
    share: f64,
    pixels: Vec<OverlapPixel>,
}

/// How far apart two cameras are, in levels of red, green and blue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CameraDifference {
    /// Magnitudes of the differences of both cameras' means: what differs in exposure and white balance.
    pub means: [f64; 3],
    /// Means of the magnitudes of single pixels' differences: in addition what is shown in two places, moved or is
    /// noise.
    pub pixels: [f64; 3],
}

impl CameraDifference {
    /// The mean of [`means`](Self::means).
    #[must_use]
    pub fn colour(&self) -> f64 {
        self.means.iter().sum::<f64>() / 3.0
    }

    /// The mean of [`pixels`](Self::pixels).
    #[must_use]
    pub fn disagreement(&self) -> f64 {
        self.pixels.iter().sum::<f64>() / 3.0
    }
}

impl OverlapMeter {
    /// Finds the overlap of a warp, and waits for it. `None` where there is none.
    ///
    /// # Errors
    /// What the device says.
    #[track_caller]
    pub fn new(stream: &Stream, warp: &DeviceWarp) -> Result<Option<Self>, QualityError> {
        let Some(overlap) = Overlap::find(stream, warp)? else { return Ok(None) };
        let mut pixels = overlap.pixels(stream)?;
        pixels.retain(|pixel| *pixel != OverlapPixel::NONE);
        let area = f64::from(warp.size().x) * f64::from(warp.size().y);
        let share = pixels.len() as f64 / area;
        // Odd, so that it does not fall on the same columns of every row.
        let step = pixels.len().div_ceil(MOST) | 1;
        let pixels: Vec<_> = pixels.into_iter().step_by(step).collect();
        let sources = warp.sources();
        Ok((!pixels.is_empty()).then_some(Self { sources, share, pixels }))
    }

    /// Share of the panorama's pixels that lie in it, 0 to 1.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.share
    }

    /// Measures a pair of frames, corrected by `colours` as the stitch does: `255 · clamp(gain · c / 255, 0,
    /// 1)^gamma`. NV12 is decoded, with the nearest chroma.
    ///
    /// # Errors
    /// [`QualityError::Size`].
    pub fn measure(
        &self,
        left: &Frame<'_>,
        right: &Frame<'_>,
        colours: &Colours,
    ) -> Result<CameraDifference, QualityError> {
        let found = [left, right].map(|frame| frame.format().size);
        check_size("left camera's picture", found[0], self.sources[0])?;
        check_size("right camera's picture", found[1], self.sources[1])?;
        let [left, right] = [(left, colours.left), (right, colours.right)]
            .map(|(frame, colour)| Corrected::new(frame, colour));
        let (mut means, mut pixels) = ([0.0; 3], [0.0; 3]);
        for pixel in &self.pixels {
            let (l, r) = (left.at(pixel.left), right.at(pixel.right));
            for c in 0..3 {
                let difference = f64::from(l[c] - r[c]);
                means[c] += difference;
                pixels[c] += difference.abs();
            }
        }
        let many = self.pixels.len() as f64;
        let means = means.map(|sum: f64| sum.abs() / many);
        Ok(CameraDifference { means, pixels: pixels.map(|sum| sum / many) })
    }
}

/// A camera's frame, corrected.
struct Corrected<'a> {
    frame: &'a Frame<'a>,
    /// Of NV12.
    decode: Option<YuvToRgb>,
    colour: Colour,
}

impl<'a> Corrected<'a> {
    fn new(frame: &'a Frame<'a>, colour: Colour) -> Self {
        let decode = match frame.format().pixels {
            PixelFormat::Rgba8 => None,
            PixelFormat::Nv12(encoding) => Some(encoding.to_rgb()),
        };
        Self { frame, decode, colour }
    }

    /// Red, green and blue of a pixel.
    fn at(&self, [x, y]: [u16; 2]) -> [f32; 3] {
        let (x, y) = (usize::from(x), usize::from(y));
        let byte = |plane: usize, x: usize, y: usize| {
            let plane = &self.frame.planes()[plane];
            f32::from(plane.bytes[y * plane.pitch + x])
        };
        let levels = match &self.decode {
            None => [0, 1, 2].map(|c| byte(0, 4 * x + c, y)),
            Some(decode) => {
                let luma = (byte(0, x, y) - decode.black) * decode.scale;
                let [cb, cr] = [0, 1].map(|i| byte(1, x / 2 * 2 + i, y / 2) - 128.0);
                let green = luma + decode.cb_green * cb + decode.cr_green * cr;
                [luma + decode.cr_red * cr, green, luma + decode.cb_blue * cb]
            }
        };
        let Colour { gain, gamma } = self.colour;
        std::array::from_fn(|c| {
            let gained = (gain[c] * levels[c] / 255.0).clamp(0.0, 1.0);
            255.0 * if gamma == 1.0 { gained } else { gained.powf(gamma) }
        })
    }
}
