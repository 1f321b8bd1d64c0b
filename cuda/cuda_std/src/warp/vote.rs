//! Votes, which combine a predicate of several lanes.

#[cfg(not(target_arch = "nvptx64"))]
use {super::WARP_SIZE, core::panic::Location, cuda_cpu::WarpOp};

/// Returns true if `predicate` is true in all lanes of `mask`.
///
/// # Safety
/// The lanes must meet the [convergence](crate::warp#convergence) requirement.
#[inline(always)]
#[track_caller]
pub unsafe fn warp_vote_all(mask: u32, predicate: bool) -> bool {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller upholds this function's safety contract.
    unsafe {
        super::vote_all(mask, predicate)
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        ballot_on_cpu(mask, predicate) == mask
    }
}

/// Returns true if `predicate` is true in any lane of `mask`.
///
/// # Safety
/// The lanes must meet the [convergence](crate::warp#convergence) requirement.
#[inline(always)]
#[track_caller]
pub unsafe fn warp_vote_any(mask: u32, predicate: bool) -> bool {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller upholds this function's safety contract.
    unsafe {
        super::vote_any(mask, predicate)
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        ballot_on_cpu(mask, predicate) != 0
    }
}

/// Returns a mask of the lanes of `mask` in which `predicate` is true.
///
/// # Safety
/// The lanes must meet the [convergence](crate::warp#convergence) requirement.
#[inline(always)]
#[track_caller]
pub unsafe fn warp_vote_ballot(mask: u32, predicate: bool) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller upholds this function's safety contract.
    unsafe {
        super::vote_ballot(mask, predicate)
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        ballot_on_cpu(mask, predicate)
    }
}

#[cfg(not(target_arch = "nvptx64"))]
#[track_caller]
fn ballot_on_cpu(mask: u32, predicate: bool) -> u32 {
    let place = Location::caller();
    let lanes = cuda_cpu::warp_exchange(WarpOp::Exchange, mask, predicate.into(), place);
    (0..WARP_SIZE).fold(0, |ballot, lane| ballot | lanes[lane as usize] << lane) & mask
}
