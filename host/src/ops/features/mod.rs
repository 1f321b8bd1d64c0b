//! Trackable features as the KLT library selects them: pixels whose neighbourhood changes along both axes.
//!
//! Kernels compute luma, smoothing, gradients and the smaller eigenvalue of their products over a window. A
//! [`Detector`] keeps the images between calls and leaves them on the device for further use. [`select`] decides on
//! the host which eigenvalues become features. [`good_features`] does everything for one picture.
//!
//! Tracking and matching are elsewhere.

mod detector;
mod select;

use cuda_std::DeviceView;
use glam::UVec2;
use shared_types::Rgba8;
pub use shared_types::features::MAX_WINDOW;
use thiserror::Error;

use crate::device::{DeviceError, Stream};
use crate::ops::convolve::ConvolveError;

pub use detector::Detector;
pub use select::select;

/// Options of feature selection. The defaults are the KLT library's.
#[derive(Clone, Debug, PartialEq)]
pub struct FeatureOptions {
    /// Maximum number of features.
    pub count: usize,
    /// Side of the window around a feature, in pixels: odd, 3 to 31.
    pub window: u32,
    /// Minimum distance of features, in pixels along x or y.
    pub min_distance: u32,
    /// Minimum eigenvalue of a feature, in squared levels per pixel, summed over the window; values below 1 count as
    /// 1.
    pub min_eigenvalue: f32,
    /// Width of the border without features, in pixels; at least half the window.
    pub border: u32,
    /// Whether the picture is smoothed before gradients are computed, by a Gaussian with a standard deviation of a
    /// tenth of the window.
    pub smooth: bool,
    /// Standard deviation of the Gaussian whose derivatives are the gradients, in pixels: 0.1 to 1000.
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

/// A feature: its pixel, and the strength of its neighbourhood.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Feature {
    /// Column.
    pub x: u32,
    /// Row.
    pub y: u32,
    /// The smaller eigenvalue at this pixel.
    pub value: f32,
}

/// Picture and options do not match, or the device failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FeatureError {
    /// The window is even, too small or too large.
    #[error("finding features: the window is {window} pixels; it is odd, 3 to {MAX_WINDOW}")]
    Window {
        /// Its side in pixels.
        window: u32,
    },
    /// The minimum eigenvalue is not a number.
    #[error("finding features: the smallest eigenvalue is {value}; it is a number")]
    MinEigenvalue {
        /// The value given.
        value: f32,
    },
    /// The picture has another size than the detector.
    #[error(
        "finding features: the picture is {}×{} pixels but the detector was made for {}×{}", found.x, found.y, expected.x, expected.y
    )]
    Size {
        /// The picture's size.
        found: UVec2,
        /// The detector's size.
        expected: UVec2,
    },
    /// The picture has more pixels than can be numbered.
    #[error("finding features: {}×{} pixels are too many; use a smaller picture", size.x, size.y)]
    TooLarge {
        /// The picture's size.
        size: UVec2,
    },
    /// The Gaussian is invalid, or the device failed.
    #[error(transparent)]
    Convolve(#[from] ConvolveError),
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

impl FeatureOptions {
    /// Checks window and minimum eigenvalue.
    ///
    /// # Errors
    /// Returns [`FeatureError::Window`] or [`FeatureError::MinEigenvalue`].
    pub fn check(&self) -> Result<(), FeatureError> {
        let window = self.window;
        if window.is_multiple_of(2) || !(3..=MAX_WINDOW).contains(&window) {
            return Err(FeatureError::Window { window });
        }
        if self.min_eigenvalue.is_nan() {
            return Err(FeatureError::MinEigenvalue { value: self.min_eigenvalue });
        }
        Ok(())
    }
}

/// Finds the features of one picture, best first, and waits for them.
///
/// # Errors
/// Returns [`FeatureError`] if options or picture are invalid, or the device fails.
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
