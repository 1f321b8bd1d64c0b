//! Compares each function with a function in f64.

use super::*;

type Unary = fn(f32) -> f32;
type Reference = fn(f64) -> f64;

/// Each function of one argument and a reference in f64.
const FUNCTIONS: &[(&str, Unary, Reference)] = &[
    ("sin", sin, f64::sin),
    ("cos", cos, f64::cos),
    ("tan", tan, f64::tan),
    ("asin", asin, f64::asin),
    ("acos", acos, f64::acos),
    ("atan", atan, f64::atan),
    ("sinpi", sinpi, |x| half_turns(x).0),
    ("cospi", cospi, |x| half_turns(x).1),
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

/// Returns the sine and the cosine of `x` half turns.
fn half_turns(x: f64) -> (f64, f64) {
    let rest = x - 2.0 * (0.5 * x).round_ties_even();
    let n = (2.0 * rest).round_ties_even();
    let (sin, cos) = (std::f64::consts::PI * (rest - 0.5 * n)).sin_cos();
    let (sin, cos) = match n as i32 & 3 {
        0 => (sin, cos),
        1 => (cos, -sin),
        2 => (-sin, -cos),
        _ => (-cos, sin),
    };
    // A sine of 0 has the sign of `x`.
    (if sin == 0.0 { sin.copysign(x) } else { sin }, cos + 0.0)
}

/// Returns the error of `found` in units in the last place of `exact`.
fn ulps(found: f32, exact: f64) -> f64 {
    let nearest = exact as f32;
    let same = found == nearest && (found != 0.0 || exact != 0.0);
    if same || found.is_nan() && nearest.is_nan() {
        return if found.is_finite() { (f64::from(found) - exact).abs() / ulp(exact) } else { 0.0 };
    }
    if exact == 0.0 && found == 0.0 {
        return if found.is_sign_negative() == exact.is_sign_negative() {
            0.0
        } else {
            f64::INFINITY
        };
    }
    // An infinity counts as the number after the largest one.
    let finite = |x: f64| x.clamp(-2.0_f64.powi(128), 2.0_f64.powi(128));
    let error = (finite(found.into()) - finite(exact)).abs() / ulp(exact);
    if error.is_nan() { f64::INFINITY } else { error }
}

/// Returns the distance of the numbers around `x` in an f32.
fn ulp(x: f64) -> f64 {
    let exponent = (x.abs().to_bits() >> 52) as i32 - 1023;
    2.0_f64.powi(exponent.clamp(-126, 127) - 23)
}

/// Returns the largest error of each function over every `step`th f32.
fn worst(step: usize) -> Vec<(&'static str, f64, f32)> {
    let worst_of = |(name, ours, exact): (&'static str, Unary, Reference)| {
        let mut worst = (name, 0.0, 0.0);
        for bits in (0..=u32::MAX).step_by(step) {
            let x = f32::from_bits(bits);
            let error = ulps(ours(x), exact(x.into()));
            if error > worst.1 {
                worst = (name, error, x);
            }
        }
        worst
    };
    let threads = FUNCTIONS.iter().map(|&f| move || worst_of(f));
    std::thread::scope(|scope| {
        let running: Vec<_> = threads.map(|f| scope.spawn(f)).collect();
        running.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// On the CPU, the emulated special function unit rounds correctly, so the errors are smaller than
/// those that `cuda/doc/maths.md` lists for a GPU.
fn check(step: usize) {
    let worst = worst(step);
    for (name, error, x) in &worst {
        println!("{name}: {error:.3} ULP at {x:e}");
    }
    for (name, error, x) in worst {
        assert!(error <= 2.0, "{name}({x:e}): {error} ULP");
    }
}

#[test]
fn errors_are_within_two_ulp() {
    // A prime number, so that the last bits of the arguments vary.
    check(4_001);
}

#[test]
#[ignore = "covers 2³² arguments of each function, which takes long"]
fn errors_are_within_two_ulp_for_every_number() {
    check(1);
}

/// Special values, and numbers at which a function changes its method.
const SPECIAL: [f32; 24] = [
    0.0,
    1e-45,
    1e-40,
    f32::MIN_POSITIVE,
    1e-20,
    1e-10,
    0.3,
    0.48,
    0.5,
    0.6,
    1.0,
    1.5,
    2.0,
    3.0,
    4.0,
    8.0,
    10.1,
    88.5,
    89.0,
    4096.0,
    65_536.0,
    16_777_216.0,
    f32::MAX,
    f32::INFINITY,
];

#[test]
fn special_values_have_the_results_of_the_references() {
    for &(name, ours, exact) in FUNCTIONS {
        for x in SPECIAL.into_iter().flat_map(|x| [x, -x]).chain([f32::NAN]) {
            let (found, exact) = (ours(x), exact(x.into()));
            assert!(ulps(found, exact) <= 2.0, "{name}({x:e}): {found:e} instead of {exact:e}");
        }
    }
}

/// Pairs of special values and of pseudorandom numbers.
fn pairs() -> impl Iterator<Item = (f32, f32)> {
    let signed: Vec<f32> = SPECIAL.into_iter().flat_map(|x| [x, -x]).chain([f32::NAN]).collect();
    let special: Vec<_> =
        signed.iter().flat_map(|&x| signed.iter().map(move |&y| (x, y))).collect();
    let mut state = 1_u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 32) as u32
    };
    let random = (0..300_000).map(move |i| {
        let (a, b) = (random(), random());
        let near = |bits: u32| f32::from_bits(bits >> 5 | 0x3c00_0000 | bits << 31);
        match i % 4 {
            0 => (f32::from_bits(a), f32::from_bits(b)),
            1 => (near(a), near(b)),
            2 => (f32::from_bits(a), f32::from_bits(a ^ b >> 8)),
            // Powers over the whole range of results, of a number between 1/2 and 2.
            _ => {
                let x = f32::from_bits(a >> 8 | 0x3f00_0000);
                (x, (b as f32 / u32::MAX as f32 * 280.0 - 150.0) / x.log2())
            }
        }
    });
    special.into_iter().chain(random)
}

#[test]
fn functions_of_two_arguments_are_within_two_ulp() {
    type Binary = (&'static str, fn(f32, f32) -> f32, fn(f64, f64) -> f64);
    let functions: [Binary; 4] = [
        ("powf", powf, f64::powf),
        ("atan2", atan2, f64::atan2),
        ("hypot", hypot, f64::hypot),
        ("remainder", remainder, |x, y| x % y),
    ];
    for (name, ours, exact) in functions {
        let mut worst = (0.0, 0.0, 0.0);
        for (x, y) in pairs() {
            let (found, exact) = (ours(x, y), exact(x.into(), y.into()));
            let error = ulps(found, exact);
            assert!(error <= 2.0, "{name}({x:e}, {y:e}): {found:e} instead of {exact:e}");
            if error > worst.0 {
                worst = (error, x, y);
            }
        }
        println!("{name}: {:.3} ULP at ({:e}, {:e})", worst.0, worst.1, worst.2);
    }
}

#[test]
fn results_in_pairs_are_those_of_the_single_functions() {
    for x in SPECIAL.into_iter().flat_map(|x| [x, -x]) {
        let bits = |(a, b): (f32, f32)| (a.to_bits(), b.to_bits());
        if x.is_finite() {
            assert_eq!(bits(sin_cos(x)), bits((sin(x), cos(x))), "{x}");
            assert_eq!(bits(sincospi(x)), bits((sinpi(x), cospi(x))), "{x}");
        }
    }
}

#[test]
fn positive_powers_of_negative_numbers_are_nan() {
    assert!(positive_powf(-1.0, 0.5).is_nan());
    assert_eq!(positive_powf(-1.0, 0.0), 1.0);
    assert_eq!(positive_powf(0.25, 0.5), 0.5);
}
