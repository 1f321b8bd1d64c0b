//! Address spaces of pointers.
//!
//! On the GPU, a Rust pointer is a generic address: it points to global, shared, constant or local
//! memory. The CPU has a single address space. On the CPU, the functions of this module recognise
//! the block's shared memory and treat all other memory as global.
//!
//! ```
//! use cuda_std::cpu::{Launch, launch};
//! use cuda_std::ptr::{AddressSpace, is_in_address_space};
//! use cuda_std::shared_array;
//!
//! launch(&Launch::new("spaces", [1, 1, 1], [1, 1, 1]), &|| {
//!     let tile = shared_array![u32; 32].as_mut_ptr();
//!     // SAFETY: the pointer is valid for a `u32`.
//!     unsafe {
//!         assert!(is_in_address_space(tile, AddressSpace::Shared));
//!         assert!(!is_in_address_space(tile, AddressSpace::Global));
//!     }
//! })?;
//! # Ok::<(), cuda_std::cpu::Fault>(())
//! ```

/// An address space of the GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AddressSpace {
    /// Device memory that all threads can read and write.
    Global,
    /// Memory that the threads of one block share.
    Shared,
    /// Device memory that kernels can only read.
    Constant,
    /// Memory of one thread, such as its stack.
    Local,
}

/// Returns true if `ptr` points into `address_space`.
///
/// # Safety
/// `ptr` must be valid for a `T`.
#[inline(always)]
#[must_use]
pub unsafe fn is_in_address_space<T>(ptr: *const T, address_space: AddressSpace) -> bool {
    #[cfg(target_arch = "nvptx64")]
    {
        macro_rules! is_in {
            ($space:literal) => {{
                let is: u32;
                // SAFETY: the instructions only operate on registers.
                unsafe {
                    core::arch::asm!(
                        "{{",
                        ".reg .pred %is;",
                        concat!("isspacep.", $space, " %is, {};"),
                        "selp.u32 {}, 1, 0, %is;",
                        "}}",
                        in(reg64) ptr, out(reg32) is,
                        options(pure, nomem, nostack, preserves_flags));
                }
                is != 0
            }};
        }
        match address_space {
            AddressSpace::Global => is_in!("global"),
            AddressSpace::Shared => is_in!("shared"),
            AddressSpace::Constant => is_in!("const"),
            AddressSpace::Local => is_in!("local"),
        }
    }
    #[cfg(not(target_arch = "nvptx64"))]
    match address_space {
        AddressSpace::Global => !cuda_cpu::is_shared(ptr.addr()),
        AddressSpace::Shared => cuda_cpu::is_shared(ptr.addr()),
        AddressSpace::Constant | AddressSpace::Local => false,
    }
}

/// Defines a conversion that uses the instruction `cvta`.
macro_rules! convert {
    ($(#[$doc:meta])+ $name:ident, $instruction:literal) => {
        $(#[$doc])+
        #[inline(always)]
        #[must_use]
        pub unsafe fn $name<T>(ptr: *const T, address_space: AddressSpace) -> *const T {
            #[cfg(target_arch = "nvptx64")]
            {
                macro_rules! convert_in {
                    ($space:literal) => {{
                        let converted: *const T;
                        // SAFETY: the instructions only operate on registers.
                        unsafe {
                            core::arch::asm!(
                                concat!($instruction, $space, ".u64 {}, {};"),
                                out(reg64) converted, in(reg64) ptr,
                                options(pure, nomem, nostack, preserves_flags));
                        }
                        converted
                    }};
                }
                match address_space {
                    AddressSpace::Global => convert_in!("global"),
                    AddressSpace::Shared => convert_in!("shared"),
                    AddressSpace::Constant => convert_in!("const"),
                    AddressSpace::Local => convert_in!("local"),
                }
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                let _ = address_space;
                ptr
            }
        }
    };
}

convert! {
    /// Converts a generic pointer to an address within `address_space`, for `asm!` instructions of
    /// that space. The CPU returns the pointer unchanged.
    ///
    /// # Safety
    /// `ptr` must be valid for a `T` and point into `address_space`.
    convert_generic_to_specific_address_space, "cvta.to."
}
convert! {
    /// Converts an address within `address_space` to a generic pointer. The CPU returns the pointer
    /// unchanged.
    ///
    /// # Safety
    /// `ptr` must be the address of a valid `T` within `address_space`.
    convert_specific_address_space_to_generic, "cvta."
}
