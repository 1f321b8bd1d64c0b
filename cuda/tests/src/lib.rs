//! Helpers for tests: skips, external data, the first GPU, processes of their own, PTX texts, and cargo in other
//! workspaces.

pub mod alone;
pub mod project;
pub mod ptx;
pub mod skip;

use std::path::{Path, PathBuf};

use cust::typed::{Device, KernelModule};

use skip::{Need, skip};

/// Returns the first GPU with `modules` loaded. If there is none, reports a skip and returns `None`.
///
/// # Panics
/// Panics if there is no GPU and `PANOWEAVE_REQUIRE` lists `gpu`, or if the GPU does not work.
#[must_use]
pub fn first_gpu(modules: &[KernelModule]) -> Option<Device> {
    match Device::cuda_with(0, modules) {
        Ok(device) => Some(device),
        Err(e) if e.is_no_device() => {
            skip(Need::Gpu, &e.kind);
            None
        }
        Err(e) => panic!("the GPU cannot be used: {e}"),
    }
}

/// Returns the path of a file of the external test data. If the file is missing, reports a skip and returns `None`.
///
/// This data is not in the repository. The environment variable `PANOWEAVE_DATA` names its folder. If the variable is
/// not set, the folder is `../shared/data` relative to the repository's root.
#[must_use]
pub fn data(relative: impl AsRef<Path>) -> Option<PathBuf> {
    let relative = relative.as_ref();
    let root = match std::env::var_os("PANOWEAVE_DATA") {
        Some(root) => PathBuf::from(root),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
    };
    let path = root.join(relative);
    if path.exists() {
        return Some(path);
    }
    skip(
        Need::Data,
        format_args!("{} is missing; set PANOWEAVE_DATA to the test data", path.display()),
    );
    None
}
