//! Submits the search for the cheapest path on a grid of cells. The kernels in `kernels_gpu::seam` define the costs.

use super::SeamOptions;
use crate::device::{Buffer, DeviceError, Image, LaunchConfig, Stream};
use crate::ops::seam::gridded::{Gridded, cover};
use glam::{UVec2, Vec2, Vec4};
use kernels_gpu::seam::{SeamCost, SeamPath};
use shared_types::seam::{PLACES, SeamCosts};

/// A search for the cheapest path on a grid, with its device memory. Only one search at a time may use it.
#[derive(Debug)]
pub(super) struct Search {
    pub(super) gridded: Gridded,
    /// Half the feather, in cells. The path keeps approximately this distance from areas in which the pictures differ.
    pub(super) reach: u32,
    pub(super) difference: Image<Vec4>,
    /// The level of each cell in the last compared frames, and its change.
    pub(super) motion: Image<Vec2>,
    pub(super) cost: Image<u32>,
    pub(super) parent: Image<u16>,
    pub(super) found: Buffer<u32>,
    pub(super) costs: Buffer<SeamCosts>,
}

impl Search {
    pub(super) fn new(
        stream: &Stream,
        gridded: Gridded,
        options: SeamOptions,
    ) -> Result<Self, DeviceError> {
        let reach = (0.5 * options.feather / gridded.grid.cell as f32).round().max(1.0) as u32;
        let (device, UVec2 { x: across, y: along }) = (stream.device(), gridded.grid.cells());
        Ok(Self {
            gridded,
            reach,
            difference: Image::new(device, across, along)?,
            motion: Image::new(device, across, along)?,
            cost: Image::new(device, across, along)?,
            parent: Image::new(device, across + 1, along)?,
            found: Buffer::new(device, along)?,
            costs: Buffer::new(device, 1)?,
        })
    }

    /// Submits the search for the cheapest path, based on the `difference` of the last compared frames. Also computes
    /// the cost of the path `current`. If `biased` is true, the search prefers positions near `current`.
    pub(super) fn find(
        &mut self,
        stream: &Stream,
        current: &Buffer<u32>,
        biased: bool,
    ) -> Result<(), DeviceError> {
        let Gridded { grid, cells, sides } = &self.gridded;
        let (cells, difference) = (cells.view(), self.difference.view());
        let (reach, out) = (self.reach, self.cost.view_mut());
        stream.launch(&cover(grid.cells()), &SeamCost { cells, difference, reach, out })?;
        let kernel = SeamPath {
            cost: self.cost.view(),
            sides: sides.view(),
            current: current.view(),
            biased: biased.into(),
            parent: self.parent.view_mut(),
            best: self.found.view_mut(),
            costs: self.costs.view_mut(),
        };
        let config = LaunchConfig { grid: [1; 3], block: [PLACES, 1, 1], dynamic_shared: 0 };
        // SAFETY: the launch has one block with the number of threads that the kernel requires, `PLACES`. The sum of
        // costs along a path fits into 32 bits, because `SeamCost` limits each cost, and a panorama has at most 32,768
        // rows and columns.
        unsafe { stream.launch_unchecked(&config, &kernel) }
    }

    /// Waits for the last search and returns its costs.
    pub(super) fn costs(&self, stream: &Stream) -> Result<SeamCosts, DeviceError> {
        Ok(self.costs.download(stream)?[0])
    }
}
