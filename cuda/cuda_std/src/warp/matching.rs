//! Warp match functions, which find the lanes that hold the same value. Values match if their bits are
//! equal: two NaNs may match, but 0.0 and -0.0 do not.

use super::WarpShuffleValue;

/// Returns a mask of the lanes of `mask` whose value has the same bits as the calling lane's.
///
/// # Safety
/// The lanes must meet the [convergence](crate::warp#convergence) requirement.
#[inline(always)]
#[track_caller]
pub unsafe fn warp_match_any<T: WarpShuffleValue>(mask: u32, value: T) -> u32 {
    #[cfg(not(target_arch = "nvptx64"))]
    let place = core::panic::Location::caller();
    let mut equal = mask;
    value.shuffle_words(|word| {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the caller upholds this function's safety contract.
        let lanes = unsafe { super::match_any(mask, word) };
        #[cfg(not(target_arch = "nvptx64"))]
        let lanes = {
            let words = cuda_cpu::warp_exchange(cuda_cpu::WarpOp::Exchange, mask, word, place);
            words.iter().rev().fold(0, |lanes, other| lanes << 1 | u32::from(*other == word))
        };
        equal &= lanes;
        word
    });
    equal
}

/// Returns `mask` if the values of all its lanes have the same bits, and `None` otherwise.
///
/// # Safety
/// The lanes must meet the [convergence](crate::warp#convergence) requirement.
#[inline(always)]
#[track_caller]
pub unsafe fn warp_match_all<T: WarpShuffleValue>(mask: u32, value: T) -> Option<u32> {
    // SAFETY: the caller upholds this function's safety contract. The result is the same in all
    // lanes: if all lanes match one lane, they match every lane.
    (unsafe { warp_match_any(mask, value) } == mask).then_some(mask)
}
