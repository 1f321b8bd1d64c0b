//! Modules: compiled kernels and constants, loaded into the current context.
//!
//! On the CPU, the kernels of a module are functions linked into the program. The PTX only provides
//! the names of the kernels and constants. A name is looked up first among the linked kernels of the
//! package that the PTX was compiled from. All modules share a constant of the same name.
//!
//! ```
//! # // SAFETY: only the standard library accesses the environment.
//! # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
//! use cuda_std::prelude::*;
//! use cust::memory::CopyDestination;
//! use cust::module::Module;
//!
//! constant! {
//!     pub static TAPS: [f32; 4];
//! }
//!
//! #[kernel(launch_bounds(256))]
//! pub fn blur(input: Slice<f32>) {}
//!
//! # const PTX: &str = ".version 7.0\n.target sm_75\n\
//! #     .visible .const .align 16 .b8 TAPS[16];\n.visible .entry blur() { ret; }";
//! // `const PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/kernels.ptx"));`
//! let _context = cust::quick_init()?;
//! let module = Module::from_ptx(PTX, &[])?;
//! assert!(module.get_function("sharpen").is_err());
//! // The launch shape with the highest occupancy, with blocks of at most 128 threads.
//! let blur = module.get_function("blur")?;
//! let (blocks, threads) = blur.suggested_launch_configuration(0, 128.into())?;
//! assert!(blocks >= 1 && threads <= 128);
//!
//! let mut taps = module.get_global::<[f32; 4]>(c"TAPS")?;
//! taps.copy_from(&[0.1, 0.4, 0.4, 0.1])?;
//! let mut values = [0.0; 4];
//! taps.copy_to(&mut values)?;
//! assert_eq!(values, [0.1, 0.4, 0.4, 0.1]);
//! # Ok::<(), cust::error::CudaError>(())
//! ```

use std::ffi::CStr;
use std::marker::PhantomData;

use bytemuck::Pod;
use cuda_std::launch::{KERNELS, KernelEntry};

use crate::context::current;
use crate::error::{CudaError, CudaResult};
use crate::function::Function;
use crate::memory::{CopyDestination, copy_now};
use crate::typed::module::{Module as Loaded, NamedKernel};
use crate::typed::rows::Side;
use crate::typed::{self, Kind};

/// The prefix of the PTX comment that names the package of the kernels.
const PACKAGE: &str = "// cuda_builder.package ";

/// An option of the driver's PTX compiler. This crate supports none: pass `&[]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModuleJitOption {}

/// A loaded module, which contains kernels and constants.
pub struct Module {
    code: Code,
    device: typed::Device,
}

enum Code {
    Cpu(String),
    Cuda(Loaded),
}

impl Module {
    /// Loads PTX.
    ///
    /// # Errors
    /// Returns `InvalidPtx` if the driver rejects the PTX, or another driver error.
    pub fn from_ptx<T: AsRef<str>>(ptx: T, _options: &[ModuleJitOption]) -> CudaResult<Self> {
        let device = current()?;
        let code = match device.gpu() {
            None => Code::Cpu(ptx.as_ref().to_owned()),
            Some(gpu) => Code::Cuda(gpu.module(ptx.as_ref())?),
        };
        Ok(Self { code, device })
    }

    /// Returns the kernel called `name`.
    ///
    /// # Errors
    /// Returns `NotFound` if there is no such kernel, or the driver's error. On the CPU, also
    /// returns `NotFound` if the program does not link the crate that the PTX was compiled from. To
    /// link a kernel crate, write `use my_kernels as _;`.
    pub fn get_function<T: AsRef<str>>(&self, name: T) -> CudaResult<Function<'_>> {
        const OP: &str = "looking up a kernel";
        let name = name.as_ref();
        let kernel = match (&self.code, self.device.gpu()) {
            (Code::Cuda(module), Some(gpu)) => {
                let found = gpu.enter(OP, || module.function(name))?;
                NamedKernel::Cuda(found.ok_or(CudaError::NotFound)?)
            }
            (Code::Cpu(ptx), _) => NamedKernel::Cpu(linked_kernel(ptx, name)?),
            (Code::Cuda(_), None) => return Err(CudaError::InvalidContext),
        };
        Ok(Function { kernel, module: self })
    }

    /// Returns the constant called `name`.
    ///
    /// # Errors
    /// Returns an error if the module has no such constant, or if its size differs from the size of
    /// `T`. Otherwise returns the driver's error, if any.
    pub fn get_global<'a, T: Pod>(&'a self, name: &CStr) -> CudaResult<Symbol<'a, T>> {
        const OP: &str = "looking up a constant";
        let name = name.to_str().map_err(|_| CudaError::NotFound)?;
        let found = match (&self.code, self.device.gpu()) {
            (Code::Cuda(module), Some(gpu)) => gpu.enter(OP, || module.global(name))?,
            (Code::Cpu(ptx), _) => constant_size(ptx, name).map(|size| (0, size)),
            (Code::Cuda(_), None) => None,
        };
        match found.ok_or(CudaError::NotFound)? {
            (address, size) if size == size_of::<T>() => {
                let device = &self.device;
                Ok(Symbol { name: name.to_owned(), address, device, value: PhantomData })
            }
            _ => Err(CudaError::InvalidValue),
        }
    }

    pub(crate) fn device(&self) -> &typed::Device {
        &self.device
    }
}

/// Returns the linked kernel called `name`, which must be in the PTX. If several packages have a
/// kernel of that name, returns the one of the package that the PTX was compiled from.
fn linked_kernel(ptx: &str, name: &str) -> CudaResult<&'static KernelEntry> {
    let is_name = |text: &str| {
        let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || "_$%".contains(c)));
        end.is_some_and(|end| &text[..end] == name)
    };
    if !ptx.split(".entry ").skip(1).any(is_name) {
        return Err(CudaError::NotFound);
    }
    let package = ptx.lines().find_map(|line| line.strip_prefix(PACKAGE)?.split(' ').next());
    let mut named = KERNELS.iter().filter(|kernel| kernel.name == name);
    let own = named.clone().find(|kernel| package == Some(kernel.package));
    let why = match (own, named.next(), named.next()) {
        (Some(kernel), ..) | (None, Some(kernel), None) => return Ok(kernel),
        (None, None, _) => "the program does not link its crate; add `use my_kernels as _;`",
        (None, Some(_), Some(_)) => "several crates of the program define it; rename all but one",
    };
    eprintln!("cust: the PTX has a kernel `{name}`, but {why}");
    Err(CudaError::NotFound)
}

/// Returns the size in bytes of a constant in a PTX text, such as
/// `.visible .const .align 16 .b8 TAPS[256];`.
fn constant_size(ptx: &str, name: &str) -> Option<usize> {
    let declared = ptx.lines().filter_map(|line| line.split_once(".const ")?.1.split_once(".b8 "));
    let mut arrays = declared.filter_map(|(_, array)| array.split_once('['));
    let (_, size) = arrays.find(|(found, _)| *found == name)?;
    size.split(']').next()?.parse().ok()
}

/// A constant of a module.
pub struct Symbol<'a, T> {
    name: String,
    /// The address on a GPU; 0 on the CPU.
    address: u64,
    device: &'a typed::Device,
    value: PhantomData<T>,
}

impl<T: Pod> CopyDestination<T> for Symbol<'_, T> {
    fn copy_from(&mut self, value: &T) -> CudaResult<()> {
        let bytes = bytemuck::bytes_of(value);
        match self.device.kind() {
            Kind::Cpu(cpu) => {
                cpu.set_constant(&self.name, bytes);
                Ok(())
            }
            // SAFETY: `get_global` checked that the constant has the size of `T`.
            Kind::Cuda(_) => unsafe {
                let (from, to) =
                    (Side::host(bytes.as_ptr().cast_mut()), Side::raw(self.address, 0));
                copy_now(self.device, from, to, bytes.len())
            },
        }
    }

    fn copy_to(&self, value: &mut T) -> CudaResult<()> {
        let bytes = bytemuck::bytes_of_mut(value);
        match self.device.kind() {
            Kind::Cpu(cpu) => {
                let constants = cpu.constants();
                let words = constants.get(&self.name).map(bytemuck::cast_slice::<u128, u8>);
                match words.and_then(|words| words.get(..bytes.len())) {
                    Some(set) => bytes.copy_from_slice(set),
                    None => bytes.fill(0),
                }
                Ok(())
            }
            // SAFETY: `get_global` checked that the constant has the size of `T`.
            Kind::Cuda(_) => unsafe {
                let (from, to) = (Side::raw(self.address, 0), Side::host(bytes.as_mut_ptr()));
                copy_now(self.device, from, to, bytes.len())
            },
        }
    }
}
