//! A kernel cannot be generic, because it is one entry in the PTX.

use cuda_std::prelude::*;

#[kernel]
fn of_any_type<T: Copy>(value: T) {
    let _ = value;
}

fn main() {}
