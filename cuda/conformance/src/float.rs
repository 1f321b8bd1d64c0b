//! The functions of `GpuFloat`, `GpuPower`, `GpuHalf` and `HalfArithmetic`.

use bytemuck::{Pod, Zeroable};
use cuda_std::prelude::*;
use cuda_std::{GpuHalf, HalfArithmetic};
use half::{bf16, f16};

use crate::global_rank;

/// The results of every function of one argument, for one value.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Unary {
    /// `sqrt`.
    pub sqrt: f32,
    /// `floor`.
    pub floor: f32,
    /// `round_ties_even`.
    pub round_ties_even: f32,
    /// `fast_log2`.
    pub fast_log2: f32,
    /// `fast_exp2`.
    pub fast_exp2: f32,
    /// `to_u8_saturating`.
    pub to_u8: u32,
    /// `saturate`.
    pub saturate: f32,
    /// `bf16::narrow_pair` of the argument and its negative, as bits.
    pub bf16: [u16; 2],
    /// `f16::narrow_pair` of the argument and its negative, as bits.
    pub f16: [u16; 2],
    /// `widen` of the first number of `bf16` and of `f16`.
    pub widened: [f32; 2],
}

/// Applies every function of one argument.
#[kernel]
pub fn float_unary(x: Slice<f32>, out: SliceMut<Unary>) {
    let at = global_rank();
    if at < x.len() && at < out.len() {
        // SAFETY: the accesses are in bounds, and each thread writes its own element.
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

/// The results of every function of two arguments, and of `mul_add`, which takes three.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Binary {
    /// `x.powf(y)`, and `x.positive_powf(y)`.
    pub powf: [f32; 2],
    /// `x.fast_powf(y)`.
    pub fast_powf: f32,
    /// `x.mul_add(y, z)`.
    pub mul_add: f32,
}

/// Applies every function of two and three arguments.
#[kernel]
pub fn float_binary(x: Slice<f32>, y: Slice<f32>, z: Slice<f32>, out: SliceMut<Binary>) {
    let at = global_rank();
    if at < x.len().min(y.len()).min(z.len()).min(out.len()) {
        // SAFETY: the accesses are in bounds, and each thread writes its own element.
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

/// The results of `add`, `sub`, `mul` and `mul_add` for 16-bit numbers `a`, `b` and `c`, as bits,
/// and for the pairs `[a, -a]`, `[b, b]` and `[c, -c]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Halves {
    /// `add`, `sub`, `mul`, `mul_add`.
    pub one: [u16; 4],
    /// The same for pairs.
    pub pair: [[u16; 2]; 4],
}

/// Defines a kernel that tests the arithmetic of one type.
macro_rules! half_arithmetic {
    ($name:ident, $half:ident) => {
        #[doc = concat!("Tests arithmetic on `", stringify!($half), "`.")]
        #[kernel]
        pub fn $name(input: Slice<[u16; 3]>, out: SliceMut<Halves>) {
            let at = global_rank();
            if at < input.len() && at < out.len() {
                // SAFETY: the accesses are in bounds.
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
                // SAFETY: the accesses are in bounds, and each thread writes its own element.
                unsafe { out.store(at, halves) };
            }
        }
    };
}

half_arithmetic!(arithmetic_f16, f16);
half_arithmetic!(arithmetic_bf16, bf16);
