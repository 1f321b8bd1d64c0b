//! The input and the output of a bundle calibration for one pair of pictures: its correspondences and its quality
//! figures.

use super::Correspondence;

/// A pair of pictures, and its candidate correspondences.
#[derive(Clone, Debug, PartialEq)]
pub struct PhotoPair {
    /// Index of the left picture.
    pub left: usize,
    /// Index of the right picture.
    pub right: usize,
    /// Points in both pictures that may show the same point of the scene.
    pub correspondences: Vec<Correspondence>,
}

/// The quality figures of one pair of pictures for a model that was fitted to several pictures.
/// [`Calibration`](super::Calibration) explains the figures.
#[derive(Clone, Debug, PartialEq)]
pub struct PairFigures {
    /// Index of the left picture.
    pub left: usize,
    /// Index of the right picture.
    pub right: usize,
    /// The number of distinct correspondences.
    pub matches: usize,
    /// Indices, in [`PhotoPair::correspondences`], of the inliers: the correspondences that agree with the model of all
    /// pictures.
    pub inliers: Vec<usize>,
    /// Root mean square distance of the inliers from the model, in pixels of the left picture.
    pub rms_px: f64,
    /// Fraction of the left picture that the right one also shows, then the fraction of the right picture that the left
    /// one also shows. Both are from 0 to 1.
    pub overlap: [f64; 2],
    /// Fraction of the overlap that has inliers, counted in square cells, from 0 to 1.
    pub coverage: f64,
    /// Expected misalignment in the overlap, in pixels of the left picture.
    pub seam_error_px: f64,
    /// Whether `seam_error_px` is so large that outlines may be broken at the seam, mostly because of parallax.
    pub misaligned: bool,
}
