//! A buffer with the wrong element type, and a scalar instead of a slice.

use conformance::memory::CopyU32;
use cust::typed::{Buffer, Device};

fn main() {
    let device = Device::cpu();
    let input = Buffer::<f32>::new(&device, 64).unwrap();
    let mut out = Buffer::<u32>::new(&device, 64).unwrap();
    let _ = CopyU32 {
        input: input.view(),
        out: out.view_mut(),
    };
    let _ = CopyU32 {
        input: 64_u32,
        out: out.view_mut(),
    };
}
