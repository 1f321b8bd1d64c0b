//! The two sources of a preview: a geometry, and the planes of a warp.

use glam::{DVec2, UVec2};
use kernels_gpu::warp::{project, ray};
use shared_types::warp::UNSEEN;

use crate::geometry::{Geometry, inside, is_full_circle};
use crate::warp::Warp;

/// What a camera contributes to a point of the canvas.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    /// The source position in pixels. It is outside the picture if the weight is zero.
    pub(super) place: DVec2,
    /// The weight of the camera relative to other cameras. Zero: the camera does not contribute.
    pub(super) weight: f64,
}

/// The canvas of a panorama and its cameras.
pub(super) trait Scene {
    /// Returns the sizes of the cameras' pictures.
    fn sources(&self) -> Vec<UVec2>;

    /// Returns whether the left edge of the canvas continues at the right edge.
    fn is_full_circle(&self) -> bool;

    /// Returns what a camera contributes at a position of the canvas, in pixels. Returns `None` if the camera does not
    /// contribute and the distance from its picture is unknown.
    fn look(&self, camera: usize, at: DVec2) -> Option<Look>;
}

/// Returns the distance from a source position to the nearest edge of a picture of `size` pixels, in source pixels. The
/// distance is negative outside the picture.
pub(super) fn margin(place: DVec2, size: UVec2) -> f64 {
    place.min(size.as_dvec2() - place).min_element()
}

impl Scene for Geometry {
    fn sources(&self) -> Vec<UVec2> {
        self.cameras.iter().map(|camera| camera.size).collect()
    }

    fn is_full_circle(&self) -> bool {
        is_full_circle(&self.canvas)
    }

    fn look(&self, camera: usize, at: DVec2) -> Option<Look> {
        let camera = &self.cameras[camera];
        let place = project(camera, camera.from_ray * ray(&self.canvas, at))?;
        let size = camera.size.as_dvec2();
        // As in the warp kernel, the weight decreases towards the edge of the picture, and is positive at the edge.
        let weight = (margin(place, camera.size) + 1.0) / size.min_element();
        Some(Look { place, weight: if inside(place, camera.size) { weight } else { 0.0 } })
    }
}

impl Scene for Warp {
    fn sources(&self) -> Vec<UVec2> {
        Warp::sources(self).into()
    }

    /// The planes do not tell. Without a circle, only the outlines at the left and right edge of the canvas are
    /// incomplete.
    fn is_full_circle(&self) -> bool {
        false
    }

    fn look(&self, camera: usize, at: DVec2) -> Option<Look> {
        let size = self.size();
        let at = at.round().as_uvec2().min(size - 1);
        let element = at.y as usize * size.x as usize + at.x as usize;
        let place = DVec2::from(self.source(camera, element).map(f64::from));
        let source = Warp::sources(self)[camera];
        match self.counts(camera, element) {
            Some(weight) => Some(Look { place, weight: weight.into() }),
            None => {
                let known = !inside(place, source) && place != DVec2::splat(UNSEEN.into());
                known.then_some(Look { place, weight: 0.0 })
            }
        }
    }
}
