//! A kernel returns nothing.

use cuda_std::prelude::*;

#[kernel]
fn answer() -> u32 {
    42
}

fn main() {}
