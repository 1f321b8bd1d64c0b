//! A pixel of a thread, source coordinates along its columns, and the two steps of its colour.

use crate::warp::patch::Line;
use glam::{Vec2, Vec3};

/// A pixel of a thread: which of its columns it is in, which row of the tile, and how far from the view's middle.
#[derive(Clone, Copy)]
pub(super) struct Pixel {
    pub(super) column: u32,
    pub(super) row: f32,
    pub(super) at: Vec2,
}

/// Interpolated places along a thread's columns.
#[derive(Clone, Copy)]
pub(super) struct Columns(pub(super) [Line; 2]);

impl Columns {
    #[inline(always)]
    pub(super) fn at(&self, pixel: Pixel) -> Vec2 {
        // Where the column is known when compiling, so is this choice.
        if pixel.column == 0 { self.0[0].at(pixel.row) } else { self.0[1].at(pixel.row) }
    }
}

/// What a pixel is made of, in two steps, so that the first one of four pixels comes before the second.
pub(super) trait Shader {
    type Sample: Copy;

    /// Whether there are registers for samples of all the thread's pixels.
    const AHEAD: bool;

    fn sample(&self, pixel: Pixel) -> Self::Sample;

    /// From 0 to 1.
    fn colours(&self, samples: [Self::Sample; 4]) -> [Vec3; 4];
}
