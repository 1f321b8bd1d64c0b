//! Arguments of types that do not cross to the device.

use cuda_std::prelude::*;

#[kernel]
fn takes_a_reference(value: &u32) {
    let _ = value;
}

#[kernel]
fn takes_a_pointer(value: *const u32) {
    let _ = value;
}

fn main() {}
