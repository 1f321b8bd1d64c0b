//! Computes luma, gradients and eigenvalues of pictures on the device, and keeps these images for reuse. `select`
//! selects the features.

use cuda_std::DeviceView;
use glam::UVec2;
use kernels_gpu::features::{LumaRgba8, MinEigenvalue, MinEigenvalue7};
use shared_types::Rgba8;
use shared_types::features::{BLOCK, COLUMNS, ROWS, eigenvalue_elements};

use super::{Feature, FeatureError, FeatureOptions, select};
use crate::device::{DeviceError, Image, LaunchConfig, Stream};
use crate::ops::convolve::{GradientFilter, SeparableFilter, Taps};

/// The standard deviation of the smoothing as a fraction of the window's side, as in the KLT library.
const SMOOTHING: f32 = 0.1;

/// Finds features in pictures of one size, and reuses its device memory: about 20 bytes per pixel with the default
/// options. All calls must use the same stream.
#[derive(Debug)]
pub struct Detector {
    options: FeatureOptions,
    size: UVec2,
    luma: Image<f32>,
    maps: Maps,
}

/// The filters, and the images that they compute from luma.
#[derive(Debug)]
struct Maps {
    window: u32,
    smoothing: Option<(SeparableFilter, Image<f32>)>,
    gradient: GradientFilter,
    along_x: Image<f32>,
    along_y: Image<f32>,
    eigenvalues: Image<f32>,
}

impl Detector {
    /// Creates a detector for pictures of `size`.
    ///
    /// # Errors
    /// Returns [`FeatureError`] if the options or the size are invalid, or an allocation fails.
    #[track_caller]
    pub fn new(
        stream: &Stream,
        size: UVec2,
        options: &FeatureOptions,
    ) -> Result<Self, FeatureError> {
        options.check()?;
        if size.x.checked_mul(size.y).is_none() {
            let UVec2 { x, y } = size;
            return Err(FeatureError::Invalid(format!(
                "a picture of {x}×{y} pixels is too large; use one with fewer than 2³² pixels"
            )));
        }
        let image = || Image::new(stream.device(), size.x, size.y);
        let smoothing = if options.smooth {
            let taps = Taps::gaussian(SMOOTHING * options.window as f32)?;
            Some((SeparableFilter::new(stream, &taps, &taps)?, image()?))
        } else {
            None
        };
        let maps = Maps {
            window: options.window,
            smoothing,
            gradient: GradientFilter::new(stream, options.gradient_sigma)?,
            along_x: image()?,
            along_y: image()?,
            eigenvalues: image()?,
        };
        Ok(Self { options: options.clone(), size, luma: image()?, maps })
    }

    /// Returns the luma of the picture of the last [`submit`](Self::submit), in levels from 0 to 255.
    #[must_use]
    pub fn luma(&self) -> &Image<f32> {
        &self.luma
    }

    /// Returns the luma of the last picture after smoothing, or `None` if [`FeatureOptions::smooth`] is off.
    #[must_use]
    pub fn smoothed(&self) -> Option<&Image<f32>> {
        self.maps.smoothing.as_ref().map(|(_, smoothed)| smoothed)
    }

    /// Returns the last picture's gradients along x and y, in levels per pixel.
    #[must_use]
    pub fn gradients(&self) -> [&Image<f32>; 2] {
        [&self.maps.along_x, &self.maps.along_y]
    }

    /// Returns, for each pixel of the last picture, the smaller eigenvalue of the gradients' second-moment matrix over
    /// the window. The value is 0 at pixels whose window exceeds the picture.
    #[must_use]
    pub fn eigenvalues(&self) -> &Image<f32> {
        &self.maps.eigenvalues
    }

    /// Submits the computation of luma, smoothing, gradients and eigenvalues of a picture, without waiting.
    ///
    /// # Errors
    /// Returns [`FeatureError`] if the picture does not have the detector's size, or the device fails.
    #[track_caller]
    pub fn submit(
        &mut self,
        stream: &Stream,
        picture: DeviceView<'_, Rgba8>,
    ) -> Result<(), FeatureError> {
        self.check_size(picture.size())?;
        let config = LaunchConfig::cover(self.size.x, self.size.y, BLOCK);
        stream.launch(&config, &LumaRgba8 { picture, out: self.luma.view_mut() })?;
        self.maps.submit(stream, self.luma.view())
    }

    /// Submits the computation of smoothing, gradients and eigenvalues of a luma picture with levels from 0 to 255,
    /// without waiting.
    ///
    /// # Errors
    /// Returns [`FeatureError`] if the picture does not have the detector's size, or the device fails.
    #[track_caller]
    pub fn submit_luma(
        &mut self,
        stream: &Stream,
        luma: DeviceView<'_, f32>,
    ) -> Result<(), FeatureError> {
        self.check_size(luma.size())?;
        self.maps.submit(stream, luma)
    }

    /// Waits for the eigenvalues of the last submitted picture, and selects the features of this picture, best first.
    #[track_caller]
    pub fn features(&self, stream: &Stream) -> Result<Vec<Feature>, DeviceError> {
        let eigenvalues = self.maps.eigenvalues.download(stream)?;
        let border = self.options.border.max(self.maps.reach());
        Ok(select(&eigenvalues, self.size, &FeatureOptions { border, ..self.options.clone() }))
    }

    fn check_size(&self, (width, height): (u32, u32)) -> Result<(), FeatureError> {
        if UVec2::new(width, height) == self.size {
            return Ok(());
        }
        Err(FeatureError::Invalid(format!(
            "the picture is {width}×{height} pixels, but the detector was created for {}×{}",
            self.size.x, self.size.y
        )))
    }
}

impl Maps {
    /// Returns the maximum distance in pixels along each axis at which luma influences an eigenvalue. Closer to the edge
    /// of the picture, where a convolution is 0, the eigenvalues are those of a step that is not in the picture.
    fn reach(&self) -> u32 {
        let smoothing = self.smoothing.as_ref().map_or([0; 2], |(filter, _)| filter.widths());
        let reach = |widths: [u32; 2]| widths[0].max(widths[1]) / 2;
        reach(smoothing) + reach(self.gradient.widths()) + self.window / 2
    }

    #[track_caller]
    fn submit(&mut self, stream: &Stream, luma: DeviceView<'_, f32>) -> Result<(), FeatureError> {
        let Self { window, smoothing, gradient, along_x, along_y, eigenvalues } = self;
        let input = match smoothing {
            Some((filter, smoothed)) => {
                filter.convolve(stream, luma, smoothed.view_mut())?;
                smoothed.view()
            }
            None => luma,
        };
        gradient.convolve(stream, input, along_x.view_mut(), along_y.view_mut())?;
        let config = LaunchConfig {
            grid: [eigenvalues.width().div_ceil(COLUMNS), eigenvalues.height().div_ceil(ROWS), 1],
            block: [BLOCK[0], BLOCK[1], 1],
            dynamic_shared: 4 * eigenvalue_elements(*window),
        };
        let (along_x, along_y) = (along_x.view(), along_y.view());
        let out = eigenvalues.view_mut();
        // Prefer the kernel whose window size is a compile-time constant, because it needs no branch for each row and
        // column of the window.
        if *window == 7 {
            stream.launch(&config, &MinEigenvalue7 { along_x, along_y, out })?;
        } else {
            stream.launch(&config, &MinEigenvalue { along_x, along_y, window: *window, out })?;
        }
        Ok(())
    }
}
