//! Colour: how bright each camera is where both look at the same thing, and the gamma table.
//!
//! Once a warp, [`find_overlap`] finds the box that holds the overlap, and [`map_overlap`] writes
//! down for each pixel in it which pixel of either picture is the nearest. Then the sums of one pair of
//! frames take one launch: a thread adds up a column of pixels, a warp its lanes by shuffles, the
//! first warp the block's warps, and the last block to finish the blocks. Each adds in an order
//! that depends on indices alone, so all runs agree to the bit, and so does the CPU.
//!
//! Source pixels are taken as they are, not interpolated: only so can be seen which are cut off at
//! white. Cost: 8 bytes of overlap and two pixels of pictures for each pixel of the overlap,
//! where the six planes would be 24 and the whole panorama five times as many.

use cuda_std::prelude::*;
use glam::{UVec2, Vec2, Vec3, uvec2, vec2};
use shared_types::Rgba8;
use shared_types::colour::{
    BLACK, BLOCK, BLOCK_ROWS, BLOCK_THREADS, ColourSums, LUMA, MIN_WEIGHT, OverlapBox,
    OverlapPixel, PIXELS_PER_THREAD, SATURATED, SumParams, TABLE_BLOCK, TABLE_LEN, TABLE_LEVELS,
    TableEntry,
};
use shared_types::nv12::Nv12;
use shared_types::stitch::Colour;

use crate::grade::graded;
use crate::picture::Picture;

/// Enlarges a box until it holds the overlap: `corners` are smallest column and row, then one after the
/// largest, and stand at [`OverlapBox::EMPTY`] before.
///
/// `left` and `right` are the sizes of the pictures. Pixels that one of the planes lacks are not in
/// the overlap, nor are those where a weight is not over `min_weight`.
#[kernel(launch_bounds(BLOCK_THREADS, 4))]
pub fn find_overlap(
    lut_left_x: View<f32>,
    lut_left_y: View<f32>,
    lut_right_x: View<f32>,
    lut_right_y: View<f32>,
    weight_left: View<f32>,
    weight_right: View<f32>,
    left: UVec2,
    right: UVec2,
    min_weight: f32,
    corners: SliceMut<u32>,
) {
    let left = Camera { x: lut_left_x, y: lut_left_y, weight: weight_left, size: left };
    let right = Camera { x: lut_right_x, y: lut_right_y, weight: weight_right, size: right };
    let (x, first) = (thread::index_1d(), first_row());
    let (mut low, mut high) = (u32::MAX, 0);
    for i in 0..PIXELS_PER_THREAD {
        let y = first + i * BLOCK[1];
        if left.source(x, y, min_weight).is_some() && right.source(x, y, min_weight).is_some() {
            (low, high) = (low.min(y), y + 1);
        }
    }
    if low < high && corners.len() >= 4 {
        // SAFETY: four elements are there; all threads touch them by atomics.
        unsafe {
            use cuda_std::atomic::AtomicMinMax;
            u32::atomic_min(corners.atomic(0), x);
            u32::atomic_min(corners.atomic(1), low);
            u32::atomic_max(corners.atomic(2), x + 1);
            u32::atomic_max(corners.atomic(3), high);
        }
    }
}

/// Writes for every pixel of the overlap's box, which begins at `place.min`, the nearest pixel of either
/// picture, or [`OverlapPixel::NONE`].
#[kernel(launch_bounds(BLOCK_THREADS, 4))]
pub fn map_overlap(
    lut_left_x: View<f32>,
    lut_left_y: View<f32>,
    lut_right_x: View<f32>,
    lut_right_y: View<f32>,
    weight_left: View<f32>,
    weight_right: View<f32>,
    left: UVec2,
    right: UVec2,
    place: OverlapBox,
    out: ViewMut<OverlapPixel>,
) {
    let left = Camera { x: lut_left_x, y: lut_left_y, weight: weight_left, size: left };
    let right = Camera { x: lut_right_x, y: lut_right_y, weight: weight_right, size: right };
    let (x, first) = (thread::index_1d(), first_row());
    for i in 0..PIXELS_PER_THREAD {
        let y = first + i * BLOCK[1];
        if out.contains(x, y) {
            let at = uvec2(x, y).wrapping_add(place.min);
            let pixel = match (left.nearest(at.x, at.y), right.nearest(at.x, at.y)) {
                (Some(left), Some(right)) => OverlapPixel { left, right },
                _ => OverlapPixel::NONE,
            };
            // SAFETY: inside, as just checked; each pixel has one thread.
            unsafe { out.store(x, y, pixel) };
        }
    }
}

/// One camera's planes, as far as they say which of its pixels lie in the overlap.
pub(crate) struct Camera {
    pub(crate) x: View<f32>,
    pub(crate) y: View<f32>,
    pub(crate) weight: View<f32>,
    /// Of its picture.
    pub(crate) size: UVec2,
}

impl Camera {
    /// Where the camera's picture shows `(x, y)`, and the camera's weight, if it counts there: inside of
    /// the picture, with a weight over `min_weight`.
    #[inline(always)]
    pub(crate) fn source(&self, x: u32, y: u32, min_weight: f32) -> Option<(Vec2, f32)> {
        if !(self.weight.contains(x, y) && self.x.contains(x, y) && self.y.contains(x, y)) {
            return None;
        }
        // SAFETY: inside, as just checked.
        let (u, v, weight) =
            unsafe { (self.x.load(x, y), self.y.load(x, y), self.weight.load(x, y)) };
        let size = self.largest();
        // A NaN fails all of them.
        let inside = u >= 0.0 && u < size.x && v >= 0.0 && v < size.y && weight > min_weight;
        inside.then_some((vec2(u, v), weight))
    }

    /// The nearest pixel of the camera's picture, if it counts in the overlap at `(x, y)`.
    #[inline(always)]
    fn nearest(&self, x: u32, y: u32) -> Option<[u16; 2]> {
        let (at, _) = self.source(x, y, MIN_WEIGHT)?;
        let size = self.largest();
        let nearest = |at: f32, size: f32| at.round_ties_even().min(size - 1.0) as u16;
        Some([nearest(at.x, size.x), nearest(at.y, size.y)])
    }

    /// Size of the picture, as far as 16 bits count its pixels.
    #[inline(always)]
    fn largest(&self) -> Vec2 {
        self.size.min(UVec2::splat(u16::MAX.into())).as_vec2()
    }
}

/// First row of the thread's column of pixels.
#[inline(always)]
fn first_row() -> u32 {
    thread::block_idx_y() * BLOCK_ROWS + thread::thread_idx_y()
}

/// Defines the sums for one format.
macro_rules! colour_sums {
    ($(#[$doc:meta])* $name:ident, $picture:ty) => {
        $(#[$doc])*
        ///
        /// A pixel counts where both cameras do, and neither is cut off at white nor nearly black
        /// ([`SATURATED`], [`BLACK`]). Its weight is
        /// `max(1 − |x − centre| / (width / 2), 0)²` at column `x` of the box.
        ///
        /// # Safety
        /// - Blocks are [`BLOCK`], the grid covers `overlap` with [`BLOCK`]`[0]` columns and
        ///   [`BLOCK_ROWS`] rows a block.
        /// - `partial` has an element for each block, `sums` and `finished` have one.
        /// - `finished` holds 0, which it does again afterwards, and no other launch that may run
        ///   at the same time shares it, `partial` or `sums`.
        /// - `overlap` was made for pictures of no larger sizes.
        #[kernel(launch_bounds(BLOCK_THREADS, 4), barriers(3))]
        pub unsafe fn $name(
            left: $picture,
            right: $picture,
            overlap: View<OverlapPixel>,
            params: SumParams,
            partial: SliceMut<ColourSums>,
            finished: SliceMut<u32>,
            sums: SliceMut<ColourSums>,
        ) {
            let column = column_sums(left, right, overlap, &params);
            // SAFETY: as the caller vouches.
            unsafe { add_blocks(column, partial, finished, sums) };
        }
    };
}

colour_sums! {
    /// The nine sums over the overlap of two RGBA pictures.
    colour_sums_rgba8, View<Rgba8>
}
colour_sums! {
    /// The nine sums over the overlap of two NV12 pictures.
    colour_sums_nv12, Nv12
}

/// Both cameras' levels and the weight, added up.
#[derive(Clone, Copy, Default)]
struct Sums {
    left: Vec3,
    right: Vec3,
    weight: f32,
}

/// The sums over the thread's column of pixels.
#[inline(always)]
fn column_sums<P: Picture>(
    left: P,
    right: P,
    overlap: View<OverlapPixel>,
    params: &SumParams,
) -> Sums {
    let mut sums = Sums::default();
    let (x, first) = (thread::index_1d(), first_row());
    let place = |i: u32| {
        let y = first + i * BLOCK[1];
        // SAFETY: inside, as just checked.
        if overlap.contains(x, y) { unsafe { overlap.load(x, y) } } else { OverlapPixel::NONE }
    };
    let look = |at: OverlapPixel| {
        let seen = at != OverlapPixel::NONE;
        // Loaded even if it does not count: a load in a branch would wait for those before it.
        let at = if seen { at } else { OverlapPixel { left: [0; 2], right: [0; 2] } };
        let [[lx, ly], [rx, ry]] = [at.left, at.right].map(|at| at.map(u32::from));
        // SAFETY: the overlap was made for pictures of this size, as the kernel's caller vouches; every
        // picture has a first pixel.
        unsafe { (left.pixel(lx, ly, &params.decode), right.pixel(rx, ry, &params.decode), seen) }
    };
    let mut add = |(l, r, seen): (Vec3, Vec3, bool)| {
        let white = l.max(r).max_element() > SATURATED;
        let black = luma(l).min(luma(r)) < BLACK;
        let counts = if seen && !white && !black { 1.0 } else { 0.0 };
        sums.left += l * counts;
        sums.right += r * counts;
        sums.weight += counts;
    };
    // Several on their way at once; by name, since an array would lie in local memory. All eight at once
    // were measured to be slower.
    const { assert!(PIXELS_PER_THREAD.is_multiple_of(4)) };
    for i in (0..PIXELS_PER_THREAD).step_by(4) {
        let (a, b, c, d) = (place(i), place(i + 1), place(i + 2), place(i + 3));
        let (a, b, c, d) = (look(a), look(b), look(c), look(d));
        add(a);
        add(b);
        add(c);
        add(d);
    }
    // One column has one weight.
    let distance = (x as f32 - params.centre).abs() / (0.5 * params.width);
    let band = (1.0 - distance).max(0.0);
    let weight = band * band;
    Sums { left: sums.left * weight, right: sums.right * weight, weight: sums.weight * weight }
}

#[inline(always)]
fn luma(levels: Vec3) -> f32 {
    LUMA.x.mul_add(levels.x, LUMA.y.mul_add(levels.y, LUMA.z * levels.z))
}

impl Sums {
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Self {
            left: self.left + other.left,
            right: self.right + other.right,
            weight: self.weight + other.weight,
        }
    }

    /// Over the lanes of the warp, in lane 0.
    ///
    /// # Safety
    /// All lanes of the warp call it.
    #[inline(always)]
    unsafe fn over_warp(self) -> Self {
        // SAFETY: as the caller vouches.
        let add = |mut value: f32| unsafe {
            for step in [16, 8, 4, 2, 1] {
                value += warp::warp_shuffle_down(warp::FULL_MASK, value, step, 32).0;
            }
            value
        };
        let vec3 = |v: Vec3| Vec3::new(add(v.x), add(v.y), add(v.z));
        Self { left: vec3(self.left), right: vec3(self.right), weight: add(self.weight) }
    }

    /// Over the threads of the block, in thread 0. Has a barrier.
    ///
    /// # Safety
    /// - All threads of the block call it, [`BLOCK_THREADS`] of them.
    /// - `warps` has an element for each warp, which nothing touches since the last barrier.
    #[inline(always)]
    unsafe fn over_block(self, warps: Shared<ColourSums>) -> Self {
        let rank = thread::rank();
        // SAFETY: as the caller vouches; lane 0 of each warp writes its element, and the first warp
        // reads them behind the barrier.
        unsafe {
            let sums = self.over_warp();
            if rank.is_multiple_of(warp::WARP_SIZE) {
                warps.store(rank / warp::WARP_SIZE, sums.with_luma());
            }
            thread::sync_threads();
            let mut sums = Self::default();
            if rank < warp::WARP_SIZE {
                if rank < warps.len() {
                    sums = Self::of(warps.load(rank));
                }
                sums = sums.over_warp();
            }
            sums
        }
    }

    #[inline(always)]
    fn of(sums: ColourSums) -> Self {
        let vec3 = |[r, g, b, _]: [f32; 4]| Vec3::new(r, g, b);
        Self { left: vec3(sums.left), right: vec3(sums.right), weight: sums.weight }
    }

    /// Luma is a weighted sum, so the sum of lumas is that of the sums.
    #[inline(always)]
    fn with_luma(self) -> ColourSums {
        let vec4 = |v: Vec3| [v.x, v.y, v.z, luma(v)];
        ColourSums { left: vec4(self.left), right: vec4(self.right), weight: self.weight }
    }
}

/// Adds up the threads of the block, and in the last block of the grid all blocks.
///
/// # Safety
/// As the kernels of [`colour_sums!`] ask.
#[inline(always)]
unsafe fn add_blocks(
    column: Sums,
    partial: SliceMut<ColourSums>,
    finished: SliceMut<u32>,
    sums: SliceMut<ColourSums>,
) {
    let warps = shared_array![ColourSums; (BLOCK_THREADS / 32) as usize];
    let last = shared_array![u32; 1];
    let (rank, blocks) = (thread::rank(), thread::grid_dim_x() * thread::grid_dim_y());
    // SAFETY: every thread comes here, and to each barrier. Thread 0 alone writes the block's element
    // and `last`. The fences make the elements that other blocks wrote before they counted visible to
    // the block that counts last.
    unsafe {
        let block = column.over_block(warps);
        if rank == 0 {
            partial.store(
                thread::block_idx_y() * thread::grid_dim_x() + thread::block_idx_x(),
                block.with_luma(),
            );
            thread::device_fence();
            use cuda_std::atomic::AtomicAdd;
            let before = u32::atomic_add(finished.atomic(0), 1);
            last.store(0, u32::from(before + 1 == blocks));
        }
        thread::sync_threads();
        let mut total = Sums::default();
        if last.load(0) != 0 {
            thread::device_fence();
            let mut i = rank;
            while i < blocks {
                total = total.plus(Sums::of(partial.load(i)));
                i += BLOCK_THREADS;
            }
        }
        // Not in the branch: a barrier is for all.
        let total = total.over_block(warps);
        if rank == 0 && last.load(0) != 0 {
            sums.store(0, total.with_luma());
            finished.store(0, 0);
        }
    }
}

/// Builds the gamma table of both cameras: one thread an entry.
#[kernel(launch_bounds(TABLE_BLOCK), dims(1))]
pub fn gamma_table(left: Colour, right: Colour, table: SliceMut<TableEntry>) {
    let i = thread::index_1d();
    if i >= TABLE_LEN.min(table.len()) {
        return;
    }
    let colour = if i < TABLE_LEN / 2 { left } else { right };
    let (channel, level) = (i / TABLE_LEVELS % 3, i % TABLE_LEVELS);
    let here = graded(&colour, channel, level);
    let next = graded(&colour, channel, (level + 1).min(TABLE_LEVELS - 1));
    // SAFETY: inside, as just checked; each entry has one thread.
    unsafe { table.store(i, Vec2::new(here, next - here)) };
}
