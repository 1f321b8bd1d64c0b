//! An interpreter for random programs, so that a test can compare thousands of programs on the CPU
//! and the GPU without compiling each.
//!
//! An instruction is a word: operation (4 bits), two registers (2 bits each) and a number (24
//! bits). All threads execute the same instructions, so barriers and warp operations are uniform.
//! Branches and loops inside an instruction diverge.

use cuda_std::prelude::*;
use cuda_std::warp::FULL_MASK;

use crate::{global_rank, whole_warps};

/// The number of threads per block.
pub const BLOCK: u32 = 64;

/// The number of registers of a thread.
pub const REGISTERS: usize = 4;

/// The number of operations.
pub const OPERATIONS: u32 = 16;

/// Executes `code` in every thread. The registers start with values that depend on the thread and
/// on `seed`, and are written to `out` at the end. One operation adds registers to elements of
/// `sums`.
#[kernel(launch_bounds(64))]
pub fn program(code: Slice<u32>, seed: u32, sums: SliceMut<u32>, out: SliceMut<[u32; REGISTERS]>) {
    let tile = shared_array![u32; 64];
    let (at, rank) = (global_rank(), thread::rank());
    if !whole_warps() || sums.len() == 0 {
        return;
    }
    let mut registers = [at, at.wrapping_mul(0x9e37_79b9), thread::block_idx_x(), seed];
    for i in 0..code.len() {
        // SAFETY: the index is less than the length.
        let word = unsafe { code.load(i) };
        let (a, b) = ((word >> 4 & 3) as usize, (word >> 6 & 3) as usize);
        let (number, x, y) = (word >> 8, registers[a], registers[b]);
        registers[a] = match word & 15 {
            0 => x.wrapping_add(y).wrapping_add(number),
            1 => x.wrapping_mul(y | 1),
            2 => x ^ y >> (number % 31 + 1),
            3 => x.rotate_left(number % 32).wrapping_sub(y),
            4 => f32::from(x as u16).mul_add(1.5, f32::from(y as u16)).to_bits(),
            5 if x & 1 == 0 => x.wrapping_add(number),
            5 => x ^ number,
            6 => {
                // SAFETY: the rank is less than 64, each thread writes its own element, and
                // barriers separate the accesses of different threads.
                unsafe {
                    tile.store(rank, x);
                    thread::sync_threads();
                    let other = tile.load((rank + number) % BLOCK);
                    thread::sync_threads();
                    other
                }
            }
            // SAFETY: every warp has 32 lanes, which execute the same instruction.
            7 => x ^ unsafe { warp::warp_shuffle_xor(FULL_MASK, y, number % 32, 32).0 },
            // SAFETY: the reason is the same.
            8 => x ^ unsafe { warp::warp_vote_ballot(FULL_MASK, y & 1 == 1) },
            9 => {
                // SAFETY: the remainder is less than the length, and all accesses are atomic.
                unsafe { atomic::AtomicAdd::atomic_add(sums.atomic(x % sums.len()), y) };
                x
            }
            // SAFETY: the reason is the same as for the shuffle.
            10 => x.wrapping_add(unsafe {
                warp::warp_reduce(warp::FULL_MASK, y, warp::WarpReductionOp::Add)
            }),
            11 => (0..x & 7).fold(y, |sum, turn| sum.wrapping_mul(5).wrapping_add(number ^ turn)),
            12 => ((u64::from(x) * u64::from(y)) >> 32) as u32,
            13 => y.count_ones() + y.leading_zeros() + number,
            14 => x / (y | 1),
            _ => ((x as f32).sqrt() / ((y >> 8) as f32 + 1.0)).to_bits(),
        };
    }
    if at < out.len() {
        // SAFETY: the index was just checked, and each thread writes its own element.
        unsafe { out.store(at, registers) };
    }
}
