//! Photometric correction of a still picture: makes pictures of different exposure, white balance and vignetting match.
//!
//! The kernel corrects a picture in place, one thread per pixel. A level becomes light (a table inverts the response),
//! the light is multiplied by the gain and by the factor of the vignette, and the response turns it back into a level.
//! `shoulder` then keeps highlights from being clipped or from turning gray.
//!
//! Live video does not use this kernel: a pass over the frames would take longer than the stitch.

use crate::colour::vignette::factor;
use crate::io::sixteen_bits;
use cuda_std::prelude::*;
use glam::{Vec2, Vec3, vec2, vec3};
use shared_types::photometry::{BLOCK_THREADS, Correction, Response};
use shared_types::{Rgba8, Rgba16};

/// The level, as a fraction of white, above which the shoulder of a brightened picture begins.
const KNEE: f32 = 0.9;

/// The fraction of the largest level from which a darkened picture is raised to white. Levels above it may be clipped.
const NEARLY_CLIPPED: f32 = 0.96;

/// Defines the kernel that corrects a picture in place, for a type of pixels whose channels are of type `$channel`.
/// `$round` rounds a level from 0 to 255 to a stored value.
macro_rules! photometry_correct {
    ($(#[$doc:meta])* $name:ident, $pixel:ident, $channel:ty, $round:path) => {
        $(#[$doc])*
        ///
        /// `lights` contains the light of each value of a channel: the inverse of `correction.response`. Nothing is written
        /// if it is shorter. Alpha does not change.
        #[kernel(launch_bounds(BLOCK_THREADS, 4))]
        pub fn $name(correction: Correction, lights: Slice<f32>, picture: ViewMut<$pixel>) {
            let at = thread::index_2d();
            if !picture.contains(at.x, at.y) || lights.len() <= u32::from(<$channel>::MAX) {
                return;
            }
            // SAFETY: the picture contains the pixel and the table has an element for each value, as checked above. Only
            // this thread accesses the pixel.
            unsafe {
                let pixel = picture.load(at.x, at.y);
                let light = |value: $channel| lights.load(value.into());
                let rgb = vec3(light(pixel.r), light(pixel.g), light(pixel.b));
                let levels = corrected(&correction, rgb, vec2(at.x as f32, at.y as f32)) * 255.0;
                let [r, g, b] = levels.to_array().map($round);
                picture.store(at.x, at.y, $pixel { r, g, b, a: pixel.a });
            }
        }
    };
}

photometry_correct! {
    /// Corrects a picture with 8 bits per channel in place.
    photometry_correct, Rgba8, u8, GpuPower::to_u8_saturating
}

photometry_correct! {
    /// Corrects a picture with 16 bits per channel in place.
    photometry_correct_rgba16, Rgba16, u16, sixteen_bits
}

/// Returns the level (0 to 1) of a light; see [`Response`]. Above 1, the curve continues as a straight line.
#[inline(always)]
pub fn level(response: &Response, light: f32) -> f32 {
    let Response { a, b } = *response;
    if light > 1.0 {
        return 1.0 + (light - 1.0) * slope(response, 1.0);
    }
    light + light * (1.0 - light) * (a + b * (2.0 * light - 1.0))
}

/// Returns the derivative of [`level`] at a light from 0 to 1.
#[inline(always)]
pub fn slope(response: &Response, light: f32) -> f32 {
    let Response { a, b } = *response;
    1.0 + a * (1.0 - 2.0 * light) + b * (light * (6.0 - 6.0 * light) - 1.0)
}

/// Returns the corrected levels (0 to 1) of a pixel with these lights at a position in the picture.
#[inline(always)]
pub fn corrected(correction: &Correction, lights: Vec3, place: Vec2) -> Vec3 {
    let gain = correction.gain * factor(&correction.vignette, place);
    let channel = |light: f32, gain: f32| {
        let shown = level(&correction.response, light * gain);
        shoulder(shown, level(&correction.response, gain))
    };
    vec3(channel(lights.x, gain.x), channel(lights.y, gain.y), channel(lights.z, gain.z))
}

/// Maps levels from 0 to `most` to levels from 0 to 1. `most` is the corrected level of white.
///
/// If `most` exceeds 1, levels above [`KNEE`] are compressed instead of clipped, so that bright areas keep their hue and
/// texture (the extended curve of Reinhard et al. 2002). If `most` is below 1, clipped areas would turn gray, so the
/// highest levels are raised to white. All other levels stay as they are.
#[inline(always)]
fn shoulder(level: f32, most: f32) -> f32 {
    let raised = if most > 1.0 {
        let (u, white) = ((level - KNEE) / (1.0 - KNEE), (most - KNEE) / (1.0 - KNEE));
        if level > KNEE {
            KNEE + (1.0 - KNEE) * u * (1.0 + u / (white * white)) / (1.0 + u)
        } else {
            level
        }
    } else {
        let t = ((level / most - NEARLY_CLIPPED) / (1.0 - NEARLY_CLIPPED)).max(0.0);
        level + (1.0 - most) * t * t
    };
    raised.clamp(0.0, 1.0)
}
