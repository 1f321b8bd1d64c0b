//! Measures which part of a panorama each camera covers, and where the cameras overlap.

use serde::Serialize;

use crate::warp::Warp;

/// A rectangle of panorama pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PixelBox {
    /// The first column, from 0.
    pub x: u32,
    /// The first row, from 0.
    pub y: u32,
    /// The number of columns.
    pub width: u32,
    /// The number of rows.
    pub height: u32,
}

/// The coverage of a panorama by one camera.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CameraStats {
    /// The width and height of the camera's source in pixels.
    pub size: [u32; 2],
    /// Fraction of the panorama's pixels to which the camera contributes, 0 to 1.
    pub coverage: f64,
    /// The smallest source column and the smallest source row that the panorama shows, in pixels. `None` if the camera
    /// contributes to no pixel.
    pub least: Option<[f32; 2]>,
    /// The largest source column and the largest source row that the panorama shows, in pixels. `None` if the camera
    /// contributes to no pixel.
    pub most: Option<[f32; 2]>,
}

/// Statistics of a warp. A camera contributes to a pixel if its weight exceeds 0.001 and its source coordinates are
/// inside its picture.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WarpStats {
    /// The width and height of the panorama in pixels.
    pub size: [u32; 2],
    /// The source of each camera, and the coverage by it.
    pub cameras: Vec<CameraStats>,
    /// Fraction of the panorama's pixels to which at least one camera contributes, 0 to 1. All other pixels are black.
    pub coverage: f64,
    /// Fraction of the panorama's pixels to which two or more cameras contribute, 0 to 1.
    pub overlap: f64,
    /// The bounding box of the overlap; `None` if there is no overlap.
    pub overlap_box: Option<PixelBox>,
}

impl Warp {
    /// Computes the coverage of the panorama by each camera, and the overlap of the cameras.
    #[must_use]
    pub fn stats(&self) -> WarpStats {
        let size = self.size();
        let cameras = self.sources().len();
        let mut counts = vec![0u64; cameras];
        let mut ranges = vec![([f32::INFINITY; 2], [f32::NEG_INFINITY; 2]); cameras];
        let (mut any, mut several) = (0u64, 0u64);
        let mut corners: Option<[u32; 4]> = None;
        for y in 0..size.y {
            for x in 0..size.x {
                let at = y as usize * size.x as usize + x as usize;
                let mut seen = 0;
                for camera in (0..cameras).filter(|&camera| self.counts(camera, at).is_some()) {
                    seen += 1;
                    counts[camera] += 1;
                    let (least, most) = &mut ranges[camera];
                    for (axis, value) in self.source(camera, at).into_iter().enumerate() {
                        least[axis] = least[axis].min(value);
                        most[axis] = most[axis].max(value);
                    }
                }
                any += u64::from(seen > 0);
                if seen > 1 {
                    several += 1;
                    let [left, top, right, bottom] = corners.unwrap_or([x, y, x, y]);
                    corners = Some([left.min(x), top.min(y), right.max(x), bottom.max(y)]);
                }
            }
        }
        let share = |count: u64| count as f64 / (f64::from(size.x) * f64::from(size.y));
        let cameras = self.sources().iter().zip(counts.into_iter().zip(ranges));
        let cameras = cameras.map(|(&size, (count, (least, most)))| CameraStats {
            size: size.into(),
            coverage: share(count),
            least: (count > 0).then_some(least),
            most: (count > 0).then_some(most),
        });
        WarpStats {
            size: size.into(),
            cameras: cameras.collect(),
            coverage: share(any),
            overlap: share(several),
            overlap_box: corners.map(|[left, top, right, bottom]| PixelBox {
                x: left,
                y: top,
                width: right - left + 1,
                height: bottom - top + 1,
            }),
        }
    }
}
