//! Compares each function with the standard library's or libm's, which are within 1 ULP. The
//! difference may therefore be 1 ULP more than the error. `cuda/doc/maths.md` has errors against
//! 113-bit results.

use super::*;

type Unary = fn(f64) -> f64;

/// Each function of one argument and a reference.
const FUNCTIONS: &[(&str, Unary, Unary)] = &[
    ("sin", sin, f64::sin),
    ("cos", cos, f64::cos),
    ("tan", tan, f64::tan),
    ("asin", asin, f64::asin),
    ("acos", acos, f64::acos),
    ("atan", atan, f64::atan),
    ("exp", exp, f64::exp),
    ("exp2", exp2, f64::exp2),
    ("exp_m1", exp_m1, f64::exp_m1),
    ("ln", ln, f64::ln),
    ("log2", log2, f64::log2),
    ("log10", log10, f64::log10),
    ("ln_1p", ln_1p, f64::ln_1p),
    ("sinh", sinh, f64::sinh),
    ("cosh", cosh, f64::cosh),
    ("tanh", tanh, f64::tanh),
    ("asinh", asinh, libm::asinh),
    ("acosh", acosh, |x| if x < 1.0 { f64::NAN } else { libm::acosh(x) }),
    ("atanh", atanh, libm::atanh),
    ("cbrt", cbrt, f64::cbrt),
    ("rcbrt", rcbrt, |x| 1.0 / x.cbrt()),
    ("erf", erf, libm::erf),
    ("erfc", erfc, libm::erfc),
];

/// The largest permitted difference in ULP.
const LIMIT: u64 = 3;

/// Returns the difference in ULP, and that of the signs of 0 as infinite.
fn ulps(a: f64, b: f64) -> u64 {
    let ordered = |x: f64| {
        let bits = x.to_bits() as i64;
        if bits < 0 { i64::MIN - bits } else { bits }
    };
    match (a, b) {
        _ if a.is_nan() && b.is_nan() => 0,
        _ if a.is_nan() || b.is_nan() => u64::MAX,
        _ if a == 0.0 && b == 0.0 && a.is_sign_negative() != b.is_sign_negative() => u64::MAX,
        _ => ordered(a).abs_diff(ordered(b)),
    }
}

/// Special values, and numbers at which a function changes its method.
const SPECIAL: [f64; 24] = [
    0.0,
    5e-324,
    1e-310,
    f64::MIN_POSITIVE,
    1e-40,
    1e-18,
    0.3,
    0.48,
    0.5,
    0.6,
    1.0,
    1.5,
    2.0,
    3.0,
    6.0,
    20.0,
    27.2,
    709.5,
    710.3,
    1e8,
    1.1e9,
    1e17,
    f64::MAX,
    f64::INFINITY,
];

/// Returns pseudorandom numbers.
fn random() -> impl FnMut() -> u64 {
    let mut state = 1_u64;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        state ^ state >> 29
    }
}

/// Special values, and pseudorandom numbers: with any bits, between 2⁻⁸ and 2⁸, and near 1.
fn arguments() -> Vec<f64> {
    let mut random = random();
    let special = SPECIAL.into_iter().flat_map(|x| [x, -x]).chain([f64::NAN]);
    let random = (0..40_000).map(|i| {
        let bits = random();
        match i % 3 {
            0 => f64::from_bits(bits),
            1 => f64::from_bits(bits >> 8 | 0x3f70_0000_0000_0000 | bits << 63),
            _ => f64::from_bits(bits >> 11 | 0x3fe0_0000_0000_0000),
        }
    });
    special.chain(random).collect()
}

#[test]
fn functions_agree_with_the_references() {
    for &(name, ours, exact) in FUNCTIONS {
        let mut worst = (0, 0.0);
        for x in arguments() {
            let (found, exact) = (ours(x), exact(x));
            let error = ulps(found, exact);
            assert!(error <= LIMIT, "{name}({x:e}): {found:e} instead of {exact:e}, {error} ULP");
            if error > worst.0 {
                worst = (error, x);
            }
        }
        println!("{name}: {} ULP at {:e}", worst.0, worst.1);
    }
}

#[test]
fn functions_of_two_arguments_agree_with_the_references() {
    type Binary = (&'static str, fn(f64, f64) -> f64, fn(f64, f64) -> f64);
    let functions: [Binary; 4] = [
        ("powf", powf, f64::powf),
        ("atan2", atan2, f64::atan2),
        ("hypot", hypot, f64::hypot),
        ("remainder", remainder, |x, y| x % y),
    ];
    let arguments = arguments();
    let special = &arguments[..2 * SPECIAL.len() + 1];
    for (name, ours, exact) in functions {
        let mut worst = (0, 0.0, 0.0);
        let pairs = special.iter().flat_map(|&x| special.iter().map(move |&y| (x, y)));
        let random = arguments.windows(2).map(|w| (w[0], w[1]));
        let far = arguments.iter().zip(arguments.iter().skip(3)).map(|(&x, &y)| (x, y));
        // Powers over the whole range of results, of a number between 1/2 and 2.
        let powers = arguments.iter().filter(|x| (0.5..=2.0).contains(*x)).enumerate();
        let powers = powers.map(|(i, &x)| (x, ((i % 2100) as f64 - 1075.0) / x.log2()));
        for (x, y) in pairs.chain(random).chain(far).chain(powers) {
            let (found, exact) = (ours(x, y), exact(x, y));
            let error = ulps(found, exact);
            assert!(error <= LIMIT, "{name}({x:e}, {y:e}): {found:e} instead of {exact:e}");
            if error > worst.0 {
                worst = (error, x, y);
            }
        }
        println!("{name}: {} ULP at ({:e}, {:e})", worst.0, worst.1, worst.2);
    }
}

#[test]
fn pairs_and_half_turns_are_consistent() {
    for x in arguments() {
        let whole = x - 2.0 * (0.5 * x).round_ties_even();
        let (sin, cos) = (std::f64::consts::PI * whole).sin_cos();
        let pair = sincospi(x);
        if x.is_finite() {
            assert_eq!(sin_cos(x), (super::sin(x), super::cos(x)), "{x:e}");
            assert_eq!(
                (pair.0.to_bits(), pair.1.to_bits()),
                (sinpi(x).to_bits(), cospi(x).to_bits())
            );
            assert!((pair.0 - sin).abs() < 5e-16 && (pair.1 - cos).abs() < 5e-16, "{x:e}");
        } else {
            assert!(pair.0.is_nan() && pair.1.is_nan() && sinpi(x).is_nan() && cospi(x).is_nan());
        }
    }
    assert_eq!(sinpi(-3.0).to_bits(), (-0.0_f64).to_bits());
    assert_eq!(cospi(2.5).to_bits(), 0.0_f64.to_bits());
}
