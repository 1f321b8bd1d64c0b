//! The kernels: functions that a GPU runs in many threads.

use cuda_std::prelude::*;

/// Adds `a` and `b`. Each thread computes one element.
#[kernel(dims(1))]
pub fn add(a: Slice<f32>, b: Slice<f32>, sum: SliceMut<f32>) {
    let i = thread::unique_1d();
    if let (Some(a), Some(b)) = (a.get(i), b.get(i)) {
        sum.set(i, a + b);
    }
}
