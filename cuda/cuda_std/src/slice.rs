//! Slices of device memory: a pointer and a length. A [`Slice`] is read-only during a launch and is
//! loaded through the read-only cache. A [`SliceMut`] can be written. On the CPU, every access is
//! checked. On the GPU, the unsafe functions check nothing.
//!
//! A kernel in which each thread writes its own element needs no `unsafe`:
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

/// A slice of elements that a kernel reads.
#[derive(Debug)]
pub struct Slice<T> {
    pub(crate) data: *const T,
    pub(crate) len: u32,
    stamp: Stamp,
}

/// A slice of elements that a kernel writes and may read back.
#[derive(Debug)]
pub struct SliceMut<T> {
    pub(crate) data: *mut T,
    pub(crate) len: u32,
    stamp: Stamp,
}

/// Defines the items that [`Slice`] and [`SliceMut`] have in common. The macro arguments are the
/// slice, its pointer type, the host handle, the handle's borrow marker and the handle's
/// description.
macro_rules! slice {
    ($slice:ident, $pointer:ty, $device:ident, $borrow:ident, $host:literal) => {
        copy!([T] $slice<T>);

        // SAFETY: a slice is a pointer to plain data. The requirements of `load` and `store`
        // prevent races on elements.
        unsafe impl<T: Pod> Send for $slice<T> {}
        // SAFETY: the reason is the same as for `Send`.
        unsafe impl<T: Pod> Sync for $slice<T> {}

        impl<T: Pod> $slice<T> {
            /// Returns the number of elements.
            #[inline(always)]
            #[expect(clippy::len_without_is_empty, reason = "no kernel needs it")]
            pub fn len(&self) -> u32 {
                self.len
            }

            /// Returns the address of element `i`.
            ///
            /// # Safety
            /// `i` must be less than `len`.
            #[inline(always)]
            #[track_caller]
            pub(crate) unsafe fn at(&self, i: u32, access: Access) -> $pointer {
                memory::check_index(i, self.len, access, stringify!($slice));
                // SAFETY: the caller guarantees that `i` is less than `len`, so the element lies
                // within the slice's memory.
                unsafe { self.data.add(i as usize) }
            }

            /// Returns whether the address of the first element is a multiple of `bytes`, a power of
            /// two.
            #[inline(always)]
            pub fn is_aligned(&self, bytes: u32) -> bool {
                self.data.addr() as u32 & (bytes - 1) == 0
            }

            /// Returns the address of the elements from `i` on that make up a `W`.
            ///
            /// # Safety
            /// These elements must exist.
            #[inline(always)]
            #[track_caller]
            unsafe fn at_wide<W: Pod>(&self, i: u32, access: Access) -> $pointer {
                const { assert!(size_of::<W>() % size_of::<T>() == 0) };
                let last = (size_of::<W>() / size_of::<T>()) as u32 - 1;
                let exists = i < self.len && last < self.len - i;
                memory::check(exists, access, stringify!($slice), || {
                    [Index::Linear(u64::from(i) + u64::from(last)), Index::Linear(self.len.into())]
                });
                // SAFETY: the caller guarantees that element `i` exists.
                let at = unsafe { self.data.add(i as usize) };
                memory::check_aligned::<W>(at.cast::<W>(), access);
                at
            }
        }

        // SAFETY: the host handle pushes pointer and length in this order.
        unsafe impl<T: Pod> KernelArg for $slice<T> {
            type Params = ($pointer, (u32, ()));
            #[cfg(not(target_arch = "nvptx64"))]
            type Host<'a> = $device<'a, T>;

            #[inline(always)]
            unsafe fn from_params((data, (len, ())): Self::Params) -> Self {
                Self { data, len, stamp: Stamp::now() }
            }
        }

        #[doc = concat!("The host's handle for a [`", stringify!($slice), "`]: ", $host, " on a device.")]
        #[cfg(not(target_arch = "nvptx64"))]
        #[derive(Debug)]
        pub struct $device<'a, T> {
            slice: $slice<T>,
            /// The total number of elements, which may exceed a `u32`.
            len: usize,
            place: crate::launch::Place,
            borrow: $borrow<'a, T>,
        }

        #[cfg(not(target_arch = "nvptx64"))]
        impl<T> $device<'_, T> {
            /// Creates a handle for `len` elements at `data` on the device `place`.
            ///
            /// # Safety
            /// - The elements must be valid for the lifetime of the handle, and until every launch
            ///   that takes the handle has completed.
            /// - `data` must be aligned for `T`.
            /// - As long as the elements must be valid, nothing else may write them. If the handle
            ///   is writable, nothing else may access them at all.
            pub unsafe fn new(place: crate::launch::Place, data: $pointer, len: u32) -> Self {
                // SAFETY: the caller upholds this function's safety contract.
                unsafe { Self::from_raw_parts(place, data, len as usize) }
            }

            /// Creates a handle like [`new`](Self::new), for any number of elements.
            #[doc = concat!("A kernel that takes a [`", stringify!($slice), "`] gets the first 2³² − 1 elements.")]
            /// A kernel that takes a Rust slice gets all of them.
            ///
            /// # Safety
            /// The requirements are those of [`new`](Self::new).
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

            /// Returns the device that holds the elements.
            pub fn place(&self) -> crate::launch::Place {
                self.place
            }

            /// Returns the address of the first element, for a kernel that takes a raw pointer.
            pub fn as_device_ptr(&self) -> crate::launch::DevicePointer<T> {
                crate::launch::DevicePointer::from(self.slice.data)
            }

            /// Appends the pointer and the full length to the parameters.
            pub(crate) fn push_whole<'a>(&'a self, params: &mut crate::launch::Params<'a>) {
                params.refer_to(self.place);
                params.push(&self.slice.data);
                params.push(&self.len);
            }
        }

        #[cfg(not(target_arch = "nvptx64"))]
        impl<'a, T: Pod> $device<'a, T> {
            /// Returns the same memory as elements of type `W`, for a kernel that loads several
            /// elements with one instruction.
            ///
            /// Returns `None` if the memory is not a whole number of `W`, or if its address is not
            /// aligned for `W`.
            pub fn cast<W: Pod>(self) -> Option<$device<'a, W>> {
                let (data, bytes) = (self.slice.data.cast::<W>(), self.len * size_of::<T>());
                if !data.is_aligned() || bytes.checked_rem(size_of::<W>()) != Some(0) {
                    return None;
                }
                let len = bytes / size_of::<W>();
                // SAFETY: the result has the bytes, the lifetime and the borrow of `self`. The
                // address is aligned for `W`, and both types accept any bytes.
                Some(unsafe { $device::from_raw_parts(self.place, data, len) })
            }
        }

        #[cfg(not(target_arch = "nvptx64"))]
        impl<T: Pod> crate::arg::HostArg<$slice<T>> for $device<'_, T> {
            fn push<'a>(&'a self, params: &mut crate::launch::Params<'a>) {
                params.refer_to(self.place);
                params.push(&self.slice.data);
                params.push(&self.slice.len);
            }
        }
    };
}

slice!(Slice, *const T, DeviceSlice, SharedBorrow, "read-only elements");
slice!(SliceMut, *mut T, DeviceSliceMut, ExclusiveBorrow, "writable elements");

#[cfg(not(target_arch = "nvptx64"))]
copy!([T] DeviceSlice<'_, T>);

impl<T: Pod> Slice<T> {
    /// Returns the address that element `i` has or would have.
    #[inline(always)]
    pub(crate) fn wrapping_at(&self, i: u32) -> *const T {
        self.data.wrapping_add(i as usize)
    }

    /// Reads the element at `at`, if it exists.
    #[inline(always)]
    #[track_caller]
    pub fn get(&self, at: impl SliceIndex) -> Option<T> {
        let i = at.index();
        self.stamp.check("Slice");
        if i < self.len {
            // SAFETY: `i` was just checked.
            Some(unsafe { self.load(i) })
        } else {
            None
        }
    }

    /// Reads element `i`.
    ///
    /// # Safety
    /// `i` must be less than `len`.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn load(&self, i: u32) -> T {
        // SAFETY: the caller guarantees that the element exists. Nothing writes a `Slice`'s memory
        // during a launch.
        unsafe { memory::load_read_only(self.at(i, Access::Load)) }
    }

    /// Reads adjacent elements, starting at `i`, as one `W`, with one instruction if `W` has at most
    /// 16 bytes and is aligned to its size.
    ///
    /// # Safety
    /// All these elements must exist, and the address of element `i` must be aligned for `W`; see
    /// [`is_aligned`](Self::is_aligned).
    #[inline(always)]
    #[track_caller]
    pub unsafe fn load_wide<W: Pod>(&self, i: u32) -> W {
        // SAFETY: the caller guarantees that the elements exist and are aligned. Nothing writes a
        // `Slice`'s memory during a launch.
        unsafe { memory::load_read_only(self.at_wide::<W>(i, Access::Load).cast::<W>()) }
    }

    /// Returns the elements from `first` on; see [`Shared::tail`](crate::Shared::tail).
    ///
    /// # Safety
    /// `first` must be at most `len`.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn tail(&self, first: u32) -> Self {
        memory::check(first <= self.len, Access::Load, "Slice", || {
            [Index::Linear(first.into()), Index::Linear(self.len.into())]
        });
        // SAFETY: the caller guarantees that `first` is at most `len`, so the result is within the
        // slice's memory or at its end.
        let data = unsafe { self.data.add(first as usize) };
        Self { data, len: self.len.wrapping_sub(first), ..*self }
    }

    /// Prefetches element `i` like [`View::prefetch`](crate::View::prefetch).
    #[inline(always)]
    #[track_caller]
    pub fn prefetch(&self, i: u32) {
        if i < self.len {
            // SAFETY: `i` was just checked.
            unsafe { memory::prefetch(self.at(i, Access::Load)) };
        }
    }
}

impl<T: Pod> SliceMut<T> {
    /// Reads the element at the thread's own index `at`, if it exists.
    #[inline(always)]
    #[track_caller]
    pub fn get(&self, at: Unique1d) -> Option<T> {
        let i = at.access();
        self.stamp.check("SliceMut");
        if i >= self.len {
            return None;
        }
        // The load is not in a closure, where its place in the source would be this line.
        // SAFETY: `i` is less than `len`. `at` is unique to this thread, so safe code of other
        // threads does not access the element.
        Some(unsafe { self.load(i) })
    }

    /// Writes the element at the thread's own index `at`. Returns whether the element exists.
    #[inline(always)]
    #[track_caller]
    pub fn set(&self, at: Unique1d, value: T) -> bool {
        let i = at.access();
        self.stamp.check("SliceMut");
        let inside = i < self.len;
        if inside {
            // SAFETY: `i` is less than `len`. `at` is unique to this thread, so safe code of other
            // threads does not access the element.
            unsafe { self.store(i, value) };
        }
        inside
    }

    /// Reads element `i`.
    ///
    /// # Safety
    /// - `i` must be less than `len`.
    /// - No other thread may write the element without a barrier in between.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn load(&self, i: u32) -> T {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { memory::read(self.at(i, Access::Load)) }
    }

    /// Writes element `i`.
    ///
    /// # Safety
    /// - `i` must be less than `len`.
    /// - No other thread may access the element without a barrier in between.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn store(&self, i: u32, value: T) {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { memory::write(self.at(i, Access::Store), value) }
    }

    /// Writes adjacent elements, starting at `i`, as one `W`; see [`Slice::load_wide`].
    ///
    /// # Safety
    /// - All these elements must exist, and the address of element `i` must be aligned for `W`; see
    ///   [`is_aligned`](Self::is_aligned).
    /// - No other thread may access the elements without a barrier in between.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn store_wide<W: Pod>(&self, i: u32, value: W) {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { memory::write(self.at_wide::<W>(i, Access::Store).cast::<W>(), value) }
    }

    /// Returns the address of element `i` for an atomic operation; see [`atomic`](crate::atomic).
    ///
    /// # Safety
    /// `i` must be less than `len`.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn atomic(&self, i: u32) -> *mut T {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { self.at(i, Access::Atomic) }
    }
}
