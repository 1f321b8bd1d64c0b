//! The option that limits the size of a panorama that a rig or a homography describes.

use std::path::Path;

use glam::UVec2;
use panoweave::geometry::MAX_CANVAS_AREA;

use crate::output::failure::Failure;

/// The limit on the size of a panorama whose size the user has not given.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct MaxPixels {
    /// Maximum number of pixels of the panorama that a rig or a homography describes. A stitch of two pictures takes
    /// about 45 bytes of memory per pixel. The default is 8192×4096; the highest value is twice as much.
    #[arg(long, value_name = "N", default_value_t = 1 << 25,
        value_parser = clap::value_parser!(u64).range(1..=MAX_CANVAS_AREA))]
    max_pixels: u64,
}

impl MaxPixels {
    /// Fails if the panorama that the file `map` describes has too many pixels.
    pub(crate) fn check(self, map: &Path, size: UVec2) -> Result<(), Failure> {
        let limit = self.max_pixels;
        if u64::from(size.x) * u64::from(size.y) <= limit {
            return Ok(());
        }
        Err(Failure::input(format!(
            "{}: the panorama is {}×{} pixels, but --max-pixels is {limit}; describe a smaller panorama, or raise --max-pixels (up to {MAX_CANVAS_AREA})",
            map.display(),
            size.x,
            size.y
        )))
    }
}
