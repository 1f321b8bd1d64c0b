//! Page-locked host memory. A copy between it and a device needs no staging buffer of the driver,
//! so asynchronous copies return at once. On the CPU it is ordinary memory.

mod locked_box;
mod locked_buffer;

pub use locked_box::LockedBox;
pub use locked_buffer::LockedBuffer;
