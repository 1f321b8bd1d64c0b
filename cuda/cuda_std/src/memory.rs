//! Loads and stores with an explicit memory space and width.
//!
//! The width of an access is the type's alignment, up to 16 bytes. An element of this size takes
//! one access, and a larger element takes several. On the CPU, all accesses are ordinary Rust
//! accesses.

#[cfg(target_arch = "nvptx64")]
use {bytemuck::Pod, core::arch::asm};

#[cfg(not(target_arch = "nvptx64"))]
pub(crate) use cuda_cpu::{AccessKind as Access, Index};

/// A stand-in for `cuda_cpu::AccessKind` on the GPU, where accesses are not checked.
#[cfg(target_arch = "nvptx64")]
#[derive(Clone, Copy)]
pub(crate) enum Access {
    Load,
    Store,
    Atomic,
}

/// A stand-in for `cuda_cpu::Index` on the GPU, where accesses are not checked.
#[cfg(target_arch = "nvptx64")]
#[expect(dead_code, reason = "only the CPU reports")]
pub(crate) enum Index {
    Linear(u64),
    Pixel(u32, u32),
}

/// On the CPU, ends the launch with an out-of-bounds fault unless `inside` is true. `range` returns
/// index and extent. Does nothing on the GPU.
#[inline(always)]
#[track_caller]
pub(crate) fn check(
    inside: bool,
    access: Access,
    what: &'static str,
    range: impl FnOnce() -> [Index; 2],
) {
    #[cfg(not(target_arch = "nvptx64"))]
    if !inside {
        let [index, extent] = range();
        let place = core::panic::Location::caller();
        cuda_cpu::fail(cuda_cpu::FaultKind::OutOfBounds { access, place, what, index, extent });
    }
    #[cfg(target_arch = "nvptx64")]
    let _ = (inside, access, what, range);
}

/// On the CPU, ends the launch with an out-of-bounds fault unless `index` is less than `len`.
#[inline(always)]
#[track_caller]
pub(crate) fn check_index(index: u32, len: u32, access: Access, what: &'static str) {
    check(index < len, access, what, || [Index::Linear(index.into()), Index::Linear(len.into())]);
}

/// Reads memory that kernels can write.
///
/// # Safety
/// `at` must be valid for reads, and no other thread may write there without a barrier in between.
#[inline(always)]
#[track_caller]
pub(crate) unsafe fn read<T: Copy>(at: *const T) -> T {
    note(at, Access::Load);
    // SAFETY: the caller upholds this function's safety contract.
    unsafe { *at }
}

/// Writes memory.
///
/// # Safety
/// `at` must be valid for writes, and no other thread may access it without a barrier in between.
#[inline(always)]
#[track_caller]
pub(crate) unsafe fn write<T: Copy>(at: *mut T, value: T) {
    note(at, Access::Store);
    // SAFETY: the caller upholds this function's safety contract.
    unsafe { *at = value }
}

/// On the CPU, ends the launch with a misalignment fault unless `at` is aligned for `T`. Does
/// nothing on the GPU.
#[inline(always)]
#[track_caller]
pub(crate) fn check_aligned<T>(at: *const T, access: Access) {
    #[cfg(not(target_arch = "nvptx64"))]
    check_aligned_to(at.addr(), align_of::<T>(), access);
    #[cfg(target_arch = "nvptx64")]
    let _ = (at, access);
}

/// Ends the launch with a misalignment fault unless `address` is a multiple of `align`.
#[cfg(not(target_arch = "nvptx64"))]
#[inline(always)]
#[track_caller]
pub(crate) fn check_aligned_to(address: usize, align: usize, access: Access) {
    if !address.is_multiple_of(align) {
        let place = core::panic::Location::caller();
        cuda_cpu::fail(cuda_cpu::FaultKind::Misaligned { access, address, align, place });
    }
}

/// On the CPU, reports an access to the `T` at `at` in global memory to the race detector. Does
/// nothing on the GPU.
#[inline(always)]
#[track_caller]
pub(crate) fn note<T>(at: *const T, access: Access) {
    #[cfg(not(target_arch = "nvptx64"))]
    cuda_cpu::global_access(at.addr(), [size_of::<T>(), align_of::<T>()], access);
    #[cfg(target_arch = "nvptx64")]
    let _ = (at, access);
}

/// Defines a load function. The macro arguments are docs, name, instruction prefix, address type
/// and `asm!` options.
#[cfg(target_arch = "nvptx64")]
macro_rules! load {
    ($(#[$doc:meta])* $name:ident, $space:literal, $address:ty, $bound:ident, [$($option:ident),*]) => {
        $(#[$doc])*
        #[inline(always)]
        pub(crate) unsafe fn $name<T: $bound>(at: $address) -> T {
            // SAFETY: the loop writes all bytes, and `T` is plain data.
            let mut value = unsafe { core::mem::zeroed::<T>() };
            let mut done = 0;
            while done < size_of::<T>() {
                let from = at as u64 + done as u64;
                // SAFETY: the caller guarantees `size_of::<T>()` readable bytes at `at`, aligned
                // for `T`. Each iteration reads `access_bytes` bytes and writes them to `value`.
                // This number is the alignment or 16, so it divides the size. `T: Pod` accepts any
                // bytes.
                unsafe {
                    let to = (&raw mut value).cast::<u8>().add(done);
                    match align_of::<T>() {
                        1 => {
                            let v: u16;
                            asm!(concat!($space, ".u8 {}, [{}];"), out(reg16) v, in(reg64) from,
                                options($($option),*));
                            // With this bound, the compiler omits the mask `& 0xff`.
                            core::hint::assert_unchecked(v <= 0xff);
                            to.write(v as u8);
                        }
                        2 => {
                            let v: u16;
                            asm!(concat!($space, ".u16 {}, [{}];"), out(reg16) v, in(reg64) from,
                                options($($option),*));
                            to.cast::<u16>().write(v);
                        }
                        4 => {
                            let v: u32;
                            asm!(concat!($space, ".u32 {}, [{}];"), out(reg32) v, in(reg64) from,
                                options($($option),*));
                            to.cast::<u32>().write(v);
                        }
                        8 => {
                            let v: u64;
                            asm!(concat!($space, ".u64 {}, [{}];"), out(reg64) v, in(reg64) from,
                                options($($option),*));
                            to.cast::<u64>().write(v);
                        }
                        _ => {
                            let (a, b, c, d): (u32, u32, u32, u32);
                            asm!(concat!($space, ".v4.u32 {{{}, {}, {}, {}}}, [{}];"),
                                out(reg32) a, out(reg32) b, out(reg32) c, out(reg32) d,
                                in(reg64) from, options($($option),*));
                            to.cast::<[u32; 4]>().write([a, b, c, d]);
                        }
                    }
                }
                done += access_bytes::<T>();
            }
            value
        }
    };
}

/// Returns the number of bytes of one access to a `T`.
#[cfg(target_arch = "nvptx64")]
const fn access_bytes<T>() -> usize {
    if align_of::<T>() < 16 { align_of::<T>() } else { 16 }
}

#[cfg(target_arch = "nvptx64")]
load! {
    /// Loads through the read-only cache (`ld.global.nc`).
    ///
    /// # Safety
    /// - `at` must point to a `T` in global memory, aligned for `T`.
    /// - Nothing may write there during the launch.
    load_read_only, "ld.global.nc", *const T, Pod, [pure, readonly, nostack, preserves_flags]
}

#[cfg(target_arch = "nvptx64")]
load! {
    /// Loads from shared memory. `at` is an address in the shared space, not a generic pointer.
    ///
    /// # Safety
    /// `at` must be the address of a `T` in the block's shared memory, aligned for `T`.
    load_shared, "ld.shared", u64, Pod, [readonly, nostack, preserves_flags]
}

#[cfg(target_arch = "nvptx64")]
load! {
    /// Loads from constant memory. `at` is an address in the constant space, not a generic pointer.
    ///
    /// # Safety
    /// `at` must be the address of a `T` in constant memory, aligned for `T`.
    load_constant, "ld.const", u64, Pod, [pure, readonly, nostack, preserves_flags]
}

#[cfg(target_arch = "nvptx64")]
load! {
    /// Loads from a parameter of the kernel, which is constant during a launch.
    ///
    /// # Safety
    /// `at` must be the aligned address of a `T` in a parameter, and `T` must accept any bytes that the host passes.
    load_param, "ld.param", u64, Copy, [pure, nomem, nostack, preserves_flags]
}

/// Stores to shared memory. `at` is an address in the shared space, not a generic pointer.
///
/// # Safety
/// `at` must be the address of a `T` in the block's shared memory, aligned for `T`.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
pub(crate) unsafe fn store_shared<T: Pod>(at: u64, value: T) {
    let mut done = 0;
    while done < size_of::<T>() {
        let to = at + done as u64;
        // SAFETY: the caller guarantees that `at` is the aligned address of a `T` in shared memory.
        // Each iteration stores `access_bytes` bytes of `value`. This number is the alignment or
        // 16, so it divides the size.
        unsafe {
            let from = (&raw const value).cast::<u8>().add(done);
            match align_of::<T>() {
                1 => asm!("st.shared.u8 [{}], {};", in(reg64) to,
                    in(reg16) u16::from(from.read()), options(nostack)),
                2 => asm!("st.shared.u16 [{}], {};", in(reg64) to,
                    in(reg16) from.cast::<u16>().read(), options(nostack)),
                4 => asm!("st.shared.u32 [{}], {};", in(reg64) to,
                    in(reg32) from.cast::<u32>().read(), options(nostack)),
                8 => asm!("st.shared.u64 [{}], {};", in(reg64) to,
                    in(reg64) from.cast::<u64>().read(), options(nostack)),
                _ => {
                    let [a, b, c, d] = from.cast::<[u32; 4]>().read();
                    asm!("st.shared.v4.u32 [{}], {{{}, {}, {}, {}}};", in(reg64) to,
                        in(reg32) a, in(reg32) b, in(reg32) c, in(reg32) d, options(nostack));
                }
            }
        }
        done += access_bytes::<T>();
    }
}

#[cfg(not(target_arch = "nvptx64"))]
pub(crate) use read as load_read_only;

/// The size of an L2 cache line in bytes. A prefetch loads the line in which its element begins.
pub const LINE_BYTES: usize = 128;

/// Prefetches the cache line that contains `at` into the L2 cache. Does nothing on the CPU.
///
/// # Safety
/// `at` must point to global memory.
#[inline(always)]
pub(crate) unsafe fn prefetch<T>(at: *const T) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller upholds this function's safety contract.
    unsafe {
        asm!("prefetch.global.L2 [{}];", in(reg64) at, options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    let _ = at;
}
