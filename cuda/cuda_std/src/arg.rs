//! Kernel arguments, and how they cross to the device.
//!
//! A GPU loads well through a pointer only if the pointer itself is a kernel parameter: inside a
//! struct the compiler forgets that it points to global memory. So an argument is spread over a
//! list of plain parameters, at most [`SLOTS`], and put together again in the kernel. A value is one
//! parameter, a [`Slice`](crate::Slice) two, a [`View`](crate::View) four.
//!
//! Values are the types that are [`DeviceCopy`]. References and raw pointers are in [`mod@pointer`].
//! `#[derive(KernelArg)]` makes one argument of several.

pub mod pointer;

use cust_core::DeviceCopy;

#[cfg(not(target_arch = "nvptx64"))]
use crate::launch::{ParamLayout, Params, Place};

/// Most parameters of one argument.
pub const SLOTS: usize = 16;

/// A type that can be a kernel's argument.
///
/// Every [`DeviceCopy`] type is one, passed by value: derive `DeviceCopy` for your own. Derive
/// `KernelArg` for a struct of views, slices, textures and values that belong together.
///
/// # Safety
/// - The elements of `Params` have the same layout on host and device and are aligned to at most 16
///   bytes, and `from_params` only puts them together.
/// - [`HostArg::push`] pushes exactly those parameters that have a size, in order.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument of a kernel",
    label = "does not cross to the device",
    note = "plain data does: derive `cust_core::DeviceCopy` for a struct, or take a `Slice` or a `View`"
)]
pub unsafe trait KernelArg: Copy {
    /// Its parameters in the PTX as a list, `(u64, (u32, ()))` for two of them.
    type Params: ParamList;

    /// What the host passes for it.
    #[cfg(not(target_arch = "nvptx64"))]
    type Host<'a>: HostArg<Self>;

    /// Puts the argument together on the device.
    ///
    /// # Safety
    /// The parameters are those that the host pushed for one argument.
    unsafe fn from_params(params: Self::Params) -> Self;
}

/// An image argument of which others may be [alike](crate::DeviceView::is_like), so that their address
/// alone is passed. `#[derive(KernelArg)]` asks for it with `#[kernel_arg(like = FIELD)]`.
pub trait Alike: KernelArg {
    /// Its pointer.
    type Address: Copy;

    /// The image at `address` of the same size and pitch.
    ///
    /// # Safety
    /// There is one.
    #[must_use]
    unsafe fn with_address(&self, address: Self::Address) -> Self;
}

/// A list of parameters: `()`, or a pair of the first one and the list of the others.
///
/// # Safety
/// Only this module implements it.
pub unsafe trait ParamList: Sized + list::Slots {
    /// This list with another behind it.
    type Append<Rest: ParamList>: ParamList;

    /// Size and alignment of each parameter that has a size.
    #[doc(hidden)]
    #[cfg(not(target_arch = "nvptx64"))]
    const LAYOUTS: list::Layouts;

    /// Takes apart what [`Append`](Self::Append) joined.
    fn split<Rest: ParamList>(joined: Self::Append<Rest>) -> (Self, Rest);

    /// Reads the list from pointers to the parameters that have a size, and moves `from` behind
    /// them.
    ///
    /// # Safety
    /// `from` has a pointer to a valid value for each of them.
    #[doc(hidden)]
    #[cfg(not(target_arch = "nvptx64"))]
    unsafe fn read(from: &mut *const *const core::ffi::c_void) -> Self;
}

// SAFETY: the empty list.
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

// SAFETY: one parameter and a list.
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
        // SAFETY: as the caller vouches; a parameter of no size has no pointer.
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

/// The kernel entry's side of a list: as many types as [`SLOTS`], the ABI skips those of no size.
#[doc(hidden)]
pub mod list {
    #[cfg(not(target_arch = "nvptx64"))]
    use super::{ParamLayout, SLOTS};

    /// A value of a type of no size.
    ///
    /// # Safety
    /// Its type is plain data.
    #[inline(always)]
    pub(super) unsafe fn absent<P>() -> P {
        assert!(size_of::<P>() == 0, "an argument has at most 16 parameters");
        // SAFETY: there are no bytes to initialise.
        unsafe { core::mem::zeroed() }
    }

    /// Layouts of a list's parameters.
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

        /// The list with `first` before it.
        pub(super) const fn after(self, first: ParamLayout) -> Self {
            assert!(
                first.align <= 16,
                "a kernel argument is aligned to at most 16 bytes: pass a pointer to it"
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

    /// Number of parameters of all arguments.
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

    /// The layouts of all arguments, one behind the other.
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
            /// The types of the entry's parameters.
            pub trait Slots {
                /// One parameter, or `()`.
                type $first: Copy;
                $(
                    /// One parameter, or `()`.
                    type $slot: Copy;
                )+

                /// Makes the list of the entry's parameters.
                fn from_slots(slots: SlotsOf<Self>) -> Self;
            }

            /// All slots of a list.
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
                    // SAFETY: a list this long is refused: the last slot of the rest is `()`.
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
    /// Where the memory behind it lies, that of each of its parts; a plain value has none.
    fn places(&self) -> [Option<Place>; 2] {
        [None; 2]
    }

    /// Appends its parameters for the driver.
    fn push<'a>(&'a self, params: &mut Params<'a>);

    /// The argument as the kernel sees it on the CPU.
    ///
    /// # Safety
    /// Any memory behind it lies on the host and stays valid while the result is used.
    unsafe fn on_cpu(&self) -> Device;
}

/// The layouts of an argument's parameters.
#[doc(hidden)]
#[cfg(not(target_arch = "nvptx64"))]
#[must_use]
pub const fn layouts<T: KernelArg>() -> list::Layouts {
    T::Params::LAYOUTS
}

/// Reads an argument from pointers to its parameters, and moves `from` behind them.
///
/// # Safety
/// `from` has a pointer to a valid value for each of the argument's parameters that have a size.
#[doc(hidden)]
#[cfg(not(target_arch = "nvptx64"))]
#[must_use]
pub unsafe fn read<T: KernelArg>(from: &mut *const *const core::ffi::c_void) -> T {
    // SAFETY: as the caller vouches.
    unsafe { T::from_params(T::Params::read(from)) }
}

/// The places of an argument of several parts: the first one, and one that differs from it, if any
/// does. `#[derive(KernelArg)]` calls it.
#[cfg(not(target_arch = "nvptx64"))]
#[must_use]
pub fn join_places(parts: &[[Option<Place>; 2]]) -> [Option<Place>; 2] {
    let places = || parts.iter().flatten().flatten().copied();
    let first = places().next();
    [first, places().find(|&place| Some(place) != first)]
}

/// What a read-only handle holds of the memory that it describes.
#[cfg(not(target_arch = "nvptx64"))]
pub(crate) type SharedBorrow<'a, T> = core::marker::PhantomData<&'a T>;

/// What a writable handle holds. Not `Sync`: two threads that share a kernel value could otherwise
/// both launch it, and on the CPU write at the same time.
#[cfg(not(target_arch = "nvptx64"))]
pub(crate) type ExclusiveBorrow<'a, T> = core::marker::PhantomData<(&'a T, core::cell::Cell<()>)>;

// SAFETY: one parameter, passed as it is; `Layouts` refuses what is aligned over 16, which would
// crash the compiler.
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

/// Implements [`KernelArg`] for a type that is passed by value. `#[derive(KernelArg)]` calls it for
/// a `#[repr(C)]` struct.
#[macro_export]
macro_rules! kernel_arg_by_value {
    ($($type:ty),+ $(,)?) => {$(
        // SAFETY: one parameter, passed as it is; `Pod` rules out hidden padding and pointers.
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
            // A by-value parameter aligned over 16 crashes the compiler.
            assert!(align_of::<$type>() <= 16);
        };
    )+};
}
