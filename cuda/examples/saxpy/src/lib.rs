//! Adds a multiple of one slice to another, on a GPU or on the CPU.

use cust::typed::{Buffer, DeviceError, LaunchConfig, Stream};
use saxpy_kernels::{SaxpyF32, SaxpyVec4};

// The compiled kernels. Every GPU that the program opens loads them.
include!(concat!(env!("OUT_DIR"), "/kernels.rs"));

/// The number of threads per block.
const BLOCK: u32 = 256;

/// Adds `a · x` to `y`, element by element, up to the end of the shorter buffer.
///
/// # Errors
/// Returns the error of the device, for example if a buffer belongs to another device.
pub fn saxpy(
    stream: &Stream,
    a: f32,
    x: &Buffer<f32>,
    y: &mut Buffer<f32>,
) -> Result<(), DeviceError> {
    let len = x.len().min(y.len());
    // Groups of four elements are faster, but they must cover both buffers.
    match (x.view().cast(), y.view_mut().cast()) {
        (Some(x), Some(y)) => {
            let config = LaunchConfig::for_1d(len / 4, BLOCK);
            stream.launch(&config, &SaxpyVec4 { a, x, y })
        }
        _ => {
            let kernel = SaxpyF32 { a, x: x.view(), y: y.view_mut() };
            stream.launch(&LaunchConfig::for_1d(len, BLOCK), &kernel)
        }
    }
}
