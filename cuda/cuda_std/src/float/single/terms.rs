//! The coefficients and limits of the functions in `float/common`.

/// sin x = x + x³·P(x²) for |x| ≤ π/4, from `minimax.py sin`.
pub(super) const SIN: [f32; 3] = [-0.166_666_54, 0.008_332_106, -0.000_195_078_57];

/// cos x = 1 + x²·P(x²) for |x| ≤ π/4, from `minimax.py cos`.
pub(super) const COS: [f32; 4] = [-0.5, 0.041_666_646, -0.001_388_729_8, 0.000_024_430_08];

/// tan x = x + x³·P(x²) for |x| ≤ π/4, from `minimax.py tan`.
pub(super) const TAN: [f32; 7] = [
    0.333_333_52,
    0.133_325_71,
    0.054_070_98,
    0.021_222_597,
    0.010_995_617,
    -0.000_118_916_294,
    0.004_481_674,
];

/// π as a sum of two f32.
pub(super) const PI: (f32, f32) = (core::f32::consts::PI, -8.742_278e-8);

/// π/2 as a sum of three f32.
pub(super) const FRAC_PI_2: [f32; 3] =
    [core::f32::consts::FRAC_PI_2, -4.371_139e-8, -1.715_124_5e-15];

/// π/2 minus the f32 nearest to it.
pub(super) const FRAC_PI_2_REST: f32 = -4.371_139e-8;

/// asin x = x + x³·P(x²) for |x| ≤ 1/2, from `minimax.py asin`.
pub(super) const ASIN: [f32; 5] =
    [0.166_667_52, 0.074_953_064, 0.045_469_876, 0.024_179_667, 0.042_169_33];

/// atan x = x + x³·P(x²) for |x| ≤ 1, from `minimax.py atan`.
pub(super) const ATAN: [f32; 8] = [
    -0.333_331_53,
    0.199_937_67,
    -0.142_109_87,
    0.106_656_53,
    -0.075_513_13,
    0.043_199_7,
    -0.016_359_622,
    0.002_918_425_2,
];

/// erf x = x + x·P(x²) for |x| ≤ 1, from `minimax.py erf`.
pub(super) const ERF: [f32; 7] = [
    0.128_379_17,
    -0.376_126_26,
    0.112_835_81,
    -0.026_853_545,
    0.005_187_731,
    -0.000_800_448_06,
    0.000_078_339_51,
];

/// log2(erfc x) = x·P(x) for 1 ≤ x ≤ 4, from `minimax.py erfc_tail`.
pub(super) const ERFC_TAIL: [f32; 9] = [
    -1.628_065_5,
    -0.917_522_85,
    -0.150_638_52,
    0.031_074_073,
    -0.002_891_061_8,
    -0.000_608_737_35,
    0.000_276_752_17,
    -0.000_043_572_843,
    0.000_002_684_957_5,
];

/// (1 + 2x)·e^(x²)·erfc(x) = 1.25 + P((x − 4)/(x + 4)) for 0 ≤ x ≤ 10.1, from
/// `minimax.py erfc_scaled`.
pub(super) const ERFC_SCALED: [f32; 12] = [
    -0.017_004_881,
    -0.139_621_12,
    0.015_379_626,
    0.068_097_636,
    -0.101_037_93,
    0.093_722_96,
    -0.066_352_66,
    0.037_217_475,
    -0.016_032_606,
    0.005_043_561,
    -0.001_129_893,
    -0.000_638_849_2,
];

/// sinh x = x + x³·P(x²) for |x| ≤ 1, from `minimax.py sinh`.
pub(super) const SINH: [f32; 3] = [0.166_667_16, 0.008_330_272_5, 0.000_203_730_64];

/// tanh x = x + x³·P(x²) for |x| ≤ 0.6, from `minimax.py tanh`.
pub(super) const TANH: [f32; 5] =
    [-0.333_333, 0.133_319_36, -0.053_784_706, 0.020_798_542, -0.005_897_806];

/// From 2³⁰ on, x + √(x² ± 1) is 2x within a rounding error.
pub(super) const HUGE: f32 = 1_073_741_824.0;

/// The number below which an angle is reduced in parts. Below it, the product of a part of π/2 and the
/// number of quarter turns is exact, up to an error of 2⁻⁵⁰ or less.
pub(super) const SMALL_ANGLE: f32 = 65_536.0;

/// The number from which on the arctangent rounds to π/2, if its reciprocal is not accurate.
pub(super) const ATAN_LIMIT: f32 = f32::INFINITY;

/// The scale of the numbers of an arctangent over 4.6·10¹⁸, and of all others: it makes a subnormal
/// number normal, and keeps its reciprocal normal.
pub(super) const ATAN2_SCALE: (f32, f32, f32) = (4.6e18, 2.168_404_3e-19, 1.844_674_4e19);

/// 2⁻¹²⁰ keeps the reciprocal of 0 finite, and changes no other number.
pub(super) const ATAN2_LEAST: f32 = 7.523_164e-37;

/// The numbers over and under which a hypotenuse is scaled, and the scale with its reciprocal. It
/// keeps the squares between 2⁻⁹⁸ and 2¹²⁴.
pub(super) const HYPOT_LARGE: (f32, f32, f32) = (4.6e18, 8.470_329_5e-22, 1.180_591_6e21);
pub(super) const HYPOT_SMALL: (f32, f32, f32) = (9.1e-13, 1.267_650_6e30, 7.888_609e-31);

/// The number from which on the error function rounds to 1, and its complement to 0.
pub(super) const ERF_LIMIT: f32 = 4.0;
pub(super) const ERFC_LIMIT: f32 = 10.1;

/// The number over which the square of an argument overflows.
pub(super) const SQUARE_LIMIT: f32 = f32::INFINITY;

/// The number of binary digits per step of a long division.
pub(super) const DIGITS: i32 = 20;
