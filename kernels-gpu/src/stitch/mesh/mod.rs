//! Stitch, variant `mesh`: makes a panorama from pictures in textures and the mesh of a warp.
//!
//! A block computes a tile, and a thread eight of its pixels: one column in RGBA, and two rows of four columns in NV12,
//! where 2×2 pixels share a chroma sample. Each tile starts at one 64-byte `Layer` that embeds the whole-tile patch.
//! Its index is the block index, so an earlier block can prefetch it. Blocks also prefetch cache lines of the pictures
//! for later tiles, and the first blocks prefetch their own layers while the previous kernel still runs.
//!
//! In most tiles, one patch of one camera covers all pixels. For such a tile, a thread waits once for the layer, takes
//! eight samples that are in flight at once, computes their colours and stores them. If cameras overlap or end in a
//! tile, or if one patch is not accurate enough, threads compute the tile layer by layer and blend the layers by their
//! shares. The intermediate sums are in shared memory.
//!
//! Cost: the kernel reads the visible pixels of the pictures and half a byte of mesh per panorama pixel, and writes the
//! panorama. A coordinate of a pixel takes two multiply-adds. On average over all tiles, a thread executes 440
//! instructions in RGBA and 500 in NV12; a tenth of them compute powers in the special function unit. A thread
//! prefetches at most one cache line of a picture. A block uses 14 KiB of shared memory. If input and output are NV12
//! and one patch covers the whole tile, each group of 2×2 pixels reads one chroma sample at its centre.
//!
//! Gamma uses the fast power. Samples come from the texture unit, whose filter weights have 8 bits.

mod accumulator;
mod cameras;
#[cfg(not(target_arch = "nvptx64"))]
mod cpu;
mod patch;
mod texture;
mod weigh;

pub use patch::place;
pub use weigh::*;

use crate::io::{Target, fused};
use crate::stitch::edge_boost;
use crate::stitch::mesh::accumulator::Accumulator;
use crate::stitch::mesh::cameras::{CameraArgs, ManyCameras, TwoCameras};
use crate::stitch::mesh::patch::four_places;
use crate::stitch::mesh::texture::TextureSampler;
use crate::unroll::unroll;
use cuda_std::prelude::*;
use glam::{UVec2, Vec2, Vec3, uvec2, vec3};
use shared_types::Rgba8;
use shared_types::nv12::{Nv12Mut, P010Mut};
use shared_types::stitch::MAX_CAMERAS;
use shared_types::stitch::mesh::{
    BLOCK, BLOCK_THREADS, Grading, Layer, MeshParams, NONE, Patch, REST, SourcePoint, TILE,
    TwoGradings, WHOLE_SHARE,
};
use shared_types::texture::{AnyTexture, Nv12Texture, P010Texture, Rgba8Texture};

/// Defines a kernel. The cameras are arguments of the kernel, and `$cameras` makes a [`CameraArgs`] of them.
macro_rules! stitch_mesh {
    (
        $title:expr, $name:ident($($camera:ident: $type:ty),+) => $out:ty, $blocks:literal, $cameras:expr, $cpu:path
    ) => {
        #[doc = concat!("Stitches ", $title, ".")]
        ///
        /// Pixels that no camera sees become opaque black. A block whose index is not less than the length of `layers`
        /// writes nothing.
        ///
        /// # Safety
        /// - The grid must have one block of [`BLOCK`] threads for each tile, and the panorama must be whole.
        /// - Every patch, place, share and further layer to which a layer refers must exist.
        /// - If `gradings` is a table, it must have an entry for each of the `pictures`.
        /// - Width and height of a flipped NV12 panorama must be even.
        #[kernel(launch_bounds(BLOCK_THREADS, $blocks), cpu($cpu))]
        pub unsafe fn $name(
            $($camera: $type,)+
            layers: Slice<Layer>,
            patches: Slice<Patch>,
            places: Slice<SourcePoint>,
            shares: Slice<u16>,
            params: MeshParams,
            out: $out,
        ) {
            let mesh = Mesh { layers, patches, places, shares };
            // SAFETY: the caller guarantees the conditions above, which are those of `stitch`.
            unsafe { stitch(&$cameras, &mesh, &params, out) };
        }
    };
}

/// Defines the kernel for two cameras of one format, whose pictures are separate arguments.
macro_rules! stitch_two {
    ($formats:literal, $picture:ty => $out:ty, $name:ident) => {
        stitch_mesh!(
            concat!("two cameras: ", $formats),
            $name(first: $picture, second: $picture, gradings: TwoGradings) => $out,
            8,
            TwoCameras { first, second, gradings },
            cpu::two
        );
    };
}

/// Defines the kernel for up to 16 cameras, whose pictures are in a table.
macro_rules! stitch_many {
    ($formats:literal, $picture:ty => $out:ty, $name:ident, $blocks:literal) => {
        stitch_mesh!(
            concat!("up to [`MAX_CAMERAS`] cameras: ", $formats),
            $name(
                pictures: Table<$picture, MAX_CAMERAS>,
                gradings: Table<Grading, MAX_CAMERAS>
            ) => $out,
            $blocks,
            ManyCameras { pictures, gradings },
            cpu::many
        );
    };
}

stitch_two!("RGBA to RGBA", Rgba8Texture => ViewMut<Rgba8>, stitch_mesh_rgba8);

stitch_two!("NV12 to NV12", Nv12Texture => Nv12Mut, stitch_mesh_nv12);

stitch_two!("NV12 to RGBA", Nv12Texture => ViewMut<Rgba8>, stitch_mesh_nv12_rgba8);

stitch_two!("RGBA to NV12", Rgba8Texture => Nv12Mut, stitch_mesh_rgba8_nv12);

stitch_two!("P010 to P010", P010Texture => P010Mut, stitch_mesh_p010);

stitch_many!("RGBA to RGBA", Rgba8Texture => ViewMut<Rgba8>, stitch_mesh_many_rgba8, 8);

stitch_many!("NV12 to NV12", Nv12Texture => Nv12Mut, stitch_mesh_many_nv12, 8);

stitch_many!("NV12 to RGBA", Nv12Texture => ViewMut<Rgba8>, stitch_mesh_many_nv12_rgba8, 8);

stitch_many!("RGBA to NV12", Rgba8Texture => Nv12Mut, stitch_mesh_many_rgba8_nv12, 8);

stitch_many!("P010 to P010", P010Texture => P010Mut, stitch_mesh_many_p010, 8);

stitch_many!("RGBA or NV12 to RGBA", AnyTexture => ViewMut<Rgba8>, stitch_mesh_mixed_rgba8, 6);

stitch_many!("RGBA or NV12 to NV12", AnyTexture => Nv12Mut, stitch_mesh_mixed_nv12, 6);

/// The number of groups of four pixels per thread.
const RUNS: usize = (TILE * TILE / (4 * BLOCK_THREADS)) as usize;

/// The number of tiles by which prefetches of layers are ahead: about the number of tiles that the largest GPUs compute
/// at a time.
const AHEAD: u32 = 1024;

/// The number of tile rows by which prefetches of pictures are ahead. In a panorama of two 4K cameras, these rows
/// contain about [`AHEAD`] tiles.
const ROWS_AHEAD: u32 = 6;

/// The arrays of a mesh in device memory.
struct Mesh {
    layers: Slice<Layer>,
    patches: Slice<Patch>,
    places: Slice<SourcePoint>,
    shares: Slice<u16>,
}

/// The body of every stitch kernel on a mesh. One block computes one tile.
///
/// # Safety
/// The safety conditions of the kernels that `stitch_mesh!` defines apply.
#[device]
unsafe fn stitch<C: CameraArgs, O: Target>(cameras: &C, mesh: &Mesh, params: &MeshParams, out: O) {
    let tile = uvec2(thread::block_idx_x(), thread::block_idx_y());
    let index = tile.y * thread::grid_dim_x() + tile.x;
    // Prefetch the block's own layer while the previous kernel still runs. This has an effect only in the first blocks,
    // because earlier blocks prefetch the layers of all later ones.
    if index < mesh.layers.len() && thread::thread_idx_x() == 0 && thread::thread_idx_y() == 0 {
        mesh.layers.prefetch(index);
    }
    thread::wait_for_kernel_before();
    if index >= mesh.layers.len() {
        return;
    }
    // Load the layer before anything else, so that no other load delays it. SAFETY: it exists, as just checked.
    let first = unsafe { mesh.layers.load(index) };
    // Prefetch the layer of a block that will run after the blocks that run now.
    if thread::thread_idx_x() == 0 {
        mesh.layers.prefetch(index + AHEAD);
    }
    // The number of threads along a row of the tile, and the rank of this thread in the block.
    let (columns, thread) = (TILE / O::EIGHT.x, rank());
    let (corner, in_tile) = (tile * TILE, uvec2(thread % columns, thread / columns) * O::EIGHT);
    let at = corner + in_tile;
    if !C::ALL_LANES && (at.x >= out.width() || at.y >= out.height()) {
        return;
    }
    let fours = [in_tile, in_tile + O::of_eight(4)];
    // All branches from here on are uniform for the block.
    if first.shares == NONE && is_whole(&first) {
        let mut places = [[Vec2::ZERO; 4]; RUNS];
        unroll!(RUNS, |run| places[run] = four_places::<O>(&first.patch, fours[run]));
        let ahead = tile.y + ROWS_AHEAD < thread::grid_dim_y();
        let ahead = ahead.then_some(&first.patch);
        // SAFETY: all threads of the block have the same layer, so all lanes are here, except those that have no pixels
        // and need not sample. The caller guarantees that the panorama is whole.
        unsafe {
            let colours = cameras.sample(first.camera, places, O::CELL, ahead);
            store(out, at, params, colours);
        }
        return;
    }
    // SAFETY: the caller guarantees the conditions of the kernels. Layer `index` exists, as checked above.
    unsafe { stitch_layers(cameras, mesh, params, out, (index, at), fours) };
}

/// Blends the layers of a tile by their shares, starting with layer `index`, and writes the thread's pixels. The first
/// pixel is at `at`.
///
/// # Safety
/// The safety conditions of the kernels that `stitch_mesh!` defines apply. In addition, layer `index` must exist.
#[device]
unsafe fn stitch_layers<C: CameraArgs, O: Target>(
    cameras: &C,
    mesh: &Mesh,
    params: &MeshParams,
    out: O,
    (index, at): (u32, UVec2),
    fours: [UVec2; RUNS],
) {
    let accumulator = Accumulator::new();
    let mut next = index;
    // SAFETY: the caller guarantees that the patches, places, shares and layers to which layers refer exist. Each run
    // of the accumulator is stored before it is loaded.
    unsafe {
        unroll!(RUNS, |run| accumulator.store(run, [Vec3::ZERO; 4], [WHOLE; 4]));
        loop {
            // Load the first layer again, because keeping it would take many registers.
            let layer = mesh.layers.load(next);
            next = layer.next;
            mesh.layers.prefetch(next);
            let places = mesh.places::<O>(&layer, fours);
            let may_share = C::Picture::CHROMA && O::CELL == 2;
            let mut shares = [[WHOLE; 4]; RUNS];
            // Without shared chroma, enough registers are free to load the shares early, in flight together with the
            // places.
            if !may_share {
                unroll!(RUNS, |run| shares[run] = mesh.shares::<O>(&layer, fours[run]));
            }
            // Four pixels share a chroma sample only if one patch covers the whole tile, as in tiles with one layer.
            // With cells or places, the source positions of adjacent pixels may be far apart.
            let mut colours = if may_share && is_whole(&layer) {
                cameras.sample(layer.camera, places, O::CELL, None)
            } else {
                cameras.sample(layer.camera, places, 1, None)
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
                    colours[run][i] = fused(colours[run][i], share, sum[i]);
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

/// Returns the rank of the thread in its block, as [`thread::rank`] does, but only for blocks of [`BLOCK`] threads.
#[device]
fn rank() -> u32 {
    thread::thread_idx_y() * BLOCK[0] + thread::thread_idx_x()
}

/// Returns whether one patch without NaN covers the whole tile. The result depends on several numbers of the patch, so
/// ptxas loads the patch together with the other fields of the layer. Otherwise it would move the load of the patch
/// behind the branch, which adds one memory latency.
#[device]
fn is_whole(Layer { cell, patch: Patch { u, v }, .. }: &Layer) -> bool {
    (u32::from(*cell) == TILE) & !(u[0] + u[4] + v[2]).is_nan()
}

/// The fixed-point value of a share of 1. A share has 16 bits in memory, and 32 bits in a register.
const WHOLE: u32 = WHOLE_SHARE as u32;

/// The colours of a thread's pixels, in groups of four.
type Colours = [[Vec3; 4]; RUNS];

/// Writes the colours of a thread's pixels, the first one at `at`. Omits pixels outside the panorama.
///
/// # Safety
/// The panorama must be whole. A flipped NV12 panorama must have an even width and height.
#[device]
unsafe fn store<O: Target>(out: O, at: UVec2, params: &MeshParams, mut colours: Colours) {
    if at.x >= out.width() || at.y >= out.height() {
        return;
    }
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
    // SAFETY: no other thread writes these pixels. `at` is a multiple of `EIGHT`, because tiles start at multiples of
    // `TILE`. The caller guarantees that the panorama is whole and contains `at`.
    unsafe {
        // Use a single uniform branch. If `flip` were passed on as a variable, each colour would be selected
        // separately.
        if flip {
            out.store_eight(at.x, at.y, colours, encode, true);
        } else {
            out.store_eight(at.x, at.y, colours, encode, false);
        }
    }
}

impl Mesh {
    /// Returns the shares of a layer, at most [`WHOLE`], for four pixels of the tile. The first pixel is at `first`.
    ///
    /// # Safety
    /// The shares of the layer must exist.
    #[device]
    unsafe fn shares<O: Target>(&self, layer: &Layer, first: UVec2) -> [u32; 4] {
        let mut shares = [WHOLE; 4];
        if layer.shares < REST {
            // SAFETY: the caller guarantees that the layer has shares for all pixels of the tile.
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

    /// Returns the texture coordinates of a layer for the thread's pixels: groups of four that start at `fours`.
    ///
    /// # Safety
    /// The patches or places of the layer must exist.
    #[device]
    unsafe fn places<O: Target>(&self, layer: &Layer, fours: [UVec2; RUNS]) -> [[Vec2; 4]; RUNS] {
        let cell = u32::from(layer.cell);
        let mut places = [[Vec2::ZERO; 4]; RUNS];
        if is_whole(layer) {
            unroll!(RUNS, |run| places[run] = four_places::<O>(&layer.patch, fours[run]));
        } else if cell > 0 {
            unroll!(RUNS, |run| {
                // The side of a cell is a power of two, and a group of four pixels is always inside one cell.
                let (log, UVec2 { x, y }) = (cell.trailing_zeros(), fours[run]);
                let patch = layer.places + ((y >> log) * (TILE >> log)) + (x >> log);
                // SAFETY: the caller guarantees that the layer has patches for all cells of the tile.
                let patch = unsafe { self.patches.load(patch) };
                places[run] = four_places::<O>(&patch, fours[run]);
            });
        } else {
            unroll!(RUNS, |run| {
                // SAFETY: the caller guarantees that the layer has places for all pixels of the tile.
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
