//! Parameter lists in the form that the kernel's entry point needs: exactly [`SLOTS`] types per
//! argument. Unused types are `()`, and the ABI skips zero-sized types.

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

/// A parameter and the packed parameters after it. Unlike a tuple, it has the same layout on host and device.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Packed<P, L> {
    pub(super) first: P,
    pub(super) others: L,
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
