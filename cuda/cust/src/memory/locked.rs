//! Page-locked host memory. The driver copies between page-locked memory and a device without a
//! staging buffer, so asynchronous copies return immediately. On the CPU backend, page-locked
//! memory is ordinary memory.

mod locked_box;
mod locked_buffer;

pub use locked_box::LockedBox;
pub use locked_buffer::LockedBuffer;
