//! Kernels in rust-cuda's style, which the tests launch by name.
#![allow(
    clippy::undocumented_unsafe_blocks,
    clippy::missing_safety_doc,
    reason = "written as rust-cuda's examples are"
)]

use cuda_std::atomic::AtomicAdd;
use cuda_std::prelude::*;
use cuda_std::shared::dynamic_shared_mem;

constant! {
    pub(crate) static TAPS: [f32; 4];
}

#[kernel]
pub(crate) unsafe fn add(a: &[f32], b: &[f32], sum: *mut f32) {
    let i = thread::index_1d() as usize;
    if i < a.len() {
        unsafe { *sum.add(i) = a[i] + b[i] };
    }
}

/// Multiplies every element by `factor` and adds the value at the address `plus`.
#[kernel]
pub(crate) unsafe fn scale(factor: f32, plus: *const f32, data: *mut f32, len: usize) {
    let i = thread::index_1d() as usize;
    if i < len {
        unsafe { *data.add(i) = *data.add(i) * factor + *plus };
    }
}

/// Writes each thread's position in a three-dimensional grid.
#[kernel(dims(3))]
pub(crate) unsafe fn place(out: *mut [u32; 3]) {
    let at = thread::block_idx() * thread::block_dim() + thread::thread_idx();
    let size = thread::grid_dim() * thread::block_dim();
    let linear = (at.z * size.y + at.y) * size.x + at.x;
    unsafe { *out.add(linear as usize) = at.to_array() };
}

/// Reverses the elements of each block, through dynamic shared memory.
#[kernel]
pub(crate) unsafe fn reverse(data: *mut u32) {
    let tile = dynamic_shared_mem::<u32>();
    let (own, last) = (thread::thread_idx_x(), thread::block_dim_x() - 1);
    let at = thread::index_1d() as usize;
    unsafe {
        tile.store(own, *data.add(at));
        thread::sync_threads();
        *data.add(at) = tile.load(last - own);
    }
}

#[kernel(launch_bounds(64))]
pub(crate) unsafe fn narrow() {}

/// Reads out of bounds: thread 3 reads one element past the end.
#[kernel]
pub(crate) unsafe fn beyond(data: Slice<u32>, out: *mut u32) {
    let i = thread::index_1d();
    let far = if i == 3 { data.len() } else { i };
    unsafe { *out.add(i as usize) = data.load(far) };
}

/// Adds every element to the counter `total`.
#[kernel]
pub(crate) unsafe fn sum(data: &[u32], total: *mut u32) {
    if let Some(&own) = data.get(thread::index_1d() as usize) {
        unsafe { u32::atomic_add(total, own) };
    }
}

#[kernel]
pub(crate) unsafe fn taps(out: *mut f32) {
    let i = thread::index_1d();
    unsafe { *out.add(i as usize) = TAPS::load(i) };
}

/// Does nothing. The kernel is linked into the tests, but no PTX of the tests names it.
#[kernel]
pub(crate) unsafe fn unlisted() {}
