//! The implementation of products on the CPU: each thread computes its own sums from shared memory
//! when it waits.

use core::panic::Location;

use cuda_cpu::{AccessKind, WarpOp, warp_exchange};

use super::{PANEL, THREADS, swizzled};
use crate::warp::FULL_MASK;
use crate::{Shared, thread};

/// The matrices of a product that has not been waited for.
#[derive(Debug)]
pub(super) struct Operands {
    a: Shared<u16>,
    b: Shared<u16>,
}

impl Operands {
    /// Checks that the warp makes this call together, and that the matrices can be read now.
    #[track_caller]
    pub(super) fn new<T>(a: Shared<T>, b: Shared<T>) -> Self {
        let (a, b) = (a.as_bits(), b.as_bits());
        let _ = warp_exchange(WarpOp::Exchange, FULL_MASK, 0, Location::caller());
        let _ = a.range(0, PANEL, 1024, AccessKind::Load);
        let _ = b.range(0, 4 * PANEL, 1024, AccessKind::Load);
        for row in rows() {
            a.note_load(row * 64, 64);
        }
        for row in 0..4 * 64 {
            b.note_load(row * 64, 64);
        }
        Self { a, b }
    }

    /// Adds the thread's part of the product. `widen` converts the bits of an element.
    #[track_caller]
    pub(super) fn multiply(self, sums: &mut [f32; 128], widen: impl Fn(u16) -> f32) {
        // SAFETY: `new` has checked that the panels exist. The caller of `Product::add` guarantees
        // that no thread writes them.
        let element = |panels: Shared<u16>, at: u32| unsafe { f64::from(widen(panels.load(at))) };
        let a = rows().map(|row| -> [f64; 64] {
            core::array::from_fn(|k| element(self.a, swizzled(row, k as u32)))
        });
        let first = thread::rank() % 4 * 2;
        for (i, column) in (0..32).flat_map(|j| [(4 * j, 8 * j), (4 * j + 1, 8 * j + 1)]) {
            let column = first + column;
            let b: [f64; 64] = core::array::from_fn(|k| {
                element(self.b, column / 64 * PANEL + swizzled(k as u32, column % 64))
            });
            for (half, a) in a.iter().enumerate() {
                let sum = &mut sums[i as usize + 2 * half];
                let product: f64 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
                *sum = (f64::from(*sum) + product) as f32;
            }
        }
    }
}

/// Returns the two rows of the result that the thread holds.
fn rows() -> [u32; 2] {
    let rank = thread::rank() % THREADS;
    let row = rank / 32 * 16 + rank % 32 / 4;
    [row, row + 8]
}
