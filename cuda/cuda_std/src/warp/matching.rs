//! Warp match functions, which find the lanes that hold the same value.

use super::WarpShuffleValue;

/// A value of 32 or 64 bits. Values match if their bits are equal: two NaNs may match, but 0.0 and
/// -0.0 do not.
pub trait WarpMatchValue: WarpShuffleValue {
    /// Returns a mask of the lanes of `mask` whose value has the same bits as the calling lane's.
    ///
    /// # Safety
    /// The requirements are those of [`warp_match_any`].
    #[doc(hidden)]
    unsafe fn match_any(mask: u32, value: Self) -> u32;
}

macro_rules! match_value {
    ($($type:ty as $bits:ty: $intrinsic:ident),+) => {$(
        impl WarpMatchValue for $type {
            #[inline(always)]
            #[track_caller]
            unsafe fn match_any(mask: u32, value: Self) -> u32 {
                let bits = <$bits>::from_ne_bytes(value.to_ne_bytes());
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: the caller upholds this function's safety contract.
                return unsafe { super::$intrinsic(mask, bits) };
                #[cfg(not(target_arch = "nvptx64"))]
                match_on_cpu(mask, bits)
            }
        }
    )+};
}
match_value!(u32 as u32: match_any_32, i32 as u32: match_any_32, f32 as u32: match_any_32);
match_value!(u64 as u64: match_any_64, i64 as u64: match_any_64, f64 as u64: match_any_64);

#[cfg(not(target_arch = "nvptx64"))]
#[track_caller]
fn match_on_cpu<T: WarpShuffleValue>(mask: u32, value: T) -> u32 {
    let place = core::panic::Location::caller();
    let mut equal = mask;
    value.shuffle_words(|word| {
        let lanes = cuda_cpu::warp_exchange(cuda_cpu::WarpOp::Exchange, mask, word, place);
        for lane in (0..super::WARP_SIZE).filter(|&lane| lanes[lane as usize] != word) {
            equal &= !(1 << lane);
        }
        word
    });
    equal
}

/// Returns a mask of the lanes of `mask` whose value has the same bits as the calling lane's.
///
/// # Safety
/// The lanes must meet the [convergence](crate::warp#convergence) requirement.
#[inline(always)]
#[track_caller]
pub unsafe fn warp_match_any<T: WarpMatchValue>(mask: u32, value: T) -> u32 {
    // SAFETY: the caller upholds this function's safety contract.
    unsafe { T::match_any(mask, value) }
}

/// Returns `mask` if the values of all its lanes have the same bits, and `None` otherwise.
///
/// # Safety
/// The lanes must meet the [convergence](crate::warp#convergence) requirement.
#[inline(always)]
#[track_caller]
pub unsafe fn warp_match_all<T: WarpMatchValue>(mask: u32, value: T) -> Option<u32> {
    // SAFETY: the caller upholds this function's safety contract. The result is the same in all
    // lanes: if all lanes match one lane, they match every lane.
    (unsafe { T::match_any(mask, value) } == mask).then_some(mask)
}
