//! Helpers shared by the test executables: devices, external data, reference results in f64, random rigs and skips.

pub mod alone;
mod devices;
pub mod live;
pub mod made_up;
pub mod oracle;
pub mod random;
pub mod raster;
pub mod several;
pub mod skip;

use std::path::{Path, PathBuf};

use panoweave::ops::stitch::{Lookup, StitchOptions};

use skip::{Need, skip};

pub use devices::{first_gpu, gpu, panoweave_devices, runs_kernels};

/// Returns stitch options with which kernels read source coordinates from the warp's planes. With this lookup, kernels
/// interpolate in floating point, like the formulas in [`oracle`].
#[must_use]
pub fn by_planes() -> StitchOptions {
    StitchOptions { lookup: Lookup::Planes, ..StitchOptions::default() }
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
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data"),
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
