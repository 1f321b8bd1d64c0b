//! Computes the launch parameters of one view (rotation, size and formats), and the bounds of a camera's field of view.

use glam::{DMat3, DVec2, DVec3, UVec2};
use shared_types::view::{BLOCK, ViewCanvas, ViewFrame, tile};
use shared_types::warp::{Camera, Canvas};

use super::ViewPose;
use crate::device::LaunchConfig;
use crate::frame::{FrameFormat, FrameViewMut, PixelFormat};
use crate::geometry::border;

/// Returns the normals of four planes through the camera's centre, in the camera's coordinate system. The planes
/// enclose the camera's field of view with a margin: a ray with a negative dot product with one of the normals is
/// outside the field of view. For a lens that covers a hemisphere or more, all normals are 0, so no ray is excluded.
pub(super) fn normals(camera: &Camera) -> [DVec3; 4] {
    /// The margin on each side, as a fraction of the picture's size. It makes up for the parts of the border between
    /// the sampled rays.
    const ROOM: f64 = 0.02;
    let mut bounds: Option<(DVec2, DVec2)> = None;
    // `border` samples pixel centres, but the picture extends half a pixel further. At the rim of a wide lens, half a
    // pixel exceeds the margin, so sample a picture that is one pixel larger.
    let wider = Camera { size: camera.size.saturating_add(UVec2::ONE), ..*camera };
    for ray in border(&wider) {
        match ray {
            // The rays are unit vectors, so z is the cosine of the angle to the optical axis. Exclude rays that do not
            // point forward.
            Some(DVec3 { x, y, z }) if z > 1e-6 => {
                let p = DVec2::new(x / z, y / z);
                let (low, high) = bounds.unwrap_or((p, p));
                bounds = Some((low.min(p), high.max(p)));
            }
            _ => return [DVec3::ZERO; 4],
        }
    }
    let Some((low, high)) = bounds else { return [DVec3::ZERO; 4] };
    let room = (high - low) * ROOM;
    let (low, high) = (low - room, high + room);
    [
        DVec3::new(1.0, 0.0, -low.x),
        DVec3::new(-1.0, 0.0, high.x),
        DVec3::new(0.0, 1.0, -low.y),
        DVec3::new(0.0, -1.0, high.y),
    ]
}

/// The properties that all launches of a view share.
pub(super) struct Shot {
    pub(super) turn: DMat3,
    pub(super) focal: f64,
    pub(super) size: UVec2,
    /// The width and height, in pixels, of the cell that one thread computes: 2 for NV12 and P010, whose chroma samples
    /// are shared by four pixels, and 1 for RGBA.
    pub(super) cell: u32,
    pub(super) output: PixelFormat,
}

impl Shot {
    pub(super) fn new(view: &ViewPose, flip: bool, out: &FrameViewMut<'_>) -> Self {
        let FrameFormat { size, pixels: output } = out.format();
        let cell = output.cell();
        let (turn, focal) = (upright(flip) * view.turn(), view.focal(size.x));
        Self { turn, focal, size, cell, output }
    }

    pub(super) fn config(&self) -> LaunchConfig {
        let tile = tile(self.cell);
        let (columns, rows) = (self.size.x.div_ceil(tile.x), self.size.y.div_ceil(tile.y));
        LaunchConfig::cover(columns * BLOCK[0], rows * BLOCK[1], BLOCK)
    }

    pub(super) fn canvas(&self, canvas: &Canvas) -> ViewCanvas {
        ViewCanvas::new(canvas, self.turn, self.focal)
    }

    /// Returns the view's centre and conversions for pictures of the format `input`.
    pub(super) fn frame(&self, input: PixelFormat) -> ViewFrame {
        ViewFrame {
            middle: (self.size.as_vec2() - 1.0) / 2.0,
            decode: input.to_rgb(),
            encode: self.output.to_yuv(),
        }
    }
}

/// Returns the rotation from the coordinate system of a panorama to that of the geometry. If the panorama is not
/// flipped, the two are the same, and the rotation is the identity.
pub(super) fn upright(flip: bool) -> DMat3 {
    DMat3::from_diagonal(if flip { DVec3::new(-1.0, -1.0, 1.0) } else { DVec3::ONE })
}
