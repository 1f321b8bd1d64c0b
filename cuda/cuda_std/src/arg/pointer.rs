//! References and raw pointers as arguments, the way rust-cuda kernels take them.
//!
//! `#[kernel]` takes one of these for an argument that is written `&[T]`, `&mut [T]`, `&T`,
//! `&mut T`, `*const T` or `*mut T`, and hands the function what it asks for. A slice is two
//! parameters, the pointer and a `usize` length; the others are one. On the CPU they are the host's
//! memory. What Rust checks of them is checked, so an index out of bounds is a panic with its line;
//! nothing watches raw pointers. [`Slice`](crate::Slice) is the form that reports more.
//!
//! A safe kernel cannot keep a slice, because its memory lives only as long as the launch:
//!
//! ```compile_fail
//! use cuda_std::prelude::*;
//! use std::sync::Mutex;
//!
//! static KEPT: Mutex<Option<&'static [u32]>> = Mutex::new(None);
//!
//! #[kernel]
//! pub fn keep<'a: 'static>(a: &'a [u32]) {
//!     *KEPT.lock().unwrap() = Some(a);
//! }
//! # fn main() {}
//! ```
//!
//! Nor can its threads share a `&mut`, however the type is written:
//!
//! ```compile_fail
//! # use cuda_std::prelude::*;
//! #[kernel]
//! pub fn every(a: (&mut [u32])) {
//!     a[0] += 1;
//! }
//! # fn main() {}
//! ```
//!
//! ```compile_fail
//! # use cuda_std::prelude::*;
//! #[kernel(instances(every_u32 = every::<&mut [u32]>))]
//! pub fn every<T: AsMut<[u32]>>(mut a: T) {
//!     a.as_mut()[0] += 1;
//! }
//! # fn main() {}
//! ```

use core::marker::PhantomData;
use core::slice;

use super::KernelArg;

#[cfg(not(target_arch = "nvptx64"))]
use super::HostArg;
#[cfg(not(target_arch = "nvptx64"))]
use crate::launch::{DevicePointer, Params, Place};
#[cfg(not(target_arch = "nvptx64"))]
use crate::{DeviceSlice, DeviceSliceMut};

/// Defines an argument that is a pointer: docs, name, pointer, and what the kernel gets.
macro_rules! pointer {
    ($(#[$doc:meta])* $name:ident, $pointer:ty, $lifetime:lifetime $given:ty, $data:ident => $get:expr) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name<T>($pointer);

        impl<T> Clone for $name<T> {
            #[inline(always)]
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<T> Copy for $name<T> {}

        impl<T> $name<T> {
            /// The kernel's argument.
            ///
            /// # Safety
            /// The host's obligations towards the kernel are met while the result is used.
            #[inline(always)]
            #[must_use]
            pub unsafe fn get<$lifetime>(self) -> $given
            where
                T: $lifetime,
            {
                let $data = self.0;
                $get
            }

            /// The argument of a safe kernel, which cannot outlive `scope`.
            ///
            /// # Safety
            /// As [`get`](Self::get).
            #[inline(always)]
            #[must_use]
            #[allow(clippy::mut_from_ref, reason = "the scope is no memory")]
            pub unsafe fn within<$lifetime>(self, scope: &$lifetime ()) -> $given
            where
                T: $lifetime,
            {
                let () = scope;
                // SAFETY: as the caller vouches.
                unsafe { self.get() }
            }
        }

        // SAFETY: one pointer, pushed by the host's `DevicePointer`.
        unsafe impl<T: 'static> KernelArg for $name<T> {
            type Params = ($pointer, ());
            #[cfg(not(target_arch = "nvptx64"))]
            type Host<'a> = DevicePointer<T>;

            #[inline(always)]
            unsafe fn from_params((data, ()): Self::Params) -> Self {
                Self(data)
            }
        }

        #[cfg(not(target_arch = "nvptx64"))]
        impl<T: 'static> HostArg<$name<T>> for DevicePointer<T> {
            fn push<'a>(&'a self, params: &mut Params<'a>) {
                params.push(self);
            }

            unsafe fn on_cpu(&self) -> $name<T> {
                $name(self.as_mut_ptr())
            }
        }
    };
}

pointer! {
    /// `*const T`.
    ConstPointer, *const T, 'a *const T, data => data
}
pointer! {
    /// `*mut T`.
    MutPointer, *mut T, 'a *mut T, data => data
}
pointer! {
    /// `&T`.
    Ref, *const T, 'a &'a T, data =>
        // SAFETY: as the caller vouches.
        unsafe { &*data }
}
pointer! {
    /// `&mut T`.
    RefMut, *mut T, 'a &'a mut T, data =>
        // SAFETY: as the caller vouches.
        unsafe { &mut *data }
}

/// Defines an argument that is a slice: docs, name, pointer, what the kernel gets, host handle.
macro_rules! slice {
    ($(#[$doc:meta])* $name:ident, $pointer:ty, $given:ty, $make:path, $device:ident) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name<T> {
            data: $pointer,
            len: usize,
            element: PhantomData<T>,
        }

        impl<T> Clone for $name<T> {
            #[inline(always)]
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<T> Copy for $name<T> {}

        impl<T> $name<T> {
            /// The kernel's argument.
            ///
            /// # Safety
            /// The host's obligations towards the kernel are met while the result is used.
            #[inline(always)]
            #[must_use]
            pub unsafe fn get<'a>(self) -> $given {
                let Self { data, len, .. } = self;
                // An empty device buffer has a null pointer, which a slice may not have. On the GPU
                // nothing comes of it, and a choice would hide that the pointer is a parameter.
                #[cfg(not(target_arch = "nvptx64"))]
                let data = if len == 0 { <$pointer>::cast(core::ptr::NonNull::<T>::dangling().as_ptr()) } else { data };
                // SAFETY: as the caller vouches.
                unsafe { $make(data, len) }
            }

            /// The argument of a safe kernel, which cannot outlive `scope`.
            ///
            /// # Safety
            /// As [`get`](Self::get).
            #[inline(always)]
            #[must_use]
            #[allow(clippy::mut_from_ref, reason = "the scope is no memory")]
            pub unsafe fn within<'a>(self, scope: &'a ()) -> $given {
                let () = scope;
                // SAFETY: as the caller vouches.
                unsafe { self.get() }
            }
        }

        // SAFETY: pointer and length, pushed in this order by the host handle.
        unsafe impl<T: 'static> KernelArg for $name<T> {
            type Params = ($pointer, (usize, ()));
            #[cfg(not(target_arch = "nvptx64"))]
            type Host<'a> = $device<'a, T>;

            #[inline(always)]
            unsafe fn from_params((data, (len, ())): Self::Params) -> Self {
                Self { data, len, element: PhantomData }
            }
        }

        #[cfg(not(target_arch = "nvptx64"))]
        impl<T: 'static> HostArg<$name<T>> for $device<'_, T> {
            fn places(&self) -> [Option<Place>; 2] {
                [Some(self.place()), None]
            }

            fn push<'a>(&'a self, params: &mut Params<'a>) {
                self.push_whole(params);
            }

            unsafe fn on_cpu(&self) -> $name<T> {
                let (data, len) = self.elements();
                $name { data, len, element: PhantomData }
            }
        }
    };
}

slice! {
    /// `&[T]`.
    RefSlice, *const T, &'a [T], slice::from_raw_parts, DeviceSlice
}
slice! {
    /// `&mut [T]`.
    RefSliceMut, *mut T, &'a mut [T], slice::from_raw_parts_mut, DeviceSliceMut
}
