//! The two kinds of warp operation that the simulator implements. `cuda_std` builds all others from
//! them.

/// The kind of warp operation. A lane waits only for lanes that call an operation of the same kind.
///
/// ```
/// use cuda_cpu::{Launch, WarpOp, launch, thread_rank, warp_exchange};
/// use std::panic::Location;
///
/// launch(&Launch::new("neighbour", [1, 1, 1], [32, 1, 1]), &|| {
///     let (lane, place) = (thread_rank(), Location::caller());
///     let lanes = warp_exchange(WarpOp::Exchange, u32::MAX, 10 * lane, place);
///     assert_eq!(lanes[(lane as usize + 1) % 32], 10 * ((lane + 1) % 32));
/// })?;
/// # Ok::<(), cuda_cpu::Fault>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarpOp {
    /// Each lane exchanges a 32-bit word.
    Exchange,
    /// Lanes wait for each other and order their memory accesses.
    Sync,
}

impl WarpOp {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Exchange => "exchange (shuffle, vote or reduction)",
            Self::Sync => "sync_warp",
        }
    }
}
