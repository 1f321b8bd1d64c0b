//! Patches: where a tile's pixels lie in a picture, from a few places in place of all.
//!
//! A lens takes dozens of instructions a pixel, and over some dozens of pixels what it does is all but quadratic. So
//! one warp works out [`PLACES`] places of a tile, a lane each: nine nodes, and between them sixteen where an
//! interpolation is off by about the most that it can be. If it is not off there by more than [`TOLERANCE`], it serves
//! for the whole tile; else the tile is worked out pixel by pixel.
//!
//! Cost: for each column of a tile that a thread makes about forty instructions, and two for each
//! coordinate of a pixel.

use cuda_std::prelude::*;
use glam::{Vec2, vec2};

/// Most that an interpolated coordinate may be off, in pixels: a step of the texture unit's filter.
const TOLERANCE: f32 = 1.0 / 256.0;

/// Places along either axis of a tile.
const SIDE: u32 = 5;

/// Places of a tile, which are worked out.
const PLACES: u32 = SIDE * SIDE;

/// Those that are interpolated between: every second one along both axes.
const NODES: u32 = 9;

/// A node in shared memory.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(8))]
struct Node(Vec2);

/// The patches of a block, one for each of `N` maps.
#[derive(Clone, Copy)]
pub(crate) struct Patches {
    nodes: Shared<Node>,
    fit: Shared<u32>,
}

/// Most maps of a block.
const MAPS: u32 = 3;

impl Patches {
    /// In the block's shared memory.
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self {
            nodes: shared_array![Node; (MAPS * NODES) as usize],
            fit: shared_array![u32; MAPS as usize],
        }
    }

    /// Makes the patch of `map`, which takes a place in the tile, from 0 to 2 along both axes, to one in a picture.
    ///
    /// # Safety
    /// All lanes of one warp call it, of no other, and a barrier follows before the patch is used.
    #[inline(always)]
    pub(crate) unsafe fn make(&self, which: u32, map: impl Fn(Vec2) -> Option<Vec2>) {
        let lane = warp::lane_id();
        let (column, row) = (lane % SIDE, lane / SIDE);
        let at = vec2(column as f32, row as f32) * 0.5;
        // Lanes beyond the last place repeat it.
        let at = at.min(Vec2::splat(2.0));
        let place = map(at);
        if lane < PLACES && column % 2 == 0 && row % 2 == 0 {
            let node = which * NODES + row / 2 * 3 + column / 2;
            // SAFETY: one of the nodes; each has one lane.
            unsafe { self.nodes.store(node, Node(place.unwrap_or(Vec2::NAN))) };
        }
        // SAFETY: all lanes are here, as the caller vouches; the nodes lie behind the synchronisation.
        unsafe {
            warp::sync_warp(u32::MAX);
            let off = self.line(which, at.x).at(at.y) - place.unwrap_or(Vec2::NAN);
            // What is no number is not.
            let fits = off.x.abs() <= TOLERANCE && off.y.abs() <= TOLERANCE;
            let fit = warp::warp_vote_all(u32::MAX, fits);
            if lane == 0 {
                self.fit.store(which, fit.into());
            }
        }
    }

    /// Whether a patch serves for its tile.
    ///
    /// # Safety
    /// It was made, and a barrier followed.
    #[inline(always)]
    pub(crate) unsafe fn fits(&self, which: u32) -> bool {
        // SAFETY: as the caller vouches.
        unsafe { self.fit.load(which) != 0 }
    }

    /// The patch along a column of the tile, from 0 to 2.
    ///
    /// # Safety
    /// It was made, and a barrier followed.
    #[inline(always)]
    pub(crate) unsafe fn line(&self, which: u32, x: f32) -> Line {
        // SAFETY: as the caller vouches.
        let node = |i: u32| unsafe { self.nodes.load(which * NODES + i).0 };
        // Lagrange's polynomials for nodes at 0, 1 and 2.
        let share = [0.5 * (x - 1.0) * (x - 2.0), x * (2.0 - x), 0.5 * x * (x - 1.0)];
        // Differences from the middle are small, so that little is lost to rounding.
        let middle = node(4);
        let across = |row: u32| {
            let [a, b, c] = [0, 1, 2].map(|i| node(3 * row + i) - middle);
            fused(a, share[0], fused(b, share[1], c * share[2]))
        };
        let [above, beside, below] = [across(0), across(1), across(2)];
        let rise = beside - above;
        let bend = ((below - beside) - rise) * 0.5;
        Line { start: middle + above, slope: rise - bend, bend }
    }
}

/// A patch along one column of its tile: quadratic.
#[derive(Clone, Copy)]
pub(crate) struct Line {
    start: Vec2,
    slope: Vec2,
    bend: Vec2,
}

impl Line {
    /// The place at a row of the tile, from 0 to 2.
    #[inline(always)]
    pub(crate) fn at(&self, y: f32) -> Vec2 {
        fused(fused(self.bend, y, self.slope), y, self.start)
    }
}

/// `a·t + b`, fused.
#[inline(always)]
fn fused(a: Vec2, t: f32, b: Vec2) -> Vec2 {
    vec2(a.x.mul_add(t, b.x), a.y.mul_add(t, b.y))
}
