//! Features to track, as the KLT library chooses them: pixels around which the picture changes along both axes.
//!
//! Luma, smoothing, gradients and the smaller eigenvalue of their products over a window are kernels; a
//! [`Detector`] keeps their pictures from call to call and leaves them on the device for whoever goes on
//! from there. Which eigenvalues become features is decided on the host, by [`select`].
//! [`good_features`] does everything for one picture.
//!
//! Nothing is tracked or matched here.

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

/// What makes a feature. The defaults are those of the KLT library.
#[derive(Clone, Debug, PartialEq)]
pub struct FeatureOptions {
    /// Most features that are chosen.
    pub count: usize,
    /// Side in pixels of the window around a feature: odd, 3 to 31.
    pub window: u32,
    /// Features are at least so many pixels apart, along one axis or the other.
    pub min_distance: u32,
    /// Smallest eigenvalue of a feature, in squared levels a pixel summed up over the window; what is
    /// under 1 counts as 1.
    pub min_eigenvalue: f32,
    /// Pixels along each edge without features; at least half the window.
    pub border: u32,
    /// Whether the picture is smoothed before gradients are taken, by a Gaussian whose standard deviation is a
    /// tenth of the window.
    pub smooth: bool,
    /// Standard deviation of the Gaussian whose derivatives make the gradients, in pixels: 0.1 to 1000.
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

/// A feature: where it is, and how much the picture changes around it.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Feature {
    /// Column.
    pub x: u32,
    /// Row.
    pub y: u32,
    /// The smaller eigenvalue there.
    pub value: f32,
}

/// Picture and options do not go together, or the device failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FeatureError {
    /// A window without a middle, too small or too large.
    #[error("finding features: the window is {window} pixels; it is odd, 3 to {MAX_WINDOW}")]
    Window {
        /// Its side in pixels.
        window: u32,
    },
    /// A smallest eigenvalue that is no number.
    #[error("finding features: the smallest eigenvalue is {value}; it is a number")]
    MinEigenvalue {
        /// What was given.
        value: f32,
    },
    /// A picture of another size than the detector's.
    #[error(
        "finding features: the picture is {}×{} pixels but the detector was made for {}×{}", found.x, found.y, expected.x, expected.y
    )]
    Size {
        /// The picture's size.
        found: UVec2,
        /// The detector's.
        expected: UVec2,
    },
    /// A picture of more pixels than can be numbered.
    #[error("finding features: {}×{} pixels are too many; use a smaller picture", size.x, size.y)]
    TooLarge {
        /// The picture's size.
        size: UVec2,
    },
    /// A Gaussian that there is not, or the device failed.
    #[error(transparent)]
    Convolve(#[from] ConvolveError),
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

impl FeatureOptions {
    /// Checks window and smallest eigenvalue.
    ///
    /// # Errors
    /// [`FeatureError::Window`] or [`FeatureError::MinEigenvalue`].
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

/// Finds the features of one picture, the best first, and waits for them.
///
/// # Errors
/// [`FeatureError`].
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
