//! The memory with which any number of cameras are stitched by planes: the sums of a panorama, and the bounding box of
//! each camera. All warps that share their coordinates share it, because it does not depend on the weights.

use glam::UVec2;
use shared_types::colour::OverlapBox;
use shared_types::stitch::sum::Sum;
use shared_types::warp::DeviceCameraPlanes;

use super::bounds::visible_box;
use crate::device::{DeviceError, Event, Image, Stream};

/// The sums of a panorama while its cameras are added, and the bounding boxes of the cameras.
#[derive(Debug)]
pub(crate) struct PanoramaSums {
    pub(crate) sums: Image<Sum>,
    /// The bounding box of the panorama pixels that each camera can see, whatever their weights.
    pub(crate) boxes: Vec<OverlapBox>,
    /// An event that is recorded after the last work that uses `sums`.
    pub(crate) done: Event,
}

impl PanoramaSums {
    /// Allocates the sums for a panorama of `size` pixels, and waits for the search of the boxes. `cameras` contains
    /// the planes and the source size of each camera.
    #[track_caller]
    pub(super) fn new<'a>(
        stream: &Stream,
        size: UVec2,
        cameras: impl IntoIterator<Item = (DeviceCameraPlanes<'a>, UVec2)>,
    ) -> Result<Self, DeviceError> {
        let sums = Image::new(stream.device(), size.x, size.y)?;
        let find = |(planes, source)| visible_box(stream, size, planes, source);
        let boxes = cameras.into_iter().map(find).collect::<Result<_, _>>()?;
        Ok(Self { sums, boxes, done: Event::for_order(stream.device())? })
    }
}
