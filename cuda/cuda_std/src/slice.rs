//! One-dimensional device memory: pointer and length. The rules are those of
//! [`View`](crate::View) and [`ViewMut`](crate::ViewMut).
//!
//! A kernel in which each thread writes an element of its own needs no `unsafe`:
//!
//! ```
//! use cuda_std::prelude::*;
//!
//! #[kernel(dims(1))]
//! pub fn add(a: Slice<f32>, b: Slice<f32>, sum: SliceMut<f32>) {
//!     let at = thread::unique_1d();
//!     if let (Some(a), Some(b)) = (a.get(at), b.get(at)) {
//!         sum.set(at, a + b);
//!     }
//! }
//! ```

use bytemuck::Pod;

use crate::KernelArg;
#[cfg(not(target_arch = "nvptx64"))]
use crate::arg::{ExclusiveBorrow, SharedBorrow};
use crate::memory::{self, Access, Index};
use crate::stamp::Stamp;
use crate::{SliceIndex, Unique1d};

/// Elements that a kernel reads.
#[derive(Debug)]
pub struct Slice<T> {
    data: *const T,
    len: u32,
    stamp: Stamp,
}

/// Elements that a kernel writes, and may read back.
#[derive(Debug)]
pub struct SliceMut<T> {
    data: *mut T,
    len: u32,
    stamp: Stamp,
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
            type Params = ($pointer, (u32, ()));
            #[cfg(not(target_arch = "nvptx64"))]
            type Host<'a> = $device<'a, T>;

            #[inline(always)]
            unsafe fn from_params((data, (len, ())): Self::Params) -> Self {
                Self { data, len, stamp: Stamp::now() }
            }
        }

        #[doc = concat!("What the host passes for a [`", stringify!($slice), "`]: ", $host, ", on some device.")]
        #[cfg(not(target_arch = "nvptx64"))]
        #[derive(Debug)]
        pub struct $device<'a, T> {
            slice: $slice<T>,
            /// Elements in all, also where a `u32` cannot count them.
            len: usize,
            place: crate::launch::Place,
            borrow: $borrow<'a, T>,
        }

        #[cfg(not(target_arch = "nvptx64"))]
        impl<T> $device<'_, T> {
            /// Describes `len` elements at `data` on `place`.
            ///
            /// # Safety
            /// - The elements are valid for the lifetime of the handle and for every launch that it
            ///   is passed to, until that launch has completed.
            /// - `data` is aligned as `T`.
            /// - Nothing else writes there, or for the writable one touches it, before then.
            #[must_use]
            pub unsafe fn new(place: crate::launch::Place, data: $pointer, len: u32) -> Self {
                // SAFETY: as the caller vouches.
                unsafe { Self::from_raw_parts(place, data, len as usize) }
            }

            /// As [`new`](Self::new), for any number of elements.
            #[doc = concat!("A kernel sees the first 2³² − 1 of them in a [`", stringify!($slice), "`], and all of them in a slice of Rust.")]
            ///
            /// # Safety
            /// As [`new`](Self::new).
            #[must_use]
            pub unsafe fn from_raw_parts(
                place: crate::launch::Place,
                data: $pointer,
                len: usize,
            ) -> Self {
                debug_assert!(data.is_aligned());
                let stamp = Stamp::now();
                let slice = $slice { data, len: u32::try_from(len).unwrap_or(u32::MAX), stamp };
                Self { slice, len, place, borrow: <$borrow<'_, T>>::default() }
            }

            /// The device that the elements are on.
            #[must_use]
            pub fn place(&self) -> crate::launch::Place {
                self.place
            }

            /// The address of the first element, for a kernel that takes a raw pointer.
            #[must_use]
            pub fn as_device_ptr(&self) -> crate::launch::DevicePointer<T> {
                crate::launch::DevicePointer::from(self.slice.data)
            }

            /// Where the elements are, and how many.
            pub(crate) fn elements(&self) -> ($pointer, usize) {
                (self.slice.data, self.len)
            }

            /// Appends pointer and whole length.
            pub(crate) fn push_whole<'a>(&'a self, params: &mut crate::launch::Params<'a>) {
                params.push(&self.slice.data);
                params.push(&self.len);
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
                $slice { stamp: Stamp::now(), ..self.slice }
            }
        }
    };
}

slice!(Slice, *const T, DeviceSlice, SharedBorrow, "read-only elements");
slice!(SliceMut, *mut T, DeviceSliceMut, ExclusiveBorrow, "writable elements");

impl<T: Pod> Slice<T> {
    /// The element at `at`, if there is one.
    #[inline(always)]
    #[must_use]
    pub fn get(&self, at: impl SliceIndex) -> Option<T> {
        let i = at.index();
        self.stamp.check("Slice");
        // SAFETY: inside, as just checked.
        (i < self.len).then(|| unsafe { self.load(i) })
    }

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
        let data = unsafe { self.data.add(first as usize) };
        Self { data, len: self.len.wrapping_sub(first), ..*self }
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
    /// Reads the thread's own element, if there is one.
    #[inline(always)]
    #[must_use]
    pub fn get(&self, at: Unique1d) -> Option<T> {
        let i = at.access();
        self.stamp.check("SliceMut");
        // SAFETY: inside, as just checked; safe code of other threads has no such index.
        (i < self.len).then(|| unsafe { self.load(i) })
    }

    /// Writes the thread's own element; returns whether there is one.
    #[inline(always)]
    pub fn set(&self, at: Unique1d, value: T) -> bool {
        let i = at.access();
        self.stamp.check("SliceMut");
        let inside = i < self.len;
        if inside {
            // SAFETY: inside; safe code of other threads has no such index.
            unsafe { self.store(i, value) };
        }
        inside
    }

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
