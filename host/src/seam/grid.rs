//! The grid of cells that a seam is searched on: how fine it is, and which way the seam runs.

use glam::UVec2;
use kernels_gpu::seam::{SeamCells, SeamSides};
use shared_types::colour::OverlapBox;
use shared_types::seam::{BLOCK, BLOCK_THREADS, BREACH, PLACES, SeamCosts, SeamGrid, Sees};
use shared_types::stitch::MIN_WEIGHT;

use super::SeamError;
use super::find::Search;
use crate::colour::find_box;
use crate::device::{Buffer, DeviceError, Image, LaunchConfig, Stream};
use crate::warp::{DeviceWarp, of_warp};

/// Most cells across while only the seam's direction is looked for.
const COARSE: u32 = 64;

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
        stream.launch(&cover(grid.cells()), &of_warp!(SeamCells, warp, grid, out))?;
        let config = LaunchConfig::cover(along, 1, [BLOCK_THREADS, 1]);
        stream.launch(&config, &SeamSides { cells: cells.view(), out: sides.view_mut() })?;
        Ok(Self { grid, cells, sides })
    }

    /// The finest grid, along the direction in which pictures that are the same everywhere have the
    /// cheapest path: that is a short one without breaches. Waits.
    pub(super) fn best(stream: &Stream, warp: &DeviceWarp) -> Result<Self, SeamError> {
        warp.await_ready(stream)?;
        let place = find_box(stream, warp, MIN_WEIGHT)?;
        if place.is_empty() {
            return Err(SeamError::NoOverlap);
        }
        let mut found: Option<([bool; 2], SeamCosts, u32)> = None;
        for way in [[false, false], [false, true], [true, false], [true, true]] {
            let coarse = Self::new(stream, warp, grid(place, warp.size(), way, COARSE))?;
            if found.is_none() {
                coarse.check_both_alone(stream)?;
            }
            let rows = coarse.grid.cells().y;
            let mut search = Search::new(stream, coarse)?;
            // Nothing was compared: the cameras show the same everywhere.
            let nowhere = Buffer::new(stream.device(), rows)?;
            search.find(stream, &nowhere, false)?;
            let costs = search.costs(stream)?;
            if found.is_none_or(|(_, least, _)| costs.best < least.best) {
                found = Some((way, costs, rows));
            }
        }
        let Some((way, costs, rows)) = found else { return Err(SeamError::NoOverlap) };
        let breaches = costs.breaches / BREACH;
        // A few are in the corners, where the pictures' edges cross.
        if breaches > (rows / 4).max(8) {
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
