//! Helpers shared by the test executables: devices, external data, reference results in f64, random rigs and skips.

mod devices;
pub mod live;
pub mod made_up;
pub mod number;
pub mod oracle;
pub mod random;
pub mod raster;
pub mod several;

use panoweave::device::Stream;
use panoweave::frame::FrameRef;
use panoweave::io::picture::Picture;
use panoweave::ops::colour::{Colours, matched};
use panoweave::ops::stitch::{Lookup, LookupError, StitchError, StitchOptions, Vignettes};
use panoweave::warp::DeviceWarp;

pub use devices::{gpu, panoweave_devices, runs_kernels};
pub use kit_tests::{alone, data, first_gpu, project, ptx, skip};

/// Returns stitch options with which kernels read source coordinates from the warp's planes. With this lookup, kernels
/// interpolate in floating point, like the formulas in [`oracle`].
#[must_use]
pub fn by_planes() -> StitchOptions {
    StitchOptions { lookup: Lookup::Planes, ..StitchOptions::default() }
}

/// Returns the result of a stitch, or `None` if its lookup does not support it. `auto` and `planes` support all stitches.
///
/// # Panics
/// Panics if there is another error.
pub fn supported<T>(found: Result<T, StitchError>) -> Option<T> {
    match found {
        Err(StitchError::Lookup(LookupError { lookup, .. }))
            if ![Lookup::Auto, Lookup::Planes].contains(&lookup) =>
        {
            None
        }
        found => Some(found.expect("a stitch")),
    }
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
