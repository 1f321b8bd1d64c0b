//! The description of a camera pair in a crowd: the cameras, their frames, the frame rate, and the stitcher's memory.

use std::time::Duration;

use panoweave::frame::{FrameFormat, PixelFormat};
use panoweave::geometry::Geometry;
use panoweave::live::LiveOptions;

use crate::{NV12, home_geometry_for, noise};

/// The way in which frames reach a stitcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feed {
    /// The camera's driver writes frames directly into page-locked memory.
    InPlace,
    /// The processor copies frames into page-locked memory.
    Copied,
}

/// The description that all camera pairs of a crowd share.
#[derive(Debug)]
pub struct Pair {
    pub(super) geometry: Geometry,
    pub(super) formats: [FrameFormat; 3],
    pub(super) frames: [Vec<u8>; 2],
    pub(super) period: Duration,
    pub(super) feed: Feed,
}

impl Pair {
    /// Creates the description of a camera pair with the home rig's two cameras, at `fps` frames per second. The frames
    /// are scaled to `rows` rows. Frames and panorama are in NV12.
    ///
    /// # Panics
    /// Panics if `fps` is not a number above 0.
    #[must_use]
    pub fn new(rows: u32, fps: f64, feed: Feed) -> Self {
        let geometry = home_geometry_for(rows).expect("the home rig");
        let [left, right] = [0, 1].map(|i| geometry.cameras[i].size);
        let formats = [left, right, geometry.canvas.size]
            .map(|size| FrameFormat { size, pixels: PixelFormat::Nv12(NV12) });
        let frames = [noise(formats[0], 1), noise(formats[1], 2)];
        let period = Duration::from_secs_f64(1.0 / fps);
        Self { geometry, formats, frames, period, feed }
    }

    /// Returns the formats of the left frame, the right frame and the panorama.
    #[must_use]
    pub fn formats(&self) -> [FrameFormat; 3] {
        self.formats
    }

    /// Returns the geometry of the two cameras and of the panorama.
    #[must_use]
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Returns the time between frames.
    #[must_use]
    pub fn period(&self) -> Duration {
        self.period
    }

    /// Returns the number of bytes copied to the device per panorama, and the number copied back to the host.
    #[must_use]
    pub fn bytes(&self) -> [u64; 2] {
        let [left, right, out] = self.formats.map(|format| format.bytes() as u64);
        [left + right, out]
    }

    pub(super) fn options(&self) -> LiveOptions {
        let pixels = PixelFormat::Nv12(NV12);
        let tolerance = self.period.mul_f64(0.4);
        LiveOptions { input: pixels.into(), output: pixels, tolerance, ..LiveOptions::default() }
    }

    /// Returns estimates of the device memory and the page-locked memory that a stitcher takes, in bytes. Ignores the
    /// mesh of the warp, which is much smaller than its planes.
    #[must_use]
    pub fn memory(&self) -> [u64; 2] {
        let slots = self.options().slots as u64;
        let [up, down] = self.bytes();
        let frames = (slots + 2) * up + slots * down;
        let planes = 6 * 4 * u64::from(self.geometry.canvas.size.element_product());
        // Add 10 % for the padding of rows in device memory.
        [(frames + planes) * 11 / 10, frames]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_that_of_the_formats() {
        let pair = Pair::new(2160, 30.0, Feed::InPlace);
        // A pair uploads two NV12 frames of 3840·2160·1.5 bytes, and downloads a panorama of 5700·1900·1.5 bytes.
        assert_eq!(pair.bytes(), [24_883_200, 16_245_000]);
        let frames = 6 * 24_883_200 + 4 * 16_245_000;
        assert_eq!(pair.memory(), [(frames + 24 * 5700 * 1900) * 11 / 10, frames]);
    }
}
