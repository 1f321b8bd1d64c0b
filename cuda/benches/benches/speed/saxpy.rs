//! `y ← a·x + y` beside CUDA C++ and cuBLAS.

use std::ffi::c_int;

use cuda_benches::{Bench, Case, Failure, Reference, Variant, Work, buffers, check};
use cust::sys::CUstream;
use cust::typed::{Buffer, Stream};

/// A function of the reference: stream, length, a, x, y.
type Function = unsafe extern "C" fn(CUstream, c_int, f32, u64, u64) -> c_int;

const A: f32 = 0.5;

pub(crate) struct Saxpy {
    x: Vec<Buffer<f32>>,
    y: Vec<Buffer<f32>>,
    first_y: Vec<f32>,
    expected: Vec<f32>,
    nvcc: Option<Function>,
    cublas: Option<Function>,
}

impl Saxpy {
    pub(crate) fn new(bench: &Bench) -> Result<Self, Failure> {
        let len = if bench.checks_only() { 1 << 16 } else { 1 << 25 };
        let x: Vec<f32> = (0..len).map(|i| (i % 1021) as f32).collect();
        let y: Vec<f32> = (0..len).map(|i| (i % 509) as f32).collect();
        let reference = Reference::open("saxpy");
        let cublas = Reference::open("saxpy_cublas");
        Ok(Self {
            x: buffers(&bench.stream, 2, &x)?,
            y: buffers(&bench.stream, 2, &y)?,
            expected: x.iter().zip(&y).map(|(x, y)| A * x + y).collect(),
            first_y: y,
            // SAFETY: `Function` is the type of these functions.
            nvcc: unsafe { reference.function("saxpy_nvcc") },
            // SAFETY: the reason is the same.
            cublas: unsafe { cublas.function("saxpy_cublas") },
        })
    }
}

impl Case for Saxpy {
    fn name(&self) -> String {
        format!("saxpy, 2^{} f32", self.expected.len().ilog2())
    }

    fn work(&self) -> Work {
        Work::Bytes(12 * self.expected.len() as u64)
    }

    fn variants(&self) -> Vec<Variant> {
        Variant::available(self.nvcc.is_some(), self.cublas.map(|_| "cuBLAS"))
    }

    fn sets(&self) -> usize {
        self.x.len()
    }

    fn launch(&mut self, stream: &Stream, variant: Variant, set: usize) -> Result<(), Failure> {
        let (x, y) = (&self.x[set], &mut self.y[set]);
        let function = match variant {
            Variant::Rust => return Ok(saxpy::saxpy(stream, A, x, y)?),
            Variant::Nvcc => self.nvcc,
            Variant::Library(_) => self.cublas,
        };
        let function = function.ok_or("the reference has no saxpy")?;
        let (x, y) = (x.as_device_ptr().as_raw(), y.as_device_ptr().as_raw());
        // SAFETY: both buffers have this length, and the stream's work uses them in order.
        check(unsafe { function(stream.as_raw(), self.expected.len() as c_int, A, x, y) })
    }

    fn check(&mut self, stream: &Stream, variant: Variant) -> Result<(), Failure> {
        self.y[0].upload(stream, &self.first_y)?;
        self.launch(stream, variant, 0)?;
        let found = self.y[0].download(stream)?;
        match (0..found.len()).find(|&i| found[i] != self.expected[i]) {
            None => Ok(()),
            Some(i) => {
                Err(format!("element {i}: {}, expected {}", found[i], self.expected[i]).into())
            }
        }
    }
}
