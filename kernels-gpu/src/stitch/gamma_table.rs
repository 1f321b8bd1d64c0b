//! The gamma table. For each 8-bit level, it contains the corrected value and the difference to the corrected value of
//! the next level.
//!
//! The kernels of [`planes`](crate::stitch::planes) copy the table to shared memory and interpolate between its levels.

use cuda_std::prelude::*;
use glam::Vec2;
use shared_types::colour::{TABLE_BLOCK, TABLE_LEN, TABLE_LEVELS, TableEntry};
use shared_types::stitch::Colour;

use crate::colour::grade::graded;

/// Builds the gamma table of both cameras, one thread per entry. Entries are ordered by camera (left first), channel
/// (red first) and level.
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
    // SAFETY: `i` is less than the length of `table`, as just checked, and only this thread writes entry `i`.
    unsafe { table.store(i, Vec2::new(here, next - here)) };
}
