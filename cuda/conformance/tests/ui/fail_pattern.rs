//! A kernel argument that is a pattern instead of a name, and a method as a kernel.

use cuda_std::prelude::*;

#[kernel]
fn takes_a_pair((a, b): (u32, u32)) {
    let _ = (a, b);
}

struct Kernels;

impl Kernels {
    #[kernel]
    fn method(&self) {}
}

fn main() {}
