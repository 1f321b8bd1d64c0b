//! Finds trackable features like the KLT library: pixels whose neighbourhood varies along both axes.
//!
//! Kernels compute luma, a smoothed picture, its gradients, and for each pixel the smaller eigenvalue of the gradients'
//! second-moment matrix over a window. A [`Detector`] reuses its images between calls, and callers can read them on the
//! device. [`select`] selects features from the map of eigenvalues on the host. [`good_features`] finds the features of
//! one picture in one call.
//!
//! This module does not track or match features; see [`matching`](crate::ops::matching).

mod detector;
mod select;

use cuda_std::DeviceView;
use glam::UVec2;
use shared_types::Rgba8;
pub use shared_types::features::MAX_WINDOW;

use crate::device::Stream;
use crate::error::operation_error;
use crate::ops::convolve::ConvolveError;

pub use detector::Detector;
pub use select::select;

/// The maximum of [`FeatureOptions::gradient_sigma`]. The time grows with sigma; to find coarser features, use a
/// smaller picture.
pub const MAX_GRADIENT_SIGMA: f32 = 32.0;

/// Options for finding features. The defaults are those of the KLT library.
#[derive(Clone, Debug, PartialEq)]
pub struct FeatureOptions {
    /// The maximum number of features.
    pub count: usize,
    /// The side of the square window over which a feature's gradients are summed, in pixels.
    pub window: u32,
    /// The minimum distance between two features, in pixels. Two features are at least this far apart along x or along
    /// y.
    pub min_distance: u32,
    /// The minimum eigenvalue of a feature. It is a sum over the window, in (levels per pixel)². Values below 1 are
    /// replaced by 1.
    pub min_eigenvalue: f32,
    /// The width of the border without features, in pixels. A [`Detector`] replaces values below the sum of half the
    /// widths of its filters and of the window by this sum (8 pixels by default), because gradients near the edge of the
    /// picture are those of the edge. [`select`] replaces values below half the window by half the window.
    pub border: u32,
    /// Whether the picture is smoothed before gradients are computed. The Gaussian's standard deviation is a tenth of
    /// the window.
    pub smooth: bool,
    /// The standard deviation in pixels of the Gaussian whose derivatives compute the gradients: 0.1 to
    /// [`MAX_GRADIENT_SIGMA`].
    pub gradient_sigma: f32,
}

impl Default for FeatureOptions {
    fn default() -> Self {
        Self {
            count: 100,
            window: 7,
            min_distance: 10,
            min_eigenvalue: 1.0,
            border: 24,
            smooth: true,
            gradient_sigma: 1.0,
        }
    }
}

/// A feature: a pixel and its eigenvalue.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Feature {
    /// The pixel's column, from 0 at the left.
    pub x: u32,
    /// The pixel's row, from 0 at the top.
    pub y: u32,
    /// The smaller eigenvalue at this pixel, in (levels per pixel)².
    pub value: f32,
}

operation_error! {
    /// The error if the options or the picture are invalid, or the device failed.
    FeatureError: "finding features: {0}",
    /// A convolution failed.
    Convolve(ConvolveError)
}

impl FeatureOptions {
    /// Checks the window, the gradient sigma and the minimum eigenvalue.
    ///
    /// # Errors
    /// Returns [`FeatureError`] unless the sigma is 0.1 to [`MAX_GRADIENT_SIGMA`], the window is odd and from 3 to
    /// [`MAX_WINDOW`], and the minimum eigenvalue is a number.
    pub fn check(&self) -> Result<(), FeatureError> {
        let (window, sigma, value) = (self.window, self.gradient_sigma, self.min_eigenvalue);
        let reason = if window.is_multiple_of(2) || !(3..=MAX_WINDOW).contains(&window) {
            format!("the window is {window} pixels; it must be odd and 3 to {MAX_WINDOW}")
        } else if !(0.1..=MAX_GRADIENT_SIGMA).contains(&sigma) {
            format!(
                "the gradient sigma is {sigma} pixels; it must be 0.1 to {MAX_GRADIENT_SIGMA}; to find coarser features, \
                 use a smaller picture"
            )
        } else if value.is_nan() {
            format!("the minimum eigenvalue is {value}; it must be a number")
        } else {
            return Ok(());
        };
        Err(FeatureError::Invalid(reason))
    }
}

/// Finds the features of one picture, and waits for the result. The best feature is first.
///
/// # Errors
/// Returns [`FeatureError`] if the options or the picture are invalid, or the device fails.
#[track_caller]
pub fn good_features(
    stream: &Stream,
    picture: DeviceView<'_, Rgba8>,
    options: &FeatureOptions,
) -> Result<Vec<Feature>, FeatureError> {
    let (width, height) = picture.size();
    let mut detector = Detector::new(stream, UVec2::new(width, height), options)?;
    detector.submit(stream, picture)?;
    Ok(detector.features(stream)?)
}
