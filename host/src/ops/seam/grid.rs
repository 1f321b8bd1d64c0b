//! The grid of cells for the seam search: its resolution and the direction of the seam.

use crate::ops::seam::gridded::Gridded;
use crate::ops::seam::gridded::cover;
use glam::UVec2;

use kernels_gpu::seam::{SeamCells, SeamSides};

use shared_types::colour::OverlapBox;

use shared_types::seam::{BLOCK_THREADS, BREACH, PLACES, SeamCosts, SeamGrid, Sees};

use shared_types::stitch::MIN_WEIGHT;

use crate::ops::seam::search::Search;

use super::{SeamError, SeamOptions};

use crate::device::{Buffer, DeviceError, Image, LaunchConfig, Stream};

use crate::ops::colour::find_box;

use crate::warp::DeviceWarp;

/// Maximum number of cells across while the seam's direction is determined.
const COARSE: u32 = 64;

/// Directions whose costs differ by less than one part in this number are equivalent.
const ALIKE: u64 = 4;

/// A direction, and the result of the coarse search.
struct Way {
    way: [bool; 2],
    cost: u64,
    /// Length along the path, in pixels.
    length: u32,
    rows: u32,
    breaches: u32,
}

/// Returns a grid over the overlap's box plus one cell around it, as fine as the maximum number of cells allows.
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
        // The pixels beside the box belong to one camera.
        grid.min = place.min.saturating_sub(UVec2::splat(grid.cell));
        grid.max = (place.max + grid.cell).min(size);
        if grid.cells().x <= most {
            return grid;
        }
        grid.cell *= 2;
    }
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

    /// Returns the finest grid along the direction with the cheapest path for uniform pictures, that is a short path
    /// without breaches. Of equivalent directions, takes the longest, whose paths bend the least. Waits for the
    /// device.
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
            // Without a comparison, the cameras agree everywhere.
            let nowhere = Buffer::new(stream.device(), rows)?;
            search.find(stream, &nowhere, false)?;
            let SeamCosts { best, breaches, .. } = search.costs(stream)?;
            // A coarser cell replaces as many finer ones along the path.
            let cost = u64::from(best) * u64::from(cell);
            ways.push(Way { way, cost, length: rows * cell, rows, breaches: breaches / BREACH });
        }
        let least = ways.iter().map(|way| way.cost).min().unwrap_or(0);
        let alike = ways.into_iter().filter(|way| way.cost <= least + least / ALIKE);
        let Some(Way { way, rows, breaches, .. }) = alike.max_by_key(|way| way.length) else {
            return Err(SeamError::NoOverlap);
        };
        // A few breaches are in the corners, where the pictures' edges cross.
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
