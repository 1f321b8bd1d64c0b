//! Maps a source pixel to its ray. This is the inverse of the lens models in the warp kernel.
//!
//! The polynomials of pinhole and fisheye lenses increase up to the camera's `limit`, so the ray of a pixel within the
//! limit is unique. Newton's method finds it for a pinhole lens, and bisection for a fisheye. A pixel beyond the limit
//! has no ray, nor has a pixel beyond the poles of an equirectangular panorama.

use std::f64::consts::FRAC_PI_2;

use glam::{DMat2, DVec2, DVec3};
use shared_types::warp::{Camera, Lens};

/// Maximum number of Newton steps. If the polynomial increases across the whole picture, about six steps are enough.
const STEPS: usize = 24;

/// Maximum distance between the pixel and the projection of its computed ray, in focal lengths. At a focal length of
/// 10,000 px, this is 1e-6 px.
const NEAR: f64 = 1e-10;

/// Returns the ray of a pixel as a unit vector in the camera's frame, or `None` if the pixel is beyond the lens limit.
pub(crate) fn unproject(camera: &Camera, pixel: DVec2) -> Option<DVec3> {
    let at = (pixel - camera.centre) / camera.focal;
    let ray = match camera.lens {
        Lens::PINHOLE => pinhole(camera, at)?.extend(1.0),
        Lens::FISHEYE => fisheye(camera, at)?,
        lens => panorama(lens, at)?,
    };
    ray.try_normalize()
}

/// Yields the rays of evenly spaced points on the border of a camera's picture, in the camera's frame. The result is
/// `None` for a point beyond the lens limit.
pub(crate) fn border(camera: &Camera) -> impl Iterator<Item = Option<DVec3>> {
    /// The number of intervals between the points on each side of the picture.
    const MANY: u32 = 48;
    let far = camera.size.as_dvec2() - 0.5;
    let near = DVec2::splat(-0.5);
    let sides = (0..=MANY).flat_map(move |i| {
        let at = near + (far - near) * (f64::from(i) / f64::from(MANY));
        [(at.x, near.y), (at.x, far.y), (near.x, at.y), (far.x, at.y)]
    });
    sides.map(|at| unproject(camera, DVec2::from(at)))
}

/// Undistorts a point of a pinhole picture (Brown–Conrady model) with Newton's method. `at` and the result are offsets
/// from the principal point, in units of the focal length.
fn pinhole(camera: &Camera, at: DVec2) -> Option<DVec2> {
    let [k1, k2, p1, p2, k3] = camera.distortion;
    if camera.distortion == [0.0; 5] {
        return Some(at);
    }
    let limit = camera.limit * camera.limit;
    let mut p = at;
    for _ in 0..STEPS {
        let (x, y, r2) = (p.x, p.y, p.length_squared());
        let radial = 1.0 + r2 * (k1 + r2 * (k2 + r2 * k3));
        let tangential = DVec2::new(
            2.0 * p1 * x * y + p2 * (r2 + 2.0 * x * x),
            p1 * (r2 + 2.0 * y * y) + 2.0 * p2 * x * y,
        );
        let off = at - (p * radial + tangential);
        if off.length_squared() < NEAR * NEAR {
            return Some(p).filter(|_| r2 <= limit);
        }
        let jacobian = pinhole_slope(&camera.distortion, p);
        if jacobian.determinant().abs() < 1e-9 {
            return None;
        }
        p += jacobian.inverse() * off;
        // Move the point back to the limit. Beyond it, the polynomial decreases, and Newton's method would diverge.
        if p.length_squared() > limit {
            p *= camera.limit / p.length();
        }
    }
    None
}

/// Returns the derivative of the Brown–Conrady distortion at `p`, an offset from the principal point in units of the
/// focal length.
pub(crate) fn pinhole_slope([k1, k2, p1, p2, k3]: &[f64; 5], p: DVec2) -> DMat2 {
    let (x, y, r2) = (p.x, p.y, p.length_squared());
    let radial = 1.0 + r2 * (k1 + r2 * (k2 + r2 * k3));
    let slope = k1 + r2 * (2.0 * k2 + r2 * 3.0 * k3);
    let mixed = 2.0 * (x * y * slope + p1 * x + p2 * y);
    DMat2::from_cols(
        DVec2::new(radial + 2.0 * x * x * slope + 2.0 * p1 * y + 6.0 * p2 * x, mixed),
        DVec2::new(mixed, radial + 2.0 * y * y * slope + 6.0 * p1 * y + 2.0 * p2 * x),
    )
}

/// Returns the ray of a point in an equidistant fisheye picture. `at` is the offset from the principal point, in units
/// of the focal length.
fn fisheye(camera: &Camera, at: DVec2) -> Option<DVec3> {
    let [k1, k2, k3, k4, _] = camera.distortion;
    let distorted = at.length();
    let value = |t: f64| {
        let s = t * t;
        t * (1.0 + s * (k1 + s * (k2 + s * (k3 + s * k4))))
    };
    if distorted > value(camera.limit) {
        return None;
    }
    // The polynomial increases from 0 to the limit, so bisection always finds the root. After 60 steps, the interval is
    // shorter than the precision of f64.
    let (mut low, mut high) = (0.0, camera.limit);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if value(middle) < distorted {
            low = middle;
        } else {
            high = middle;
        }
    }
    let direction = at.try_normalize().unwrap_or(DVec2::X);
    Some((direction * libm::sin(low)).extend(libm::cos(low)))
}

/// Returns the ray of a point in a panorama. `at` is the offset from the principal point, in units of the focal length.
fn panorama(lens: Lens, at: DVec2) -> Option<DVec3> {
    let (sin, cos) = libm::sincos(at.x);
    if lens == Lens::CYLINDRICAL {
        return Some(DVec3::new(sin, at.y, cos));
    }
    let (down, level) = libm::sincos(at.y);
    (at.y.abs() <= FRAC_PI_2).then_some(DVec3::new(sin * level, down, cos * level))
}

#[cfg(test)]
mod tests {
    use glam::{DMat3, UVec2};
    use kernels_gpu::warp::project;

    use super::*;
    use crate::geometry::rig::{CameraMatrix, LensName, lens_camera};

    #[test]
    fn a_ray_lands_on_its_pixel() {
        let matrix = CameraMatrix { fx: 800.0, fy: 810.0, cx: 501.0, cy: 377.0 };
        let lenses: [(LensName, &[f64]); 6] = [
            (LensName::Pinhole, &[]),
            (LensName::Pinhole, &[-0.2, 0.05, 0.001, -0.002, 0.01]),
            (LensName::Pinhole, &[0.15]),
            (LensName::Fisheye, &[-0.04, 0.02, -0.026, 0.008]),
            (LensName::Cylindrical, &[]),
            (LensName::Equirectangular, &[]),
        ];
        for (lens, k) in lenses {
            let camera = lens_camera(DMat3::IDENTITY, UVec2::new(1000, 750), lens, &matrix, k);
            for i in 0..200 {
                let pixel = DVec2::new(f64::from(i % 20) * 52.0, f64::from(i / 20) * 83.0);
                let ray = unproject(&camera, pixel).unwrap();
                assert!((project(&camera, ray).unwrap() - pixel).length() < 1e-6, "{pixel}");
            }
        }
        // The distorted radius of this lens has a maximum of 2/3 of a focal length. Points further out have no ray.
        let camera = lens_camera(
            DMat3::IDENTITY,
            UVec2::splat(1000),
            LensName::Pinhole,
            &matrix,
            &[-1.0 / 3.0],
        );
        assert_eq!(unproject(&camera, camera.centre + DVec2::new(600.0, 0.0)), None);
    }
}
