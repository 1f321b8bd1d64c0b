//! `panoweave info`: prints the version, the driver and the devices, and on request the resources that each kernel
//! needs.
//!
//! The command also works without a driver or GPU. It then prints the reason why the driver or GPU cannot be used, and
//! does not fail.

use std::fmt::Write as _;

use panoweave::device::{CudaInfo, Device, DeviceError, KernelResources};
use panoweave::kernels::{IMAGES, REPORT};
use serde::{Deserialize, Serialize};

use crate::output;
use crate::output::failure::Failure;

/// Prints the version, the CUDA driver and the devices. With --json, always includes the kernels.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  panoweave info\n  panoweave info --kernels\n  panoweave info --json | jq .kernels"
)]
pub(crate) struct Args {
    /// Also prints the registers, memory and register spills of every kernel.
    #[arg(long)]
    kernels: bool,
}

/// The output of the command.
#[derive(Serialize)]
struct Info {
    version: &'static str,
    driver: Driver,
    devices: Vec<Gpu>,
    /// The reason why `devices` is empty, if the GPUs cannot be listed.
    devices_error: Option<String>,
    archs: Vec<String>,
    kernels: Vec<Arch>,
}

/// The CUDA driver, or the reason why it cannot be loaded.
#[derive(Serialize)]
#[serde(untagged)]
enum Driver {
    Loaded { library: String, path: Option<String>, cuda: Option<String>, missing_symbols: usize },
    None { error: String },
}

/// A GPU, and the resources that the driver reports for panoweave's kernels on it.
#[derive(Serialize)]
struct Gpu {
    ordinal: u32,
    name: String,
    arch: String,
    memory_bytes: usize,
    multiprocessors: u32,
    kernels: Vec<Loaded>,
    /// The reason why `kernels` is empty, if panoweave's kernels cannot be loaded on this GPU.
    error: Option<String>,
}

#[derive(Serialize)]
struct Loaded {
    name: String,
    #[serde(flatten)]
    resources: KernelResources,
}

/// The part of the kernels' build report that `panoweave info` prints. `cuda_builder::Build` writes the report when the
/// kernels are compiled.
#[derive(Deserialize)]
struct Build {
    archs: Vec<Arch>,
}

#[derive(Serialize, Deserialize)]
struct Arch {
    arch: String,
    ptxas: Option<String>,
    kernels: Vec<Kernel>,
}

#[derive(Serialize, Deserialize)]
struct Kernel {
    name: String,
    max_threads: Option<u32>,
    min_blocks: Option<u32>,
    resources: Option<Resources>,
}

#[derive(Serialize, Deserialize)]
struct Resources {
    registers: u32,
    shared_bytes: u32,
    stack_bytes: u32,
    spill_store_bytes: u32,
    spill_load_bytes: u32,
}

/// Runs `panoweave info` and prints the result.
pub(crate) fn run(args: &Args, as_json: bool) -> Result<(), Failure> {
    let info = collect(args.kernels || as_json)?;
    if as_json {
        return output::print_json(&info);
    }
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = info.write(&mut text);
    if args.kernels {
        let _ = info.write_kernels(&mut text);
    }
    output::print(&text)
}

/// `kernels` tells whether to compile all kernels on each GPU, which takes seconds, for their resources.
fn collect(kernels: bool) -> Result<Info, Failure> {
    let build: Build =
        serde_json::from_str(REPORT).map_err(|error| Failure::stdout(error.into()))?;
    let driver = match cust::driver() {
        Ok(driver) => Driver::Loaded {
            library: driver.library().to_string_lossy().into_owned(),
            path: driver.path().map(|path| path.to_string_lossy().into_owned()),
            cuda: driver.cuda_version().map(|(major, minor)| format!("{major}.{minor}")),
            missing_symbols: cust::missing_symbols().len(),
        },
        Err(error) => Driver::None { error: error.to_string() },
    };
    let (devices, devices_error) = match Device::cuda_devices() {
        Ok(found) => (found.into_iter().map(|gpu| Gpu::new(gpu, &build, kernels)).collect(), None),
        Err(error) => (Vec::new(), Some(error.kind.to_string())),
    };
    Ok(Info {
        version: env!("CARGO_PKG_VERSION"),
        driver,
        devices,
        devices_error,
        archs: IMAGES.iter().map(|image| image.arch.to_string()).collect(),
        kernels: build.archs,
    })
}

impl Gpu {
    fn new(info: CudaInfo, build: &Build, kernels: bool) -> Self {
        let (kernels, error) = match Self::loaded(info.ordinal, build, kernels) {
            Ok(kernels) => (kernels, None),
            Err(error) => (Vec::new(), Some(error.kind.to_string())),
        };
        Self {
            ordinal: info.ordinal,
            name: info.name,
            arch: info.arch.to_string(),
            memory_bytes: info.memory,
            multiprocessors: info.multiprocessors,
            kernels,
            error,
        }
    }

    /// Returns the resources, such as registers, that the driver reports for each kernel on a GPU. Takes the kernel
    /// names from the build report of the first architecture, because all architectures have the same kernels.
    fn loaded(ordinal: u32, build: &Build, wanted: bool) -> Result<Vec<Loaded>, DeviceError> {
        let device = Device::cuda(ordinal)?;
        let mut kernels = Vec::new();
        if !wanted {
            return Ok(kernels);
        }
        for kernel in build.archs.first().map_or(&[][..], |arch| &arch.kernels) {
            if let Some(resources) = device.kernel_resources(&kernel.name)? {
                kernels.push(Loaded { name: kernel.name.clone(), resources });
            }
        }
        Ok(kernels)
    }
}

impl Info {
    fn write(&self, text: &mut String) -> std::fmt::Result {
        writeln!(
            text,
            "panoweave {}, kernels for {} and newer",
            self.version,
            self.archs.join(", ")
        )?;
        match &self.driver {
            Driver::Loaded { library, path, cuda, missing_symbols } => {
                let path = path.as_ref().map_or(String::new(), |path| format!(" ({path})"));
                let cuda = cuda.as_deref().unwrap_or("of unknown version");
                writeln!(
                    text,
                    "driver   {library}{path}, CUDA {cuda}, {missing_symbols} functions missing"
                )?;
            }
            Driver::None { error } => writeln!(text, "driver   {error}")?,
        }
        if let (Driver::Loaded { .. }, Some(error)) = (&self.driver, &self.devices_error) {
            writeln!(text, "devices  {error}")?;
        }
        self.devices.iter().try_for_each(|gpu| gpu.write(text))?;
        writeln!(text, "device   cpu")
    }

    fn write_kernels(&self, text: &mut String) -> std::fmt::Result {
        self.kernels.iter().try_for_each(|arch| arch.write(text))?;
        self.devices.iter().try_for_each(|gpu| gpu.write_kernels(text))
    }
}

impl Gpu {
    fn write(&self, text: &mut String) -> std::fmt::Result {
        let Self { ordinal, name, arch, memory_bytes, multiprocessors, .. } = self;
        let gib = *memory_bytes as f64 / f64::from(1 << 30);
        writeln!(
            text,
            "device   cuda:{ordinal} {name}, {arch}, {gib:.1} GiB, {multiprocessors} multiprocessors"
        )?;
        self.error.as_ref().map_or(Ok(()), |error| writeln!(text, "  {error}"))
    }

    fn write_kernels(&self, text: &mut String) -> std::fmt::Result {
        if !self.kernels.is_empty() {
            writeln!(text, "kernels  on cuda:{} {}", self.ordinal, self.name)?;
        }
        for Loaded { name, resources: r } in &self.kernels {
            let (registers, shared, local) = (r.registers, r.shared_bytes, r.local_bytes);
            writeln!(
                text,
                "  {name:<28} {registers:>3} registers, {shared} B shared, {local} B local"
            )?;
        }
        Ok(())
    }
}

impl Arch {
    fn write(&self, text: &mut String) -> std::fmt::Result {
        let by = self.ptxas.as_deref().unwrap_or("registers unknown: no ptxas when built");
        writeln!(text, "kernels  {}, {by}", self.arch)?;
        for Kernel { name, max_threads, min_blocks, resources } in &self.kernels {
            let bound = |bound: &Option<u32>| bound.map_or("-".to_owned(), |n| n.to_string());
            write!(text, "  {name:<28} bounds {}, {}", bound(max_threads), bound(min_blocks))?;
            if let Some(r) = resources {
                let (registers, shared, stack) = (r.registers, r.shared_bytes, r.stack_bytes);
                let (store, load) = (r.spill_store_bytes, r.spill_load_bytes);
                write!(
                    text,
                    "; {registers} registers, {shared} B shared, {stack} B stack, {store}/{load} B spilled"
                )?;
            }
            writeln!(text)?;
        }
        Ok(())
    }
}
