//! Selects the grid of cells for the seam search: its resolution, and the direction of the seam. The `search` module
//! finds paths on this grid.

use glam::UVec2;
use kernels_gpu::seam::{SeamCells, SeamSides};
use shared_types::colour::OverlapBox;
use shared_types::seam::{BLOCK_THREADS, BREACH, PLACES, SeamCosts, SeamGrid, Sees};
use shared_types::stitch::MIN_WEIGHT;

use super::{SeamError, SeamOptions};
use crate::device::{Buffer, DeviceError, Image, LaunchConfig, Stream};
use crate::ops::colour::find_box;
use crate::ops::seam::gridded::{Gridded, cover};
use crate::ops::seam::search::Search;
use crate::warp::DeviceWarp;

/// The maximum number of cells across the seam in the coarse grids that determine the seam's direction.
const COARSE: u32 = 64;

/// The reciprocal of the tolerance for equivalent directions. Directions of the seam are equivalent if their costs
/// exceed the lowest cost by at most a quarter.
const ALIKE: u64 = 4;

/// A direction of the seam, and the result of the coarse search in that direction.
struct Way {
    /// The values of [`SeamGrid::transposed`] and [`SeamGrid::swapped`].
    way: [bool; 2],
    cost: u64,
    /// The extent of the grid along the seam, in pixels.
    length: u32,
    rows: u32,
    breaches: u32,
}

/// Returns the finest grid that has at most `most` cells across the seam. The grid covers the overlap's bounding box
/// and one more cell on each side, limited to the panorama of `size` pixels.
fn grid(place: OverlapBox, size: UVec2, [transposed, swapped]: [bool; 2], most: u32) -> SeamGrid {
    let mut grid = SeamGrid {
        min: place.min,
        max: place.max,
        cell: 1,
        transposed: transposed.into(),
        swapped: swapped.into(),
        reserved: 0,
    };
    loop {
        // Include the cells around the box, which at most one camera sees, because the cost of breaches (visible
        // picture edges) depends on these cells.
        grid.min = place.min.saturating_sub(UVec2::splat(grid.cell));
        grid.max = (place.max + grid.cell).min(size);
        if grid.cells().x <= most {
            return grid;
        }
        grid.cell *= 2;
    }
}

impl Gridded {
    fn new(
        stream: &Stream,
        warp: &DeviceWarp,
        cameras: [usize; 2],
        grid: SeamGrid,
    ) -> Result<Self, DeviceError> {
        let UVec2 { x: across, y: along } = grid.cells();
        let mut cells = Image::new(stream.device(), across, along)?;
        let mut sides = Image::new(stream.device(), across + 1, along)?;
        let out = cells.view_mut();
        let ([planes_left, planes_right], [left, right]) = warp.pair(cameras)?;
        let kernel = SeamCells { planes_left, planes_right, left, right, grid, out };
        stream.launch(&cover(grid.cells()), &kernel)?;
        let config = LaunchConfig::cover(along, 1, [BLOCK_THREADS, 1]);
        stream.launch(&config, &SeamSides { cells: cells.view(), out: sides.view_mut() })?;
        Ok(Self { grid, cells, sides })
    }

    /// Selects the direction of the seam and returns the finest grid for it. Waits for the device.
    ///
    /// Searches for a path in each direction as if both pictures were uniform. The cheapest path is short and has few
    /// breaches (cells in which an edge of a picture would be visible). Among directions with equivalent costs, selects
    /// the one with the longest grid along the seam, because paths in this grid bend the least.
    pub(super) fn best(
        stream: &Stream,
        warp: &DeviceWarp,
        cameras: [usize; 2],
        options: SeamOptions,
    ) -> Result<Self, SeamError> {
        let place = find_box(stream, warp, cameras, MIN_WEIGHT)?;
        if place.is_empty() {
            return Err(SeamError::NoOverlap);
        }
        let mut ways = Vec::new();
        for way in [[false, false], [false, true], [true, false], [true, true]] {
            let coarse = Self::new(stream, warp, cameras, grid(place, warp.size(), way, COARSE))?;
            if ways.is_empty() {
                coarse.check_both_alone(stream, cameras)?;
            }
            let (rows, cell) = (coarse.grid.cells().y, coarse.grid.cell);
            let mut search = Search::new(stream, coarse, options)?;
            // No frames were compared, so all differences are 0.
            let nowhere = Buffer::new(stream.device(), rows)?;
            search.find(stream, &nowhere, false)?;
            let SeamCosts { best, breaches, .. } = search.costs(stream)?;
            // The cost of a path increases with the number of rows of cells. Multiply it by the size of a cell in
            // pixels, so that the costs of grids with different cells are comparable.
            let cost = u64::from(best) * u64::from(cell);
            ways.push(Way { way, cost, length: rows * cell, rows, breaches: breaches / BREACH });
        }
        let least = ways.iter().map(|way| way.cost).min().unwrap_or(0);
        let alike = ways.into_iter().filter(|way| way.cost <= least + least / ALIKE);
        let Some(Way { way, rows, breaches, .. }) = alike.max_by_key(|way| way.length) else {
            return Err(SeamError::NoOverlap);
        };
        // Some breaches are unavoidable in the corners of the overlap, where the edges of the pictures cross.
        if breaches > (rows / 2).max(8) {
            let [a, b] = cameras.map(|camera| camera + 1);
            return Err(SeamError::NoLine(format!(
                "seam: the pictures of cameras {a} and {b} cross or overlap in several places, so every line from side to side \
                 would show edges of pictures (at {breaches} positions in {rows} rows of cells)"
            )));
        }
        Ok(Self::new(stream, warp, cameras, grid(place, warp.size(), way, PLACES - 1))?)
    }

    /// Checks that each camera sees a cell that the other camera does not see. The grid must not be swapped, so that
    /// the flag `NEAR` stands for the first camera.
    fn check_both_alone(&self, stream: &Stream, [a, b]: [usize; 2]) -> Result<(), SeamError> {
        let seen = self.cells.download(stream)?.into_iter().fold(0, |all, cell| all | cell);
        for (camera, other, bit) in [(a, b, Sees::NEAR), (b, a, Sees::FAR)] {
            if seen & bit == 0 {
                return Err(SeamError::NoLine(format!(
                    "seam: camera {} covers the whole area of camera {}, so no line separates them",
                    other + 1,
                    camera + 1
                )));
            }
        }
        Ok(())
    }
}
