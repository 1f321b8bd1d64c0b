//! The simulated cameras of the soak: their rig and their NV12 frames. The exposure of all cameras but the first
//! changes during the run, so that the colour correction has differences to correct.
//!
//! All frames show the same pattern, because the soak does not check the content of the panoramas.

use std::time::{Duration, Instant};

use panoweave::frame::{FrameFormat, PixelFormat, Range, YuvEncoding, YuvMatrix};
use panoweave::geometry::rig::{Rig, RigError};
use panoweave::live::{LiveError, Session};

use crate::run::Switches;

/// Pixel format of the camera frames and the panoramas.
pub(crate) const PIXELS: PixelFormat =
    PixelFormat::Nv12(YuvEncoding { matrix: YuvMatrix::Bt709, range: Range::Limited });

/// Number of different exposures of the right camera's frames.
const EXPOSURES: usize = 8;

/// The time after which the right camera changes to its next exposure.
const DRIFT: Duration = Duration::from_millis(700);

/// Returns the rig in `rigs/home.toml`: two 3840×2160 cameras make a 5700×1900 panorama.
pub(crate) fn home() -> Result<Rig, RigError> {
    Rig::parse(include_str!("../../rigs/home.toml"), "rigs/home.toml")
}

/// Returns the rig with all pictures and the panorama downscaled by `shrink`.
pub(crate) fn shrunk(mut rig: Rig, shrink: u32) -> Rig {
    rig.panorama.width /= shrink;
    rig.panorama.height /= shrink;
    let by = f64::from(shrink);
    for camera in &mut rig.cameras {
        camera.size = camera.size.map(|side| side / shrink);
        let Some(mount) = camera.mount_mut() else { continue };
        let k = &mut mount.matrix;
        (k.fx, k.fy) = (k.fx / by, k.fy / by);
        (k.cx, k.cy) = ((k.cx + 0.5) / by - 0.5, (k.cy + 0.5) / by - 0.5);
    }
    rig
}

/// A simulated camera.
pub(crate) struct MadeUpCamera {
    which: usize,
    format: FrameFormat,
    exposures: Vec<Vec<u8>>,
    period: Duration,
}

impl MadeUpCamera {
    pub(crate) fn new(which: usize, format: FrameFormat, fps: f64) -> Self {
        // The exposure of the first camera does not change.
        let exposures = match which {
            0 => 1,
            _ => EXPOSURES,
        };
        let exposures = (0..exposures).map(|i| frame(format, 1.0 - 0.05 * i as f64)).collect();
        Self { which, format, exposures, period: Duration::from_secs_f64(1.0 / fps) }
    }

    /// Pushes frames until the soak is over, except while the camera is switched off. Skips frames whose time has
    /// already passed. Adds a random jitter of up to a fifth of the time between two frames to each timestamp.
    pub(crate) fn film(
        &self,
        session: &Session,
        start: Instant,
        switches: &Switches,
    ) -> Result<(), LiveError> {
        let mut state = 1 + self.which as u32;
        let mut number = 0;
        while !switches.is_over() {
            number = (number + 1).max(start.elapsed().div_duration_f64(self.period) as u32);
            let time = self.period * number;
            std::thread::sleep(time.saturating_sub(start.elapsed()));
            if !switches.is_on(self.which) {
                continue;
            }
            std::thread::sleep(switches.faults.lateness(self.which));
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let jitter = self.period.mul_f64(f64::from(state >> 16) / f64::from(1 << 16) / 5.0);
            // The exposure decreases step by step and then increases again.
            let step = (time.as_nanos() / DRIFT.as_nanos()) as usize % (2 * self.exposures.len());
            let exposure = step.min(2 * self.exposures.len() - 1 - step);
            let frame = panoweave::frame::Frame::tight(self.format, &self.exposures[exposure]);
            let frame = frame.expect("the exposures have the session's format");
            let timestamp = switches.faults.stamp(self.which, time + jitter);
            session.push(self.which, frame, timestamp)?;
            switches.count_pushed();
        }
        Ok(())
    }
}

/// Returns a frame with a patterned gradient, whose brightness is multiplied by `exposure`.
fn frame(format: FrameFormat, exposure: f64) -> Vec<u8> {
    let (width, luma) = (format.size.x as usize, format.size.element_product() as usize);
    let mut bytes = vec![128; format.bytes()];
    for (i, level) in bytes[..luma].iter_mut().enumerate() {
        let (x, y) = (i % width, i / width);
        let scene = 40.0 + 100.0 * x as f64 / width as f64 + ((x / 7 + y / 5) % 16) as f64;
        *level = (16.0 + scene * exposure) as u8;
    }
    bytes
}
