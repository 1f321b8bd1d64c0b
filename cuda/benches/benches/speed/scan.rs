//! Prefix sums beside CUDA C++ and CUB.

use std::ffi::c_int;

use cuda_benches::{Bench, Case, Failure, Reference, Variant, Work, buffers, check, random};
use cust::sys::CUstream;
use cust::typed::{Buffer, Stream};

/// A function of the reference: stream, input, length, states, output.
type Nvcc = unsafe extern "C" fn(CUstream, u64, c_int, u64, u64) -> c_int;
/// A function of the reference: stream, input, length, output.
type Cub = unsafe extern "C" fn(CUstream, u64, c_int, u64) -> c_int;

pub(crate) struct Scan {
    input: Vec<Buffer<u32>>,
    out: Vec<Buffer<u32>>,
    expected: Vec<u32>,
    rust: scan::Scan,
    /// The states of the reference, more than it has tiles.
    states: Buffer<u64>,
    nvcc: Option<Nvcc>,
    cub: Option<Cub>,
}

impl Scan {
    pub(crate) fn new(bench: &Bench) -> Result<Self, Failure> {
        let device = bench.stream.device();
        let len: u32 = if bench.checks_only() { 3 * scan::TILE + 77 } else { 1 << 26 };
        let mut random = random();
        let input: Vec<u32> = (0..len).map(|_| random()).collect();
        let next = |sum: &mut u32, number: &u32| {
            *sum = sum.wrapping_add(*number);
            Some(*sum)
        };
        let reference = Reference::open("scan");
        Ok(Self {
            expected: input.iter().scan(0, next).collect(),
            out: buffers(&bench.stream, 2, &input)?,
            input: buffers(&bench.stream, 2, &input)?,
            rust: scan::Scan::new(device, len)?,
            states: Buffer::new(device, 2 + len / 1024)?,
            // SAFETY: these are the types of the functions.
            nvcc: unsafe { reference.function("scan_nvcc") },
            // SAFETY: the reason is the same.
            cub: unsafe { reference.function("scan_cub") },
        })
    }
}

impl Case for Scan {
    fn name(&self) -> String {
        format!("prefix sum, 2^{} u32", self.expected.len().ilog2())
    }

    fn work(&self) -> Work {
        Work::Bytes(8 * self.expected.len() as u64)
    }

    fn variants(&self) -> Vec<Variant> {
        Variant::available(self.nvcc.is_some(), self.cub.map(|_| "CUB"))
    }

    fn sets(&self) -> usize {
        self.input.len()
    }

    fn launch(&mut self, stream: &Stream, variant: Variant, set: usize) -> Result<(), Failure> {
        let (input, out) = (&self.input[set], &mut self.out[set]);
        let (raw, from, len) =
            (stream.as_raw(), input.as_device_ptr().as_raw(), input.len() as c_int);
        let to = out.as_device_ptr().as_raw();
        match (variant, self.nvcc, self.cub) {
            (Variant::Rust, ..) => Ok(self.rust.sum(stream, input, out)?),
            (Variant::Nvcc, Some(nvcc), _) => {
                let states = self.states.as_device_ptr().as_raw();
                // SAFETY: the buffers have the sizes that the function expects.
                check(unsafe { nvcc(raw, from, len, states, to) })
            }
            // SAFETY: the buffers have the sizes that the function expects.
            (Variant::Library(_), _, Some(cub)) => check(unsafe { cub(raw, from, len, to) }),
            _ => Err("the reference lacks a function".into()),
        }
    }

    fn check(&mut self, stream: &Stream, variant: Variant) -> Result<(), Failure> {
        self.out[0].clear(stream)?;
        self.launch(stream, variant, 0)?;
        let found = self.out[0].download(stream)?;
        match (0..found.len()).find(|&i| found[i] != self.expected[i]) {
            None => Ok(()),
            Some(i) => Err(format!("sum {i}: {}, expected {}", found[i], self.expected[i]).into()),
        }
    }
}
