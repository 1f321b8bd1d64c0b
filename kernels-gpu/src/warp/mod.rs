//! Rig to warp: the source coordinates and weights of every panorama pixel.
//!
//! Three kernels make a warp. Each runs once per camera. [`warp_camera`] computes panorama pixel → ray (projection) →
//! camera coordinates → lens → source pixel, and the distance from the source pixel to the edge of the picture.
//! [`warp_add_margin`] sums the distances of all cameras, and [`warp_feather`] turns them into weights that sum to 1.
//! Rigs and homographies use the same kernels: a homography is represented by a planar canvas and a matrix.
//!
//! [`warp_resize`] scales a warp to another output size. [`fade`] takes absent cameras out of the weights.
//! [`shift`] moves pictures by a few pixels.
//!
//! [`warp_camera`] computes coordinates in f64, with [`sin_cos`] instead of library functions, so CPU and GPU agree to
//! the bit. Cost: a few hundred f64 operations per pixel, once per rig.

pub(crate) mod camera;
#[cfg(not(target_arch = "nvptx64"))]
mod cpu;
pub mod fade;
pub mod lens;
pub(crate) mod patch;
pub mod shift;

use crate::warp::camera::is_inside;
use crate::warp::lens::{bend, closed};
use core::f64::consts::{FRAC_2_PI, FRAC_PI_2};
use cuda_std::prelude::*;
use glam::{DVec2, DVec3, UVec2, Vec2, dvec2, dvec3, vec2};
use shared_types::stitch::MIN_WEIGHT;
use shared_types::warp::{BLOCK_THREADS, Camera, CameraPlanes, Canvas, Projection, UNSEEN};

/// Writes the source coordinates and the edge distance of one camera for every canvas pixel.
///
/// `u` and `v` receive the source coordinates in pixels, or [`UNSEEN`] where the lens cannot see the ray. `margin`
/// receives the distance from the source pixel to the nearest edge of the picture as a fraction of the picture's
/// shorter side, or 0 outside the picture. All three outputs have the size of the canvas.
#[kernel(launch_bounds(BLOCK_THREADS, 2), cpu(cpu::camera))]
pub fn warp_camera(
    canvas: Canvas,
    camera: Camera,
    u: ViewMut<f32>,
    v: ViewMut<f32>,
    margin: ViewMut<f32>,
) {
    let at = thread::index_2d();
    let (x, y) = (at.x, at.y);
    if !(u.contains(x, y) && v.contains(x, y) && margin.contains(x, y)) {
        return;
    }
    let ray = ray(&canvas, dvec2(x.into(), y.into()));
    let source = match project(&camera, camera.from_ray * ray) {
        Some(source) => vec2(bounded(source.x), bounded(source.y)),
        None => Vec2::splat(UNSEEN),
    };
    // SAFETY: the pixel is inside all three outputs, as checked above, and only this thread writes it.
    unsafe {
        u.store(x, y, source.x);
        v.store(x, y, source.y);
        margin.store(x, y, edge_distance(camera.size, source));
    }
}

/// Adds the edge distances of a camera to `sum`, or writes them there for the first camera (`first` is not 0).
#[kernel(launch_bounds(BLOCK_THREADS, 4), cpu(cpu::add_margin))]
pub fn warp_add_margin(margin: View<f32>, first: u32, sum: ViewMut<f32>) {
    let at = thread::index_2d();
    let (x, y) = (at.x, at.y);
    if !(margin.contains(x, y) && sum.contains(x, y)) {
        return;
    }
    // SAFETY: the pixel is inside `margin` and `sum`, as checked above, and only this thread accesses it.
    unsafe {
        let before = if first != 0 { 0.0 } else { sum.load(x, y) };
        sum.store(x, y, before + margin.load(x, y));
    }
}

/// Turns the edge distances of a camera into weights, in place. `sum` contains the sum of all cameras' distances.
///
/// Where several cameras see a pixel, its weights are proportional to the distances, so each camera fades out towards
/// the edge of its own picture. Where only one camera sees a pixel, that camera's weight is 1.
#[kernel(launch_bounds(BLOCK_THREADS, 4), cpu(cpu::feather))]
pub fn warp_feather(sum: View<f32>, margin: ViewMut<f32>) {
    let at = thread::index_2d();
    let (x, y) = (at.x, at.y);
    if !(sum.contains(x, y) && margin.contains(x, y)) {
        return;
    }
    // SAFETY: the pixel is inside `sum` and `margin`, as checked above, and only this thread accesses it.
    unsafe {
        let whole = sum.load(x, y);
        if whole > 0.0 {
            margin.store(x, y, margin.load(x, y) / whole);
        }
    }
}

/// Scales one camera's planes to the size of `out_u`, `out_v` and `out_weight`. The positions of the output pixels are
/// evenly spaced over the input planes. `size` is the size of the camera's picture.
///
/// The kernel interpolates bilinearly if the camera contributes to all four pixels around such a position. Otherwise
/// the coordinates of some of these pixels are meaningless, so the kernel copies the nearest pixel.
#[kernel(launch_bounds(BLOCK_THREADS, 4))]
pub fn warp_resize(
    planes: CameraPlanes,
    size: UVec2,
    out_u: ViewMut<f32>,
    out_v: ViewMut<f32>,
    out_weight: ViewMut<f32>,
) {
    let at = thread::index_2d();
    let (x, y) = (at.x, at.y);
    let inside = out_u.contains(x, y) && out_v.contains(x, y) && out_weight.contains(x, y);
    if !inside || planes.width() == 0 || planes.height() == 0 {
        return;
    }
    let along = |at: u32, from: u32, to: u32| {
        let place = (f64::from(at) + 0.5) * f64::from(from) / f64::from(to) - 0.5;
        let place = place.clamp(0.0, f64::from(from - 1));
        let low = place.floor();
        // `low` is at least 0 and less than `from`, so it fits into a `u32`.
        (low as u32, (low as u32 + 1).min(from - 1), (place - low) as f32)
    };
    let (x0, x1, a) = along(x, planes.width(), out_u.width());
    let (y0, y1, b) = along(y, planes.height(), out_u.height());
    let load = |x: u32, y: u32| {
        // SAFETY: `x` and `y` are clamped to the size of the planes, so they are inside.
        let (place, weight) = unsafe { (planes.place(x, y), planes.weight(x, y)) };
        [place.x, place.y, weight]
    };
    let counts = |[u, v, weight]: [f32; 3]| weight > MIN_WEIGHT && is_inside(size, vec2(u, v));
    let corners = [load(x0, y0), load(x1, y0), load(x0, y1), load(x1, y1)];
    let [u, v, weight] = if corners.into_iter().all(counts) {
        let lerp = |a: f32, b: f32, t: f32| (b - a).mul_add(t, a);
        let mix = |plane: usize| {
            let [p00, p10, p01, p11] = corners.map(|corner| corner[plane]);
            lerp(lerp(p00, p10, a), lerp(p01, p11, a), b)
        };
        [mix(0), mix(1), mix(2)]
    } else {
        load(if a < 0.5 { x0 } else { x1 }, if b < 0.5 { y0 } else { y1 })
    };
    // SAFETY: the pixel is inside all three outputs, as checked above, and only this thread writes it.
    unsafe {
        out_u.store(x, y, u);
        out_v.store(x, y, v);
        out_weight.store(x, y, weight);
    }
}

/// Returns the ray that a canvas pixel shows. [`Projection`] defines it.
#[device]
pub fn ray(canvas: &Canvas, pixel: DVec2) -> DVec3 {
    let p = (pixel - canvas.centre) / canvas.scale;
    match canvas.projection {
        Projection::CYLINDRICAL => {
            let (sin, cos) = sin_cos(p.x);
            dvec3(sin, p.y, cos)
        }
        Projection::EQUIRECTANGULAR => {
            let (sin_x, cos_x) = sin_cos(p.x);
            let (sin_y, cos_y) = sin_cos(p.y);
            dvec3(sin_x * cos_y, sin_y, cos_x * cos_y)
        }
        _ => dvec3(p.x, p.y, 1.0),
    }
}

/// Returns the source pixel of a point in the camera's frame, or `None` if the lens cannot see the point. See
/// [`Lens`](shared_types::warp::Lens).
#[device]
pub fn project(camera: &Camera, point: DVec3) -> Option<DVec2> {
    let Camera { lens, distortion, limit, .. } = camera;
    let distorted = DVec2::from(bend::<_, true>(*lens, distortion, *limit, point.to_array())?);
    // The coordinates overflow to infinity for a ray that is almost parallel to the picture plane.
    let source = distorted * camera.focal + camera.centre;
    let source = dvec2(closed(*lens, source.x, 0.0), closed(*lens, source.y, 0.0));
    source.is_finite().then_some(source)
}

/// Converts a source coordinate to f32. Clamps it to ±32,768 pixels, which is far outside any picture.
#[device]
fn bounded(coordinate: f64) -> f32 {
    /// The limit in pixels, which is twice the maximum side of a picture.
    const FAR: f64 = 32_768.0;
    coordinate.clamp(-FAR, FAR) as f32
}

/// Returns the distance from a source pixel to the nearest edge of a picture of `size` pixels, as a fraction of the
/// picture's shorter side. Returns 0 outside the picture.
#[device]
#[must_use]
pub fn edge_distance(size: UVec2, place: Vec2) -> f32 {
    edge_pixels(size, place) / size.as_vec2().min_element()
}

/// Returns the distance in pixels from a source pixel to the nearest edge of a picture of `size` pixels, or 0 outside
/// the picture.
///
/// The edges are at −1 and at the width or height, so every pixel of the picture has a distance above 0.
#[device]
fn edge_pixels(size: UVec2, place: Vec2) -> f32 {
    if is_inside(size, place) {
        let ([u, v], [w, h]) = (place.to_array(), size.as_vec2().to_array());
        (u + 1.0).min(w - u).min(v + 1.0).min(h - v)
    } else {
        0.0
    }
}

/// Returns the sine and cosine of `x` in radians, with an error of at most 2e-16 for |x| up to 1,000.
///
/// Reduces `x` to a remainder r with |r| ≤ π/4 by subtracting the nearest multiple of π/2 in two parts (Cody and
/// Waite). Then evaluates the Taylor series, whose first omitted term is below 1e-18.
#[device]
pub fn sin_cos(x: f64) -> (f64, f64) {
    /// The rounding error of `FRAC_PI_2`: π/2 − `FRAC_PI_2`.
    const FRAC_PI_2_LOW: f64 = 6.123_233_995_736_766e-17;
    let n = (x * FRAC_2_PI).round_ties_even();
    let r = (-n).mul_add(FRAC_PI_2_LOW, (-n).mul_add(FRAC_PI_2, x));
    let r2 = r * r;
    let mut sin = 1.0;
    let mut cos = 1.0;
    // Evaluate Horner's scheme from the innermost factor: sin r = r(1 − r²/(2·3)(1 − r²/(4·5)(…))), and cos r
    // accordingly.
    let mut k = 18.0;
    while k > 0.0 {
        sin = 1.0 - r2 / (k * (k + 1.0)) * sin;
        cos = 1.0 - r2 / (k * (k - 1.0)) * cos;
        k -= 2.0;
    }
    sin *= r;
    match n as i64 & 3 {
        0 => (sin, cos),
        1 => (cos, -sin),
        2 => (-sin, -cos),
        _ => (-cos, sin),
    }
}
