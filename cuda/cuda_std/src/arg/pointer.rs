//! References and raw pointers as arguments, as in rust-cuda kernels.
//!
//! `#[kernel]` uses one of these types for an argument that is written `&[T]`, `&mut [T]`, `&T`,
//! `&mut T`, `*const T` or `*mut T`, and passes the function the written type. A slice is two
//! parameters, the pointer and a `usize` length; the others are one.
//!
//! On the CPU they point to host memory. Rust's own checks apply, so an out-of-bounds index is a
//! panic with its line. Accesses through raw pointers are not checked. [`Slice`](crate::Slice)
//! reports more errors.
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
//! Its threads cannot share a `&mut` either, however the type is written:
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

/// Defines an argument that is a pointer: docs, name, pointer, and the type that the kernel gets.
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
            /// Returns the kernel's argument.
            ///
            /// # Safety
            /// The host must meet its obligations to the kernel while the result is used.
            #[inline(always)]
            #[must_use]
            pub unsafe fn get<$lifetime>(self) -> $given
            where
                T: $lifetime,
            {
                let $data = self.0;
                $get
            }

            /// Returns the argument of a safe kernel. It cannot outlive `scope`.
            ///
            /// # Safety
            /// See [`get`](Self::get).
            #[inline(always)]
            #[must_use]
            #[allow(clippy::mut_from_ref, reason = "the scope refers to no memory")]
            pub unsafe fn within<$lifetime>(self, scope: &$lifetime ()) -> $given
            where
                T: $lifetime,
            {
                let () = scope;
                // SAFETY: the caller guarantees it.
                unsafe { self.get() }
            }
        }

        // SAFETY: the argument is one pointer, which the host's `DevicePointer` pushes.
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
    /// An argument of type `*const T`.
    ConstPointer, *const T, 'a *const T, data => data
}
pointer! {
    /// An argument of type `*mut T`.
    MutPointer, *mut T, 'a *mut T, data => data
}
pointer! {
    /// An argument of type `&T`.
    Ref, *const T, 'a &'a T, data =>
        // SAFETY: the caller guarantees it.
        unsafe { &*data }
}
pointer! {
    /// An argument of type `&mut T`.
    RefMut, *mut T, 'a &'a mut T, data =>
        // SAFETY: the caller guarantees it.
        unsafe { &mut *data }
}

/// Defines an argument that is a slice: docs, name, pointer, the type that the kernel gets, the
/// function that makes it, and host handle.
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
            /// Returns the kernel's argument.
            ///
            /// # Safety
            /// The host must meet its obligations to the kernel while the result is used.
            #[inline(always)]
            #[must_use]
            pub unsafe fn get<'a>(self) -> $given {
                let Self { data, len, .. } = self;
                // An empty device buffer has a null pointer, which a slice must not have. On the
                // GPU it is harmless, and a branch would hide from the compiler that the pointer is
                // a parameter.
                #[cfg(not(target_arch = "nvptx64"))]
                let data = if len == 0 { <$pointer>::cast(core::ptr::NonNull::<T>::dangling().as_ptr()) } else { data };
                // SAFETY: the caller guarantees it.
                unsafe { $make(data, len) }
            }

            /// Returns the argument of a safe kernel. It cannot outlive `scope`.
            ///
            /// # Safety
            /// See [`get`](Self::get).
            #[inline(always)]
            #[must_use]
            #[allow(clippy::mut_from_ref, reason = "the scope refers to no memory")]
            pub unsafe fn within<'a>(self, scope: &'a ()) -> $given {
                let () = scope;
                // SAFETY: the caller guarantees it.
                unsafe { self.get() }
            }
        }

        // SAFETY: the parameters are the pointer and the length. The host handle pushes them in
        // this order.
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
    /// An argument of type `&[T]`.
    RefSlice, *const T, &'a [T], slice::from_raw_parts, DeviceSlice
}
slice! {
    /// An argument of type `&mut [T]`.
    RefSliceMut, *mut T, &'a mut [T], slice::from_raw_parts_mut, DeviceSliceMut
}
