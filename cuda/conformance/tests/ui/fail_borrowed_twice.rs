//! A launch that reads and writes the same buffer, and a buffer that is dropped before its launch.

use conformance::memory::CopyU32;
use cust::typed::{Buffer, Device};

fn main() {
    let device = Device::cpu();
    let mut buffer = Buffer::<u32>::new(&device, 64).unwrap();
    let _ = CopyU32 {
        input: buffer.view(),
        out: buffer.view_mut(),
    };
    let input = Buffer::<u32>::new(&device, 64).unwrap();
    let kernel = CopyU32 {
        input: input.view(),
        out: Buffer::<u32>::new(&device, 64).unwrap().view_mut(),
    };
    drop(kernel);
}
