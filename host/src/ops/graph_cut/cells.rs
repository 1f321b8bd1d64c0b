//! The coarse grid on which cuts are computed, and the view of each camera in its cells.

use glam::{UVec2, Vec2, Vec3};
use rayon::prelude::*;
use shared_types::Rgba8;
use shared_types::colour::OverlapBox;

use crate::io::picture::{Picture, Pixel};

/// Minimum side of a cell in pixels. A cut follows outlines to within half of it.
const LEAST_CELL: u32 = 8;

/// Maximum number of cells. More cells would take seconds per camera.
const MOST_CELLS: u32 = 1 << 16;

/// The smallest level of a channel that counts as clipped. It is higher than the limits of colour matching, because a
/// pixel that wrongly counts as clipped moves the cut, and a missed one changes nothing.
const CLIPPED: u8 = 254;

/// Spacing in pixels of the samples in a cell.
pub(crate) const SPACING: u32 = 2;

/// A grid of square cells over a panorama.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CellGrid {
    /// Width and height of the panorama in pixels.
    pub(crate) panorama: UVec2,
    /// The side of a cell in pixels.
    pub(crate) cell: u32,
}

impl CellGrid {
    /// Returns the finest grid for a panorama that does not have too many cells.
    pub(crate) fn new(panorama: UVec2) -> Self {
        let mut grid = Self { panorama, cell: LEAST_CELL };
        while grid.cells().element_product() > MOST_CELLS {
            grid.cell += grid.cell / 4;
        }
        grid
    }

    /// Returns the numbers of columns and rows of cells.
    pub(crate) fn cells(&self) -> UVec2 {
        UVec2::new(self.panorama.x.div_ceil(self.cell), self.panorama.y.div_ceil(self.cell))
    }
}

/// A cell in the view of one camera.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CellMeans {
    /// The mean colour in levels from 0 to 255.
    pub(super) levels: Vec3,
    /// The mean distance in source pixels from the edge of the camera's picture. It is 0 if the camera does not see the
    /// cell.
    pub(super) margin: f32,
    /// The number of samples that the camera sees.
    pub(super) seen: u32,
    /// The number of these samples that are clipped in the camera's picture.
    pub(super) clipped: u32,
}

impl CellMeans {
    /// Returns the fraction of the samples that are clipped, from 0 to 1.
    pub(super) fn clipped(&self) -> f32 {
        self.clipped as f32 / self.seen.max(1) as f32
    }
}

/// The planes of one camera, row by row: the source column and row of each pixel, and the distance in source pixels
/// from the edge of the camera's picture, which is 0 at pixels that the camera does not see.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SourcePlanes<'a> {
    /// The panorama pixel of the first element.
    pub(crate) first: UVec2,
    /// The number of panorama pixels from an element to the next, along both axes: 1 or [`SPACING`].
    pub(crate) step: u32,
    /// The number of elements of a row.
    pub(crate) width: usize,
    pub(crate) x: &'a [f32],
    pub(crate) y: &'a [f32],
    pub(crate) margin: &'a [f32],
}

/// The part of the grid that a camera sees.
#[derive(Clone, Debug)]
pub(crate) struct CellView {
    /// The first cell, and the cell after the last one, on both axes.
    pub(super) place: OverlapBox,
    means: Vec<CellMeans>,
}

impl CellView {
    /// Samples the picture of a camera in each cell of the grid. `levels` returns the corrected levels of a pixel at a
    /// position in the picture.
    pub(crate) fn new<P: Pixel>(
        grid: &CellGrid,
        picture: &Picture<P>,
        planes: SourcePlanes<'_>,
        levels: impl Fn(Rgba8, Vec2) -> Vec3 + Sync,
    ) -> Self {
        let cells = grid.cells();
        let mut means = vec![CellMeans::default(); cells.element_product() as usize];
        let SourcePlanes { first, step, width, .. } = planes;
        debug_assert!(first % SPACING == UVec2::ZERO);
        let (stride, height) = ((SPACING / step) as usize, planes.margin.len() / width.max(1));
        // Returns the first row of samples in a row of cells or after it.
        let row = |cell: u32| {
            let rows = (cell * grid.cell).saturating_sub(first.y).div_ceil(step) as usize;
            rows.next_multiple_of(stride).min(height)
        };
        means.par_chunks_exact_mut(cells.x as usize).zip(0..cells.y).for_each(|(means, cell)| {
            for y in (row(cell)..row(cell + 1)).step_by(stride) {
                for x in (0..width).step_by(stride) {
                    let at = y * width + x;
                    let margin = planes.margin[at];
                    if margin > 0.0 {
                        let mean = &mut means[((first.x + x as u32 * step) / grid.cell) as usize];
                        let place = Vec2::new(planes.x[at], planes.y[at]);
                        let pixel = nearest(picture, place);
                        mean.levels += levels(pixel, place);
                        mean.clipped += u32::from(pixel.r.max(pixel.g).max(pixel.b) >= CLIPPED);
                        mean.margin += margin;
                        mean.seen += 1;
                    }
                }
            }
        });
        let mut place = OverlapBox::EMPTY;
        for (i, _) in (0..).zip(&means).filter(|(_, mean)| mean.seen > 0) {
            let cell = UVec2::new(i % cells.x, i / cells.x);
            place = OverlapBox { min: place.min.min(cell), max: place.max.max(cell + 1) };
        }
        if place.is_empty() {
            return Self { place, means: Vec::new() };
        }
        // Keep only the part that the camera sees.
        let row =
            |y: u32| &means[(y * cells.x + place.min.x) as usize..][..place.size().x as usize];
        let mut means: Vec<CellMeans> = (place.min.y..place.max.y).flat_map(row).copied().collect();
        for mean in means.iter_mut().filter(|mean| mean.seen > 0) {
            mean.levels /= mean.seen as f32;
            mean.margin /= mean.seen as f32;
        }
        Self { place, means }
    }

    /// Returns a cell, or `None` if the camera does not see any of it.
    pub(super) fn mean(&self, cell: UVec2) -> Option<&CellMeans> {
        if !self.place.contains(cell) {
            return None;
        }
        let at = cell - self.place.min;
        Some(&self.means[(at.y * self.place.size().x + at.x) as usize]).filter(|mean| mean.seen > 0)
    }
}

/// Returns the pixel nearest to a position, with 8 bits per channel.
fn nearest<P: Pixel>(picture: &Picture<P>, place: Vec2) -> Rgba8 {
    let last = picture.size() - 1;
    let at = place.round().max(Vec2::ZERO).as_uvec2().min(last);
    picture.pixels()[at.y as usize * picture.width() as usize + at.x as usize].into()
}
