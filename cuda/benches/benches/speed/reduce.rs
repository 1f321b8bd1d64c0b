//! The sum of floats beside CUDA C++ and CUB.

use std::ffi::c_int;

use cuda_benches::{Bench, Case, Failure, Reference, Variant, Work, buffers, check, random};
use cust::sys::CUstream;
use cust::typed::{Buffer, Stream};
use reduce::Reduction;

/// A function of the reference: stream, blocks, input, length, partial sums, counter, output.
type Nvcc = unsafe extern "C" fn(CUstream, c_int, u64, c_int, u64, u64, u64) -> c_int;
/// A function of the reference: stream, input, length, output.
type Cub = unsafe extern "C" fn(CUstream, u64, c_int, u64) -> c_int;

pub(crate) struct Reduce {
    input: Vec<Buffer<f32>>,
    expected: f64,
    reduction: Reduction,
    /// The memory of the reference: partial sums, counter, output.
    partial: Buffer<f32>,
    finished: Buffer<u32>,
    out: Buffer<f32>,
    nvcc: Option<Nvcc>,
    cub: Option<Cub>,
}

impl Reduce {
    pub(crate) fn new(bench: &Bench) -> Result<Self, Failure> {
        let device = bench.stream.device();
        let len = if bench.checks_only() { 1 << 16 } else { 1 << 26 };
        let mut random = random();
        let input: Vec<f32> = (0..len).map(|_| (random() >> 8) as f32 / 1.6e7).collect();
        let multiprocessors = device.cuda_info().map_or(1, |info| info.multiprocessors);
        let reference = Reference::open("reduce");
        Ok(Self {
            expected: input.iter().copied().map(f64::from).sum(),
            input: buffers(&bench.stream, 2, &input)?,
            reduction: Reduction::new(device)?,
            partial: Buffer::new(device, 8 * multiprocessors)?,
            finished: Buffer::new(device, 1)?,
            out: Buffer::new(device, 1)?,
            // SAFETY: these are the types of the functions.
            nvcc: unsafe { reference.function("reduce_nvcc") },
            // SAFETY: the reason is the same.
            cub: unsafe { reference.function("reduce_cub") },
        })
    }
}

impl Case for Reduce {
    fn name(&self) -> String {
        format!("reduce, 2^{} f32", self.input[0].len().ilog2())
    }

    fn work(&self) -> Work {
        Work::Bytes(4 * u64::from(self.input[0].len()))
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
        let out = self.out.as_device_ptr().as_raw();
        match (variant, self.nvcc, self.cub) {
            (Variant::Rust, ..) => Ok(self.reduction.sum(stream, input).map(drop)?),
            (Variant::Nvcc, Some(nvcc), _) => {
                let blocks = self.partial.len() as c_int;
                let partial = self.partial.as_device_ptr().as_raw();
                let finished = self.finished.as_device_ptr().as_raw();
                // SAFETY: the buffers have the sizes that the function expects.
                check(unsafe { nvcc(raw, blocks, from, len, partial, finished, out) })
            }
            // SAFETY: the buffers have the sizes that the function expects.
            (Variant::Library(_), _, Some(cub)) => check(unsafe { cub(raw, from, len, out) }),
            _ => Err("the reference lacks a function".into()),
        }
    }

    fn check(&mut self, stream: &Stream, variant: Variant) -> Result<(), Failure> {
        self.launch(stream, variant, 0)?;
        let found = match variant {
            Variant::Rust => self.reduction.sum(stream, &self.input[0])?.download(stream)?,
            _ => self.out.download(stream)?,
        };
        let found = f64::from(found[0]);
        if (found / self.expected - 1.0).abs() < 1e-5 {
            return Ok(());
        }
        Err(format!("the sum is {found}, expected {}", self.expected).into())
    }
}
