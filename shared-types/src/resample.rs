//! Types and constants that the resampling kernels share with the host: vectors of values, block shapes and codes for
//! invalid times.

use bytemuck::{Pod, Zeroable};
use half::{bf16, f16};

/// The number of threads per block of the resampling kernels.
pub const BLOCK_THREADS: u32 = 256;

/// The maximum number of target times per block. Each thread finds the position of one target time.
pub const TARGETS: u32 = BLOCK_THREADS;

/// The maximum size in bytes of a batch's source times in shared memory. Longer batches are searched in global memory.
pub const MAX_STAGED: u32 = 44 << 10;

/// The smallest difference between adjacent source times, in the unit of the times, between which kernels interpolate.
/// If the difference is smaller, kernels return the value at the first of the two times.
pub const SAME_TIME: f32 = 1e-6;

/// The fault code that means that all times are valid.
pub const FINE: u64 = u64::MAX;

/// A vector of 16 bytes that one instruction loads or stores.
///
/// Only vectors that fill the 16 bytes are plain data ([`Pod`]). The bytes after a shorter vector are uninitialised, so
/// safe code must not read them.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(16))]
pub struct Wide<T, const N: usize>(pub [T; N]);

// SAFETY: all zeros is a valid `[T; N]`, because `T` is `Zeroable`.
unsafe impl<T: Zeroable, const N: usize> Zeroable for Wide<T, N> {}
// SAFETY: the array takes 16 bytes, so the alignment of 16 bytes adds no padding.
unsafe impl Pod for F32x4 {}
// SAFETY: the reason is the same as for `F32x4`.
unsafe impl Pod for Half8<f16> {}
// SAFETY: the reason is the same as for `F32x4`.
unsafe impl Pod for Half8<bf16> {}

const _: () = assert!(
    size_of::<[f32; 4]>() == 16 && size_of::<[f16; 8]>() == 16 && size_of::<[bf16; 8]>() == 16
);

/// A vector of four single-precision numbers.
pub type F32x4 = Wide<f32, 4>;

/// A vector of eight half-precision numbers, `f16` or `bf16`.
pub type Half8<T> = Wide<T, 8>;

/// The kind of an invalid time. In each batch, faults in source times are reported before faults in target times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResampleFault {
    /// A source time is less than the previous one, or is not finite.
    Source,
    /// A target time is not finite.
    Target,
}

/// Returns the code of a fault at time `index` of a batch. Codes sort by batch, kind and index, so the first fault has
/// the smallest code.
#[must_use]
pub const fn fault_code(batch: u32, fault: ResampleFault, index: u32) -> u64 {
    let kind = match fault {
        ResampleFault::Source => 0,
        ResampleFault::Target => 1_u64 << 31,
    };
    (batch as u64) << 32 | kind | (index & 0x7fff_ffff) as u64
}

/// Returns the batch, kind and index that [`fault_code`] has encoded, or `None` for [`FINE`].
#[must_use]
pub const fn fault_of(code: u64) -> Option<(u32, ResampleFault, u32)> {
    if code == FINE {
        return None;
    }
    let kind = if code >> 31 & 1 == 0 { ResampleFault::Source } else { ResampleFault::Target };
    Some(((code >> 32) as u32, kind, code as u32 & 0x7fff_ffff))
}

#[cfg(test)]
mod tests {
    use core::marker::PhantomData;

    use super::*;

    /// Says whether a type is `Pod`: the constant of the type has priority over that of the trait.
    struct Check<T>(PhantomData<T>);

    trait Otherwise {
        const IS_POD: bool = false;
    }

    impl<T> Otherwise for Check<T> {}

    impl<T: Pod> Check<T> {
        const IS_POD: bool = true;
    }

    #[test]
    fn only_vectors_without_padding_are_plain_data() {
        const {
            assert!(Check::<F32x4>::IS_POD);
            assert!(Check::<Half8<f16>>::IS_POD && Check::<Half8<bf16>>::IS_POD);
            assert!(!Check::<Wide<u8, 3>>::IS_POD && !Check::<Wide<f32, 2>>::IS_POD);
            assert!(!Check::<Wide<f32, 5>>::IS_POD);
        }
    }
}
