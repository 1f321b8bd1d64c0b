//! Helpers that several test files share.

pub mod alone;
pub mod conformance;
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

pub use devices::{first_gpu, gpu, panoweave_devices};

/// Stitches by planes with samples in floating point, which is what formulas hold for.
#[must_use]
pub fn by_planes() -> StitchOptions {
    StitchOptions { lookup: Lookup::Planes, ..StitchOptions::default() }
}

/// The path of a test datum with outside truth, or `None`, with a line on stderr, where it is missing.
///
/// Such data stay out of the repository. They are looked for in the directory that the environment
/// variable `PANOWEAVE_DATA` names, or else in `../shared/data` beside the repository.
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
