//! One camera of a warp: where its picture shows a panorama pixel, and whether it counts there.

use glam::{UVec2, Vec2, vec2};
use shared_types::texture::TexturedCameraPlanes;
use shared_types::warp::CameraPlanes;

/// One camera's planes, wherever they lie.
pub(crate) trait Planes: Copy {
    /// Whether panorama pixel `(x, y)` is in the planes.
    fn contains(&self, x: u32, y: u32) -> bool;

    /// How much the camera counts at a panorama pixel.
    ///
    /// # Safety
    /// It is in the planes.
    unsafe fn weight(&self, x: u32, y: u32) -> f32;

    /// Where the camera's picture shows a panorama pixel.
    ///
    /// # Safety
    /// It is in the planes.
    unsafe fn place(&self, x: u32, y: u32) -> Vec2;
}

impl Planes for CameraPlanes {
    #[inline(always)]
    fn contains(&self, x: u32, y: u32) -> bool {
        CameraPlanes::contains(self, x, y)
    }

    #[inline(always)]
    unsafe fn weight(&self, x: u32, y: u32) -> f32 {
        // SAFETY: as the caller vouches.
        unsafe { CameraPlanes::weight(self, x, y) }
    }

    #[inline(always)]
    unsafe fn place(&self, x: u32, y: u32) -> Vec2 {
        // SAFETY: as the caller vouches.
        unsafe { CameraPlanes::place(self, x, y) }
    }
}

/// Read in the middle of texels, so that their filter has nothing to do.
impl Planes for TexturedCameraPlanes {
    #[inline(always)]
    fn contains(&self, x: u32, y: u32) -> bool {
        x < self.width && y < self.height
    }

    #[inline(always)]
    unsafe fn weight(&self, x: u32, y: u32) -> f32 {
        self.weight.read(x as f32 + 0.5, y as f32 + 0.5).x
    }

    #[inline(always)]
    unsafe fn place(&self, x: u32, y: u32) -> Vec2 {
        let at = vec2(x as f32 + 0.5, y as f32 + 0.5);
        vec2(self.x.read(at.x, at.y).x, self.y.read(at.x, at.y).x)
    }
}

/// A camera's planes, and the size of its picture.
#[derive(Clone, Copy)]
pub(crate) struct SourceLookup<P = CameraPlanes> {
    pub(crate) planes: P,
    pub(crate) size: UVec2,
}

impl<P: Planes> SourceLookup<P> {
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
