//! Finds the bounding box of the panorama pixels that two cameras of a warp see.

use bytemuck::{cast, cast_slice, pod_read_unaligned};
use glam::UVec2;
use kernels_gpu::colour::FindOverlap;
use shared_types::colour::{BLOCK, BLOCK_ROWS, OverlapBox, OverlapRule};
use shared_types::warp::DeviceCameraPlanes;

use crate::device::{Buffer, DeviceError, LaunchConfig, Stream};

/// Returns the launch configuration for kernels over an overlap of `size` pixels. Each thread processes up to 8 pixels
/// of one column.
pub(crate) fn cover(size: UVec2) -> LaunchConfig {
    LaunchConfig {
        grid: [size.x.div_ceil(BLOCK[0]), size.y.div_ceil(BLOCK_ROWS), 1],
        block: [BLOCK[0], BLOCK[1], 1],
        dynamic_shared: 0,
    }
}

/// Returns the bounding box of the panorama pixels whose source coordinates are in the camera's picture, whatever their
/// weights. Waits for the result.
#[track_caller]
pub(super) fn visible_box(
    stream: &Stream,
    size: UVec2,
    planes: DeviceCameraPlanes<'_>,
    source: UVec2,
) -> Result<OverlapBox, DeviceError> {
    // Every weight counts, even 0 of a camera that is absent at the moment: the share is -∞ or NaN, which is never the
    // larger limit.
    let any = OverlapRule { weight: -1.0, share: f32::NEG_INFINITY };
    // The overlap of a camera with itself is the area that it sees.
    BoxSearch::submit(stream, size, [planes; 2], [source; 2], any)?.read(stream)
}

/// A search for a bounding box that was submitted to the device.
#[derive(Debug)]
pub(crate) struct BoxSearch(Buffer<u32>);

impl BoxSearch {
    /// Submits the search in a panorama of `size` pixels, without waiting. `planes` and `sources` are the planes and
    /// the source sizes of two cameras, or of one camera twice: then the box contains the pixels that this camera sees.
    #[track_caller]
    pub(crate) fn submit(
        stream: &Stream,
        size: UVec2,
        [planes_left, planes_right]: [DeviceCameraPlanes<'_>; 2],
        [left, right]: [UVec2; 2],
        rule: OverlapRule,
    ) -> Result<Self, DeviceError> {
        let mut found = Buffer::from_slice(stream, &cast::<_, [u32; 4]>(OverlapBox::EMPTY))?;
        let corners = found.view_mut();
        let kernel = FindOverlap { planes_left, planes_right, left, right, rule, corners };
        stream.launch(&cover(size), &kernel)?;
        Ok(Self(found))
    }

    /// Waits for the box, and returns it.
    #[track_caller]
    pub(crate) fn read(&self, stream: &Stream) -> Result<OverlapBox, DeviceError> {
        Ok(pod_read_unaligned(cast_slice(&self.0.download(stream)?)))
    }
}
