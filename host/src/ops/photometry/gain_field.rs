//! A gain field: a factor of light that varies smoothly over a picture; see [`FieldGrid`].
//!
//! It corrects what exposure, vignetting and response do not explain, such as haze, flare, clouds that move between two
//! shots, and a sky whose polarisation changes with the direction. `fit` estimates it.

use glam::{UVec2, Vec2};
use kernels_gpu::photometry::field_weights;
use shared_types::photometry::FieldGrid;

/// The number of cells along the longer side of a picture.
const CELLS: u32 = 8;

/// A factor of light that varies smoothly over a picture. The default has the factor 1 everywhere.
#[derive(Clone, Debug, PartialEq)]
pub struct GainField {
    grid: FieldGrid,
    /// The factor of each node. The default, which has no grid, has one element, because a buffer must not be empty.
    nodes: Vec<f32>,
}

impl Default for GainField {
    fn default() -> Self {
        Self { grid: FieldGrid::default(), nodes: vec![1.0] }
    }
}

impl GainField {
    /// Returns the field with these factors of the nodes of a [`grid`].
    pub(super) fn new(grid: FieldGrid, nodes: Vec<f32>) -> Self {
        debug_assert_eq!(grid.count() as usize, nodes.len());
        Self { grid, nodes }
    }

    /// Returns whether the factor is 1 everywhere.
    #[must_use]
    pub fn is_uniform(&self) -> bool {
        self.nodes.iter().all(|node| *node == 1.0)
    }

    /// Returns the factor at a position in the picture: the column and row in pixels, which are integers at the middle
    /// of a pixel.
    #[must_use]
    pub fn factor(&self, place: Vec2) -> f32 {
        if self.grid == FieldGrid::default() {
            return 1.0;
        }
        let taps = taps(&self.grid, place).map(|(node, weight)| weight as f32 * self.nodes[node]);
        taps.iter().sum()
    }

    /// Returns the field of the same picture at another size.
    pub(super) fn resized(&self, size: UVec2) -> Self {
        let mut field = self.clone();
        if field.grid.nodes != UVec2::ZERO {
            field.grid.cells_per_pixel = cells_per_pixel(size);
        }
        field
    }

    /// Returns bounds of the factor: the smallest and the largest factor of a node.
    #[must_use]
    pub fn limits(&self) -> [f32; 2] {
        let limits = |[least, most]: [f32; 2], node: &f32| [least.min(*node), most.max(*node)];
        self.nodes.iter().fold([f32::INFINITY, f32::NEG_INFINITY], limits)
    }

    /// Returns the grid and the factors of its nodes, for a kernel.
    pub(super) fn parts(&self) -> (FieldGrid, &[f32]) {
        (self.grid, &self.nodes)
    }
}

/// Returns the grid for a picture of `size` pixels, which must not be empty.
pub(super) fn grid(size: UVec2) -> FieldGrid {
    let longer = size.max_element();
    let cells = (size * CELLS).map(|side| side.div_ceil(longer));
    FieldGrid { nodes: cells + 2, cells_per_pixel: cells_per_pixel(size) }
}

fn cells_per_pixel(size: UVec2) -> f32 {
    CELLS as f32 / size.max_element() as f32
}

/// Returns the nodes on which the factor at a position depends, and their weights. The weights sum to 1.
pub(super) fn taps(grid: &FieldGrid, place: Vec2) -> [(usize, f64); 9] {
    let (x, columns) = field_weights(place.x, grid.cells_per_pixel, grid.nodes.x);
    let (y, rows) = field_weights(place.y, grid.cells_per_pixel, grid.nodes.y);
    std::array::from_fn(|i| {
        let node = (y + i as u32 / 3) * grid.nodes.x + x + i as u32 % 3;
        (node as usize, f64::from(columns[i % 3] * rows[i / 3]))
    })
}
