//! The stitch with a mesh on the CPU: the same layers as in the kernels, evaluated for two rows of a tile at a time.
//!
//! Differences to the kernels: filter weights are not rounded to 8 bits, and each pixel has its own factor of the
//! vignette. Both change a level by less than 1.

use crate::cpu::vectorised;
use crate::rows::{Colours, Opens, Panorama, Picture, Places, Row, SIDE, Shading};
use crate::stitch::cpu::brighten;
use crate::stitch::mesh::patch::{offset_from_centre, row};
use crate::stitch::mesh::{Mesh, WHOLE, is_whole};
use cuda_std::launch::LaunchConfig;
use cuda_std::prelude::*;
use glam::{Vec2, uvec2};
use rayon::prelude::*;
use shared_types::stitch::MAX_CAMERAS;
use shared_types::stitch::mesh::{
    Grading, Layer, MeshParams, NONE, Patch, REST, SourcePoint, TILE, TwoGradings, WHOLE_SHARE,
};
use std::vec::Vec;

/// A row of a tile is computed at once.
const _: () = assert!(SIDE == TILE as usize);

/// A camera: its picture, and the conversion of its samples.
struct Camera {
    picture: Picture,
    grading: Grading,
    shading: Shading,
}

/// Computes a launch for two cameras. Returns false if a picture is not one that [`Picture`] supports.
///
/// # Safety
/// The conditions of the kernels that `stitch_mesh!` defines apply, and all arguments must be in host memory.
#[expect(clippy::too_many_arguments, reason = "they are the arguments of the kernels")]
pub(super) unsafe fn two<T: Opens>(
    config: &LaunchConfig,
    first: T,
    second: T,
    gradings: TwoGradings,
    layers: Slice<Layer>,
    patches: Slice<Patch>,
    places: Slice<SourcePoint>,
    shares: Slice<u16>,
    params: MeshParams,
    out: impl Into<Panorama>,
) -> bool {
    let mesh = Mesh { layers, patches, places, shares };
    // SAFETY: the caller guarantees the conditions.
    unsafe {
        let cameras = [(first, gradings.first), (second, gradings.second)];
        stitch(config, opened(cameras), &mesh, &params, out.into())
    }
}

/// Computes a launch for up to 16 cameras; see [`two`].
///
/// # Safety
/// The conditions are those of [`two`].
#[expect(clippy::too_many_arguments, reason = "they are the arguments of the kernels")]
pub(super) unsafe fn many<T: KernelArg + Opens>(
    config: &LaunchConfig,
    pictures: Table<T, MAX_CAMERAS>,
    gradings: Table<Grading, MAX_CAMERAS>,
    layers: Slice<Layer>,
    patches: Slice<Patch>,
    places: Slice<SourcePoint>,
    shares: Slice<u16>,
    params: MeshParams,
    out: impl Into<Panorama>,
) -> bool {
    let mesh = Mesh { layers, patches, places, shares };
    let cameras = (0..pictures.len()).filter_map(|i| Some((pictures.get(i)?, gradings.get(i)?)));
    // SAFETY: the caller guarantees the conditions.
    unsafe { stitch(config, opened(cameras), &mesh, &params, out.into()) }
}

/// Opens the pictures of cameras. Returns `None` if one of them is not supported.
///
/// # Safety
/// The pictures must be valid host memory as long as the result is used.
unsafe fn opened<T: Opens>(cameras: impl IntoIterator<Item = (T, Grading)>) -> Option<Vec<Camera>> {
    let open = |(picture, grading): (T, Grading)| {
        // SAFETY: the caller guarantees that the picture is in host memory and alive.
        let picture = unsafe { picture.open() }?;
        let shading = Shading { vignette: grading.vignette, ..Shading::of_gamma(grading.gamma) };
        Some(Camera { picture, grading, shading })
    };
    cameras.into_iter().map(open).collect()
}

/// Computes the tiles of a panorama on all cores. Returns false if a picture is not supported.
///
/// # Safety
/// The conditions are those of [`two`].
unsafe fn stitch(
    config: &LaunchConfig,
    cameras: Option<Vec<Camera>>,
    mesh: &Mesh,
    params: &MeshParams,
    out: Panorama,
) -> bool {
    let Some(cameras) = cameras else { return false };
    let panorama = Tiles { cameras: &cameras, mesh, params, out, columns: config.grid[0] };
    (0..config.grid[1]).into_par_iter().for_each(|y| {
        // SAFETY: the caller guarantees the conditions, and no other call computes this row.
        vectorised!(unsafe { panorama.tile_row(y) });
    });
    true
}

/// The inputs of all tiles of a panorama.
struct Tiles<'a> {
    cameras: &'a [Camera],
    mesh: &'a Mesh,
    params: &'a MeshParams,
    out: Panorama,
    /// The number of tiles in a row.
    columns: u32,
}

impl Tiles<'_> {
    /// Computes row `y` of the tiles.
    ///
    /// # Safety
    /// The conditions of [`two`] apply, and nothing else may write these rows of the panorama.
    #[inline(always)]
    unsafe fn tile_row(&self, y: u32) {
        let (width, height) = self.out.size();
        for x in 0..self.columns.min(width.div_ceil(TILE)) {
            let index = y * self.columns + x;
            if index >= self.mesh.layers.len() {
                return;
            }
            for row in (0..TILE).step_by(2) {
                if y * TILE + row >= height {
                    break;
                }
                let mut colours = [[[0.0; SIDE]; 3]; 2];
                // SAFETY: the layer exists, as just checked, and the caller guarantees the other conditions.
                unsafe { self.blend(index, row, &mut colours) };
                let corner = uvec2(x, y) * TILE + uvec2(0, row);
                if self.params.edge_boost != 0 {
                    brighten(&mut colours, corner.x, width);
                }
                let flip = self.params.flip != 0;
                // SAFETY: the pixel at `corner` is inside the panorama, and nothing else writes these pixels.
                unsafe { self.out.store(corner, &colours, &self.params.encode, flip) };
            }
        }
    }

    /// Computes the colours of rows `row` and `row + 1` of a tile, whose first layer is layer `index`.
    ///
    /// # Safety
    /// The layer and everything to which it refers must exist.
    #[inline(always)]
    unsafe fn blend(&self, index: u32, row: u32, colours: &mut Colours) {
        // SAFETY: the caller guarantees that the layer exists.
        let first = unsafe { self.mesh.layers.load(index) };
        if first.shares == NONE && is_whole(&first) {
            // SAFETY: the caller guarantees it.
            unsafe { self.sample(&first, row, colours) };
            return;
        }
        let mut left = [[WHOLE; SIDE]; 2];
        let mut next = index;
        while next != NONE {
            // SAFETY: the caller guarantees that the layer and its shares exist.
            unsafe {
                let layer = self.mesh.layers.load(next);
                let mut samples = [[[0.0; SIDE]; 3]; 2];
                self.sample(&layer, row, &mut samples);
                for (i, left) in left.iter_mut().enumerate() {
                    let shares = self.shares(&layer, row + i as u32);
                    let mut parts = [0.0; SIDE];
                    for k in 0..SIDE {
                        let share = shares[k].min(left[k]);
                        left[k] -= share;
                        parts[k] = share as i32 as f32 * (1.0 / WHOLE_SHARE);
                    }
                    for channel in 0..3 {
                        for k in 0..SIDE {
                            colours[i][channel][k] += samples[i][channel][k] * parts[k];
                        }
                    }
                }
                next = layer.next;
            }
        }
    }

    /// Samples the camera of a layer for rows `row` and `row + 1`, and converts the samples to colours.
    ///
    /// # Safety
    /// The patches or places of the layer must exist.
    #[inline(always)]
    unsafe fn sample(&self, layer: &Layer, row: u32, colours: &mut Colours) {
        let Some(Camera { picture, grading, shading }) =
            self.cameras.get(usize::from(layer.camera))
        else {
            return;
        };
        let mut places: Places = [[[0.0; SIDE]; 2]; 2];
        for (i, places) in places.iter_mut().enumerate() {
            // SAFETY: the caller guarantees it.
            unsafe { self.places(layer, row + i as u32, places) };
        }
        let shares_chroma = self.out.cell() == 2 && is_whole(layer);
        picture.sample(&places, shares_chroma, grading, colours);
        shading.apply(&places, colours);
    }

    /// Computes the texture coordinates of a layer for row `y` of the tile.
    ///
    /// # Safety
    /// The patches or places of the layer must exist.
    #[inline(always)]
    unsafe fn places(&self, layer: &Layer, y: u32, places: &mut [Row; 2]) {
        let cell = u32::from(layer.cell);
        if is_whole(layer) {
            evaluate(&layer.patch, y, 0..SIDE, places);
        } else if cell > 0 {
            let log = cell.trailing_zeros();
            let first = layer.places + ((y >> log) * (TILE >> log));
            for i in 0..TILE >> log {
                // SAFETY: the caller guarantees that the layer has patches for all cells of the tile.
                let patch = unsafe { self.mesh.patches.load(first + i) };
                evaluate(&patch, y, (i << log) as usize..((i + 1) << log) as usize, places);
            }
        } else {
            // SAFETY: the caller guarantees that the layer has places for all pixels of the tile.
            let points = unsafe { self.mesh.places.as_host_slice() };
            let points = &points[(layer.places + y * TILE) as usize..][..SIDE];
            for k in 0..SIDE {
                let Vec2 { x, y } = points[k].0;
                (places[0][k], places[1][k]) = (x + 0.5, y + 0.5);
            }
        }
    }

    /// Returns the shares of a layer for row `y` of the tile.
    ///
    /// # Safety
    /// The shares of the layer must exist.
    #[inline(always)]
    unsafe fn shares(&self, layer: &Layer, y: u32) -> [u32; SIDE] {
        let mut shares = [WHOLE; SIDE];
        if layer.shares < REST {
            // SAFETY: the caller guarantees that the layer has shares for all pixels of the tile.
            let stored = unsafe { self.mesh.shares.as_host_slice() };
            let stored = &stored[(layer.shares + y * TILE) as usize..][..SIDE];
            for k in 0..SIDE {
                shares[k] = stored[k].into();
            }
        }
        shares
    }
}

/// Evaluates a patch for columns `columns` of row `y` of the tile.
#[inline(always)]
fn evaluate(patch: &Patch, y: u32, columns: core::ops::Range<usize>, places: &mut [Row; 2]) {
    let line = row(patch, offset_from_centre(y));
    let (start, slope, bend) = (line.start + 0.5, line.slope, line.bend);
    for k in columns {
        let x = offset_from_centre(k as u32);
        places[0][k] = (bend.x * x + slope.x) * x + start.x;
        places[1][k] = (bend.y * x + slope.y) * x + start.y;
    }
}
