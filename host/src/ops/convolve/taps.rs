//! The taps of a filter along one axis: given numbers, a Gaussian, or its derivative.

use shared_types::convolve::{CONSTANT_TAPS, ConstantTaps, MAX_WIDTH};

use super::ConvolveError;

/// Values below this fraction of the filter's maximum are cut off, as in the KLT library.
const TAIL: f32 = 0.01;

/// Taps of a filter along one axis: an odd number of finite values.
#[derive(Clone, Debug, PartialEq)]
pub struct Taps(Vec<f32>);

impl Taps {
    /// Creates a filter: `out[i] = Σ_j in[i − r + j] · taps[k − 1 − j]` for `k` taps with `r = (k − 1) / 2`. The first
    /// tap thus multiplies the element to the right, or below.
    ///
    /// # Errors
    /// Returns [`ConvolveError::Width`] or [`ConvolveError::NotFinite`].
    pub fn new(taps: impl Into<Vec<f32>>) -> Result<Self, ConvolveError> {
        let taps = taps.into();
        if taps.len().is_multiple_of(2) || taps.len() > MAX_WIDTH as usize {
            return Err(ConvolveError::Width { width: taps.len() });
        }
        match taps.iter().position(|tap| !tap.is_finite()) {
            Some(index) => Err(ConvolveError::NotFinite { index, tap: taps[index] }),
            None => Ok(Self(taps)),
        }
    }

    /// Creates a Gaussian: `exp(−i² / 2σ²)` down to 1 % of its maximum, normalised to sum 1.
    ///
    /// Equal to the last bit to the KLT library (Birchfield, version 1.3.4, `convolve.c`).
    ///
    /// # Errors
    /// Returns [`ConvolveError::Sigma`].
    pub fn gaussian(sigma: f32) -> Result<Self, ConvolveError> {
        check_sigma(sigma)?;
        let mut taps = cut_off(sigma, 0, 1.0, |i| gauss(sigma, i));
        let sum: f32 = taps.iter().sum();
        taps.iter_mut().for_each(|tap| *tap /= sum);
        Ok(Self(taps))
    }

    /// Creates the derivative of a Gaussian: `−i·exp(−i² / 2σ²)` down to 1 % of its maximum, at least three taps,
    /// scaled so that a ramp of slope 1 gives 1.
    ///
    /// Equal to the last bit to the KLT library, which has no filter of less than three taps.
    ///
    /// # Errors
    /// Returns [`ConvolveError::Sigma`].
    pub fn gaussian_derivative(sigma: f32) -> Result<Self, ConvolveError> {
        check_sigma(sigma)?;
        let largest = (f64::from(sigma) * f64::exp(-0.5)) as f32;
        let mut taps = cut_off(sigma, 1, largest, |i| -(i as f32) * gauss(sigma, i));
        let radius = (taps.len() / 2) as i32;
        let slope = (-radius..).zip(&taps).fold(0.0, |sum, (i, tap)| sum - i as f32 * tap);
        taps.iter_mut().for_each(|tap| *tap /= slope);
        Ok(Self(taps))
    }

    /// Returns the number of taps; odd.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.0.len() as u32
    }

    /// Returns the taps as given.
    #[must_use]
    pub fn as_slice(&self) -> &[f32] {
        &self.0
    }

    /// Returns the taps in the order of the picture's elements.
    pub(super) fn reversed(&self) -> Vec<f32> {
        self.0.iter().rev().copied().collect()
    }

    /// Returns the taps as a launch argument, if there are few enough.
    pub(super) fn constant(&self) -> Option<ConstantTaps> {
        let mut taps = [0.0; CONSTANT_TAPS as usize];
        taps.get_mut(..self.0.len())?.copy_from_slice(&self.reversed());
        Some(ConstantTaps { taps, width: self.width() })
    }
}

fn check_sigma(sigma: f32) -> Result<(), ConvolveError> {
    if (0.1..=1000.0).contains(&sigma) { Ok(()) } else { Err(ConvolveError::Sigma { sigma }) }
}

/// Computes a weight with the KLT library's arithmetic: a quotient in f32, its exponential in f64.
fn gauss(sigma: f32, i: i32) -> f32 {
    f64::from(-(i * i) as f32 / (2.0 * sigma * sigma)).exp() as f32
}

/// Returns the values at `−radius..=radius`, for the smallest radius of at least `least` beyond which all are below
/// [`TAIL`] of `largest`.
fn cut_off(sigma: f32, least: i32, largest: f32, value: impl Fn(i32) -> f32) -> Vec<f32> {
    // Both functions fall below 1e-4 before, and decrease from there on.
    let far = (5.0 * sigma).ceil() as i32 + 1;
    let radius = (least..=far).rev().find(|&i| (value(i) / largest).abs() >= TAIL);
    let radius = radius.unwrap_or(least);
    (-radius..=radius).map(value).collect()
}
