//! Compares the mathematical functions of the warp kernels with the standard library.

use kernels_gpu::warp::lens::angle;
use kernels_gpu::warp::sin_cos;

#[test]
fn sine_and_cosine_equal_the_standard_library() {
    for i in -40_000..40_000 {
        let x = f64::from(i) * 1.234e-3;
        let (sin, cos) = sin_cos(x);
        assert!((sin - x.sin()).abs() <= 4e-16, "sin {x}: {sin} instead of {}", x.sin());
        assert!((cos - x.cos()).abs() <= 4e-16, "cos {x}: {cos} instead of {}", x.cos());
    }
}

#[test]
fn angles_equal_the_standard_library() {
    for i in 0..20_000 {
        let turn = f64::from(i - 10_000) * std::f64::consts::PI / 10_000.0;
        for length in [1e-6, 0.3, 1.0, 4e4] {
            let (x, y) = ((length * turn.cos()) as f32, (length * turn.sin()) as f32);
            let exact = f64::from(y).atan2(f64::from(x));
            assert!((f64::from(angle(x, y)) - exact).abs() < 3e-7, "({x}, {y})");
        }
    }
    assert_eq!(angle(0.0, 0.0), 0.0);
}
