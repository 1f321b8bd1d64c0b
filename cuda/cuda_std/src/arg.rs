//! What a kernel may take as an argument, and how it crosses to the device.
//!
//! A GPU loads through a pointer well only if the pointer is a kernel parameter itself: inside a
//! struct the compiler loses that it points to global memory. So an argument is spread over up to
//! eight plain parameters, enough for two images, and put together again inside; unused ones are `()`,
//! which the ABI skips. A plain value is one parameter.

/// A type that can be a kernel's parameter. Derive it for `#[repr(C)]` structs of plain data.
///
/// # Safety
/// - `P0` to `P7` are `()` or types whose layout is the same on host and device, aligned to at most
///   16 bytes, and `from_params` does no more than put them together.
/// - On the host, [`HostArg::push`] pushes exactly the non-`()` parameters, in order.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument of a kernel",
    label = "does not cross to the device",
    note = "plain data does: derive `KernelArg` and `bytemuck::Pod` for a `#[repr(C)]` struct"
)]
pub unsafe trait KernelArg: Copy {
    /// First parameter in the PTX.
    type P0;
    /// Second parameter, or `()`.
    type P1;
    /// Third parameter, or `()`.
    type P2;
    /// Fourth parameter, or `()`.
    type P3;
    /// Fifth parameter, or `()`.
    type P4;
    /// Sixth parameter, or `()`.
    type P5;
    /// Seventh parameter, or `()`.
    type P6;
    /// Eighth parameter, or `()`.
    type P7;

    /// What the host passes for it.
    #[cfg(not(target_arch = "nvptx64"))]
    type Host<'a>: HostArg<Self>;

    /// Puts the argument together on the device.
    ///
    /// # Safety
    /// The parameters are those that the host pushed for one argument.
    unsafe fn from_params(params: ParamsOf<Self>) -> Self;
}

/// An argument's parameters.
pub type ParamsOf<T> = (
    <T as KernelArg>::P0,
    <T as KernelArg>::P1,
    <T as KernelArg>::P2,
    <T as KernelArg>::P3,
    <T as KernelArg>::P4,
    <T as KernelArg>::P5,
    <T as KernelArg>::P6,
    <T as KernelArg>::P7,
);

/// How many parameters an argument is.
#[must_use]
pub const fn param_count<T: KernelArg>() -> usize {
    const fn count<P>() -> usize {
        (size_of::<P>() > 0) as usize
    }
    count::<T::P0>()
        + count::<T::P1>()
        + count::<T::P2>()
        + count::<T::P3>()
        + count::<T::P4>()
        + count::<T::P5>()
        + count::<T::P6>()
        + count::<T::P7>()
}

/// The host's side of a kernel argument.
#[cfg(not(target_arch = "nvptx64"))]
pub trait HostArg<Device> {
    /// Where the memory behind it lies, that of each of its parts; a plain value has none.
    fn places(&self) -> [Option<crate::launch::Place>; 2] {
        [None; 2]
    }

    /// Appends its parameters for the driver.
    fn push<'a>(&'a self, params: &mut crate::launch::Params<'a>);

    /// The argument as the kernel sees it on the CPU.
    ///
    /// # Safety
    /// Any memory behind it lies on the host and stays valid while the result is used.
    unsafe fn on_cpu(&self) -> Device;
}

/// What a read-only handle holds of the memory that it describes.
#[cfg(not(target_arch = "nvptx64"))]
pub(crate) type SharedBorrow<'a, T> = core::marker::PhantomData<&'a T>;

/// What a writable handle holds. Not `Sync`: two threads that share a kernel value could otherwise
/// both launch it, and on the CPU write at the same time.
#[cfg(not(target_arch = "nvptx64"))]
pub(crate) type ExclusiveBorrow<'a, T> = core::marker::PhantomData<(&'a T, core::cell::Cell<()>)>;

/// Implements [`KernelArg`] for a type that is passed by value. `#[derive(KernelArg)]` calls it.
#[macro_export]
macro_rules! kernel_arg_by_value {
    ($($type:ty),+ $(,)?) => {$(
        // SAFETY: one parameter, passed as it is; `Pod` rules out hidden padding and pointers.
        unsafe impl $crate::KernelArg for $type {
            type P0 = Self;
            type P1 = ();
            type P2 = ();
            type P3 = ();
            type P4 = ();
            type P5 = ();
            type P6 = ();
            type P7 = ();
            #[cfg(not(target_arch = "nvptx64"))]
            type Host<'a> = Self;

            #[inline(always)]
            unsafe fn from_params(params: $crate::arg::ParamsOf<Self>) -> Self {
                params.0
            }
        }

        #[cfg(not(target_arch = "nvptx64"))]
        impl $crate::arg::HostArg<$type> for $type {
            fn push<'a>(&'a self, params: &mut $crate::launch::Params<'a>) {
                params.push(self);
            }

            unsafe fn on_cpu(&self) -> $type {
                *self
            }
        }

        const _: () = {
            const fn is_pod<T: $crate::__private::bytemuck::Pod>() {}
            is_pod::<$type>();
            // A by-value parameter aligned over 16 crashes the compiler.
            assert!(align_of::<$type>() <= 16);
            // The ABI skips a parameter of no size, the host would not.
            assert!(size_of::<$type>() > 0);
        };
    )+};
}

kernel_arg_by_value!(u8, u16, u32, u64, i8, i16, i32, i64, f32, f64);
kernel_arg_by_value!(glam::Vec2, glam::Vec3, glam::UVec2, glam::IVec2, glam::DVec2, glam::DMat3);
