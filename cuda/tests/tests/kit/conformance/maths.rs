//! Compares each function of `GpuFloat` and `FloatExt` in kernels with a result in f64 on the host.

use conformance::maths::{FLOAT, MathsF32, MathsF64, SPECIAL, SpecialF32, SpecialF64};
use conformance_devices::on_each_device;
use cuda_std::FloatExt;

use crate::conformance::{download, launch, line, noise, upload, zeros};

/// Returns pairs of arguments: special values, small numbers, and numbers over many orders of magnitude.
fn pairs() -> Vec<(f64, f64)> {
    const SPECIAL: [f64; 11] =
        [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -2.5, 3.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    let noise = noise(3000);
    let mut pairs: Vec<(f64, f64)> =
        SPECIAL.iter().flat_map(|&x| SPECIAL.iter().map(move |&y| (x, y))).collect();
    pairs.extend(noise.windows(2).map(|n| {
        let [x, y] = [n[0], n[1]].map(|n| f64::from(n as i32) / f64::from(i32::MIN));
        match n[0] % 3 {
            0 => (x, 2.0 * y),
            1 => (10.0 * x, 10.0 * y),
            _ => (x * 10.0_f64.powf(20.0 * y), 3.0 * x),
        }
    }));
    // Round all numbers to values that an f32 represents exactly.
    pairs.iter().map(|&(x, y)| (f64::from(x as f32), f64::from(y as f32))).collect()
}

/// Computes the function `name`, one of `conformance::maths::FLOAT`, with the host's standard library.
fn float(name: &str, x: f64, y: f64) -> f64 {
    match name.trim_start_matches("x.") {
        "floor()" => x.floor(),
        "ceil()" => x.ceil(),
        "round()" => x.round(),
        "round_ties_even()" => x.round_ties_even(),
        "trunc()" => x.trunc(),
        "fract()" => x.fract(),
        "abs()" => x.abs(),
        "signum()" => x.signum(),
        "copysign(y)" => x.copysign(y),
        "mul_add(y, x)" => x.mul_add(y, x),
        "div_euclid(y)" => x.div_euclid(y),
        "rem_euclid(y)" => x.rem_euclid(y),
        "powi(7)" => x.powi(7),
        "powi(-3)" => x.powi(-3),
        "powf(y)" => x.powf(y),
        "sqrt()" => x.sqrt(),
        "exp()" => x.exp(),
        "exp2()" => x.exp2(),
        "ln()" => x.ln(),
        "log(y)" => x.log(y),
        "log2()" => x.log2(),
        "log10()" => x.log10(),
        "cbrt()" => x.cbrt(),
        "hypot(y)" => x.hypot(y),
        "sin()" | "sin_cos().0" => x.sin(),
        "cos()" | "sin_cos().1" => x.cos(),
        "tan()" => x.tan(),
        "asin()" => x.asin(),
        "acos()" => x.acos(),
        "atan()" => x.atan(),
        "atan2(y)" => x.atan2(y),
        "exp_m1()" => x.exp_m1(),
        "ln_1p()" => x.ln_1p(),
        "sinh()" => x.sinh(),
        "cosh()" => x.cosh(),
        "tanh()" => x.tanh(),
        "asinh()" => x.asinh(),
        "acosh()" => x.acosh(),
        // The standard library's function is imprecise near −1.
        "atanh()" => x.abs().atanh().copysign(x),
        _ => panic!("no oracle for {name}"),
    }
}

/// Computes the function `name`, one of `conformance::maths::SPECIAL`, in f64. Uses the function's definition if the
/// definition is simple, and `FloatExt` on the host otherwise.
fn special(name: &str, x: f64, y: f64) -> f64 {
    let whole_turns = |x: f64| x - 2.0 * (0.5 * x).round();
    match name.trim_start_matches("FloatExt::") {
        "cospi(x)" => (std::f64::consts::PI * whole_turns(x)).cos(),
        "sinpi(x)" | "sincospi(x).0" => (std::f64::consts::PI * whole_turns(x)).sin(),
        "sincospi(y).1" => (std::f64::consts::PI * whole_turns(y)).cos(),
        "frexp(x).0" if x == 0.0 || !x.is_finite() => x,
        "frexp(x).0" => x / 2.0_f64.powi(x.abs().log2().floor() as i32 + 1),
        "frexp(x).1 as _" if x == 0.0 || !x.is_finite() => 0.0,
        "frexp(x).1 as _" => x.abs().log2().floor() + 1.0,
        "unbiased_exp(x) as _" if x.is_infinite() => f64::from(i32::MAX),
        "unbiased_exp(x) as _" if x == 0.0 || x.is_nan() => f64::from(i32::MIN),
        "unbiased_exp(x) as _" => x.abs().log2().floor(),
        "ldexp(x, 5)" => x * 32.0,
        "scale_by_n(x, -5)" => x / 32.0,
        "log1p(x)" => x.ln_1p(),
        "rcbrt(x)" => 1.0 / x.cbrt(),
        "saturate(x)" if x.is_nan() => 0.0,
        "saturate(x)" => x.clamp(0.0, 1.0),
        // For the following functions, use `FloatExt` on the host. The unit tests of `cuda_std` compare it with tables.
        "error_function(x)" => x.error_function(),
        "complementary_error_function(x)" => x.complementary_error_function(),
        "inv_complementary_error_function(x)" => x.inv_complementary_error_function(),
        "scaled_complementary_error_function(x)" => x.scaled_complementary_error_function(),
        "norm_cdf(x)" => x.norm_cdf(),
        "inv_norm_cdf(x)" => x.inv_norm_cdf(),
        "log_gamma(x)" => x.log_gamma(),
        "gamma(x)" => FloatExt::gamma(x),
        "j0(x)" => x.j0(),
        "j1(x)" => x.j1(),
        "jn(x, 3)" => x.jn(3),
        "y0(x)" => x.y0(),
        "y1(x)" => x.y1(),
        "yn(x, 3)" => x.yn(3),
        _ => panic!("no oracle for {name}"),
    }
}

/// Returns the allowed absolute error of a result whose exact value is `exact`. For most functions, it is a number of
/// ULPs of `exact`. For functions that lose precision near their zeros, it is a number of ULPs of 1. A Euclidean
/// quotient may be off by 1, because the quotient is rounded before it is truncated.
fn allowed(name: &str, exact: f64, ulp: f64, device: &str) -> f64 {
    let cancels = ["j0", "j1", "jn", "y0", "y1", "yn", "log_gamma", "sinpi", "cospi", "sincospi"];
    let cancels = cancels.iter().any(|f| name.starts_with(&format!("FloatExt::{f}(")));
    let ulps = match name {
        // On the CPU, kernels call the standard library's function, which is imprecise near −1.
        "x.atanh()" if device == "CPU" => 65_536.0,
        // The standard library's inverse hyperbolic functions, which give the expected results, are imprecise.
        "x.powi(7)" | "x.asinh()" | "x.acosh()" | "x.atanh()" => 16.0,
        "FloatExt::error_function(x)"
        | "FloatExt::complementary_error_function(x)"
        | "FloatExt::rcbrt(x)"
        | "FloatExt::log1p(x)" => 3.0,
        _ if name.starts_with("FloatExt::") => 16.0,
        // An error of 2 ULP, and up to 1 ULP of the expected result.
        _ => 3.0,
    };
    let relative = ulps * ulp * exact.abs();
    match name {
        "x.div_euclid(y)" => relative.max(1.0),
        _ if cancels => relative.max(ulps * ulp),
        _ => relative,
    }
}

/// Checks one result. `ulp` is the relative distance between two neighbouring numbers of the type, and `least` is the
/// absolute distance between two neighbouring subnormals.
fn check(name: &str, at: (f64, f64), found: f64, exact: f64, [ulp, least]: [f64; 2], device: &str) {
    // `powi(-3)` may compute 1 / x³. If x³ overflows, the result is 0 instead of a subnormal.
    let is_lost = name == "x.powi(-3)" && found == 0.0 && exact.abs() <= least / ulp;
    let is_right = found == exact
        || is_lost
        || found.is_nan() && exact.is_nan()
        || (found - exact).abs() <= allowed(name, exact, ulp, device) + 16.0 * least;
    assert!(is_right, "{name} of {at:?} on {device}: {found:e} instead of {exact:e}");
}

/// Defines a test that runs a kernel once per function on every device, and checks the results.
macro_rules! compare {
    ($test:ident, $kernel:ident, $float:ident, $names:ident, $oracle:ident) => {
        #[test]
        fn $test() {
            let pairs = pairs();
            let x: Vec<$float> = pairs.iter().map(|&(x, _)| x as $float).collect();
            let y: Vec<$float> = pairs.iter().map(|&(_, y)| y as $float).collect();
            let results = on_each_device(|stream| {
                let (x, y) = (upload(stream, &x), upload(stream, &y));
                let mut out = zeros(stream, x.len());
                let config = line(x.len().div_ceil(128), 128);
                let results: Vec<Vec<$float>> = (0..$names.len() as u32)
                    .map(|function| {
                        let (x, y) = (x.view(), y.view());
                        let kernel = $kernel { x, y, out: out.view_mut(), function };
                        launch(stream, config, &kernel);
                        download(stream, &out)
                    })
                    .collect();
                (stream.device().to_string(), results)
            });
            for (device, results) in results {
                for (name, found) in $names.iter().zip(results) {
                    for (&(x, y), found) in pairs.iter().zip(found) {
                        let exact = $oracle(name, x, y);
                        // If the exact result is outside the range of the type, the expected result is infinite.
                        let exact = match exact as $float {
                            infinite if infinite.is_infinite() => infinite.into(),
                            _ => exact,
                        };
                        let ulp = f64::from($float::EPSILON);
                        let units = [ulp, ulp * f64::from($float::MIN_POSITIVE)];
                        check(name, (x, y), found.into(), exact, units, &device);
                    }
                }
            }
        }
    };
}

compare!(functions_of_an_f32, MathsF32, f32, FLOAT, float);
compare!(functions_of_an_f64, MathsF64, f64, FLOAT, float);
compare!(special_functions_of_an_f32, SpecialF32, f32, SPECIAL, special);
compare!(special_functions_of_an_f64, SpecialF64, f64, SPECIAL, special);
