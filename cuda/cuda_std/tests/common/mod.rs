//! Launches test kernels on the CPU.

use cuda_std::cpu::{Checks, ConstantBank, Fault, Launch};
use cuda_std::launch::{Kernel, LaunchConfig, Place};
use cuda_std::{DeviceSlice, DeviceSliceMut};

/// Runs a kernel on the CPU with race checks. The caller must pass arguments that meet the kernel's
/// safety requirements.
pub(crate) fn run<K: Kernel>(config: LaunchConfig, kernel: K) -> Result<(), Fault> {
    run_with(Checks { shared: true, ..Checks::BUILD }, config, kernel)
}

/// Runs a kernel like [`run`], with other checks.
pub(crate) fn run_with<K: Kernel>(
    checks: Checks,
    config: LaunchConfig,
    kernel: K,
) -> Result<(), Fault> {
    config.check::<K>().expect("the launch shape fits the kernel");
    let constants = ConstantBank::default();
    let launch = Launch {
        kernel: K::ENTRY.name,
        grid: config.grid,
        block: config.block,
        dynamic_shared: config.dynamic_shared as usize,
        constants: &constants,
        checks,
    };
    // SAFETY: the arguments point to host memory that outlives the launch, and no kernel lends memory to
    // other OS threads.
    unsafe { K::ENTRY.simulate(&launch, kernel.params().pointers()) }
}

/// Returns an argument for a kernel that reads `values`.
pub(crate) fn slice<T>(values: &[T]) -> DeviceSlice<'_, T> {
    // SAFETY: the argument borrows `values`, so the elements stay valid as long as it exists.
    unsafe { DeviceSlice::from_raw_parts(Place::Cpu, values.as_ptr(), values.len()) }
}

/// Returns an argument for a kernel that writes `values`.
pub(crate) fn slice_mut<T>(values: &mut [T]) -> DeviceSliceMut<'_, T> {
    // SAFETY: the argument borrows `values`, so the elements stay valid as long as it exists.
    unsafe { DeviceSliceMut::from_raw_parts(Place::Cpu, values.as_mut_ptr(), values.len()) }
}
