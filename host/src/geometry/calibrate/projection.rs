//! The projection of a ray by a camera, and its derivatives.

use glam::{DMat2, DVec2, DVec3};
use kernels_gpu::warp::project;
use shared_types::warp::{Camera, Lens};

use crate::geometry::pinhole_slope;

/// The pixel of a ray, and its derivatives.
pub(super) struct Projection {
    pub(super) at: DVec2,
    /// The derivatives by the three coordinates of the ray.
    by_ray: [DVec2; 3],
    /// The derivative by the logarithm of the focal length.
    pub(super) by_focal: DVec2,
    /// The derivative by the first distortion coefficient.
    pub(super) by_k1: DVec2,
}

impl Projection {
    /// Projects a ray in the camera's frame. Returns `None` if the lens cannot see it.
    pub(super) fn new(camera: &Camera, ray: DVec3) -> Option<Self> {
        let at = project(camera, ray)?;
        let (by_ray, by_k1) = match camera.lens {
            Lens::PINHOLE => pinhole(&camera.distortion, ray),
            Lens::FISHEYE => fisheye(&camera.distortion, ray),
            lens => (panorama(lens, ray), DVec2::ZERO),
        };
        Some(Self {
            at,
            by_ray: by_ray.map(|slope| slope * camera.focal),
            by_focal: at - camera.centre,
            by_k1: by_k1 * camera.focal,
        })
    }

    /// Returns the change of the pixel for a small change of the ray.
    pub(super) fn change(&self, ray: DVec3) -> DVec2 {
        let [x, y, z] = self.by_ray;
        x * ray.x + y * ray.y + z * ray.z
    }

    /// Returns the smallest changes of the ray that move the pixel by 1 along x and along y. They are not finite where
    /// the lens maps a surface to a line.
    pub(super) fn ray_changes(&self) -> [DVec3; 2] {
        let row = |row: fn(&DVec2) -> f64| DVec3::from_array(self.by_ray.each_ref().map(row));
        let (x, y) = (row(|slope| slope.x), row(|slope| slope.y));
        let mixed = x.dot(y);
        let squares = DMat2::from_cols_array(&[x.dot(x), mixed, mixed, y.dot(y)]).inverse();
        [squares.x_axis, squares.y_axis].map(|column| x * column.x + y * column.y)
    }
}

/// Returns the derivatives of a pinhole's distorted point by the ray and by k1.
fn pinhole(distortion: &[f64; 5], ray: DVec3) -> ([DVec2; 3], DVec2) {
    let p = ray.truncate() / ray.z;
    let slope = pinhole_slope(distortion, p);
    let by_ray = [slope.x_axis, slope.y_axis, -(slope * p)].map(|slope| slope / ray.z);
    (by_ray, p * p.length_squared())
}

/// Returns the derivatives of a fisheye's distorted point by the ray and by k1.
fn fisheye([k1, k2, k3, k4, _]: &[f64; 5], ray: DVec3) -> ([DVec2; 3], DVec2) {
    let (across, square) = (ray.truncate().length(), ray.length_squared());
    let theta = libm::atan2(across, ray.z);
    let s = theta * theta;
    let distorted = theta * (1.0 + s * (k1 + s * (k2 + s * (k3 + s * k4))));
    let slope = 1.0 + s * (3.0 * k1 + s * (5.0 * k2 + s * (7.0 * k3 + s * 9.0 * k4)));
    // On the optical axis, all directions are alike.
    let on_axis = across <= 1e-9 * ray.z;
    let (along, per_across) = match on_axis {
        true => (DVec2::X, 1.0 / ray.z),
        false => (ray.truncate() / across, distorted / across),
    };
    let aside = along.perp();
    let outwards = slope / square;
    let by = |axis: DVec2| {
        along * (along.dot(axis) * outwards * ray.z) + aside * (aside.dot(axis) * per_across)
    };
    ([by(DVec2::X), by(DVec2::Y), along * (-outwards * across)], along * (s * theta))
}

/// Returns the derivatives of a panorama's point by the ray.
fn panorama(lens: Lens, DVec3 { x, y, z }: DVec3) -> [DVec2; 3] {
    let level = x * x + z * z;
    let radius = level.sqrt();
    // The row is a function of the slope `y / radius`: the slope itself, or its arc tangent.
    let row = if lens == Lens::CYLINDRICAL { 1.0 } else { level / (level + y * y) };
    let by_radius = -row * y / level;
    [
        DVec2::new(z / level, by_radius * x / radius),
        DVec2::new(0.0, row / radius),
        DVec2::new(-x / level, by_radius * z / radius),
    ]
}

#[cfg(test)]
mod tests {
    use glam::{DMat3, UVec2, dvec3};

    use super::*;
    use crate::geometry::rig::{CameraMatrix, LensName, lens_camera};
    use crate::geometry::unproject;

    /// The derivatives equal differences of [`project`].
    #[test]
    fn derivatives_are_those_of_the_projection() {
        let matrix = CameraMatrix { fx: 800.0, fy: 810.0, cx: 501.0, cy: 377.0 };
        let lenses: [(LensName, &[f64]); 5] = [
            (LensName::Pinhole, &[]),
            (LensName::Pinhole, &[-0.2, 0.05, 0.001, -0.002, 0.01]),
            (LensName::Fisheye, &[-0.04, 0.02, -0.026, 0.008]),
            (LensName::Cylindrical, &[]),
            (LensName::Equirectangular, &[]),
        ];
        for (lens, k) in lenses {
            let camera = lens_camera(DMat3::IDENTITY, UVec2::new(1000, 750), lens, &matrix, k);
            let rays = [dvec3(0.3, -0.4, 1.2), dvec3(0.0, 0.0, 0.7), dvec3(-1e-4, 0.3, 2.0)];
            for ray in rays {
                let found = Projection::new(&camera, ray).unwrap();
                let difference = |change: &dyn Fn(f64) -> (Camera, DVec3)| {
                    let at = |by: f64| {
                        let (camera, ray) = change(by);
                        project(&camera, ray).unwrap()
                    };
                    (at(1e-6) - at(-1e-6)) / 2e-6
                };
                for axis in DVec3::AXES {
                    let expected = difference(&|by| (camera, ray + axis * by));
                    assert!((found.change(axis) - expected).length() < 1e-5, "{axis}");
                }
                let focal =
                    |by: f64| (Camera { focal: camera.focal * libm::exp(by), ..camera }, ray);
                assert!((found.by_focal - difference(&focal)).length() < 1e-5);
                let k1 = |by: f64| {
                    let mut camera = camera;
                    camera.distortion[0] += by;
                    (camera, ray)
                };
                assert!((found.by_k1 - difference(&k1)).length() < 1e-5);
                let [x, y] = found.ray_changes();
                let stepped = unproject(&camera, found.at + DVec2::new(1e-3, -2e-3)).unwrap();
                let expected = found.at + found.change(x * 1e-3 - y * 2e-3);
                assert!((project(&camera, stepped).unwrap() - expected).length() < 1e-9);
            }
        }
    }
}
