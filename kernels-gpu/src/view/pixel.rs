//! A pixel of a thread, interpolated source coordinates along its columns, and the two steps of its colour.

use crate::warp::patch::Line;
use glam::{Vec2, Vec3};

/// A pixel of a thread: its column, its row in the tile, and its offset from the view's middle.
#[derive(Clone, Copy)]
pub(super) struct Pixel {
    pub(super) column: u32,
    pub(super) row: f32,
    pub(super) at: Vec2,
}

/// Interpolated positions along a thread's columns.
#[derive(Clone, Copy)]
pub(super) struct Columns(pub(super) [Line; 2]);

impl Columns {
    #[inline(always)]
    pub(super) fn at(&self, pixel: Pixel) -> Vec2 {
        // If the column is known at compile time, so is this selection.
        if pixel.column == 0 { self.0[0].at(pixel.row) } else { self.0[1].at(pixel.row) }
    }
}

/// The colour of a pixel in two steps, so that the samples of four pixels are taken before their colours are computed.
pub(super) trait Shader {
    type Sample: Copy;

    /// Whether the registers suffice for the samples of all eight pixels of a thread.
    const AHEAD: bool;

    fn sample(&self, pixel: Pixel) -> Self::Sample;

    /// Returns the colours of samples, from 0 to 1.
    fn colours(&self, samples: [Self::Sample; 4]) -> [Vec3; 4];
}
