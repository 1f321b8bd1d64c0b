//! Loads and stores with a stated memory space and width.
//!
//! The width follows from the type: 1, 2, 4, 8 or 16 bytes with matching alignment are one access,
//! anything else is left to the compiler. On the CPU all of them are plain accesses.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

use bytemuck::Pod;

#[cfg(not(target_arch = "nvptx64"))]
pub(crate) use cuda_cpu::{AccessKind as Access, Index};

/// Stands in for the CPU's report on the GPU, where nothing is checked.
#[cfg(target_arch = "nvptx64")]
pub(crate) enum Access {
    Load,
    Store,
    Atomic,
}

/// As [`Access`].
#[cfg(target_arch = "nvptx64")]
#[expect(dead_code, reason = "only the CPU reports")]
pub(crate) enum Index {
    Linear(u64),
    Pixel(u32, u32),
}

/// On the CPU, ends the launch with an out-of-bounds fault unless `inside`; `place` gives index and
/// extent. On the GPU, nothing.
#[inline(always)]
pub(crate) fn check(
    inside: bool,
    access: Access,
    what: &'static str,
    place: impl FnOnce() -> [Index; 2],
) {
    #[cfg(not(target_arch = "nvptx64"))]
    if !inside {
        let [index, extent] = place();
        cuda_cpu::fail(cuda_cpu::FaultKind::OutOfBounds { access, what, index, extent });
    }
    #[cfg(target_arch = "nvptx64")]
    let _ = (inside, access, what, place);
}

/// Defines a load function: doc, name, instruction prefix, pointer operand type, asm options.
#[cfg(target_arch = "nvptx64")]
macro_rules! load {
    ($(#[$doc:meta])* $name:ident, $space:literal, $address:ty, [$($option:ident),*]) => {
        $(#[$doc])*
        #[inline(always)]
        pub(crate) unsafe fn $name<T: Pod>(at: $address) -> T {
            // SAFETY: the caller vouches for `size_of::<T>()` readable bytes at `at`; each arm reads
            // that many, and `T: Pod` accepts any bytes.
            unsafe {
                match (size_of::<T>(), align_of::<T>()) {
                    (1, _) => {
                        let v: u16;
                        asm!(concat!($space, ".u8 {}, [{}];"), out(reg16) v, in(reg64) at, options($($option),*));
                        core::mem::transmute_copy(&v)
                    }
                    (2, 2) => {
                        let v: u16;
                        asm!(concat!($space, ".u16 {}, [{}];"), out(reg16) v, in(reg64) at, options($($option),*));
                        core::mem::transmute_copy(&v)
                    }
                    (4, 4) => {
                        let v: u32;
                        asm!(concat!($space, ".u32 {}, [{}];"), out(reg32) v, in(reg64) at, options($($option),*));
                        core::mem::transmute_copy(&v)
                    }
                    (8, 8) => {
                        let v: u64;
                        asm!(concat!($space, ".u64 {}, [{}];"), out(reg64) v, in(reg64) at, options($($option),*));
                        core::mem::transmute_copy(&v)
                    }
                    (16, 16) => {
                        let (a, b, c, d): (u32, u32, u32, u32);
                        asm!(concat!($space, ".v4.u32 {{{}, {}, {}, {}}}, [{}];"),
                            out(reg32) a, out(reg32) b, out(reg32) c, out(reg32) d, in(reg64) at,
                            options($($option),*));
                        core::mem::transmute_copy(&[a, b, c, d])
                    }
                    _ => {
                        let mut value = T::zeroed();
                        let to = (&raw mut value).cast::<u8>();
                        for i in 0..size_of::<T>() {
                            let v: u16;
                            asm!(concat!($space, ".u8 {}, [{}];"), out(reg16) v,
                                in(reg64) (at as u64).wrapping_add(i as u64), options($($option),*));
                            *to.add(i) = v as u8;
                        }
                        value
                    }
                }
            }
        }
    };
}

#[cfg(target_arch = "nvptx64")]
load! {
    /// Loads through the read-only cache (`ld.global.nc`).
    ///
    /// # Safety
    /// - `at` points to a `T` in global memory, aligned as `T`.
    /// - Nothing writes there during the launch.
    load_read_only, "ld.global.nc", *const T, [pure, readonly, nostack, preserves_flags]
}

#[cfg(target_arch = "nvptx64")]
load! {
    /// Loads from shared memory at an address in that space.
    ///
    /// # Safety
    /// `at` is the address of a `T` in the block's shared memory, aligned as `T`.
    load_shared, "ld.shared", u64, [readonly, nostack, preserves_flags]
}

#[cfg(target_arch = "nvptx64")]
load! {
    /// Loads from constant memory at an address in that space.
    ///
    /// # Safety
    /// `at` is the address of a `T` in constant memory, aligned as `T`.
    load_constant, "ld.const", u64, [pure, readonly, nostack, preserves_flags]
}

/// Stores to shared memory at an address in that space.
///
/// # Safety
/// `at` is the address of a `T` in the block's shared memory, aligned as `T`.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
pub(crate) unsafe fn store_shared<T: Pod>(at: u64, value: T) {
    // SAFETY: the caller vouches for `at`; each arm writes `size_of::<T>()` bytes. Values are
    // reinterpreted as unsigned words of their own size.
    unsafe {
        match (size_of::<T>(), align_of::<T>()) {
            (1, _) => {
                let v = u16::from(core::mem::transmute_copy::<T, u8>(&value));
                asm!("st.shared.u8 [{}], {};", in(reg64) at, in(reg16) v, options(nostack));
            }
            (2, 2) => {
                let v = core::mem::transmute_copy::<T, u16>(&value);
                asm!("st.shared.u16 [{}], {};", in(reg64) at, in(reg16) v, options(nostack));
            }
            (4, 4) => {
                let v = core::mem::transmute_copy::<T, u32>(&value);
                asm!("st.shared.u32 [{}], {};", in(reg64) at, in(reg32) v, options(nostack));
            }
            (8, 8) => {
                let v = core::mem::transmute_copy::<T, u64>(&value);
                asm!("st.shared.u64 [{}], {};", in(reg64) at, in(reg64) v, options(nostack));
            }
            (16, 16) => {
                let [a, b, c, d] = core::mem::transmute_copy::<T, [u32; 4]>(&value);
                asm!("st.shared.v4.u32 [{}], {{{}, {}, {}, {}}};", in(reg64) at,
                    in(reg32) a, in(reg32) b, in(reg32) c, in(reg32) d, options(nostack));
            }
            _ => {
                for (i, &byte) in bytemuck::bytes_of(&value).iter().enumerate() {
                    asm!("st.shared.u8 [{}], {};", in(reg64) at + i as u64,
                        in(reg16) u16::from(byte), options(nostack));
                }
            }
        }
    }
}

/// Loads memory that nothing writes during the launch.
///
/// # Safety
/// - `at` points to a `T` in host memory, aligned as `T`.
/// - Nothing writes there during the launch.
#[cfg(not(target_arch = "nvptx64"))]
#[inline(always)]
pub(crate) unsafe fn load_read_only<T: Pod>(at: *const T) -> T {
    // SAFETY: as the caller vouches.
    unsafe { *at }
}
