//! References and raw pointers as arguments, as in rust-cuda kernels.
//!
//! If a kernel function declares an argument as `&[T]`, `&mut [T]`, `&T`, `&mut T`, `*const T` or
//! `*mut T`, `#[kernel]` passes one of these types to the device and converts it to the declared
//! type there. A slice takes two parameters, the pointer and a `usize` length. The other types take
//! one.
//!
//! On the CPU, these arguments point to host memory. Rust's own checks apply: an out-of-bounds
//! index of a slice panics with the line of the access. Accesses through raw pointers are not
//! checked. A [`Slice`](crate::Slice) also checks accesses in `unsafe` code.
//!
//! A safe kernel cannot store a slice argument beyond the launch, because the slice's memory is
//! valid only during the launch:
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
//! A safe kernel cannot take a `&mut` either, however the type is written, because all threads
//! would share the reference:
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

/// Defines an argument type that is one pointer. The macro arguments are: docs, name, pointer type,
/// lifetime and type of the function's argument, and the conversion to that type.
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
            /// Converts the pointer to the type that the kernel function takes.
            ///
            /// # Safety
            /// While the result is used, the memory behind the pointer must meet Rust's rules for
            /// the returned type.
            #[inline(always)]
            #[must_use]
            pub unsafe fn get<$lifetime>(self) -> $given
            where
                T: $lifetime,
            {
                let $data = self.0;
                $get
            }

            /// Converts as [`get`](Self::get) does, but the result cannot outlive `scope`.
            /// `#[kernel]` calls this method for safe kernels.
            ///
            /// # Safety
            /// The requirements are those of [`get`](Self::get).
            #[inline(always)]
            #[must_use]
            #[allow(clippy::mut_from_ref, reason = "the scope refers to no memory")]
            pub unsafe fn within<$lifetime>(self, scope: &$lifetime ()) -> $given
            where
                T: $lifetime,
            {
                let () = scope;
                // SAFETY: the caller upholds this function's safety contract.
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
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { &*data }
}
pointer! {
    /// An argument of type `&mut T`.
    RefMut, *mut T, 'a &'a mut T, data =>
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { &mut *data }
}

/// Defines an argument type that is a slice. The macro arguments are: docs, name, pointer type,
/// type of the function's argument, constructor of that type, and host handle.
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
            /// Converts the pointer to the type that the kernel function takes.
            ///
            /// # Safety
            /// While the result is used, the memory behind the pointer must meet Rust's rules for
            /// the returned type.
            #[inline(always)]
            #[must_use]
            pub unsafe fn get<'a>(self) -> $given {
                let Self { data, len, .. } = self;
                // An empty device buffer has a null pointer, which a Rust slice must not have. On
                // the GPU, a null pointer is harmless here, and a branch would hide from the
                // compiler that the pointer is a parameter.
                #[cfg(not(target_arch = "nvptx64"))]
                let data = if len == 0 { <$pointer>::cast(core::ptr::NonNull::<T>::dangling().as_ptr()) } else { data };
                // SAFETY: the caller upholds this function's safety contract.
                unsafe { $make(data, len) }
            }

            /// Converts as [`get`](Self::get) does, but the result cannot outlive `scope`.
            /// `#[kernel]` calls this method for safe kernels.
            ///
            /// # Safety
            /// The requirements are those of [`get`](Self::get).
            #[inline(always)]
            #[must_use]
            #[allow(clippy::mut_from_ref, reason = "the scope refers to no memory")]
            pub unsafe fn within<'a>(self, scope: &'a ()) -> $given {
                let () = scope;
                // SAFETY: the caller upholds this function's safety contract.
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
