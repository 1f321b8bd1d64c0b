//! The tile of the view that a block computes: which pixels belong to each thread, and how the thread stores them.

use cuda_std::prelude::*;
use glam::{UVec2, Vec2, Vec3, uvec2};
use shared_types::view::{BLOCK, RUN, ViewCamera, ViewFrame, tile};

use crate::io::{Sampler2d, Target};
use crate::view::pixel::{Columns, Pixel, Shader};
use crate::warp::patch::{Fit, Map, Patches};

/// The tile of the view that a block computes.
pub(super) struct ViewTile<O> {
    pub(super) frame: ViewFrame,
    pub(super) out: O,
    /// The position of the tile's first pixel in the view.
    pub(super) corner: UVec2,
}

impl<O: Target> ViewTile<O> {
    /// The numbers of columns and rows of a tile.
    pub(super) const SIZE: UVec2 = tile(O::CELL);

    /// Returns the tile of this block. Returns `None` if a picture or the block shape is invalid, or if the tile is
    /// outside the view. The result is uniform for the block.
    #[device]
    pub(super) fn new<P: Sampler2d>(pictures: &[P], frame: &ViewFrame, out: O) -> Option<Self> {
        let sound = |picture: &P| picture.is_whole() && picture.size().min_element() > 0;
        let shape = thread::block_dim_x() == BLOCK[0] && thread::block_dim_y() == BLOCK[1];
        let corner = uvec2(thread::block_idx_x(), thread::block_idx_y()) * Self::SIZE;
        let inside = corner.x < out.width() && corner.y < out.height();
        (pictures.iter().all(sound) && shape && inside && out.is_whole()).then_some(Self {
            frame: *frame,
            out,
            corner,
        })
    }

    /// Returns the offset of position `at` in the tile from the view's middle, in pixels.
    #[device]
    pub(super) fn place(&self, at: Vec2) -> Vec2 {
        self.corner.as_vec2() + at - self.frame.middle
    }

    /// Returns whether the camera may see any part of the tile.
    #[device]
    pub(super) fn may_see(&self, camera: &ViewCamera) -> bool {
        let middle = self.place(0.5 * Self::SIZE.as_vec2() - 0.5);
        let sees = |b: &Vec3| middle.x.mul_add(b.x, middle.y.mul_add(b.y, b.z)) >= 0.0;
        let [a, b, c, d] = &camera.bounds;
        sees(a) & sees(b) & sees(c) & sees(d)
    }

    /// Returns the tile column of the thread's column number `column`.
    #[device]
    pub(super) fn x(column: u32) -> u32 {
        thread::thread_idx_x() * O::FOUR.x + column
    }

    /// Computes patch number `which` of the tile from a map. If `wanted` is false, marks the patch as unused instead.
    ///
    /// # Safety
    /// The conditions of [`Patches::make`] apply.
    #[device]
    pub(super) unsafe fn make(&self, patches: Patches, which: u32, map: &impl Map, wanted: bool) {
        // SAFETY: the caller guarantees the conditions of `Patches::make`.
        unsafe {
            if wanted {
                patches.make(which, map, self.place(Vec2::ZERO), Self::SIZE);
            } else {
                patches.set_fit(which, Fit::Unused);
            }
        }
    }

    /// Returns the positions along the thread's columns that patch number `which` describes.
    ///
    /// # Safety
    /// The caller must ensure that the patch was computed and that a barrier followed.
    #[device]
    pub(super) unsafe fn columns(&self, patches: Patches, which: u32) -> Columns {
        let (first, second) = (Self::x(0) as f32, Self::x(1) as f32);
        // SAFETY: the caller guarantees that the patch was computed before a barrier. If the thread has only one
        // column, the second line is not used.
        unsafe { Columns([patches.line(which, first), patches.line(which, second)]) }
    }

    /// Writes the thread's eight pixels, four at a time. The samples of all eight, or of four if
    /// [`AHEAD`](Shader::AHEAD) is false, are in flight before the first one is used.
    #[device]
    pub(super) fn each_four<S: Shader>(&self, sampler: &S) {
        const { assert!(RUN == 8) };
        let x = self.corner.x + Self::x(0);
        let y = self.corner.y + Self::first_row();
        let [inside, all_inside] = [y, y + O::FOUR.y].map(|y| y < self.out.height());
        if x >= self.out.width() || !inside {
            return;
        }
        let ahead = S::AHEAD.then(|| self.four(sampler, O::FOUR.y));
        // SAFETY: the view is whole and contains `(x, y)`, as checked above. No other thread writes these pixels.
        unsafe {
            let colours = sampler.colours(self.four(sampler, 0));
            self.out.store_four(x, y, colours, &self.frame.encode, false);
            if all_inside {
                let samples = match ahead {
                    Some(samples) => samples,
                    None => self.four(sampler, O::FOUR.y),
                };
                let colours = sampler.colours(samples);
                self.out.store_four(x, y + O::FOUR.y, colours, &self.frame.encode, false);
            }
        }
    }

    /// Returns the first row of the thread's pixels in the tile.
    #[device]
    pub(super) fn first_row() -> u32 {
        thread::thread_idx_y() * (RUN / O::FOUR.x)
    }

    /// Takes the samples of four of the thread's pixels, starting at the thread's row number `from`.
    #[device]
    pub(super) fn four<S: Shader>(&self, sampler: &S, from: u32) -> [S::Sample; 4] {
        [
            sampler.sample(self.of_four(from, 0)),
            sampler.sample(self.of_four(from, 1)),
            sampler.sample(self.of_four(from, 2)),
            sampler.sample(self.of_four(from, 3)),
        ]
    }

    /// Returns pixel `i` of the group of four pixels that starts at the thread's row number `from`.
    #[device]
    pub(super) fn of_four(&self, from: u32, i: u32) -> Pixel {
        self.pixel(i % O::FOUR.x, from + i / O::FOUR.x)
    }

    /// Writes the thread's pixels one by one. This is slower than [`each_four`](Self::each_four), but needs fewer
    /// registers.
    #[device]
    pub(super) fn each<S: Shader>(&self, sampler: &S) {
        let x = self.corner.x + Self::x(0);
        if x >= self.out.width() {
            return;
        }
        let first = self.corner.y + Self::first_row();
        let mut row = 0;
        while row < RUN / O::FOUR.x && first + row < self.out.height() {
            let colour = |px: u32, py: u32| {
                let sample = sampler.sample(self.pixel(px - x, py - first));
                sampler.colours([sample; 4])[0] * 255.0
            };
            // SAFETY: the view is whole and contains the cell's start, as checked above. No other thread writes it.
            unsafe { self.out.store(x, first + row, colour, &self.frame.encode) };
            row += O::CELL;
        }
    }

    /// Returns the pixel in the thread's column number `column` and row number `of_thread`. It may be outside the view.
    #[device]
    pub(super) fn pixel(&self, column: u32, of_thread: u32) -> Pixel {
        let in_view = self.corner + uvec2(Self::x(column), Self::first_row() + of_thread);
        // Add in f32, so that only the thread's first row is converted at run time, rather than the row of each pixel.
        let row = Self::first_row() as f32 + of_thread as f32;
        Pixel { column, row, at: in_view.as_vec2() - self.frame.middle }
    }
}
