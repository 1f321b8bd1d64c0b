//! Types and constants that the kernels for multiband blending share with the host: the cells of a pyramid, the
//! position of a camera in the pyramids, and the parameters of the kernels.

use bytemuck::{Pod, Zeroable};
use cuda_std::{KernelArg, View};
use glam::{UVec2, Vec3};
use half::f16;

use crate::stitch::Colour;
use crate::warp::CameraPlanes;
use crate::yuv::{RgbToYuv, YuvToRgb};

/// The maximum number of levels. Level `k` has cells of 2ᵏ × 2ᵏ panorama pixels.
pub const MAX_LEVELS: u32 = 6;

/// Threads per block in x and y.
pub const BLOCK: [u32; 2] = [32, 8];

/// Threads per block, for launch bounds.
pub const BLOCK_THREADS: u32 = BLOCK[0] * BLOCK[1];

/// The columns and rows of level 1 that a block of the `multiband_split` kernels computes.
pub const SPLIT_CELLS: [u32; 2] = [32, 16];

/// The number of cells with weight 0 on each side of a camera's part, and of the combined area, at every level. Kernels
/// read them instead of checking whether a cell is inside.
pub const BORDER: u32 = 2;

/// One cell of a pyramid: a colour in levels (−255 to 255), and the weight of this colour.
///
/// Aligned to 8 bytes so that a cell is one load or store on the GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C, align(8))]
pub struct Cell {
    /// The colour.
    pub colour: [f16; 3],
    /// The weight, from 0 to 1.
    pub weight: f16,
}

/// The part of the panorama that a camera's pyramid covers, and its position in the images of all cameras.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct CameraPart {
    /// The first panorama column and row, multiples of the side of the last level's cells.
    pub min: UVec2,
    /// The number of panorama columns and rows.
    pub size: UVec2,
    /// The first row of the part, without its border, in an image of level 0 with all cameras below each other. It is a
    /// multiple of the side of the last level's cells. At level `k`, the first cell of the part is in column
    /// [`BORDER`] and row `row / 2ᵏ + BORDER`.
    pub row: u32,
}

/// A camera of the kernel that computes the first level.
#[derive(Clone, Copy, Debug, KernelArg)]
pub struct SplitCamera {
    /// The source coordinates, and the weights as they were rendered.
    pub planes: CameraPlanes,
    /// The weights with which the panorama was stitched.
    pub weights: View<f32>,
    /// The part of the panorama that the pyramid covers.
    pub part: CameraPart,
    /// The colour correction of the camera.
    pub colour: Colour,
    /// A constant that is added to the camera's colours (0 to 1) before the power.
    pub offset: Vec3,
    /// If not 0, the power of the colour correction is computed in f32 arithmetic instead of the special function unit.
    pub exact: u32,
    /// The conversion of NV12 samples of the picture to R'G'B' levels; unused for RGBA.
    pub decode: YuvToRgb,
}

/// Parameters for the first level of all cameras.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct SplitParams {
    /// See [`StitchParams::flip`](crate::stitch::StitchParams::flip).
    pub flip: u32,
    /// See [`StitchParams::edge_boost`](crate::stitch::StitchParams::edge_boost).
    pub edge_boost: u32,
    /// The conversion of an NV12 panorama to R'G'B' levels; unused for RGBA.
    pub decode: YuvToRgb,
}

/// A camera of the kernel that changes the panorama.
#[derive(Clone, Copy, Debug, KernelArg)]
pub struct WeightedCamera {
    /// The part of the panorama that the camera's pyramid covers.
    pub part: CameraPart,
    /// The camera's weights in the panorama.
    pub weights: View<f32>,
}

/// Parameters for the combination of all cameras at one level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct CombineParams {
    /// The first panorama column and row of the combined area, multiples of the side of the last level's cells.
    pub min: UVec2,
    /// The number of columns and rows of the combined area, in cells of the level.
    pub size: UVec2,
    /// The level, from 1.
    pub level: u32,
    /// If not 0, the level is the last one.
    pub last: u32,
}

/// Parameters for the change of the panorama.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct ApplyParams {
    /// The first panorama column and row of the combined area, multiples of the side of the last level's cells.
    pub min: UVec2,
    /// The number of panorama columns and rows of the combined area.
    pub size: UVec2,
    /// The first stored pixel of the panorama to change. It is a multiple of 2 in an NV12 panorama.
    pub from: UVec2,
    /// See [`StitchParams::flip`](crate::stitch::StitchParams::flip).
    pub flip: u32,
    /// The conversion of an NV12 panorama to R'G'B' levels; unused for RGBA.
    pub decode: YuvToRgb,
    /// The conversion of R'G'B' levels to NV12; unused for RGBA.
    pub encode: RgbToYuv,
}
