//! Unified memory, which has one address on host and device. The driver moves pages to the side
//! that uses them. On the CPU it is ordinary memory.
//!
//! The types of this module let the host read and write without a check that no kernel uses the
//! same memory. This is one reason why a launch is unsafe: before the host accesses memory that a
//! kernel writes, synchronise with the kernel.

mod advise;
mod unified_box;
mod unified_buffer;

pub use advise::MemoryAdvise;
pub use unified_box::UnifiedBox;
pub use unified_buffer::UnifiedBuffer;
