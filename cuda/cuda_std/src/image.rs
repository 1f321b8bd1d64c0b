//! Images in device memory: pointer, size and pitch.
//!
//! A [`View`] is read only for the length of a launch and goes through the read-only cache, and so is a [`ColumnView`]
//! of it; a [`ViewMut`] may be written. Rows are `pitch` bytes apart, so padding and sub-images are views too. On the
//! CPU every access is checked and a stray one is an [`OutOfBounds`](cuda_cpu::FaultKind::OutOfBounds) fault; on the
//! GPU nothing is, the caller having vouched for it.

use bytemuck::Pod;

use crate::KernelArg;
use crate::Unique2d;
#[cfg(not(target_arch = "nvptx64"))]
use crate::arg::{ExclusiveBorrow, SharedBorrow};
use crate::memory::{self, Access, Index};
use crate::stamp::Stamp;

/// An image that a kernel reads.
#[derive(Debug)]
pub struct View<T> {
    data: *const T,
    width: u32,
    height: u32,
    pitch: u32,
    stamp: Stamp,
}

/// An image that a kernel writes, and may read back.
#[derive(Debug)]
pub struct ViewMut<T> {
    data: *mut T,
    width: u32,
    height: u32,
    pitch: u32,
    stamp: Stamp,
}

/// The elements of a [`View`]'s column from one row down.
///
/// A kernel that walks down a column keeps one address; the next element costs one multiply-add. With a [`View`] the
/// compiler widens the pitch before the loop, and multiplies 64 bits by 64 in it.
#[derive(Debug)]
pub struct ColumnView<T> {
    first: *const T,
    rows: u32,
    pitch: u32,
}

/// What both views share: name, pointer type, host handle.
macro_rules! view {
    ($view:ident, $pointer:ty, $device:ident, $borrow:ident, $host:literal) => {
        impl<T> Clone for $view<T> {
            #[inline(always)]
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<T> Copy for $view<T> {}

        // SAFETY: a view is a pointer whose target is plain data; who may touch which element at a
        // time is the obligation of `load` and `store`.
        unsafe impl<T: Pod> Send for $view<T> {}
        // SAFETY: as above.
        unsafe impl<T: Pod> Sync for $view<T> {}

        impl<T: Pod> $view<T> {
            /// Columns.
            #[inline(always)]
            #[must_use]
            pub fn width(&self) -> u32 {
                self.width
            }

            /// Rows.
            #[inline(always)]
            #[must_use]
            pub fn height(&self) -> u32 {
                self.height
            }

            /// Whether column `x` of row `y` exists.
            #[inline(always)]
            #[must_use]
            pub fn contains(&self, x: u32, y: u32) -> bool {
                x < self.width && y < self.height
            }

            /// Whether all rows begin at multiples of so many bytes, a power of two.
            #[inline(always)]
            #[must_use]
            pub fn is_aligned(&self, bytes: u32) -> bool {
                (self.data.addr() as u32 | self.pitch) & (bytes - 1) == 0
            }

            /// Whether rows follow each other without padding.
            #[inline(always)]
            #[must_use]
            pub fn is_tight(&self) -> bool {
                u64::from(self.width) * size_of::<T>() as u64 == u64::from(self.pitch)
            }

            /// Address of an element.
            ///
            /// # Safety
            /// The element exists.
            #[inline(always)]
            unsafe fn at(&self, x: u32, y: u32, access: Access) -> $pointer {
                memory::check(self.contains(x, y), access, stringify!($view), || {
                    [Index::Pixel(x, y), Index::Pixel(self.width, self.height)]
                });
                // SAFETY: an element that exists lies within the view's memory.
                unsafe { self.data.byte_add(y as usize * self.pitch as usize).add(x as usize) }
            }

            /// Address of the first of elements side by side that are one `W`.
            ///
            /// # Safety
            /// They exist, and are aligned as `W`.
            #[inline(always)]
            unsafe fn at_wide<W: Pod>(&self, x: u32, y: u32, access: Access) -> $pointer {
                const {
                    assert!(size_of::<W>() > 0 && size_of::<W>().is_multiple_of(size_of::<T>()));
                }
                let more = (size_of::<W>() / size_of::<T>() - 1) as u32;
                // SAFETY: all of them exist, so the first one and the last one do.
                unsafe {
                    let _ = self.at(x + more, y, access);
                    let at = self.at(x, y, access);
                    debug_assert!(at.cast::<W>().is_aligned());
                    at
                }
            }
        }

        // SAFETY: pointer, width, height and pitch, pushed in this order by the host handle.
        unsafe impl<T: Pod> KernelArg for $view<T> {
            type Params = ($pointer, (u32, (u32, (u32, ()))));
            #[cfg(not(target_arch = "nvptx64"))]
            type Host<'a> = $device<'a, T>;

            #[inline(always)]
            unsafe fn from_params(params: Self::Params) -> Self {
                let (data, (width, (height, (pitch, ())))) = params;
                Self { data, width, height, pitch, stamp: Stamp::now() }
            }
        }

        impl<T: Pod> crate::arg::Alike for $view<T> {
            type Address = $pointer;

            #[inline(always)]
            unsafe fn with_address(&self, data: $pointer) -> Self {
                Self { data, ..*self }
            }
        }

        #[doc = concat!("What the host passes for a [`", stringify!($view), "`]: ", $host, ", on some device.")]
        #[cfg(not(target_arch = "nvptx64"))]
        #[derive(Debug)]
        pub struct $device<'a, T> {
            view: $view<T>,
            place: crate::launch::Place,
            borrow: $borrow<'a, T>,
        }

        #[cfg(not(target_arch = "nvptx64"))]
        impl<T: Pod> $device<'_, T> {
            /// Describes `height` rows of `width` elements, `pitch` bytes apart, at `data` on
            /// `place`.
            ///
            /// # Safety
            /// - The rows are valid for the lifetime of the handle and for every launch that it is
            ///   passed to, until that launch has completed.
            /// - `data` and `pitch` are multiples of `T`'s alignment, and rows do not overlap.
            /// - Nothing else writes there, or for the writable one touches it, before then.
            #[must_use]
            pub unsafe fn new(
                place: crate::launch::Place,
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

            /// Columns and rows.
            #[must_use]
            pub fn size(&self) -> (u32, u32) {
                (self.view.width, self.view.height)
            }

            /// Where the first row begins, and bytes from one row to the next.
            #[must_use]
            pub fn rows(&self) -> ($pointer, u32) {
                (self.view.data, self.view.pitch)
            }

            /// The device that the rows are on.
            #[must_use]
            pub fn place(&self) -> crate::launch::Place {
                self.place
            }

            /// Whether `other` has the same size and pitch and lies on the same device, so that it differs in
            /// its address alone.
            #[must_use]
            pub fn is_like(&self, other: &Self) -> bool {
                let layout = |of: &Self| (of.size(), of.view.pitch, of.place);
                layout(self) == layout(other)
            }

            /// Appends the address alone, for an argument that is several images which are
            /// [alike](Self::is_like).
            pub fn push_address<'a>(&'a self, params: &mut crate::launch::Params<'a>) {
                params.push(&self.view.data);
            }

            /// Appends the pitch alone, for an argument whose images have sizes that follow from each other.
            pub fn push_pitch<'a>(&'a self, params: &mut crate::launch::Params<'a>) {
                params.push(&self.view.pitch);
            }
        }

        #[cfg(not(target_arch = "nvptx64"))]
        impl<T: Pod> crate::arg::HostArg<$view<T>> for $device<'_, T> {
            fn places(&self) -> [Option<crate::launch::Place>; 2] {
                [Some(self.place), None]
            }

            fn push<'a>(&'a self, params: &mut crate::launch::Params<'a>) {
                params.push(&self.view.data);
                params.push(&self.view.width);
                params.push(&self.view.height);
                params.push(&self.view.pitch);
            }

            unsafe fn on_cpu(&self) -> $view<T> {
                $view { stamp: Stamp::now(), ..self.view }
            }
        }
    };
}

view!(View, *const T, DeviceView, SharedBorrow, "a read-only image");
view!(ViewMut, *mut T, DeviceViewMut, ExclusiveBorrow, "a writable image");

#[cfg(not(target_arch = "nvptx64"))]
impl<T> Clone for DeviceView<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

#[cfg(not(target_arch = "nvptx64"))]
impl<T> Copy for DeviceView<'_, T> {}

impl<T: Pod> View<T> {
    /// The element at column `x` of row `y`, if there is one.
    #[inline(always)]
    #[must_use]
    pub fn get(&self, x: u32, y: u32) -> Option<T> {
        self.stamp.check("View");
        // SAFETY: inside, as just checked.
        self.contains(x, y).then(|| unsafe { self.load(x, y) })
    }

    /// Reads an element.
    ///
    /// # Safety
    /// `x < width` and `y < height`.
    #[inline(always)]
    #[must_use]
    pub unsafe fn load(&self, x: u32, y: u32) -> T {
        // SAFETY: the element exists, and nothing writes a `View`'s memory during a launch.
        unsafe { memory::load_read_only(self.at(x, y, Access::Load)) }
    }

    /// Has the [line](crate::LINE_BYTES) of an element brought into the L2 cache, for a load by a later block, or after
    /// [a wait](crate::thread::wait_for_kernel_before). Of one that does not exist nothing.
    #[inline(always)]
    pub fn prefetch(&self, x: u32, y: u32) {
        if self.contains(x, y) {
            // SAFETY: the element exists.
            unsafe { memory::prefetch(self.at(x, y, Access::Load)) };
        }
    }

    /// Reads elements side by side, from `(x, y)` on, as one.
    ///
    /// # Safety
    /// - They exist.
    /// - Rows [are aligned](Self::is_aligned) as `W`, and so is column `x` in its row.
    #[inline(always)]
    #[must_use]
    pub unsafe fn load_wide<W: Pod>(&self, x: u32, y: u32) -> W {
        // SAFETY: they exist and are aligned, as the caller vouches; nothing writes a `View`'s memory during a launch.
        unsafe { memory::load_read_only(self.at_wide::<W>(x, y, Access::Load).cast::<W>()) }
    }

    /// Column `x` from row `y` down.
    ///
    /// # Safety
    /// `x < width` and `y < height`.
    #[inline(always)]
    #[must_use]
    pub unsafe fn column(&self, x: u32, y: u32) -> ColumnView<T> {
        // SAFETY: as the caller vouches.
        let first = unsafe { self.at(x, y, Access::Load) };
        ColumnView { first, rows: self.height - y, pitch: self.pitch }
    }
}

impl<T: Pod> ColumnView<T> {
    /// Reads the element so many rows below the first.
    ///
    /// # Safety
    /// There is one.
    #[inline(always)]
    #[must_use]
    pub unsafe fn load(&self, below: u32) -> T {
        memory::check(below < self.rows, Access::Load, "ColumnView", || {
            [Index::Linear(below.into()), Index::Linear(self.rows.into())]
        });
        // SAFETY: the element exists, and nothing writes a `View`'s memory during a launch.
        unsafe { memory::load_read_only(self.first.byte_add(mul_wide(below, self.pitch) as usize)) }
    }
}

impl<T> Clone for ColumnView<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for ColumnView<T> {}

/// The product of two, in one instruction wherever either comes from.
#[inline(always)]
fn mul_wide(a: u32, b: u32) -> u64 {
    #[cfg(target_arch = "nvptx64")]
    {
        let product;
        // SAFETY: arithmetic alone.
        unsafe {
            core::arch::asm!("mul.wide.u32 {}, {}, {};", out(reg64) product, in(reg32) a, in(reg32) b,
                options(pure, nomem, nostack, preserves_flags));
        }
        product
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        u64::from(a) * u64::from(b)
    }
}

impl<T: Pod> ViewMut<T> {
    /// Reads the thread's own element, if there is one.
    #[inline(always)]
    #[must_use]
    pub fn get(&self, at: Unique2d) -> Option<T> {
        let (x, y) = at.access();
        self.stamp.check("ViewMut");
        // SAFETY: inside, as just checked; safe code of other threads has no such index.
        self.contains(x, y).then(|| unsafe { self.load(x, y) })
    }

    /// Writes the thread's own element; returns whether there is one.
    #[inline(always)]
    pub fn set(&self, at: Unique2d, value: T) -> bool {
        let (x, y) = at.access();
        self.stamp.check("ViewMut");
        let inside = self.contains(x, y);
        if inside {
            // SAFETY: inside; safe code of other threads has no such index.
            unsafe { self.store(x, y, value) };
        }
        inside
    }

    /// Reads an element back.
    ///
    /// # Safety
    /// - `x < width` and `y < height`.
    /// - No other thread writes it without a barrier between.
    #[inline(always)]
    #[must_use]
    pub unsafe fn load(&self, x: u32, y: u32) -> T {
        // SAFETY: as the caller vouches.
        unsafe { *self.at(x, y, Access::Load) }
    }

    /// Writes an element.
    ///
    /// # Safety
    /// - `x < width` and `y < height`.
    /// - No other thread touches it without a barrier between.
    #[inline(always)]
    pub unsafe fn store(&self, x: u32, y: u32, value: T) {
        // SAFETY: as the caller vouches.
        unsafe { *self.at(x, y, Access::Store) = value }
    }

    /// Writes elements side by side, from `(x, y)` on, as one.
    ///
    /// # Safety
    /// - They exist, and no other thread touches them without a barrier between.
    /// - Rows [are aligned](Self::is_aligned) as `W`, and so is column `x` in its row.
    #[inline(always)]
    pub unsafe fn store_wide<W: Pod>(&self, x: u32, y: u32, value: W) {
        // SAFETY: as the caller vouches.
        unsafe { *self.at_wide::<W>(x, y, Access::Store).cast::<W>() = value }
    }
}
