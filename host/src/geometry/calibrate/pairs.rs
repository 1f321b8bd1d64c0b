//! Pairs of pictures with their correspondences, and the quality figures of a pair.

use super::Correspondence;

/// Two of several pictures, with candidate correspondences.
#[derive(Clone, Debug, PartialEq)]
pub struct PhotoPair {
    /// Index of the left picture.
    pub left: usize,
    /// Index of the right picture.
    pub right: usize,
    /// Points in both pictures that may show the same point of the scene.
    pub correspondences: Vec<Correspondence>,
}

/// The quality figures of two of several pictures after the fit. [`Calibration`](super::Calibration) explains them.
#[derive(Clone, Debug, PartialEq)]
pub struct PairFigures {
    /// Index of the left picture.
    pub left: usize,
    /// Index of the right picture.
    pub right: usize,
    /// The number of distinct correspondences.
    pub matches: usize,
    /// Indices, within the pair, of the correspondences that agree with the model of all pictures.
    pub inliers: Vec<usize>,
    /// Root mean square distance of the inliers, in pixels of the left picture.
    pub rms_px: f64,
    /// Fraction of the left picture that the right one sees, and vice versa.
    pub overlap: [f64; 2],
    /// Fraction of the overlap that has inliers.
    pub coverage: f64,
    /// Expected misalignment in the overlap, in pixels of the left picture.
    pub seam_error_px: f64,
}
