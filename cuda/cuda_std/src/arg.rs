//! Kernel arguments and how they are passed to the device.
//!
//! The compiler knows that a pointer refers to global memory only if the pointer itself is a kernel
//! parameter. Loads through a pointer inside a struct parameter are slower. Therefore each argument
//! is split into plain PTX parameters, at most [`SLOTS`], and reassembled in the kernel. A value
//! takes one parameter, a [`Slice`](crate::Slice) two and a [`View`](crate::View) four.
//!
//! Every [`DeviceCopy`] type can be passed by value. The module [`mod@pointer`] has the argument
//! types for references and raw pointers. `#[derive(KernelArg)]` combines several arguments into
//! one. A [`Table`] holds several arguments of one type, from which the kernel selects at run time.
//!
//! ```
//! use cuda_std::prelude::*;
//! use cust::typed::{Buffer, Device, LaunchConfig};
//! use cust_core::DeviceCopy;
//!
//! /// Plain data, which a kernel takes by value.
//! #[derive(Clone, Copy, Debug, DeviceCopy)]
//! #[repr(C)]
//! pub struct Ramp {
//!     start: f32,
//!     step: f32,
//! }
//!
//! #[kernel(dims(1))]
//! pub fn fill(ramp: Ramp, out: SliceMut<f32>) {
//!     let i = thread::unique_1d();
//!     out.set(i, ramp.start + ramp.step * i.index() as f32);
//! }
//!
//! let device = Device::cpu();
//! let stream = device.stream()?;
//! let mut out = Buffer::new(&device, 4)?;
//! let fill = Fill { ramp: Ramp { start: 1.0, step: 0.5 }, out: out.view_mut() };
//! stream.launch(&LaunchConfig::for_1d(4, 32), &fill)?;
//! assert_eq!(out.download(&stream)?, [1.0, 1.5, 2.0, 2.5]);
//! # Ok::<(), cust::typed::DeviceError>(())
//! ```

#[doc(hidden)]
pub mod list;
pub mod pointer;
mod table;

use cust_core::DeviceCopy;

#[cfg(not(target_arch = "nvptx64"))]
use crate::launch::{ParamLayout, Params};

pub use table::Table;

#[cfg(not(target_arch = "nvptx64"))]
pub use table::DeviceTable;

/// The maximum number of PTX parameters that one kernel argument can take.
pub const SLOTS: usize = 16;

/// A type that can be a kernel argument.
///
/// Every [`DeviceCopy`] type is a kernel argument that is passed by value. To pass your own struct
/// of plain data, derive `DeviceCopy` for it. To pass a struct of views, slices, textures and
/// values, derive `KernelArg`.
///
/// # Safety
/// - The elements of `Params` must have the same layout on host and device, aligned to at most 16
///   bytes, and `from_params` must only assemble them.
/// - [`HostArg::push`] must push exactly the parameters that are not zero-sized, in order.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a kernel argument",
    label = "cannot be passed to the device",
    note = "derive `cust_core::DeviceCopy` for a struct of plain data, or take a `Slice` or `View`"
)]
pub unsafe trait KernelArg: Copy {
    /// The argument's PTX parameters as a nested list. For example, `(u64, (u32, ()))` is a list of
    /// two parameters.
    type Params: ParamList;

    /// The type that the host passes for this argument.
    #[cfg(not(target_arch = "nvptx64"))]
    type Host<'a>: HostArg<Self>;

    /// Assembles the argument from its parameters on the device.
    ///
    /// # Safety
    /// `params` must be the parameters that the host pushed for one argument of this type.
    unsafe fn from_params(params: Self::Params) -> Self;

    /// Assembles the argument in the kernel's entry. `address` returns the address of the first parameter.
    ///
    /// # Safety
    /// The conditions of [`from_params`](Self::from_params) apply.
    #[doc(hidden)]
    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    unsafe fn from_entry(params: Self::Params, address: impl FnOnce() -> u64) -> Self {
        let _ = address;
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { Self::from_params(params) }
    }
}

/// An image argument that can share its size and pitch with another image. Images that are
/// [alike](crate::DeviceView::is_like) pass their common size and pitch once, and one address per
/// image. `#[derive(KernelArg)]` uses this trait for fields marked `#[kernel_arg(like = FIELD)]`.
pub trait Alike: KernelArg {
    /// The pointer type of the image.
    type Address: Copy;

    /// Returns the image at `address` with the same size and pitch.
    ///
    /// # Safety
    /// There must be an image of this size and pitch at `address`.
    unsafe fn with_address(&self, address: Self::Address) -> Self;
}

/// A list of parameters: `()`, or a pair of the first parameter and the list of the others.
///
/// # Safety
/// Only this module may implement the trait.
pub unsafe trait ParamList: Sized + list::Slots {
    /// The concatenation of this list and `Rest`.
    type Append<Rest: ParamList>: ParamList;

    /// The size and alignment of each parameter that is not zero-sized.
    #[doc(hidden)]
    #[cfg(not(target_arch = "nvptx64"))]
    const LAYOUTS: list::Layouts;

    /// The number of parameters that are not zero-sized.
    #[doc(hidden)]
    const COUNT: usize;

    /// The parameters as one value, with the same layout on host and device.
    #[doc(hidden)]
    type Packed: Copy;

    /// Loads a packed list that is a part of a kernel parameter, each parameter with its own load.
    ///
    /// # Safety
    /// There must be a list that the host packed at `address`.
    #[doc(hidden)]
    #[cfg(target_arch = "nvptx64")]
    unsafe fn load(address: u64) -> Self;

    /// Returns the parameters of a packed list.
    #[doc(hidden)]
    #[cfg(not(target_arch = "nvptx64"))]
    fn unpack(packed: Self::Packed) -> Self;

    /// Packs the parameters.
    #[doc(hidden)]
    #[cfg(not(target_arch = "nvptx64"))]
    fn pack(self) -> Self::Packed;

    /// Splits a concatenated list into this list and `Rest`.
    fn split<Rest: ParamList>(joined: Self::Append<Rest>) -> (Self, Rest);

    /// Reads the list through the pointers at `from`, one for each parameter that is not
    /// zero-sized. Advances `from` past these pointers.
    ///
    /// # Safety
    /// Each of these pointers must point to a valid value of its parameter.
    #[doc(hidden)]
    #[cfg(not(target_arch = "nvptx64"))]
    unsafe fn read(from: &mut *const *const core::ffi::c_void) -> Self;
}

// SAFETY: this impl is in the trait's own module. `()` is the empty list.
unsafe impl ParamList for () {
    type Append<Rest: ParamList> = Rest;

    #[cfg(not(target_arch = "nvptx64"))]
    const LAYOUTS: list::Layouts = list::Layouts::EMPTY;

    const COUNT: usize = 0;

    type Packed = ();

    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    unsafe fn load(_: u64) -> Self {}

    #[cfg(not(target_arch = "nvptx64"))]
    fn unpack((): ()) -> Self {}

    #[cfg(not(target_arch = "nvptx64"))]
    fn pack(self) {}

    #[inline(always)]
    fn split<Rest: ParamList>(joined: Rest) -> (Self, Rest) {
        ((), joined)
    }

    #[cfg(not(target_arch = "nvptx64"))]
    unsafe fn read(_: &mut *const *const core::ffi::c_void) -> Self {}
}

// SAFETY: this impl is in the trait's own module. The pair is one parameter followed by a list.
unsafe impl<P: Copy, L: ParamList> ParamList for (P, L) {
    type Append<Rest: ParamList> = (P, L::Append<Rest>);

    #[cfg(not(target_arch = "nvptx64"))]
    const LAYOUTS: list::Layouts =
        L::LAYOUTS.after(ParamLayout { size: size_of::<P>(), align: align_of::<P>() });

    const COUNT: usize = L::COUNT + (size_of::<P>() > 0) as usize;

    type Packed = list::Packed<P, L::Packed>;

    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    unsafe fn load(address: u64) -> Self {
        let others = core::mem::offset_of!(Self::Packed, others) as u64;
        // SAFETY: the caller guarantees that the list is at the address, so its parts are at their offsets.
        unsafe { (crate::memory::load_param(address), L::load(address + others)) }
    }

    #[cfg(not(target_arch = "nvptx64"))]
    fn unpack(list::Packed { first, others }: Self::Packed) -> Self {
        (first, L::unpack(others))
    }

    #[cfg(not(target_arch = "nvptx64"))]
    fn pack(self) -> Self::Packed {
        let (first, others) = self;
        list::Packed { first, others: others.pack() }
    }

    #[inline(always)]
    fn split<Rest: ParamList>((first, others): Self::Append<Rest>) -> (Self, Rest) {
        let (others, rest) = L::split(others);
        ((first, others), rest)
    }

    #[cfg(not(target_arch = "nvptx64"))]
    unsafe fn read(from: &mut *const *const core::ffi::c_void) -> Self {
        // SAFETY: the caller guarantees that each pointer at `from` points to a valid value of its
        // parameter. A zero-sized parameter has no pointer.
        unsafe {
            let first = if size_of::<P>() == 0 {
                list::absent()
            } else {
                let pointer = from.read().cast::<P>();
                *from = from.add(1);
                pointer.read_unaligned()
            };
            (first, L::read(from))
        }
    }
}

/// The value that the host passes for a kernel argument of type `Device`.
#[cfg(not(target_arch = "nvptx64"))]
pub trait HostArg<Device> {
    /// Appends pointers to the argument's parameters to `params`, and records the device of its memory.
    fn push<'a>(&'a self, params: &mut Params<'a>);
}

/// A marker with which a read-only host handle borrows its memory for `'a`.
#[cfg(not(target_arch = "nvptx64"))]
pub(crate) type SharedBorrow<'a, T> = core::marker::PhantomData<&'a T>;

/// A marker with which a writable host handle borrows its memory for `'a`. It is not `Sync`.
/// Otherwise, two host threads could launch the same kernel value at the same time, and on the CPU
/// both launches would write the same memory.
#[cfg(not(target_arch = "nvptx64"))]
pub(crate) type ExclusiveBorrow<'a, T> = core::marker::PhantomData<(&'a T, core::cell::Cell<()>)>;

// SAFETY: the value is one parameter, passed unchanged. `Layouts` rejects types aligned to more
// than 16 bytes, which would crash the compiler.
unsafe impl<T: DeviceCopy> KernelArg for T {
    type Params = (T, ());
    #[cfg(not(target_arch = "nvptx64"))]
    type Host<'a> = T;

    #[inline(always)]
    unsafe fn from_params((value, ()): Self::Params) -> Self {
        value
    }
}

#[cfg(not(target_arch = "nvptx64"))]
impl<T: DeviceCopy> HostArg<T> for T {
    fn push<'a>(&'a self, params: &mut Params<'a>) {
        params.push(self);
    }
}
