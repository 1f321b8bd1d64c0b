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
    BLOCK_ROWS, BLOCK_THREADS, Grading, Layer, MeshParams, NO_CAMERA, NONE, Patch, Place, TILE, WHOLE_SHARE,
};
use shared_types::nv12::Nv12Mut;
use shared_types::texture::{Nv12Texture, Rgba8Texture};

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
        /// What the layers say exists: patches, places, shares and further layers, and their cameras' pictures.
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
    let in_tile =
        uvec2(four % columns, four / columns) * O::FOUR + uvec2(0, part * BLOCK_ROWS);
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
            let Vec3 { x, y, z } = colours[i] * edge_boost(corner.x + pixels[i].x, out.width());
            colours[i] = vec3(x.saturate(), y.saturate(), z.saturate());
        });
    }
    // SAFETY: the panorama is whole and `at` inside, as checked; the four are this thread's.
    unsafe { out.store_four(at.x, at.y, colours, &params.encode) };
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
