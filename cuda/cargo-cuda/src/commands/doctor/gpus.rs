//! Checks the driver and the GPUs.

use cust::typed::{Arch, CudaInfo, Device, KernelModule, PtxImage, PtxText};

use super::{Finding, State};
use crate::gpu;

/// The name of the lines about GPUs, before the ordinal.
const GPU: &str = "GPU ";

/// An empty kernel. A GPU that loads it also runs kernels of the default architecture.
const PROBE: KernelModule = KernelModule {
    package: "cargo-cuda",
    images: &[
        image(
            0,
            ".version 6.0\n.target sm_70\n.address_size 64\n.visible .entry probe()\n{\n\tret;\n}\n",
        ),
        image(
            5,
            ".version 6.3\n.target sm_75\n.address_size 64\n.visible .entry probe()\n{\n\tret;\n}\n",
        ),
    ],
};

const fn image(minor: u32, text: &'static str) -> PtxImage {
    PtxImage { arch: Arch { major: 7, minor }, text: PtxText::Static(text) }
}

/// Returns a line for the driver and a line for each GPU.
pub(super) fn check() -> Vec<Finding> {
    let driver = match cust::driver() {
        Ok(driver) => {
            let version = driver.cuda_version().map_or("?".to_owned(), |(a, b)| format!("{a}.{b}"));
            Finding::new(State::Ok, "driver", format!("supports CUDA {version}"))
        }
        Err(error) => return vec![Finding::new(State::Missing, "driver", error.to_string())],
    };
    let gpus = match gpu::required() {
        Ok(all) => all.iter().map(one).collect(),
        Err(error) => vec![Finding::new(State::Missing, "GPU", error.to_string())],
    };
    std::iter::once(driver).chain(gpus).collect()
}

/// Returns whether a line with this name is about a GPU.
pub(super) fn is_gpu(name: &str) -> bool {
    name.starts_with(GPU)
}

/// Loads a kernel on the GPU and returns its line.
fn one(gpu: &CudaInfo) -> Finding {
    let name = format!("{GPU}{}", gpu.ordinal);
    let memory = gpu.memory as f64 / f64::from(1_u32 << 30);
    let text = format!("{}, {}, {memory:.0} GiB", gpu.name, gpu.arch);
    match Device::cuda_with(gpu.ordinal, &[PROBE]) {
        Ok(_) => Finding::new(State::Ok, name, format!("{text}; kernels run")),
        Err(error) => Finding::new(
            State::Missing,
            name,
            format!("{text}; cannot load a kernel: {}", error.kind),
        ),
    }
}
