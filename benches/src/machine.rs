//! Describes the machine of a bench: the processor, or the GPU with its driver, its current clocks and, on Jetson, the
//! power mode.
//!
//! The CUDA driver reports the maximum clocks, and `nvidia-smi` reports the current clocks. On Jetson, `nvidia-smi`
//! does not report clocks. There, the Linux kernel reports the GPU's clock in `devfreq`, and the memory's clock (EMC)
//! in debug files of the power processor, which only root may read. The record lacks unknown values. This module does
//! not change any setting of the machine.

use std::fs;
use std::path::Path;
use std::process::Command;

use cust::device::{Device as Gpu, DeviceAttribute as Attribute};
use panoweave::device::CudaInfo;
use panoweave_bench_report::Run;

/// Describes the GPU in its current state.
pub(crate) fn gpu(gpu: &CudaInfo) -> Run {
    let attribute = |which| {
        let value = Gpu::get_device(gpu.ordinal).and_then(|gpu| gpu.get_attribute(which));
        value.ok().and_then(|value| u32::try_from(value).ok()).filter(|value| *value > 0)
    };
    let address = [Attribute::PciDomainId, Attribute::PciBusId, Attribute::PciDeviceId];
    let [version, sm, memory] = nvidia_smi(address.map(attribute));
    let system = Path::new("/");
    let mhz = |clock: Option<u32>| clock.map(|mhz| format!("{mhz} MHz"));
    let most = |which| mhz(attribute(which).map(|khz| khz / 1000));
    let found = |smi: Option<String>, jetson: fn(&Path) -> Option<u32>| {
        mhz(smi.and_then(|mhz| mhz.parse().ok()).or_else(|| jetson(system)))
    };
    let clock_and_width =
        [Attribute::MemoryClockRate, Attribute::GlobalMemoryBusWidth].map(attribute);
    let bus = if let [Some(khz), Some(bits)] = clock_and_width {
        // Memory transfers twice per clock.
        let peak = 2.0 * f64::from(khz) * f64::from(bits) / 8e6;
        Some(format!("{bits} bits wide, {peak:.0} GB/s at the maximum clock"))
    } else {
        None
    };
    let cuda = cust::driver().ok().and_then(|driver| driver.cuda_version());
    let described = format!(
        "compute capability {}.{}, {} multiprocessors, {:.0} GiB",
        gpu.arch.major,
        gpu.arch.minor,
        gpu.multiprocessors,
        gpu.memory as f64 / f64::from(1 << 30)
    );
    run(
        gpu.name.clone(),
        [
            ("GPU", Some(described)),
            ("Driver", version.or_else(|| driver(system))),
            ("CUDA version of the driver", cuda.map(|(major, minor)| format!("{major}.{minor}"))),
            ("SM clock, measured", found(sm, jetson_gpu_mhz)),
            ("SM clock, maximum", most(Attribute::ClockRate)),
            ("Memory clock, measured", found(memory, jetson_memory_mhz)),
            ("Memory clock, maximum", most(Attribute::MemoryClockRate)),
            ("Memory bus", bus),
        ],
    )
}

/// Describes the processor, which runs the kernels if a bench measures the CPU backend.
pub(crate) fn processor() -> Run {
    let name = processor_name(Path::new("/")).unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let threads = std::thread::available_parallelism().ok();
    run(name, [("Threads", threads.map(|threads| threads.to_string()))])
}

/// Returns a run on `device` with all `facts` that are known.
fn run<const N: usize>(device: String, facts: [(&str, Option<String>); N]) -> Run {
    let date = said(Command::new("date").args(["-u", "+%F"])).map(|date| date.trim().to_owned());
    let others = [("Power mode", power_mode(Path::new("/"))), ("Measured", date)];
    let facts = facts.into_iter().chain(others);
    Run {
        device,
        commit: std::env::var("PANOWEAVE_COMMIT").unwrap_or_default(),
        facts: facts.filter_map(|(name, fact)| Some((name.to_owned(), fact?))).collect(),
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

/// Asks `nvidia-smi` for the driver's version and the clocks of multiprocessors and memory in MHz. Names the GPU by its
/// PCI address, because `nvidia-smi` and CUDA number GPUs differently.
fn nvidia_smi(address: [Option<u32>; 3]) -> [Option<String>; 3] {
    let mut command = Command::new("nvidia-smi");
    command.args(["--query-gpu=driver_version,clocks.sm,clocks.mem"]);
    command.arg("--format=csv,noheader,nounits");
    let [domain, bus, device] = address.map(Option::unwrap_or_default);
    command.arg(format!("--id={domain:08x}:{bus:02x}:{device:02x}.0"));
    parse_smi(&said(&mut command).unwrap_or_default())
}

/// Parses the output of `nvidia-smi`. On Jetson, it prints `[N/A]` for many values.
fn parse_smi(text: &str) -> [Option<String>; 3] {
    let mut cells = text.lines().next().unwrap_or_default().split(',').map(str::trim);
    let is_known = |cell: &&str| cell.starts_with(|c: char| c.is_ascii_digit());
    [(); 3].map(|()| cells.next().filter(is_known).map(str::to_owned))
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
        let parsed = |text| parse_smi(text).map(Option::unwrap_or_default);
        assert_eq!(parsed("580.95.05, 1980, 2619\n"), ["580.95.05", "1980", "2619"]);
        assert_eq!(parsed("540.4.0, [N/A], [N/A]\n"), ["540.4.0", "", ""]);
        assert_eq!(parsed("No devices were found\n"), [""; 3]);
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
