//! Kernel arguments and how they are passed to the device.
//!
//! GPU loads through a pointer are efficient only if the pointer itself is a kernel parameter. If
//! it is inside a struct, the compiler forgets that it points to global memory. An argument is
//! therefore split into plain parameters, at most [`SLOTS`], and reassembled in the kernel. A value
//! is one parameter, a [`Slice`](crate::Slice) two and a [`View`](crate::View) four.
//!
//! Values have a type that is [`DeviceCopy`]. The module [`mod@pointer`] has references and raw
//! pointers. `#[derive(KernelArg)]` combines several arguments into one.

pub mod pointer;

use cust_core::DeviceCopy;

#[cfg(not(target_arch = "nvptx64"))]
use crate::launch::{ParamLayout, Params, Place};

/// The maximum number of parameters of one argument.
pub const SLOTS: usize = 16;

/// A type that can be a kernel argument.
///
/// Every [`DeviceCopy`] type is a kernel argument, passed by value: derive `DeviceCopy` for your
/// own types. Derive `KernelArg` for a struct of views, slices, textures and values that belong
/// together.
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
    /// The argument's parameters in the PTX as a list: `(u64, (u32, ()))` is a list of two.
    type Params: ParamList;

    /// The type that the host passes for this argument.
    #[cfg(not(target_arch = "nvptx64"))]
    type Host<'a>: HostArg<Self>;

    /// Assembles the argument on the device.
    ///
    /// # Safety
    /// `params` must be the parameters that the host pushed for one argument.
    unsafe fn from_params(params: Self::Params) -> Self;
}

/// An argument that is an image. Images that are [alike](crate::DeviceView::is_like) pass their
/// common size and pitch once, and one address each. `#[derive(KernelArg)]` uses this trait for
/// fields marked `#[kernel_arg(like = FIELD)]`.
pub trait Alike: KernelArg {
    /// The pointer type of the image.
    type Address: Copy;

    /// Returns the image at `address` with the same size and pitch.
    ///
    /// # Safety
    /// There must be such an image at `address`.
    #[must_use]
    unsafe fn with_address(&self, address: Self::Address) -> Self;
}

/// A list of parameters: `()`, or a pair of the first parameter and the list of the others.
///
/// # Safety
/// Only this module may implement it.
pub unsafe trait ParamList: Sized + list::Slots {
    /// This list followed by `Rest`.
    type Append<Rest: ParamList>: ParamList;

    /// The size and alignment of each parameter that is not zero-sized.
    #[doc(hidden)]
    #[cfg(not(target_arch = "nvptx64"))]
    const LAYOUTS: list::Layouts;

    /// Splits a list that [`Append`](Self::Append) joined.
    fn split<Rest: ParamList>(joined: Self::Append<Rest>) -> (Self, Rest);

    /// Reads the list from pointers to the parameters that are not zero-sized, and advances `from`
    /// past them.
    ///
    /// # Safety
    /// `from` must hold a pointer to a valid value for each of these parameters.
    #[doc(hidden)]
    #[cfg(not(target_arch = "nvptx64"))]
    unsafe fn read(from: &mut *const *const core::ffi::c_void) -> Self;
}

// SAFETY: this is the empty list.
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

// SAFETY: this is one parameter followed by a list.
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
        // SAFETY: the caller guarantees it. A zero-sized parameter has no pointer.
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

/// The form of a list in the kernel's entry point: always [`SLOTS`] types. The ABI skips zero-sized
/// types.
#[doc(hidden)]
pub mod list {
    #[cfg(not(target_arch = "nvptx64"))]
    use super::{ParamLayout, SLOTS};

    /// Returns a value of a zero-sized type.
    ///
    /// # Safety
    /// `P` must be plain data.
    #[inline(always)]
    pub(super) unsafe fn absent<P>() -> P {
        assert!(size_of::<P>() == 0, "an argument has at most 16 parameters");
        // SAFETY: there are no bytes to initialise.
        unsafe { core::mem::zeroed() }
    }

    /// The layouts of a list's parameters.
    #[cfg(not(target_arch = "nvptx64"))]
    #[derive(Clone, Copy, Debug)]
    pub struct Layouts {
        list: [ParamLayout; SLOTS],
        /// Number of parameters.
        pub len: usize,
    }

    #[cfg(not(target_arch = "nvptx64"))]
    impl Layouts {
        pub(super) const EMPTY: Self =
            Self { list: [ParamLayout { size: 0, align: 1 }; SLOTS], len: 0 };

        /// Returns the list with `first` in front of it.
        pub(super) const fn after(self, first: ParamLayout) -> Self {
            assert!(
                first.align <= 16,
                "a kernel argument must be aligned to at most 16 bytes: pass a pointer instead"
            );
            if first.size == 0 {
                return self;
            }
            assert!(self.len < SLOTS, "an argument has at most 16 parameters");
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

    /// Returns the layouts of all arguments, one after the other.
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
            /// The types of the entry point's parameters.
            pub trait Slots {
                /// One parameter, or `()`.
                type $first: Copy;
                $(
                    /// One parameter, or `()`.
                    type $slot: Copy;
                )+

                /// Assembles the list from the entry point's parameters.
                fn from_slots(slots: SlotsOf<Self>) -> Self;
            }

            /// A tuple of all slots of a list.
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
                    // SAFETY: the last slot of `L` is `()`, because longer lists are rejected.
                    (first, L::from_slots(($($slot,)+ unsafe { absent::<L::$last>() })))
                }
            }
        };
    }

    slots!(S0 S1 S0, S2 S1, S3 S2, S4 S3, S5 S4, S6 S5, S7 S6, S8 S7, S9 S8, S10 S9, S11 S10,
        S12 S11, S13 S12, S14 S13, S15 S14; S15);
}

/// The host's side of a kernel argument.
#[cfg(not(target_arch = "nvptx64"))]
pub trait HostArg<Device> {
    /// Returns the place of the argument's memory, and a second place if its parts lie in different
    /// ones. A plain value has neither.
    fn places(&self) -> [Option<Place>; 2] {
        [None; 2]
    }

    /// Appends the argument's parameters for the driver.
    fn push<'a>(&'a self, params: &mut Params<'a>);

    /// Returns the argument as the kernel sees it on the CPU.
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

/// Reads an argument from pointers to its parameters, and advances `from` past them.
///
/// # Safety
/// `from` must hold a pointer to a valid value for each of the argument's parameters that is not
/// zero-sized.
#[doc(hidden)]
#[cfg(not(target_arch = "nvptx64"))]
#[must_use]
pub unsafe fn read<T: KernelArg>(from: &mut *const *const core::ffi::c_void) -> T {
    // SAFETY: the caller guarantees it.
    unsafe { T::from_params(T::Params::read(from)) }
}

/// Returns the places of an argument with several parts: the first place, and one that differs from
/// it, if there is one. `#[derive(KernelArg)]` calls this function.
#[cfg(not(target_arch = "nvptx64"))]
#[must_use]
pub fn join_places(parts: &[[Option<Place>; 2]]) -> [Option<Place>; 2] {
    let places = || parts.iter().flatten().flatten().copied();
    let first = places().next();
    [first, places().find(|&place| Some(place) != first)]
}

/// The borrow that a read-only handle holds on the memory that it describes.
#[cfg(not(target_arch = "nvptx64"))]
pub(crate) type SharedBorrow<'a, T> = core::marker::PhantomData<&'a T>;

/// The borrow that a writable handle holds. It is not `Sync`: otherwise two threads that share a
/// kernel value could both launch it, and on the CPU both would write at the same time.
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
        // SAFETY: one parameter, passed unchanged. `Pod` rules out hidden padding and pointers.
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
