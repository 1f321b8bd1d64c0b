//! Patches: where a tile's pixels lie in a picture, from a few places in place of all.
//!
//! A lens takes dozens of instructions a pixel, and over some dozens of pixels what it does is all but quadratic. So
//! one warp works out [`PLACES`] places of a tile, a lane each: nine nodes, and between them sixteen where an
//! interpolation is off by about the most that it can be. If it is not off there by more than [`TOLERANCE`], it serves
//! for the whole tile; else the tile is worked out pixel by pixel.
//!
//! Cost: for each column of a tile that a thread makes nine loads and twelve multiply-adds, and two for each
//! coordinate of a pixel.

use cuda_std::prelude::*;
use glam::{UVec2, Vec2, vec2};

/// Most that an interpolated coordinate may be off, in pixels: a step of the texture unit's filter.
const TOLERANCE: f32 = 1.0 / 256.0;

/// Places along either axis of a tile, from its first pixel to the one after its last.
const SIDE: u32 = 5;

/// Places of a tile, which are worked out.
const PLACES: u32 = SIDE * SIDE;

/// Those that are interpolated between: every second one along both axes.
const NODES: u32 = 9;

/// A node, or a coefficient, in shared memory.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(8))]
struct Pair(Vec2);

/// Where a picture or a canvas shows something.
pub(crate) trait Map {
    /// Of what lies so many pixels from a view's middle; `None` where it is not shown, wherever that would be.
    fn place(&self, at: Vec2) -> Option<Vec2>;
}

/// The patches of a block, one for each of up to [`MAPS`] maps.
#[derive(Clone, Copy)]
pub(crate) struct Patches {
    nodes: Shared<Pair>,
    /// Of `x^i · y^j` at `3j + i`, in pixels of the tile.
    coefficients: Shared<Pair>,
    fits: Shared<u32>,
}

/// What a patch is good for.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Fit {
    /// It was not made, since nothing asks for it.
    Unused,
    /// It is too far off: the tile is to be worked out pixel by pixel.
    Off,
    /// It serves for the whole tile.
    Whole,
}

/// Most maps of a block.
const MAPS: u32 = 3;

impl Patches {
    /// In the block's shared memory.
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self {
            nodes: shared_array![Pair; (MAPS * NODES) as usize],
            coefficients: shared_array![Pair; (MAPS * NODES) as usize],
            fits: shared_array![u32; MAPS as usize],
        }
    }

    /// Makes the patch of `map` for a tile of `size` pixels, the first of which lies at `corner` as
    /// [`Map::place`] counts.
    ///
    /// # Safety
    /// All lanes of one warp call it, of no other, and a barrier follows before the patch is used.
    #[inline(always)]
    pub(crate) unsafe fn make(&self, which: u32, map: &impl Map, corner: Vec2, size: UVec2) {
        let lane = warp::lane_id();
        let (column, row) = (lane % SIDE, lane / SIDE);
        let size = size.as_vec2();
        // Lanes beyond the last place repeat it.
        let share = vec2(column as f32, row as f32) * (1.0 / (SIDE - 1) as f32);
        let at = share.min(Vec2::ONE) * size;
        let place = map.place(corner + at).unwrap_or(Vec2::NAN);
        let first = which * NODES;
        // SAFETY: all lanes are here, as the caller vouches; each element has one lane, and is read behind a
        // synchronisation.
        unsafe {
            if lane < PLACES && column % 2 == 0 && row % 2 == 0 {
                self.nodes.store(first + row / 2 * 3 + column / 2, Pair(place));
            }
            warp::sync_warp(warp::FULL_MASK);
            if lane < NODES {
                self.coefficients.store(first + lane, Pair(self.coefficient(first, lane, size)));
            }
            warp::sync_warp(warp::FULL_MASK);
            let off = self.line(which, at.x).at(at.y) - place;
            // What is no number does not fit.
            let fits = off.x.abs() <= TOLERANCE && off.y.abs() <= TOLERANCE;
            let fit = warp::warp_vote_all(warp::FULL_MASK, fits);
            self.set_fit(which, if fit { Fit::Whole } else { Fit::Off });
        }
    }

    /// Says what a patch is good for, also of one that is not made.
    ///
    /// # Safety
    /// As [`make`](Self::make).
    #[inline(always)]
    pub(crate) unsafe fn set_fit(&self, which: u32, fit: Fit) {
        if warp::lane_id() == 0 {
            // SAFETY: one lane's, and read behind a barrier, as the caller vouches.
            unsafe { self.fits.store(which, fit as u32) };
        }
    }

    /// A coefficient of the polynomial through the nodes from `first` on, of a tile of `size` pixels.
    ///
    /// # Safety
    /// The nodes were made, and a synchronisation followed.
    #[inline(always)]
    unsafe fn coefficient(&self, first: u32, i: u32, size: Vec2) -> Vec2 {
        // SAFETY: as the caller vouches.
        let node = |i: u32| unsafe { self.nodes.load(first + i).0 };
        // Of the three values along an axis, for the constant, t and t², where t is 1 at the axis's end; and of pixels,
        // powers of which t's are so many times.
        let weights = |power| match power {
            0 => [1.0, 0.0, 0.0],
            1 => [-3.0, 4.0, -1.0],
            _ => [2.0, -4.0, 2.0],
        };
        let scale = |power, end: f32| match power {
            0 => 1.0,
            1 => 1.0 / end,
            _ => 1.0 / (end * end),
        };
        let ([a, b, c], [d, e, f]) = (weights(i % 3), weights(i / 3));
        // Differences from the middle are small, so that little is lost to rounding.
        let middle = node(4);
        let along = |row: u32| {
            let [x, y, z] = [node(3 * row), node(3 * row + 1), node(3 * row + 2)];
            (x - middle) * a + (y - middle) * b + (z - middle) * c
        };
        let scale = scale(i % 3, size.x) * scale(i / 3, size.y);
        let of_differences = (along(0) * d + along(1) * e + along(2) * f) * scale;
        if i == 0 { middle + of_differences } else { of_differences }
    }

    /// What a patch is good for.
    ///
    /// # Safety
    /// [`make`](Self::make) or [`set_fit`](Self::set_fit) was called for it, and a barrier followed.
    #[inline(always)]
    pub(crate) unsafe fn fit(&self, which: u32) -> Fit {
        // SAFETY: as the caller vouches.
        match unsafe { self.fits.load(which) } {
            fit if fit == Fit::Unused as u32 => Fit::Unused,
            fit if fit == Fit::Off as u32 => Fit::Off,
            _ => Fit::Whole,
        }
    }

    /// The patch along a column of the tile.
    ///
    /// # Safety
    /// It was made, and a barrier followed.
    #[inline(always)]
    pub(crate) unsafe fn line(&self, which: u32, x: f32) -> Line {
        // SAFETY: as the caller vouches.
        let of = |i: u32| unsafe { self.coefficients.load(which * NODES + i).0 };
        let at = |j: u32| fused(fused(of(3 * j + 2), x, of(3 * j + 1)), x, of(3 * j));
        Line { start: at(0), slope: at(1), bend: at(2) }
    }
}

/// A patch along one column of its tile: quadratic, so that a pixel takes two multiply-adds a coordinate.
#[derive(Clone, Copy)]
pub(crate) struct Line {
    pub(crate) start: Vec2,
    pub(crate) slope: Vec2,
    pub(crate) bend: Vec2,
}

impl Line {
    /// The place at a row, counted as the line is.
    #[inline(always)]
    pub(crate) fn at(&self, y: f32) -> Vec2 {
        fused(fused(self.bend, y, self.slope), y, self.start)
    }
}

/// `a·t + b`, fused.
#[inline(always)]
pub(crate) fn fused(a: Vec2, t: f32, b: Vec2) -> Vec2 {
    vec2(a.x.mul_add(t, b.x), a.y.mul_add(t, b.y))
}
