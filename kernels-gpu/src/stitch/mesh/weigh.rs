//! The kernel that rewrites a mesh's shares after the weights of cameras changed.

use crate::warp::camera::SourceLookup;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_std::launch::LaunchConfig;
use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WarpReductionOp, warp_reduce};
use glam::{UVec2, uvec2};
#[cfg(not(target_arch = "nvptx64"))]
use rayon::prelude::*;
use shared_types::stitch::mesh::{
    Layer, NO_CAMERA, NONE, REST, TILE, WEIGH_BLOCK, WEIGH_THREADS, WHOLE_SHARE, WeighedCamera,
};
use shared_types::stitch::{MAX_CAMERAS, MIN_WEIGHT};

/// Applies new weights of the cameras to a mesh, one block per tile. In tiles that have shares, rewrites the shares and
/// links the layers that have any. At each pixel, a camera's share is its weight divided by the sum of all weights.
///
/// `base` contains the layers of the mesh as it was computed. `layers` has the same length. If a camera has no layer in
/// a tile, its weights are ignored in this tile. A tile stays unchanged if its first layer is missing in `base` or in
/// `layers`.
///
/// # Safety
/// - The grid must have one block of [`WEIGH_BLOCK`] threads for each tile.
/// - Every layer to which `base` refers must exist in `base` and in `layers`, and every share in `shares`. A tile must
///   have at most 32 layers.
#[kernel(launch_bounds(WEIGH_THREADS, 2), barriers(1), cpu(weigh_tiles))]
pub unsafe fn mesh_weigh(
    base: Slice<Layer>,
    cameras: Table<WeighedCamera, MAX_CAMERAS>,
    layers: SliceMut<Layer>,
    shares: SliceMut<u16>,
) {
    let tile = uvec2(thread::block_idx_x(), thread::block_idx_y());
    let index = tile.y * thread::grid_dim_x() + tile.x;
    if index >= base.len() || index >= layers.len() {
        return;
    }
    // This branch is uniform for the block, because the whole block reads the same layer. SAFETY: `index` is less than
    // the length of `base`, as just checked.
    if unsafe { base.load(index) }.shares == NONE {
        return;
    }
    let chain = Chain { base, cameras: &cameras, first: index };
    // For each layer of the chain, a bit: whether the layer has the full share at all pixels, and whether it has any
    // share.
    let (mut whole, mut any) = (!0, 0);
    let mut y = thread::thread_idx_y();
    while y < TILE {
        let in_tile = uvec2(thread::thread_idx_x(), y);
        // SAFETY: the caller guarantees that the layers and shares exist. Only this thread writes the pixel's shares.
        let (pixel_whole, pixel_any) =
            unsafe { chain.weigh(tile * TILE + in_tile, in_tile, shares) };
        whole &= pixel_whole;
        any |= pixel_any;
        y += WEIGH_BLOCK[1];
    }
    let votes = shared_array![u32; 2 * WEIGH_BLOCK[1] as usize];
    // SAFETY: all lanes of all warps reach this code. One thread writes each vote, and thread 0 reads it after the
    // barrier. The caller guarantees that the layers exist.
    unsafe {
        let whole = warp_reduce(FULL_MASK, whole, WarpReductionOp::And);
        let any = warp_reduce(FULL_MASK, any, WarpReductionOp::Or);
        if warp::lane_id() == 0 {
            votes.store(2 * (thread::rank() / 32), whole);
            votes.store(2 * (thread::rank() / 32) + 1, any);
        }
        thread::sync_threads();
        if thread::rank() != 0 {
            return;
        }
        let (mut whole, mut any) = (!0, 0);
        let mut i = 0;
        while i < WEIGH_BLOCK[1] {
            whole &= votes.load(2 * i);
            any |= votes.load(2 * i + 1);
            i += 1;
        }
        chain.link(whole, any, layers);
    }
}

/// Computes a launch of [`mesh_weigh`] tile by tile on all cores.
///
/// # Safety
/// The conditions of the kernel apply. All memory must be valid host memory.
#[cfg(not(target_arch = "nvptx64"))]
unsafe fn weigh_tiles(
    config: &LaunchConfig,
    base: Slice<Layer>,
    cameras: Table<WeighedCamera, MAX_CAMERAS>,
    layers: SliceMut<Layer>,
    shares: SliceMut<u16>,
) -> bool {
    let [across, down, _] = config.grid;
    let tiles = (across * down).min(base.len()).min(layers.len());
    (0..tiles).into_par_iter().for_each(|first| {
        // SAFETY: the caller guarantees that the layers and shares exist. No other call takes this tile.
        unsafe {
            if base.load(first).shares == NONE {
                return;
            }
            let chain = Chain { base, cameras: &cameras, first };
            let tile = uvec2(first % across, first / across) * TILE;
            let (mut whole, mut any) = (!0, 0);
            for at in (0..TILE).flat_map(|y| (0..TILE).map(move |x| uvec2(x, y))) {
                let (pixel_whole, pixel_any) = chain.weigh(tile + at, at, shares);
                whole &= pixel_whole;
                any |= pixel_any;
            }
            chain.link(whole, any, layers);
        }
    });
    true
}

/// The layers of a tile, and the cameras whose weights give their shares.
struct Chain<'a> {
    base: Slice<Layer>,
    cameras: &'a Table<WeighedCamera, MAX_CAMERAS>,
    /// The index of the first layer.
    first: u32,
}

impl Chain<'_> {
    /// Computes and stores the shares of a pixel. Returns two masks with a bit for each layer of the chain: whether the
    /// share is full or the pixel is outside the panorama, and whether the layer has any share.
    ///
    /// # Safety
    /// The layers and their shares must exist, and no other thread may access these shares.
    #[device]
    unsafe fn weigh(&self, pixel: UVec2, in_tile: UVec2, shares: SliceMut<u16>) -> (u32, u32) {
        let at = in_tile.y * TILE + in_tile.x;
        let (mut weights, mut next) = (0.0, self.first);
        while next != NONE {
            // SAFETY: the caller guarantees that the layer exists.
            let (layer, weight) = unsafe { self.weight(next, pixel) };
            weights += weight;
            next = layer.next;
        }
        let scale = if weights > 0.0 { WHOLE_SHARE / weights } else { 0.0 };
        let inside =
            self.cameras.get(0).is_some_and(|first| first.planes.contains(pixel.x, pixel.y));
        let (mut whole, mut any, mut bit) = (!0, 0, 1);
        next = self.first;
        while next != NONE {
            // SAFETY: the caller guarantees that the layer exists.
            let (layer, weight) = unsafe { self.weight(next, pixel) };
            let share = (weight * scale).round_ties_even() as u16;
            if share != u16::MAX && inside {
                whole &= !bit;
            }
            if share > 0 {
                any |= bit;
            }
            if layer.shares != REST {
                // SAFETY: the layer has shares for the whole tile, and only this thread writes this share.
                unsafe { shares.store(layer.shares + at, share) };
            }
            (next, bit) = (layer.next, bit << 1);
        }
        (whole, any)
    }

    /// Returns layer `index` and the weight of its camera at a pixel.
    ///
    /// # Safety
    /// The layer must exist.
    #[device]
    unsafe fn weight(&self, index: u32, pixel: UVec2) -> (Layer, f32) {
        // SAFETY: the caller guarantees that the layer exists.
        let layer = unsafe { self.base.load(index) };
        let Some(WeighedCamera { planes, size }) = self.cameras.get(layer.camera.into()) else {
            return (layer, 0.0);
        };
        let source = SourceLookup { planes, size }.source(pixel.x, pixel.y, MIN_WEIGHT);
        (layer, source.map_or(0.0, |(_, weight)| weight))
    }

    /// Writes the layers that have any share, linked in the order of the chain. The first one goes to the place of the
    /// tile's first layer. If only one layer is left and has the full share, it becomes a layer without shares. A tile
    /// without layers becomes black. `whole` and `any` have a bit for each layer of the chain.
    ///
    /// # Safety
    /// The layers must exist, and no other thread may access them.
    #[device]
    unsafe fn link(&self, mut whole: u32, mut any: u32, layers: SliceMut<Layer>) {
        let (mut next, mut place) = (self.first, self.first);
        // The last layer with a share so far, which goes to `place`, and whether it has the full share.
        let (mut last, mut full) = (Layer::BLACK, false);
        // SAFETY: the caller guarantees that the layers exist.
        unsafe {
            while next != NONE {
                let layer = self.base.load(next);
                if any & 1 != 0 {
                    if last.camera != NO_CAMERA {
                        layers.store(place, Layer { next, ..last });
                        place = next;
                    }
                    (last, full) = (layer, whole & 1 != 0);
                }
                (next, whole, any) = (layer.next, whole >> 1, any >> 1);
            }
            let alone = place == self.first && (full || last.shares == REST);
            let shares = if alone { NONE } else { last.shares };
            layers.store(place, Layer { shares, next: NONE, ..last });
        }
    }
}
