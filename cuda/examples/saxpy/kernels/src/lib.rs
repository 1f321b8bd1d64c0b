//! `y ← a·x + y`, the operation that the BLAS library calls saxpy.
//!
//! The kernel is one generic function with two instances. The instance for [`Vec4`] loads and stores
//! 16 bytes with one instruction, so it needs a quarter of the instructions.

use core::ops::{Add, Mul};

use bytemuck::Pod;
use cuda_std::prelude::*;
use glam::Vec4;

/// Adds `a · x` to `y`, element by element.
///
/// Each thread starts at its own index and advances by the number of threads in the grid, so a grid
/// of any size covers the slices.
#[kernel(
    dims(1),
    launch_bounds(256),
    instances(saxpy_f32 = axpy::<f32>, saxpy_vec4 = axpy::<Vec4>)
)]
pub fn axpy<T>(a: f32, x: Slice<T>, y: SliceMut<T>)
where
    T: Pod + Add<Output = T> + Mul<f32, Output = T>,
{
    for i in thread::unique_1d().grid_stride(y.len()) {
        if let (Some(x), Some(old)) = (x.get(i), y.get(i)) {
            y.set(i, x * a + old);
        }
    }
}
