//! Functions of `GpuFloat`, `GpuPower`, `FloatExt`, `GpuHalf` and `HalfArithmetic`. The module
//! `maths` has all functions of `GpuFloat` and `FloatExt`.

use bytemuck::{Pod, Zeroable};
use cuda_std::prelude::*;
use cuda_std::{GpuHalf, HalfArithmetic};
use half::{bf16, f16};

use crate::global_rank;

/// The results of the tested functions of one argument, for one value `x`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Unary {
    /// The result of `x.sqrt()`.
    pub sqrt: f32,
    /// The result of `x.floor()`.
    pub floor: f32,
    /// The result of `x.round_ties_even()`.
    pub round_ties_even: f32,
    /// The result of `x.fast_log2()`.
    pub fast_log2: f32,
    /// The result of `x.fast_exp2()`.
    pub fast_exp2: f32,
    /// The result of `x.to_u8_saturating()`.
    pub to_u8: u32,
    /// The result of `x.saturate()`.
    pub saturate: f32,
    /// The result of `bf16::narrow_pair(x, -x)`, as bits.
    pub bf16: [u16; 2],
    /// The result of `f16::narrow_pair(x, -x)`, as bits.
    pub f16: [u16; 2],
    /// The results of `widen` for the first number of `bf16` and for the first number of `f16`.
    pub widened: [f32; 2],
}

/// Writes a [`Unary`] for each value of `x`.
#[kernel]
pub fn float_unary(x: Slice<f32>, out: SliceMut<Unary>) {
    let at = global_rank();
    if at < x.len() && at < out.len() {
        // SAFETY: `at` is in bounds (checked above). Each thread writes its own element.
        unsafe {
            let x = x.load(at);
            let (b, f) = (bf16::narrow_pair(x, -x), f16::narrow_pair(x, -x));
            let unary = Unary {
                sqrt: x.sqrt(),
                floor: x.floor(),
                round_ties_even: x.round_ties_even(),
                fast_log2: x.fast_log2(),
                fast_exp2: x.fast_exp2(),
                to_u8: x.to_u8_saturating().into(),
                saturate: x.saturate(),
                bf16: [b[0].to_bits(), b[1].to_bits()],
                f16: [f[0].to_bits(), f[1].to_bits()],
                widened: [b[0].widen(), f[0].widen()],
            };
            out.store(at, unary);
        }
    }
}

/// The results of the tested functions of two and three arguments, for one triple `x`, `y`, `z`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Binary {
    /// The results of `x.powf(y)` and `x.positive_powf(y)`.
    pub powf: [f32; 2],
    /// The result of `x.fast_powf(y)`.
    pub fast_powf: f32,
    /// The result of `x.mul_add(y, z)`.
    pub mul_add: f32,
}

/// Writes a [`Binary`] for each triple of `x`, `y` and `z`.
#[kernel]
pub fn float_binary(x: Slice<f32>, y: Slice<f32>, z: Slice<f32>, out: SliceMut<Binary>) {
    let at = global_rank();
    if at < x.len().min(y.len()).min(z.len()).min(out.len()) {
        // SAFETY: `at` is in bounds (checked above). Each thread writes its own element.
        unsafe {
            let (x, y, z) = (x.load(at), y.load(at), z.load(at));
            let binary = Binary {
                powf: [x.powf(y), x.positive_powf(y)],
                fast_powf: x.fast_powf(y),
                mul_add: x.mul_add(y, z),
            };
            out.store(at, binary);
        }
    }
}

/// The bits of the results of `add`, `sub`, `mul` and `mul_add`: for the 16-bit numbers `a`, `b`
/// and `c`, and for the pairs `[a, -a]`, `[b, b]` and `[c, -c]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Halves {
    /// The results for `a`, `b` and `c`, in the order `add`, `sub`, `mul`, `mul_add`.
    pub one: [u16; 4],
    /// The results for the pairs, in the order `add`, `sub`, `mul`, `mul_add`.
    pub pair: [[u16; 2]; 4],
}

/// Defines a kernel that writes a [`Halves`] for each triple of numbers of one type.
macro_rules! half_arithmetic {
    ($name:ident, $half:ident) => {
        #[doc = concat!("Writes the results of the arithmetic on `", stringify!($half), "`.")]
        #[kernel]
        pub fn $name(input: Slice<[u16; 3]>, out: SliceMut<Halves>) {
            let at = global_rank();
            if at < input.len() && at < out.len() {
                // SAFETY: `at` is in bounds, as checked above.
                let [a, b, c] = unsafe { input.load(at) }.map($half::from_bits);
                let [pa, pb, pc] = [[a, -a], [b, b], [c, -c]];
                let one = [
                    HalfArithmetic::add(a, b),
                    HalfArithmetic::sub(a, b),
                    HalfArithmetic::mul(a, b),
                    a.mul_add(b, c),
                ];
                let pair = [
                    HalfArithmetic::add(pa, pb),
                    HalfArithmetic::sub(pa, pb),
                    HalfArithmetic::mul(pa, pb),
                    pa.mul_add(pb, pc),
                ];
                let halves = Halves {
                    one: one.map($half::to_bits),
                    pair: pair.map(|pair| pair.map($half::to_bits)),
                };
                // SAFETY: `at` is in bounds (checked above). Each thread writes its own element.
                unsafe { out.store(at, halves) };
            }
        }
    };
}

half_arithmetic!(arithmetic_f16, f16);
half_arithmetic!(arithmetic_bf16, bf16);
