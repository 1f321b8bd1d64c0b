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

use core::slice;

use super::KernelArg;

#[cfg(not(target_arch = "nvptx64"))]
use crate::{DeviceSlice, DeviceSliceMut};
#[cfg(not(target_arch = "nvptx64"))]
use {
    super::HostArg,
    crate::launch::{DevicePointer, Params},
};

/// Defines an argument type. The macro arguments are the type of the kernel function's argument, the
/// name, the parameters, the host's type and how it pushes the parameters, and the conversion of the
/// parameters to the function's argument.
macro_rules! argument {
    (
        $given:ty: $name:ident, $params:ty, $host:ty, $push:expr,
        $pattern:pat => $get:expr
    ) => {
        #[doc = concat!("An argument of type `", stringify!($given), "`.")]
        #[derive(Debug)]
        pub struct $name<T>($params);

        copy!([T] $name<T>);

        impl<T> $name<T> {
            /// Converts the parameters to the type that the kernel function takes. The result cannot
            /// outlive `scope`, which is local to the entry of a safe kernel.
            ///
            /// # Safety
            /// While the result is used, the memory behind the pointer must meet Rust's rules for
            /// the returned type.
            #[inline(always)]
            #[allow(clippy::mut_from_ref, reason = "the scope refers to no memory")]
            pub unsafe fn get<'a>(self, scope: &'a ()) -> $given
            where
                T: 'a,
            {
                let () = scope;
                let $pattern = self.0;
                // SAFETY: the caller upholds this function's safety contract.
                #[allow(unused_unsafe, reason = "raw pointers are passed unchanged")]
                unsafe {
                    $get
                }
            }
        }

        // SAFETY: the host's type pushes the parameters in this order.
        unsafe impl<T: 'static> KernelArg for $name<T> {
            type Params = $params;
            #[cfg(not(target_arch = "nvptx64"))]
            type Host<'a> = $host;

            #[inline(always)]
            unsafe fn from_params(params: Self::Params) -> Self {
                Self(params)
            }
        }

        #[cfg(not(target_arch = "nvptx64"))]
        impl<'a, T: 'static> HostArg<$name<T>> for $host {
            fn push<'p>(&'p self, params: &mut Params<'p>) {
                $push(self, params);
            }
        }
    };
}

argument!(*const T: ConstPointer, (*const T, ()), DevicePointer<T>, push_pointer, (data, ()) => data);
argument!(*mut T: MutPointer, (*mut T, ()), DevicePointer<T>, push_pointer, (data, ()) => data);
argument!(&'a T: Ref, (*const T, ()), DevicePointer<T>, push_pointer, (data, ()) => &*data);
argument!(&'a mut T: RefMut, (*mut T, ()), DevicePointer<T>, push_pointer, (data, ()) => &mut *data);
argument!(
    &'a [T]: RefSlice, (*const T, (usize, ())), DeviceSlice<'a, T>, DeviceSlice::push_whole,
    (data, (len, ())) => slice::from_raw_parts(not_null(data.cast_mut(), len), len)
);
argument!(
    &'a mut [T]: RefSliceMut, (*mut T, (usize, ())), DeviceSliceMut<'a, T>,
    DeviceSliceMut::push_whole,
    (data, (len, ())) => slice::from_raw_parts_mut(not_null(data, len), len)
);

#[cfg(not(target_arch = "nvptx64"))]
fn push_pointer<'p, T>(pointer: &'p DevicePointer<T>, params: &mut Params<'p>) {
    params.push(pointer);
}

/// Replaces the null pointer of an empty device buffer, which a Rust slice must not have. On the GPU,
/// a null pointer is harmless here, and a branch would hide from the compiler that the pointer is a
/// parameter.
#[inline(always)]
fn not_null<T>(data: *mut T, len: usize) -> *mut T {
    if cfg!(not(target_arch = "nvptx64")) && len == 0 {
        core::ptr::NonNull::dangling().as_ptr()
    } else {
        data
    }
}
