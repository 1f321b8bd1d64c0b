//! Types and constants that the stitch kernels share with the host: colour correction, options, thresholds and block
//! shape.

pub mod mesh;
pub mod sum;

use bytemuck::{Pod, Zeroable};
use cuda_std::KernelArg;
use glam::Vec3;

use crate::photometry::Vignette;
use crate::yuv::{RgbToYuv, YuvEncoding, YuvToRgb};

/// Threads per block in x and y. With 32 columns, the stores of a warp of threads fill one 128-byte cache line of an
/// RGBA output.
pub const BLOCK: [u32; 2] = [32, 8];

/// Threads per block, for launch bounds.
pub const BLOCK_THREADS: u32 = BLOCK[0] * BLOCK[1];

/// The maximum number of cameras of a warp and of a mesh, and so of live stitching.
pub const MAX_CAMERAS: usize = 16;

/// The weight that a camera must exceed at a panorama pixel to contribute to the pixel.
pub const MIN_WEIGHT: f32 = 0.001;

/// The colour correction of one camera. It maps the level `c` (0 to 255) of a channel to
/// `255 · clamp(gain · c / 255, 0, 1)^gamma`, or with a shoulder to `255 · s(gain · c / 255)^gamma`.
///
/// The shoulder `s` depends on all three channels and keeps highlights. It maps colours from 0 to `gain` to the range 0 to [`shoulder`](Self::shoulder):
///
/// - If the gain exceeds 1, it compresses the colours above 0.9 instead of clipping those above 1, so that bright areas
///   keep their hue and texture.
/// - If the gain is below 1, it raises pixels that have at least 85 % of white in all channels, so that clipped areas stay
///   white. A pixel with only one clipped channel keeps its hue.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct Colour {
    /// Gains of red, green and blue.
    pub gain: Vec3,
    /// The exponent for all three channels. A value below 1 brightens the picture.
    pub gamma: f32,
    /// The colour to which the shoulder maps white, usually 1. If it is 0, there is no shoulder, and highlights are clipped.
    pub shoulder: f32,
}

impl Default for Colour {
    fn default() -> Self {
        Self::IDENTITY
    }
}

impl Colour {
    /// The colour correction that leaves pictures unchanged.
    pub const IDENTITY: Self = Self { gain: Vec3::ONE, gamma: 1.0, shoulder: 0.0 };

    /// Returns whether a shoulder changes the colours of a camera with this vignette: there is one, and white would not
    /// stay white without it.
    #[must_use]
    pub fn has_shoulder(&self, vignette: &Vignette) -> bool {
        let changes_white = self.gain != Vec3::splat(self.shoulder) || *vignette != Vignette::NONE;
        self.shoulder != 0.0 && changes_white
    }

    /// Returns this correction with a shoulder that keeps white.
    #[must_use]
    pub const fn with_shoulder(self) -> Self {
        Self { shoulder: 1.0, ..self }
    }
}

/// Parameters of a stitch, except the warp, which maps panorama pixels to source pixels.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct StitchParams {
    /// Colour correction of the left camera.
    pub left: Colour,
    /// Colour correction of the right camera.
    pub right: Colour,
    /// If not 0, powers are exact, and otherwise fast.
    pub exact: u32,
    /// If not 0, rotates the panorama by 180°.
    pub flip: u32,
    /// If not 0, brightens both ends of the panorama: multiplies pixels with `d > 0.8` by `1 + (d − 0.8)·1.75`, at most
    /// 1.35, where `d = |x − W/2| / (W/2)` and `W` is the panorama's width.
    pub edge_boost: u32,
    /// The conversion of NV12 samples to R'G'B' levels; unused for RGBA pictures.
    pub decode: YuvToRgb,
    /// The conversion of R'G'B' levels to Y'CbCr; unused for an RGBA panorama.
    pub encode: RgbToYuv,
    /// Vignette of the left camera.
    pub left_vignette: Vignette,
    /// Vignette of the right camera.
    pub right_vignette: Vignette,
}

impl Default for StitchParams {
    /// Returns parameters without corrections, flip and edge boost.
    fn default() -> Self {
        let encoding = YuvEncoding::default();
        Self {
            left: Colour::IDENTITY,
            right: Colour::IDENTITY,
            left_vignette: Vignette::NONE,
            right_vignette: Vignette::NONE,
            exact: 0,
            flip: 0,
            edge_boost: 0,
            decode: encoding.to_rgb(),
            encode: encoding.from_rgb(),
        }
    }
}
