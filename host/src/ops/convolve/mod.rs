//! Separable convolution of f32 pictures.
//!
//! A [`SeparableFilter`] has [`Taps`] along rows and along columns. Up to 63 taps per axis are an argument of the launch,
//! in CUDA's constant memory. They need no upload, and launches on several streams do not interfere. One launch then
//! computes both passes. If an axis has more taps, buffers contain the taps, and each pass is a launch.
//!
//! The result is 0 at pixels whose window exceeds the picture. The results of one launch, of two launches, of the CPU
//! and of the GPU are bit-identical. Other treatments of the border, and filters that are not separable, are not
//! supported.

mod gradients;
mod taps;

use cuda_std::{DeviceView, DeviceViewMut};
use kernels_gpu::convolve as kernels;
use shared_types::convolve::{
    BLOCK, ConstantTaps, MAX_LINES, TILE, column_pass_elements, fused_elements, row_pass_elements,
};

use crate::device::{Buffer, DeviceError, Image, LaunchConfig, Stream};
use crate::error::operation_error;

pub use gradients::GradientFilter;
pub use taps::Taps;

/// The maximum shared memory per block of a launch for one pass, in bytes. Every GPU since 2020 supports this size.
const SHARED: u32 = 96 << 10;

operation_error! {
    /// The error if a filter is invalid, pictures differ in size, or the device failed.
    ConvolveError: "{0}"
}

/// A separable filter on a device. Only one stream at a time may use it.
#[derive(Debug)]
pub struct SeparableFilter {
    widths: [u32; 2],
    passes: Passes,
}

/// The taps along rows and along columns.
#[derive(Debug)]
enum Passes {
    Fused(Box<[ConstantTaps; 2]>),
    Separate {
        taps: [Buffer<f32>; 2],
        /// The picture between the passes, allocated on first use.
        between: Option<Image<f32>>,
    },
}

impl SeparableFilter {
    /// Creates a filter of `horizontal` taps along rows and `vertical` taps along columns. If an axis has more than 63
    /// taps, waits until they are uploaded.
    #[track_caller]
    pub fn new(stream: &Stream, horizontal: &Taps, vertical: &Taps) -> Result<Self, DeviceError> {
        let upload = |taps: &Taps| Buffer::from_slice(stream, &taps.reversed());
        let passes = match (horizontal.constant(), vertical.constant()) {
            (Some(horizontal), Some(vertical)) => Passes::Fused([horizontal, vertical].into()),
            _ => Passes::Separate { taps: [upload(horizontal)?, upload(vertical)?], between: None },
        };
        Ok(Self { widths: [horizontal.width(), vertical.width()], passes })
    }

    /// Returns the number of taps along rows and along columns.
    #[must_use]
    pub fn widths(&self) -> [u32; 2] {
        self.widths
    }

    /// Submits the convolution without waiting.
    #[track_caller]
    pub fn convolve(
        &mut self,
        stream: &Stream,
        input: DeviceView<'_, f32>,
        out: DeviceViewMut<'_, f32>,
    ) -> Result<(), ConvolveError> {
        check_size("output", out.size(), input.size())?;
        match &mut self.passes {
            Passes::Fused(taps) => fused(stream, taps, input, out)?,
            Passes::Separate { taps, between } => {
                let size = input.size();
                let kept = between.take().filter(|image| image.view().size() == size);
                let image = match kept {
                    Some(image) => image,
                    None => Image::new(stream.device(), size.0, size.1)?,
                };
                separate(stream, taps, input, between.insert(image), out)?;
            }
        }
        Ok(())
    }
}

/// Submits both passes as one launch.
#[track_caller]
fn fused(
    stream: &Stream,
    taps: &[ConstantTaps; 2],
    input: DeviceView<'_, f32>,
    out: DeviceViewMut<'_, f32>,
) -> Result<(), DeviceError> {
    let [horizontal, vertical] = *taps;
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
}

/// Submits each pass as a launch.
#[track_caller]
fn separate(
    stream: &Stream,
    [horizontal, vertical]: &[Buffer<f32>; 2],
    input: DeviceView<'_, f32>,
    between: &mut Image<f32>,
    out: DeviceViewMut<'_, f32>,
) -> Result<(), DeviceError> {
    let size = input.size();
    let elements = |lines| row_pass_elements(horizontal.len(), lines);
    let lines = most_lines(elements);
    let (taps, to) = (horizontal.view(), between.view_mut());
    let rows = kernels::ConvolveRows { input, taps, lines, out: to };
    stream.launch(&config(size, [TILE, lines], elements(lines)), &rows)?;
    let elements = |lines| column_pass_elements(vertical.len(), lines);
    let lines = most_lines(elements);
    let columns =
        kernels::ConvolveColumns { input: between.view(), taps: vertical.view(), lines, out };
    stream.launch(&config(size, [lines, TILE], elements(lines)), &columns)
}

/// Returns the maximum number of rows or columns (lines) per block that fit into [`SHARED`] bytes. `elements(lines)` is
/// the number of f32 elements of shared memory that a block of `lines` lines needs.
fn most_lines(elements: impl Fn(u32) -> u32) -> u32 {
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

fn check_size(what: &str, found: (u32, u32), expected: (u32, u32)) -> Result<(), ConvolveError> {
    if found == expected {
        return Ok(());
    }
    let ((w, h), (x, y)) = (found, expected);
    let text = format!("convolving: the {what} is {w}×{h} pixels, but the input is {x}×{y}");
    Err(ConvolveError::Invalid(text))
}
