//! The settings of a build: [`CudaBuilder`] and its setters.
//!
//! Settings that rust-cuda also has use its names and semantics. Some of them control only
//! rust-cuda's own compiler and have no effect here. They exist so that a build script for
//! rust-cuda compiles unchanged.

use crate::Arch;
use std::path::{Path, PathBuf};

/// The treatment of kernels that need more registers than they have and therefore spill values to
/// local memory.
///
/// Only `ptxas` reports spills, so the setting has no effect without a `ptxas`. If there is one,
/// the [report](crate::KernelReport) contains the size of the spills with every setting.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Spills {
    /// The build accepts spills without a warning.
    Allow,
    /// A build script prints a warning for each kernel that spills.
    #[default]
    Report,
    /// The build returns an error if a kernel spills.
    Deny,
}

/// The amount of debug information in the PTX.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DebugInfo {
    /// No debug information.
    None,
    /// The source line of each instruction.
    LineTables,
}

/// The configuration of a build of a kernel crate. Call [`build`](Self::build) to run the build.
///
/// ```no_run
/// use cuda_builder::{Arch, CudaBuilder, Spills};
///
/// let build = CudaBuilder::new("kernels")
///     .arch(Arch::Sm80)
///     .arch(Arch::Sm90)
///     .copy_to("target/ptx/kernels.ptx")
///     .fma_contraction(false)
///     .spills(Spills::Deny)
///     .generate_line_info(true)
///     .build()?;
/// assert_eq!(build.archs.len(), 2);
/// # Ok::<(), cuda_builder::BuildError>(())
/// ```
#[derive(Debug, Clone, Default)]
#[must_use = "nothing is compiled before `build`"]
pub struct CudaBuilder {
    pub(crate) kernel_crate: PathBuf,
    pub(crate) archs: Vec<Arch>,
    pub(crate) copy_to: Option<PathBuf>,
    pub(crate) work_dir: Option<PathBuf>,
    pub(crate) core_source: Option<PathBuf>,
    pub(crate) ptxas: Option<PathBuf>,
    pub(crate) final_module: Option<PathBuf>,
    pub(crate) spills: Spills,
    pub(crate) external: Vec<String>,
    /// Arguments that are passed to cargo unchanged.
    pub(crate) build_args: Vec<String>,
    pub(crate) ptx_version: Option<(u8, u8)>,
    pub(crate) inline_threshold: Option<u32>,
    pub(crate) without_fma: bool,
    pub(crate) ftz: bool,
    pub(crate) fast_div: bool,
    pub(crate) fast_sqrt: bool,
    pub(crate) debug_assertions: bool,
    pub(crate) line_info: bool,
    pub(crate) alloc: bool,
    pub(crate) optix: bool,
    pub(crate) emit_llvm_ir: bool,
}

impl CudaBuilder {
    /// Creates a builder for the library of the package in the folder `path_to_kernel_crate`.
    pub fn new(path_to_kernel_crate: impl AsRef<Path>) -> Self {
        Self { kernel_crate: path_to_kernel_crate.as_ref().to_owned(), ..Self::default() }
    }

    /// Adds an architecture to build for. If no call adds one, the build targets [`Arch::Sm75`].
    pub fn arch(mut self, arch: Arch) -> Self {
        if !self.archs.contains(&arch) {
            self.archs.push(arch);
        }
        self
    }

    /// Sets the path of the PTX. With several architectures, each file name contains its own:
    /// `x.ptx` becomes `x.sm_87.ptx`. The default is the name of the kernel crate, in OUT_DIR if a
    /// build script runs the build, and otherwise in the folder `ptx` of the work folder.
    pub fn copy_to(mut self, path: impl AsRef<Path>) -> Self {
        self.copy_to = Some(path.as_ref().to_owned());
        self
    }

    /// Keeps the source line of each instruction in the PTX, for profilers and debuggers. Off by
    /// default. A line is that of the innermost inlined function, which can be in `core` or
    /// `cuda_std`. The paths of source files begin with `/workspace` for members of the workspace
    /// and with `/crates/NAME-VERSION` for other crates and for a package in the workspace's root
    /// folder.
    pub fn generate_line_info(mut self, line_info: bool) -> Self {
        self.line_info = line_info;
        self
    }

    /// Does the same as [`generate_line_info`](Self::generate_line_info); rust-cuda has both.
    pub fn debug(self, debug: DebugInfo) -> Self {
        self.generate_line_info(debug == DebugInfo::LineTables)
    }

    /// Compiles for release, which is the default. `release(false)` is the same as
    /// [`debug_assertions(true)`](Self::debug_assertions); the code is still optimised.
    pub fn release(self, release: bool) -> Self {
        self.debug_assertions(!release)
    }

    /// Checks integer overflow and `debug_assert!` in kernels, and keeps panic messages, which the
    /// panic handler of `cuda_std` prints. Off by default: integer overflow wraps, and a failed
    /// bounds check executes `trap` without a message.
    pub fn debug_assertions(mut self, debug_assertions: bool) -> Self {
        self.debug_assertions = debug_assertions;
        self
    }

    /// Has no effect: at lower levels, LLVM duplicates barriers into divergent branches.
    pub fn nvvm_opts(self, _nvvm_opts: bool) -> Self {
        self
    }

    /// Fuses `a * b + c` into one multiply-add with one rounding, like nvcc. On by default. Turn it
    /// off if results must equal those of the CPU bit for bit.
    pub fn fma_contraction(mut self, fma_contraction: bool) -> Self {
        self.without_fma = !fma_contraction;
        self
    }

    /// Flushes subnormal `f32` values to zero in arithmetic and comparisons, like `nvcc -ftz=true`.
    /// Off by default. Code in `asm!` is unchanged.
    pub fn ftz(mut self, ftz: bool) -> Self {
        self.ftz = ftz;
        self
    }

    /// Divides `f32` with an error of up to 2 units in the last place (`div.full`), like `nvcc
    /// -prec-div=false`. Off by default.
    pub fn fast_div(mut self, fast_div: bool) -> Self {
        self.fast_div = fast_div;
        self
    }

    /// Computes square roots of `f32` with `sqrt.approx`, like `nvcc -prec-sqrt=false`. Off by
    /// default.
    pub fn fast_sqrt(mut self, fast_sqrt: bool) -> Self {
        self.fast_sqrt = fast_sqrt;
        self
    }

    /// Sets the size up to which LLVM inlines a function that is called in several places
    /// (`-inline-threshold`). The default depends on the call and is at least 2,500. A threshold of
    /// 100,000 inlines almost every function, like nvcc. It keeps arrays in registers, but can
    /// multiply the size of the code and the time of the build.
    pub fn inline_threshold(mut self, threshold: u32) -> Self {
        self.inline_threshold = Some(threshold);
        self
    }

    /// Also builds the crate `alloc`. Off by default, but always on if the kernel crate enables the
    /// feature `alloc` of `cuda_std`, which contains the allocator.
    pub fn alloc(mut self, alloc: bool) -> Self {
        self.alloc = alloc;
        self
    }

    /// Adds arguments for the cargo that compiles the kernel crate, such as `--features=fast`.
    pub fn build_args(mut self, args: &[impl AsRef<str>]) -> Self {
        self.build_args.extend(args.iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Sets `cfg(optix)` in the kernel crate and its dependencies. Off by default.
    pub fn optix(mut self, optix: bool) -> Self {
        self.optix = optix;
        self
    }

    /// Has no effect: calls to the crate `libm` are not replaced. Use `cuda_std::GpuFloat` for the
    /// GPU's mathematical functions.
    pub fn override_libm(self, _override_libm: bool) -> Self {
        self
    }

    /// Has no effect. A `static` is always in global memory, and a `cuda_std::ConstantArray` in
    /// constant memory.
    pub fn use_constant_memory_space(self, _use_constant_memory_space: bool) -> Self {
        self
    }

    /// Writes the LLVM IR of the optimised module as `.ll` beside the PTX. Off by default.
    pub fn emit_llvm_ir(mut self, emit_llvm_ir: bool) -> Self {
        self.emit_llvm_ir = emit_llvm_ir;
        self
    }

    /// Sets a path for the LLVM IR of the optimised module. With several architectures, each file
    /// name contains the architecture.
    pub fn final_module_path(mut self, path: impl AsRef<Path>) -> Self {
        self.final_module = Some(path.as_ref().to_owned());
        self
    }

    /// Sets the PTX version, for `asm!` instructions that need a newer version than the default.
    /// The default is [`Arch::ptx_version`].
    pub fn ptx_version(mut self, major: u8, minor: u8) -> Self {
        self.ptx_version = Some((major, minor));
        self
    }

    /// Allows kernels to call a function that is not in the PTX, because the program links other
    /// PTX that defines it. The functions `vprintf`, `malloc`, `free` and `__assertfail` are always
    /// allowed, because the driver defines them.
    pub fn external_function(mut self, name: impl Into<String>) -> Self {
        self.external.push(name.into());
        self
    }

    /// Sets the treatment of spilled registers. The default is [`Spills::Report`].
    pub fn spills(mut self, spills: Spills) -> Self {
        self.spills = spills;
        self
    }

    /// Sets the work folder, which contains intermediate files. The default is `cuda-builder` in
    /// the target folder.
    pub fn work_dir(mut self, path: impl AsRef<Path>) -> Self {
        self.work_dir = Some(path.as_ref().to_owned());
        self
    }

    /// Sets the `library` folder of the compiler's source. Takes precedence over the environment
    /// variable `CUDA_BUILDER_CORE_SRC`.
    pub fn core_source(mut self, path: impl AsRef<Path>) -> Self {
        self.core_source = Some(path.as_ref().to_owned());
        self
    }

    /// Sets the path of the `ptxas` that measures the kernels. An empty path disables `ptxas`.
    /// Takes precedence over the environment variable `CUDA_BUILDER_PTXAS`.
    pub fn ptxas(mut self, program: impl AsRef<Path>) -> Self {
        self.ptxas = Some(program.as_ref().to_owned());
        self
    }
}
