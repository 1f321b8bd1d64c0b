//! Patches: interpolate the positions of a tile's pixels in a picture from a few exact positions.
//!
//! A lens takes dozens of instructions per pixel, but its map is almost quadratic over a few dozen pixels. So one CUDA
//! warp computes [`PLACES`] positions of a tile, one per lane: nine interpolation nodes, and sixteen positions between
//! them where the interpolation error is close to its maximum. If none of the sixteen errors exceeds [`TOLERANCE`], the
//! patch is used for the whole tile. Otherwise, the lens is computed for every pixel.
//!
//! Cost: nine loads and twelve multiply-adds for each column of a tile that a thread computes, and two multiply-adds
//! for each coordinate of a pixel.

use cuda_std::prelude::*;
use glam::{UVec2, Vec2, vec2};
use shared_types::stitch::MAX_CAMERAS;

/// Maximum error of an interpolated coordinate in pixels: one step of the texture unit's filter.
const TOLERANCE: f32 = 1.0 / 256.0;

/// The number of computed positions along each axis of a tile. The last one is one pixel beyond the tile.
const SIDE: u32 = 5;

/// The number of computed positions of a tile, in a square grid.
const PLACES: u32 = SIDE * SIDE;

/// The number of interpolation nodes. Every second position along both axes is a node.
const NODES: u32 = 9;

/// A pair of coordinates (column, row) in shared memory: the position of a node, or a coefficient of the polynomial.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(8))]
struct Pair(Vec2);

/// A map from the pixels of a view to positions in a picture or on a canvas.
pub(crate) trait Map {
    /// Maps `at`, an offset in pixels from the view's middle. The result may be outside the picture or canvas. Returns
    /// `None` for a point that the lens or the projection cannot map.
    fn place(&self, at: Vec2) -> Option<Vec2>;
}

/// The patches that a block uses, one for each map.
#[derive(Clone, Copy)]
pub(crate) struct Patches {
    nodes: Shared<Pair>,
    /// The coefficient of `x^i · y^j` is at `3j + i`. `x` and `y` are offsets in pixels from the tile's first pixel.
    coefficients: Shared<Pair>,
    fits: Shared<u32>,
}

/// The result of the computation of a patch: whether the patch can be used.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Fit {
    /// The patch was not computed, because it is not needed.
    Unused,
    /// The error exceeds [`TOLERANCE`], so every pixel of the tile must be computed.
    Off,
    /// The patch is valid for the whole tile.
    Whole,
}

/// The number of maps in a kernel for up to [`MAX_CAMERAS`] cameras: those of the cameras, and that of a canvas.
const MANY: usize = MAX_CAMERAS + 1;

impl Patches {
    /// Allocates three patches in the block's shared memory.
    #[device]
    pub(crate) fn new() -> Self {
        Self {
            nodes: shared_array![Pair; 3 * NODES as usize],
            coefficients: shared_array![Pair; 3 * NODES as usize],
            fits: shared_array![u32; 3],
        }
    }

    /// Allocates a patch for each of [`MAX_CAMERAS`] cameras, and one for a canvas, in the block's shared memory.
    #[device]
    pub(crate) fn of_cameras() -> Self {
        Self {
            nodes: shared_array![Pair; MANY * NODES as usize],
            coefficients: shared_array![Pair; MANY * NODES as usize],
            fits: shared_array![u32; MANY],
        }
    }

    /// Computes patch number `which` from `map`. The tile has `size` pixels, and its first pixel is at `corner` in the
    /// coordinates of [`Map::place`].
    ///
    /// # Safety
    /// All lanes of one warp must call it for this patch, and no other warp. A barrier must follow before the patch is
    /// used.
    #[device]
    pub(crate) unsafe fn make(&self, which: u32, map: &impl Map, corner: Vec2, size: UVec2) {
        let lane = warp::lane_id();
        let (column, row) = (lane % SIDE, lane / SIDE);
        let size = size.as_vec2();
        // Lanes beyond the number of positions repeat positions of the last row.
        let share = vec2(column as f32, row as f32) * (1.0 / (SIDE - 1) as f32);
        let at = share.min(Vec2::ONE) * size;
        let place = map.place(corner + at).unwrap_or(Vec2::NAN);
        let first = which * NODES;
        // SAFETY: the caller guarantees that all lanes of the warp reach this code. One lane writes each element, and
        // other lanes read the element only after `sync_warp`.
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
            // A NaN, which marks a position that `map` cannot map, fails both comparisons.
            let fits = off.x.abs() <= TOLERANCE && off.y.abs() <= TOLERANCE;
            let fit = warp::warp_vote_all(warp::FULL_MASK, fits);
            self.set_fit(which, if fit { Fit::Whole } else { Fit::Off });
        }
    }

    /// Sets the result of patch number `which`. For a patch that is not needed, call this instead of
    /// [`make`](Self::make).
    ///
    /// # Safety
    /// The conditions of [`make`](Self::make) apply.
    #[device]
    pub(crate) unsafe fn set_fit(&self, which: u32, fit: Fit) {
        if warp::lane_id() == 0 {
            // SAFETY: only one lane writes the element, and the caller guarantees that others read it after a barrier.
            unsafe { self.fits.store(which, fit as u32) };
        }
    }

    /// Returns coefficient number `i` of the polynomial through the nine nodes that start at node `first`, for a tile
    /// of `size` pixels.
    ///
    /// # Safety
    /// The caller must ensure that the nodes were stored and that the warp was synchronised afterwards.
    #[device]
    unsafe fn coefficient(&self, first: u32, i: u32, size: Vec2) -> Vec2 {
        // SAFETY: the caller guarantees that all nine nodes were stored before a synchronisation.
        let node = |i: u32| unsafe { self.nodes.load(first + i).0 };
        // Maps three node values to the coefficients of 1, t, t² (t = 1 at the last node), scaled to powers of pixels.
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
        // Interpolate differences from the middle node: they are small, and therefore have small rounding errors.
        let middle = node(4);
        let along = |row: u32| {
            let [x, y, z] = [node(3 * row), node(3 * row + 1), node(3 * row + 2)];
            (x - middle) * a + (y - middle) * b + (z - middle) * c
        };
        let scale = scale(i % 3, size.x) * scale(i / 3, size.y);
        let of_differences = (along(0) * d + along(1) * e + along(2) * f) * scale;
        if i == 0 { middle + of_differences } else { of_differences }
    }

    /// Returns the result of patch number `which`.
    ///
    /// # Safety
    /// The caller must ensure that [`make`](Self::make) or [`set_fit`](Self::set_fit) was called for the patch and
    /// that a barrier followed.
    #[device]
    pub(crate) unsafe fn fit(&self, which: u32) -> Fit {
        // SAFETY: the caller guarantees that the result was set before a barrier.
        match unsafe { self.fits.load(which) } {
            fit if fit == Fit::Unused as u32 => Fit::Unused,
            fit if fit == Fit::Off as u32 => Fit::Off,
            _ => Fit::Whole,
        }
    }

    /// Returns the positions along column `x` of the tile that patch number `which` describes, as a quadratic
    /// polynomial.
    ///
    /// # Safety
    /// The caller must ensure that the patch was computed and that a barrier followed.
    #[device]
    pub(crate) unsafe fn line(&self, which: u32, x: f32) -> Line {
        // SAFETY: the caller guarantees that the patch was computed before a barrier.
        let of = |i: u32| unsafe { self.coefficients.load(which * NODES + i).0 };
        let at = |j: u32| fused(fused(of(3 * j + 2), x, of(3 * j + 1)), x, of(3 * j));
        Line { start: at(0), slope: at(1), bend: at(2) }
    }
}

/// A patch along one column or row of its tile: a quadratic polynomial, so a pixel takes two multiply-adds per
/// coordinate.
#[derive(Clone, Copy)]
pub(crate) struct Line {
    pub(crate) start: Vec2,
    pub(crate) slope: Vec2,
    pub(crate) bend: Vec2,
}

impl Line {
    /// Returns the picture position at offset `y` along the line.
    #[device]
    pub(crate) fn at(&self, y: f32) -> Vec2 {
        fused(fused(self.bend, y, self.slope), y, self.start)
    }
}

/// Returns `a·t + b` for both components, with fused multiply-adds.
#[device]
pub(crate) fn fused(a: Vec2, t: f32, b: Vec2) -> Vec2 {
    vec2(a.x.mul_add(t, b.x), a.y.mul_add(t, b.y))
}
