//! The search for the cheapest path over the cells.

use cuda_std::prelude::*;
use shared_types::seam::{BIAS, BIAS_CELLS, MOST, PLACES, STEP, SeamCosts};

/// Returns the cost of two neighbours with different labels; 0 unless both cameras see both cells.
#[inline(always)]
fn between(a: u32, b: u32) -> u32 {
    if a != 0 && b != 0 { a + b } else { 0 }
}

/// Finds the cheapest path from the first to the last row of cells, by dynamic programming.
///
/// `best` becomes the number of cells before the path, for each row. From row to row it moves by at most [`STEP`]
/// cells. Ties are broken from the last row up: there the first position wins; in each row above, a straight step,
/// then a step to the near side, then a shorter step. If `biased` is not 0, cells away from `current` cost [`BIAS`]
/// more each, up to [`BIAS_CELLS`]; the result `costs` excludes this bias.
///
/// The cost of a row is `sides` plus the two cells beside the path, at most [`MOST`], plus the vertical neighbours
/// between the path's positions in this row and the previous one.
///
/// One thread per position and one barrier per row, so one block: each row depends on the previous one. A single
/// thread traces the path back. Cost: about a microsecond per row.
///
/// # Safety
/// - The grid must be one block of [`PLACES`] threads.
/// - No cell may cost more than `MOST`, and there must be at most 32,768 rows.
#[kernel(launch_bounds(PLACES), barriers(4), dims(1))]
pub unsafe fn seam_path(
    cost: View<u32>,
    sides: View<u32>,
    current: Slice<u32>,
    biased: u32,
    parent: ViewMut<u16>,
    best: SliceMut<u32>,
    costs: SliceMut<SeamCosts>,
) {
    let totals = shared_array![u32; 2 * PLACES as usize];
    let runs = shared_array![u32; 2 * PLACES as usize];
    let heres = shared_array![u32; 2 * PLACES as usize];
    let sums = shared_array![u32; 3];
    let (across, along) = (cost.width(), cost.height());
    let places = across + 1;
    let fits = places <= PLACES && along > 0;
    let fits = fits && sides.width() == places && sides.height() == along;
    let fits = fits && parent.width() >= places && parent.height() >= along;
    if !(fits && best.len() >= along && current.len() >= along && costs.len() > 0) {
        return;
    }
    let place = thread::rank();
    let cell = |x: u32, y: u32| {
        // SAFETY: inside, as just checked.
        if cost.contains(x, y) { unsafe { cost.load(x, y) } } else { 0 }
    };
    let (mut total, mut above) = (0, 0);
    let mut y = 0;
    while y < along {
        // Two halves in turn, so that threads may still read the previous row.
        let half = (y & 1) * PLACES;
        let here = cell(place, y);
        // SAFETY: a block has `PLACES` threads, each with its own element in each half, which others read after the
        // barrier. The next row writes to the other half, and the one after it follows another barrier.
        unsafe {
            totals.store(half + place, total);
            runs.store(half + place, between(above, here));
            heres.store(half + place, here);
        }
        above = here;
        thread::sync_threads();
        if place < places {
            // SAFETY: after the barrier, and `place` is inside the images and below `PLACES`.
            unsafe {
                let (mut least, mut from) = (totals.load(half + place), place);
                let mut run = 0;
                for step in 1..=STEP {
                    if step <= place {
                        let there = place - step;
                        run += runs.load(half + there);
                        let sum = totals.load(half + there) + run;
                        if sum < least {
                            (least, from) = (sum, there);
                        }
                    }
                }
                let mut run = 0;
                for step in 1..=STEP {
                    let there = place + step;
                    if there < places {
                        run += runs.load(half + there - 1);
                        let sum = totals.load(half + there) + run;
                        if sum < least {
                            (least, from) = (sum, there);
                        }
                    }
                }
                let before = if place > 0 { heres.load(half + place - 1) } else { 0 };
                let row = (sides.load(place, y) + between(before, here)).min(MOST);
                let away = current.load(y).abs_diff(place).min(BIAS_CELLS);
                let bias = if biased != 0 { BIAS * away } else { 0 };
                parent.store(place, y, from as u16);
                total = least + row + bias;
            }
        }
        y += 1;
    }
    let half = (along & 1) * PLACES;
    // SAFETY: as in a row.
    unsafe {
        totals.store(half + place, total);
        if place < 3 {
            sums.store(place, 0);
        }
    }
    thread::sync_threads();
    if place == 0 {
        let mut at = 0;
        // SAFETY: everything was written before the barrier, and `at` is always a valid position.
        unsafe {
            for i in 1..places {
                if totals.load(half + i) < totals.load(half + at) {
                    at = i;
                }
            }
            let mut y = along;
            while y > 0 {
                y -= 1;
                best.store(y, at);
                at = parent.load(at, y).into();
            }
        }
    }
    thread::sync_threads();
    // The cost of a row of the path, and its breaches.
    let row = |y: u32, at: u32, from: u32| {
        // SAFETY: `at` is at most `across`.
        let sides = unsafe { sides.load(at, y) };
        let mut row = (sides + between(cell(at.wrapping_sub(1), y), cell(at, y))).min(MOST);
        if y > 0 {
            for x in at.min(from)..at.max(from) {
                row += between(cell(x, y - 1), cell(x, y));
            }
        }
        (row, sides)
    };
    let mut y = place;
    while y < along {
        let before = y.saturating_sub(1);
        // SAFETY: inside; the first thread wrote before the barrier; all threads add atomically.
        unsafe {
            let (cost, breaches) = row(y, best.load(y), best.load(before));
            let _ = sums.atomic_add(0, cost);
            let _ = sums.atomic_add(1, breaches);
            let (at, from) = (current.load(y).min(across), current.load(before).min(across));
            let _ = sums.atomic_add(2, row(y, at, from).0);
        }
        y += PLACES;
    }
    thread::sync_threads();
    if place == 0 {
        // SAFETY: no thread adds after the barrier; there is one element, and one thread writes it.
        unsafe {
            let (best, breaches, current) = (sums.load(0), sums.load(1), sums.load(2));
            costs.store(0, SeamCosts { best, breaches, current });
        }
    }
}
