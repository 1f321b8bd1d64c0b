//! The two kinds of warp operation that the simulator implements. `cuda_std` builds all others from
//! them.

/// The kind of warp operation. A lane waits only for lanes that call an operation of the same kind.
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
