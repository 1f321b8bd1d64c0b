//! Tests of every feature of `cuda_std` on every device: the CPU, and the first GPU if there is one.
//!
//! Each test computes the expected result independently of `cuda_std`. Integer results of a device must equal it, and
//! floats may differ from it by a stated tolerance.

mod arguments;
mod atomics;
mod barrier;
mod bounds;
mod bytes;
mod float;
mod heap;
mod indices;
mod machine;
mod maths;
mod memory;
mod order;
mod pipeline;
mod program;
mod reduce;
mod shuffle;
mod tensor;
mod texture;
mod vote;
mod warps;

use bytemuck::Pod;
use cuda_std::launch::SafeKernel;
use cust::typed::{Buffer, LaunchConfig, Stream};

/// Returns a launch configuration without dynamic shared memory.
fn config(grid: [u32; 3], block: [u32; 3]) -> LaunchConfig {
    LaunchConfig { grid, block, dynamic_shared: 0 }
}

/// Returns a launch configuration with one dimension: `blocks` blocks of `block` threads.
fn line(blocks: u32, block: u32) -> LaunchConfig {
    config([blocks, 1, 1], [block, 1, 1])
}

fn upload<T: Pod>(stream: &Stream, elements: &[T]) -> Buffer<T> {
    Buffer::from_slice(stream, elements).unwrap()
}

fn zeros<T: Pod>(stream: &Stream, len: u32) -> Buffer<T> {
    Buffer::new(stream.device(), len).unwrap()
}

fn launch<K: SafeKernel>(stream: &Stream, config: LaunchConfig, kernel: &K) {
    stream.launch(&config, kernel).unwrap();
}

fn download<T: Pod>(stream: &Stream, buffer: &Buffer<T>) -> Vec<T> {
    buffer.download(stream).unwrap()
}

/// Returns pseudo-random numbers, the same on every run.
pub(crate) fn noise(len: u32) -> Vec<u32> {
    (0..len)
        .map(|i| {
            let mut x = i.wrapping_add(1).wrapping_mul(0x9e37_79b9);
            x = (x ^ x >> 16).wrapping_mul(0x85eb_ca6b);
            x = (x ^ x >> 13).wrapping_mul(0xc2b2_ae35);
            x ^ x >> 16
        })
        .collect()
}
