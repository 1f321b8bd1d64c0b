//! NV12 as a kernel's argument: a plane of luma, and one of chroma at half size, as two views.
//!
//! Chroma sample `(i, j)` lies in the middle of luma pixels `2i`, `2i + 1` of rows `2j`, `2j + 1`. A
//! picture of odd width or height has a last column or row of chroma that fewer pixels share.
//! What the numbers mean as colour is in [`yuv`](crate::yuv).

use cuda_std::{KernelArg, View, ViewMut};

use crate::Chroma;

/// Columns, or rows, of chroma for so many of luma.
#[must_use]
pub const fn chroma_side(luma: u32) -> u32 {
    luma.div_ceil(2)
}

/// Kernel argument and host handle of one mutability.
macro_rules! nv12 {
    ($(#[$doc:meta])* $nv12:ident, $view:ident, $device:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, KernelArg)]
        pub struct $nv12 {
            /// Luma.
            pub y: $view<u8>,
            /// Chroma.
            pub uv: $view<Chroma>,
        }

        impl $nv12 {
            /// Whether the chroma plane has the size that belongs to luma's.
            #[inline(always)]
            #[must_use]
            pub fn is_whole(&self) -> bool {
                self.uv.width() == chroma_side(self.y.width())
                    && self.uv.height() == chroma_side(self.y.height())
            }
        }

        #[cfg(not(target_arch = "nvptx64"))]
        impl $device<'_> {
            /// As [`is_whole`](Nv12::is_whole).
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
    Nv12, View,
    DeviceNv12
}

nv12! {
    /// An NV12 picture that a kernel writes.
    Nv12Mut, ViewMut,
    DeviceNv12Mut
}
