//! The safe launch rejects a kernel that is an `unsafe fn`.

use conformance::arguments::FillUnchecked;
use cust::typed::{Buffer, Device, LaunchConfig};

fn main() {
    let stream = Device::cpu().stream().unwrap();
    let mut out = Buffer::<u32>::new(stream.device(), 64).unwrap();
    let kernel = FillUnchecked {
        value: 1,
        out: out.view_mut(),
    };
    let _ = stream.launch(&LaunchConfig::cover(64, 1, [64, 1]), &kernel);
}
