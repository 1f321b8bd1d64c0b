//! A kernel is one entry: it cannot be generic.

use cuda_std::prelude::*;

#[kernel]
fn of_any_type<T: Copy>(value: T) {
    let _ = value;
}

#[kernel]
fn with_a_lifetime<'a>(value: &'a u32) {
    let _ = value;
}

fn main() {}
