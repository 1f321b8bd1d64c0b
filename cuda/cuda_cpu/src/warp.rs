//! The one rendezvous from which every warp operation is made.

/// Which warp operation a lane takes part in; lanes meet only in the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarpOp {
    /// Lanes exchange a 32-bit word each.
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
