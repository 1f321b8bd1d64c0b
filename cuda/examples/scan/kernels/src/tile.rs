//! A tile of the input in registers: loads, the scan within the tile, and stores.
//!
//! A warp has adjacent elements, in rows of 128. In each row, a lane has four adjacent elements, so
//! loads and stores of 16 bytes are coalesced.

use bytemuck::{Pod, Zeroable};
use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE, warp_shuffle_idx, warp_shuffle_up};

use crate::{BLOCK, Operator, TILE};

/// The number of rows of a warp. With more rows, there are fewer tiles to look back over, but a thread
/// needs more registers.
const ROWS: usize = 8;

/// The number of elements per thread.
pub(crate) const PER_THREAD: u32 = 4 * ROWS as u32;

/// The number of elements in a row.
const ROW: u32 = 4 * WARP_SIZE;

/// Four adjacent elements, which the GPU loads and stores with one instruction.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(16))]
struct Quad([u32; 4]);

impl Quad {
    /// Combines each element with `before`, which precedes it.
    #[inline(always)]
    fn after<O: Operator>(self, before: u32) -> Self {
        Self(self.0.map(|value| O::combine(before, value)))
    }
}

/// The elements of the running thread.
pub(crate) struct Tile([Quad; ROWS]);

/// Returns the index of the running thread's first element in row `row` of its warp.
#[inline(always)]
fn index(row: usize) -> u32 {
    let (warp, lane) = (thread::thread_idx_x() / WARP_SIZE, thread::thread_idx_x() % WARP_SIZE);
    (warp * ROWS as u32 + row as u32) * ROW + 4 * lane
}

impl Tile {
    /// Loads the tile that begins at element `first`, which must exist.
    #[inline(always)]
    pub(crate) fn load<O: Operator>(input: Slice<u32>, first: u32) -> Self {
        if input.is_aligned(16) && input.len() - first >= TILE {
            // SAFETY: all elements of the tile exist. `first` and `index` are multiples of 4, so
            // they are aligned to 16 bytes.
            return Self(core::array::from_fn(|row| unsafe {
                input.load_wide(first + index(row))
            }));
        }
        Self(core::array::from_fn(|row| {
            Quad(core::array::from_fn(|k| {
                input.get(first + index(row) + k as u32).unwrap_or(O::IDENTITY)
            }))
        }))
    }

    /// Replaces each element with the combination of all elements of the tile up to it. Returns the
    /// combination of the whole tile.
    #[inline(always)]
    pub(crate) fn scan<O: Operator>(&mut self) -> u32 {
        let totals = shared_array![u32; (BLOCK / WARP_SIZE) as usize];
        let (warp, lane) = (thread::thread_idx_x() / WARP_SIZE, thread::thread_idx_x() % WARP_SIZE);
        // The combination of the rows before the current one.
        let mut before = O::IDENTITY;
        for row in 0..ROWS {
            let Quad([a, b, c, d]) = self.0[row];
            let b = O::combine(a, b);
            let c = O::combine(b, c);
            let d = O::combine(c, d);
            let sum = scan_warp::<O>(d);
            // SAFETY: all lanes take part.
            let (left, total) = unsafe {
                let left = warp_shuffle_up(FULL_MASK, sum, 1, WARP_SIZE).0;
                (left, warp_shuffle_idx(FULL_MASK, sum, WARP_SIZE - 1, WARP_SIZE).0)
            };
            let left = if lane == 0 { before } else { O::combine(before, left) };
            self.0[row] = Quad([a, b, c, d]).after::<O>(left);
            before = O::combine(before, total);
        }
        if lane == 0 {
            // SAFETY: the array has an element for each warp, and only this thread writes it.
            unsafe { totals.store(warp, before) };
        }
        thread::sync_threads();
        let (mut before, mut total) = (O::IDENTITY, O::IDENTITY);
        for other in 0..BLOCK / WARP_SIZE {
            if other == warp {
                before = total;
            }
            // SAFETY: the element was written before the barrier.
            total = O::combine(total, unsafe { totals.load(other) });
        }
        self.combine::<O>(before);
        total
    }

    /// Combines each element with `before`, which precedes it.
    #[inline(always)]
    fn combine<O: Operator>(&mut self, before: u32) {
        self.0 = core::array::from_fn(|row| self.0[row].after::<O>(before));
    }

    /// Combines the elements with `before` and writes them to `out`, from element `first` up to
    /// element `len`.
    ///
    /// # Safety
    /// `out` must have at least `len` elements, and no other thread may access the elements of this
    /// thread.
    #[inline(always)]
    pub(crate) unsafe fn store<O: Operator>(
        mut self,
        before: u32,
        out: SliceMut<u32>,
        first: u32,
        len: u32,
    ) {
        self.combine::<O>(before);
        for row in 0..ROWS {
            let quad = self.0[row];
            let at = first + index(row);
            if out.is_aligned(16) && len - first >= TILE {
                // SAFETY: all elements of the tile exist, and `at` is a multiple of 4. The caller
                // guarantees the rest.
                unsafe { out.store_wide(at, quad) };
            } else {
                for k in 0..4 {
                    if at + (k as u32) < len {
                        // SAFETY: the element exists. The caller guarantees the rest.
                        unsafe { out.store(at + k as u32, quad.0[k]) };
                    }
                }
            }
        }
    }
}

/// Returns the combination of the values of the lanes up to the running one.
#[inline(always)]
fn scan_warp<O: Operator>(value: u32) -> u32 {
    let lane = thread::thread_idx_x() % WARP_SIZE;
    let mut sum = value;
    let mut distance = 1;
    while distance < WARP_SIZE {
        // SAFETY: all lanes take part.
        let (earlier, _) = unsafe { warp_shuffle_up(FULL_MASK, sum, distance, WARP_SIZE) };
        if lane >= distance {
            sum = O::combine(earlier, sum);
        }
        distance *= 2;
    }
    sum
}
