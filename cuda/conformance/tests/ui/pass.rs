//! Correct launches, which compile: the other programs fail only because of their mistakes.

use bytemuck::{Pod, Zeroable};
use cuda_std::prelude::*;
use cust::typed::{Buffer, Device, LaunchConfig};

#[derive(Clone, Copy, Debug, Pod, Zeroable, KernelArg)]
#[repr(C)]
struct Scale {
    factor: f32,
}

#[kernel(launch_bounds(256, 2), barriers(0))]
fn scale_2(input: Slice<f32>, by: Scale, out: SliceMut<f32>) {
    let at = thread::index_1d();
    if at < input.len() && at < out.len() {
        // SAFETY: `at` is in bounds (checked above). Each thread writes its own element.
        unsafe { out.store(at, by.factor * input.load(at)) };
    }
}

#[kernel]
unsafe fn trusting(out: SliceMut<f32>) {
    // SAFETY: the caller upholds this function's safety contract.
    unsafe { out.store(thread::index_1d(), 1.0) };
}

fn main() {
    let stream = Device::cpu().stream().unwrap();
    let input = Buffer::from_slice(&stream, &[1.0_f32; 64]).unwrap();
    let mut out = Buffer::new(stream.device(), 64).unwrap();
    let config = LaunchConfig::cover(64, 1, [32, 1]);
    let kernel = Scale2 {
        input: input.view(),
        by: Scale { factor: 2.0 },
        out: out.view_mut(),
    };
    stream.launch(&config, &kernel).unwrap();
    let kernel = Trusting {
        out: out.view_mut(),
    };
    // SAFETY: `out` has one element for each thread of the grid.
    unsafe { stream.launch_unchecked(&config, &kernel) }.unwrap();
}
