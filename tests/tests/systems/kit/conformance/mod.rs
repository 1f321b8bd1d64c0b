//! Every feature of `cuda_std` on every device: the CPU, and the first GPU where there is one.
//!
//! Each test computes what must come out by a formula of its own, and demands it of every device,
//! exactly for integers and within a stated tolerance for floats.

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
mod reduce;
mod shuffle;
mod texture;
mod vote;
mod warps;

use bytemuck::Pod;
use cuda_std::launch::SafeKernel;
use panoweave::device::{Buffer, LaunchConfig, Stream};

/// A launch without dynamic shared memory.
fn config(grid: [u32; 3], block: [u32; 3]) -> LaunchConfig {
    LaunchConfig { grid, block, dynamic_shared: 0 }
}

/// Blocks of `block` threads in one dimension.
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

/// Numbers without pattern, the same every time.
fn noise(len: u32) -> Vec<u32> {
    (0..len)
        .map(|i| {
            let mut x = i.wrapping_add(1).wrapping_mul(0x9e37_79b9);
            x = (x ^ x >> 16).wrapping_mul(0x85eb_ca6b);
            x = (x ^ x >> 13).wrapping_mul(0xc2b2_ae35);
            x ^ x >> 16
        })
        .collect()
}
