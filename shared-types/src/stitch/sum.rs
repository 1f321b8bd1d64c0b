//! Types that the kernels for sums over the cameras share with the host: the sum of one panorama pixel, and the
//! parameters of the two steps.

use bytemuck::{Pod, Zeroable};
use cuda_std::KernelArg;
use glam::{UVec2, Vec3};

use super::Colour;
use crate::photometry::Vignette;
use crate::yuv::{RgbToYuv, YuvToRgb};

/// The weighted sum of the cameras' colours at a panorama pixel, and the sum of their weights.
///
/// Aligned to 16 bytes so that a sum is one load or store on the GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C, align(16))]
pub struct Sum {
    /// The sum of the corrected colours (0 to 1), each times its weight.
    pub colour: Vec3,
    /// The sum of the weights.
    pub weight: f32,
}

/// The way a camera with weight `w` changes the sum of a panorama pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub struct Combine(pub u32);

impl Combine {
    /// The camera replaces the sum, also where it does not contribute. The first camera of a panorama does this.
    pub const START: Self = Self(0);
    /// The camera is added to the sum.
    pub const ADD: Self = Self(1);
}

/// Parameters for adding one camera to the sums.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct AddParams {
    /// The column and row of the first panorama pixel that the camera may change.
    pub min: UVec2,
    /// The column and row just after those of the last pixel that the camera may change.
    pub max: UVec2,
    /// The colour correction of the camera. If its picture is mixed with a constant colour, the gain and the shoulder
    /// are multiplied by the part of the picture.
    pub colour: Colour,
    /// The constant colour times its part, which is added before the power; 0 without one.
    pub offset: Vec3,
    /// If not 0, powers are exact, and otherwise fast.
    pub exact: u32,
    /// The vignette of the camera.
    pub vignette: Vignette,
    /// The weight that the camera must exceed to contribute to a pixel.
    pub min_weight: f32,
    /// The way the camera changes the sums.
    pub combine: Combine,
    /// The conversion of NV12 samples to R'G'B' levels; unused for RGBA pictures.
    pub decode: YuvToRgb,
}

/// Parameters for converting the sums to a panorama.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct FinishParams {
    /// See [`StitchParams::flip`](super::StitchParams::flip).
    pub flip: u32,
    /// See [`StitchParams::edge_boost`](super::StitchParams::edge_boost).
    pub edge_boost: u32,
    /// The conversion of R'G'B' levels to Y'CbCr; unused for an RGBA panorama.
    pub encode: RgbToYuv,
}
