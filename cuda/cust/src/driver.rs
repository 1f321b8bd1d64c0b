//! The driver functions that the rust-cuda interface calls, on a GPU or on the CPU.
//!
//! Each function calls either NVIDIA's driver or the function of the same name in
//! [`cpu`](crate::cpu), which does the same work with host memory. [`backend`] makes this choice
//! once per process.

use std::env;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

use cust_raw::driver_sys::*;
use cust_raw::error::DriverResult;

use crate::cpu;
use crate::error::CudaResult;
use crate::gpu::Gpu;

/// The environment variable that selects where kernels run: `gpu` or `cpu`. If the variable is
/// unset, kernels run on the GPU if there is one, and otherwise on the CPU if the program links
/// kernels.
///
/// ```
/// // SAFETY: no other thread accesses the environment yet.
/// unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// assert_eq!(cust::backend(), cust::Backend::Cpu);
/// ```
pub const BACKEND_VARIABLE: &str = "CUST_DEVICE";

/// The backend that runs the kernels that this process launches by name.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::Backend;
///
/// let name = match cust::backend() {
///     Backend::Gpu => "GPU",
///     Backend::Cpu => "CPU",
/// };
/// assert_eq!(name, "CPU");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Backend {
    /// NVIDIA's driver runs the kernels on a GPU.
    Gpu,
    /// The CPU runs the kernels, which are functions linked into this program.
    Cpu,
}

/// Returns the backend that runs the kernels of this process: a GPU if there is one, otherwise the
/// CPU if the program links a kernel (`use my_kernels as _;`). If neither exists, returns
/// [`Backend::Gpu`], whose calls then fail. [`BACKEND_VARIABLE`] overrides the choice. The first
/// call fixes the choice for the whole process.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// // The choice is the same for the whole process.
/// assert_eq!(cust::backend(), cust::backend());
/// ```
pub fn backend() -> Backend {
    static BACKEND: OnceLock<Backend> = OnceLock::new();
    *BACKEND.get_or_init(|| {
        let named = env::var(BACKEND_VARIABLE).unwrap_or_default();
        match &*named {
            "cpu" => Backend::Cpu,
            "gpu" => Backend::Gpu,
            _ if has_gpu() || cuda_std::launch::KERNELS.is_empty() => Backend::Gpu,
            _ => Backend::Cpu,
        }
    })
}

fn has_gpu() -> bool {
    cust_raw::init().is_ok() && Gpu::count(Backend::Gpu).is_ok_and(|count| count > 0)
}

/// Checks that a launch with `count` arguments passes as many arguments as the kernel has
/// parameters. The check exists only on the CPU. On a GPU, the function always returns `Ok`.
///
/// # Safety
/// The function must belong to a loaded module.
pub(crate) unsafe fn check_arguments(function: CUfunction, count: usize) -> CudaResult<()> {
    match backend() {
        Backend::Gpu => Ok(()),
        // SAFETY: the caller upholds this function's safety contract.
        Backend::Cpu => Ok(unsafe { cpu::check_arguments(function, count) }?),
    }
}

/// Defines a method of [`Backend`] for each driver function in a list, and a function that calls it
/// for the process's backend. On a GPU, they call NVIDIA's driver, and on the CPU the function of the
/// same name in the module `cpu`.
macro_rules! calls {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?);)*) => {
        #[allow(non_snake_case, clippy::too_many_arguments, reason = "the driver's signatures")]
        impl Backend {$(
            /// Calls the driver's function of this name.
            ///
            /// # Safety
            /// The arguments must meet the requirements in NVIDIA's manual.
            pub(crate) unsafe fn $name(self, $($argument: $type),*) -> DriverResult {
                // SAFETY: the caller upholds this function's safety contract.
                let result = unsafe {
                    match self {
                        Self::Gpu => cust_raw::driver_sys::$name($($argument),*),
                        Self::Cpu => cpu::$name($($argument),*),
                    }
                };
                result.to_result()
            }
        )*}

        $(
            /// Calls the driver's function of this name, on a GPU or on the CPU.
            ///
            /// # Safety
            /// The arguments must meet the requirements in NVIDIA's manual.
            #[allow(non_snake_case, clippy::too_many_arguments, reason = "the driver's signature")]
            #[allow(dead_code, reason = "some functions are called for a chosen backend only")]
            pub(crate) unsafe fn $name($($argument: $type),*) -> CudaResult<()> {
                // SAFETY: the caller upholds this function's safety contract.
                Ok(unsafe { backend().$name($($argument),*) }?)
            }
        )*
    };
}

cust_raw::emulated_functions! { calls: }
