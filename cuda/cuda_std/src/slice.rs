//! One-dimensional device memory: pointer and length. The rules are those of
//! [`View`](crate::View) and [`ViewMut`](crate::ViewMut).

use bytemuck::Pod;

#[cfg(not(target_arch = "nvptx64"))]
use crate::arg::{ExclusiveBorrow, SharedBorrow};
use crate::arg::{KernelArg, ParamsOf};
use crate::memory::{self, Access, Index};

/// Elements that a kernel reads.
#[derive(Debug)]
pub struct Slice<T> {
    data: *const T,
    len: u32,
}

/// Elements that a kernel writes, and may read back.
#[derive(Debug)]
pub struct SliceMut<T> {
    data: *mut T,
    len: u32,
}

/// What both slices share: name, pointer type, host handle.
macro_rules! slice {
    ($slice:ident, $pointer:ty, $device:ident, $borrow:ident, $host:literal) => {
        impl<T> Clone for $slice<T> {
            #[inline(always)]
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<T> Copy for $slice<T> {}

        // SAFETY: a slice is a pointer whose target is plain data; who may touch which element at a
        // time is the obligation of `load` and `store`.
        unsafe impl<T: Pod> Send for $slice<T> {}
        // SAFETY: as above.
        unsafe impl<T: Pod> Sync for $slice<T> {}

        impl<T: Pod> $slice<T> {
            /// Number of elements.
            #[inline(always)]
            #[must_use]
            #[expect(clippy::len_without_is_empty, reason = "no kernel asks")]
            pub fn len(&self) -> u32 {
                self.len
            }

            /// Address of an element.
            ///
            /// # Safety
            /// The element exists.
            #[inline(always)]
            unsafe fn at(&self, i: u32, access: Access) -> $pointer {
                memory::check(i < self.len, access, stringify!($slice), || {
                    [Index::Linear(i.into()), Index::Linear(self.len.into())]
                });
                // SAFETY: an element that exists lies within the slice's memory.
                unsafe { self.data.add(i as usize) }
            }
        }

        // SAFETY: pointer and length, pushed in this order by the host handle.
        unsafe impl<T: Pod> KernelArg for $slice<T> {
            type P0 = $pointer;
            type P1 = u32;
            type P2 = ();
            type P3 = ();
            type P4 = ();
            type P5 = ();
            type P6 = ();
            type P7 = ();
            #[cfg(not(target_arch = "nvptx64"))]
            type Host<'a> = $device<'a, T>;

            #[inline(always)]
            unsafe fn from_params((data, len, ..): ParamsOf<Self>) -> Self {
                Self { data, len }
            }
        }

        #[doc = concat!("What the host passes for a [`", stringify!($slice), "`]: ", $host, ", on some device.")]
        #[cfg(not(target_arch = "nvptx64"))]
        #[derive(Debug)]
        pub struct $device<'a, T> {
            slice: $slice<T>,
            place: crate::launch::Place,
            borrow: $borrow<'a, T>,
        }

        #[cfg(not(target_arch = "nvptx64"))]
        impl<T: Pod> $device<'_, T> {
            /// Describes `len` elements at `data` on `place`.
            ///
            /// # Safety
            /// - The elements are valid for the lifetime of the handle and for every launch that it
            ///   is passed to, until that launch has completed.
            /// - `data` is aligned as `T`.
            /// - Nothing else writes there, or for the writable one touches it, before then.
            #[must_use]
            pub unsafe fn new(place: crate::launch::Place, data: $pointer, len: u32) -> Self {
                debug_assert!(data.is_aligned());
                Self { slice: $slice { data, len }, place, borrow: <$borrow<'_, T>>::default() }
            }
        }

        #[cfg(not(target_arch = "nvptx64"))]
        impl<T: Pod> crate::arg::HostArg<$slice<T>> for $device<'_, T> {
            fn places(&self) -> [Option<crate::launch::Place>; 2] {
                [Some(self.place), None]
            }

            fn push<'a>(&'a self, params: &mut crate::launch::Params<'a>) {
                params.push(&self.slice.data);
                params.push(&self.slice.len);
            }

            unsafe fn on_cpu(&self) -> $slice<T> {
                self.slice
            }
        }
    };
}

slice!(Slice, *const T, DeviceSlice, SharedBorrow, "read-only elements");
slice!(SliceMut, *mut T, DeviceSliceMut, ExclusiveBorrow, "writable elements");

impl<T: Pod> Slice<T> {
    /// Reads an element.
    ///
    /// # Safety
    /// `i < len`.
    #[inline(always)]
    #[must_use]
    pub unsafe fn load(&self, i: u32) -> T {
        // SAFETY: the element exists, and nothing writes a `Slice`'s memory during a launch.
        unsafe { memory::load_read_only(self.at(i, Access::Load)) }
    }

    /// The elements from `first` on; see [`Shared::tail`](crate::Shared::tail).
    ///
    /// # Safety
    /// `first ≤ len`.
    #[inline(always)]
    #[must_use]
    pub unsafe fn tail(&self, first: u32) -> Self {
        memory::check(first <= self.len, Access::Load, "Slice", || {
            [Index::Linear(first.into()), Index::Linear(self.len.into())]
        });
        // SAFETY: within the slice's memory, or at its end.
        Self { data: unsafe { self.data.add(first as usize) }, len: self.len.wrapping_sub(first) }
    }

    /// As [`View::prefetch`](crate::View::prefetch).
    #[inline(always)]
    pub fn prefetch(&self, i: u32) {
        if i < self.len {
            // SAFETY: the element exists.
            unsafe { memory::prefetch(self.at(i, Access::Load)) };
        }
    }
}

impl<T: Pod> SliceMut<T> {
    /// Reads an element back.
    ///
    /// # Safety
    /// - `i < len`.
    /// - No other thread writes it without a barrier between.
    #[inline(always)]
    #[must_use]
    pub unsafe fn load(&self, i: u32) -> T {
        // SAFETY: as the caller vouches.
        unsafe { *self.at(i, Access::Load) }
    }

    /// Writes an element.
    ///
    /// # Safety
    /// - `i < len`.
    /// - No other thread touches it without a barrier between.
    #[inline(always)]
    pub unsafe fn store(&self, i: u32, value: T) {
        // SAFETY: as the caller vouches.
        unsafe { *self.at(i, Access::Store) = value }
    }

    /// Address of an element for an atomic operation; see [`atomic`](crate::atomic).
    ///
    /// # Safety
    /// `i < len`.
    #[inline(always)]
    #[must_use]
    pub unsafe fn atomic(&self, i: u32) -> *mut T {
        // SAFETY: as the caller vouches.
        unsafe { self.at(i, Access::Atomic) }
    }
}
