//! The search for the cheapest path of a seam over the cells, by dynamic programming from row to row.

use cuda_std::prelude::*;
use shared_types::seam::{BIAS, BIAS_CELLS, MOST, PLACES, STEP, SeamCosts};

#[cfg(not(target_arch = "nvptx64"))]
use super::cpu;

/// Returns the cost of showing different cameras in two adjacent cells with costs `a` and `b`. Returns 0 if one of the
/// costs is 0, because then only one camera sees this cell, or none does.
#[inline(always)]
pub(super) fn between(a: u32, b: u32) -> u32 {
    if a != 0 && b != 0 { a + b } else { 0 }
}

/// The input of the search: the cost of each cell (`cost`), and of a row's breaches at each path position (`sides`).
#[derive(Clone, Copy)]
pub(super) struct Cells {
    pub(super) cost: View<u32>,
    pub(super) sides: View<u32>,
}

impl Cells {
    /// Returns the number of positions in a row and the number of rows. Returns `None` if the sizes of the images do
    /// not match, there are no rows, or there are more than [`PLACES`] positions.
    #[inline(always)]
    pub(super) fn size(&self) -> Option<(u32, u32)> {
        let (places, along) = (self.cost.width() + 1, self.cost.height());
        let same = self.sides.width() == places && self.sides.height() == along;
        (same && places <= PLACES && along > 0).then_some((places, along))
    }

    /// Returns the cost of a cell; 0 outside the grid.
    #[inline(always)]
    pub(super) fn cell(&self, x: u32, y: u32) -> u32 {
        // SAFETY: `(x, y)` is inside `cost` where it is loaded.
        if self.cost.contains(x, y) { unsafe { self.cost.load(x, y) } } else { 0 }
    }

    /// Returns the cost of row `y` for a path that crosses this row at `at` and the previous row at `from`. Also
    /// returns the part of this cost that is due to breaches.
    ///
    /// # Safety
    /// Position `(at, y)` of `sides` must exist.
    #[inline(always)]
    pub(super) unsafe fn row(&self, y: u32, at: u32, from: u32) -> (u32, u32) {
        // SAFETY: the caller guarantees that `(at, y)` is inside `sides`.
        let sides = unsafe { self.sides.load(at, y) };
        let beside = between(self.cell(at.wrapping_sub(1), y), self.cell(at, y));
        let mut row = (sides + beside).min(MOST);
        if y > 0 {
            for x in at.min(from)..at.max(from) {
                row += between(self.cell(x, y - 1), self.cell(x, y));
            }
        }
        (row, sides)
    }
}

/// The state of the search in shared memory: three arrays with an element for each position in a row of cells. Each
/// array has two halves, of which rows use one in turn.
#[derive(Clone, Copy)]
struct LastRow {
    /// The cost of the cheapest path down to this position in the previous row.
    totals: Shared<u32>,
    /// The cost of a path that separates this cell of the current row from the cell above.
    runs: Shared<u32>,
    /// The cost of this cell of the current row.
    heres: Shared<u32>,
}

impl LastRow {
    #[inline(always)]
    fn new() -> Self {
        Self {
            totals: shared_array![u32; 2 * PLACES as usize],
            runs: shared_array![u32; 2 * PLACES as usize],
            heres: shared_array![u32; 2 * PLACES as usize],
        }
    }

    /// Stores one element (index `at`) in each of the three arrays.
    ///
    /// # Safety
    /// The element must exist, and no other thread may access it until the next barrier.
    #[inline(always)]
    unsafe fn store(&self, at: u32, total: u32, run: u32, here: u32) {
        // SAFETY: the caller guarantees that element `at` exists and that no other thread accesses it.
        unsafe {
            self.totals.store(at, total);
            self.runs.store(at, run);
            self.heres.store(at, here);
        }
    }
}

/// Returns the cost of the cheapest path to position `place` of the current row, excluding the cost of this row, and the
/// path's position in the previous row. `total` and `run` return the elements of [`LastRow`] at a position, of which there
/// are `places`.
#[inline(always)]
pub(super) fn cheapest(
    total: impl Fn(u32) -> u32,
    run: impl Fn(u32) -> u32,
    place: u32,
    places: u32,
) -> (u32, u32) {
    let (mut least, mut from) = (total(place), place);
    let mut runs = 0;
    for step in 1..=STEP {
        if step <= place {
            let there = place - step;
            runs += run(there);
            let sum = total(there) + runs;
            if sum < least {
                (least, from) = (sum, there);
            }
        }
    }
    let mut runs = 0;
    for step in 1..=STEP {
        let there = place + step;
        if there < places {
            runs += run(there - 1);
            let sum = total(there) + runs;
            if sum < least {
                (least, from) = (sum, there);
            }
        }
    }
    (least, from)
}

/// Writes the cheapest path to `best`: follows `parent` back from the last row to the first. `total` returns the cost
/// of the cheapest path to a position of the last row. Only one thread calls it.
///
/// # Safety
/// `parent` must have `places` columns, and `parent` and `best` must have `along` rows; all must be written before a
/// barrier.
#[inline(always)]
pub(super) unsafe fn trace_back(
    total: impl Fn(u32) -> u32,
    places: u32,
    parent: ViewMut<u16>,
    along: u32,
    best: SliceMut<u32>,
) {
    let mut at = 0;
    for i in 1..places {
        if total(i) < total(at) {
            at = i;
        }
    }
    // SAFETY: the caller guarantees the lengths of all arrays. `at` is always less than `places`.
    unsafe {
        let mut y = along;
        while y > 0 {
            y -= 1;
            best.store(y, at);
            at = parent.load(at, y).into();
        }
    }
}

/// Finds the cheapest path from the first to the last row of cells, by dynamic programming.
///
/// For each row, `best` receives the number of cells before the path. From row to row, the path moves by at most
/// [`STEP`] cells. Ties are broken from the last row up. In the last row, the first position wins. In each row above, a
/// straight step wins, then a step to the near side, then a shorter step. If `biased` is not 0, each cell of distance
/// from `current` costs [`BIAS`] more, up to [`BIAS_CELLS`] cells; the result `costs` excludes this bias.
///
/// The cost of a row is `sides` plus the costs of the two cells beside the path, limited to [`MOST`]. Added to this are
/// the costs of the vertically adjacent cells that the path separates on its way from the previous row to this one.
///
/// Each row depends on the previous one, so the search is a single block with one thread per position and one barrier
/// per row. One thread traces the path back. Cost: about a microsecond per row.
///
/// # Safety
/// - The grid must be one block of [`PLACES`] threads.
/// - No cell may cost more than [`MOST`], and there must be at most 32,768 rows.
#[kernel(launch_bounds(PLACES), barriers(4), dims(1), cpu(cpu::path))]
pub unsafe fn seam_path(
    cost: View<u32>,
    sides: View<u32>,
    current: Slice<u32>,
    biased: u32,
    parent: ViewMut<u16>,
    best: SliceMut<u32>,
    costs: SliceMut<SeamCosts>,
) {
    let last = LastRow::new();
    let sums = shared_array![u32; 3];
    let cells = Cells { cost, sides };
    let Some((places, along)) = cells.size() else { return };
    let fits = parent.width() >= places && parent.height() >= along;
    if !(fits && best.len() >= along && current.len() >= along && costs.len() > 0) {
        return;
    }
    let place = thread::rank();
    let (mut total, mut above) = (0, 0);
    let mut y = 0;
    while y < along {
        // Use the two halves in turn, because other threads may still read the half of the previous row.
        let half = (y & 1) * PLACES;
        let here = cells.cell(place, y);
        // SAFETY: a block has `PLACES` threads, each with its own element in each half. Other threads read this element
        // only after the barrier. The next row writes to the other half, and the row after that writes to this half
        // only after another barrier.
        unsafe { last.store(half + place, total, between(above, here), here) };
        above = here;
        thread::sync_threads();
        if place < places {
            // SAFETY: `last` was written before the barrier. `sides` and `parent` have `places` columns.
            unsafe {
                let total_at = |place: u32| last.totals.load(half + place);
                let run = |place: u32| last.runs.load(half + place);
                let (least, from) = cheapest(total_at, run, place, places);
                let before = if place > 0 { last.heres.load(half + place - 1) } else { 0 };
                let row = (sides.load(place, y) + between(before, here)).min(MOST);
                parent.store(place, y, from as u16);
                total = least + row + bias(biased, current.load(y), place);
            }
        }
        y += 1;
    }
    let half = (along & 1) * PLACES;
    // SAFETY: each thread writes its own elements of `last` and `sums`, which others read after the barrier.
    unsafe {
        last.totals.store(half + place, total);
        if place < 3 {
            sums.store(place, 0);
        }
    }
    thread::sync_threads();
    if place == 0 {
        // SAFETY: `last` and `parent` were written before the barrier. The kernel has checked the sizes of `parent` and
        // `best`.
        unsafe {
            trace_back(|place| last.totals.load(half + place), places, parent, along, best);
        }
    }
    thread::sync_threads();
    let mut y = place;
    while y < along {
        let before = y.saturating_sub(1);
        // SAFETY: `y` and `before` are less than `along`, the number of rows. Thread 0 wrote `best` before the barrier.
        unsafe {
            let (cost, breaches) = cells.row(y, best.load(y), best.load(before));
            let (at, from) =
                (current.load(y).min(places - 1), current.load(before).min(places - 1));
            add(sums, SeamCosts { best: cost, breaches, current: cells.row(y, at, from).0 });
        }
        y += PLACES;
    }
    thread::sync_threads();
    if place == 0 {
        // SAFETY: no thread adds to `sums` after the barrier. `costs` has one element, which only this thread writes.
        unsafe {
            let (best, breaches, current) = (sums.load(0), sums.load(1), sums.load(2));
            costs.store(0, SeamCosts { best, breaches, current });
        }
    }
}

/// Returns the cost of the distance of a position from that of the current path.
#[inline(always)]
pub(super) fn bias(biased: u32, current: u32, place: u32) -> u32 {
    if biased != 0 { BIAS * current.abs_diff(place).min(BIAS_CELLS) } else { 0 }
}

/// Adds the costs of a row to the block's sums.
///
/// # Safety
/// `sums` must have three elements. Other threads may access them only with this function.
#[inline(always)]
unsafe fn add(sums: Shared<u32>, row: SeamCosts) {
    // SAFETY: the caller guarantees that `sums` has three elements. All threads access them with atomics.
    unsafe {
        let _ = sums.atomic_add(0, row.best);
        let _ = sums.atomic_add(1, row.breaches);
        let _ = sums.atomic_add(2, row.current);
    }
}
