//! What the resampling kernels share with their host: rows of values, block shapes, and what is found wrong
//! with times.

use bytemuck::{Pod, Zeroable};
use half::{bf16, f16};

/// Threads of a block.
pub const BLOCK_THREADS: u32 = 256;

/// Most targets of a block: a thread for each.
pub const TARGETS: u32 = BLOCK_THREADS;

/// Most bytes of times that are kept in shared memory. More are searched where they lie.
pub const MAX_STAGED: u32 = 44 << 10;

/// Source times nearer than this are one: the value at the first is taken.
pub const SAME_TIME: f32 = 1e-6;

/// Nothing is wrong with the times.
pub const FINE: u64 = u64::MAX;

/// Numbers that are read and written at once, 16 bytes of them.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(16))]
pub struct Wide<T, const N: usize>(pub [T; N]);

// SAFETY: N numbers of 16 bytes in all, so that alignment adds no padding.
unsafe impl<T: Pod, const N: usize> Zeroable for Wide<T, N> {}
// SAFETY: as above; `Wide` is made for the types below only, which the assertion checks.
unsafe impl<T: Pod, const N: usize> Pod for Wide<T, N> {}

const _: () = assert!(size_of::<F32x4>() == 16 && size_of::<Half8<bf16>>() == 16);

/// Four numbers of single precision.
pub type F32x4 = Wide<f32, 4>;

/// Eight numbers of half precision, of either kind.
pub type Half8<T> = Wide<T, 8>;

/// What may be wrong with a time, in the order in which it is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResampleFault {
    /// A source time is before the one before it, or no finite number.
    Source,
    /// A target time is no finite number.
    Target,
}

/// The first fault as one number, which is least for the first: batch, kind, place within the batch.
#[must_use]
pub const fn fault_code(batch: u32, fault: ResampleFault, index: u32) -> u64 {
    let kind = match fault {
        ResampleFault::Source => 0,
        ResampleFault::Target => 1_u64 << 31,
    };
    (batch as u64) << 32 | kind | (index & 0x7fff_ffff) as u64
}

/// The fault that a number stands for: its batch, what it is, and its place; `None` for [`FINE`].
#[must_use]
pub const fn fault_of(code: u64) -> Option<(u32, ResampleFault, u32)> {
    if code == FINE {
        return None;
    }
    let kind = if code >> 31 & 1 == 0 { ResampleFault::Source } else { ResampleFault::Target };
    Some(((code >> 32) as u32, kind, code as u32 & 0x7fff_ffff))
}

/// A number that values may be of.
pub trait Number: Pod + PartialEq + Send + Sync + core::fmt::Debug {
    /// Exactly, or to the nearest.
    fn from_f64(value: f64) -> Self;

    /// Exactly.
    fn to_f64(self) -> f64;
}

macro_rules! number {
    ($type:ty, $from:expr, $to:expr) => {
        impl Number for $type {
            fn from_f64(value: f64) -> Self {
                $from(value)
            }

            fn to_f64(self) -> f64 {
                $to(self)
            }
        }
    };
}
number!(f64, |value| value, |value| value);
number!(f32, |value| value as f32, f64::from);
number!(bf16, bf16::from_f64, bf16::to_f64);
number!(f16, f16::from_f64, f16::to_f64);
