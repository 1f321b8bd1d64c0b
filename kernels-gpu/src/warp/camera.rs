//! One camera of a warp: looks up its source coordinates and its weight for a panorama pixel.

use cuda_std::device;
use glam::{UVec2, Vec2, vec2};
use shared_types::texture::TexturedCameraPlanes;
use shared_types::warp::CameraPlanes;

/// The weight and coordinate planes of one camera, in buffers or in textures.
pub(crate) trait Planes: Copy {
    /// Returns whether the planes contain panorama pixel `(x, y)`.
    fn contains(&self, x: u32, y: u32) -> bool;

    /// Returns the camera's weight at a panorama pixel.
    ///
    /// # Safety
    /// The caller must ensure that the planes contain the pixel.
    unsafe fn weight(&self, x: u32, y: u32) -> f32;

    /// Returns the source coordinates of a panorama pixel.
    ///
    /// # Safety
    /// The caller must ensure that the planes contain the pixel.
    unsafe fn place(&self, x: u32, y: u32) -> Vec2;
}

impl Planes for CameraPlanes {
    #[device]
    fn contains(&self, x: u32, y: u32) -> bool {
        CameraPlanes::contains(self, x, y)
    }

    #[device]
    unsafe fn weight(&self, x: u32, y: u32) -> f32 {
        // SAFETY: the caller guarantees that the planes contain the pixel.
        unsafe { CameraPlanes::weight(self, x, y) }
    }

    #[device]
    unsafe fn place(&self, x: u32, y: u32) -> Vec2 {
        // SAFETY: the caller guarantees that the planes contain the pixel.
        unsafe { CameraPlanes::place(self, x, y) }
    }
}

/// Planes in textures. Reads are at texel centres, where the texture filter returns the exact value.
impl Planes for TexturedCameraPlanes {
    #[device]
    fn contains(&self, x: u32, y: u32) -> bool {
        x < self.width && y < self.height
    }

    #[device]
    unsafe fn weight(&self, x: u32, y: u32) -> f32 {
        self.weight.read(x as f32 + 0.5, y as f32 + 0.5).x
    }

    #[device]
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
    /// Returns the source coordinates of panorama pixel `(x, y)` and the camera's weight at this pixel. Returns `None`
    /// if the camera does not contribute, because the coordinates are outside its picture, or the weight is at most
    /// `min_weight`.
    #[device]
    pub(crate) fn source(&self, x: u32, y: u32, min_weight: f32) -> Option<(Vec2, f32)> {
        if !self.planes.contains(x, y) {
            return None;
        }
        // SAFETY: the planes contain the pixel, as just checked.
        let weight = unsafe { self.planes.weight(x, y) };
        // Read the coordinates only if the weight is large enough. A NaN weight fails this test.
        if weight > min_weight {
            // SAFETY: the planes contain the pixel, as just checked.
            let place = unsafe { self.planes.place(x, y) };
            return is_inside(self.size, place).then_some((place, weight));
        }
        None
    }
}

/// Returns whether `place` is inside a picture of `size` pixels. Returns false for NaN.
#[device]
pub(crate) fn is_inside(size: UVec2, place: Vec2) -> bool {
    let (w, h) = (size.x as f32, size.y as f32);
    // A NaN fails all four comparisons.
    place.x >= 0.0 && place.x < w && place.y >= 0.0 && place.y < h
}
