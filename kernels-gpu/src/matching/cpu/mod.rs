//! The matching kernels on the CPU, with the same bits as in the kernels: every number comes from the same operations in
//! the same order. Therefore, unlike most code for the CPU, this code uses fused multiply-adds. The time is saved by
//! vectors, and by values that several threads of a kernel compute each on its own.

mod describe;
mod nearest;
mod orient;
mod peaks;
mod shrink;

pub(super) use describe::describe;
pub(super) use nearest::find_nearest;
pub(super) use orient::orient;
pub(super) use peaks::find_peaks;
pub(super) use shrink::shrink;
