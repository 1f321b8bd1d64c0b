//! The source of a mesh: the planes of a warp, or the cameras of a geometry.
//!
//! Both provide planes; those of a geometry are not grouped in pairs.

use glam::UVec2;
use shared_types::stitch::mesh::MAX_CAMERAS;

use super::MeshError;
use crate::device::Stream;
use crate::geometry::Geometry;
use crate::warp::{DeviceWarp, Plane, RenderError, Warp, check_sizes};

/// Source coordinates and weights of each camera for a panorama's pixels.
pub(in crate::warp) struct Looks<'a> {
    /// Size of the panorama.
    pub(super) size: UVec2,
    /// Sizes of the cameras' pictures.
    pub(super) sources: &'a [UVec2],
    /// Columns, rows and weights per camera.
    pub(super) planes: Vec<[&'a [f32]; 3]>,
}

impl<'a> From<&'a Warp> for Looks<'a> {
    fn from(warp: &'a Warp) -> Self {
        let [left_x, left_y, right_x, right_y, left, right] = warp.planes().each_ref();
        let planes = vec![[&left_x[..], left_y, left], [right_x, right_y, right]];
        Self { size: warp.size(), sources: &warp.sources, planes }
    }
}

/// The cameras of a geometry.
pub(super) struct Cameras {
    size: UVec2,
    sources: Vec<UVec2>,
    /// Columns, rows and weights per camera.
    planes: Vec<[Vec<f32>; 3]>,
}

impl Cameras {
    /// Renders the cameras, two at a time.
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

impl<'a> From<&'a Cameras> for Looks<'a> {
    fn from(Cameras { size, sources, planes }: &'a Cameras) -> Self {
        let planes = planes.iter().map(|planes| planes.each_ref().map(|plane| &plane[..]));
        Self { size: *size, sources, planes: planes.collect() }
    }
}
