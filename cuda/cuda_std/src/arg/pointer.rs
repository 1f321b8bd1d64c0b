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
//!
//! ```
//! use cuda_std::prelude::*;
//! use cust::typed::{Buffer, Device, LaunchConfig};
//!
//! #[kernel]
//! pub unsafe fn scale(factor: f32, input: &[f32], out: *mut f32) {
//!     let i = thread::index_1d() as usize;
//!     if let Some(value) = input.get(i) {
//!         // SAFETY: `out` has as many elements as `input`.
//!         unsafe { *out.add(i) = factor * value };
//!     }
//! }
//!
//! let device = Device::cpu();
//! let stream = device.stream()?;
//! let input = Buffer::from_slice(&stream, &[1.0, 2.0])?;
//! let out = Buffer::new(&device, 2)?;
//! // The field of a pointer is an address.
//! let scale = Scale { factor: 3.0, input: input.view(), out: out.as_device_ptr() };
//! // SAFETY: both buffers have two elements, which nothing else accesses.
//! unsafe { stream.launch_unchecked(&LaunchConfig::for_1d(2, 32), &scale) }?;
//! assert_eq!(out.download(&stream)?, [3.0, 6.0]);
//! # Ok::<(), cust::typed::DeviceError>(())
//! ```

use core::marker::PhantomData;
use core::slice;

use super::KernelArg;

#[cfg(not(target_arch = "nvptx64"))]
use super::HostArg;
#[cfg(not(target_arch = "nvptx64"))]
use crate::launch::{DevicePointer, Params};
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
            /// ```
            #[doc = concat!("use cuda_std::arg::{KernelArg, pointer::", stringify!($name), "};")]
            ///
            /// let mut value = 7_u32;
            /// // SAFETY: the address is that of a value that nothing else accesses.
            /// let value = unsafe {
            #[doc = concat!("    *", stringify!($name), "::<u32>::from_params((&raw mut value, ())).get()")]
            /// };
            /// assert_eq!(value, 7);
            /// ```
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
            #[doc(hidden)]
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
        }
    };
}

pointer! {
    /// An argument of type `*const T`.
    ///
    /// ```
    /// use cuda_std::prelude::*;
    ///
    /// #[kernel]
    /// pub unsafe fn copy(from: *const u32, to: *mut u32) {
    ///     let i = thread::index_1d() as usize;
    ///     // SAFETY: the host passes arrays with an element for each thread.
    ///     unsafe { *to.add(i) = *from.add(i) };
    /// }
    ///
    /// use cust::typed::{Buffer, Device, LaunchConfig};
    /// let device = Device::cpu();
    /// let stream = device.stream()?;
    /// let from = Buffer::from_slice(&stream, &[1, 2, 3, 4])?;
    /// let to = Buffer::<u32>::new(&device, 4)?;
    /// let copy = Copy { from: from.as_device_ptr(), to: to.as_device_ptr() };
    /// // SAFETY: both buffers have 4 elements, and the grid has 4 threads.
    /// unsafe { stream.launch_unchecked(&LaunchConfig::for_1d(4, 4), &copy) }?;
    /// assert_eq!(to.download(&stream)?, [1, 2, 3, 4]);
    /// # Ok::<(), cust::typed::DeviceError>(())
    /// ```
    ConstPointer, *const T, 'a *const T, data => data
}
pointer! {
    /// An argument of type `*mut T`.
    ///
    /// ```
    /// use cuda_std::prelude::*;
    ///
    /// #[kernel]
    /// pub unsafe fn count(total: *mut u32) {
    ///     // SAFETY: the host passes the address of a counter that only this kernel accesses.
    ///     unsafe { atomic::AtomicAdd::atomic_add(total, 1) };
    /// }
    ///
    /// use cust::typed::{Buffer, Device, LaunchConfig};
    /// let device = Device::cpu();
    /// let stream = device.stream()?;
    /// let total = Buffer::<u32>::new(&device, 1)?;
    /// // SAFETY: the buffer has one element, and nothing else accesses it.
    /// unsafe {
    ///     let count = Count { total: total.as_device_ptr() };
    ///     stream.launch_unchecked(&LaunchConfig::for_1d(1000, 250), &count)?;
    /// }
    /// assert_eq!(total.download(&stream)?, [1000]);
    /// # Ok::<(), cust::typed::DeviceError>(())
    /// ```
    MutPointer, *mut T, 'a *mut T, data => data
}
pointer! {
    /// An argument of type `&T`.
    ///
    /// ```
    /// use cuda_std::prelude::*;
    ///
    /// #[kernel(dims(1))]
    /// pub fn scale(factor: &f32, out: SliceMut<f32>) {
    ///     let i = thread::unique_1d();
    ///     if let Some(value) = out.get(i) {
    ///         out.set(i, *factor * value);
    ///     }
    /// }
    ///
    /// use cust::typed::{Buffer, Device, LaunchConfig};
    /// let device = Device::cpu();
    /// let stream = device.stream()?;
    /// let factor = Buffer::from_slice(&stream, &[3.0])?;
    /// let mut out = Buffer::from_slice(&stream, &[1.0, 2.0])?;
    /// // SAFETY: `factor` is one float, which nothing writes during the launch.
    /// unsafe {
    ///     let scale = Scale { factor: factor.as_device_ptr(), out: out.view_mut() };
    ///     stream.launch_unchecked(&LaunchConfig::for_1d(2, 32), &scale)?;
    /// }
    /// assert_eq!(out.download(&stream)?, [3.0, 6.0]);
    /// # Ok::<(), cust::typed::DeviceError>(())
    /// ```
    Ref, *const T, 'a &'a T, data =>
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { &*data }
}
pointer! {
    /// An argument of type `&mut T`.
    ///
    /// ```
    /// use cuda_std::prelude::*;
    ///
    /// #[kernel]
    /// pub unsafe fn increment(value: &mut u32) {
    ///     *value += 1;
    /// }
    ///
    /// use cust::typed::{Buffer, Device, LaunchConfig};
    /// let device = Device::cpu();
    /// let stream = device.stream()?;
    /// let value = Buffer::from_slice(&stream, &[41])?;
    /// // SAFETY: the grid has one thread, so only one thread has the reference.
    /// unsafe {
    ///     let increment = Increment { value: value.as_device_ptr() };
    ///     stream.launch_unchecked(&LaunchConfig::for_1d(1, 1), &increment)?;
    /// }
    /// assert_eq!(value.download(&stream)?, [42]);
    /// # Ok::<(), cust::typed::DeviceError>(())
    /// ```
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
            /// Converts the address and the length to the type that the kernel function takes.
            ///
            /// ```
            #[doc = concat!("use cuda_std::arg::{KernelArg, pointer::", stringify!($name), "};")]
            ///
            /// let mut values = [1_u32, 2, 3];
            /// // SAFETY: the parameters describe an array that nothing else accesses.
            /// let slice = unsafe {
            #[doc = concat!("    ", stringify!($name), "::<u32>::from_params((values.as_mut_ptr(), (3, ()))).get()")]
            /// };
            /// assert_eq!(slice, [1, 2, 3]);
            /// ```
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
            #[doc(hidden)]
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
            fn push<'a>(&'a self, params: &mut Params<'a>) {
                params.refer_to(self.place());
                self.push_whole(params);
            }
        }
    };
}

slice! {
    /// An argument of type `&[T]`.
    ///
    /// ```
    /// use cuda_std::prelude::*;
    ///
    /// #[kernel(dims(1))]
    /// pub fn double(input: &[f32], out: SliceMut<f32>) {
    ///     let i = thread::unique_1d();
    ///     if let Some(value) = input.get(i.index() as usize) {
    ///         out.set(i, 2.0 * value);
    ///     }
    /// }
    ///
    /// use cust::typed::{Buffer, Device, LaunchConfig};
    /// let device = Device::cpu();
    /// let stream = device.stream()?;
    /// let input = Buffer::from_slice(&stream, &[1.0, 2.0])?;
    /// let mut out = Buffer::new(&device, 2)?;
    /// // SAFETY: nothing writes `input` during the launch.
    /// unsafe {
    ///     let double = Double { input: input.view(), out: out.view_mut() };
    ///     stream.launch_unchecked(&LaunchConfig::for_1d(2, 32), &double)?;
    /// }
    /// assert_eq!(out.download(&stream)?, [2.0, 4.0]);
    /// # Ok::<(), cust::typed::DeviceError>(())
    /// ```
    RefSlice, *const T, &'a [T], slice::from_raw_parts, DeviceSlice
}
slice! {
    /// An argument of type `&mut [T]`.
    ///
    /// ```
    /// use cuda_std::prelude::*;
    ///
    /// #[kernel]
    /// pub unsafe fn halve(data: &mut [f32]) {
    ///     if let Some(value) = data.get_mut(thread::index_1d() as usize) {
    ///         *value /= 2.0;
    ///     }
    /// }
    ///
    /// use cust::typed::{Buffer, Device, LaunchConfig};
    /// let device = Device::cpu();
    /// let stream = device.stream()?;
    /// let mut data = Buffer::from_slice(&stream, &[1.0, 2.0, 3.0])?;
    /// // SAFETY: each thread accesses only its own element.
    /// unsafe {
    ///     let halve = Halve { data: data.view_mut() };
    ///     stream.launch_unchecked(&LaunchConfig::for_1d(3, 32), &halve)?;
    /// }
    /// assert_eq!(data.download(&stream)?, [0.5, 1.0, 1.5]);
    /// # Ok::<(), cust::typed::DeviceError>(())
    /// ```
    RefSliceMut, *mut T, &'a mut [T], slice::from_raw_parts_mut, DeviceSliceMut
}
