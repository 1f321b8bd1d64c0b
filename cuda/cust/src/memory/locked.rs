//! Page-locked host memory. A device copies it without the driver's staging buffer, so asynchronous
//! copies return at once. On the CPU it is ordinary memory.

mod locked_box;
mod locked_buffer;

pub use locked_box::LockedBox;
pub use locked_buffer::LockedBuffer;
