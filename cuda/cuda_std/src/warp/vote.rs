//! Votes, which combine a predicate of several lanes.

#[cfg(not(target_arch = "nvptx64"))]
use {super::WARP_SIZE, core::panic::Location, cuda_cpu::WarpOp};

/// Returns true if `predicate` is true in all lanes of `mask`.
///
/// ```
/// use cuda_std::cpu::{Launch, launch};
/// use cuda_std::warp::{FULL_MASK, lane_id, warp_vote_all};
///
/// launch(&Launch::new("vote", [1, 1, 1], [32, 1, 1]), &|| {
///     // SAFETY: all lanes make the calls.
///     unsafe {
///         assert!(warp_vote_all(FULL_MASK, lane_id() < 32));
///         assert!(!warp_vote_all(FULL_MASK, lane_id() < 31));
///     }
/// })?;
/// # Ok::<(), cuda_std::cpu::Fault>(())
/// ```
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
/// ```
/// use cuda_std::cpu::{Launch, launch};
/// use cuda_std::warp::{FULL_MASK, lane_id, warp_vote_any};
///
/// launch(&Launch::new("vote", [1, 1, 1], [32, 1, 1]), &|| {
///     // SAFETY: all lanes make the calls.
///     unsafe {
///         assert!(warp_vote_any(FULL_MASK, lane_id() == 31));
///         assert!(!warp_vote_any(FULL_MASK, lane_id() == 32));
///     }
/// })?;
/// # Ok::<(), cuda_std::cpu::Fault>(())
/// ```
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
/// ```
/// use cuda_std::cpu::{Launch, launch};
/// use cuda_std::warp::{FULL_MASK, lane_id, warp_vote_ballot};
///
/// launch(&Launch::new("vote", [1, 1, 1], [32, 1, 1]), &|| {
///     // SAFETY: all lanes make the call.
///     let odd = unsafe { warp_vote_ballot(FULL_MASK, lane_id() % 2 == 1) };
///     assert_eq!(odd, 0xaaaa_aaaa);
/// })?;
/// # Ok::<(), cuda_std::cpu::Fault>(())
/// ```
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
