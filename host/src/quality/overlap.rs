//! Measures the colour difference of two cameras in their overlap.
//!
//! The compared pixels are the same as in [`colour`](crate::ops::colour): for each panorama pixel at which both cameras
//! have a weight over 0.1, the nearest pixel of each picture. Unlike colour matching, this measurement includes
//! saturated pixels, because a viewer sees their difference even if no correction can remove it.

use glam::{UVec2, Vec2, Vec3};
use kernels_gpu::colour::corrected;
use kernels_gpu::colour::vignette::factor;
use shared_types::colour::OverlapPixel;
use shared_types::photometry::Vignette;
use shared_types::stitch::Colour;
use shared_types::yuv::YuvToRgb;

use super::{QualityError, check_size};
use crate::device::Stream;
use crate::frame::{Byte, Frame, Samples};
use crate::io::picture::{Picture, Pixel, is_masked};
use crate::ops::colour::{Colours, Overlap};
use crate::ops::stitch::Vignettes;
use crate::warp::DeviceWarp;

/// The maximum number of pixels to compare. A larger overlap is sampled, which changes the means by a few hundredths of
/// a level.
const MOST: usize = 1 << 18;

/// The colour difference, in levels, for which the score is 0.
const COLOUR_RANGE: f64 = 30.0;

/// Measures the colour difference between the two cameras' frames in the overlap of a warp.
#[derive(Debug)]
pub struct OverlapMeter {
    cameras: [usize; 2],
    sources: [UVec2; 2],
    share: f64,
    pixels: Vec<OverlapPixel>,
}

/// The colour difference of two cameras in their overlap, in levels (0 to 255) of red, green and blue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CameraDifference {
    /// The absolute difference between the mean levels of the two cameras, for each channel. It shows differences in
    /// exposure and white balance.
    pub means: [f64; 3],
    /// The mean of the absolute differences between corresponding pixels, for each channel. In addition to exposure and
    /// white balance, it shows parallax, motion and noise.
    pub pixels: [f64; 3],
}

impl CameraDifference {
    /// Returns the mean of [`means`](Self::means) over the three channels, in levels.
    #[must_use]
    pub fn colour(&self) -> f64 {
        self.means.iter().sum::<f64>() / 3.0
    }

    /// Returns the mean of [`pixels`](Self::pixels) over the three channels, in levels.
    #[must_use]
    pub fn disagreement(&self) -> f64 {
        self.pixels.iter().sum::<f64>() / 3.0
    }
}

/// Returns the score for a [difference of the cameras' means](CameraDifference::colour) of `levels`: `1 − levels / 30`,
/// at least 0. For instance, a difference of 3 levels has a score of 0.9.
#[must_use]
pub fn colour_score(levels: f64) -> f64 {
    (1.0 - levels / COLOUR_RANGE).clamp(0.0, 1.0)
}

impl OverlapMeter {
    /// Finds the overlap of two cameras of a warp, and waits for the result. Returns `None` if they do not overlap.
    #[track_caller]
    pub fn new(
        stream: &Stream,
        warp: &DeviceWarp,
        cameras: [usize; 2],
    ) -> Result<Option<Self>, QualityError> {
        let Some(overlap) = Overlap::find(stream, warp, cameras)? else { return Ok(None) };
        let mut pixels = overlap.pixels(stream)?;
        pixels.retain(|pixel| *pixel != OverlapPixel::NONE);
        let area = f64::from(warp.size().x) * f64::from(warp.size().y);
        let share = pixels.len() as f64 / area;
        // Use an odd step. If all rows have an even length, an even step would select only every second column.
        let step = pixels.len().div_ceil(MOST) | 1;
        let pixels: Vec<_> = pixels.into_iter().step_by(step).collect();
        let sources = cameras.map(|camera| warp.sources()[camera]);
        Ok((!pixels.is_empty()).then_some(Self { cameras, sources, share, pixels }))
    }

    /// Leaves out the pixels at which one of the two cameras' pictures is transparent, because stitching ignores them
    /// (see [`Picture::mask`]). `pictures` contains one picture per camera of the warp. Returns `None` if no pixel
    /// remains.
    pub fn unmasked<P: Pixel>(
        mut self,
        pictures: &[Picture<P>],
    ) -> Result<Option<Self>, QualityError> {
        let [left, right] = self.pair(pictures, Picture::size)?;
        let all = self.pixels.len();
        let shown = |picture: &Picture<P>, [x, y]: [u16; 2]| {
            let at = usize::from(y) * picture.width() as usize + usize::from(x);
            !is_masked(&picture.pixels()[at])
        };
        self.pixels.retain(|pixel| shown(left, pixel.left) && shown(right, pixel.right));
        self.share *= self.pixels.len() as f64 / all as f64;
        Ok((!self.pixels.is_empty()).then_some(self))
    }

    /// Returns the pictures of the two cameras from those of all cameras of the warp.
    fn pair<'p, P>(
        &self,
        pictures: &'p [P],
        size: impl Fn(&P) -> UVec2,
    ) -> Result<[&'p P; 2], QualityError> {
        let [Some(left), Some(right)] = self.cameras.map(|camera| pictures.get(camera)) else {
            let (found, last) = (pictures.len(), self.cameras[0].max(self.cameras[1]));
            return Err(QualityError::Invalid(format!(
                "{found} frames were passed, but the measured cameras need at least {}; pass one frame per camera of the warp",
                last + 1
            )));
        };
        for (i, picture) in [left, right].into_iter().enumerate() {
            let which = format!("picture of camera {}", self.cameras[i] + 1);
            check_size(&which, size(picture), self.sources[i])?;
        }
        Ok([left, right])
    }

    /// Returns the fraction of the panorama's pixels in the overlap, 0 to 1.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.share
    }

    /// Returns the two cameras.
    #[must_use]
    pub fn cameras(&self) -> [usize; 2] {
        self.cameras
    }

    /// Measures the difference of two cameras' frames. `frames` contains one frame per camera of the warp. As in the
    /// stitch, the corrections first change each level `c` to `255 · clamp(gain · v · c / 255, 0, 1)^gamma`, where `v`
    /// is the factor that undoes the camera's vignetting. For NV12 and P010, each pixel is converted to RGB with the
    /// nearest chroma sample.
    pub fn measure(
        &self,
        frames: &[Frame<'_>],
        colours: &Colours,
        vignettes: &Vignettes,
    ) -> Result<CameraDifference, QualityError> {
        let [left, right] = self.pair(frames, |frame| frame.format().size)?;
        let [a, b] = self.cameras;
        let [left, right] = [(left, a), (right, b)]
            .map(|(frame, camera)| Corrected::new(frame, colours[camera], vignettes[camera]));
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

/// A frame of one camera, and the corrections of this camera.
struct Corrected<'a> {
    frame: &'a Frame<'a>,
    /// The conversion from Y'CbCr to RGB; `None` for RGBA.
    decode: Option<YuvToRgb>,
    /// Where the red, green and blue samples are, or luma, Cb and Cr.
    samples: [Option<Samples>; 3],
    /// Whether a sample has a second byte, which precedes it.
    deep: bool,
    colour: Colour,
    vignette: Vignette,
}

impl<'a> Corrected<'a> {
    fn new(frame: &'a Frame<'a>, colour: Colour, vignette: Vignette) -> Self {
        let pixels = frame.format().pixels;
        let decode = pixels.encoding().map(|_| pixels.to_rgb());
        let levels = match decode {
            None => [Byte::Red, Byte::Green, Byte::Blue],
            Some(_) => [Byte::Luma, Byte::Cb, Byte::Cr],
        };
        let samples = levels.map(|byte| pixels.samples(byte));
        Self { frame, decode, samples, deep: pixels.bits() > 8, colour, vignette }
    }

    /// Returns the red, green and blue levels of the pixel (`x`, `y`) after correction.
    fn at(&self, [x, y]: [u16; 2]) -> [f32; 3] {
        let (x, y) = (usize::from(x), usize::from(y));
        // A format without colour has no chroma samples.
        let levels = self.samples.map(|samples| {
            let Some(samples) = samples else { return 128.0 };
            let plane = &self.frame.planes()[samples.plane];
            let at = samples.first + x / samples.across * samples.step;
            let bytes = &plane.bytes[y / samples.down * plane.pitch..][..=at];
            let lower = if self.deep { bytes[at - 1] } else { 0 };
            f32::from(bytes[at]) + f32::from(lower) / 256.0
        });
        let levels = match &self.decode {
            None => levels,
            Some(decode) => {
                let [luma, cb, cr] = levels;
                let luma = (luma - decode.black) * decode.scale;
                let [cb, cr] = [cb, cr].map(|level| level - 128.0);
                let green = luma + decode.cb_green * cb + decode.cr_green * cr;
                [luma + decode.cr_red * cr, green, luma + decode.cb_blue * cb]
            }
        };
        let factor = factor(&self.vignette, Vec2::new(x as f32, y as f32));
        (255.0 * corrected(&self.colour, factor * Vec3::from(levels), factor)).to_array()
    }
}
