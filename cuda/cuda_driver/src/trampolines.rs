//! One exported function per driver function, each a jump through its own slot.
//!
//! A slot is the address that its function jumps to. All slots start at [`arch::cold`], which saves
//! the arguments, asks [`crate::resolve`] for the real address, puts them back and jumps. The slot
//! then holds that address, so a later call costs one constant in a scratch register and one
//! indirect jump, and no argument moves.
//!
//! The linker takes this object whole or not at all, and it must take it even where a real
//! `libcuda.so` stands earlier on its command line. [`ADDRESSES`] sees to that: it is in the same
//! module (so in the same object) as the functions, and its own name is known to no other library.
//! `tests/link.rs` checks the outcome.

use std::ffi::c_int;
use std::sync::atomic::AtomicPtr;

use crate::arch;
use crate::names::with_names;

/// A driver function without its parameters: all of them return a `CUresult`.
pub(crate) type Entry = unsafe extern "C" fn() -> c_int;

macro_rules! trampolines {
    ($($name:ident)*) => {
        /// The place of each function in the tables below.
        #[expect(non_camel_case_types, reason = "the driver's own spelling")]
        #[repr(usize)]
        enum Index { $($name,)* }

        /// The exported names, by index.
        pub(crate) static NAMES: [&str; COUNT] = [$(stringify!($name),)*];

        /// The exported functions, by index.
        #[used]
        pub(crate) static ADDRESSES: [Entry; COUNT] = [$($name,)*];

        const COUNT: usize = [$(Index::$name,)*].len();

        $(
            /// Jumps to the driver's function of this name, with all arguments as they came.
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            unsafe extern "C" fn $name() -> c_int {
                arch::jump_through_slot!(SLOTS, Index::$name as usize)
            }
        )*
    };
}
with_names!(trampolines);

/// Where each function jumps to; written by [`crate::resolve`] alone.
pub(crate) static SLOTS: [AtomicPtr<()>; COUNT] =
    [const { AtomicPtr::new(arch::cold as *mut ()) }; COUNT];
