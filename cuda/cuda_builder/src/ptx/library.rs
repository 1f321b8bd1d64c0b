//! Functions that the PTX declares but does not define.
//!
//! This module reports such functions itself, because `ptxas` may not be installed and does not
//! name the kernel, and the driver reports them only when the program runs.

/// Functions that the driver defines.
pub(super) const DRIVER: [&str; 4] = ["vprintf", "malloc", "free", "__assertfail"];

/// Returns advice for the error about the missing function `name`.
pub(super) fn remedy(name: &str) -> &'static str {
    match name {
        "memcmp" | "bcmp" => {
            "compare the bytes in a loop, or depend on `cuda_std`, which defines it"
        }
        _ if name.starts_with("__nv_") => {
            "libdevice is not linked: use the methods of `cuda_std::GpuFloat`"
        }
        _ if name.starts_with("cuda") => "the device runtime is not linked: launch from the host",
        _ => {
            "use the methods of `cuda_std::GpuFloat` for mathematical functions, define others in the \
             kernel crate or a dependency, or pass the name to `CudaBuilder::external_function` if \
             the program links PTX that defines it"
        }
    }
}
