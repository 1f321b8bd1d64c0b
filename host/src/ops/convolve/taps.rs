//! The numbers of a filter along one axis, and those of a Gaussian and its derivative.

use shared_types::convolve::{CONSTANT_TAPS, ConstantTaps, MAX_WIDTH};

use super::ConvolveError;

/// Where a tail is cut off: under this share of the filter's largest value, as in the KLT library.
const TAIL: f32 = 0.01;

/// Taps of a filter along one axis: an odd number of them, all finite.
#[derive(Clone, Debug, PartialEq)]
pub struct Taps(Vec<f32>);

impl Taps {
    /// A filter from its taps: `out[i] = Σ_j in[i − r + j] · taps[k − 1 − j]` for `k` taps with
    /// `r = (k − 1) / 2`, so that the first tap meets what lies to the right, or below.
    ///
    /// # Errors
    /// [`ConvolveError::Width`] or [`ConvolveError::NotFinite`].
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

    /// A Gaussian: `exp(−i² / 2σ²)` as far as that is 1 % of its largest value, with the sum 1.
    ///
    /// As the KLT library (Birchfield, version 1.3.4, `convolve.c`) has it, to the last bit.
    ///
    /// # Errors
    /// [`ConvolveError::Sigma`].
    pub fn gaussian(sigma: f32) -> Result<Self, ConvolveError> {
        check_sigma(sigma)?;
        let mut taps = cut_off(sigma, 0, 1.0, |i| gauss(sigma, i));
        let sum: f32 = taps.iter().sum();
        taps.iter_mut().for_each(|tap| *tap /= sum);
        Ok(Self(taps))
    }

    /// The derivative of a Gaussian: `−i·exp(−i² / 2σ²)` as far as that is 1 % of its largest value, at least
    /// three of them, scaled so that a ramp of slope 1 gives 1.
    ///
    /// As the KLT library has it, to the last bit; that knows none of less than three.
    ///
    /// # Errors
    /// [`ConvolveError::Sigma`].
    pub fn gaussian_derivative(sigma: f32) -> Result<Self, ConvolveError> {
        check_sigma(sigma)?;
        let largest = (f64::from(sigma) * f64::exp(-0.5)) as f32;
        let mut taps = cut_off(sigma, 1, largest, |i| -(i as f32) * gauss(sigma, i));
        let radius = (taps.len() / 2) as i32;
        let slope = (-radius..).zip(&taps).fold(0.0, |sum, (i, tap)| sum - i as f32 * tap);
        taps.iter_mut().for_each(|tap| *tap /= slope);
        Ok(Self(taps))
    }

    /// How many; odd.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.0.len() as u32
    }

    /// The taps as they were given.
    #[must_use]
    pub fn as_slice(&self) -> &[f32] {
        &self.0
    }

    /// In the order in which they meet the picture.
    pub(super) fn reversed(&self) -> Vec<f32> {
        self.0.iter().rev().copied().collect()
    }

    /// As the argument of a launch, if there are few enough.
    pub(super) fn constant(&self) -> Option<ConstantTaps> {
        let mut taps = [0.0; CONSTANT_TAPS as usize];
        taps.get_mut(..self.0.len())?.copy_from_slice(&self.reversed());
        Some(ConstantTaps { taps, width: self.width() })
    }
}

fn check_sigma(sigma: f32) -> Result<(), ConvolveError> {
    if (0.1..=1000.0).contains(&sigma) { Ok(()) } else { Err(ConvolveError::Sigma { sigma }) }
}

/// The library's arithmetic: a quotient in f32, its exponential in f64.
fn gauss(sigma: f32, i: i32) -> f32 {
    f64::from(-(i * i) as f32 / (2.0 * sigma * sigma)).exp() as f32
}

/// The values at `−radius..=radius` for the smallest radius, but at least `least`, beyond which all are
/// under [`TAIL`] of `largest`.
fn cut_off(sigma: f32, least: i32, largest: f32, value: impl Fn(i32) -> f32) -> Vec<f32> {
    // Both functions fall under 1e-4 before, and fall from there on.
    let far = (5.0 * sigma).ceil() as i32 + 1;
    let radius = (least..=far).rev().find(|&i| (value(i) / largest).abs() >= TAIL);
    let radius = radius.unwrap_or(least);
    (-radius..=radius).map(value).collect()
}
