//! Computes prefix sums in one pass over memory, on a GPU or on the CPU.

use cust::typed::{Buffer, Device, DeviceError, LaunchConfig, Stream};
use scan_kernels::{BLOCK, InclusiveMax, InclusiveSum};

pub use scan_kernels::TILE;

// The compiled kernels. Every GPU that the program opens loads them.
include!(concat!(env!("OUT_DIR"), "/kernels.rs"));

/// The memory of a scan besides its input and output, for any number of calls in the same stream.
pub struct Scan {
    /// A counter, and a state for each tile.
    states: Buffer<u64>,
}

impl Scan {
    /// Allocates the memory for scans of up to `len` elements on `device`.
    ///
    /// # Errors
    /// Returns the error of the device.
    pub fn new(device: &Device, len: u32) -> Result<Self, DeviceError> {
        Ok(Self { states: Buffer::new(device, 1 + len.div_ceil(TILE))? })
    }

    /// Writes to element `i` of `out` the sum of the elements 0 to `i` of `input`, modulo 2³².
    ///
    /// # Errors
    /// Returns the error of the device, for example if a buffer belongs to another device.
    ///
    /// # Panics
    /// Panics if `out` is shorter than `input`, or `input` is longer than [`new`](Self::new) allows.
    pub fn sum(
        &mut self,
        stream: &Stream,
        input: &Buffer<u32>,
        out: &mut Buffer<u32>,
    ) -> Result<(), DeviceError> {
        let config = self.prepare(stream, input, out)?;
        let (input, states, out) = (input.view(), self.states.view_mut(), out.view_mut());
        stream.launch(&config, &InclusiveSum { input, states, out })
    }

    /// Writes to element `i` of `out` the maximum of the elements 0 to `i` of `input`.
    ///
    /// # Errors
    /// Returns the errors of [`sum`](Self::sum).
    ///
    /// # Panics
    /// Panics in the same cases as [`sum`](Self::sum).
    pub fn max(
        &mut self,
        stream: &Stream,
        input: &Buffer<u32>,
        out: &mut Buffer<u32>,
    ) -> Result<(), DeviceError> {
        let config = self.prepare(stream, input, out)?;
        let (input, states, out) = (input.view(), self.states.view_mut(), out.view_mut());
        stream.launch(&config, &InclusiveMax { input, states, out })
    }

    /// Checks the lengths, clears the states and returns the shape of the launch.
    fn prepare(
        &mut self,
        stream: &Stream,
        input: &Buffer<u32>,
        out: &Buffer<u32>,
    ) -> Result<LaunchConfig, DeviceError> {
        let tiles = input.len().div_ceil(TILE);
        assert!(out.len() >= input.len(), "{} inputs, {} outputs", input.len(), out.len());
        assert!(self.states.len() > tiles, "`Scan::new` needs the length {}", input.len());
        self.states.clear(stream)?;
        Ok(LaunchConfig { grid: [tiles, 1, 1], block: [BLOCK, 1, 1], dynamic_shared: 0 })
    }
}
