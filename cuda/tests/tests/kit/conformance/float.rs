//! Compares the functions of `GpuFloat` and `GpuPower` with results in f64, and 16-bit arithmetic with results of the
//! crate `half`.

use conformance::float::{
    ArithmeticBf16, ArithmeticF16, Binary, FloatBinary, FloatUnary, Halves, Unary,
};
use conformance_devices::{all_give, on_each_device};
use cuda_std::HalfArithmetic;
use half::{bf16, f16};

use crate::conformance::{download, launch, line, noise, upload, zeros};

/// Returns special values, values near rounding boundaries, and random values, all with both signs.
fn arguments() -> Vec<f32> {
    let mut values = vec![
        0.0,
        f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::MIN_POSITIVE,
        f32::MAX,
        f32::EPSILON,
        0.49999997,
        8_388_607.5,
        16_777_216.0,
        3e9,
        254.499_98,
        254.500_02,
        255.499_98,
    ];
    values.extend((0..=520).map(|halves| halves as f32 * 0.5));
    values.extend(noise(3000).iter().map(|n| f32::from_bits(n >> 2 | 0x2000_0000)));
    values.extend(noise(1000).iter().map(|&n| n as f32 / u32::MAX as f32 * 2.0));
    let negative: Vec<f32> = values.iter().map(|x| -x).collect();
    values.extend(negative);
    values
}

/// Returns the difference between `found` and `exact` in units in the last place (ULP) of the f32 nearest to `exact`.
/// Returns 0 if `found` and `exact` are both NaN, or if `found` equals this f32.
fn ulps(found: f32, exact: f64) -> f64 {
    let nearest = exact as f32;
    if found == nearest || found.is_nan() && exact.is_nan() {
        return 0.0;
    }
    if !found.is_finite() || !nearest.is_finite() {
        return f64::INFINITY;
    }
    let unit = f64::from(f32::from_bits(nearest.abs().to_bits().max(0x0080_0000) + 1))
        - f64::from(f32::from_bits(nearest.abs().to_bits().max(0x0080_0000)));
    (f64::from(found) - exact).abs() / unit
}

/// Rounds to the nearest integer, ties to even. Does not use the function of the standard library, so that the test is
/// independent of it.
fn round(x: f64) -> f64 {
    let below = x.floor();
    let is_odd = (below / 2.0).floor() * 2.0 != below;
    match x - below {
        d if d > 0.5 || d == 0.5 && is_odd => below + 1.0,
        d if d.is_nan() => x,
        _ => below,
    }
}

fn level(x: f64) -> u32 {
    if x.is_nan() { 0 } else { round(x.clamp(0.0, 255.0)) as u32 }
}

/// The error bound of the instructions `lg2.approx` and `ex2.approx` according to the PTX ISA. The bound is a relative
/// error, except for the logarithm of numbers in [0.5, 2]: there, it is an absolute error.
const FAST: f64 = 1.0 / (1 << 22) as f64;

/// Returns whether `found` is 0 because the hardware replaces subnormal results by 0.
fn is_flushed(found: f32, exact: f64) -> bool {
    found == 0.0 && exact.abs() < f64::from(f32::MIN_POSITIVE)
}

#[test]
fn functions_of_one_argument() {
    let x = arguments();
    let results = on_each_device(|stream| {
        let input = upload(stream, &x);
        let mut out = zeros(stream, input.len());
        let kernel = FloatUnary { x: input.view(), out: out.view_mut() };
        launch(stream, line(input.len().div_ceil(128), 128), &kernel);
        (stream.device().to_string(), download(stream, &out))
    });
    for (device, found) in results {
        let (mut worst_log, mut worst_exp) = (0.0_f64, 0.0_f64);
        for (&x, found) in x.iter().zip(&found) {
            let Unary { sqrt, floor, round_ties_even, fast_log2, fast_exp2, to_u8, .. } = *found;
            let exact = f64::from(x);
            let context = || format!("of {x:?} on {device}: {found:?}");
            assert_eq!(ulps(sqrt, f64::from(exact.sqrt() as f32)), 0.0, "sqrt {}", context());
            assert_eq!(ulps(floor, exact.floor()), 0.0, "floor {}", context());
            assert_eq!(ulps(round_ties_even, round(exact)), 0.0, "round {}", context());
            assert_eq!(to_u8, level(exact), "to_u8 {}", context());
            let saturated = if x.is_nan() { 0.0 } else { exact.clamp(0.0, 1.0) };
            assert_eq!(f64::from(found.saturate), saturated, "saturate {}", context());
            let narrow = |bits: u16, x: f32| if x.is_nan() { 0x7fff } else { bits };
            let pair = [x, -x];
            let bf16 = pair.map(|x| narrow(bf16::from_f32(x).to_bits(), x));
            let f16 = pair.map(|x| narrow(f16::from_f32(x).to_bits(), x));
            assert_eq!((found.bf16, found.f16), (bf16, f16), "narrow_pair {}", context());
            if !x.is_nan() {
                let wide = [
                    half::bf16::from_bits(bf16[0]).to_f32(),
                    half::f16::from_bits(f16[0]).to_f32(),
                ];
                assert_eq!(found.widened, wide, "widen {}", context());
            }

            let log = exact.log2();
            // For arguments from 0.5 to 2, the PTX ISA bounds the absolute error of the logarithm, otherwise the
            // relative error.
            let log_unit = if (0.5..=2.0).contains(&x) { 1.0 } else { log.abs() };
            let error = relative(fast_log2, log, log_unit);
            assert!(error <= FAST, "log2 {error:e} {}", context());
            worst_log = worst_log.max(error);
            let exp = exact.exp2();
            if !is_flushed(fast_exp2, exp) {
                let error = relative(fast_exp2, exp, exp);
                assert!(error <= FAST, "exp2 {error:e} {}", context());
                worst_exp = worst_exp.max(error);
            }
        }
        eprintln!("{device}: fast_log2 within {worst_log:.2e}, fast_exp2 within {worst_exp:.2e}");
    }
}

/// Returns the difference between `found` and `exact` divided by `unit`. Returns 0 if `found` and `exact` are both NaN,
/// or if `found` is the f32 nearest to `exact`, which includes infinities.
fn relative(found: f32, exact: f64, unit: f64) -> f64 {
    if ulps(found, exact) == 0.0 { 0.0 } else { (f64::from(found) - exact).abs() / unit }
}

#[test]
fn functions_of_two_arguments() {
    let exponents = [
        0.0,
        0.1,
        0.25,
        0.45,
        0.8,
        1.0,
        1.2,
        2.2,
        3.7,
        4.0,
        -1.3,
        -0.25,
        40.0,
        -40.0,
        1e10,
        -1e10,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
    ];
    let mut bases =
        vec![0.0, 0.3, 1.0, 1.5, 8.0, f32::INFINITY, f32::NAN, f32::MAX, f32::MIN_POSITIVE];
    bases.extend((1..=255).map(|level| level as f32 / 255.0));
    bases.extend(noise(300).iter().map(|n| (n >> 8) as f32 / 1e5 + 1e-3));
    let pairs: Vec<(f32, f32)> = bases.iter().flat_map(|&x| exponents.map(|y| (x, y))).collect();
    let (x, y): (Vec<f32>, Vec<f32>) = pairs.into_iter().unzip();
    let results = on_each_device(|stream| {
        let (xs, ys) = (upload(stream, &x), upload(stream, &y));
        let mut out = zeros(stream, xs.len());
        let kernel = FloatBinary { x: xs.view(), y: ys.view(), z: ys.view(), out: out.view_mut() };
        launch(stream, line(xs.len().div_ceil(128), 128), &kernel);
        (stream.device().to_string(), download(stream, &out))
    });
    for (device, found) in results {
        let (mut worst, mut worst_fast) = (0.0_f64, 0.0_f64);
        for ((&x, &y), found) in x.iter().zip(&y).zip(&found) {
            let Binary { powf, fast_powf, .. } = *found;
            let exact = f64::from(x).powf(f64::from(y));
            for powf in powf {
                let error = ulps(powf, exact);
                worst = worst.max(error);
                assert!(error <= 2.0, "{x}^{y} on {device}: {powf} is {error} ULP from {exact}");
            }
            let is_promised = (0.0..=1.0).contains(&x) && (0.25..=4.0).contains(&y);
            if is_promised && exact > 1.0 / 255.0 {
                let error = (f64::from(fast_powf) / exact - 1.0).abs();
                worst_fast = worst_fast.max(error);
                assert!(
                    error <= 1e-5,
                    "fast {x}^{y} on {device}: {fast_powf}, {error} from {exact}"
                );
            }
        }
        eprintln!("{device}: powf within {worst:.2} ULP, fast_powf within {worst_fast:.2e}");
    }
}

/// Checks that `mul_add` does not round the product before the addition. The product of two 13-bit factors has up to 26
/// bits, more than the 24 bits of an f32. The addend cancels the upper bits, so the result is the part of the product
/// that rounding would lose.
#[test]
fn mul_add_rounds_once() {
    let n = noise(3000);
    let factor = |n: u32| 1.0 + (n % 4096) as f32 / 4096.0;
    let x: Vec<f32> = n.iter().map(|&n| factor(n)).collect();
    let y: Vec<f32> = n.iter().map(|&n| factor(n >> 12)).collect();
    // The addend is the negative rounded product. The expected result is the rounding error of the product, which an
    // f32 represents exactly.
    let z: Vec<f32> = x.iter().zip(&y).map(|(x, y)| -(x * y)).collect();
    let expected: Vec<f32> = x
        .iter()
        .zip(&y)
        .zip(&z)
        .map(|((&x, &y), &z)| (f64::from(x) * f64::from(y) + f64::from(z)) as f32)
        .collect();
    assert!(expected.iter().filter(|&&e| e != 0.0).count() > 1000);
    on_each_device(|stream| {
        let (x, y, z) = (upload(stream, &x), upload(stream, &y), upload(stream, &z));
        let mut out = zeros(stream, 3000);
        let kernel = FloatBinary { x: x.view(), y: y.view(), z: z.view(), out: out.view_mut() };
        launch(stream, line(30, 100), &kernel);
        let found: Vec<f32> = download(stream, &out).iter().map(|b| b.mul_add).collect();
        assert_eq!(found, expected, "on {}", stream.device());
    });
}

/// Defines a test of the arithmetic of a 16-bit type. The expected sums and products are computed in f32 and then
/// rounded to 16 bits. This double rounding gives the same result as a single rounding, because an f32 is precise
/// enough. `mul_add` is not tested here: the unit tests of `HalfArithmetic` compare it with integer arithmetic.
macro_rules! half_arithmetic {
    ($test:ident, $kernel:ident, $half:ident) => {
        #[test]
        fn $test() {
            let numbers: Vec<[u16; 3]> = noise(6000)
                .windows(2)
                .map(|n| [n[0] as u16, (n[0] >> 16) as u16, n[1] as u16])
                .filter(|bits| bits.iter().all(|&bits| $half::from_bits(bits).is_finite()))
                .collect();
            let bits = |x: $half| if x.is_nan() { 0x7fff } else { x.to_bits() };
            let expected: Vec<Halves> = numbers
                .iter()
                .map(|number| {
                    let [a, b, c] = number.map($half::from_bits);
                    // The product of two bf16 may be so small that an f32 cannot represent it, not even as a subnormal.
                    let wide = |x: f64| bits($half::from_f32(x as f32));
                    let four = |a: $half, c: $half| {
                        let (x, y) = (a.to_f64(), b.to_f64());
                        let product = bits(HalfArithmetic::mul(a, b));
                        if (x * y).abs() >= f64::from(f32::MIN_POSITIVE) {
                            assert_eq!(product, wide(x * y), "{a} * {b}");
                        }
                        [wide(x + y), wide(x - y), product, bits(a.mul_add(b, c))]
                    };
                    let (one, negative) = (four(a, c), four(-a, -c));
                    let mut pair = [[0; 2]; 4];
                    for (pair, (one, negative)) in
                        pair.iter_mut().zip(one.into_iter().zip(negative))
                    {
                        *pair = [one, negative];
                    }
                    Halves { one, pair }
                })
                .collect();
            assert!(expected.len() > 4000);
            all_give(&expected, |stream| {
                let input = upload(stream, &numbers);
                let mut out = zeros(stream, input.len());
                let kernel = $kernel { input: input.view(), out: out.view_mut() };
                launch(stream, line(input.len().div_ceil(128), 128), &kernel);
                download(stream, &out)
            });
        }
    };
}

half_arithmetic!(arithmetic_of_f16, ArithmeticF16, f16);
half_arithmetic!(arithmetic_of_bf16, ArithmeticBf16, bf16);
