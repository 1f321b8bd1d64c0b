//! A `&mut` argument and a `&'static` argument, which a safe kernel cannot take.

use cuda_std::prelude::*;

#[kernel]
fn takes_a_mutable_slice(values: &mut [u32]) {
    let _ = values;
}

#[kernel]
fn takes_a_static(values: &'static [u32]) {
    let _ = values;
}

fn main() {}
