//! The instructions of warpgroups.
//!
//! LLVM has no intrinsic for `wgmma.mma_async`, so a product is an `asm!`, which LLVM may copy into
//! branches like any other instruction. A copy in a divergent branch would be undefined behaviour.
//! [`multiply`] therefore begins with `wgmma.fence`, which is an intrinsic with the attribute
//! `convergent`. LLVM does not copy a block of code that contains such a call, and the `asm!`
//! follows it in the same block.

unsafe extern "unadjusted" {
    #[link_name = "llvm.nvvm.wgmma.fence.sync.aligned"]
    fn fence();
    #[link_name = "llvm.nvvm.wgmma.commit_group.sync.aligned"]
    fn commit();
    #[link_name = "llvm.nvvm.wgmma.wait_group.sync.aligned"]
    fn wait(kept: u64);
}

/// Waits until at most `N` of the latest products are in flight.
///
/// # Safety
/// All threads of the warpgroup must make the same call.
#[inline(always)]
pub(super) unsafe fn wait_prior<const N: u64>() {
    // SAFETY: the caller upholds this function's safety contract.
    unsafe { wait(const { N }) };
}

/// Returns the descriptor of a matrix at an address in the shared space, whose rows of 128 bytes
/// are swizzled. `panel` is the distance of the parts of 64 columns in bytes, if rows are along the
/// inner dimension.
#[inline(always)]
fn descriptor(address: u64, panel: u64) -> u64 {
    /// The distance of groups of eight rows in bytes.
    const GROUP: u64 = 1024;
    const SWIZZLE_128: u64 = 1 << 62;
    (address & 0x3_ffff) >> 4 | (panel >> 4) << 16 | (GROUP >> 4) << 32 | SWIZZLE_128
}

/// Defines the product for 16-bit floats of one type. The macro arguments are the function, the
/// PTX name of the type, and the indices of all registers of a thread.
macro_rules! multiply {
    ($(($name:ident, $type:literal))+, $first:literal $list:tt) => {
        $(multiply!(@one $name, $type, $first $list);)+
    };
    (@one $name:ident, $type:literal, $first:literal ($($i:literal)+)) => {
        /// Starts to add the product of a 64×64 matrix at `a` and a 64×256 matrix at `b` to `sums`.
        ///
        /// # Safety
        /// - All threads of the warpgroup must make the same call.
        /// - The matrices must be in shared memory, and remain there until the product has been
        ///   waited for.
        /// - Nothing may access `sums` until then, except further products.
        #[inline(always)]
        pub(in crate::tensor) unsafe fn $name(sums: &mut [f32; 128], a: u64, b: u64) {
            // SAFETY: the caller upholds this function's safety contract.
            unsafe {
                fence();
                core::arch::asm!(
                    "{{",
                    ".reg .b64 a, b;",
                    multiply!(@product $type, "{a}", "{b}", $first $($i)+),
                    "add.s64 a, {a}, 2;", "add.s64 b, {b}, 128;",
                    multiply!(@product $type, "a", "b", $first $($i)+),
                    "add.s64 a, {a}, 4;", "add.s64 b, {b}, 256;",
                    multiply!(@product $type, "a", "b", $first $($i)+),
                    "add.s64 a, {a}, 6;", "add.s64 b, {b}, 384;",
                    multiply!(@product $type, "a", "b", $first $($i)+),
                    "}}",
                    inout(reg32) sums[$first],
                    $(inout(reg32) sums[$i],)+
                    a = in(reg64) descriptor(a, 16),
                    b = in(reg64) descriptor(b, 8192),
                    options(nostack),
                );
                commit();
            }
        }
    };
    (@product $type:literal, $a:literal, $b:literal, $first:literal $($i:literal)+) => {
        concat!(
            "wgmma.mma_async.sync.aligned.m64n256k16.f32.", $type, ".", $type,
            " {{{", $first, "}", $(", {", $i, "}",)+ "}}, ", $a, ", ", $b, ", 1, 1, 1, 0, 1;"
        )
    };
}

/// Calls a macro with the indices of the registers.
macro_rules! with_registers {
    ($call:ident! $arguments:tt) => {
        with_registers!(@call $call $arguments 0 (
         1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32
        33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61
        62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90
        91 92 93 94 95 96 97 98 99 100 101 102 103 104 105 106 107 108 109 110 111 112 113 114
        115 116 117 118 119 120 121 122 123 124 125 126 127
        ));
    };
    (@call $call:ident ($($arguments:tt)*) $first:literal $list:tt) => {
        $call!($($arguments)*, $first $list);
    };
}

with_registers!(multiply!((multiply_bf16, "bf16")));

/// Defines [`settle`].
macro_rules! settle {
    (settle, $first:literal ($($i:literal)+)) => {
        /// Makes the compiler believe that this call writes `sums`, so that it reads them only
        /// afterwards.
        #[inline(always)]
        pub(super) fn settle(sums: &mut [f32; 128]) {
            // SAFETY: there is no instruction.
            unsafe {
                core::arch::asm!(
                    concat!("// {", $first, "}", $(" {", $i, "}",)+),
                    inout(reg32) sums[$first],
                    $(inout(reg32) sums[$i],)+
                    options(nostack, preserves_flags),
                );
            }
        }
    };
}
with_registers!(settle!(settle));
