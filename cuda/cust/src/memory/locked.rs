//! Page-locked host memory. A device copies from and to it without the driver's staging buffer, so
//! that an asynchronous copy returns at once. On the CPU it is plain memory.

mod locked_box;
mod locked_buffer;

pub use locked_box::LockedBox;
pub use locked_buffer::LockedBuffer;
