//! Computes the gradients of a Gaussian-smoothed picture, by convolution with derivatives of a Gaussian.

use cuda_std::{DeviceView, DeviceViewMut};
use kernels_gpu::convolve::ConvolveGradients7;
use shared_types::convolve::{ConstantTaps, TILE, fused_elements};

use super::{ConvolveError, SeparableFilter, Taps, check_size, config};
use crate::device::Stream;

/// Filters for the derivatives of a Gaussian-smoothed picture along both axes. Each filter is the derivative of a
/// Gaussian along one axis and the Gaussian along the other axis.
#[derive(Debug)]
pub struct GradientFilter {
    along_x: SeparableFilter,
    along_y: SeparableFilter,
    /// The Gaussian and its derivative if one kernel computes both gradients; `None` otherwise.
    both: Option<Box<[ConstantTaps; 2]>>,
}

impl GradientFilter {
    /// Creates the filters of a Gaussian with standard deviation `sigma` in pixels, 0.1 to 1000.
    #[track_caller]
    pub fn new(stream: &Stream, sigma: f32) -> Result<Self, ConvolveError> {
        let (smooth, derive) = (Taps::gaussian(sigma)?, Taps::gaussian_derivative(sigma)?);
        let both = match (smooth.constant(), derive.constant()) {
            (Some(smooth), Some(derive)) if [smooth.width, derive.width] == [7; 2] => {
                Some([smooth, derive].into())
            }
            _ => None,
        };
        let along_x = SeparableFilter::new(stream, &derive, &smooth)?;
        let along_y = SeparableFilter::new(stream, &smooth, &derive)?;
        Ok(Self { along_x, along_y, both })
    }

    /// Returns the number of taps of the derivative and of the Gaussian.
    #[must_use]
    pub fn widths(&self) -> [u32; 2] {
        self.along_x.widths()
    }

    /// Submits the computation of both gradients without waiting: in one launch if both filters have 7 taps, as with a
    /// sigma of 1, and otherwise as two convolutions. The results have the same bits.
    #[track_caller]
    pub fn convolve(
        &mut self,
        stream: &Stream,
        input: DeviceView<'_, f32>,
        along_x: DeviceViewMut<'_, f32>,
        along_y: DeviceViewMut<'_, f32>,
    ) -> Result<(), ConvolveError> {
        let Some(both) = &self.both else {
            self.along_x.convolve(stream, input, along_x)?;
            return self.along_y.convolve(stream, input, along_y);
        };
        check_size("gradient along x", along_x.size(), input.size())?;
        check_size("gradient along y", along_y.size(), input.size())?;
        let [smooth, derive] = **both;
        let config = config(input.size(), [TILE; 2], fused_elements(7, 7));
        let kernel = ConvolveGradients7 { input, smooth, derive, along_x, along_y };
        stream.launch(&config, &kernel).map_err(ConvolveError::from)
    }
}
