//! The description of a kernel on the host, and the registry of all kernels that are linked into the program, for
//! launches by name on the CPU.
//!
//! rust-cuda's `launch!` identifies a kernel by its name and passes untyped pointers to its
//! parameters. On a GPU, the driver looks up the name in the PTX. On the CPU, `cust` looks up the
//! name in [`KERNELS`]. `#[kernel]` adds the entries, so a program has an entry for each kernel of
//! the crates that it links. To link a kernel crate that the program does not otherwise use, write
//! `use kernels as _;`.

use std::ffi::c_void;
use std::panic::{self, AssertUnwindSafe};

use linkme::distributed_slice;

use super::{LaunchBounds, LaunchConfig};

/// All kernels that are linked into the program, in no particular order.
///
/// Two packages may each have a kernel of the same name.
#[distributed_slice]
pub static KERNELS: [KernelEntry];

/// The size and alignment of one kernel parameter, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParamLayout {
    /// The size in bytes, never zero.
    pub size: usize,
    /// The alignment in bytes.
    pub align: usize,
}

/// A kernel that is linked into the program. `#[kernel]` writes it.
///
/// The functions take pointers to the parameters, like `cuLaunchKernel`, so that one copy of each serves typed launches
/// and launches by name.
#[derive(Clone, Copy, Debug)]
pub struct KernelEntry {
    /// The name of the entry in the PTX.
    pub name: &'static str,
    /// The name of the package that declares the kernel.
    pub package: &'static str,
    /// The kernel's launch bounds.
    pub bounds: LaunchBounds,
    /// The number of axes, counted from x, along which a launch may have more than one block or
    /// thread.
    pub dims: u32,
    /// The layouts of the PTX parameters, in order.
    pub params: &'static [ParamLayout],
    /// Runs the threads of a fiber in the simulator; see [`simulate`](Self::simulate).
    ///
    /// # Safety
    /// The requirements are those of [`simulate`](Self::simulate).
    pub threads: unsafe fn(*const *const c_void, &mut cuda_cpu::Threads<'_>),
    /// Computes a whole launch with the function of the kernel's option `cpu`, and returns true. The
    /// function returns false and does nothing if it leaves this launch to the simulator.
    /// `cust` calls it for a launch on `Device::cpu()`, but not on `Device::simulator()`, so that a test
    /// can compare both.
    ///
    /// # Safety
    /// - The requirements of [`simulate`](Self::simulate) apply, and [`LaunchConfig::check_entry`](super::LaunchConfig::check_entry) must
    ///   accept the shape.
    /// - Nothing else may access the memory that the kernel writes, or write the memory that it reads.
    pub cpu: Option<unsafe fn(&LaunchConfig, *const *const c_void) -> bool>,
}

impl KernelEntry {
    /// Runs a launch in the simulator.
    ///
    /// # Safety
    /// - Each pointer must point to a valid value of its parameter, and the memory that the
    ///   parameters point to must be valid host memory, until no OS thread uses it that the kernel has started.
    /// - If the kernel is an `unsafe fn`, its own safety requirements must hold.
    ///
    /// # Errors
    /// Returns the errors of [`cuda_cpu::launch`].
    pub unsafe fn simulate(
        &self,
        launch: &cuda_cpu::Launch<'_>,
        params: &[*mut c_void],
    ) -> Result<(), cuda_cpu::Fault> {
        let params = SharedParams(params.as_ptr().cast());
        let threads = self.threads;
        // SAFETY: the caller upholds this function's safety contract.
        let body = |next: &mut cuda_cpu::Threads<'_>| unsafe { threads(params.get(), next) };
        // SAFETY: the caller keeps the memory of the arguments until no thread uses it.
        unsafe { cuda_cpu::launch_stoppable(launch, &body) }
    }

    /// Computes a whole launch with the function [`cpu`](Self::cpu), on the OS threads of a launch. Returns false if
    /// there is none, or if it leaves the launch to the simulator.
    ///
    /// # Safety
    /// The requirements are those of [`cpu`](Self::cpu).
    ///
    /// # Errors
    /// Returns the panic of the function as a fault, or an error if the system refuses a thread.
    pub unsafe fn compute(
        &self,
        config: &LaunchConfig,
        params: &[*mut c_void],
    ) -> std::io::Result<Result<bool, cuda_cpu::Fault>> {
        let Some(cpu) = self.cpu else { return Ok(Ok(false)) };
        let params = SharedParams(params.as_ptr().cast());
        // SAFETY: the caller upholds this function's safety contract.
        let whole = || unsafe { cpu(config, params.get()) };
        // Like a panic in the simulator, a panic is the launch's error.
        match panic::catch_unwind(AssertUnwindSafe(|| cuda_cpu::in_pool(whole))) {
            Ok(result) => result.map(Ok),
            Err(payload) => {
                let at = cuda_cpu::ThreadId { block: [0; 3], thread: [0; 3] };
                let kind = cuda_cpu::FaultKind::of_panic(&*payload);
                Ok(Err(cuda_cpu::Fault { kernel: self.name, at, kind }))
            }
        }
    }
}

/// Pointers to the parameters of a launch, which all its threads only read.
struct SharedParams(*const *const c_void);

impl SharedParams {
    fn get(&self) -> *const *const c_void {
        self.0
    }
}

// SAFETY: nothing writes the parameters during a launch. The kernel must ensure that its accesses through them are valid
// if several threads run at once, as on a GPU.
unsafe impl Sync for SharedParams {}
