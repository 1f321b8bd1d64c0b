//! Describes the machine of a bench: the processor, or the GPU with its driver, its current clocks and, on Jetson, the
//! power mode.
//!
//! The CUDA driver reports the maximum clocks, and `nvidia-smi` reports the current clocks. On Jetson, `nvidia-smi`
//! does not report clocks. There, the Linux kernel reports the GPU's clock in `devfreq`, and the memory's clock (EMC)
//! in debug files of the power processor, which only root may read. Unknown values are `None` in the record. This
//! module does not change any setting of the machine.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use cust::device::{Device as Gpu, DeviceAttribute as Attribute};
use panoweave::device::CudaInfo;
use panoweave_bench_report::record::{Clocks, Run};

/// Describes the GPU in its current state.
pub(crate) fn gpu(gpu: &CudaInfo) -> Run {
    let attribute = |which| {
        let value = Gpu::get_device(gpu.ordinal).and_then(|gpu| gpu.get_attribute(which));
        value.ok().and_then(|value| u32::try_from(value).ok())
    };
    // The driver reports clocks in kHz. For a GPU that shares the processor's memory, some drivers report a clock of 0.
    let mhz = |which| attribute(which).map(|khz| khz / 1000).filter(|mhz| *mhz > 0);
    let place =
        [Attribute::PciDomainId, Attribute::PciBusId, Attribute::PciDeviceId].map(attribute);
    let smi = Smi::ask(place);
    let system = Path::new("/");
    let found = Clocks {
        sm_mhz: smi.clocks.sm_mhz.or_else(|| jetson_gpu_mhz(system)),
        memory_mhz: smi.clocks.memory_mhz.or_else(|| jetson_memory_mhz(system)),
    };
    let cuda = cust::driver().ok().and_then(|driver| driver.cuda_version());
    Run {
        capability: Some(format!("{}.{}", gpu.arch.major, gpu.arch.minor)),
        memory: Some(gpu.memory as u64),
        multiprocessors: Some(gpu.multiprocessors),
        cuda: cuda.map(|(major, minor)| format!("{major}.{minor}")),
        driver: smi.driver.or_else(|| driver(system)),
        peak: Clocks {
            sm_mhz: mhz(Attribute::ClockRate),
            memory_mhz: mhz(Attribute::MemoryClockRate),
        },
        bus_bits: attribute(Attribute::GlobalMemoryBusWidth).filter(|bits| *bits > 0),
        found,
        ..on(gpu.name.clone())
    }
}

/// Describes the processor, which runs the kernels if a bench measures the CPU backend.
pub(crate) fn processor() -> Run {
    let system = Path::new("/");
    let name = processor_name(system).unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let threads = std::thread::available_parallelism().ok();
    Run { threads: threads.and_then(|threads| u32::try_from(threads.get()).ok()), ..on(name) }
}

/// Returns a run on `device` with only those fields set that do not depend on a GPU.
fn on(device: String) -> Run {
    Run {
        device,
        started: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs()),
        commit: std::env::var("PANOWEAVE_COMMIT").ok().filter(|commit| !commit.is_empty()),
        power_mode: power_mode(Path::new("/")),
        ..Run::default()
    }
}

/// Returns the name of the processor. Linux does not report names of Arm processors; on such a machine, this function
/// returns the name of the board instead.
fn processor_name(root: &Path) -> Option<String> {
    let named = read(root, "proc/cpuinfo").and_then(|text| {
        let name = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
        name.map(|(_, name)| name.trim().to_owned())
    });
    let board = || read(root, "proc/device-tree/model").map(|name| name.replace('\0', ""));
    named.or_else(board)
}

/// The values that `nvidia-smi` reports. On Jetson, `nvidia-smi` prints `[N/A]` for many of these values.
#[derive(Debug, Default, PartialEq)]
struct Smi {
    driver: Option<String>,
    clocks: Clocks,
}

impl Smi {
    /// Queries the GPU by its PCI address, because `nvidia-smi` and CUDA number GPUs differently.
    fn ask(place: [Option<u32>; 3]) -> Self {
        let mut command = Command::new("nvidia-smi");
        command.args(["--query-gpu=driver_version,clocks.sm,clocks.mem"]);
        command.arg("--format=csv,noheader,nounits");
        if let [Some(domain), Some(bus), Some(device)] = place {
            command.arg(format!("--id={domain:08x}:{bus:02x}:{device:02x}.0"));
        }
        said(&mut command).map_or_else(Self::default, |text| Self::parse(&text))
    }

    fn parse(text: &str) -> Self {
        let mut cells = text.lines().next().unwrap_or_default().split(',').map(str::trim);
        let driver = cells.next().filter(|driver| driver.starts_with(|c: char| c.is_ascii_digit()));
        let mut mhz = || cells.next()?.parse().ok();
        Self {
            driver: driver.map(str::to_owned),
            clocks: Clocks { sm_mhz: mhz(), memory_mhz: mhz() },
        }
    }
}

/// Runs a program and returns its standard output. Returns `None` if the program is missing or fails.
fn said(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok()
}

/// Reads a text file below `root`. Returns `None` if the file is missing or empty.
fn read(root: &Path, file: impl AsRef<Path>) -> Option<String> {
    let text = fs::read_to_string(root.join(file)).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// Reads a file that contains a frequency in Hz, and returns the frequency in MHz.
fn read_mhz(root: &Path, file: impl AsRef<Path>) -> Option<u32> {
    let hertz: u64 = read(root, file)?.parse().ok()?;
    u32::try_from(hertz / 1_000_000).ok()
}

/// Returns the driver's version from its kernel module. On Jetson, returns the version of L4T, such as `L4T R36
/// (release), REVISION: 4.3`.
fn driver(root: &Path) -> Option<String> {
    let jetson = read(root, "etc/nv_tegra_release").map(|text| {
        let words: Vec<_> = text.trim_start_matches(['#', ' ']).split(',').take(2).collect();
        format!("L4T {}", words.join(","))
    });
    jetson.or_else(|| read(root, "sys/module/nvidia/version"))
}

/// Returns the clock of a Jetson Orin's GPU in MHz, from `devfreq`. The name of the GPU's folder there starts with its
/// bus address, 17000000.
fn jetson_gpu_mhz(root: &Path) -> Option<u32> {
    let devices = fs::read_dir(root.join("sys/class/devfreq")).ok()?;
    devices.flatten().find_map(|device| {
        let name = device.file_name();
        let is_gpu = name.to_string_lossy().starts_with("17000000.");
        is_gpu.then(|| read_mhz(root, device.path().join("cur_freq"))).flatten()
    })
}

/// Returns the clock of Jetson's memory in MHz, from `bpmp` on boards up to Orin and from `bwmgr` on later boards.
fn jetson_memory_mhz(root: &Path) -> Option<u32> {
    read_mhz(root, "sys/kernel/debug/bpmp/debug/clk/emc/rate")
        .or_else(|| read_mhz(root, "sys/class/devfreq/bwmgr/cur_freq"))
}

/// Returns the power mode of a Jetson: its name from `nvpmodel -q` or, if that fails, its number from the status file.
fn power_mode(root: &Path) -> Option<String> {
    let named = said(Command::new("nvpmodel").arg("-q")).and_then(|text| mode(&text));
    named.or_else(|| read(root, "var/lib/nvpmodel/status"))
}

/// Parses the output of `nvpmodel -q`: a line such as `NV Power Mode: MAXN`, and a line with the mode's number.
fn mode(text: &str) -> Option<String> {
    let mut lines = text.lines().map(str::trim);
    let name = lines.find_map(|line| line.strip_prefix("NV Power Mode:"))?.trim();
    let number = lines.next().filter(|line| line.parse::<u32>().is_ok());
    Some(number.map_or_else(|| name.to_owned(), |number| format!("{name} ({number})")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nvidia_smi_tells_driver_and_clocks() {
        let clocks = Clocks { sm_mhz: Some(1980), memory_mhz: Some(2619) };
        let expected = Smi { driver: Some("580.95.05".to_owned()), clocks };
        assert_eq!(Smi::parse("580.95.05, 1980, 2619\n"), expected);
        let jetson = Smi { driver: Some("540.4.0".to_owned()), clocks: Clocks::default() };
        assert_eq!(Smi::parse("540.4.0, [N/A], [N/A]\n"), jetson);
        assert_eq!(Smi::parse("No devices were found\n"), Smi::default());
        assert_eq!(Smi::parse(""), Smi::default());
    }

    #[test]
    fn nvpmodel_tells_the_mode() {
        assert_eq!(mode("NV Power Mode: MAXN\n0\n").as_deref(), Some("MAXN (0)"));
        let verbose = "NVPM VERB: Config file: /etc/nvpmodel.conf\nNV Fan Mode:quiet\nNV Power Mode: 15W\n2\n";
        assert_eq!(mode(verbose).as_deref(), Some("15W (2)"));
        assert_eq!(mode("NV Power Mode: 25W").as_deref(), Some("25W"));
        assert_eq!(mode("NVPM ERROR: no config"), None);
    }

    #[test]
    fn jetsons_files_are_read_and_missing_ones_are_not() {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path();
        let none = |root| (jetson_gpu_mhz(root), jetson_memory_mhz(root), driver(root));
        assert_eq!(none(root), (None, None, None));
        let write = |file: &str, text: &str| {
            let file = root.join(file);
            fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            fs::write(file, text).expect("a file");
        };
        write("sys/class/devfreq/8888000000.nvdec/cur_freq", "793600000\n");
        write("sys/class/devfreq/17000000.gpu/cur_freq", "918000000\n");
        write("sys/kernel/debug/bpmp/debug/clk/emc/rate", "3199000000\n");
        write(
            "etc/nv_tegra_release",
            "# R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic\n",
        );
        write("var/lib/nvpmodel/status", "pmode:0000\n");
        assert_eq!(jetson_gpu_mhz(root), Some(918));
        assert_eq!(jetson_memory_mhz(root), Some(3199));
        assert_eq!(driver(root).as_deref(), Some("L4T R36 (release), REVISION: 4.3"));
        assert_eq!(read(root, "var/lib/nvpmodel/status").as_deref(), Some("pmode:0000"));
        assert_eq!(processor_name(root), None);
        write("proc/device-tree/model", "NVIDIA Jetson Orin NX\0");
        write("proc/cpuinfo", "processor\t: 0\nBogoMIPS\t: 62.50\n");
        assert_eq!(processor_name(root).as_deref(), Some("NVIDIA Jetson Orin NX"));
        write("proc/cpuinfo", "processor\t: 0\nmodel name\t: Some Processor @ 2 GHz\nflags\t: a\n");
        assert_eq!(processor_name(root).as_deref(), Some("Some Processor @ 2 GHz"));
    }
}
