//! Launches the kernels of `conformance::traffic` on the first GPU, to count their memory traffic
//! with Nsight Compute. The argument is a file with the PTX of this crate.
//!
//! `ncu --metrics … traffic conformance.ptx`

#[path = "../tests/traffic/launches.rs"]
mod launches;

use std::error::Error;
use std::{env, fs};

use cust::typed::{Arch, Device, KernelModule, PtxImage, PtxText};

fn main() -> Result<(), Box<dyn Error>> {
    let file = env::args().nth(1).ok_or("usage: traffic FILE.ptx")?;
    let text = fs::read_to_string(&file).map_err(|e| format!("cannot read `{file}`: {e}"))?;
    // The module refers to its text for the rest of the program.
    let text = PtxText::Static(text.leak());
    let image = PtxImage { arch: Arch { major: 7, minor: 0 }, text };
    let module = KernelModule { package: "conformance", images: Box::leak(Box::new([image])) };
    launches::run(&Device::cuda_with(0, &[module])?)?;
    Ok(())
}
