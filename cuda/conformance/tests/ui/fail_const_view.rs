//! A read-only view for an argument that the kernel writes.

use conformance::memory::MirrorU32;
use cust::typed::{Device, Image};

fn main() {
    let device = Device::cpu();
    let image = Image::<u32>::new(&device, 8, 8).unwrap();
    let _ = MirrorU32 {
        input: image.view(),
        out: image.view(),
    };
}
