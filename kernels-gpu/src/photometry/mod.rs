//! Photometric correction of a still picture: makes pictures of different exposure, white balance and vignetting match.
//!
//! The kernel corrects a picture in place, one thread per pixel. A level becomes light (a table inverts the response), the
//! light is multiplied by the gain and by the factors of the vignette and of the gain field, and the response turns it
//! back into a level. The `shoulder` then keeps highlights from being clipped or from turning gray.
//!
//! Live video does not use this kernel: a pass over the frames would take longer than the stitch.

#[cfg(not(target_arch = "nvptx64"))]
mod cpu;

use crate::colour::shoulder::shoulder;
use crate::colour::vignette::factor;
use crate::io::sixteen_bits;
use crate::unroll::unroll;
use cuda_std::prelude::*;
use glam::{Vec2, Vec3, vec2, vec3};
use shared_types::photometry::{BLOCK_THREADS, Correction, FieldGrid, Response};
use shared_types::{Rgba8, Rgba16};

/// Defines the kernel that corrects a picture in place, for a type of pixels whose channels are of type `$channel`.
/// `$round` rounds a level from 0 to 255 to a stored value.
macro_rules! photometry_correct {
    ($(#[$doc:meta])* $name:ident, $pixel:ident, $channel:ty, $round:path $(, $cpu:path)?) => {
        $(#[$doc])*
        ///
        /// `lights` contains the light of each value of a channel: the inverse of `correction.response`. `nodes` contains the
        /// factor of each node of `grid`. Nothing is written if one of them is shorter. Alpha does not change.
        #[kernel(launch_bounds(BLOCK_THREADS, 4) $(, cpu($cpu))?)]
        pub fn $name(
            correction: Correction,
            lights: Slice<f32>,
            grid: FieldGrid,
            nodes: Slice<f32>,
            picture: ViewMut<$pixel>,
        ) {
            let at = thread::index_2d();
            let complete = lights.len() > u32::from(<$channel>::MAX) && nodes.len() >= grid.count();
            if !picture.contains(at.x, at.y) || !complete {
                return;
            }
            // SAFETY: the picture contains the pixel, and the tables have an element for each value and node, as checked
            // above. Only this thread accesses the pixel.
            unsafe {
                let pixel = picture.load(at.x, at.y);
                let light = |value: $channel| lights.load(value.into());
                let rgb = vec3(light(pixel.r), light(pixel.g), light(pixel.b));
                let place = vec2(at.x as f32, at.y as f32);
                let field = field_factor(&grid, |node| nodes.load(node), place);
                let levels = corrected(&correction, rgb, field, place) * 255.0;
                let [r, g, b] = levels.to_array().map($round);
                picture.store(at.x, at.y, $pixel { r, g, b, a: pixel.a });
            }
        }
    };
}

photometry_correct! {
    /// Corrects a picture with 8 bits per channel in place.
    photometry_correct, Rgba8, u8, GpuPower::to_u8_saturating, cpu::correct
}

photometry_correct! {
    /// Corrects a picture with 16 bits per channel in place.
    photometry_correct_rgba16, Rgba16, u16, sixteen_bits
}

/// Returns the level (0 to 1) of a light; see [`Response`]. Above 1, the curve continues as a straight line.
#[device]
pub fn level(response: &Response, light: f32) -> f32 {
    let Response { a, b } = *response;
    if light > 1.0 {
        return 1.0 + (light - 1.0) * slope(response, 1.0);
    }
    light + light * (1.0 - light) * (a + b * (2.0 * light - 1.0))
}

/// Returns the derivative of [`level`] at a light from 0 to 1.
#[device]
pub fn slope(response: &Response, light: f32) -> f32 {
    let Response { a, b } = *response;
    1.0 + a * (1.0 - 2.0 * light) + b * (light * (6.0 - 6.0 * light) - 1.0)
}

/// Returns the factor of a gain field at a pixel position, or 1 without a field. `node` returns the factor of a node.
#[device]
fn field_factor(grid: &FieldGrid, node: impl Fn(u32) -> f32, place: Vec2) -> f32 {
    // The branch is uniform for the launch.
    if grid.nodes.min_element() < 3 {
        return 1.0;
    }
    // Positions outside the cells have the factor of the nearest edge.
    let at = ((place + 0.5) * grid.cells_per_pixel).clamp(Vec2::ZERO, (grid.nodes - 2).as_vec2());
    let first = at.as_uvec2().min(grid.nodes - 3);
    // The position in the cell, from 0 to 1.
    let Vec2 { x, y } = at - first.as_vec2();
    // The quadratic B-spline of three neighbouring nodes.
    let weights = |t: f32| [0.5 * (1.0 - t) * (1.0 - t), (t * (1.0 - t)) + 0.5, 0.5 * t * t];
    let (columns, rows) = (weights(x), weights(y));
    let mut factor = 0.0;
    unroll!(9, |i| {
        let index = (first.y + i as u32 / 3) * grid.nodes.x + first.x + i as u32 % 3;
        factor += columns[i % 3] * rows[i / 3] * node(index);
    });
    factor
}

/// Returns the first of the three nodes of a gain field that matter at a pixel along an axis, and their weights; see
/// `field_factor`. The axis has at least three nodes.
#[cfg(not(target_arch = "nvptx64"))]
#[must_use]
pub fn field_weights(pixel: f32, cells_per_pixel: f32, nodes: u32) -> (u32, [f32; 3]) {
    let at = ((pixel + 0.5) * cells_per_pixel).clamp(0.0, (nodes - 2) as f32);
    let first = (at as u32).min(nodes - 3);
    let t = at - first as f32;
    (first, [0.5 * (1.0 - t) * (1.0 - t), (t * (1.0 - t)) + 0.5, 0.5 * t * t])
}

/// Returns the corrected levels (0 to 1) of a pixel with these lights at a position in the picture, where the gain field
/// has the factor `field`.
#[device]
pub fn corrected(correction: &Correction, lights: Vec3, field: f32, place: Vec2) -> Vec3 {
    let gain = correction.gain * (factor(&correction.vignette, place) * field);
    let levels = |lights: Vec3| {
        let level = |light| level(&correction.response, light);
        vec3(level(lights.x), level(lights.y), level(lights.z))
    };
    shoulder(levels(lights * gain), levels(gain), Vec3::ONE, Vec3::ZERO)
        .clamp(Vec3::ZERO, Vec3::ONE)
}
