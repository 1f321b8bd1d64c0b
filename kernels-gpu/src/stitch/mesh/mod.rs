//! Stitch, variant `mesh`: makes a panorama from pictures in textures and the mesh of a warp.
//!
//! A block computes a tile, a thread eight pixels of it: one column in RGBA, four by two in NV12, where two by two
//! share chroma. Each tile starts at one 64-byte `Layer` that embeds the whole-tile patch. Its index is the block
//! index, so an earlier block can prefetch it, as well as the cache lines of the pictures. The first blocks prefetch
//! theirs while the previous kernel still runs. So a thread waits for one memory latency, then has eight samples in
//! flight, then computes colours and stores. This is all for most tiles. Tiles where cameras overlap or end, or where
//! one patch is not accurate enough, are computed layer by layer and blended by shares; the intermediate sums are in
//! shared memory.
//!
//! Cost: the visible pixels of the pictures, the panorama, and half a byte of mesh per pixel. Two multiply-adds per
//! pixel and coordinate. 440 instructions per thread in RGBA (average of all tiles) and 500 in NV12, a tenth of them
//! in the special function unit for powers. At most one prefetch per thread. 14 KiB of shared memory per block. From
//! NV12 to NV12, four pixels take one chroma sample at their middle if one patch covers the whole tile.
//!
//! Powers use the fast method; samples use the texture unit, whose weights have 8 bits.

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

/// Defines the kernel for one pair of formats.
macro_rules! stitch_mesh {
    ($formats:literal, $picture:ty => $out:ty, $name:ident, $blocks:literal) => {
        #[doc = concat!($formats, ", of up to four cameras.")]
        ///
        /// Pixels that no camera sees become opaque black. Nothing is written if there are fewer layers than blocks.
        ///
        /// # Safety
        /// - The grid must have a block of [`BLOCK`] for each tile, and the panorama must be whole.
        /// - Patches, places, shares and further layers that the layers refer to must exist.
        /// - Width and height of a flipped NV12 panorama must be even.
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
            // SAFETY: guaranteed by the caller.
            unsafe { stitch(&pictures, &mesh, &params, out) };
        }
    };
}

stitch_mesh!("RGBA to RGBA", Rgba8Texture => ViewMut<Rgba8>, stitch_mesh_rgba8, 8);

stitch_mesh!("NV12 to NV12", Nv12Texture => Nv12Mut, stitch_mesh_nv12, 8);

stitch_mesh!("NV12 to RGBA", Nv12Texture => ViewMut<Rgba8>, stitch_mesh_nv12_rgba8, 8);

stitch_mesh!("RGBA to NV12", Rgba8Texture => Nv12Mut, stitch_mesh_rgba8_nv12, 8);

/// The number of runs of four pixels per thread.
const RUNS: usize = (TILE * TILE / (4 * BLOCK_THREADS)) as usize;

/// The number of tiles by which layers are prefetched: about as many as run at the same time on the largest GPUs.
const AHEAD: u32 = 1024;

/// The number of rows of tiles by which pictures are prefetched: about as many tiles, for a panorama of two 4K
/// cameras.
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

/// The body of every kernel.
///
/// # Safety
/// The same as for the kernels.
#[inline(always)]
unsafe fn stitch<P: TextureSampler, O: Target>(
    pictures: &Pictures<P>,
    mesh: &Mesh,
    params: &MeshParams,
    out: O,
) {
    let tile = uvec2(thread::block_idx_x(), thread::block_idx_y());
    let index = tile.y * thread::grid_dim_x() + tile.x;
    // Runs while the previous kernel still runs. It is for the first blocks, whose layer no other block has
    // prefetched.
    if index < mesh.layers.len() && thread::thread_idx_x() == 0 && thread::thread_idx_y() == 0 {
        mesh.layers.prefetch(index);
    }
    thread::wait_for_kernel_before();
    if index >= mesh.layers.len() {
        return;
    }
    // Loaded first, so that this load does not wait for anything. SAFETY: it exists, as checked.
    let first = unsafe { mesh.layers.load(index) };
    // For a block that will run after the current ones.
    if thread::thread_idx_x() == 0 {
        mesh.layers.prefetch(index + AHEAD);
    }
    // The number of threads along a row of the tile, and the position of this one.
    let (columns, thread) = (TILE / O::EIGHT.x, rank());
    let (corner, in_tile) = (tile * TILE, uvec2(thread % columns, thread / columns) * O::EIGHT);
    let at = corner + in_tile;
    if at.x >= out.width() || at.y >= out.height() {
        return;
    }
    let fours = [in_tile, in_tile + O::of_eight(4)];
    // All branches here are uniform.
    if first.shares == NONE && is_whole(&first) {
        let mut places = [[Vec2::ZERO; 4]; RUNS];
        unroll!(RUNS, |run| places[run] = four_places::<O>(&first.patch, fours[run]));
        let ahead = tile.y + ROWS_AHEAD < thread::grid_dim_y();
        let ahead = ahead.then_some(&first.patch);
        let colours = sample_camera(pictures, params, first.camera, places, O::CELL, ahead);
        // SAFETY: guaranteed by the caller.
        unsafe { store(out, at, params, colours) };
        return;
    }
    // SAFETY: guaranteed by the caller.
    unsafe { stitch_layers(pictures, mesh, params, out, (index, at), fours) };
}

/// Blends the layers of a tile from layer `index` on, by their shares, and writes the thread's pixels, the first of
/// them at `at`.
///
/// # Safety
/// The same as for the kernels; layer `index` must exist.
#[inline(always)]
unsafe fn stitch_layers<P: TextureSampler, O: Target>(
    pictures: &Pictures<P>,
    mesh: &Mesh,
    params: &MeshParams,
    out: O,
    (index, at): (u32, UVec2),
    fours: [UVec2; RUNS],
) {
    let accumulator = Accumulator::new();
    let mut next = index;
    // SAFETY: guaranteed by the caller; everything loaded was stored before.
    unsafe {
        unroll!(RUNS, |run| accumulator.store(run, [Vec3::ZERO; 4], [WHOLE; 4]));
        loop {
            // Loaded again, because keeping the first layer would take many registers.
            let layer = mesh.layers.load(next);
            next = layer.next;
            mesh.layers.prefetch(next);
            let places = mesh.places::<O>(&layer, fours);
            let may_share = P::CHROMA && O::CELL == 2;
            let mut shares = [[WHOLE; 4]; RUNS];
            // In flight together with the places, before the samples, if there are registers for it.
            if !may_share {
                unroll!(RUNS, |run| shares[run] = mesh.shares::<O>(&layer, fours[run]));
            }
            // Chroma is shared if one patch covers the whole tile, as in tiles with one layer. Neighbouring cells or
            // places may refer to any position.
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

/// [`thread::rank`] for a known block shape.
#[inline(always)]
fn rank() -> u32 {
    thread::thread_idx_y() * BLOCK[0] + thread::thread_idx_x()
}

/// Returns whether a layer has one patch for the whole tile, with finite numbers. The whole layer takes part in the
/// answer; otherwise ptxas moves the load of the patch behind the branch, which adds one memory latency.
#[inline(always)]
fn is_whole(Layer { cell, patch: Patch { u, v }, .. }: &Layer) -> bool {
    (u32::from(*cell) == TILE) & !(u[0] + u[4] + v[2]).is_nan()
}

/// A share of 1. Shares have 16 bits, but 32-bit registers.
const WHOLE: u32 = WHOLE_SHARE as u32;

/// The colours of a thread's pixels.
type Colours = [[Vec3; 4]; RUNS];

/// Writes a thread's pixels, the first of them at `at`, as far as they are inside the panorama.
///
/// # Safety
/// The panorama must be whole, `at` inside, and the size even if it is flipped NV12.
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
    // SAFETY: they belong to this thread, whose tile starts at a multiple of eights; the caller guarantees the rest.
    unsafe {
        // A uniform branch instead of selecting among colours.
        if flip {
            out.store_eight(at.x, at.y, colours, encode, true);
        } else {
            out.store_eight(at.x, at.y, colours, encode, false);
        }
    }
}

/// Samples a camera at these places, for pixels that share chroma if `cell` is 2; black if there is no such camera.
/// Also [prefetches](fetch_ahead) along `ahead`, the tile's patch. Each camera has its own branch, because a texture
/// that is selected at run time is read in a loop over the warp.
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
    // Uniform branches, bit by bit, because a switch with four cases would be a jump table.
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

/// Samples a picture at these places. All samples are in flight before the first one is used.
#[inline(always)]
fn sample_picture<P: TextureSampler>(
    picture: P,
    places: [[Vec2; 4]; RUNS],
    grading: &Grading,
    cell: u32,
    ahead: Option<&Patch>,
) -> Colours {
    // The first ones appear twice, because an array needs an initial value.
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
    /// Returns the share of a layer, at most [`WHOLE`], for four pixels from `first` on.
    ///
    /// # Safety
    /// The shares of the layer must exist.
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

    /// Returns the texture coordinates of a layer for pixels of its tile, in fours.
    ///
    /// # Safety
    /// The patches or places of the layer must exist.
    #[inline(always)]
    unsafe fn places<O: Target>(&self, layer: &Layer, fours: [UVec2; RUNS]) -> [[Vec2; 4]; RUNS] {
        let cell = u32::from(layer.cell);
        let mut places = [[Vec2::ZERO; 4]; RUNS];
        if is_whole(layer) {
            unroll!(RUNS, |run| places[run] = four_places::<O>(&layer.patch, fours[run]));
        } else if cell > 0 {
            unroll!(RUNS, |run| {
                // Cell sizes are powers of two, and four pixels are always in one cell.
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
