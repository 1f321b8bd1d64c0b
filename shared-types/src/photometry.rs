//! Photometric data that the kernels share with the host: vignetting, and the correction of a still picture.

use bytemuck::{Pod, Zeroable};
use cuda_std::KernelArg;
use glam::{UVec2, Vec2, Vec3};

/// Threads per block in x and y.
pub const BLOCK: [u32; 2] = [32, 8];

/// Threads per block, for launch bounds.
pub const BLOCK_THREADS: u32 = BLOCK[0] * BLOCK[1];

/// The vignetting of a picture: the light that the lens keeps, `1 + a·q + b·q² + c·q³`, where `q` is the square of the
/// distance from the centre, as a fraction of its value at the farthest corner.
///
/// Kernels multiply levels by the reciprocal of this light to the power 1/[`GAMMA`](Self::GAMMA).
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct Vignette {
    /// The coefficients a, b and c.
    pub terms: Vec3,
    /// The reciprocal of the squared distance from the centre to the farthest corner, in pixels; 0 without vignetting.
    pub per_corner: f32,
    /// The centre in pixels. Pixel centres are at integer coordinates.
    pub centre: Vec2,
}

impl Default for Vignette {
    fn default() -> Self {
        Self::NONE
    }
}

impl Vignette {
    /// The vignette of a picture without vignetting.
    pub const NONE: Self = Self { terms: Vec3::ZERO, per_corner: 0.0, centre: Vec2::ZERO };

    /// The least light for which kernels correct a level. Positions outside the picture can have less.
    pub const LEAST: f32 = 0.01;

    /// The gamma with which levels encode light.
    pub const GAMMA: f32 = 2.2;

    /// Returns the vignette of a picture that is covered by a constant colour. `part` is the part of the colour, from 0 to
    /// 1; the colour has no vignetting.
    #[must_use]
    pub fn covered(self, part: f32) -> Self {
        Self { terms: self.terms * (1.0 - part), ..self }
    }
}

/// The response of a camera: the level, as a fraction of white, that it stores for a light `e` from 0 to 1,
/// `e + e·(1 − e)·(a + b·(2e − 1))`. Lights are encoded with a gamma, so that an ideal camera has `a = b = 0`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct Response {
    /// The coefficient of the parabola.
    pub a: f32,
    /// The coefficient of the S-shaped part: below 0, the curve is steep at black and white.
    pub b: f32,
}

/// The correction of a still picture: exposure, white balance, vignetting and response.
///
/// A level is converted to light with the inverse of the response, multiplied by the gain and by the factors of the
/// vignette and of the gain field ([`FieldGrid`]), and converted back.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct Correction {
    /// The factors of red, green and blue light.
    pub gain: Vec3,
    /// The response of the camera.
    pub response: Response,
    /// The vignette of the lens.
    pub vignette: Vignette,
}

/// The grid of a gain field: a factor of light that varies smoothly over a still picture.
///
/// The field is a uniform quadratic B-spline. Square cells cover the picture from its top left corner. There is a node at
/// the middle of each cell and of each cell of a border around them, in row-major order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct FieldGrid {
    /// The columns and rows of nodes, at least 3, or 0 without a field.
    pub nodes: UVec2,
    /// The number of cells per pixel.
    pub cells_per_pixel: f32,
}

impl FieldGrid {
    /// Returns the number of nodes.
    #[inline(always)]
    #[must_use]
    pub fn count(&self) -> u32 {
        self.nodes.x.saturating_mul(self.nodes.y)
    }
}
