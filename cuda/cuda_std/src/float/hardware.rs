//! Instructions of the GPU that round in their own way, and the same functions on the CPU.
//!
//! The special function unit computes approximations: the PTX ISA bounds the error of each. On the
//! CPU the functions return the nearest number, so code that tolerates the unit's errors also works
//! there. [`product`] and [`product_f64`] round like all multiplications, but the compiler never
//! merges them with an addition.
#![cfg_attr(
    not(any(target_arch = "nvptx64", test)),
    allow(dead_code, reason = "on the CPU, `GpuFloat` calls the standard library")
)]

/// Defines a function of one float: an instruction on the GPU, and an expression on the CPU.
macro_rules! instruction {
    (
        $(#[$doc:meta])+
        $name:ident, $instruction:literal, $register:ident $float:ident, |$x:ident| $cpu:expr
    ) => {
        $(#[$doc])+
        #[inline(always)]
        pub(crate) fn $name($x: $float) -> $float {
            #[cfg(not(target_arch = "nvptx64"))]
            return $cpu;
            #[cfg(target_arch = "nvptx64")]
            ptx!(concat!($instruction, " {}, {};") => $register $float, $register $x)
        }
    };
}

instruction! {
    /// Returns 1/`x` within 1 ULP. Subnormal numbers count as 0.
    reciprocal, "rcp.approx.ftz.f32", reg32 f32, |x| 1.0 / x
}
instruction! {
    /// Returns 1/√`x` within 2 ULP. Subnormal numbers count as 0.
    reciprocal_sqrt, "rsqrt.approx.ftz.f32", reg32 f32, |x| (1.0 / f64::from(x).sqrt()) as f32
}
instruction! {
    /// Returns log2 of `x` with an error of 2⁻²²: absolute for `x` in [0.5, 2], relative elsewhere.
    log2, "lg2.approx.f32", reg32 f32, |x| f64::from(x).log2() as f32
}
instruction! {
    /// Like [`log2`], and subnormal numbers count as 0.
    log2_ftz, "lg2.approx.ftz.f32", reg32 f32, |x| f64::from(x).log2() as f32
}
instruction! {
    /// Returns 2 to the power `x` within 2 ULP. Subnormal numbers count as 0.
    exp2_ftz, "ex2.approx.ftz.f32", reg32 f32, |x| f64::from(x).exp2() as f32
}
instruction! {
    /// Clamps to [0, 1]; NaN becomes 0. The PTX assembler merges the instruction into the one that
    /// computes `x`.
    saturate, "cvt.sat.f32.f32", reg32 f32, |x| if x > 0.0 { x.min(1.0) } else { 0.0 }
}

instruction! {
    /// Returns 1/`x` with a relative error of 2⁻²⁰ or less, for a normal result.
    reciprocal_f64, "rcp.approx.ftz.f64", reg64 f64, |x| coarse(1.0 / x)
}
instruction! {
    /// Returns 1/√`x` with a relative error of 2⁻²⁰ or less.
    reciprocal_sqrt_f64, "rsqrt.approx.ftz.f64", reg64 f64, |x| coarse(1.0 / x.sqrt())
}

/// Returns `a * b + c`, rounded down.
#[inline(always)]
pub(crate) fn fma_down(a: f32, b: f32, c: f32) -> f32 {
    #[cfg(not(target_arch = "nvptx64"))]
    {
        // All callers pass a `c` whose sum with a number is an integer.
        ((f64::from(a) * f64::from(b)).floor() + f64::from(c)) as f32
    }
    #[cfg(target_arch = "nvptx64")]
    ptx!("fma.rm.f32 {}, {}, {}, {};" => reg32 f32, reg32 a, reg32 b, reg32 c)
}

/// Clears the lower half of the bits, which the special function unit does not compute either.
#[cfg(not(target_arch = "nvptx64"))]
fn coarse(x: f64) -> f64 {
    f64::from_bits(x.to_bits() & 0xffff_ffff_0000_0000)
}

/// Defines a multiplication that the compiler does not merge with an addition. The merged
/// instruction would leave the rounding error of the product out, which some algorithms compute.
macro_rules! product {
    ($name:ident, $float:ident, $instruction:literal, $register:ident) => {
        /// Returns `x * y`, rounded.
        #[inline(always)]
        pub(crate) fn $name(x: $float, y: $float) -> $float {
            #[cfg(not(target_arch = "nvptx64"))]
            return x * y;
            #[cfg(target_arch = "nvptx64")]
            ptx!(concat!($instruction, " {}, {}, {};") => $register $float, $register x, $register y)
        }
    };
}
product!(product, f32, "mul.rn.f32", reg32);
product!(product_f64, f64, "mul.rn.f64", reg64);
