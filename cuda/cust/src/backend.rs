//! The choice between the GPU and the CPU for launches by name.

use std::env;
use std::sync::OnceLock;

use crate::typed::gpu::Gpu;

/// The environment variable that selects where kernels run: `gpu` or `cpu`.
///
/// ```
/// // SAFETY: no other thread accesses the environment yet.
/// unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// assert_eq!(cust::backend(), cust::Backend::Cpu);
/// ```
pub const BACKEND_VARIABLE: &str = "CUST_DEVICE";

/// The backend that runs the kernels that this process launches by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Backend {
    /// A GPU.
    Gpu,
    /// The CPU: the kernels are functions linked into this program.
    Cpu,
}

/// Returns the backend that runs the kernels of this process: a GPU if there is one, otherwise the
/// CPU if the program links a kernel (`use my_kernels as _;`). If neither exists, returns
/// [`Backend::Gpu`], whose calls then fail. [`BACKEND_VARIABLE`] overrides the choice. The first
/// call fixes the choice for the whole process.
pub fn backend() -> Backend {
    static BACKEND: OnceLock<Backend> = OnceLock::new();
    *BACKEND.get_or_init(|| {
        let named = env::var(BACKEND_VARIABLE).unwrap_or_default();
        let has_gpu = || Gpu::count().is_ok_and(|count| count > 0);
        match &*named {
            "cpu" => Backend::Cpu,
            "gpu" => Backend::Gpu,
            _ if has_gpu() || cuda_std::launch::KERNELS.is_empty() => Backend::Gpu,
            _ => Backend::Cpu,
        }
    })
}
