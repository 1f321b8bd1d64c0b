//! Separable convolution of f32 pictures.
//!
//! A [`SeparableFilter`] has [`Taps`] along rows and along columns. Up to 63 taps per axis are passed as an argument
//! of each launch, in CUDA's constant memory. They need no upload, and launches on several streams do not interfere.
//! More than 63 taps are stored in a buffer. If both axes have at most 63 taps, one launch computes both passes.
//!
//! The result is 0 at pixels whose window exceeds the picture. The results of one launch, of two launches, of the CPU
//! and of the GPU are bit-identical. Other treatments of the border, and filters that are not separable, are not
//! supported.

mod gradients;
mod taps;

use cuda_std::{DeviceView, DeviceViewMut};
use kernels_gpu::convolve as kernels;
use shared_types::convolve::{
    BLOCK, ConstantTaps, MAX_LINES, MAX_WIDTH, TILE, column_pass_elements, fused_elements,
    row_pass_elements,
};
use thiserror::Error;

use crate::device::{Buffer, Device, DeviceError, Image, LaunchConfig, Stream};

pub use gradients::GradientFilter;
pub use taps::Taps;

/// The maximum shared memory per block of a two-pass launch, in bytes. Every GPU since 2020 supports this size.
const SHARED: u32 = 96 << 10;

/// The error if a filter is invalid, pictures differ in size, or the device failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConvolveError {
    /// The number of taps is even or too large.
    #[error(
        "making a filter: the number of taps is {width}; it must be odd and at most {MAX_WIDTH}"
    )]
    Width {
        /// The number of taps.
        width: usize,
    },
    /// A tap is not a finite number.
    #[error("making a filter: tap {index} is {tap}; it must be finite")]
    NotFinite {
        /// The index of the tap.
        index: usize,
        /// The tap's value.
        tap: f32,
    },
    /// The Gaussian is too narrow or too wide.
    #[error("making a Gaussian: sigma is {sigma}; it must be 0.1 to 1000")]
    Sigma {
        /// The standard deviation in pixels.
        sigma: f32,
    },
    /// The output or the intermediate picture does not have the size of the input.
    #[error(
        "convolving: the {what} is {}×{} pixels, but the input is {}×{}", found.0, found.1, expected.0, expected.1
    )]
    Size {
        /// The name of the picture, such as `output`.
        what: &'static str,
        /// The picture's columns and rows.
        found: (u32, u32),
        /// The input's columns and rows.
        expected: (u32, u32),
    },
    /// The filter has more than 63 taps along an axis, too many for one launch.
    #[error(
        "convolving: {width} taps are too many for one launch, which supports up to 63; use `SeparableFilter::two_pass`"
    )]
    TooWideToFuse {
        /// The number of taps along the axis that has more.
        width: u32,
    },
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// The taps along one axis: a launch argument for up to 63 taps, otherwise a buffer in global memory.
#[derive(Debug)]
enum Axis {
    Constant(Box<ConstantTaps>),
    Global(Buffer<f32>),
}

impl Axis {
    #[track_caller]
    fn new(stream: &Stream, taps: &Taps) -> Result<Self, DeviceError> {
        match taps.constant() {
            Some(taps) => Ok(Self::Constant(taps.into())),
            None => Buffer::from_slice(stream, &taps.reversed()).map(Self::Global),
        }
    }

    fn width(&self) -> u32 {
        match self {
            Self::Constant(taps) => taps.width,
            Self::Global(taps) => taps.len(),
        }
    }
}

/// A separable filter on a device.
#[derive(Debug)]
pub struct SeparableFilter {
    horizontal: Axis,
    vertical: Axis,
}

/// The intermediate picture between two passes, allocated on first use. Only one stream at a time may use it.
#[derive(Debug, Default)]
pub struct Intermediate(Option<Image<f32>>);

impl Intermediate {
    /// Returns the intermediate picture, with the given size and on `device`. Allocates a new picture if the size or
    /// the device has changed. The contents are unspecified.
    #[track_caller]
    fn of_size(
        &mut self,
        device: &Device,
        (width, height): (u32, u32),
    ) -> Result<&mut Image<f32>, DeviceError> {
        let fits = |image: &Image<f32>| {
            (image.width(), image.height()) == (width, height)
                && image.device().place() == device.place()
        };
        let image = match self.0.take().filter(fits) {
            Some(image) => image,
            None => Image::new(device, width, height)?,
        };
        Ok(self.0.insert(image))
    }
}

impl SeparableFilter {
    /// Creates a filter of `horizontal` taps along rows and `vertical` taps along columns. If an axis has more than 63
    /// taps, waits until they are uploaded.
    ///
    /// # Errors
    /// Returns [`DeviceError`] if the upload fails.
    #[track_caller]
    pub fn new(stream: &Stream, horizontal: &Taps, vertical: &Taps) -> Result<Self, DeviceError> {
        Ok(Self {
            horizontal: Axis::new(stream, horizontal)?,
            vertical: Axis::new(stream, vertical)?,
        })
    }

    /// Returns the number of taps along rows and along columns.
    #[must_use]
    pub fn widths(&self) -> [u32; 2] {
        [self.horizontal.width(), self.vertical.width()]
    }

    /// Returns whether one launch can apply the filter: it has at most 63 taps along each axis.
    #[must_use]
    pub fn is_fused(&self) -> bool {
        matches!((&self.horizontal, &self.vertical), (Axis::Constant(_), Axis::Constant(_)))
    }

    /// Submits the convolution without waiting: in one launch if [`is_fused`](Self::is_fused), otherwise in two
    /// launches with `between` as the intermediate picture.
    ///
    /// # Errors
    /// Returns [`ConvolveError::Size`] if the sizes of the images differ, or [`ConvolveError::Device`] if the device
    /// fails.
    #[track_caller]
    pub fn convolve(
        &self,
        stream: &Stream,
        input: DeviceView<'_, f32>,
        between: &mut Intermediate,
        out: DeviceViewMut<'_, f32>,
    ) -> Result<(), ConvolveError> {
        if self.is_fused() {
            return self.fused(stream, input, out);
        }
        let between = between.of_size(stream.device(), input.size())?;
        self.two_pass(stream, input, between, out)
    }

    /// Submits the convolution as one launch.
    ///
    /// # Errors
    /// Returns [`ConvolveError::TooWideToFuse`] if an axis has more than 63 taps, [`ConvolveError::Size`] if the sizes
    /// of the images differ, or [`ConvolveError::Device`] if the device fails.
    #[track_caller]
    pub fn fused(
        &self,
        stream: &Stream,
        input: DeviceView<'_, f32>,
        out: DeviceViewMut<'_, f32>,
    ) -> Result<(), ConvolveError> {
        let (Axis::Constant(horizontal), Axis::Constant(vertical)) =
            (&self.horizontal, &self.vertical)
        else {
            let width = self.horizontal.width().max(self.vertical.width());
            return Err(ConvolveError::TooWideToFuse { width });
        };
        check_size("output", out.size(), input.size())?;
        let (horizontal, vertical) = (**horizontal, **vertical);
        let elements = fused_elements(horizontal.width, vertical.width);
        let config = config(input.size(), [TILE; 2], elements);
        macro_rules! launch {
            ($kernel:ident) => {
                stream.launch(&config, &kernels::$kernel { input, horizontal, vertical, out })
            };
        }
        // Prefer a kernel whose number of taps is a compile-time constant, because it needs no branch per tap.
        match [horizontal.width, vertical.width] {
            [5, 5] => launch!(ConvolveFused5),
            [7, 7] => launch!(ConvolveFused7),
            [15, 15] => launch!(ConvolveFused15),
            [31, 31] => launch!(ConvolveFused31),
            _ => launch!(ConvolveFused),
        }
        .map_err(ConvolveError::from)
    }

    /// Submits the convolution as two launches, with `between` as the intermediate picture.
    ///
    /// # Errors
    /// Returns [`ConvolveError::Size`] if the sizes of the images differ, or [`ConvolveError::Device`] if the device
    /// fails.
    #[track_caller]
    pub fn two_pass(
        &self,
        stream: &Stream,
        input: DeviceView<'_, f32>,
        between: &mut Image<f32>,
        out: DeviceViewMut<'_, f32>,
    ) -> Result<(), ConvolveError> {
        let size = input.size();
        check_size("output", out.size(), size)?;
        check_size("intermediate picture", (between.width(), between.height()), size)?;
        macro_rules! pass {
            ($axis:ident: $kernel:ident or $wide:ident, $elements:ident, $tile:expr, $input:expr, $out:expr) => {{
                let width = self.$axis.width();
                let lines = lines(|lines| $elements(width, lines));
                let config = config(size, $tile(lines), $elements(width, lines));
                let (input, out) = ($input, $out);
                match &self.$axis {
                    Axis::Constant(taps) => stream
                        .launch(&config, &kernels::$kernel { input, taps: **taps, lines, out }),
                    Axis::Global(taps) => {
                        let taps = taps.view();
                        stream.launch(&config, &kernels::$wide { input, taps, lines, out })
                    }
                }
            }};
        }
        pass!(horizontal: ConvolveRows or ConvolveRowsWide, row_pass_elements,
            |lines| [TILE, lines], input, between.view_mut())?;
        pass!(vertical: ConvolveColumns or ConvolveColumnsWide, column_pass_elements,
            |lines| [lines, TILE], between.view(), out)?;
        Ok(())
    }
}

/// Returns the maximum number of rows or columns (lines) per block that fit into [`SHARED`] bytes. `elements(lines)` is
/// the number of f32 elements of shared memory that a block of `lines` lines needs.
fn lines(elements: impl Fn(u32) -> u32) -> u32 {
    (1..=MAX_LINES).rev().find(|&lines| elements(lines) * 4 <= SHARED).unwrap_or(1)
}

/// Returns a launch configuration in which each block computes a tile of `tile` columns and rows, and has `elements`
/// f32 elements of shared memory.
fn config((width, height): (u32, u32), tile: [u32; 2], elements: u32) -> LaunchConfig {
    let [columns, rows] = tile;
    LaunchConfig {
        grid: [width.div_ceil(columns), height.div_ceil(rows), 1],
        block: [BLOCK[0], BLOCK[1], 1],
        dynamic_shared: elements * 4,
    }
}

fn check_size(
    what: &'static str,
    found: (u32, u32),
    expected: (u32, u32),
) -> Result<(), ConvolveError> {
    if found == expected { Ok(()) } else { Err(ConvolveError::Size { what, found, expected }) }
}
