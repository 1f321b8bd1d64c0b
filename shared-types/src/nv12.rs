//! NV12 as a kernel's argument: a plane of luma, and one of chroma at half size, as two views.
//!
//! Chroma sample `(i, j)` lies in the middle of luma pixels `2i`, `2i + 1` of rows `2j`, `2j + 1`. A
//! picture of odd width or height has a last column or row of chroma that fewer pixels share.
//! What the numbers mean as colour is in [`yuv`](crate::yuv).

use cuda_std::arg::ParamsOf;
use cuda_std::{KernelArg, View, ViewMut};

use crate::Chroma;

#[cfg(not(target_arch = "nvptx64"))]
use cuda_std::{
    DeviceView, DeviceViewMut,
    arg::HostArg,
    launch::{Params, Place},
};

/// Columns, or rows, of chroma for so many of luma.
#[must_use]
pub const fn chroma_side(luma: u32) -> u32 {
    luma.div_ceil(2)
}

/// Kernel argument and host handle of one mutability.
macro_rules! nv12 {
    ($(#[$doc:meta])* $nv12:ident, $view:ident, $(#[$host_doc:meta])* $device:ident, $device_view:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
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

        $(#[$host_doc])*
        #[cfg(not(target_arch = "nvptx64"))]
        #[derive(Debug)]
        pub struct $device<'a> {
            /// Luma.
            pub y: $device_view<'a, u8>,
            /// Chroma.
            pub uv: $device_view<'a, Chroma>,
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

        // SAFETY: the parameters of both views, pushed in this order by the host handle.
        unsafe impl KernelArg for $nv12 {
            type P0 = <$view<u8> as KernelArg>::P0;
            type P1 = u32;
            type P2 = u32;
            type P3 = u32;
            type P4 = <$view<Chroma> as KernelArg>::P0;
            type P5 = u32;
            type P6 = u32;
            type P7 = u32;
            #[cfg(not(target_arch = "nvptx64"))]
            type Host<'a> = $device<'a>;

            #[inline(always)]
            unsafe fn from_params((y0, y1, y2, y3, c0, c1, c2, c3): ParamsOf<Self>) -> Self {
                // SAFETY: as the caller vouches.
                unsafe {
                    Self {
                        y: $view::from_params((y0, y1, y2, y3, (), (), (), ())),
                        uv: $view::from_params((c0, c1, c2, c3, (), (), (), ())),
                    }
                }
            }
        }

        #[cfg(not(target_arch = "nvptx64"))]
        impl HostArg<$nv12> for $device<'_> {
            fn places(&self) -> [Option<Place>; 2] {
                let ([y, _], [uv, _]) = (self.y.places(), self.uv.places());
                [y, uv]
            }

            fn push<'a>(&'a self, params: &mut Params<'a>) {
                self.y.push(params);
                self.uv.push(params);
            }

            unsafe fn on_cpu(&self) -> $nv12 {
                // SAFETY: as the caller vouches.
                unsafe { $nv12 { y: self.y.on_cpu(), uv: self.uv.on_cpu() } }
            }
        }
    };
}

nv12! {
    /// An NV12 picture that a kernel reads.
    Nv12, View,
    /// What the host passes for an [`Nv12`].
    #[derive(Clone, Copy)]
    DeviceNv12, DeviceView
}

nv12! {
    /// An NV12 picture that a kernel writes.
    Nv12Mut, ViewMut,
    /// What the host passes for an [`Nv12Mut`].
    DeviceNv12Mut, DeviceViewMut
}
