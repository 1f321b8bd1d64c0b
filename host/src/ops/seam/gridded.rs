//! A grid in device memory, and the launch shape for it.

use crate::device::{Image, LaunchConfig};
use glam::UVec2;
use shared_types::seam::{BLOCK, SeamGrid};

/// A grid, the cameras of its cells, and the cost of breaches.
#[derive(Debug)]
pub(super) struct Gridded {
    pub(super) grid: SeamGrid,
    pub(super) cells: Image<u32>,
    pub(super) sides: Image<u32>,
}

/// Returns the shape of a launch with a thread per cell.
pub(super) fn cover(cells: UVec2) -> LaunchConfig {
    LaunchConfig::cover(cells.x, cells.y, BLOCK)
}
