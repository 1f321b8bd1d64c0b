//! The steps of the search for a path: costs of a row, the cheapest way to a position, and the way back.

use cuda_std::prelude::*;
use shared_types::seam::{BIAS, BIAS_CELLS, MOST, PLACES, STEP};

/// Returns the cost of showing different cameras in two adjacent cells with costs `a` and `b`. Returns 0 if one of the
/// costs is 0, because then only one camera sees this cell, or none does.
#[device]
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
    #[device]
    pub(super) fn size(&self) -> Option<(u32, u32)> {
        let (places, along) = (self.cost.width() + 1, self.cost.height());
        let same = self.sides.width() == places && self.sides.height() == along;
        (same && places <= PLACES && along > 0).then_some((places, along))
    }

    /// Returns the cost of a cell; 0 outside the grid.
    #[device]
    pub(super) fn cell(&self, x: u32, y: u32) -> u32 {
        // SAFETY: `(x, y)` is inside `cost` where it is loaded.
        if self.cost.contains(x, y) { unsafe { self.cost.load(x, y) } } else { 0 }
    }

    /// Returns the cost of row `y` for a path that crosses this row at `at` and the previous row at `from`. Also
    /// returns the part of this cost that is due to breaches.
    ///
    /// # Safety
    /// Position `(at, y)` of `sides` must exist.
    #[device]
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

/// Returns the cost of the cheapest path to position `place` of the current row, excluding the cost of this row, and the
/// path's position in the previous row. `total` and `run` return the elements of [`LastRow`] at a position, of which there
/// are `places`.
#[device]
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
#[device]
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

/// Returns the cost of the distance of a position from that of the current path.
#[device]
pub(super) fn bias(biased: u32, current: u32, place: u32) -> u32 {
    if biased != 0 { BIAS * current.abs_diff(place).min(BIAS_CELLS) } else { 0 }
}
