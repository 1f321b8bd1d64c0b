//! Simulates bodies that attract each other, on a GPU or on the CPU.

use std::mem;

use cust::typed::{Buffer, DeviceError, LaunchConfig, Stream};
use glam::{Vec3, Vec4};
use nbody_kernels::{BLOCK, Step};

pub use nbody_kernels::SOFTENING;

// The compiled kernels. Every GPU that the program opens loads them.
include!(concat!(env!("OUT_DIR"), "/kernels.rs"));

/// Bodies on a device.
pub struct Bodies {
    /// Positions and masses.
    bodies: Buffer<Vec4>,
    velocities: Buffer<Vec4>,
    /// Receives the positions after a step.
    moved: Buffer<Vec4>,
}

impl Bodies {
    /// Copies bodies at rest to the device of `stream`. An element of `bodies` is a position and a
    /// mass.
    ///
    /// # Errors
    /// Returns the error of the device, for example if there are no bodies.
    pub fn new(stream: &Stream, bodies: &[Vec4]) -> Result<Self, DeviceError> {
        let bodies = Buffer::from_slice(stream, bodies)?;
        let zeros = || Buffer::new(stream.device(), bodies.len());
        Ok(Self { velocities: zeros()?, moved: zeros()?, bodies })
    }

    /// Submits a time step `dt`.
    ///
    /// # Errors
    /// Returns the error of the device.
    pub fn step(&mut self, stream: &Stream, dt: f32) -> Result<(), DeviceError> {
        let Self { bodies, velocities, moved } = self;
        let kernel = Step {
            bodies: bodies.view(),
            velocities: velocities.view_mut(),
            moved: moved.view_mut(),
            dt,
        };
        stream.launch(&LaunchConfig::for_1d(bodies.len(), BLOCK), &kernel)?;
        mem::swap(bodies, moved);
        Ok(())
    }

    /// Copies the positions and masses to the host.
    ///
    /// # Errors
    /// Returns the error of the device.
    pub fn download(&self, stream: &Stream) -> Result<Vec<Vec4>, DeviceError> {
        self.bodies.download(stream)
    }
}

/// Returns `count` bodies of equal mass on a spiral in the unit ball. Their masses add up to 1.
#[must_use]
pub fn spiral(count: usize) -> Vec<Vec4> {
    // The golden angle distributes the directions evenly.
    let angle = |i: f32| i * 2.399_963;
    (0..count)
        .map(|i| {
            let (i, count) = (i as f32, count as f32);
            let z = 2.0 * (i + 0.5) / count - 1.0;
            let (sin, cos) = angle(i).sin_cos();
            let direction = Vec3::new(cos, sin, 0.0) * (1.0 - z * z).sqrt() + Vec3::Z * z;
            let radius = 0.2 + 0.8 * (i * 0.618_034).fract();
            (direction * radius).extend(1.0 / count)
        })
        .collect()
}

/// Returns the position of body `i` after the first step from rest, computed in f64.
#[must_use]
pub fn after_first_step(bodies: &[Vec4], i: usize, dt: f64) -> [f64; 3] {
    let at = bodies[i].as_dvec4();
    let mut acceleration = [0.0; 3];
    for body in bodies.iter().map(|body| body.as_dvec4()) {
        let towards = [body.x - at.x, body.y - at.y, body.z - at.z];
        let square: f64 = towards.iter().map(|d| d * d).sum();
        let factor = body.w / (square + f64::from(SOFTENING)).powf(1.5);
        for (sum, towards) in acceleration.iter_mut().zip(towards) {
            *sum += towards * factor;
        }
    }
    let [x, y, z] = acceleration.map(|acceleration| acceleration * dt * dt);
    [at.x + x, at.y + y, at.z + z]
}
