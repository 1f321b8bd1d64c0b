//! Products of matrices beside CUDA C++ and cuBLAS.

use std::ffi::c_int;

use bytemuck::Pod;
use cuda_benches::{Bench, Case, Failure, Reference, Variant, Work, check};
use cust::sys::CUstream;
use cust::typed::{DeviceError, Image, Stream};
use half::bf16;
use matmul::{TensorCores, product_bf16, product_f32};

/// A function of the reference: stream, rows, columns, inner dimension, A, B, result.
type Function = unsafe extern "C" fn(CUstream, c_int, c_int, c_int, u64, u64, u64) -> c_int;

/// The example's function for matrices of `T`.
type Product<T> = fn(&Stream, &Image<T>, &Image<T>, &mut Image<T>) -> Result<(), DeviceError>;

/// The product of two square matrices.
pub(crate) struct Matmul<T> {
    kind: &'static str,
    size: u32,
    a: Image<T>,
    b: Image<T>,
    out: Image<T>,
    /// The elements of the result on the diagonal.
    expected: Vec<f64>,
    /// The tolerated error relative to the element.
    tolerance: f64,
    product: Product<T>,
    nvcc: Option<Function>,
    cublas: Option<Function>,
}

pub(crate) fn f32(bench: &Bench) -> Result<Matmul<f32>, Failure> {
    Matmul::new(bench, "f32", 4096, |number| number, 0.0, product_f32)
}

/// The product with `mma.sync`, which all GPUs since Ampere have.
pub(crate) fn bf16_warp(bench: &Bench) -> Result<Matmul<bf16>, Failure> {
    let product: Product<bf16> =
        |stream, a, b, out| product_bf16(stream, TensorCores::Warp, a, b, out);
    Matmul::new(bench, "bf16_warp", 4096, bf16::from_f32, 1.0 / 256.0, product)
}

/// The product with `wgmma`, which only Hopper has.
pub(crate) fn bf16_warpgroup<const SIZE: u32>(bench: &Bench) -> Result<Matmul<bf16>, Failure> {
    let product: Product<bf16> =
        |stream, a, b, out| product_bf16(stream, TensorCores::Warpgroup, a, b, out);
    Matmul::new(bench, "bf16_warpgroup", SIZE, bf16::from_f32, 1.0 / 256.0, product)
}

impl<T: Pod> Matmul<T> {
    /// Creates matrices of pseudo-random numbers between -1 and 1, which `narrow` represents
    /// exactly.
    fn new(
        bench: &Bench,
        kind: &'static str,
        size: u32,
        narrow: fn(f32) -> T,
        tolerance: f64,
        product: Product<T>,
    ) -> Result<Self, Failure> {
        let size = if bench.checks_only() { 512 } else { size };
        let n = size as usize;
        let number = |i: usize| ((i as u32).wrapping_mul(0x9e37_79b9) >> 25) as f32 / 64.0 - 1.0;
        let [a, b] =
            [0, 1].map(|seed| -> Vec<f32> { (0..n * n).map(|i| number(2 * i + seed)).collect() });
        let element = |i| (0..n).map(|k| f64::from(a[i * n + k]) * f64::from(b[k * n + i])).sum();
        let expected = (0..n).map(element).collect();
        let image = |numbers: &[f32]| -> Result<Image<T>, Failure> {
            let elements: Vec<T> = numbers.iter().map(|&number| narrow(number)).collect();
            Ok(Image::from_slice(&bench.stream, size, size, &elements)?)
        };
        let reference = Reference::open("matmul");
        let cublas = Reference::open("matmul_cublas");
        let cublas_kind = if kind == "f32" { "f32" } else { "bf16" };
        Ok(Self {
            kind,
            size,
            a: image(&a)?,
            b: image(&b)?,
            out: Image::new(bench.stream.device(), size, size)?,
            expected,
            tolerance,
            product,
            // SAFETY: `Function` is the type of these functions.
            nvcc: unsafe { reference.function(&format!("matmul_{kind}")) },
            // SAFETY: the reason is the same.
            cublas: unsafe { cublas.function(&format!("matmul_cublas_{cublas_kind}")) },
        })
    }
}

impl<T: Pod + Into<f32>> Case for Matmul<T> {
    fn name(&self) -> String {
        let kind = match self.kind {
            "bf16_warp" => "bf16 by mma.sync",
            "bf16_warpgroup" => "bf16 by wgmma",
            kind => kind,
        };
        format!("matmul, {0}×{0} {kind}", self.size)
    }

    fn work(&self) -> Work {
        Work::Operations(2.0 * f64::from(self.size).powi(3), "flop")
    }

    fn variants(&self) -> Vec<Variant> {
        Variant::available(self.nvcc.is_some(), self.cublas.map(|_| "cuBLAS"))
    }

    fn sets(&self) -> usize {
        1
    }

    fn launch(&mut self, stream: &Stream, variant: Variant, _: usize) -> Result<(), Failure> {
        let function = match variant {
            Variant::Rust => {
                return Ok((self.product)(stream, &self.a, &self.b, &mut self.out)?);
            }
            Variant::Nvcc => self.nvcc,
            Variant::Library(_) => self.cublas,
        };
        let function = function.ok_or("the reference has no product")?;
        let [a, b, out] = [&self.a, &self.b, &self.out].map(|image| image.as_ptr().addr() as u64);
        let n = self.size as c_int;
        // SAFETY: the matrices have this size and no padding, because their rows are multiples of
        // 256 bytes. The stream's work uses them in order.
        check(unsafe { function(stream.as_raw(), n, n, n, a, b, out) })
    }

    fn check(&mut self, stream: &Stream, variant: Variant) -> Result<(), Failure> {
        let n = self.size as usize;
        self.out = Image::new(stream.device(), self.size, self.size)?;
        self.launch(stream, variant, 0)?;
        let found = self.out.download(stream)?;
        for (i, expected) in self.expected.iter().enumerate() {
            let found = f64::from(found[i * n + i].into());
            // The sums of `f32` have random rounding errors.
            let tolerance = self.tolerance * expected.abs() + 1e-6 * n as f64;
            if (found - expected).abs() > tolerance {
                return Err(format!("element ({i}, {i}) is {found}, expected {expected}").into());
            }
        }
        Ok(())
    }
}
