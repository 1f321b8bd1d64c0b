//! Helpers shared by the test executables: devices, external data, reference results in f64, random rigs and skips.

pub mod alone;
mod devices;
pub mod live;
pub mod made_up;
pub mod number;
pub mod oracle;
pub mod random;
pub mod raster;
pub mod several;
pub mod skip;

use std::path::{Path, PathBuf};

use panoweave::device::Stream;
use panoweave::frame::FrameRef;
use panoweave::io::picture::Picture;
use panoweave::ops::colour::{Colours, matched};
use panoweave::ops::stitch::{Lookup, StitchOptions, Vignettes};
use panoweave::warp::DeviceWarp;

use skip::{Need, skip};

pub use devices::{first_gpu, gpu, panoweave_devices, runs_kernels};

/// Returns stitch options with which kernels read source coordinates from the warp's planes. With this lookup, kernels
/// interpolate in floating point, like the formulas in [`oracle`].
#[must_use]
pub fn by_planes() -> StitchOptions {
    StitchOptions { lookup: Lookup::Planes, ..StitchOptions::default() }
}

/// Returns the colours that match the pictures of a warp in their overlaps, or `None` if there is no estimate.
///
/// # Panics
/// Panics if the pictures do not match the warp, or the device fails.
#[must_use]
pub fn matched_pictures(
    stream: &Stream,
    pictures: &[&Picture],
    warp: &DeviceWarp,
    vignettes: &Vignettes,
) -> Option<Colours> {
    let images: Vec<_> = pictures.iter().map(|p| p.upload(stream).expect("a picture")).collect();
    let views: Vec<_> = images.iter().map(|image| FrameRef::Device(image.into())).collect();
    matched(stream, &views, warp, vignettes, None).expect("pictures of the warp")
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
