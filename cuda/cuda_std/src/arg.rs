//! Kernel arguments and how they are passed to the device.
//!
//! The compiler knows that a pointer refers to global memory only if the pointer itself is a kernel
//! parameter. Loads through a pointer inside a struct parameter are slower. Therefore each argument
//! is split into plain PTX parameters, at most [`SLOTS`], and reassembled in the kernel. A value
//! takes one parameter, a [`Slice`](crate::Slice) two and a [`View`](crate::View) four.
//!
//! Every [`DeviceCopy`] type can be passed by value. The module [`mod@pointer`] has the argument
//! types for references and raw pointers. `#[derive(KernelArg)]` combines several arguments into
//! one.

pub mod pointer;

use cust_core::DeviceCopy;

#[cfg(not(target_arch = "nvptx64"))]
use crate::launch::{ParamLayout, Params, Place};

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
    #[must_use]
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

/// Parameter lists in the form that the kernel's entry point needs: exactly [`SLOTS`] types per
/// argument. Unused types are `()`, and the ABI skips zero-sized types.
#[doc(hidden)]
pub mod list {
    #[cfg(not(target_arch = "nvptx64"))]
    use super::{ParamLayout, SLOTS};

    /// Returns a value of a zero-sized type. Panics if `P` is not zero-sized.
    ///
    /// # Safety
    /// `P` must be plain data.
    #[inline(always)]
    pub(super) unsafe fn absent<P>() -> P {
        assert!(
            size_of::<P>() == 0,
            "a kernel argument can take at most 16 parameters: split it into several arguments"
        );
        // SAFETY: `P` is zero-sized plain data, so there are no bytes to initialise.
        unsafe { core::mem::zeroed() }
    }

    /// The layouts of all parameters of a list that are not zero-sized.
    #[cfg(not(target_arch = "nvptx64"))]
    #[derive(Clone, Copy, Debug)]
    pub struct Layouts {
        list: [ParamLayout; SLOTS],
        /// The number of parameters that are not zero-sized.
        pub len: usize,
    }

    #[cfg(not(target_arch = "nvptx64"))]
    impl Layouts {
        pub(super) const EMPTY: Self =
            Self { list: [ParamLayout { size: 0, align: 1 }; SLOTS], len: 0 };

        /// Returns this list with the layout `first` added at the front.
        pub(super) const fn after(self, first: ParamLayout) -> Self {
            assert!(
                first.align <= 16,
                "a kernel argument must be aligned to at most 16 bytes: pass a pointer instead"
            );
            if first.size == 0 {
                return self;
            }
            assert!(
                self.len < SLOTS,
                "a kernel argument can take at most 16 parameters: split it into several arguments"
            );
            let mut list = [first; SLOTS];
            let mut at = 0;
            while at < self.len {
                list[at + 1] = self.list[at];
                at += 1;
            }
            Self { list, len: self.len + 1 }
        }
    }

    /// Returns the total number of parameters of all arguments.
    #[cfg(not(target_arch = "nvptx64"))]
    #[must_use]
    pub const fn count(arguments: &[Layouts]) -> usize {
        let (mut count, mut at) = (0, 0);
        while at < arguments.len() {
            count += arguments[at].len;
            at += 1;
        }
        count
    }

    /// Returns the parameter layouts of all arguments, concatenated in order.
    #[cfg(not(target_arch = "nvptx64"))]
    #[must_use]
    pub const fn join<const N: usize>(arguments: &[Layouts]) -> [ParamLayout; N] {
        let mut joined = [ParamLayout { size: 0, align: 1 }; N];
        let (mut to, mut argument) = (0, 0);
        while argument < arguments.len() {
            let mut at = 0;
            while at < arguments[argument].len {
                joined[to] = arguments[argument].list[at];
                to += 1;
                at += 1;
            }
            argument += 1;
        }
        joined
    }

    macro_rules! slots {
        ($first:ident $($slot:ident $before:ident),+; $last:ident) => {
            /// The entry point's parameter types for one kernel argument.
            pub trait Slots {
                /// The type of the first parameter, or `()` for an empty list.
                type $first: Copy;
                $(
                    /// The type of the parameter with this number, or `()` if the list has fewer
                    /// parameters.
                    type $slot: Copy;
                )+

                /// Assembles the list from the entry point's parameters.
                fn from_slots(slots: SlotsOf<Self>) -> Self;
            }

            /// The tuple of a list's parameter types, `S0` to `S15`.
            pub type SlotsOf<L> = (<L as Slots>::$first, $(<L as Slots>::$slot),+);

            impl Slots for () {
                type $first = ();
                $(type $slot = ();)+

                #[inline(always)]
                fn from_slots(_: SlotsOf<Self>) -> Self {}
            }

            impl<P: Copy, L: Slots> Slots for (P, L) {
                type $first = P;
                $(type $slot = L::$before;)+

                #[inline(always)]
                #[allow(non_snake_case, reason = "named like their types")]
                fn from_slots((first, $($slot),+): SlotsOf<Self>) -> Self {
                    // SAFETY: `L::$last` is `()` if `L` has a free slot for `first`. If `L` is too
                    // long, `absent` panics before it creates a value.
                    (first, L::from_slots(($($slot,)+ unsafe { absent::<L::$last>() })))
                }
            }
        };
    }

    slots!(S0 S1 S0, S2 S1, S3 S2, S4 S3, S5 S4, S6 S5, S7 S6, S8 S7, S9 S8, S10 S9, S11 S10,
        S12 S11, S13 S12, S14 S13, S15 S14; S15);
}

/// The value that the host passes for a kernel argument of type `Device`.
#[cfg(not(target_arch = "nvptx64"))]
pub trait HostArg<Device> {
    /// Returns the device that holds the argument's memory. If its parts are on different devices,
    /// returns two of these devices. A plain value has no memory, so both entries are `None`.
    fn places(&self) -> [Option<Place>; 2] {
        [None; 2]
    }

    /// Appends pointers to the argument's parameters to `params`.
    fn push<'a>(&'a self, params: &mut Params<'a>);

    /// Returns the value that the kernel receives for this argument when it runs on the CPU.
    ///
    /// # Safety
    /// The argument's memory must be on the host and stay valid while the result is used.
    unsafe fn on_cpu(&self) -> Device;
}

/// Returns the layouts of an argument's parameters.
#[doc(hidden)]
#[cfg(not(target_arch = "nvptx64"))]
#[must_use]
pub const fn layouts<T: KernelArg>() -> list::Layouts {
    T::Params::LAYOUTS
}

/// Reads an argument through the pointers at `from`, one for each parameter that is not zero-sized.
/// Advances `from` past these pointers.
///
/// # Safety
/// Each of these pointers must point to a valid value of its parameter.
#[doc(hidden)]
#[cfg(not(target_arch = "nvptx64"))]
#[must_use]
pub unsafe fn read<T: KernelArg>(from: &mut *const *const core::ffi::c_void) -> T {
    // SAFETY: the caller guarantees that each pointer at `from` points to a valid value of its
    // parameter.
    unsafe { T::from_params(T::Params::read(from)) }
}

/// Combines the results of [`HostArg::places`] for the parts of one argument. Returns the first
/// device, and another device if the parts are on different ones. `#[derive(KernelArg)]` calls this
/// function.
#[cfg(not(target_arch = "nvptx64"))]
#[must_use]
pub fn join_places(parts: &[[Option<Place>; 2]]) -> [Option<Place>; 2] {
    let places = || parts.iter().flatten().flatten().copied();
    let first = places().next();
    [first, places().find(|&place| Some(place) != first)]
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

    unsafe fn on_cpu(&self) -> T {
        *self
    }
}

/// Implements [`KernelArg`] for a type that is passed by value. `#[derive(KernelArg)]` calls this
/// macro for a `#[repr(C)]` struct.
#[macro_export]
macro_rules! kernel_arg_by_value {
    ($($type:ty),+ $(,)?) => {$(
        // SAFETY: the type is one parameter, passed unchanged. `Pod` rules out hidden padding and
        // pointers.
        unsafe impl $crate::KernelArg for $type {
            type Params = (Self, ());
            #[cfg(not(target_arch = "nvptx64"))]
            type Host<'a> = Self;

            #[inline(always)]
            unsafe fn from_params((value, ()): Self::Params) -> Self {
                value
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
            // A by-value parameter aligned to more than 16 bytes crashes the compiler.
            assert!(align_of::<$type>() <= 16);
        };
    )+};
}
