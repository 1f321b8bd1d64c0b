//! What a fit adjusts: a model that maps points of one picture to another, and the correspondences that it should map.

use glam::{DMat2, DVec2};

/// A correspondence: a point of the scene and its pixels in two pictures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Match {
    /// Indices of the left and the right picture.
    pub(super) link: [usize; 2],
    /// Pixel in the left picture.
    pub(super) left: DVec2,
    /// Pixel in the right picture.
    pub(super) right: DVec2,
    /// Index of the correspondence in the input.
    pub(super) index: usize,
}

/// A map from points of one picture to another.
pub(super) trait Model: Clone + Sync {
    type Link: Link;
    /// Returns the number of free parameters.
    fn freedom(&self) -> usize;
    /// Returns the model after adding `step` to its free parameters. The parameters are scaled such that a step of 1 is
    /// large for each of them.
    fn stepped(&self, step: &[f64]) -> Self;
    /// Returns the map from picture `from` to picture `to`, for derivatives by the free parameters.
    fn link(&self, to: usize, from: usize) -> Self::Link;
    /// Maps a pixel of picture `from` to picture `to`. The result may lie outside the picture. Returns `None` if the
    /// point is behind a camera or beyond a lens limit.
    fn map(&self, to: usize, from: usize, pixel: DVec2) -> Option<DVec2>;
    /// Returns the result of [`map`](Self::map), and its derivative with respect to the pixel.
    fn local(&self, to: usize, from: usize, pixel: DVec2) -> Option<(DVec2, DMat2)>;
}

/// The map from one picture to another, with derivatives by the free parameters.
pub(super) trait Link {
    /// Returns the indices of the free parameters that change this map, at most [`PER_LINK`].
    fn parameters(&self) -> &[usize];
    /// Maps a pixel like [`Model::map`], and writes the derivatives by the [`parameters`](Self::parameters) to
    /// `slopes`.
    fn slopes(&self, pixel: DVec2, slopes: &mut [DVec2]) -> Option<DVec2>;
}
