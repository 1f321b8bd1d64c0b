//! Multiplies matrices of `f32` or, with tensor cores, of `bf16`, on a GPU or on the CPU.
//!
//! Matrices are stored by rows. [`Image::new`] creates rows that are aligned as the kernels need.

use bytemuck::Pod;
use cust::typed::{DeviceError, Image, LaunchConfig, Stream};
use half::bf16;
use matmul_kernels::hopper::{self, ProductHopper};
use matmul_kernels::simt::{self, ProductF32};
use matmul_kernels::tensor_cores::{self, ProductBf16};

// The compiled kernels. Every GPU that the program opens loads them.
include!(concat!(env!("OUT_DIR"), "/kernels.rs"));

/// The instructions that multiply matrices of `bf16`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TensorCores {
    /// `mma.sync`, which all GPUs since Ampere have.
    Warp,
    /// `wgmma`, which only Hopper has.
    Warpgroup,
}

impl TensorCores {
    /// Returns the fastest instructions of the device.
    #[must_use]
    pub fn of(stream: &Stream) -> Self {
        match stream.device().cuda_info() {
            Some(info) if info.arch.major == 9 => Self::Warpgroup,
            _ => Self::Warp,
        }
    }
}

/// Writes `a · b` to `out`.
///
/// # Errors
/// Returns the error of the device.
///
/// # Panics
/// Panics if the sizes do not match, or if rows are not aligned to 16 bytes.
pub fn product_f32(
    stream: &Stream,
    a: &Image<f32>,
    b: &Image<f32>,
    out: &mut Image<f32>,
) -> Result<(), DeviceError> {
    check(a, b, out);
    let config = config(out, simt::TILE, simt::BLOCK, simt::SHARED_BYTES);
    stream.launch(&config, &ProductF32 { a: a.view(), b: b.view(), out: out.view_mut() })
}

/// Writes `a · b` to `out`. Sums are `f32`, and the result is rounded once.
///
/// # Errors
/// Returns the error of the device, for example if it lacks the instructions `by`.
///
/// # Panics
/// Panics if the sizes do not match, or if rows are not aligned to 16 bytes.
pub fn product_bf16(
    stream: &Stream,
    by: TensorCores,
    a: &Image<bf16>,
    b: &Image<bf16>,
    out: &mut Image<bf16>,
) -> Result<(), DeviceError> {
    check(a, b, out);
    match by {
        TensorCores::Warp => {
            let (tile, block) = (tensor_cores::TILE, tensor_cores::BLOCK);
            let config = config(out, tile, block, tensor_cores::SHARED_BYTES);
            stream.launch(&config, &ProductBf16 { a: a.view(), b: b.view(), out: out.view_mut() })
        }
        TensorCores::Warpgroup => {
            let config = config(out, hopper::TILE, hopper::BLOCK, hopper::SHARED_BYTES);
            stream.launch(&config, &ProductHopper { a: a.view(), b: b.view(), out: out.view_mut() })
        }
    }
}

/// Returns the launch of one block of `threads` threads for each tile of the result.
fn config<T: Pod>(
    out: &Image<T>,
    [rows, columns]: [u32; 2],
    threads: u32,
    dynamic_shared: u32,
) -> LaunchConfig {
    let tiles = out.height().div_ceil(rows) * out.width().div_ceil(columns);
    LaunchConfig { grid: [tiles, 1, 1], block: [threads, 1, 1], dynamic_shared }
}

fn check<T: Pod>(a: &Image<T>, b: &Image<T>, out: &Image<T>) {
    let sizes = [a, b, out].map(|matrix| (matrix.height(), matrix.width()));
    let fit = a.width() == b.height() && sizes[2] == (a.height(), b.width());
    assert!(fit, "the sizes of the matrices do not match: {sizes:?}");
    let pitches = [a.pitch(), b.pitch(), out.pitch()];
    let are_aligned = pitches.iter().all(|pitch| pitch.is_multiple_of(16));
    assert!(are_aligned, "the rows of the matrices must be aligned to 16 bytes: {pitches:?}");
}
