//! Unified memory, which has the same address on host and device. The driver moves each page to the
//! processor that accesses it. On the CPU backend, unified memory is ordinary memory.
//!
//! The types of this module do not check whether a kernel uses the memory while the host reads or
//! writes it. Launches by name are unsafe partly for this reason: before the host accesses memory
//! that a kernel writes, the program must wait for the kernel.

mod advise;
mod unified_box;
mod unified_buffer;

pub use advise::MemoryAdvise;
pub use unified_box::UnifiedBox;
pub use unified_buffer::UnifiedBuffer;
