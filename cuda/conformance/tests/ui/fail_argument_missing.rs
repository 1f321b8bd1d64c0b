//! A launch with a missing argument, and a launch with an extra argument.

use conformance::memory::CopyU32;
use cust::typed::{Buffer, Device};

fn main() {
    let device = Device::cpu();
    let input = Buffer::<u32>::new(&device, 64).unwrap();
    let _ = CopyU32 {
        input: input.view(),
    };
    let mut out = Buffer::<u32>::new(&device, 64).unwrap();
    let _ = CopyU32 {
        input: input.view(),
        out: out.view_mut(),
        len: 64,
    };
}
