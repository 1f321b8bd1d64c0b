//! Adds all elements of a buffer in one launch, on a GPU or on the CPU.

use cust::typed::{Buffer, Device, DeviceError, LaunchConfig, Stream};
use reduce_kernels::{BLOCK, IN_FLIGHT, SumF32, SumVec4};

// The compiled kernels. Every GPU that the program opens loads them.
include!(concat!(env!("OUT_DIR"), "/kernels.rs"));

/// The number of blocks that run at once on a multiprocessor: 2048 threads.
const BLOCKS_PER_MULTIPROCESSOR: u32 = 2048 / BLOCK;

/// The memory of a reduction besides its input, for any number of calls in the same stream.
pub struct Reduction {
    partial: Buffer<f32>,
    finished: Buffer<u32>,
    out: Buffer<f32>,
}

impl Reduction {
    /// Allocates the memory on `device`.
    pub fn new(device: &Device) -> Result<Self, DeviceError> {
        // More blocks than run at once would not be faster.
        let multiprocessors = device.cuda_info().map_or(1, |info| info.multiprocessors);
        Ok(Self {
            partial: Buffer::new(device, BLOCKS_PER_MULTIPROCESSOR * multiprocessors)?,
            finished: Buffer::new(device, 1)?,
            out: Buffer::new(device, 1)?,
        })
    }

    /// Submits the computation of the sum of `input`. Returns the buffer of one element that
    /// receives the sum.
    ///
    /// # Errors
    /// Returns the error of the device, for example if `input` belongs to another device.
    pub fn sum(
        &mut self,
        stream: &Stream,
        input: &Buffer<f32>,
    ) -> Result<&Buffer<f32>, DeviceError> {
        let Self { partial, finished, out } = self;
        let blocks = partial.len();
        let grid = |len: u32| {
            let needed = len.div_ceil(BLOCK * IN_FLIGHT);
            LaunchConfig {
                grid: [needed.min(blocks), 1, 1],
                block: [BLOCK, 1, 1],
                dynamic_shared: 0,
            }
        };
        let (partial, finished, sum) = (partial.view_mut(), finished.view_mut(), out.view_mut());
        match input.view().cast() {
            Some(groups) => {
                let kernel = SumVec4 { input: groups, partial, finished, out: sum };
                stream.launch(&grid(input.len() / 4), &kernel)?;
            }
            None => {
                let kernel = SumF32 { input: input.view(), partial, finished, out: sum };
                stream.launch(&grid(input.len()), &kernel)?;
            }
        }
        Ok(&self.out)
    }
}
