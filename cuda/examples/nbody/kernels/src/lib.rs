//! One time step of bodies that attract each other.
//!
//! Each thread moves one body. A block copies a tile of bodies to shared memory, and all its threads
//! read the tile from there, so a body is read from global memory once per block.

use cuda_std::prelude::*;
use glam::{Vec3, Vec4, Vec4Swizzles as _};

/// The number of threads per block, and of bodies in a tile.
pub const BLOCK: u32 = 256;

/// The number of bodies in a group. The compiler unrolls the loop over a group.
const UNROLLED: u32 = 8;

/// The square of the softening length, which limits the force between bodies that are close.
pub const SOFTENING: f32 = 1e-4;

/// Moves each body by one time step `dt`.
///
/// An element of `bodies` is a position and a mass. The kernel adds the acceleration by all bodies,
/// times `dt`, to the body's element of `velocities`, and writes the new position and the mass to
/// `moved`. Does nothing unless a block has [`BLOCK`] threads.
#[kernel(dims(1), launch_bounds(BLOCK), barriers(2))]
pub fn step(bodies: Slice<Vec4>, velocities: SliceMut<Vec4>, moved: SliceMut<Vec4>, dt: f32) {
    let tile = shared_array![Vec4; BLOCK as usize];
    let (i, rank, len) = (thread::unique_1d(), thread::thread_idx_x(), bodies.len());
    if thread::block_dim_x() != BLOCK {
        return;
    }
    // Threads without a body compute, too, because they copy elements of the tiles.
    let body = bodies.get(i).unwrap_or(Vec4::ZERO);
    let mut acceleration = Vec3::ZERO;
    let mut first = 0;
    while first < len {
        // A body without mass attracts nothing.
        let other = bodies.get(first + rank).unwrap_or(Vec4::ZERO);
        // SAFETY: `rank` is less than `BLOCK`, and only this thread writes the element.
        unsafe { tile.store(rank, other) };
        thread::sync_threads();
        for group in 0..BLOCK / UNROLLED {
            for k in 0..UNROLLED {
                // SAFETY: the element exists, and nothing writes it until the next barrier.
                let other = unsafe { tile.load(group * UNROLLED + k) };
                acceleration += attraction(body.xyz(), other);
            }
        }
        thread::sync_threads();
        first += BLOCK;
    }
    if let Some(velocity) = velocities.get(i) {
        let velocity = velocity.xyz() + acceleration * dt;
        velocities.set(i, velocity.extend(0.0));
        moved.set(i, (body.xyz() + velocity * dt).extend(body.w));
    }
}

/// Returns the acceleration at `at` by a body: its mass over the square of the distance, with the
/// gravitational constant as 1.
#[inline(always)]
fn attraction(at: Vec3, body: Vec4) -> Vec3 {
    let towards = body.xyz() - at;
    // In this order, the compiler fuses each product with an addition.
    let Vec3 { x, y, z } = towards;
    let square = z * z + (y * y + (x * x + SOFTENING));
    let inverse = square.fast_rsqrt();
    towards * (body.w * inverse * inverse * inverse)
}
