//! Creates the taps of a filter along one axis: from given numbers, or as a Gaussian or its derivative.

use shared_types::convolve::{CONSTANT_TAPS, ConstantTaps, MAX_WIDTH};

use super::ConvolveError;

/// The fraction of a filter's maximum below which its outer taps are cut off. The KLT library uses the same fraction.
const TAIL: f32 = 0.01;

/// The taps of a filter along one axis: an odd number of finite values.
#[derive(Clone, Debug, PartialEq)]
pub struct Taps(Vec<f32>);

impl Taps {
    /// Creates a filter from its taps. With `k` taps and `r = (k − 1) / 2`, the filter computes
    /// `out[i] = Σ_j in[i − r + j] · taps[k − 1 − j]`. This is a convolution: the first tap multiplies the last
    /// element of the window.
    pub fn new(taps: impl Into<Vec<f32>>) -> Result<Self, ConvolveError> {
        let taps = taps.into();
        let width = taps.len();
        if width.is_multiple_of(2) || width > MAX_WIDTH as usize {
            return Err(ConvolveError::Invalid(format!(
                "making a filter: the number of taps is {width}; it must be odd and at most {MAX_WIDTH}"
            )));
        }
        if let Some(i) = taps.iter().position(|tap| !tap.is_finite()) {
            let text = format!("making a filter: tap {i} is {}; it must be finite", taps[i]);
            return Err(ConvolveError::Invalid(text));
        }
        Ok(Self(taps))
    }

    /// Creates a Gaussian: `exp(−i² / 2σ²)`, cut off below 1 % of its maximum and normalised to a sum of 1.
    ///
    /// The taps are bit-identical to those of the KLT library (Birchfield, version 1.3.4, `convolve.c`).
    pub fn gaussian(sigma: f32) -> Result<Self, ConvolveError> {
        check_sigma(sigma)?;
        let mut taps = cut_off(sigma, 0, 1.0, |i| gauss(sigma, i));
        let sum: f32 = taps.iter().sum();
        taps.iter_mut().for_each(|tap| *tap /= sum);
        Ok(Self(taps))
    }

    /// Creates the derivative of a Gaussian: `−i·exp(−i² / 2σ²)`, cut off below 1 % of its maximum, with at least three
    /// taps. The taps are scaled so that the convolution of a ramp of slope 1 gives 1.
    ///
    /// The taps are bit-identical to those of the KLT library, which has no filters of fewer than three taps.
    pub fn gaussian_derivative(sigma: f32) -> Result<Self, ConvolveError> {
        check_sigma(sigma)?;
        let largest = (f64::from(sigma) * f64::exp(-0.5)) as f32;
        let mut taps = cut_off(sigma, 1, largest, |i| -(i as f32) * gauss(sigma, i));
        let radius = (taps.len() / 2) as i32;
        let slope = (-radius..).zip(&taps).fold(0.0, |sum, (i, tap)| sum - i as f32 * tap);
        taps.iter_mut().for_each(|tap| *tap /= slope);
        Ok(Self(taps))
    }

    /// Returns the number of taps, which is odd.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.0.len() as u32
    }

    /// Returns the taps in the order in which [`new`](Self::new) accepts them.
    #[must_use]
    pub fn as_slice(&self) -> &[f32] {
        &self.0
    }

    /// Returns the taps in reverse order, so that each tap has the index of the window element that it multiplies.
    pub(super) fn reversed(&self) -> Vec<f32> {
        self.0.iter().rev().copied().collect()
    }

    /// Returns the taps as a launch argument, or `None` if there are more than [`CONSTANT_TAPS`].
    pub(super) fn constant(&self) -> Option<ConstantTaps> {
        let mut taps = [0.0; CONSTANT_TAPS as usize];
        taps.get_mut(..self.0.len())?.copy_from_slice(&self.reversed());
        Some(ConstantTaps { taps, width: self.width() })
    }
}

fn check_sigma(sigma: f32) -> Result<(), ConvolveError> {
    if (0.1..=1000.0).contains(&sigma) {
        return Ok(());
    }
    let text = format!("making a Gaussian: sigma is {sigma}; it must be 0.1 to 1000");
    Err(ConvolveError::Invalid(text))
}

/// Returns `exp(−i² / 2σ²)`, computed as in the KLT library: the quotient in f32, the exponential in f64.
fn gauss(sigma: f32, i: i32) -> f32 {
    f64::from(-(i * i) as f32 / (2.0 * sigma * sigma)).exp() as f32
}

/// Returns the values at the integers from `−radius` to `radius`. `radius` is the smallest number, at least `least`,
/// such that all values farther out are below [`TAIL`] times `largest`.
fn cut_off(sigma: f32, least: i32, largest: f32, value: impl Fn(i32) -> f32) -> Vec<f32> {
    // At this distance, the Gaussian and its derivative are below 1e-4 of their maximum, and they decrease further.
    let far = (5.0 * sigma).ceil() as i32 + 1;
    let radius = (least..=far).rev().find(|&i| (value(i) / largest).abs() >= TAIL);
    let radius = radius.unwrap_or(least);
    (-radius..=radius).map(value).collect()
}
