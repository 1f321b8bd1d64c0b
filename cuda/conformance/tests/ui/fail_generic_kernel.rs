//! A kernel is one entry: it cannot be generic.

use cuda_std::prelude::*;

#[kernel]
fn of_any_type<T: Copy>(value: T) {
    let _ = value;
}

fn main() {}
