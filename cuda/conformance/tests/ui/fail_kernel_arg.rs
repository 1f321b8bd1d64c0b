//! Structs that cannot be passed by value: generic, with a pointer, or aligned to over 16 bytes.

use bytemuck::{Pod, Zeroable};
use cuda_std::KernelArg;

#[derive(Clone, Copy, KernelArg)]
#[repr(C)]
struct Generic<T> {
    value: T,
}

#[derive(Clone, Copy, KernelArg)]
#[repr(C)]
struct WithPointer {
    value: &'static u32,
}

#[derive(Clone, Copy, Zeroable, Pod, KernelArg)]
#[repr(C, align(32))]
struct TooAligned {
    words: [u32; 8],
}

fn main() {}
