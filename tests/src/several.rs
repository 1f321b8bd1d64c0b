//! Simulated cameras on one planar canvas, and a reference session that computes the canvas in f64.

use glam::{DMat3, DVec2, UVec2, uvec2};
use panoweave::geometry::Geometry;
use panoweave::io::picture::Picture;
use shared_types::Rgba8;
use shared_types::warp::{Camera, Canvas};

use crate::random::Random;

/// Size of the canvas of [`made_up`].
pub const CANVAS: UVec2 = uvec2(97, 61);

/// Returns two to six cameras with random rotations, scales and positions on a planar canvas, and their pictures.
/// `pixel` is called with a column and a row, and returns the pixel there.
///
/// # Panics
/// Never panics, because the pictures are valid.
#[must_use]
pub fn made_up(
    seed: u64,
    pixel: impl Fn(&mut Random, u32, u32) -> Rgba8,
) -> (Geometry, Vec<Picture>) {
    made_up_of(seed, 2 + seed as usize % 5, pixel)
}

/// Returns a geometry and pictures like [`made_up`], but of the given number of cameras.
///
/// # Panics
/// Never panics, because the pictures are valid.
#[must_use]
pub fn made_up_of(
    seed: u64,
    count: usize,
    pixel: impl Fn(&mut Random, u32, u32) -> Rgba8,
) -> (Geometry, Vec<Picture>) {
    let mut random = Random::new(seed);
    let r = &mut random;
    let canvas = Canvas::of_pixels(DVec2::ZERO, CANVAS);
    let (mut cameras, mut pictures) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let size = uvec2(20 + r.below(50) as u32, 20 + r.below(40) as u32);
        let (angle, scale) = (r.between(-0.3, 0.3).into(), r.between(0.7, 1.4).into());
        let place = DVec2::new(r.between(0.0, 70.0).into(), r.between(0.0, 40.0).into());
        let to_canvas = DMat3::from_scale_angle_translation(DVec2::splat(scale), angle, place);
        cameras.push(Camera::from_matrix(to_canvas.inverse(), size));
        let places = (0..size.y).flat_map(|y| (0..size.x).map(move |x| (x, y)));
        let pixels = places.map(|(x, y)| pixel(r, x, y)).collect();
        pictures.push(Picture::from_pixels(size.x, size.y, pixels).expect("a picture"));
    }
    (Geometry { canvas, cameras }, pictures)
}

/// Returns a random opaque pixel for any column and row.
pub fn noise(random: &mut Random, _: u32, _: u32) -> Rgba8 {
    let [r, g, b] = [0, 1, 2].map(|_| random.below(256) as u8);
    Rgba8::opaque(r, g, b)
}

/// Returns the point to which a homography maps `at`.
#[must_use]
pub fn project(homography: &DMat3, at: DVec2) -> DVec2 {
    let at = *homography * at.extend(1.0);
    at.truncate() / at.z
}

/// Returns the position of a canvas pixel in a camera's picture, and the distance from this position to the nearest
/// edge of the picture as a fraction of the picture's shorter side. Returns `None` if the position is outside the
/// picture.
#[must_use]
pub fn place(camera: &Camera, x: u32, y: u32) -> Option<(DVec2, f64)> {
    let at = project(&camera.from_ray, DVec2::new(x.into(), y.into()));
    let size = camera.size.as_dvec2();
    let inside = at.x >= 0.0 && at.y >= 0.0 && at.x < size.x && at.y < size.y;
    inside.then(|| (at, (at + 1.0).min(size - at).min_element() / size.min_element()))
}

/// Returns the red, green and blue level of a camera's picture at a canvas pixel, interpolated bilinearly, and the edge
/// distance from [`place`]. Returns `None` if the picture does not cover the canvas pixel.
#[must_use]
pub fn seen(camera: &Camera, picture: &Picture, x: u32, y: u32) -> Option<([f64; 3], f64)> {
    let (at, edge) = place(camera, x, y)?;
    let size = camera.size.as_dvec2();
    let (low, part) = (at.floor(), at - at.floor());
    let pixel = |dx: f64, dy: f64| {
        let place = (low + DVec2::new(dx, dy)).min(size - 1.0).as_uvec2();
        let Rgba8 { r, g, b, .. } = picture.pixels()[(place.y * camera.size.x + place.x) as usize];
        [r, g, b].map(f64::from)
    };
    let corners = [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)].map(|(dx, dy)| {
        let weight =
            (1.0 - dx + (2.0 * dx - 1.0) * part.x) * (1.0 - dy + (2.0 * dy - 1.0) * part.y);
        (weight, pixel(dx, dy))
    });
    let level = |c: usize| corners.iter().map(|(weight, pixel)| weight * pixel[c]).sum::<f64>();
    Some(([0, 1, 2].map(level), edge))
}

/// Returns the result of [`seen`] for each camera whose picture covers a canvas pixel.
#[must_use]
pub fn all_seen(geometry: &Geometry, pictures: &[Picture], x: u32, y: u32) -> Vec<([f64; 3], f64)> {
    let both = geometry.cameras.iter().zip(pictures);
    both.filter_map(|(camera, picture)| seen(camera, picture, x, y)).collect()
}

/// Returns the mean of the levels of all cameras, weighted by their edge distances. `all` is the result of
/// [`all_seen`]. If it is empty, returns black.
#[must_use]
pub fn blend(all: &[([f64; 3], f64)]) -> [f64; 3] {
    let total: f64 = all.iter().map(|(_, edge)| edge).sum();
    let sum = |c: usize| all.iter().map(|(levels, edge)| edge * levels[c]).sum::<f64>();
    [0, 1, 2].map(|c| if all.is_empty() { 0.0 } else { sum(c) / total })
}
