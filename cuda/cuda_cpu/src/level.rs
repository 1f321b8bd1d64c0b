//! The level of the CPU, by which a kernel selects the copy of its code.

use std::sync::LazyLock;

/// Returns whether the CPU has the instructions of x86-64-v3, such as AVX2 and fused multiply-adds.
///
/// ```
/// if cuda_cpu::is_x86_64_v3() {
///     assert!(is_x86_feature_detected!("fma"));
/// }
/// ```
#[must_use]
#[inline]
pub fn is_x86_64_v3() -> bool {
    use std::arch::is_x86_feature_detected as has;
    // Every thread of a launch asks, so ask the system for all features only once.
    static IS_V3: LazyLock<bool> = LazyLock::new(|| {
        has!("avx2")
            && has!("bmi1")
            && has!("bmi2")
            && has!("f16c")
            && has!("fma")
            && has!("lzcnt")
            && has!("popcnt")
    });
    *IS_V3
}
