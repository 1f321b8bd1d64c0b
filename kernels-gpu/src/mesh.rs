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

use bytemuck::{Pod, Zeroable};
use cuda_std::LINE_BYTES;
use cuda_std::prelude::*;
use glam::{UVec2, Vec2, Vec3, uvec2, vec2, vec3};
use shared_types::Rgba8;
use shared_types::mesh::{
    BLOCK, BLOCK_THREADS, Grading, Layer, MeshParams, NO_CAMERA, NONE, Patch, Place, REST, TILE,
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
        each_result!(RUNS, |run| places[run] = along::<O>(&first.patch, fours[run]));
        let ahead = tile.y + ROWS_AHEAD < thread::grid_dim_y();
        let ahead = ahead.then_some(&first.patch);
        let colours = shown(pictures, params, first.camera, places, O::CELL, ahead);
        // SAFETY: as the caller vouches.
        unsafe { store(out, at, params, colours) };
        return;
    }
    let kept = Kept::new();
    let mut next = index;
    // SAFETY: as the caller vouches; what is loaded was stored before.
    unsafe {
        each_result!(RUNS, |run| kept.store(run, [Vec3::ZERO; 4], [WHOLE; 4]));
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
                each_result!(RUNS, |run| shares[run] = mesh.shares::<O>(&layer, fours[run]));
            }
            // Chroma is shared where one patch shows the whole tile, as for tiles of one layer: of those beside each other
            // that cells or places show, one may show anything.
            let mut colours = if may_share && is_whole(&layer) {
                shown(pictures, params, layer.camera, places, O::CELL, None)
            } else {
                shown(pictures, params, layer.camera, places, 1, None)
            };
            if may_share {
                each_result!(RUNS, |run| shares[run] = mesh.shares::<O>(&layer, fours[run]));
            }
            each_result!(RUNS, |run| {
                let (sum, mut left) = kept.load(run);
                each_result!(4, |i| {
                    let share = shares[run][i].min(left[i]);
                    left[i] -= share;
                    let share = share as f32 * (1.0 / WHOLE_SHARE);
                    colours[run][i] = grade::fused(colours[run][i], share, sum[i]);
                });
                if next != NONE {
                    kept.store(run, colours[run], left);
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

/// What a tile's layers made so far of a thread's pixels, and what they left: in shared memory, since beside samples
/// that are on their way there are no registers for it. Elements of a warp lie side by side.
struct Kept {
    sums: Shared<Sixteen>,
    left: Shared<Eight>,
}

/// Bytes that are one access.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(16))]
struct Sixteen([u32; 4]);

/// Bytes that are one access.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(8))]
struct Eight([u32; 2]);

impl Kept {
    #[inline(always)]
    fn new() -> Self {
        let thread = rank();
        // SAFETY: there are elements for each thread of a block.
        unsafe {
            Self {
                sums: shared_array![Sixteen; 3 * RUNS * BLOCK_THREADS as usize].tail(thread),
                left: shared_array![Eight; RUNS * BLOCK_THREADS as usize].tail(thread),
            }
        }
    }

    /// Sums and what is left of four pixels.
    ///
    /// # Safety
    /// [`store`](Self::store) was called for this `run`.
    #[inline(always)]
    unsafe fn load(&self, run: usize) -> ([Vec3; 4], [u32; 4]) {
        let sum = |i| (3 * run as u32 + i) * BLOCK_THREADS;
        // SAFETY: they exist, and are this thread's.
        unsafe {
            let sums = [self.sums.load(sum(0)), self.sums.load(sum(1)), self.sums.load(sum(2))];
            let Eight([ab, cd]) = self.left.load(run as u32 * BLOCK_THREADS);
            (bytemuck::cast(sums), [ab & 0xffff, ab >> 16, cd & 0xffff, cd >> 16])
        }
    }

    /// # Safety
    /// `run` is less than [`RUNS`].
    #[inline(always)]
    unsafe fn store(&self, run: usize, sum: [Vec3; 4], [a, b, c, d]: [u32; 4]) {
        let sums: [Sixteen; 3] = bytemuck::cast(sum);
        // SAFETY: they exist, and are this thread's.
        unsafe {
            each_result!(3, |i| {
                self.sums.store((3 * run + i) as u32 * BLOCK_THREADS, sums[i]);
            });
            self.left.store(run as u32 * BLOCK_THREADS, Eight([a | b << 16, c | d << 16]));
        }
    }
}

/// Writes a thread's pixels, the first of them at `at`, as far as they lie in the panorama.
///
/// # Safety
/// The panorama is whole, `at` in it, and its size even if it is flipped NV12.
#[inline(always)]
unsafe fn store<O: Panorama>(out: O, at: UVec2, params: &MeshParams, mut colours: Colours) {
    let flip = params.flip != 0;
    if params.edge_boost != 0 {
        each_result!(8, |i| {
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
fn shown<P: Sampled>(
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
            seen(pictures.first, places, one, cell, ahead)
        } else {
            seen(pictures.second, places, two, cell, ahead)
        }
    } else if camera == NO_CAMERA {
        [[Vec3::ZERO; 4]; RUNS]
    } else if camera & 1 == 0 {
        seen(pictures.third, places, three, cell, ahead)
    } else {
        seen(pictures.fourth, places, four, cell, ahead)
    }
}

/// Colours of a picture at these places, all samples of which are on their way before the first is used.
#[inline(always)]
fn seen<P: Sampled>(
    picture: P,
    places: [[Vec2; 4]; RUNS],
    grading: &Grading,
    cell: u32,
    ahead: Option<&Patch>,
) -> Colours {
    // The first ones twice, since an array must begin with something.
    let mut samples = [picture.take(&places[0], cell); RUNS];
    each_result!(RUNS, |run| {
        if run > 0 {
            samples[run] = picture.take(&places[run], cell);
        }
    });
    if let Some(patch) = ahead {
        fetch_ahead(picture, patch);
    }
    let mut colours = [[Vec3::ZERO; 4]; RUNS];
    each_result!(RUNS, |run| colours[run] = picture.colours(samples[run], grading));
    colours
}

/// Brings into the L2 cache the lines of memory that the tile [`ROWS_AHEAD`] rows of tiles further down shows, as far
/// as this tile's patch goes on to there: samples are answered in their order, so that one that waits for memory holds
/// up all after it.
///
/// A thread looks at half a row of the panorama, and does something where that begins another row of the picture than
/// the half row above. It then fetches the first line of memory that begins between the tile's two sides: the one that
/// goes on from before is that of the tile beside. The block's other threads fetch the second such line, or, of NV12,
/// the one of chroma. Up to two rows of the picture a row, and two lines a tile, all are fetched but those that begin
/// in a tile beside which fetches none, at a camera's edge or where cameras meet.
#[inline(always)]
fn fetch_ahead<P: Sampled>(picture: P, patch: &Patch) {
    const ROWS: u32 = BLOCK_THREADS / 2;
    const STEP: f32 = TILE as f32 / ROWS as f32;
    let (which, row) = (rank() / ROWS, rank() % ROWS);
    let y = (row as f32).mul_add(STEP, from_middle(ROWS_AHEAD * TILE));
    let sides = (column(patch, from_middle(0)), column(patch, from_middle(TILE)));
    let (one, other) = (sides.0.at(y), sides.1.at(y));
    let (from, to) = (one.x.min(other.x), one.x.max(other.x));
    picture.fetch(which, Span { from, to, row: one.y, above: sides.0.at(y - STEP).y });
}

/// Between the sides of a tile, in a picture: columns, the row, and that of half a row of the panorama above.
#[derive(Clone, Copy)]
struct Span {
    from: f32,
    to: f32,
    row: f32,
    above: f32,
}

impl Span {
    /// In chroma.
    #[inline(always)]
    fn half(self) -> Self {
        let Self { from, to, row, above } = self;
        Self { from: from * 0.5, to: to * 0.5, row: row * 0.5, above: above * 0.5 }
    }

    /// Fetches the `which`-th line of memory that begins here, from 0 on, if the row is another one than that above.
    #[inline(always)]
    fn fetch<T: Pod>(self, rows: View<T>, which: u32) {
        let each = (LINE_BYTES / size_of::<T>()) as f32;
        let row = self.row.floor();
        let first = (self.from * (1.0 / each)).floor() + (which + 1) as f32;
        if row != self.above.floor() && first * each <= self.to {
            // What lies below 0 becomes 0, which does no harm; what lies beyond is not fetched.
            rows.prefetch((first * each) as u32, row as u32);
        }
    }
}

impl Mesh {
    /// How much a layer counts at four pixels from `first` on, at most, of [`WHOLE`].
    ///
    /// # Safety
    /// What the layer says exists.
    #[inline(always)]
    unsafe fn shares<O: Panorama>(&self, layer: &Layer, first: UVec2) -> [u32; 4] {
        let mut shares = [WHOLE; 4];
        if layer.shares < REST {
            // SAFETY: a tile has shares for all its pixels.
            unsafe {
                let from_first = self.shares.tail(layer.shares + first.y * TILE + first.x);
                each_result!(4, |i| {
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
    unsafe fn places<O: Panorama>(&self, layer: &Layer, fours: [UVec2; RUNS]) -> [[Vec2; 4]; RUNS] {
        let cell = u32::from(layer.cell);
        let mut places = [[Vec2::ZERO; 4]; RUNS];
        if is_whole(layer) {
            each_result!(RUNS, |run| places[run] = along::<O>(&layer.patch, fours[run]));
        } else if cell > 0 {
            each_result!(RUNS, |run| {
                // Cells are powers of two; four pixels lie in one.
                let (log, UVec2 { x, y }) = (cell.trailing_zeros(), fours[run]);
                let patch = layer.places + ((y >> log) * (TILE >> log)) + (x >> log);
                // SAFETY: a tile has patches for all its cells.
                let patch = unsafe { self.patches.load(patch) };
                places[run] = along::<O>(&patch, fours[run]);
            });
        } else {
            each_result!(RUNS, |run| {
                // SAFETY: a tile has places for all its pixels.
                unsafe {
                    let first = layer.places + fours[run].y * TILE + fours[run].x;
                    let from_first = self.places.tail(first);
                    each_result!(4, |i| {
                        let UVec2 { x, y } = O::of_eight(i as u32);
                        let Place(place) = from_first.load(y * TILE + x);
                        places[run][i] = place + Vec2::splat(0.5);
                    });
                }
            });
        }
        places
    }
}

/// Where a patch shows four pixels from `first` on, as texture coordinates: along the column that they make, or along
/// both rows.
#[inline(always)]
fn along<O: Panorama>(patch: &Patch, first: UVec2) -> [Vec2; 4] {
    let (x, y) = (from_middle(first.x), from_middle(first.y));
    let centred = |line: Line| Line { start: line.start + 0.5, ..line };
    if O::FOUR.x == 1 {
        let column = centred(column(patch, x));
        [column.at(y), column.at(y + 1.0), column.at(y + 2.0), column.at(y + 3.0)]
    } else {
        let (top, bottom) = (centred(row(patch, y)), centred(row(patch, y + 1.0)));
        [top.at(x), top.at(x + 1.0), bottom.at(x), bottom.at(x + 1.0)]
    }
}

/// A picture in textures, four samples of which are on their way at once.
trait Sampled: Copy {
    type Samples: Copy;

    /// Whether it has chroma, which pixels may share.
    const CHROMA: bool;

    /// Samples at texture coordinates, of pixels that share chroma if `cell` is 2.
    fn take(&self, places: &[Vec2; 4], cell: u32) -> Self::Samples;

    /// From 0 to 1.
    fn colours(&self, samples: Self::Samples, grading: &Grading) -> [Vec3; 4];

    /// Has one of two lines of memory brought into the L2 cache.
    fn fetch(&self, which: u32, span: Span);
}

impl Sampled for Rgba8Texture {
    type Samples = [Vec3; 4];

    const CHROMA: bool = false;

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

    #[inline(always)]
    fn fetch(&self, which: u32, span: Span) {
        span.fetch(self.rows, which);
    }
}

impl Sampled for Nv12Texture {
    /// Luma, and Cb and Cr.
    type Samples = ([f32; 4], [Vec2; 4]);

    const CHROMA: bool = true;

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

    /// Luma's line, and chroma's.
    #[inline(always)]
    fn fetch(&self, which: u32, span: Span) {
        if which == 0 {
            span.fetch(self.rows.y, 0);
        } else {
            span.half().fetch(self.rows.uv, 0);
        }
    }
}

/// Gives a mesh other weights, a block a tile: of the layers that have shares, those and what they leave are rewritten.
///
/// `base` is the mesh's layers as its own weights made them; `layers` are as many, of which only the tiles' first ones
/// are written, and `shares` are of both. What the weights of a camera that has no layer in a tile say there is not
/// looked at. Nothing is written where there are fewer layers than tiles.
///
/// # Safety
/// - Blocks are of [`WEIGH_BLOCK`].
/// - What `base` says exists; it has no layers of other cameras than these two, in this order.
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
            if layer.shares != REST {
                // SAFETY: a tile has shares for all its pixels; each is one thread's.
                unsafe { shares.store(layer.shares + in_tile.y * TILE + in_tile.x, share) };
            }
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
            // What is left beside nothing is all.
            Some(second) if only_second => {
                let alone = holds(1) || second.shares == REST;
                Layer { shares: if alone { NONE } else { second.shares }, ..second }
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
    column(patch, from_middle(x)).at(from_middle(y))
}

/// A patch along a column of its tile, all by how far they are from the middle.
#[inline(always)]
fn column(patch: &Patch, x: f32) -> Line {
    let [c, cx, cy, cxx, cxy, cyy] = coefficients(patch);
    Line { start: fused(fused(cxx, x, cx), x, c), slope: fused(cxy, x, cy), bend: cyy }
}

/// The same along a row.
#[inline(always)]
fn row(patch: &Patch, y: f32) -> Line {
    let [c, cx, cy, cxx, cxy, cyy] = coefficients(patch);
    Line { start: fused(fused(cyy, y, cy), y, c), slope: fused(cxy, y, cx), bend: cxx }
}

/// Those of columns and rows in pairs.
#[inline(always)]
fn coefficients(Patch { u, v }: &Patch) -> [Vec2; 6] {
    core::array::from_fn(|i| vec2(u[i], v[i]))
}

/// How far a column or row of a tile is from its middle.
#[inline(always)]
fn from_middle(pixel: u32) -> f32 {
    pixel as f32 - 0.5 * (TILE - 1) as f32
}
