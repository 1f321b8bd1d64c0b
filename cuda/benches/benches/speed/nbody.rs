//! A time step of bodies that attract each other, beside CUDA C++.

use std::ffi::c_int;

use cuda_benches::{Bench, Case, Failure, Reference, Variant, Work, check};
use cust::sys::CUstream;
use cust::typed::{Buffer, Stream};
use glam::Vec4;
use nbody::{Bodies, after_first_step, spiral};

/// A function of the reference: stream, bodies, length, velocities, moved bodies, time step.
type Nvcc = unsafe extern "C" fn(CUstream, u64, c_int, u64, u64, f32) -> c_int;

const STEP: f32 = 1e-3;

/// The floating-point operations that a pair of bodies takes: the usual number for comparisons
/// (Nyland, Harris and Prins, "Fast N-Body Simulation with CUDA", 2007).
const FLOP_PER_PAIR: f64 = 20.0;

pub(crate) struct Nbody {
    start: Vec<Vec4>,
    rust: Bodies,
    /// The memory of the reference.
    bodies: [Buffer<Vec4>; 2],
    velocities: Buffer<Vec4>,
    nvcc: Option<Nvcc>,
}

impl Nbody {
    pub(crate) fn new(bench: &Bench) -> Result<Self, Failure> {
        let (stream, device) = (&bench.stream, bench.stream.device());
        let start = spiral(if bench.checks_only() { 1 << 10 } else { 1 << 16 });
        let bodies = || Buffer::from_slice(stream, &start);
        Ok(Self {
            rust: Bodies::new(stream, &start)?,
            bodies: [bodies()?, bodies()?],
            velocities: Buffer::new(device, start.len() as u32)?,
            start,
            // SAFETY: `Nvcc` is the type of the function.
            nvcc: unsafe { Reference::open("nbody").function("nbody_nvcc") },
        })
    }
}

impl Case for Nbody {
    fn name(&self) -> String {
        format!("nbody, 2^{} bodies", self.start.len().ilog2())
    }

    fn work(&self) -> Work {
        Work::Operations(FLOP_PER_PAIR * (self.start.len() as f64).powi(2), "flop")
    }

    fn variants(&self) -> Vec<Variant> {
        Variant::available(self.nvcc.is_some(), None)
    }

    fn sets(&self) -> usize {
        1
    }

    fn launch(&mut self, stream: &Stream, variant: Variant, _set: usize) -> Result<(), Failure> {
        if variant == Variant::Rust {
            return Ok(self.rust.step(stream, STEP)?);
        }
        let nvcc = self.nvcc.ok_or("the reference lacks a function")?;
        let [from, to] = [0, 1].map(|i: usize| self.bodies[i].as_device_ptr().as_raw());
        let velocities = self.velocities.as_device_ptr().as_raw();
        self.bodies.swap(0, 1);
        let len = self.start.len() as c_int;
        // SAFETY: the buffers have an element for each body.
        check(unsafe { nvcc(stream.as_raw(), from, len, velocities, to, STEP) })
    }

    fn check(&mut self, stream: &Stream, variant: Variant) -> Result<(), Failure> {
        self.rust = Bodies::new(stream, &self.start)?;
        self.bodies[0].upload(stream, &self.start)?;
        self.velocities.clear(stream)?;
        self.launch(stream, variant, 0)?;
        let found = match variant {
            Variant::Rust => self.rust.download(stream)?,
            _ => self.bodies[0].download(stream)?,
        };
        for (i, found) in found.into_iter().enumerate().step_by(self.start.len() / 16 - 1) {
            let expected = after_first_step(&self.start, i, STEP.into());
            let moved = |a: f64, b: f64| (a - b).abs() > 1e-6;
            let found = found.as_dvec4().to_array();
            if found.iter().zip(expected).any(|(found, expected)| moved(*found, expected)) {
                return Err(format!("body {i}: {found:?}, expected {expected:?}").into());
            }
        }
        Ok(())
    }
}
