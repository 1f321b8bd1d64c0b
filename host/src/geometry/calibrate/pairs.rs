//! Pairs of pictures with their correspondences, and the figures of a pair.

use super::Correspondence;

/// Two of several pictures and what they may have in common.
#[derive(Clone, Debug, PartialEq)]
pub struct PhotoPair {
    /// Number of the left picture.
    pub left: usize,
    /// Number of the right picture.
    pub right: usize,
    /// Points that may be the same in both.
    pub correspondences: Vec<Correspondence>,
}

/// How two of several pictures fit in the end; see [`Calibration`](super::Calibration) for the figures.
#[derive(Clone, Debug, PartialEq)]
pub struct PairFigures {
    /// Number of the left picture.
    pub left: usize,
    /// Number of the right picture.
    pub right: usize,
    /// How many different correspondences there were.
    pub matches: usize,
    /// Which correspondences agree with the model of all pictures, by their place in the pair's, in that order.
    pub inliers: Vec<usize>,
    /// Root mean square of their distance, in pixels of the left picture.
    pub rms_px: f64,
    /// Fraction of the left picture that the right one sees, and of the right that the left one sees.
    pub overlap: [f64; 2],
    /// Fraction of the overlap that has inliers.
    pub coverage: f64,
    /// Expected misalignment in the overlap, in pixels of the left picture.
    pub seam_error_px: f64,
}
