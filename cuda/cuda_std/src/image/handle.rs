//! The host's handles for images: the arguments of a launch.

use bytemuck::Pod;

use super::{View, ViewMut};
use crate::arg::{ExclusiveBorrow, HostArg, SharedBorrow};
use crate::launch::{Params, Place};
use crate::stamp::Stamp;

/// Defines the handle of a view. The macro arguments are the view, its pointer type, the handle,
/// the handle's borrow marker and its description.
macro_rules! handle {
    ($view:ident, $pointer:ty, $device:ident, $borrow:ident, $host:literal) => {
        #[doc = concat!("The host's handle for a [`", stringify!($view), "`]:")]
        #[doc = concat!($host, " on a device.")]
        #[derive(Debug)]
        pub struct $device<'a, T> {
            view: $view<T>,
            place: Place,
            borrow: $borrow<'a, T>,
        }

        impl<T: Pod> $device<'_, T> {
            /// Creates a handle for `height` rows of `width` elements, `pitch` bytes apart, at
            /// `data` on the device `place`.
            ///
            /// # Safety
            /// - The rows must be valid for the lifetime of the handle and until every launch that
            ///   it is passed to has completed.
            /// - `data` and `pitch` must be multiples of `T`'s alignment.
            /// - Rows must not overlap.
            /// - As long as the rows must be valid, nothing else may write them. If the handle is
            ///   writable, nothing else may access them at all.
            pub unsafe fn new(
                place: Place,
                data: $pointer,
                width: u32,
                height: u32,
                pitch: u32,
            ) -> Self {
                debug_assert!(pitch as usize >= width as usize * size_of::<T>());
                debug_assert!(pitch as usize % align_of::<T>() == 0 && data.is_aligned());
                let view = $view { data, width, height, pitch, stamp: Stamp::now() };
                Self { view, place, borrow: <$borrow<'_, T>>::default() }
            }

            /// Returns the number of columns and the number of rows.
            pub fn size(&self) -> (u32, u32) {
                (self.view.width, self.view.height)
            }

            /// Returns the address of the first row and the pitch in bytes.
            pub fn rows(&self) -> ($pointer, u32) {
                (self.view.data, self.view.pitch)
            }

            /// Returns the device that the rows are on.
            pub fn place(&self) -> Place {
                self.place
            }

            /// Returns whether `other` has the same size and pitch and is on the same device, so
            /// that only its address differs.
            pub fn is_like(&self, other: &Self) -> bool {
                let layout = |of: &Self| (of.size(), of.view.pitch, of.place);
                layout(self) == layout(other)
            }

            /// Returns the part of `width` by `height` elements whose first element is column `x` of row
            /// `y`, or `None` if the image does not contain all of it.
            pub fn part(self, x: u32, y: u32, width: u32, height: u32) -> Option<Self> {
                let $view { data, pitch, .. } = self.view;
                let is_inside = |first: u32, side: u32, whole: u32| {
                    first.checked_add(side).is_some_and(|end| end <= whole)
                };
                let is_part =
                    is_inside(x, width, self.view.width) && is_inside(y, height, self.view.height);
                is_part.then(|| {
                    let row = data.wrapping_byte_add(y as usize * pitch as usize);
                    let data = row.wrapping_add(x as usize);
                    Self { view: $view { data, width, height, ..self.view }, ..self }
                })
            }

            /// Appends the image's address to the parameters, without its size and pitch, for an argument of several
            /// images that are [alike](Self::is_like).
            pub fn push_address<'a>(&'a self, params: &mut Params<'a>) {
                params.refer_to(self.place);
                params.push(&self.view.data);
            }

            /// Appends only the image's pitch to the parameters, for an argument that computes the
            /// size of this image from the size of another one.
            pub fn push_pitch<'a>(&'a self, params: &mut Params<'a>) {
                params.push(&self.view.pitch);
            }
        }

        impl<T: Pod> HostArg<$view<T>> for $device<'_, T> {
            fn push<'a>(&'a self, params: &mut Params<'a>) {
                self.push_address(params);
                params.push(&self.view.width);
                params.push(&self.view.height);
                params.push(&self.view.pitch);
            }
        }
    };
}

handle!(View, *const T, DeviceView, SharedBorrow, "a read-only image");
handle!(ViewMut, *mut T, DeviceViewMut, ExclusiveBorrow, "a writable image");

copy!([T] DeviceView<'_, T>);
