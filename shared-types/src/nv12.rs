//! NV12 and P010 pictures as kernel arguments: a view of the luma plane, and a view of the chroma plane at half size.
//! NV12 has 8 bits per sample. P010 has 10 bits, in the upper bits of 16.
//!
//! Chroma sample `(i, j)` is at the centre of luma columns `2i` and `2i + 1` in rows `2j` and `2j + 1`. If the width or
//! height is odd, the last column or row of chroma covers fewer pixels. [`yuv`](crate::yuv) defines the colours that
//! the values encode.

use cuda_std::{KernelArg, View, ViewMut};

use crate::{Chroma, Chroma10};

/// Returns the width or height of the chroma plane for a luma plane of width or height `luma`.
#[must_use]
pub const fn chroma_side(luma: u32) -> u32 {
    luma.div_ceil(2)
}

/// Defines the kernel argument for an NV12 or P010 picture, read-only or writable, and a size check for its host
/// handle.
macro_rules! nv12 {
    ($(#[$doc:meta])* $nv12:ident, $view:ident, [$luma:ty, $chroma:ty], $device:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, KernelArg)]
        pub struct $nv12 {
            /// The luma plane.
            pub y: $view<$luma>,
            /// The chroma plane, at half size.
            pub uv: $view<$chroma>,
        }

        impl $nv12 {
            /// Returns whether the chroma plane has half the size of the luma plane, rounded up.
            #[inline(always)]
            #[must_use]
            pub fn is_whole(&self) -> bool {
                self.uv.width() == chroma_side(self.y.width())
                    && self.uv.height() == chroma_side(self.y.height())
            }
        }

        #[cfg(not(target_arch = "nvptx64"))]
        impl $device<'_> {
            /// Returns whether the chroma plane has half the size of the luma plane, rounded up.
            #[must_use]
            pub fn is_whole(&self) -> bool {
                let (width, height) = self.y.size();
                self.uv.size() == (chroma_side(width), chroma_side(height))
            }
        }
    };
}

nv12! {
    /// An NV12 picture that a kernel reads.
    Nv12, View, [u8, Chroma],
    DeviceNv12
}

nv12! {
    /// An NV12 picture that a kernel writes.
    Nv12Mut, ViewMut, [u8, Chroma],
    DeviceNv12Mut
}

nv12! {
    /// A P010 picture that a kernel reads.
    P010, View, [u16, Chroma10],
    DeviceP010
}

nv12! {
    /// A P010 picture that a kernel writes.
    P010Mut, ViewMut, [u16, Chroma10],
    DeviceP010Mut
}
