//! Adds slices on a GPU, or on the CPU if there is no GPU.

use cust::typed::{Buffer, Device, DeviceError, LaunchConfig};
use my_program_kernels::Add;

// The compiled kernels. Every GPU that the program opens loads them.
include!(concat!(env!("OUT_DIR"), "/kernels.rs"));

/// The number of threads per block.
const BLOCK: u32 = 256;

/// Returns the sum of `a` and `b`, element by element. The result is as long as the shorter slice.
///
/// # Errors
/// Returns the error of the device, for example if a slice is empty or the memory is full.
pub fn add(device: &Device, a: &[f32], b: &[f32]) -> Result<Vec<f32>, DeviceError> {
    let stream = device.stream()?;
    let a = Buffer::from_slice(&stream, a)?;
    let b = Buffer::from_slice(&stream, b)?;
    let mut sum = Buffer::<f32>::new(device, a.len().min(b.len()))?;
    let config = LaunchConfig::for_1d(sum.len(), BLOCK);
    let kernel = Add {
        a: a.view(),
        b: b.view(),
        sum: sum.view_mut(),
    };
    stream.launch(&config, &kernel)?;
    sum.download(&stream)
}
