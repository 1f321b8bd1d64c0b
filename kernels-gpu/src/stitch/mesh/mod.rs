//! Stitch, variant `mesh`: pictures in textures and the mesh of a warp make a panorama.
//!
//! A block makes a tile, a thread eight pixels of it: below each other in RGBA, four by two in NV12, of which two by
//! two share chroma. What a tile shows is in its first layer, which with the patch of the whole tile is half a line of
//! memory, known from the block's number and fetched by an earlier block, as are the pictures' lines of memory; of the
//! first blocks while the kernel before still runs. So there is one latency, then eight samples on their way at once,
//! then colour, then stores. For most tiles that is all. Where cameras meet or end, or one patch does not do, a tile is
//! made layer by layer, by shares: the same for each, and what the layers before it gave waits in shared memory.
//!
//! Cost: the pictures' pixels that are seen, the panorama, and half a byte a pixel of mesh; of each pixel two
//! multiply-adds a coordinate; 440 instructions a thread in RGBA, of all tiles, and 500 in NV12, a tenth of them of the
//! special function unit for powers; at most one prefetch, for lines to come; 14 KiB of shared memory a block. From
//! NV12 to NV12 the chroma of four pixels is one sample, at their middle, wherever one patch shows the whole tile.
//!
//! Powers are the fast ones; samples are the texture unit's, whose weights have 8 bits.

mod accumulator;
mod patch;
mod texture;
mod weigh;

pub use patch::place;
pub use weigh::*;

use crate::colour::grade;
use crate::io::Target;
use crate::stitch::edge_boost;
use crate::stitch::mesh::accumulator::Accumulator;
use crate::stitch::mesh::patch::four_places;
use crate::stitch::mesh::texture::TextureSampler;
use crate::stitch::mesh::texture::fetch_ahead;
use crate::unroll::unroll;
use cuda_std::prelude::*;
use glam::{UVec2, Vec2, Vec3, uvec2, vec3};
use shared_types::Rgba8;
use shared_types::nv12::Nv12Mut;
use shared_types::stitch::mesh::{
    BLOCK, BLOCK_THREADS, Grading, Layer, MeshParams, NO_CAMERA, NONE, Patch, REST, SourcePoint,
    TILE, WHOLE_SHARE,
};
use shared_types::texture::{Nv12Texture, Rgba8Texture};

/// Defines the kernel of one pair of formats.
macro_rules! stitch_mesh {
    ($formats:literal, $picture:ty => $out:ty, $name:ident, $blocks:literal) => {
        #[doc = concat!($formats, ", of up to four cameras.")]
        ///
        /// Pixels that no camera sees become opaque black. Nothing is written where there are fewer layers than blocks.
        ///
        /// # Safety
        /// - The grid has a block of [`BLOCK`] for each tile, and the panorama is whole.
        /// - What the layers say exists: patches, places, shares and further layers.
        /// - Both sides of a flipped panorama in NV12 are even.
        #[kernel(launch_bounds(BLOCK_THREADS, $blocks))]
        pub unsafe fn $name(
            first: $picture,
            second: $picture,
            third: $picture,
            fourth: $picture,
            layers: Slice<Layer>,
            patches: Slice<Patch>,
            places: Slice<SourcePoint>,
            shares: Slice<u16>,
            params: MeshParams,
            out: $out,
        ) {
            let mesh = Mesh { layers, patches, places, shares };
            let pictures = Pictures { first, second, third, fourth };
            // SAFETY: as the caller vouches.
            unsafe { stitch(&pictures, &mesh, &params, out) };
        }
    };
}

stitch_mesh!("RGBA to RGBA", Rgba8Texture => ViewMut<Rgba8>, stitch_mesh_rgba8, 8);

stitch_mesh!("NV12 to NV12", Nv12Texture => Nv12Mut, stitch_mesh_nv12, 8);

stitch_mesh!("NV12 to RGBA", Nv12Texture => ViewMut<Rgba8>, stitch_mesh_nv12_rgba8, 8);

stitch_mesh!("RGBA to NV12", Rgba8Texture => Nv12Mut, stitch_mesh_rgba8_nv12, 8);

/// How many times four pixels a thread makes.
const RUNS: usize = (TILE * TILE / (4 * BLOCK_THREADS)) as usize;

/// How many tiles ahead layers are fetched: about as many as are made at a time on the largest GPUs.
const AHEAD: u32 = 1024;

/// How many rows of tiles ahead pictures are fetched: about as many tiles, of a panorama of two cameras in 4K.
const ROWS_AHEAD: u32 = 6;

/// The pictures of all cameras.
struct Pictures<P> {
    first: P,
    second: P,
    third: P,
    fourth: P,
}

/// A mesh in memory.
struct Mesh {
    layers: Slice<Layer>,
    patches: Slice<Patch>,
    places: Slice<SourcePoint>,
    shares: Slice<u16>,
}

/// What every kernel does.
///
/// # Safety
/// As the kernels'.
#[inline(always)]
unsafe fn stitch<P: TextureSampler, O: Target>(
    pictures: &Pictures<P>,
    mesh: &Mesh,
    params: &MeshParams,
    out: O,
) {
    let tile = uvec2(thread::block_idx_x(), thread::block_idx_y());
    let index = tile.y * thread::grid_dim_x() + tile.x;
    // While the kernel before still runs: it is for the first blocks, whose layer no other has fetched.
    if index < mesh.layers.len() && thread::thread_idx_x() == 0 && thread::thread_idx_y() == 0 {
        mesh.layers.prefetch(index);
    }
    thread::wait_for_kernel_before();
    if index >= mesh.layers.len() {
        return;
    }
    // Before all else, which then does not wait for it.
    // SAFETY: it is there, as checked.
    let first = unsafe { mesh.layers.load(index) };
    // For a block that will run when these have ended.
    if thread::thread_idx_x() == 0 {
        mesh.layers.prefetch(index + AHEAD);
    }
    // Threads of a tile side by side, and this one.
    let (columns, thread) = (TILE / O::EIGHT.x, rank());
    let (corner, in_tile) = (tile * TILE, uvec2(thread % columns, thread / columns) * O::EIGHT);
    let at = corner + in_tile;
    if at.x >= out.width() || at.y >= out.height() {
        return;
    }
    let fours = [in_tile, in_tile + O::of_eight(4)];
    // All branches here are the same for the whole block.
    if first.shares == NONE && is_whole(&first) {
        let mut places = [[Vec2::ZERO; 4]; RUNS];
        unroll!(RUNS, |run| places[run] = four_places::<O>(&first.patch, fours[run]));
        let ahead = tile.y + ROWS_AHEAD < thread::grid_dim_y();
        let ahead = ahead.then_some(&first.patch);
        let colours = sample_camera(pictures, params, first.camera, places, O::CELL, ahead);
        // SAFETY: as the caller vouches.
        unsafe { store(out, at, params, colours) };
        return;
    }
    let accumulator = Accumulator::new();
    let mut next = index;
    // SAFETY: as the caller vouches; what is loaded was stored before.
    unsafe {
        unroll!(RUNS, |run| accumulator.store(run, [Vec3::ZERO; 4], [WHOLE; 4]));
        loop {
            // Loaded anew, since it would take many registers to keep the first.
            let layer = mesh.layers.load(next);
            next = layer.next;
            mesh.layers.prefetch(next);
            let places = mesh.places::<O>(&layer, fours);
            let may_share = P::CHROMA && O::CELL == 2;
            let mut shares = [[WHOLE; 4]; RUNS];
            // On their way with the places, before the samples, where there are registers for it.
            if !may_share {
                unroll!(RUNS, |run| shares[run] = mesh.shares::<O>(&layer, fours[run]));
            }
            // Chroma is shared where one patch shows the whole tile, as for tiles of one layer: of those beside each other
            // that cells or places show, one may show anything.
            let mut colours = if may_share && is_whole(&layer) {
                sample_camera(pictures, params, layer.camera, places, O::CELL, None)
            } else {
                sample_camera(pictures, params, layer.camera, places, 1, None)
            };
            if may_share {
                unroll!(RUNS, |run| shares[run] = mesh.shares::<O>(&layer, fours[run]));
            }
            unroll!(RUNS, |run| {
                let (sum, mut left) = accumulator.load(run);
                unroll!(4, |i| {
                    let share = shares[run][i].min(left[i]);
                    left[i] -= share;
                    let share = share as f32 * (1.0 / WHOLE_SHARE);
                    colours[run][i] = grade::fused(colours[run][i], share, sum[i]);
                });
                if next != NONE {
                    accumulator.store(run, colours[run], left);
                }
            });
            if next == NONE {
                store(out, at, params, colours);
                return;
            }
        }
    }
}

/// As [`thread::rank`], of a block whose shape is known.
#[inline(always)]
fn rank() -> u32 {
    thread::thread_idx_y() * BLOCK[0] + thread::thread_idx_x()
}

/// Whether a layer has one patch, for the whole tile, which is of numbers. All of the layer takes part in the answer:
/// else ptxas loads the patch behind the branch, and there is one more latency to wait for.
#[inline(always)]
fn is_whole(Layer { cell, patch: Patch { u, v }, .. }: &Layer) -> bool {
    (u32::from(*cell) == TILE) & !(u[0] + u[4] + v[2]).is_nan()
}

/// A share of 1. Shares have 16 bits, but in registers of 32.
const WHOLE: u32 = WHOLE_SHARE as u32;

/// Of a thread's pixels.
type Colours = [[Vec3; 4]; RUNS];

/// Writes a thread's pixels, the first of them at `at`, as far as they lie in the panorama.
///
/// # Safety
/// The panorama is whole, `at` in it, and its size even if it is flipped NV12.
#[inline(always)]
unsafe fn store<O: Target>(out: O, at: UVec2, params: &MeshParams, mut colours: Colours) {
    let flip = params.flip != 0;
    if params.edge_boost != 0 {
        unroll!(8, |i| {
            let x = at.x + O::of_eight(i as u32).x;
            let colour = &mut colours[i / 4][i % 4];
            let Vec3 { x, y, z } = *colour * edge_boost(x, out.width());
            *colour = vec3(x.saturate(), y.saturate(), z.saturate());
        });
    }
    let encode = &params.encode;
    // SAFETY: they are this thread's, whose tile begins at a multiple of eights; the rest is the caller's.
    unsafe {
        // A branch that is the same for all threads, in place of choices among colours.
        if flip {
            out.store_eight(at.x, at.y, colours, encode, true);
        } else {
            out.store_eight(at.x, at.y, colours, encode, false);
        }
    }
}

/// What a camera shows at these places, of pixels that share chroma if `cell` is 2; black if it is none. What `ahead`,
/// the tile's patch, shows further on is [fetched](fetch_ahead). Each camera has its branch: a texture that is chosen
/// at run time is read in a loop over the warp.
#[inline(always)]
fn sample_camera<P: TextureSampler>(
    pictures: &Pictures<P>,
    params: &MeshParams,
    camera: u16,
    places: [[Vec2; 4]; RUNS],
    cell: u32,
    ahead: Option<&Patch>,
) -> Colours {
    let [one, two, three, four] = &params.cameras;
    // The same branch for the whole block; bit by bit, since a choice of four would be a jump by a table.
    if camera & 2 == 0 {
        if camera & 1 == 0 {
            sample_picture(pictures.first, places, one, cell, ahead)
        } else {
            sample_picture(pictures.second, places, two, cell, ahead)
        }
    } else if camera == NO_CAMERA {
        [[Vec3::ZERO; 4]; RUNS]
    } else if camera & 1 == 0 {
        sample_picture(pictures.third, places, three, cell, ahead)
    } else {
        sample_picture(pictures.fourth, places, four, cell, ahead)
    }
}

/// Colours of a picture at these places, all samples of which are on their way before the first is used.
#[inline(always)]
fn sample_picture<P: TextureSampler>(
    picture: P,
    places: [[Vec2; 4]; RUNS],
    grading: &Grading,
    cell: u32,
    ahead: Option<&Patch>,
) -> Colours {
    // The first ones twice, since an array must begin with something.
    let mut samples = [picture.take(&places[0], cell); RUNS];
    unroll!(RUNS, |run| {
        if run > 0 {
            samples[run] = picture.take(&places[run], cell);
        }
    });
    if let Some(patch) = ahead {
        fetch_ahead(picture, patch);
    }
    let mut colours = [[Vec3::ZERO; 4]; RUNS];
    unroll!(RUNS, |run| colours[run] = picture.colours(samples[run], grading));
    colours
}

impl Mesh {
    /// How much a layer counts at four pixels from `first` on, at most, of [`WHOLE`].
    ///
    /// # Safety
    /// What the layer says exists.
    #[inline(always)]
    unsafe fn shares<O: Target>(&self, layer: &Layer, first: UVec2) -> [u32; 4] {
        let mut shares = [WHOLE; 4];
        if layer.shares < REST {
            // SAFETY: a tile has shares for all its pixels.
            unsafe {
                let from_first = self.shares.tail(layer.shares + first.y * TILE + first.x);
                unroll!(4, |i| {
                    let UVec2 { x, y } = O::of_eight(i as u32);
                    shares[i] = from_first.load(y * TILE + x).into();
                });
            }
        }
        shares
    }

    /// Where a layer shows pixels of its tile, four by four, as texture coordinates.
    ///
    /// # Safety
    /// What the layer says exists.
    #[inline(always)]
    unsafe fn places<O: Target>(&self, layer: &Layer, fours: [UVec2; RUNS]) -> [[Vec2; 4]; RUNS] {
        let cell = u32::from(layer.cell);
        let mut places = [[Vec2::ZERO; 4]; RUNS];
        if is_whole(layer) {
            unroll!(RUNS, |run| places[run] = four_places::<O>(&layer.patch, fours[run]));
        } else if cell > 0 {
            unroll!(RUNS, |run| {
                // Cells are powers of two; four pixels lie in one.
                let (log, UVec2 { x, y }) = (cell.trailing_zeros(), fours[run]);
                let patch = layer.places + ((y >> log) * (TILE >> log)) + (x >> log);
                // SAFETY: a tile has patches for all its cells.
                let patch = unsafe { self.patches.load(patch) };
                places[run] = four_places::<O>(&patch, fours[run]);
            });
        } else {
            unroll!(RUNS, |run| {
                // SAFETY: a tile has places for all its pixels.
                unsafe {
                    let first = layer.places + fours[run].y * TILE + fours[run].x;
                    let from_first = self.places.tail(first);
                    unroll!(4, |i| {
                        let UVec2 { x, y } = O::of_eight(i as u32);
                        let SourcePoint(place) = from_first.load(y * TILE + x);
                        places[run][i] = place + Vec2::splat(0.5);
                    });
                }
            });
        }
        places
    }
}
