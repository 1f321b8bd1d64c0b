//! Displacements of the cameras of a warp, on a coarse grid over the panorama. [`ops::refine`](crate::ops::refine)
//! measures them.

use glam::{UVec2, Vec2};

/// The displacements of all cameras on a coarse grid over the panorama.
#[derive(Clone, Debug, PartialEq)]
pub struct Refinement {
    size: UVec2,
    nodes: UVec2,
    spacing: f32,
    shifts: Vec<Vec<Vec2>>,
}

impl Refinement {
    /// Creates the displacements in a panorama of `size` pixels. `shifts` has a list for each camera, with an element
    /// for each of the `nodes`, row by row.
    pub(crate) fn new(size: UVec2, nodes: UVec2, spacing: f32, shifts: Vec<Vec<Vec2>>) -> Self {
        debug_assert!(shifts.iter().all(|own| own.len() == nodes.element_product() as usize));
        Self { size, nodes, spacing, shifts }
    }

    /// Returns the size of the panorama in pixels.
    #[must_use]
    pub fn size(&self) -> UVec2 {
        self.size
    }

    /// Returns the number of cameras.
    #[must_use]
    pub fn cameras(&self) -> usize {
        self.shifts.len()
    }

    /// Returns the distance between the nodes of the grid, in panorama pixels. The first node is at the first pixel.
    #[must_use]
    pub fn spacing(&self) -> f32 {
        self.spacing
    }

    /// Returns the number of columns and rows of the grid.
    #[must_use]
    pub fn nodes(&self) -> UVec2 {
        self.nodes
    }

    /// Returns the displacements of a camera in panorama pixels, row by row. At panorama position `p`, the camera shows
    /// what it showed at `p + shift` before.
    ///
    /// # Panics
    /// Panics if there is no such camera.
    #[must_use]
    pub fn shifts(&self, camera: usize) -> &[Vec2] {
        &self.shifts[camera]
    }

    /// Returns the largest displacement of a camera, in panorama pixels.
    #[must_use]
    pub fn largest(&self) -> f32 {
        self.shifts.iter().flatten().map(|shift| shift.length()).fold(0.0, f32::max)
    }

    /// Returns the displacements after a step from these ones towards those of `target`: a part of the difference, and
    /// at most `most` pixels. Call it at regular intervals to follow moving objects without visible jumps.
    ///
    /// # Panics
    /// Panics if both differ in the number of cameras or in the grid.
    #[must_use]
    pub fn towards(&self, target: &Self, part: f32, most: f32) -> Self {
        let grid = |of: &Self| (of.size, of.nodes, of.spacing, of.shifts.len());
        assert_eq!(grid(self), grid(target));
        let step =
            |(from, to): (&Vec2, &Vec2)| *from + (part * (*to - *from)).clamp_length_max(most);
        let shifts = self.shifts.iter().zip(&target.shifts);
        let shifts = shifts.map(|(from, to)| from.iter().zip(to).map(step).collect()).collect();
        Self { shifts, ..*self }
    }
}
