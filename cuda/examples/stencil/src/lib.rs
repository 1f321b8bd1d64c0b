//! Applies a 3-D stencil in the shape of a star to a volume, on a GPU or on the CPU.

use cust::typed::{Buffer, DeviceError, LaunchConfig, Stream};
use glam::{UVec3, uvec3};
use stencil_kernels::{BLOCK_X, BLOCK_Y, Star1, Star4, points};

// The compiled kernels. Every GPU that the program opens loads them.
include!(concat!(env!("OUT_DIR"), "/kernels.rs"));

/// The weights of a star: that of the point itself, and those of its neighbours along each axis by
/// distance.
#[derive(Clone, Copy, Debug)]
pub enum Star {
    /// A star of 7 points.
    Near(f32, [f32; 1]),
    /// A star of 25 points.
    Far(f32, [f32; 4]),
}

impl Star {
    /// The second-order approximation of the Laplace operator.
    pub const LAPLACE_2: Self = Self::Near(-6.0, [1.0]);

    /// The eighth-order approximation of the Laplace operator.
    pub const LAPLACE_8: Self =
        Self::Far(3.0 * -205.0 / 72.0, [8.0 / 5.0, -1.0 / 5.0, 8.0 / 315.0, -1.0 / 560.0]);
}

/// Applies `star` to the points of a volume that have all neighbours, and leaves the other points of
/// `out` unchanged. The volume has `size` points, with x fastest.
///
/// # Errors
/// Returns the error of the device, for example if a buffer belongs to another device.
///
/// # Panics
/// Panics if a buffer is shorter than the volume.
pub fn apply(
    stream: &Stream,
    star: Star,
    size: UVec3,
    input: &Buffer<f32>,
    out: &mut Buffer<f32>,
) -> Result<(), DeviceError> {
    let is_complete = points(size).is_some_and(|points| points <= input.len().min(out.len()));
    assert!(is_complete, "a buffer is shorter than a volume of {size}");
    let (input, out) = (input.view(), out.view_mut());
    // A thread computes a column of points along z.
    let grid = |radius: u32| {
        let inner = size.saturating_sub(uvec3(2 * radius, 2 * radius, 0)).max(UVec3::ONE);
        LaunchConfig::cover(inner.x, inner.y, [BLOCK_X, BLOCK_Y])
    };
    match star {
        Star::Near(centre, weights) => {
            stream.launch(&grid(1), &Star1 { input, out, size, centre, weights })
        }
        Star::Far(centre, weights) => {
            stream.launch(&grid(4), &Star4 { input, out, size, centre, weights })
        }
    }
}
