//! The memory with which any number of cameras are stitched by planes: the sums of a panorama, and the bounding box of
//! each camera. All warps that share their coordinates share it, because it does not depend on the weights.

use glam::UVec2;
use kernels_gpu::colour::FindOverlap;
use shared_types::colour::{BLOCK, BLOCK_ROWS, OverlapBox, OverlapRule};
use shared_types::stitch::sum::Sum;
use shared_types::warp::DeviceCameraPlanes;

use crate::device::{Buffer, DeviceError, Event, Image, LaunchConfig, Stream};

/// The sums of a panorama while its cameras are added, and the bounding boxes of the cameras.
#[derive(Debug)]
pub(crate) struct Summing {
    pub(crate) sums: Image<Sum>,
    /// The bounding box of the panorama pixels that each camera sees with any weight.
    pub(crate) boxes: Vec<OverlapBox>,
    /// An event that is recorded after the last work that uses `sums`.
    pub(crate) done: Event,
}

impl Summing {
    /// Allocates the sums for a panorama of `size` pixels, and waits for the search of the boxes. `cameras` contains
    /// the planes and the source size of each camera.
    #[track_caller]
    pub(super) fn new<'a>(
        stream: &Stream,
        size: UVec2,
        cameras: impl IntoIterator<Item = (DeviceCameraPlanes<'a>, UVec2)>,
    ) -> Result<Self, DeviceError> {
        let sums = Image::new(stream.device(), size.x, size.y)?;
        let seen = |(planes, source)| seen_box(stream, size, planes, source);
        let boxes = cameras.into_iter().map(seen).collect::<Result<_, _>>()?;
        Ok(Self { sums, boxes, done: Event::for_order(stream.device())? })
    }
}

/// Returns the bounding box of the pixels that a camera sees, in a panorama of `size` pixels. Waits for the result.
#[track_caller]
fn seen_box(
    stream: &Stream,
    size: UVec2,
    planes: DeviceCameraPlanes<'_>,
    source: UVec2,
) -> Result<OverlapBox, DeviceError> {
    let empty = bytemuck::cast::<_, [u32; 4]>(OverlapBox::EMPTY);
    let mut found = Buffer::from_slice(stream, &empty)?;
    let kernel = FindOverlap {
        // The overlap of the camera with itself is the area that it sees.
        planes_left: planes,
        planes_right: planes,
        left: source,
        right: source,
        // Weights are at least 0, so every weight counts.
        rule: OverlapRule { weight: -1.0, share: -1.0 },
        corners: found.view_mut(),
    };
    let config = LaunchConfig {
        grid: [size.x.div_ceil(BLOCK[0]), size.y.div_ceil(BLOCK_ROWS), 1],
        block: [BLOCK[0], BLOCK[1], 1],
        dynamic_shared: 0,
    };
    stream.launch(&config, &kernel)?;
    Ok(bytemuck::pod_read_unaligned(bytemuck::cast_slice(&found.download(stream)?)))
}
