//! The grid of cells that a seam is searched on: how fine it is, and which way the seam runs.

use glam::UVec2;
use kernels_gpu::seam::{SeamCells, SeamSides};
use shared_types::colour::OverlapBox;
use shared_types::seam::{BLOCK, BLOCK_THREADS, BREACH, PLACES, SeamCosts, SeamGrid, Sees};
use shared_types::stitch::MIN_WEIGHT;

use super::find::Search;
use super::{SeamError, SeamOptions};
use crate::device::{Buffer, DeviceError, Image, LaunchConfig, Stream};
use crate::ops::colour::find_box;
use crate::warp::DeviceWarp;

/// Most cells across while only the seam's direction is looked for.
const COARSE: u32 = 64;

/// Directions that cost so little more, one part of this, are alike.
const ALIKE: u64 = 4;

/// A direction, and what the coarse search found.
struct Way {
    way: [bool; 2],
    cost: u64,
    /// In pixels along.
    length: u32,
    rows: u32,
    breaches: u32,
}

/// A grid over the overlap's box and one cell around it, so fine as so many cells across allow.
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
        // Beside the box is what one camera sees alone.
        grid.min = place.min.saturating_sub(UVec2::splat(grid.cell));
        grid.max = (place.max + grid.cell).min(size);
        if grid.cells().x <= most {
            return grid;
        }
        grid.cell *= 2;
    }
}

/// A grid, who sees its cells, and what breaches cost.
#[derive(Debug)]
pub(super) struct Gridded {
    pub(super) grid: SeamGrid,
    pub(super) cells: Image<u32>,
    pub(super) sides: Image<u32>,
}

/// Shape of a launch with a thread a cell.
pub(super) fn cover(cells: UVec2) -> LaunchConfig {
    LaunchConfig::cover(cells.x, cells.y, BLOCK)
}

impl Gridded {
    fn new(stream: &Stream, warp: &DeviceWarp, grid: SeamGrid) -> Result<Self, DeviceError> {
        let UVec2 { x: across, y: along } = grid.cells();
        let mut cells = Image::new(stream.device(), across, along)?;
        let mut sides = Image::new(stream.device(), across + 1, along)?;
        let out = cells.view_mut();
        let ([planes_left, planes_right], [left, right]) = (warp.planes()?, warp.sources());
        let kernel = SeamCells { planes_left, planes_right, left, right, grid, out };
        stream.launch(&cover(grid.cells()), &kernel)?;
        let config = LaunchConfig::cover(along, 1, [BLOCK_THREADS, 1]);
        stream.launch(&config, &SeamSides { cells: cells.view(), out: sides.view_mut() })?;
        Ok(Self { grid, cells, sides })
    }

    /// The finest grid, along the direction in which pictures that are the same everywhere have the
    /// cheapest path: that is a short one without breaches. Of directions that cost about the same, the one with
    /// the longest way, so that paths bend the least. Waits.
    pub(super) fn best(
        stream: &Stream,
        warp: &DeviceWarp,
        options: SeamOptions,
    ) -> Result<Self, SeamError> {
        let place = find_box(stream, warp, MIN_WEIGHT)?;
        if place.is_empty() {
            return Err(SeamError::NoOverlap);
        }
        let mut ways = Vec::new();
        for way in [[false, false], [false, true], [true, false], [true, true]] {
            let coarse = Self::new(stream, warp, grid(place, warp.size(), way, COARSE))?;
            if ways.is_empty() {
                coarse.check_both_alone(stream)?;
            }
            let (rows, cell) = (coarse.grid.cells().y, coarse.grid.cell);
            let mut search = Search::new(stream, coarse, options)?;
            // Nothing was compared: the cameras show the same everywhere.
            let nowhere = Buffer::new(stream.device(), rows)?;
            search.find(stream, &nowhere, false)?;
            let SeamCosts { best, breaches, .. } = search.costs(stream)?;
            // A coarser cell stands for as many finer ones along the path.
            let cost = u64::from(best) * u64::from(cell);
            ways.push(Way { way, cost, length: rows * cell, rows, breaches: breaches / BREACH });
        }
        let least = ways.iter().map(|way| way.cost).min().unwrap_or(0);
        let alike = ways.into_iter().filter(|way| way.cost <= least + least / ALIKE);
        let Some(Way { way, rows, breaches, .. }) = alike.max_by_key(|way| way.length) else {
            return Err(SeamError::NoOverlap);
        };
        // A few are in the corners, where the pictures' edges cross.
        if breaches > (rows / 2).max(8) {
            return Err(SeamError::Tangled { breaches, rows });
        }
        Ok(Self::new(stream, warp, grid(place, warp.size(), way, PLACES - 1))?)
    }

    /// Checks that each camera sees something alone. The grid is not swapped.
    fn check_both_alone(&self, stream: &Stream) -> Result<(), SeamError> {
        let seen = self.cells.download(stream)?.into_iter().fold(0, |all, cell| all | cell);
        for (camera, bit) in [("left", Sees::NEAR), ("right", Sees::FAR)] {
            if seen & bit == 0 {
                return Err(SeamError::Inside { camera });
            }
        }
        Ok(())
    }
}
