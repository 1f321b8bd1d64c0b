//! Maps from a view's pixel to a camera's picture or to a canvas.

use crate::view::camera::MIDDLE;
use crate::view::pixel::{Columns, Pixel};
use crate::warp::lens::{Real, bend, closed};
use crate::warp::patch::Map;
use cuda_std::device;
// On the host, `core` or `std` provides these methods of `f32`.
#[cfg(target_arch = "nvptx64")]
use cuda_std::GpuFloat as _;
use glam::{Vec2, vec2};
use shared_types::view::{Rays, ViewCamera, ViewCanvas};
use shared_types::warp::Projection;

/// A map from the pixels of a tile to positions in a picture or on a canvas.
pub(super) trait TileMap {
    /// Returns the position for a pixel, or `None` if the lens or the projection cannot map the pixel.
    fn place(&self, pixel: Pixel) -> Option<Vec2>;
}

/// A map that interpolates positions along the thread's columns.
impl TileMap for Columns {
    #[device]
    fn place(&self, pixel: Pixel) -> Option<Vec2> {
        Some(self.at(pixel))
    }
}

/// A map that computes the exact position of each pixel.
impl<M: Map> TileMap for M {
    #[device]
    fn place(&self, pixel: Pixel) -> Option<Vec2> {
        Map::place(self, pixel.at)
    }
}

/// The map from a view's pixels through a camera's lens to its picture, which may be a panorama if `PANORAMAS`.
pub(super) struct LensMap<'a, const PANORAMAS: bool>(pub(super) &'a ViewCamera);

impl<const PANORAMAS: bool> Map for LensMap<'_, PANORAMAS> {
    /// Returns the texture coordinates of a view position.
    #[device]
    fn place(&self, at: Vec2) -> Option<Vec2> {
        let ViewCamera { rays, focal, centre, distortion, limit, lens, .. } = self.0;
        let [x, y] = bend::<_, PANORAMAS>(*lens, distortion, *limit, ray(rays, at))?;
        let centre = *centre + MIDDLE;
        let (x, y) = (x.mul_add(focal.x, centre.x), y.mul_add(focal.y, centre.y));
        let place = if PANORAMAS {
            vec2(closed(*lens, x, MIDDLE), closed(*lens, y, MIDDLE))
        } else {
            vec2(x, y)
        };
        // The coordinates overflow to infinity for a ray that is almost parallel to the picture plane.
        place.is_finite().then_some(place)
    }
}

/// The map from a view's pixels to positions on a canvas, which may be outside the canvas.
pub(super) struct CanvasMap<'a>(pub(super) &'a ViewCanvas);

impl Map for CanvasMap<'_> {
    /// Returns the canvas position that a view position shows.
    #[device]
    fn place(&self, at: Vec2) -> Option<Vec2> {
        let canvas = self.0;
        let [x, y, z] = ray(&canvas.rays, at);
        let p = match canvas.projection {
            Projection::CYLINDRICAL => vec2(Real::angle_from(x, z), y / x.mul_add(x, z * z).sqrt()),
            Projection::EQUIRECTANGULAR => {
                vec2(Real::angle_from(x, z), Real::angle_from(y, x.mul_add(x, z * z).sqrt()))
            }
            _ if z > 0.0 => vec2(x / z, y / z),
            _ => return None,
        };
        Some(p * canvas.scale + canvas.centre)
    }
}

/// Returns the ray through a view position. `at` is the position's offset from the view's centre, in pixels.
#[device]
pub(super) fn ray(Rays { middle, along, down }: &Rays, at: Vec2) -> [f32; 3] {
    let axis = |m: f32, a: f32, d: f32| at.x.mul_add(a, at.y.mul_add(d, m));
    [
        axis(middle.x, along.x, down.x),
        axis(middle.y, along.y, down.y),
        axis(middle.z, along.z, down.z),
    ]
}
