//! Computes a mesh from a geometry, without the planes of a warp.

use super::MeshError;
use crate::device::Stream;
use crate::geometry::Geometry;
use crate::warp::mesh::Mesh;
use crate::warp::mesh::check;
use crate::warp::mesh::looks::Looks;
use crate::warp::{DeviceWarp, Plane, RenderError, check_sizes};
use glam::UVec2;
use shared_types::stitch::MAX_CAMERAS;

impl Mesh {
    /// Computes a mesh of all cameras of a geometry, which must have 2 to [`MAX_CAMERAS`] cameras. `error` has the same
    /// meaning as in [`new`](Self::new). At each pixel, the weight of a camera is proportional to the distance from the
    /// nearest edge of its picture.
    ///
    /// The stream's device renders the source coordinates. This function waits for it.
    ///
    /// # Errors
    /// Returns [`MeshError`] if `error` or the geometry is invalid, or if the device fails.
    #[track_caller]
    pub fn render(stream: &Stream, geometry: &Geometry, error: f32) -> Result<Self, MeshError> {
        check(error)?;
        Ok(Self::within(&(&Cameras::render(stream, geometry)?).into(), error))
    }
}

/// The rendered source coordinates and weights of all cameras of a geometry.
pub(super) struct Cameras {
    size: UVec2,
    sources: Vec<UVec2>,
    /// The planes of each camera: source columns, source rows and weights.
    planes: Vec<[Vec<f32>; 3]>,
}

impl Cameras {
    /// Renders the cameras one after the other.
    #[track_caller]
    pub(super) fn render(stream: &Stream, geometry: &Geometry) -> Result<Self, MeshError> {
        let Geometry { canvas, cameras } = geometry;
        if !(2..=MAX_CAMERAS).contains(&cameras.len()) {
            return Err(MeshError::Cameras(cameras.len()));
        }
        let sources: Vec<_> = cameras.iter().map(|camera| camera.size).collect();
        let mut planes = Vec::with_capacity(cameras.len());
        check_sizes(canvas.size, &sources).map_err(RenderError::from)?;
        for camera in cameras {
            let warp = DeviceWarp::margins(stream, canvas.size, &[(*canvas, *camera)])?;
            let plane = |plane| warp.plane(plane).download(stream);
            planes.push([plane(Plane::X(0))?, plane(Plane::Y(0))?, plane(Plane::Weight(0))?]);
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

impl<'a> From<&'a Cameras> for Looks<'a> {
    fn from(Cameras { size, sources, planes }: &'a Cameras) -> Self {
        let planes = planes.iter().map(|planes| planes.each_ref().map(|plane| &plane[..]));
        Self { size: *size, sources, planes: planes.collect() }
    }
}
