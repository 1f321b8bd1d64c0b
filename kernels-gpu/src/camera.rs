//! One camera of a warp: where its picture shows a panorama pixel, and whether it counts there.

use glam::{UVec2, Vec2};
use shared_types::warp::CameraPlanes;

/// A camera's planes, and the size of its picture.
#[derive(Clone, Copy)]
pub(crate) struct Camera {
    pub(crate) planes: CameraPlanes,
    pub(crate) size: UVec2,
}

impl Camera {
    /// Where the camera's picture shows `(x, y)`, and the camera's weight, if it counts there: inside of
    /// the picture, with a weight over `min_weight`.
    #[inline(always)]
    pub(crate) fn source(&self, x: u32, y: u32, min_weight: f32) -> Option<(Vec2, f32)> {
        if !self.planes.contains(x, y) {
            return None;
        }
        // SAFETY: inside, as just checked.
        let weight = unsafe { self.planes.weight(x, y) };
        // Where it is too small, or a NaN, the coordinates are not read.
        if weight > min_weight {
            // SAFETY: inside, as just checked.
            let place = unsafe { self.planes.place(x, y) };
            return is_inside(self.size, place).then_some((place, weight));
        }
        None
    }
}

/// Whether `place` is inside of a picture of `size`.
#[inline(always)]
pub(crate) fn is_inside(size: UVec2, place: Vec2) -> bool {
    let (w, h) = (size.x as f32, size.y as f32);
    // A NaN fails all four.
    place.x >= 0.0 && place.x < w && place.y >= 0.0 && place.y < h
}
