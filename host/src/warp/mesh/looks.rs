//! What a mesh is made of: the planes of a warp, or the cameras of a geometry.
//!
//! It is asked pixel by pixel, from several threads. What it answers is not changed here: places are those of the
//! planes, and weights count or not as the stitch has it.

use glam::{UVec2, Vec2};
use shared_types::mesh::MAX_CAMERAS;

use super::MeshError;
use crate::device::Stream;
use crate::geometry::Geometry;
use crate::warp::{DeviceWarp, Plane, RenderError, Warp, check_sizes, counting};

/// For each camera where it shows a panorama's pixels, and how much it counts there.
pub(in crate::warp) trait Looks: Sync {
    /// Size of the panorama.
    fn size(&self) -> UVec2;

    /// Sizes of the cameras' pictures.
    fn sources(&self) -> &[UVec2];

    /// Where a camera's picture shows an element of the planes.
    fn place(&self, camera: usize, at: usize) -> Vec2;

    /// How much a camera counts at an element of the planes; `None` where it does not.
    fn counts(&self, camera: usize, at: usize) -> Option<f32>;
}

impl Looks for Warp {
    fn size(&self) -> UVec2 {
        Warp::size(self)
    }

    fn sources(&self) -> &[UVec2] {
        &self.sources
    }

    fn place(&self, camera: usize, at: usize) -> Vec2 {
        Vec2::from(self.source(camera, at))
    }

    fn counts(&self, camera: usize, at: usize) -> Option<f32> {
        Warp::counts(self, camera, at)
    }
}

/// The cameras of a geometry.
pub(super) struct Cameras {
    size: UVec2,
    sources: Vec<UVec2>,
    /// Of each camera columns, rows and weights.
    planes: Vec<[Vec<f32>; 3]>,
}

impl Cameras {
    /// Where they look, two at a time.
    #[track_caller]
    pub(super) fn render(stream: &Stream, geometry: &Geometry) -> Result<Self, MeshError> {
        let Geometry { canvas, cameras } = geometry;
        if !(2..=MAX_CAMERAS).contains(&cameras.len()) {
            return Err(MeshError::Cameras(cameras.len()));
        }
        let sources: Vec<_> = cameras.iter().map(|camera| camera.size).collect();
        let mut planes = Vec::with_capacity(cameras.len());
        for two in cameras.chunks(2) {
            let two = [two[0], two[two.len() - 1]];
            check_sizes(canvas.size, two.map(|camera| camera.size)).map_err(RenderError::from)?;
            let warp = DeviceWarp::margins(stream, canvas.size, two.map(|c| (*canvas, c)))?;
            let plane = |plane| warp.plane(plane).download(stream);
            planes.push([plane(Plane::LeftX)?, plane(Plane::LeftY)?, plane(Plane::WeightLeft)?]);
            if planes.len() < cameras.len() {
                planes.push([
                    plane(Plane::RightX)?,
                    plane(Plane::RightY)?,
                    plane(Plane::WeightRight)?,
                ]);
            }
        }
        for at in 0..canvas.size.element_product() as usize {
            let whole: f32 = planes.iter().map(|[.., margin]| margin[at]).sum();
            for [.., weight] in &mut planes {
                weight[at] = if whole > 0.0 { weight[at] / whole } else { 0.0 };
            }
        }
        Ok(Self { size: canvas.size, sources, planes })
    }
}

impl Looks for Cameras {
    fn size(&self) -> UVec2 {
        self.size
    }

    fn sources(&self) -> &[UVec2] {
        &self.sources
    }

    fn place(&self, camera: usize, at: usize) -> Vec2 {
        let [x, y, _] = &self.planes[camera];
        Vec2::new(x[at], y[at])
    }

    fn counts(&self, camera: usize, at: usize) -> Option<f32> {
        let weight = self.planes[camera][2][at];
        counting(self.place(camera, at), weight, self.sources[camera])
    }
}
