//! What the stitch kernels share with their host: colour, options, thresholds and block shape.

pub mod mesh;

use bytemuck::{Pod, Zeroable};
use cuda_std::KernelArg;
use glam::Vec3;

use crate::yuv::{RgbToYuv, YuvEncoding, YuvToRgb};

/// Threads of a block in x and y. 32 columns make a warp's stores one line of the output.
pub const BLOCK: [u32; 2] = [32, 8];

/// Threads of a block, for launch bounds.
pub const BLOCK_THREADS: u32 = BLOCK[0] * BLOCK[1];

/// A camera counts at a pixel if its weight is over this.
pub const MIN_WEIGHT: f32 = 0.001;

/// Colour of one camera: `255 · clamp(gain · c / 255, 0, 1)^gamma` for each channel.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct Colour {
    /// Gain of red, green and blue.
    pub gain: Vec3,
    /// Exponent of all three; below 1 brightens.
    pub gamma: f32,
}

impl Colour {
    /// Leaves pictures as they are.
    pub const IDENTITY: Self = Self { gain: Vec3::ONE, gamma: 1.0 };
}

/// What a stitch does beside warping.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct StitchParams {
    /// Colour of the left camera.
    pub left: Colour,
    /// Colour of the right camera.
    pub right: Colour,
    /// Turns the panorama by 180° if not 0.
    pub flip: u32,
    /// Brightens both ends of the panorama if not 0: with `d = |x − W/2| / (W/2)` over 0.8, by
    /// `1 + (d − 0.8)·1.75`, at most 1.35.
    pub edge_boost: u32,
    /// How pictures in NV12 are read.
    pub decode: YuvToRgb,
    /// How a panorama in NV12 is written.
    pub encode: RgbToYuv,
}

impl Default for StitchParams {
    /// Warps and blends, nothing else.
    fn default() -> Self {
        let encoding = YuvEncoding::default();
        Self {
            left: Colour::IDENTITY,
            right: Colour::IDENTITY,
            flip: 0,
            edge_boost: 0,
            decode: encoding.to_rgb(),
            encode: encoding.from_rgb(),
        }
    }
}
