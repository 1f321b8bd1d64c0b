//! Functions that the PTX declares but does not define.
//!
//! This module reports such functions itself, because `ptxas` may not be installed and does not
//! name the kernel, and the driver reports them only when the program runs.

/// Functions that the driver defines.
pub(super) const DRIVER: [&str; 4] = ["vprintf", "malloc", "free", "__assertfail"];

/// Returns advice for the error about the missing function `name`.
pub(super) fn remedy(name: &str) -> &'static str {
    const MATHS: [&str; 30] = [
        "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "erf",
        "exp", "exp10", "exp2", "expm1", "fma", "fmod", "hypot", "ldexp", "lgamma", "log", "log10",
        "log1p", "log2", "pow", "sin", "sincos", "sinh", "tan", "tanh",
    ];
    let is_maths = [Some(name), name.strip_suffix('f')].iter().flatten().any(|n| MATHS.contains(n));
    match name {
        "memcmp" | "bcmp" => {
            "compare the bytes in a loop, or depend on `cuda_std`, which defines it"
        }
        _ if is_maths => "use the methods of `cuda_std::GpuFloat`",
        _ if name.starts_with("__nv_") => {
            "libdevice is not linked: use the methods of `cuda_std::GpuFloat`"
        }
        _ if name.starts_with("cuda") => "the device runtime is not linked: launch from the host",
        _ => {
            "define it in the kernel crate or a dependency, or pass its name to \
             `CudaBuilder::external_function` if the program links PTX that defines it"
        }
    }
}
