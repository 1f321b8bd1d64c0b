//! The CPU as a device: its constant arrays, and launches in the simulator.

use std::ffi::c_void;
use std::sync::{Arc, Mutex, PoisonError};

use cuda_std::cpu::{self, Checks, ConstantBank};
use cuda_std::launch::{KernelEntry, LaunchConfig};

use super::error::{Check, DeviceError};

/// The state of a CPU device.
pub(crate) struct CpuDevice {
    constants: Mutex<Arc<ConstantBank>>,
    checks: Checks,
    /// Whether every launch runs in the simulator, even if the kernel has a function for the CPU.
    pub(super) simulates: bool,
}

impl CpuDevice {
    pub(super) fn new(checks: Checks, simulates: bool) -> Self {
        Self { constants: Mutex::default(), checks, simulates }
    }

    /// Returns the constant arrays as they are now.
    pub(crate) fn constants(&self) -> Arc<ConstantBank> {
        self.constants.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sets the first bytes of a constant array. A running launch keeps the old values.
    pub(crate) fn set_constant(&self, symbol: &str, bytes: &[u8]) {
        let mut constants = self.constants.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::make_mut(&mut constants).set(symbol, bytes);
    }

    /// Runs a launch whose shape has been checked.
    ///
    /// # Safety
    /// The requirements are those of [`KernelEntry::simulate`] and [`KernelEntry::compute`].
    #[track_caller]
    pub(super) unsafe fn launch(
        &self,
        config: &LaunchConfig,
        entry: &KernelEntry,
        params: &[*mut c_void],
    ) -> Result<(), DeviceError> {
        const OP: &str = "launching a kernel";
        if !self.simulates && !cpu::is_in_launch() && !cpu::profile::is_wanted() {
            // SAFETY: the caller upholds this function's safety contract.
            match unsafe { entry.compute(config, params) } {
                Ok(Ok(true)) => return Ok(()),
                Ok(Ok(false)) => {}
                Ok(Err(fault)) => return Err(Box::new(fault)).check(OP),
                Err(source) => return Err(DeviceError::refused(OP, source)),
            }
        }
        let launch = cpu::Launch {
            kernel: entry.name,
            grid: config.grid,
            block: config.block,
            dynamic_shared: config.dynamic_shared as usize,
            constants: &self.constants(),
            checks: self.checks,
        };
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { entry.simulate(&launch, params) }.map_err(Box::new).check(OP)
    }
}
