//! Resampling of trajectories: interpolates values at given target times, for many batches at once.
//!
//! Each batch has a row of source times in `times` and a row of target times in `targets`. `values` has a row for each
//! source time, and `out` a row for each target time; the rows of a batch follow those of the previous batch.
//! [`kernels_gpu::resample`] defines the computation. The times are f32 if the values are f32, bf16 or f16, and f64 if
//! the values are f64. Large times, such as seconds since 1970, are imprecise as f32; make them relative to the first
//! source time.
//!
//! The kernel detects invalid times, so that the host does not need to copy the times to check them.

use bytemuck::Pod;
use half::{bf16, f16};
use kernels_gpu::resample::{
    ResampleBf16, ResampleBf16x8, ResampleF16, ResampleF16x8, ResampleF32, ResampleF32x4,
    ResampleF64,
};
use shared_types::resample::{
    BLOCK_THREADS, F32x4, FINE, Half8, MAX_STAGED, ResampleFault, TARGETS, fault_of,
};

use crate::device::{Buffer, DeviceError, Image, LaunchConfig, Stream};
use crate::error::operation_error;
use cuda_std::{DeviceSliceMut, DeviceView, DeviceViewMut};

operation_error! {
    /// The error if times or sizes are invalid, or the device failed.
    ResampleError: "resampling: {0}"
}

impl ResampleError {
    /// Returns the error for more items than one resampling supports.
    pub(crate) fn too_many(what: &str, found: u64, most: u32) -> Self {
        Self::Invalid(format!("{found} {what} are too many; at most {most} are supported"))
    }
}

/// The input and output images of one resampling.
#[derive(Debug)]
pub struct Resampling<'a, V: Sampled> {
    /// The source times in ascending order, with one row per batch.
    pub times: &'a Image<V::Time>,
    /// The values, with one row per source time. The rows of a batch follow those of the previous batch.
    pub values: &'a Image<V>,
    /// The target times in any order, with one row per batch.
    pub targets: &'a Image<V::Time>,
    /// The results, with one row per target time. The rows of a batch follow those of the previous batch.
    pub out: &'a mut Image<V>,
}

/// A number type that a [`Resampler`] can interpolate: f64, f32, bf16 or f16.
pub trait Sampled: Pod {
    /// The number type of source and target times: f64 for f64 values, and f32 for all others.
    type Time: Pod;

    /// Submits the kernel. Uses the kernel variant in which each thread moves 16 bytes if the length and the alignment
    /// of the rows allow it.
    #[doc(hidden)]
    fn launch(
        stream: &Stream,
        config: &LaunchConfig,
        resampling: Resampling<'_, Self>,
        fault: DeviceSliceMut<'_, u64>,
    ) -> Result<(), DeviceError>;
}

/// Returns a view of an image in 16-byte elements, or `None` if the length or the alignment of the rows does not allow
/// it.
fn wide<V: Pod, W: Pod>(image: &Image<V>) -> Option<DeviceView<'_, W>> {
    let numbers = (size_of::<W>() / size_of::<V>()) as u32;
    let fits = image.width().is_multiple_of(numbers)
        && image.pitch().is_multiple_of(16)
        && (image.as_ptr() as usize).is_multiple_of(16);
    // SAFETY: the view covers exactly the image's memory, which stays borrowed as long as the view exists. Every bit
    // pattern is a valid `W`.
    fits.then(|| unsafe {
        let data = image.as_ptr().cast();
        let place = image.device().place();
        DeviceView::new(place, data, image.width() / numbers, image.height(), image.pitch())
    })
}

/// Returns a writable view of an image in 16-byte elements, or `None` if the length or the alignment of the rows does
/// not allow it.
fn wide_mut<V: Pod, W: Pod>(image: &mut Image<V>) -> Option<DeviceViewMut<'_, W>> {
    let (width, height) = wide::<V, W>(image)?.size();
    let (data, pitch, place) = (image.as_ptr(), image.pitch(), image.device().place());
    // SAFETY: the view covers exactly the image's memory, which stays exclusively borrowed as long as the view exists.
    // Every bit pattern is a valid `W`.
    Some(unsafe { DeviceViewMut::new(place, data.cast_mut().cast(), width, height, pitch) })
}

macro_rules! sampled {
    ($type:ty, $time:ty, $kernel:ident $(, $wide:ty, $wide_kernel:ident)?) => {
        impl Sampled for $type {
            type Time = $time;

            #[track_caller]
            fn launch(
                stream: &Stream,
                config: &LaunchConfig,
                resampling: Resampling<'_, Self>,
                fault: DeviceSliceMut<'_, u64>,
            ) -> Result<(), DeviceError> {
                let Resampling { times, values, targets, out } = resampling;
                let (times, targets) = (times.view(), targets.view());
                $(if let (Some(values), true) =
                    (wide::<_, $wide>(values), wide::<_, $wide>(out).is_some())
                    && let Some(out) = wide_mut(out)
                {
                    let kernel = $wide_kernel { times, values, targets, out, fault };
                    return stream.launch(config, &kernel);
                })?
                let (values, out) = (values.view(), out.view_mut());
                stream.launch(config, &$kernel { times, values, targets, out, fault })
            }
        }
    };
}
sampled!(f64, f64, ResampleF64);
sampled!(f32, f32, ResampleF32, F32x4, ResampleF32x4);
sampled!(bf16, f32, ResampleBf16, Half8<bf16>, ResampleBf16x8);
sampled!(f16, f32, ResampleF16, Half8<f16>, ResampleF16x8);

/// Resamples trajectories, and stores the first invalid time (the fault) until [`check`](Self::check) reports it.
#[derive(Debug)]
pub struct Resampler {
    fault: Buffer<u64>,
}

impl Resampler {
    /// Creates a resampler on the stream's device.
    #[track_caller]
    pub fn new(stream: &Stream) -> Result<Self, DeviceError> {
        Ok(Self { fault: Buffer::from_slice(stream, &[FINE])? })
    }

    /// Submits a resampling without waiting. If times are invalid, the results are unspecified and
    /// [`check`](Self::check) returns an error.
    #[track_caller]
    pub fn submit<V: Sampled>(
        &mut self,
        stream: &Stream,
        resampling: Resampling<'_, V>,
    ) -> Result<(), ResampleError> {
        let Resampling { times, values, targets, ref out } = resampling;
        let batches = times.height();
        let rows = |each: u32| u64::from(each) * u64::from(batches);
        for (what, axis, found, expected) in [
            ("targets", "rows", targets.height(), u64::from(batches)),
            ("values", "rows", values.height(), rows(times.width())),
            ("out", "rows", out.height(), rows(targets.width())),
            ("out", "columns", out.width(), values.width().into()),
        ] {
            if u64::from(found) != expected {
                let text = format!("image `{what}` has {found} {axis}; it must have {expected}");
                return Err(ResampleError::Invalid(text));
            }
        }
        let most = u32::MAX / TARGETS;
        if out.width() > most {
            return Err(ResampleError::too_many("columns", out.width().into(), most));
        }
        // If there are few target times, assign fewer of them to each block, so that there are enough blocks for all
        // multiprocessors.
        let processors = stream.device().cuda_info().map_or(1, |info| info.multiprocessors);
        let divided = [1, 2, 4].map(|parts| rows(targets.width().div_ceil(TARGETS / parts)));
        let enough = |blocks: &u64| *blocks >= 2 * u64::from(processors);
        let blocks = divided.into_iter().find(enough).unwrap_or(divided[2]);
        let most = u32::MAX / BLOCK_THREADS;
        if blocks > most.into() {
            return Err(ResampleError::too_many("blocks of target times", blocks, most));
        }
        let staged = times.width() as usize * size_of::<V::Time>();
        let config = LaunchConfig {
            dynamic_shared: if staged <= MAX_STAGED as usize { staged as u32 } else { 0 },
            ..LaunchConfig::cover(blocks as u32 * BLOCK_THREADS, 1, [BLOCK_THREADS, 1])
        };
        Ok(V::launch(stream, &config, resampling, self.fault.view_mut())?)
    }

    /// Waits for the submitted work. Returns an error if the work since the last check has found an invalid time.
    #[track_caller]
    pub fn check(&mut self, stream: &Stream) -> Result<(), ResampleError> {
        let code = self.fault.download(stream)?[0];
        let Some((batch, fault, index)) = fault_of(code) else { return Ok(()) };
        self.fault.upload(stream, &[FINE])?;
        // Batches and times count from 0.
        let text = match fault {
            ResampleFault::Source => format!(
                "source time {index} of batch {batch} is less than the previous time or not a finite number; times must be finite and ascending"
            ),
            ResampleFault::Target => format!(
                "target time {index} of batch {batch} is not a finite number; correct or remove it"
            ),
        };
        Err(ResampleError::Invalid(text))
    }
}
