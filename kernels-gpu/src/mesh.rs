//! Stitch, variant `mesh`: pictures in textures and the mesh of a warp make a panorama.
//!
//! A block makes half a tile, a thread four pixels of it: of one column, or the two by two that share chroma. What a
//! tile shows is in its first layer, which with the patch of the whole tile is one line of memory, known from the
//! block's number: one latency, then four samples on their way at once, then colour, then a store. Only where cameras
//! meet does a tile have a second layer, and shares.
//!
//! A texture that is chosen at run time is read in a loop over the warp, so each camera has its branch.
//!
//! Cost: the pictures' pixels that are seen, the panorama, and half a byte a pixel of mesh; of each pixel two
//! multiply-adds a coordinate. With luma and chroma apart the chroma of four pixels is one sample, at their middle.
//!
//! Powers are the fast ones; samples are the texture unit's, whose weights have 8 bits.

use cuda_std::prelude::*;
use glam::{UVec2, Vec2, Vec3, uvec2, vec2, vec3};
use shared_types::Rgba8;
use shared_types::mesh::{
    BLOCK_ROWS, BLOCK_THREADS, Grading, Layer, MeshParams, NO_CAMERA, NONE, Patch, Place, TILE,
    WEIGH_BLOCK, WEIGH_THREADS, WHOLE_SHARE,
};
use shared_types::nv12::Nv12Mut;
use shared_types::stitch::MIN_WEIGHT;
use shared_types::texture::{Nv12Texture, Rgba8Texture};
use shared_types::warp::CameraPlanes;

use crate::camera::Camera;
use crate::grade;
use crate::patch::{Line, fused};
use crate::picture::Panorama;
use crate::stitch::edge_boost;
use crate::tile::each_result;

/// Defines the kernel of one pair of formats.
macro_rules! stitch_mesh {
    ($formats:literal, $picture:ty => $out:ty, $name:ident, $blocks:literal) => {
        #[doc = concat!($formats, ", of up to four cameras.")]
        ///
        /// Pixels that no camera sees become opaque black. Nothing is written where an NV12 panorama's chroma is not
        /// half of its luma in size, or where there are fewer layers than tiles.
        ///
        /// # Safety
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
            places: Slice<Place>,
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

stitch_mesh!("RGBA to RGBA", Rgba8Texture => ViewMut<Rgba8>, stitch_mesh_rgba8, 10);
stitch_mesh!("NV12 to NV12", Nv12Texture => Nv12Mut, stitch_mesh_nv12, 10);
stitch_mesh!("NV12 to RGBA", Nv12Texture => ViewMut<Rgba8>, stitch_mesh_nv12_rgba8, 10);
stitch_mesh!("RGBA to NV12", Rgba8Texture => Nv12Mut, stitch_mesh_rgba8_nv12, 10);

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
    places: Slice<Place>,
    shares: Slice<u16>,
}

/// What every kernel does.
///
/// # Safety
/// As the kernels'.
#[inline(always)]
unsafe fn stitch<P: Sampled, O: Panorama>(
    pictures: &Pictures<P>,
    mesh: &Mesh,
    params: &MeshParams,
    out: O,
) {
    // Fours of a tile side by side, and this thread's of the block.
    let (columns, four) = (TILE / O::FOUR.x, thread::thread_idx_y() * 32 + thread::thread_idx_x());
    let part = thread::block_idx_y() % (TILE / BLOCK_ROWS);
    let in_tile = uvec2(four % columns, four / columns) * O::FOUR + uvec2(0, part * BLOCK_ROWS);
    let tile = uvec2(thread::block_idx_x(), thread::block_idx_y() / (TILE / BLOCK_ROWS));
    let corner = tile * TILE;
    let at = corner + in_tile;
    let index = tile.y * out.width().div_ceil(TILE) + tile.x;
    let inside = at.x < out.width() && at.y < out.height();
    if !inside || !out.is_whole() || index >= mesh.layers.len() {
        return;
    }
    // Pixels of the tile; those beyond the panorama, which chroma asks for, are its last ones.
    let last = uvec2(out.width(), out.height()) - 1 - corner;
    let pixel = |i: u32| {
        let along = in_tile + uvec2(i % O::FOUR.x, i / O::FOUR.x);
        if O::CELL == 1 { along } else { along.min(last) }
    };
    let pixels = [pixel(0), pixel(1), pixel(2), pixel(3)];
    // SAFETY: the first layer is there, as checked.
    let mut layer = unsafe { mesh.layers.load(index) };
    // SAFETY: as the caller vouches.
    let mut colours = unsafe { shown::<P, O>(pictures, mesh, params, &layer, pixels) };
    // Where cameras meet; the branch is the same for the whole block.
    if layer.shares != NONE {
        // SAFETY: as the caller vouches.
        colours = unsafe { mesh.counted(&layer, pixels, colours, [Vec3::ZERO; 4]) };
        while layer.next != NONE {
            // SAFETY: as the caller vouches.
            unsafe {
                layer = mesh.layers.load(layer.next);
                let more = shown::<P, O>(pictures, mesh, params, &layer, pixels);
                colours = mesh.counted(&layer, pixels, more, colours);
            }
        }
    }
    if params.edge_boost != 0 {
        each_result!(4, |i| {
            let x = corner.x + pixels[i].x;
            // As what is written there.
            let x = if params.flip != 0 { out.width() - 1 - x } else { x };
            let Vec3 { x, y, z } = colours[i] * edge_boost(x, out.width());
            colours[i] = vec3(x.saturate(), y.saturate(), z.saturate());
        });
    }
    // SAFETY: the panorama is whole and `at` inside, as checked; the four are this thread's; of flipped NV12 the size is
    // even, as the caller vouches.
    unsafe { out.store_four(at.x, at.y, colours, &params.encode, params.flip != 0) };
}

/// What a layer's camera shows at four pixels of its tile; black where there is none.
///
/// # Safety
/// What the layer says exists.
#[inline(always)]
unsafe fn shown<P: Sampled, O: Panorama>(
    pictures: &Pictures<P>,
    mesh: &Mesh,
    params: &MeshParams,
    layer: &Layer,
    pixels: [UVec2; 4],
) -> [Vec3; 4] {
    // SAFETY: as the caller vouches.
    let places = unsafe { mesh.places(layer, pixels) };
    let of = |picture: P, camera: usize| {
        picture.colours(picture.take(&places, O::CELL), &params.cameras[camera])
    };
    // The same branch for the whole block; bit by bit, since a choice of four would be a jump by a table.
    let camera = layer.camera;
    if camera & 2 == 0 {
        if camera & 1 == 0 { of(pictures.first, 0) } else { of(pictures.second, 1) }
    } else if camera == NO_CAMERA {
        [Vec3::ZERO; 4]
    } else if camera & 1 == 0 {
        of(pictures.third, 2)
    } else {
        of(pictures.fourth, 3)
    }
}

impl Mesh {
    /// Adds to `sum` the colours of a layer as much as it counts.
    ///
    /// # Safety
    /// It has shares.
    #[inline(always)]
    unsafe fn counted(
        &self,
        layer: &Layer,
        pixels: [UVec2; 4],
        colours: [Vec3; 4],
        sum: [Vec3; 4],
    ) -> [Vec3; 4] {
        let mut counted = sum;
        each_result!(4, |i| {
            let UVec2 { x, y } = pixels[i];
            // SAFETY: a tile has shares for all its pixels.
            let share = unsafe { self.shares.load(layer.shares + y * TILE + x) };
            let share = f32::from(share) * (1.0 / WHOLE_SHARE);
            counted[i] = grade::fused(colours[i], share, sum[i]);
        });
        counted
    }

    /// Where a layer shows four pixels of its tile, as texture coordinates.
    ///
    /// # Safety
    /// What the layer says exists.
    #[inline(always)]
    unsafe fn places(&self, layer: &Layer, pixels: [UVec2; 4]) -> [Vec2; 4] {
        let middle = Vec2::splat(0.5);
        let cell = u32::from(layer.cell);
        let mut places = [Vec2::ZERO; 4];
        if cell == 0 {
            each_result!(4, |i| {
                let UVec2 { x, y } = pixels[i];
                // SAFETY: a tile has places for all its pixels.
                let Place(place) = unsafe { self.places.load(layer.places + y * TILE + x) };
                places[i] = place + middle;
            });
            return places;
        }
        let patch = if cell == TILE {
            layer.patch
        } else {
            // Cells are powers of two; four pixels lie in one.
            let (log, UVec2 { x, y }) = (cell.trailing_zeros(), pixels[0]);
            // SAFETY: a tile has patches for all its cells.
            unsafe { self.patches.load(layer.places + ((y >> log) * (TILE >> log)) + (x >> log)) }
        };
        let line = |x: u32| {
            let line = line(&patch, x);
            Line { start: line.start + middle, ..line }
        };
        // The first two of the four are in one column or in two; the other two are as those.
        let (first, second) = (line(pixels[0].x), line(pixels[1].x));
        places[0] = first.at(from_middle(pixels[0].y));
        places[1] = second.at(from_middle(pixels[1].y));
        places[2] = first.at(from_middle(pixels[2].y));
        places[3] = second.at(from_middle(pixels[3].y));
        places
    }
}

/// A picture in textures, four samples of which are on their way at once.
trait Sampled: Copy {
    type Samples: Copy;

    /// Samples at texture coordinates, of pixels that share chroma if `cell` is 2.
    fn take(&self, places: &[Vec2; 4], cell: u32) -> Self::Samples;

    /// From 0 to 1.
    fn colours(&self, samples: Self::Samples, grading: &Grading) -> [Vec3; 4];
}

impl Sampled for Rgba8Texture {
    type Samples = [Vec3; 4];

    #[inline(always)]
    fn take(&self, places: &[Vec2; 4], _: u32) -> [Vec3; 4] {
        let at = |place: Vec2| self.texels.read(place.x, place.y).truncate();
        [at(places[0]), at(places[1]), at(places[2]), at(places[3])]
    }

    #[inline(always)]
    fn colours(&self, samples: [Vec3; 4], grading: &Grading) -> [Vec3; 4] {
        let mut colours = samples;
        each_result!(4, |i| colours[i] = samples[i] * grading.gain);
        grade::powers(colours, grading.gamma)
    }
}

impl Sampled for Nv12Texture {
    /// Luma, and Cb and Cr.
    type Samples = ([f32; 4], [Vec2; 4]);

    #[inline(always)]
    fn take(&self, places: &[Vec2; 4], cell: u32) -> Self::Samples {
        let luma = |place: Vec2| self.y.read(place.x, place.y).x;
        let chroma = |place: Vec2| {
            let value = self.uv.read(place.x, place.y);
            vec2(value.x, value.y)
        };
        let [a, b, c, d] = *places;
        let lumas = [luma(a), luma(b), luma(c), luma(d)];
        // A chroma sample lies in the middle of its four pixels.
        let chromas = if cell == 2 {
            [chroma((a + d) * 0.25); 4]
        } else {
            [chroma(a * 0.5), chroma(b * 0.5), chroma(c * 0.5), chroma(d * 0.5)]
        };
        (lumas, chromas)
    }

    #[inline(always)]
    fn colours(&self, (lumas, chromas): Self::Samples, grading: &Grading) -> [Vec3; 4] {
        let Grading { luma, blue, red, offset, gamma, .. } = *grading;
        let mut colours = [Vec3::ZERO; 4];
        each_result!(4, |i| {
            let base = grade::fused(blue, chromas[i].x, grade::fused(red, chromas[i].y, offset));
            colours[i] = grade::fused(luma, lumas[i], base);
        });
        grade::powers(colours, gamma)
    }
}

/// Gives a mesh other weights, a block a tile: of the layers that have shares, those and what they leave are rewritten.
///
/// `base` is the mesh's layers as its own weights made them; `layers` are as many, of which only the tiles' first ones
/// are written, and `shares` are of both. What the weights of a camera that has no layer in a tile say there is not
/// looked at. Nothing is written where there are fewer layers than tiles.
///
/// # Safety
/// What `base` says exists; it has no layers of other cameras than these two, in this order.
#[kernel(launch_bounds(WEIGH_THREADS, 2), barriers(1))]
pub unsafe fn mesh_weigh(
    base: Slice<Layer>,
    left: CameraPlanes,
    right: CameraPlanes,
    left_size: UVec2,
    right_size: UVec2,
    layers: SliceMut<Layer>,
    shares: SliceMut<u16>,
) {
    let tile = uvec2(thread::block_idx_x(), thread::block_idx_y());
    let index = tile.y * left.width().div_ceil(TILE) + tile.x;
    if index >= base.len() || index >= layers.len() {
        return;
    }
    // SAFETY: it is there, as checked.
    let first = unsafe { base.load(index) };
    // The same for the whole block.
    if first.shares == NONE {
        return;
    }
    // SAFETY: as the caller vouches.
    let second = (first.next != NONE).then(|| unsafe { base.load(first.next) });
    let cameras =
        [Camera { planes: left, size: left_size }, Camera { planes: right, size: right_size }];
    // Of the first layer and of the second: whether it counts wholly at all pixels, and at all.
    let (mut whole, mut any) = ([true; 2], [false; 2]);
    let mut y = thread::thread_idx_y();
    while y < TILE {
        let in_tile = uvec2(thread::thread_idx_x(), y);
        let UVec2 { x, y: row } = tile * TILE + in_tile;
        let weight = |camera: Camera| camera.source(x, row, MIN_WEIGHT).map_or(0.0, |(_, w)| w);
        let [a, b] = cameras.map(weight);
        let of = |layer: &Layer| if layer.camera == 0 { a } else { b };
        let [one, other] = [of(&first), second.as_ref().map_or(0.0, of)];
        let sum = one + other;
        let scale = if sum > 0.0 { WHOLE_SHARE / sum } else { 0.0 };
        let inside = left.contains(x, row);
        let mut store = |which: usize, layer: &Layer, weight: f32| {
            let share = (weight * scale).round_ties_even() as u16;
            whole[which] &= share == u16::MAX || !inside;
            any[which] |= share > 0;
            // SAFETY: a tile has shares for all its pixels; each is one thread's.
            unsafe { shares.store(layer.shares + in_tile.y * TILE + in_tile.x, share) };
        };
        store(0, &first, one);
        if let Some(second) = &second {
            store(1, second, other);
        }
        y += WEIGH_BLOCK[1];
    }
    let votes = shared_array![u32; WEIGH_BLOCK[1] as usize];
    // SAFETY: all lanes of all warps are here; each element has one writer, and is read behind the barrier.
    unsafe {
        let vote = |holds: bool| u32::from(warp::warp_vote_all(warp::FULL_MASK, holds));
        let vote = vote(whole[0]) | vote(whole[1]) << 1 | vote(!any[0]) << 2 | vote(!any[1]) << 3;
        if warp::lane_id() == 0 {
            votes.store(thread::rank() / 32, vote);
        }
        thread::sync_threads();
        if thread::rank() != 0 {
            return;
        }
        let mut vote = !0;
        let mut i = 0;
        while i < WEIGH_BLOCK[1] {
            vote &= votes.load(i);
            i += 1;
        }
        let holds = |bit: u32| vote >> bit & 1 != 0;
        let (only_first, only_second) = (holds(3) || second.is_none(), holds(2));
        let layer = match second {
            _ if only_first && only_second => Layer::BLACK,
            Some(second) if only_second => {
                Layer { shares: if holds(1) { NONE } else { second.shares }, ..second }
            }
            _ if only_first => {
                Layer { shares: if holds(0) { NONE } else { first.shares }, next: NONE, ..first }
            }
            _ => first,
        };
        layers.store(index, layer);
    }
}

/// Where a patch shows a pixel of its tile.
#[inline(always)]
#[must_use]
pub fn place(patch: &Patch, x: u32, y: u32) -> Vec2 {
    line(patch, x).at(from_middle(y))
}

/// A patch along a column of its tile, by how far a row is from the middle.
#[inline(always)]
fn line(Patch { u, v }: &Patch, x: u32) -> Line {
    let x = from_middle(x);
    let [c, cx, cy, cxx, cxy, cyy] = core::array::from_fn(|i| vec2(u[i], v[i]));
    Line { start: fused(fused(cxx, x, cx), x, c), slope: fused(cxy, x, cy), bend: cyy }
}

/// How far a column or row of a tile is from its middle.
#[inline(always)]
fn from_middle(pixel: u32) -> f32 {
    pixel as f32 - 0.5 * (TILE - 1) as f32
}
