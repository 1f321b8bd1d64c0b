//! The counts of byte values beside CUDA C++ and CUB.

use std::ffi::c_int;

use cuda_benches::{Bench, Case, Failure, Reference, Variant, Work, buffers, check, random};
use cust::sys::CUstream;
use cust::typed::{Buffer, Stream};
use histogram::{BINS, histogram};

/// A function of the reference: stream, blocks, input, length, bins.
type Nvcc = unsafe extern "C" fn(CUstream, c_int, u64, c_int, u64) -> c_int;
/// A function of the reference: stream, input, length, bins.
type Cub = unsafe extern "C" fn(CUstream, u64, c_int, u64) -> c_int;

pub(crate) struct Histogram {
    what: &'static str,
    input: Vec<Buffer<u8>>,
    bins: Buffer<u32>,
    expected: Vec<u32>,
    blocks: c_int,
    nvcc: Option<Nvcc>,
    cub: Option<Cub>,
}

impl Histogram {
    /// All values are equally frequent.
    pub(crate) fn uniform(bench: &Bench) -> Result<Self, Failure> {
        let mut random = random();
        Self::new(bench, "uniform", |_| (random() >> 24) as u8)
    }

    /// All bytes are equal, so all counts are of one value.
    pub(crate) fn constant(bench: &Bench) -> Result<Self, Failure> {
        Self::new(bench, "constant", |_| 7)
    }

    fn new(
        bench: &Bench,
        what: &'static str,
        byte: impl FnMut(u32) -> u8,
    ) -> Result<Self, Failure> {
        let device = bench.stream.device();
        let len = if bench.checks_only() { 1 << 18 } else { 1 << 27 };
        let input: Vec<u8> = (0..len).map(byte).collect();
        let mut expected = vec![0; BINS as usize];
        input.iter().for_each(|&byte| expected[usize::from(byte)] += 1);
        let multiprocessors = device.cuda_info().map_or(1, |info| info.multiprocessors);
        let reference = Reference::open("histogram");
        Ok(Self {
            what,
            input: buffers(&bench.stream, 2, &input)?,
            bins: Buffer::new(device, BINS)?,
            expected,
            // The Rust kernel has blocks of 512 threads, 4 on each multiprocessor.
            blocks: (4 * multiprocessors) as c_int,
            // SAFETY: these are the types of the functions.
            nvcc: unsafe { reference.function("histogram_nvcc") },
            // SAFETY: the reason is the same.
            cub: unsafe { reference.function("histogram_cub") },
        })
    }
}

impl Case for Histogram {
    fn name(&self) -> String {
        format!("histogram, 2^{} u8, {}", self.input[0].len().ilog2(), self.what)
    }

    fn work(&self) -> Work {
        Work::Bytes(self.input[0].len().into())
    }

    fn variants(&self) -> Vec<Variant> {
        Variant::available(self.nvcc.is_some(), self.cub.map(|_| "CUB"))
    }

    fn sets(&self) -> usize {
        self.input.len()
    }

    fn launch(&mut self, stream: &Stream, variant: Variant, set: usize) -> Result<(), Failure> {
        let input = &self.input[set];
        let (raw, from, len) =
            (stream.as_raw(), input.as_device_ptr().as_raw(), input.len() as c_int);
        let bins = self.bins.as_device_ptr().as_raw();
        match (variant, self.nvcc, self.cub) {
            (Variant::Rust, ..) => Ok(histogram(stream, input, &mut self.bins)?),
            (Variant::Nvcc, Some(nvcc), _) => {
                // SAFETY: the buffers have the sizes that the function expects.
                check(unsafe { nvcc(raw, self.blocks, from, len, bins) })
            }
            // SAFETY: the buffers have the sizes that the function expects.
            (Variant::Library(_), _, Some(cub)) => check(unsafe { cub(raw, from, len, bins) }),
            _ => Err("the reference lacks a function".into()),
        }
    }

    fn check(&mut self, stream: &Stream, variant: Variant) -> Result<(), Failure> {
        self.launch(stream, variant, 0)?;
        let found = self.bins.download(stream)?;
        match (0..found.len()).find(|&byte| found[byte] != self.expected[byte]) {
            None => Ok(()),
            Some(byte) => {
                let (found, expected) = (found[byte], self.expected[byte]);
                Err(format!("{found} bytes are {byte}, expected {expected}").into())
            }
        }
    }
}
