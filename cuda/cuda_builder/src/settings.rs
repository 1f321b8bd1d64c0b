//! What a build can be told: [`CudaBuilder`] and its setters.
//!
//! Names and meanings are rust-cuda's where it has the setting. Settings of its own compiler that
//! have no counterpart here exist, so that a build script compiles unchanged, and say that they have
//! no effect.

use crate::Arch;
use crate::cargo::Options;
use std::path::{Path, PathBuf};

/// What to do about kernels whose registers do not suffice, so that values move to local memory.
///
/// Only `ptxas` knows, so nothing happens where it is not installed. The
/// [report](crate::KernelReport) has the numbers in every case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Spills {
    /// Nothing.
    Allow,
    /// A warning for each kernel that spills, in a build script.
    #[default]
    Report,
    /// An error.
    Deny,
}

/// How much debug information the PTX carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DebugInfo {
    /// None.
    None,
    /// The source line of each instruction.
    LineTables,
}

/// Describes one build of a kernel crate; [`build`](Self::build) does it.
#[derive(Debug, Clone)]
#[must_use = "nothing is compiled before `build`"]
pub struct CudaBuilder {
    pub(crate) kernel_crate: PathBuf,
    pub(crate) archs: Vec<Arch>,
    pub(crate) options: Options,
    pub(crate) copy_to: Option<PathBuf>,
    pub(crate) line_info: bool,
    pub(crate) ftz: bool,
    pub(crate) emit_llvm_ir: bool,
    pub(crate) final_module: Option<PathBuf>,
    pub(crate) external: Vec<String>,
    pub(crate) spills: Spills,
    pub(crate) work_dir: Option<PathBuf>,
    pub(crate) core_source: Option<PathBuf>,
    pub(crate) ptxas: Option<PathBuf>,
}

impl CudaBuilder {
    /// Builds the library of the package in the folder `path_to_kernel_crate`.
    pub fn new(path_to_kernel_crate: impl AsRef<Path>) -> Self {
        Self {
            kernel_crate: path_to_kernel_crate.as_ref().to_owned(),
            archs: Vec::new(),
            options: Options {
                ptx_version: None,
                fma_contraction: true,
                fast_div: false,
                fast_sqrt: false,
                debug_assertions: false,
                alloc: false,
                optix: false,
                bitcode: false,
                build_args: Vec::new(),
            },
            copy_to: None,
            line_info: false,
            ftz: false,
            emit_llvm_ir: false,
            final_module: None,
            external: Vec::new(),
            spills: Spills::default(),
            work_dir: None,
            core_source: None,
            ptxas: None,
        }
    }

    /// Adds an architecture; without any, PTX is made for [`Arch::Sm75`].
    pub fn arch(mut self, arch: Arch) -> Self {
        if !self.archs.contains(&arch) {
            self.archs.push(arch);
        }
        self
    }

    /// Sets the path of the PTX: exactly this for one architecture, `x.sm_87.ptx` and so on beside
    /// `x.ptx` for several. The default is OUT_DIR in a build script, else the work folder.
    pub fn copy_to(mut self, path: impl AsRef<Path>) -> Self {
        self.copy_to = Some(path.as_ref().to_owned());
        self
    }

    /// Keeps the source line of each instruction, for profilers. Off by default. Paths in it begin
    /// with `/workspace`, or with `/crates/NAME-VERSION` for crates from elsewhere.
    pub fn generate_line_info(mut self, line_info: bool) -> Self {
        self.line_info = line_info;
        self
    }

    /// [`generate_line_info`](Self::generate_line_info) by rust-cuda's other name.
    pub fn debug(self, debug: DebugInfo) -> Self {
        self.generate_line_info(debug == DebugInfo::LineTables)
    }

    /// Compiles for release, which is the default. `release(false)` is
    /// [`debug_assertions(true)`](Self::debug_assertions): the code is optimised all the same.
    pub fn release(self, release: bool) -> Self {
        self.debug_assertions(!release)
    }

    /// Checks integer overflow and `debug_assert!` in kernels, and keeps the text of panics, which
    /// the panic handler of `cuda_std` prints. Off by default: a failed check is then a `trap`.
    pub fn debug_assertions(mut self, debug_assertions: bool) -> Self {
        self.options.debug_assertions = debug_assertions;
        self
    }

    /// Has no effect: the code is always optimised. At lower levels LLVM duplicates barriers into
    /// divergent branches, because it does not know that the functions around them are convergent.
    pub fn nvvm_opts(self, _nvvm_opts: bool) -> Self {
        self
    }

    /// Fuses `a * b + c` into one multiply-add with one rounding, as nvcc does. On by default. Turn
    /// it off for results that have to equal the CPU's bit by bit.
    pub fn fma_contraction(mut self, fma_contraction: bool) -> Self {
        self.options.fma_contraction = fma_contraction;
        self
    }

    /// Flushes subnormal `f32` values to zero in arithmetic and comparisons, as `nvcc -ftz=true`
    /// does. Off by default. Code in `asm!` stays as it is written.
    pub fn ftz(mut self, ftz: bool) -> Self {
        self.ftz = ftz;
        self
    }

    /// Divides `f32` with an error of up to 2 units in the last place (`div.full`), as
    /// `nvcc -prec-div=false` does. Off by default.
    pub fn fast_div(mut self, fast_div: bool) -> Self {
        self.options.fast_div = fast_div;
        self
    }

    /// Takes square roots of `f32` by `sqrt.approx`, as `nvcc -prec-sqrt=false` does. Off by
    /// default.
    pub fn fast_sqrt(mut self, fast_sqrt: bool) -> Self {
        self.options.fast_sqrt = fast_sqrt;
        self
    }

    /// Builds the crate `alloc` too. Off by default, on where the kernel crate enables the feature
    /// `alloc` of `cuda_std`, which has the allocator.
    pub fn alloc(mut self, alloc: bool) -> Self {
        self.options.alloc = alloc;
        self
    }

    /// Adds arguments for the cargo that compiles the kernel crate, such as `--features=fast`.
    pub fn build_args(mut self, args: &[impl AsRef<str>]) -> Self {
        self.options.build_args.extend(args.iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Sets `cfg(optix)` in the kernel crate and its dependencies. Off by default.
    pub fn optix(mut self, optix: bool) -> Self {
        self.options.optix = optix;
        self
    }

    /// Has no effect: `cuda_std::GpuFloat` has the GPU's mathematical functions, and calls of the
    /// crate `libm` stay calls of `libm`.
    pub fn override_libm(self, _override_libm: bool) -> Self {
        self
    }

    /// Has no effect: a `static` lies in global memory. `cuda_std::ConstantArray` lies in constant
    /// memory.
    pub fn use_constant_memory_space(self, _use_constant_memory_space: bool) -> Self {
        self
    }

    /// Writes the LLVM IR of the optimised module as `.ll` beside the PTX. Off by default.
    pub fn emit_llvm_ir(mut self, emit_llvm_ir: bool) -> Self {
        self.emit_llvm_ir = emit_llvm_ir;
        self
    }

    /// Writes the bitcode of the optimised module as `.bc` beside the PTX. Off by default.
    pub fn emit_llvm_bitcode(mut self, emit_llvm_bitcode: bool) -> Self {
        self.options.bitcode = emit_llvm_bitcode;
        self
    }

    /// Sets a path for the LLVM IR of the optimised module; with several architectures each has its
    /// name in the file's.
    pub fn final_module_path(mut self, path: impl AsRef<Path>) -> Self {
        self.final_module = Some(path.as_ref().to_owned());
        self
    }

    /// Asks for a newer PTX version than the architecture's first, for instructions in `asm!`.
    pub fn ptx_version(mut self, major: u8, minor: u8) -> Self {
        self.options.ptx_version = Some((major, minor));
        self
    }

    /// Allows kernels to call a function that is not in the PTX: the program links other PTX that has
    /// it. The driver itself has `vprintf`, `malloc`, `free` and `__assertfail`.
    pub fn external_function(mut self, name: impl Into<String>) -> Self {
        self.external.push(name.into());
        self
    }

    /// Sets what to do about spilled registers; [`Spills::Report`] by default.
    pub fn spills(mut self, spills: Spills) -> Self {
        self.spills = spills;
        self
    }

    /// Sets the folder for intermediate files. The default is `cuda-builder` in the target folder.
    pub fn work_dir(mut self, path: impl AsRef<Path>) -> Self {
        self.work_dir = Some(path.as_ref().to_owned());
        self
    }

    /// Names the `library` folder of the compiler's source, as `CUDA_BUILDER_CORE_SRC` does.
    pub fn core_source(mut self, path: impl AsRef<Path>) -> Self {
        self.core_source = Some(path.as_ref().to_owned());
        self
    }

    /// Names the `ptxas` that measures the kernels, as `CUDA_BUILDER_PTXAS` does.
    pub fn ptxas(mut self, program: impl AsRef<Path>) -> Self {
        self.ptxas = Some(program.as_ref().to_owned());
        self
    }
}
