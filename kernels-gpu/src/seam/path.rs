//! The search for the cheapest path of a seam over the cells, by dynamic programming from row to row.

#[cfg(not(target_arch = "nvptx64"))]
use super::cpu;
use super::steps::{Cells, between, bias, cheapest, trace_back};
use cuda_std::prelude::*;
#[cfg(doc)]
use shared_types::seam::{BIAS, BIAS_CELLS, STEP};
use shared_types::seam::{MOST, PLACES, SeamCosts};

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
    #[device]
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
    #[device]
    unsafe fn store(&self, at: u32, total: u32, run: u32, here: u32) {
        // SAFETY: the caller guarantees that element `at` exists and that no other thread accesses it.
        unsafe {
            self.totals.store(at, total);
            self.runs.store(at, run);
            self.heres.store(at, here);
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

/// Adds the costs of a row to the block's sums.
///
/// # Safety
/// `sums` must have three elements. Other threads may access them only with this function.
#[device]
unsafe fn add(sums: Shared<u32>, row: SeamCosts) {
    // SAFETY: the caller guarantees that `sums` has three elements. All threads access them with atomics.
    unsafe {
        let _ = sums.atomic_add(0, row.best);
        let _ = sums.atomic_add(1, row.breaches);
        let _ = sums.atomic_add(2, row.current);
    }
}
