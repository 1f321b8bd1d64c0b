//! The memory that a pointer leads to.
//!
//! A pointer of Rust is a generic address on the GPU: it leads to global, shared, constant or local
//! memory. The CPU has one address space: shared arrays are known as such, and everything else counts
//! as global.

/// A kind of GPU memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AddressSpace {
    /// Memory of the device, which all threads read and write.
    Global,
    /// Memory of the block.
    Shared,
    /// Memory of the device that kernels only read.
    Constant,
    /// Memory of the thread.
    Local,
}

/// Returns whether a pointer leads to a kind of memory.
///
/// # Safety
/// `ptr` is valid for a `T`.
#[inline(always)]
#[must_use]
pub unsafe fn is_in_address_space<T>(ptr: *const T, address_space: AddressSpace) -> bool {
    #[cfg(target_arch = "nvptx64")]
    {
        macro_rules! is_in {
            ($space:literal) => {{
                let is: u32;
                // SAFETY: arithmetic on registers.
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

/// Defines a conversion by `cvta`.
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
                        // SAFETY: arithmetic on registers.
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
    /// Converts a generic pointer to an address within one kind of memory, for instructions of that
    /// kind in `asm!`. The CPU returns the pointer.
    ///
    /// # Safety
    /// `ptr` is valid for a `T` and leads to that kind of memory.
    convert_generic_to_specific_address_space, "cvta.to."
}
convert! {
    /// Converts an address within one kind of memory to a generic pointer. The CPU returns the pointer.
    ///
    /// # Safety
    /// `ptr` is the address of a valid `T` within that kind of memory.
    convert_specific_address_space_to_generic, "cvta."
}
