//! The implementation of tensor cores on the CPU: lanes exchange rows and elements, and each lane
//! computes its own elements of the result.

use core::panic::Location;

use bytemuck::Pod;
use cuda_cpu::{AccessKind, WarpOp, warp_exchange};

use super::Pair;
use crate::Shared;
use crate::warp::{FULL_MASK, WARP_SIZE, lane_id};

/// Loads `N` matrices. `elements` returns row and column of the two elements of a lane.
///
/// # Safety
/// The requirements are those of [`load_matrices`](super::load_matrices).
#[track_caller]
pub(super) unsafe fn load<const N: usize, T: Pod>(
    array: Shared<T>,
    first: u32,
    elements: impl Fn(u32) -> [(u32, u32); 2],
) -> [Pair<T>; N] {
    let place = Location::caller();
    let lane = lane_id();
    // Only the lanes that pass a row pass an index that must be valid.
    let passes = (lane as usize) < 8 * N;
    let offset = if passes { array.range(first, 8, 16, AccessKind::Load).1 } else { 0 };
    let offsets = warp_exchange(WarpOp::Exchange, FULL_MASK, offset as u32, place);
    let whole = array.whole();
    let mut matrices = [Pair::from_bits(0); N];
    for (matrix, pair) in (0..).zip(&mut matrices) {
        let mut two = [T::zeroed(); 2];
        for ((row, column), element) in elements(lane).into_iter().zip(&mut two) {
            // SAFETY: the lane that passed the row has checked it, because it passed the same
            // array. The caller guarantees that no other thread writes it.
            *element = unsafe { whole.load(offsets[(matrix * 8 + row) as usize] / 2 + column) };
        }
        *pair = Pair::new(two);
    }
    matrices
}

/// Returns the lane's elements of `a · b + c`. `widen` converts the bits of an element.
#[track_caller]
pub(super) fn multiply(
    a: [u32; 4],
    b: [u32; 2],
    c: [f32; 4],
    widen: impl Fn(u16) -> f32,
) -> [f32; 4] {
    let place = Location::caller();
    let exchange = |word| warp_exchange(WarpOp::Exchange, FULL_MASK, word, place);
    let (a, b) = (a.map(exchange), b.map(exchange));
    // An element of A or of B transposed: its 8×8 part, and its row and column there.
    let element = |words: &[u32; WARP_SIZE as usize], row: u32, column: u32| {
        let word = words[(row * 4 + column / 2) as usize];
        f64::from(widen((word >> (column % 2 * 16)) as u16))
    };
    let lane = lane_id();
    let mut d = c;
    for (i, sum) in (0..).zip(&mut d) {
        let (row, column) = (lane / 4, lane % 4 * 2 + i as u32 % 2);
        let mut exact = f64::from(*sum);
        for k in 0..16 {
            let part = k as usize / 8;
            exact += element(&a[part * 2 + i / 2], row, k % 8) * element(&b[part], column, k % 8);
        }
        *sum = exact as f32;
    }
    d
}
