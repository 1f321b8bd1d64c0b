//! A seam grid with its images in device memory, and the launch configuration for its cells.

use crate::device::{Image, LaunchConfig};
use glam::UVec2;
use shared_types::seam::{BLOCK, SeamGrid};

/// A grid, and the images that depend only on the warp:
/// - `cells` contains for each cell the cameras that see it, and the additional costs of the cell.
/// - `sides` contains the costs of breaches (cells in which an edge of a picture would be visible).
#[derive(Debug)]
pub(super) struct Gridded {
    pub(super) grid: SeamGrid,
    pub(super) cells: Image<u32>,
    pub(super) sides: Image<u32>,
}

/// Returns a launch configuration with a thread per cell.
pub(super) fn cover(cells: UVec2) -> LaunchConfig {
    LaunchConfig::cover(cells.x, cells.y, BLOCK)
}
