//! Atomic read-modify-write on global memory, relaxed: they are not torn, and order nothing else.

/// A type with an atomic addition.
pub trait AtomicAdd: Copy {
    /// Adds `value` to `*at` and returns what was there before. Integers wrap.
    ///
    /// # Safety
    /// - `at` is aligned and valid for reads and writes.
    /// - All concurrent accesses to it are atomic.
    unsafe fn atomic_add(at: *mut Self, value: Self) -> Self;
}

/// A type with atomic minimum and maximum.
pub trait AtomicMinMax: Copy {
    /// Stores the smaller of `*at` and `value` and returns what was there before.
    ///
    /// # Safety
    /// As [`AtomicAdd::atomic_add`].
    unsafe fn atomic_min(at: *mut Self, value: Self) -> Self;

    /// Stores the larger of `*at` and `value` and returns what was there before.
    ///
    /// # Safety
    /// As [`AtomicAdd::atomic_add`].
    unsafe fn atomic_max(at: *mut Self, value: Self) -> Self;
}

/// On the GPU one `atom.global` instruction, on the CPU the atomic of the standard library.
macro_rules! operation {
    ($name:ident, $type:ty, $ptx:literal, $register:ident, $atomic:ident :: $method:ident) => {
        #[inline(always)]
        unsafe fn $name(at: *mut Self, value: Self) -> Self {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: as the caller vouches.
            unsafe {
                let old: $type;
                core::arch::asm!(concat!("atom.global.", $ptx, " {}, [{}], {};"),
                    out($register) old, in(reg64) at, in($register) value, options(nostack));
                old
            }
            #[cfg(not(target_arch = "nvptx64"))]
            // SAFETY: as the caller vouches.
            unsafe {
                use core::sync::atomic::{$atomic, Ordering::Relaxed};
                $atomic::from_ptr(at).$method(value, Relaxed)
            }
        }
    };
}

/// Integers.
macro_rules! integer {
    ($type:ty, $add:literal, $min:literal, $max:literal, $register:ident, $atomic:ident) => {
        impl AtomicAdd for $type {
            operation!(atomic_add, $type, $add, $register, $atomic::fetch_add);
        }

        impl AtomicMinMax for $type {
            operation!(atomic_min, $type, $min, $register, $atomic::fetch_min);
            operation!(atomic_max, $type, $max, $register, $atomic::fetch_max);
        }
    };
}

integer!(u32, "add.u32", "min.u32", "max.u32", reg32, AtomicU32);
integer!(i32, "add.s32", "min.s32", "max.s32", reg32, AtomicI32);
integer!(u64, "add.u64", "min.u64", "max.u64", reg64, AtomicU64);

impl AtomicAdd for f32 {
    /// The order of additions, and with it the rounding, differs from run to run.
    #[inline(always)]
    unsafe fn atomic_add(at: *mut Self, value: Self) -> Self {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: as the caller vouches.
        unsafe {
            let old: f32;
            core::arch::asm!("atom.global.add.f32 {}, [{}], {};",
                out(reg32) old, in(reg64) at, in(reg32) value, options(nostack));
            old
        }
        #[cfg(not(target_arch = "nvptx64"))]
        // SAFETY: as the caller vouches; an `f32` and a `u32` have the same layout.
        unsafe {
            use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
            let add = |bits| Some((f32::from_bits(bits) + value).to_bits());
            let old = AtomicU32::from_ptr(at.cast()).fetch_update(Relaxed, Relaxed, add);
            old.map_or_else(f32::from_bits, f32::from_bits)
        }
    }
}
