//! A kernel cannot return a value.

use cuda_std::prelude::*;

#[kernel]
fn answer() -> u32 {
    42
}

fn main() {}
