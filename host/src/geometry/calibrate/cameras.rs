//! Cameras in one place that look in different directions: a rotation each, and their focal length.
//!
//! A camera is what the warp kernel takes, so that what is fitted is what will be rendered. The
//! reference camera looks along the world's z axis and stays. What of the lenses is not known may be
//! free: a focal length, of all or of each, and one radial coefficient k1 of all.

use glam::{DMat3, DVec2, DVec3, UVec2};
use kernels_gpu::warp::project;
use nalgebra::Matrix3;
use shared_types::warp::Camera;

use super::fit::{Model, Sight};
use crate::geometry::rig::{CameraMatrix, LensName, lens_camera, radial_limit};
use crate::geometry::unproject;

/// Which focal lengths a fit may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Focal {
    /// None.
    Fixed,
    /// All unknown ones by one factor.
    Shared,
    /// Every unknown one.
    Each,
}

/// Cameras in one place.
#[derive(Clone, Debug)]
pub(super) struct Cameras {
    cameras: Vec<Camera>,
    /// Whose lenses are known.
    known: Vec<bool>,
    reference: usize,
    focal: Focal,
    radial: bool,
}

/// A camera of which nothing but a focal length in pixels is known: square pixels, the principal point
/// in the picture's middle.
pub(super) fn plain_camera(size: UVec2, focal: f64) -> Camera {
    let centre = (size.as_dvec2() - 1.0) / 2.0;
    let matrix = CameraMatrix { fx: focal, fy: focal, cx: centre.x, cy: centre.y };
    lens_camera(DMat3::IDENTITY, size, LensName::Pinhole, &matrix, &[])
}

impl Cameras {
    pub(super) fn new(cameras: Vec<Camera>, known: Vec<bool>, reference: usize) -> Self {
        Self { cameras, known, reference, focal: Focal::Fixed, radial: false }
    }

    /// The same, with this of the unknown lenses free.
    pub(super) fn freed(&self, focal: Focal, radial: bool) -> Self {
        let unknown = !self.known.iter().all(|known| *known);
        let focal = if unknown { focal } else { Focal::Fixed };
        Self { focal, radial: radial && unknown, ..self.clone() }
    }

    pub(super) fn cameras(&self) -> &[Camera] {
        &self.cameras
    }

    /// Which cameras' lenses are not known.
    pub(super) fn unknown(&self) -> impl Iterator<Item = usize> {
        self.known.iter().enumerate().filter(|(_, known)| !**known).map(|(i, _)| i)
    }

    /// The same cameras, camera `i` turned by `from_world`.
    pub(super) fn turned(&self, i: usize, from_world: DMat3) -> Self {
        let mut turned = self.clone();
        turned.cameras[i].from_ray = from_world;
        turned
    }

    /// Where the numbers of a step that are focal lengths begin, and how many there are.
    pub(super) fn focal_numbers(&self) -> std::ops::Range<usize> {
        let from = 3 * (self.cameras.len() - 1);
        let many = match self.focal {
            Focal::Fixed => 0,
            Focal::Shared => 1,
            Focal::Each => self.unknown().count(),
        };
        from..from + many
    }
}

impl Model for Cameras {
    /// Three angles for each camera but the reference, focal lengths as logarithms, k1.
    fn freedom(&self) -> usize {
        self.focal_numbers().end + usize::from(self.radial)
    }

    fn moved(&self, step: &[f64]) -> Self {
        let mut moved = self.clone();
        let turned = (0..self.cameras.len()).filter(|&i| i != self.reference);
        for (i, angles) in turned.zip(step.chunks_exact(3)) {
            let angles = DVec3::from_slice(angles);
            let camera = &mut moved.cameras[i];
            let turn = angles
                .try_normalize()
                .map_or(DMat3::IDENTITY, |axis| DMat3::from_axis_angle(axis, angles.length()));
            camera.from_ray = turn * camera.from_ray;
        }
        let focals = &step[self.focal_numbers()];
        for (n, i) in self.unknown().enumerate() {
            let camera = &mut moved.cameras[i];
            if let Some(by) = focals.get(n).or(focals.last()) {
                // Within what a number can hold, however wild the step.
                camera.focal *= libm::exp(by.clamp(-20.0, 20.0));
            }
            if self.radial {
                camera.distortion[0] += step[self.focal_numbers().end];
                camera.limit = radial_limit(camera.lens, &camera.distortion);
            }
        }
        moved
    }

    fn map(&self, to: usize, from: usize, pixel: DVec2) -> Option<DVec2> {
        let from = &self.cameras[from];
        map(&self.cameras[to], from, from.from_ray.transpose(), pixel)
    }
}

/// Where camera `to` has what camera `from`, whose frame `to_world` takes to the world's, has at a pixel.
pub(super) fn map(to: &Camera, from: &Camera, to_world: DMat3, pixel: DVec2) -> Option<DVec2> {
    project(to, to.from_ray * (to_world * unproject(from, pixel)?))
}

/// The rotation that takes the right rays nearest to the left ones, which have length 1 (Kabsch; of two
/// pairs of rays too). `None` if all lie along one line.
pub(super) fn rotation_between(rays: impl IntoIterator<Item = [DVec3; 2]>) -> Option<DMat3> {
    let mut sum = Matrix3::<f64>::zeros();
    for [left, right] in rays {
        for row in 0..3 {
            for column in 0..3 {
                sum[(row, column)] += left[row] * right[column];
            }
        }
    }
    let svd = sum.svd(true, true);
    let (u, v) = (svd.u?, svd.v_t?);
    // Two directions must be determined, the third follows.
    if svd.singular_values[1] < 1e-9 * svd.singular_values[0] {
        return None;
    }
    let mut sign = Matrix3::identity();
    sign[(2, 2)] = (u * v).determinant().signum();
    let rotation = u * sign * v;
    Some(DMat3::from_cols_array(&rotation.as_slice().try_into().ok()?))
}

/// The rays on which a correspondence lies, in the frames of its left and right camera.
pub(super) fn rays(cameras: &[Camera], sight: &Sight) -> Option<[DVec3; 2]> {
    let [left, right] = sight.link;
    Some([unproject(&cameras[left], sight.left)?, unproject(&cameras[right], sight.right)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_rays_give_the_rotation() {
        let truth = DMat3::from_rotation_y(0.7) * DMat3::from_rotation_z(-2.0);
        let ray = |x: f64, y: f64| DVec3::new(x, y, 1.0).normalize();
        let pair = |right: DVec3| [truth * right, right];
        let found = rotation_between([pair(ray(0.1, 0.2)), pair(ray(-0.3, 0.4))]).unwrap();
        assert!(found.abs_diff_eq(truth, 1e-12), "{found}");
        assert!(rotation_between([pair(ray(0.1, 0.2))]).is_none());
    }

    #[test]
    fn a_step_moves_what_is_free() {
        let size = UVec2::new(640, 480);
        let cameras = vec![plain_camera(size, 500.0); 3];
        let all = Cameras::new(cameras, vec![false, true, false], 1);
        assert_eq!(all.freedom(), 6);
        let each = all.freed(Focal::Each, true);
        assert_eq!(each.freedom(), 9);
        let moved = each.moved(&[0.0, 0.1, 0.0, 0.0, 0.0, 0.2, 0.3, -0.3, 0.01]);
        assert_eq!(moved.cameras[1], all.cameras[1]);
        assert!((moved.cameras[0].focal.x - 500.0 * 0.3f64.exp()).abs() < 1e-9);
        assert!((moved.cameras[2].focal.y - 500.0 * (-0.3f64).exp()).abs() < 1e-9);
        assert_eq!(moved.cameras[2].distortion[0], 0.01);
        assert!(moved.cameras[0].from_ray.abs_diff_eq(DMat3::from_rotation_y(0.1), 1e-12));
        let pixel = DVec2::new(200.0, 100.0);
        let at = moved.map(0, 2, pixel).unwrap();
        assert!((moved.map(2, 0, at).unwrap() - pixel).length() < 1e-6);
    }
}
