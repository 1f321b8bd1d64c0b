//! The model of rotating cameras: they share one position and look in different directions.
//!
//! Each camera has the [`Camera`] type of the warp kernel, so the fit optimises exactly the geometry that is rendered.
//! The free parameters are:
//! - the rotation of each camera except the reference, which looks along the world's z axis,
//! - the focal lengths of unknown lenses, either scaled by one common factor or each on its own,
//! - one radial distortion coefficient k1, shared by all unknown lenses.

use glam::{DMat2, DMat3, DVec2, DVec3, UVec2};
use kernels_gpu::warp::project;
use nalgebra::Matrix3;
use shared_types::warp::Camera;

use super::model::{Link, Match, Model};
use super::projection::Projection;
use crate::geometry::rig::{CameraMatrix, LensName, lens_camera, radial_limit};
use crate::geometry::unproject;

/// The focal lengths that a fit may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Focal {
    /// No focal length.
    Fixed,
    /// All unknown focal lengths, scaled by one common factor.
    Shared,
    /// Every unknown focal length, independently of the others.
    Each,
}

/// Cameras at one position, and the parameters that a fit may change.
#[derive(Clone, Debug)]
pub(super) struct RotatingCameras {
    cameras: Vec<Camera>,
    /// For each camera, whether its lens is known and therefore fixed.
    known: Vec<bool>,
    reference: usize,
    focal: Focal,
    radial: bool,
}

/// Returns a camera with square pixels, a focal length in pixels, and the principal point in the middle of the
/// picture.
pub(super) fn plain_camera(size: UVec2, focal: f64) -> Camera {
    let centre = (size.as_dvec2() - 1.0) / 2.0;
    let matrix = CameraMatrix { fx: focal, fy: focal, cx: centre.x, cy: centre.y };
    lens_camera(DMat3::IDENTITY, size, LensName::Pinhole, &matrix, &[])
}

impl RotatingCameras {
    pub(super) fn new(cameras: Vec<Camera>, known: Vec<bool>, reference: usize) -> Self {
        Self { cameras, known, reference, focal: Focal::Fixed, radial: false }
    }

    /// Returns the same cameras with other free parameters. Of the unknown lenses, a fit may change the focal lengths
    /// that `focal` selects, and k1 if `radial` is true.
    pub(super) fn freed(&self, focal: Focal, radial: bool) -> Self {
        let unknown = !self.known.iter().all(|known| *known);
        let focal = if unknown { focal } else { Focal::Fixed };
        Self { focal, radial: radial && unknown, ..self.clone() }
    }

    pub(super) fn cameras(&self) -> &[Camera] {
        &self.cameras
    }

    /// Yields the indices of the cameras with unknown lenses.
    pub(super) fn unknown(&self) -> impl Iterator<Item = usize> {
        self.known.iter().enumerate().filter(|(_, known)| !**known).map(|(i, _)| i)
    }

    /// Returns the same cameras, but with the orientation `from_world` for camera `i`. It rotates rays from the world's
    /// frame to the camera's.
    pub(super) fn turned(&self, i: usize, from_world: DMat3) -> Self {
        let mut turned = self.clone();
        turned.cameras[i].from_ray = from_world;
        turned
    }

    /// Returns the range of the indices that the free focal lengths have among the free parameters.
    pub(super) fn focal_numbers(&self) -> std::ops::Range<usize> {
        let from = 3 * (self.cameras.len() - 1);
        let many = match self.focal {
            Focal::Fixed => 0,
            Focal::Shared => 1,
            Focal::Each => self.unknown().count(),
        };
        from..from + many
    }

    /// Returns camera `i` and its free parameters.
    fn free(&self, i: usize) -> FreeCamera {
        let unknown = !self.known[i];
        let first = self.focal_numbers().start;
        let focal = match self.focal {
            Focal::Fixed => None,
            Focal::Shared => Some(first),
            Focal::Each => Some(first + self.unknown().take_while(|&other| other < i).count()),
        };
        FreeCamera {
            camera: self.cameras[i],
            // The reference has no angles.
            angles: (i != self.reference).then(|| 3 * (i - usize::from(i > self.reference))),
            focal: focal.filter(|_| unknown),
            radial: self.radial && unknown,
        }
    }
}

impl Model for RotatingCameras {
    type Link = CameraLink;

    /// Returns the number of free parameters: three angles for each camera except the reference, logarithms of the free
    /// focal lengths, and k1 if it is free.
    fn freedom(&self) -> usize {
        self.focal_numbers().end + usize::from(self.radial)
    }

    fn stepped(&self, step: &[f64]) -> Self {
        let mut stepped = self.clone();
        let turned = (0..self.cameras.len()).filter(|&i| i != self.reference);
        for (i, angles) in turned.zip(step.chunks_exact(3)) {
            let angles = DVec3::from_slice(angles);
            let camera = &mut stepped.cameras[i];
            let turn = angles
                .try_normalize()
                .map_or(DMat3::IDENTITY, |axis| DMat3::from_axis_angle(axis, angles.length()));
            camera.from_ray = turn * camera.from_ray;
        }
        let focals = &step[self.focal_numbers()];
        for (n, i) in self.unknown().enumerate() {
            let camera = &mut stepped.cameras[i];
            if let Some(by) = focals.get(n).or(focals.last()) {
                // Clamped so that the focal length neither overflows nor becomes 0 for any step.
                camera.focal *= libm::exp(by.clamp(-20.0, 20.0));
            }
            if self.radial {
                camera.distortion[0] += step[self.focal_numbers().end];
                camera.limit = radial_limit(camera.lens, &camera.distortion);
            }
        }
        stepped
    }

    fn link(&self, to: usize, from: usize) -> CameraLink {
        let [to, from] = [to, from].map(|i| self.free(i));
        let turned = [&to, &from].into_iter().filter_map(|one| one.angles);
        let mut parameters: Vec<usize> = turned.flat_map(|first| first..first + 3).collect();
        let (first, second) = (to.focal, from.focal);
        parameters.extend(first);
        parameters.extend(second.filter(|_| second != first));
        parameters.extend((to.radial || from.radial).then_some(self.focal_numbers().end));
        let turn = to.camera.from_ray * from.camera.from_ray.transpose();
        CameraLink { to, from, turn, parameters }
    }

    fn map(&self, to: usize, from: usize, pixel: DVec2) -> Option<DVec2> {
        let from = &self.cameras[from];
        map(&self.cameras[to], from, from.from_ray.transpose(), pixel)
    }

    fn local(&self, to: usize, from: usize, pixel: DVec2) -> Option<(DVec2, DMat2)> {
        let (to, from) = (&self.cameras[to], &self.cameras[from]);
        let turn = to.from_ray * from.from_ray.transpose();
        let ray = unproject(from, pixel)?;
        let seen = Projection::new(to, turn * ray)?;
        let [x, y] = Projection::new(from, ray)?.ray_changes().map(|ray| seen.change(turn * ray));
        let jacobian = DMat2::from_cols(x, y);
        jacobian.is_finite().then_some((seen.at, jacobian))
    }
}

/// A camera, and its free parameters.
struct FreeCamera {
    camera: Camera,
    /// The index of the first of its three angles.
    angles: Option<usize>,
    /// The index of its focal length.
    focal: Option<usize>,
    /// Whether k1 is free.
    radial: bool,
}

/// The map from one camera to another, with derivatives by the free parameters.
pub(super) struct CameraLink {
    to: FreeCamera,
    from: FreeCamera,
    /// The rotation from the frame of `from` to that of `to`.
    turn: DMat3,
    parameters: Vec<usize>,
}

impl Link for CameraLink {
    fn parameters(&self) -> &[usize] {
        &self.parameters
    }

    fn slopes(&self, pixel: DVec2, slopes: &mut [DVec2]) -> Option<DVec2> {
        let Self { to, from, turn, .. } = self;
        let from_ray = unproject(&from.camera, pixel)?;
        let ray = *turn * from_ray;
        let seen = Projection::new(&to.camera, ray)?;
        let mut slopes = slopes.iter_mut();
        let mut put = |slope: DVec2| {
            if let Some(to) = slopes.next() {
                *to = slope;
            }
        };
        // A rotation of a camera by a small angle vector moves its rays by the cross product.
        if to.angles.is_some() {
            DVec3::AXES.iter().for_each(|axis| put(seen.change(axis.cross(ray))));
        }
        if from.angles.is_some() {
            DVec3::AXES.iter().for_each(|axis| put(seen.change(*turn * from_ray.cross(*axis))));
        }
        let (mut by_focal, mut by_k1) = ([seen.by_focal, DVec2::ZERO], DVec2::ZERO);
        if to.radial {
            by_k1 = seen.by_k1;
        }
        if from.focal.is_some() || from.radial {
            // The pixel stays where it is, so the ray moves against the change of the projection.
            let own = Projection::new(&from.camera, from_ray)?;
            let [x, y] = own.ray_changes().map(|change| seen.change(*turn * change));
            by_focal[1] = -(x * own.by_focal.x + y * own.by_focal.y);
            if from.radial {
                by_k1 -= x * own.by_k1.x + y * own.by_k1.y;
            }
        }
        match (to.focal, from.focal) {
            (Some(first), Some(second)) if first == second => put(by_focal[0] + by_focal[1]),
            (first, second) => {
                first.into_iter().for_each(|_| put(by_focal[0]));
                second.into_iter().for_each(|_| put(by_focal[1]));
            }
        }
        put(by_k1);
        Some(seen.at)
    }
}

/// Maps a pixel of camera `from` to camera `to`. `to_world` maps rays from the frame of `from` to the world's. Returns
/// `None` if the pixel has no ray, or if the ray is not visible to camera `to`.
pub(super) fn map(to: &Camera, from: &Camera, to_world: DMat3, pixel: DVec2) -> Option<DVec2> {
    project(to, to.from_ray * (to_world * unproject(from, pixel)?))
}

/// Returns the rotation that maps the right rays to the left ones with the smallest sum of squared distances (Kabsch).
/// Each item is a pair of unit rays, left and right. Two pairs are enough. Returns `None` if all rays are parallel.
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
    // The rays must determine two axes of the rotation. The third axis is perpendicular to them.
    if svd.singular_values[1] < 1e-9 * svd.singular_values[0] {
        return None;
    }
    let mut sign = Matrix3::identity();
    sign[(2, 2)] = (u * v).determinant().signum();
    let rotation = u * sign * v;
    Some(DMat3::from_cols_array(&rotation.as_slice().try_into().ok()?))
}

/// Returns the ray of a correspondence in the frame of its left camera, and the ray in the frame of its right camera.
pub(super) fn rays(cameras: &[Camera], one: &Match) -> Option<[DVec3; 2]> {
    let [left, right] = one.link;
    Some([unproject(&cameras[left], one.left)?, unproject(&cameras[right], one.right)?])
}

#[cfg(test)]
mod tests {
    use super::super::fit::tests::check_slopes;
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
    fn a_step_changes_only_free_parameters() {
        let size = UVec2::new(640, 480);
        let cameras = vec![plain_camera(size, 500.0); 3];
        let all = RotatingCameras::new(cameras, vec![false, true, false], 1);
        assert_eq!(all.freedom(), 6);
        let each = all.freed(Focal::Each, true);
        assert_eq!(each.freedom(), 9);
        let stepped = each.stepped(&[0.0, 0.1, 0.0, 0.0, 0.0, 0.2, 0.3, -0.3, 0.01]);
        assert_eq!(stepped.cameras[1], all.cameras[1]);
        assert!((stepped.cameras[0].focal.x - 500.0 * 0.3f64.exp()).abs() < 1e-9);
        assert!((stepped.cameras[2].focal.y - 500.0 * (-0.3f64).exp()).abs() < 1e-9);
        assert_eq!(stepped.cameras[2].distortion[0], 0.01);
        assert!(stepped.cameras[0].from_ray.abs_diff_eq(DMat3::from_rotation_y(0.1), 1e-12));
        let pixel = DVec2::new(200.0, 100.0);
        let at = stepped.map(0, 2, pixel).unwrap();
        assert!((stepped.map(2, 0, at).unwrap() - pixel).length() < 1e-6);
        for (focal, radial) in [(Focal::Shared, false), (Focal::Shared, true), (Focal::Each, true)]
        {
            for [to, from] in [[0, 2], [2, 0], [0, 1], [1, 2]] {
                check_slopes(&stepped.freed(focal, radial), to, from, pixel);
            }
        }
    }
}
