//! Counts how often each byte occurs in a buffer, on a GPU or on the CPU.

use cust::typed::{Buffer, DeviceError, LaunchConfig, Stream};
use histogram_kernels::{BLOCK, HistogramBytes16, HistogramU8};

pub use histogram_kernels::BINS;

// The compiled kernels. Every GPU that the program opens loads them.
include!(concat!(env!("OUT_DIR"), "/kernels.rs"));

/// The number of blocks that run at once on a multiprocessor: 2048 threads.
const BLOCKS_PER_MULTIPROCESSOR: u32 = 2048 / BLOCK;

/// Writes the number of occurrences of each byte in `input` to the element of `bins` at its value.
///
/// # Errors
/// Returns the error of the device, for example if a buffer belongs to another device.
///
/// # Panics
/// Panics if `bins` has fewer than [`BINS`] elements.
pub fn histogram(
    stream: &Stream,
    input: &Buffer<u8>,
    bins: &mut Buffer<u32>,
) -> Result<(), DeviceError> {
    assert!(bins.len() >= BINS, "{} bins, expected {BINS}", bins.len());
    bins.clear(stream)?;
    let multiprocessors = stream.device().cuda_info().map_or(1, |info| info.multiprocessors);
    let blocks = |groups: u32| {
        let blocks = groups.div_ceil(BLOCK).min(BLOCKS_PER_MULTIPROCESSOR * multiprocessors);
        LaunchConfig { grid: [blocks, 1, 1], block: [BLOCK, 1, 1], dynamic_shared: 0 }
    };
    let bins = bins.view_mut();
    match input.view().cast() {
        Some(groups) => {
            stream.launch(&blocks(input.len() / 16), &HistogramBytes16 { input: groups, bins })
        }
        None => stream.launch(&blocks(input.len()), &HistogramU8 { input: input.view(), bins }),
    }
}
