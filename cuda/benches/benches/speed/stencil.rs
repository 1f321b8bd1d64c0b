//! A 3-D stencil of 25 points beside CUDA C++.

use std::ffi::c_int;

use cuda_benches::{Bench, Case, Failure, Reference, Variant, Work, buffers, check, random};
use cust::sys::CUstream;
use cust::typed::{Buffer, Stream};
use glam::{UVec3, uvec3};
use stencil::{Star, apply};

/// A function of the reference: stream, width, height, depth, input, output, weights on the host.
type Nvcc = unsafe extern "C" fn(CUstream, c_int, c_int, c_int, u64, u64, *const [f32; 5]) -> c_int;

static WEIGHTS: [f32; 5] = [1.0, 0.5, -0.25, 0.125, -0.375];

pub(crate) struct Stencil {
    size: UVec3,
    volume: Vec<f32>,
    input: Vec<Buffer<f32>>,
    out: Vec<Buffer<f32>>,
    nvcc: Option<Nvcc>,
}

impl Stencil {
    pub(crate) fn new(bench: &Bench) -> Result<Self, Failure> {
        let size = if bench.checks_only() { uvec3(75, 50, 20) } else { uvec3(512, 512, 256) };
        let mut random = random();
        let volume: Vec<f32> =
            (0..size.element_product()).map(|_| (random() >> 24) as f32).collect();
        Ok(Self {
            size,
            input: buffers(&bench.stream, 2, &volume)?,
            out: buffers(&bench.stream, 2, &volume)?,
            volume,
            // SAFETY: `Nvcc` is the type of the function.
            nvcc: unsafe { Reference::open("stencil").function("stencil_nvcc") },
        })
    }

    /// Returns the expected value of the point at `index`, which has all neighbours.
    fn expected(&self, index: usize) -> f64 {
        let [x, y, _] = self.size.to_array().map(|points| points as usize);
        let mut sum = f64::from(WEIGHTS[0] * self.volume[index]);
        for (distance, weight) in WEIGHTS.iter().enumerate().skip(1) {
            for stride in [1, x, x * y].map(|stride| distance * stride) {
                sum +=
                    f64::from(weight * (self.volume[index - stride] + self.volume[index + stride]));
            }
        }
        sum
    }
}

impl Case for Stencil {
    fn name(&self) -> String {
        let UVec3 { x, y, z } = self.size;
        format!("stencil of 25 points, {x}×{y}×{z} f32")
    }

    fn work(&self) -> Work {
        Work::Bytes(8 * self.volume.len() as u64)
    }

    fn variants(&self) -> Vec<Variant> {
        Variant::available(self.nvcc.is_some(), None)
    }

    fn sets(&self) -> usize {
        self.input.len()
    }

    fn launch(&mut self, stream: &Stream, variant: Variant, set: usize) -> Result<(), Failure> {
        let (input, out) = (&self.input[set], &mut self.out[set]);
        if variant == Variant::Rust {
            let [centre, weights @ ..] = WEIGHTS;
            return Ok(apply(stream, Star::Far(centre, weights), self.size, input, out)?);
        }
        let nvcc = self.nvcc.ok_or("the reference lacks a function")?;
        let [x, y, z] = self.size.to_array().map(|points| points as c_int);
        let (input, out) = (input.as_device_ptr().as_raw(), out.as_device_ptr().as_raw());
        // SAFETY: the buffers have the size of the volume.
        check(unsafe { nvcc(stream.as_raw(), x, y, z, input, out, &raw const WEIGHTS) })
    }

    fn check(&mut self, stream: &Stream, variant: Variant) -> Result<(), Failure> {
        self.out[0].upload(stream, &self.volume)?;
        self.launch(stream, variant, 0)?;
        let found = self.out[0].download(stream)?;
        let size = self.size.to_array().map(|points| points as usize);
        for (index, found) in found.into_iter().enumerate() {
            let at = [index % size[0], index / size[0] % size[1], index / (size[0] * size[1])];
            let is_inside = at.into_iter().zip(size).all(|(at, size)| at >= 4 && at + 4 < size);
            // All inner points of a few planes are enough for a large volume.
            if is_inside && size[2] > 100 && at[2] % 50 != 4 {
                continue;
            }
            let expected = if is_inside { self.expected(index) } else { self.volume[index].into() };
            if (f64::from(found) - expected).abs() > 1e-2 {
                return Err(format!("point {at:?}: {found}, expected {expected}").into());
            }
        }
        Ok(())
    }
}
