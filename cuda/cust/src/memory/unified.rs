//! Unified memory: host and device share one address, and the driver moves pages to whoever uses
//! them. On the CPU it is plain memory.
//!
//! The types here let the host read and write without asking whether a kernel is at work on the same
//! memory. A launch is unsafe for this reason among others: synchronise before the host touches
//! memory that a kernel writes.

mod advise;
mod unified_box;
mod unified_buffer;

pub use advise::MemoryAdvise;
pub use unified_box::UnifiedBox;
pub use unified_buffer::UnifiedBuffer;
