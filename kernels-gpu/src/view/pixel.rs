//! A thread's pixels, interpolated positions along its columns, and the trait of the shaders that compute its colours.

use crate::warp::patch::Line;
use cuda_std::device;
use glam::{Vec2, Vec3};

/// A pixel that a thread computes: its index among the thread's columns, its row in the tile, and its offset in pixels
/// from the view's middle.
#[derive(Clone, Copy)]
pub(super) struct Pixel {
    pub(super) column: u32,
    pub(super) row: f32,
    pub(super) at: Vec2,
}

/// Interpolated positions along a thread's columns. A thread with one column uses only the first line.
#[derive(Clone, Copy)]
pub(super) struct Columns(pub(super) [Line; 2]);

impl Columns {
    #[device]
    pub(super) fn at(&self, pixel: Pixel) -> Vec2 {
        // If the compiler knows the column, it also makes this selection at compile time.
        if pixel.column == 0 { self.0[0].at(pixel.row) } else { self.0[1].at(pixel.row) }
    }
}

/// A shader, which computes the colour of a pixel in two steps, so that the samples of four pixels are taken before
/// their colours are computed.
pub(super) trait Shader {
    type Sample: Copy;

    /// Whether a thread has enough registers for the samples of all eight of its pixels at once.
    const AHEAD: bool;

    /// Takes the samples that the colour of a pixel needs.
    fn sample(&self, pixel: Pixel) -> Self::Sample;

    /// Converts the samples of four pixels to colours from 0 to 1.
    fn colours(&self, samples: [Self::Sample; 4]) -> [Vec3; 4];
}
