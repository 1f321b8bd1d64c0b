//! Records the cameras that see each pixel of a panorama, and derives the coverage and the overlaps.

use glam::uvec2;
use shared_types::colour::OverlapBox;

use crate::device::{DeviceError, Stream};
use crate::geometry::Geometry;
use crate::warp::{DeviceWarp, Plane};

/// The fractions of the panorama's pixels that one or more cameras see. Each fraction is 0 to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Coverage {
    /// The fraction of the pixels that at least one camera sees.
    pub any: f64,
    /// The fraction of the pixels that each camera sees, one element per camera.
    pub cameras: Vec<f64>,
    /// The fraction of the pixels that more than one camera sees.
    pub overlap: f64,
}

/// The cameras that see each pixel of the panorama.
pub(super) struct Seen {
    /// One element per pixel, row by row, in which bit i is set if camera i sees the pixel.
    pixels: Vec<u64>,
    width: usize,
    /// The bounding box of the pixels that each camera sees.
    boxes: Vec<OverlapBox>,
}

impl Seen {
    pub(super) fn nothing(Geometry { canvas, cameras }: &Geometry) -> Self {
        let [width, height] = canvas.size.to_array().map(|side| side as usize);
        Self {
            pixels: vec![0; width * height],
            width,
            boxes: vec![OverlapBox::EMPTY; cameras.len()],
        }
    }

    /// Records the pixels that each camera of `warp` sees. `first` is the index of the warp's first camera.
    /// [`DeviceWarp::margins`] must have rendered the warp: its weight planes contain the distance to the edge of the
    /// picture instead of weights.
    pub(super) fn look(
        &mut self,
        stream: &Stream,
        warp: &DeviceWarp,
        first: usize,
    ) -> Result<(), DeviceError> {
        for camera in 0..warp.sources().len() {
            let margins = warp.plane(Plane::Weight(camera)).download(stream)?;
            self.record(first + camera, &margins);
        }
        Ok(())
    }

    /// Records the pixels at which the margin of a camera is greater than 0.
    fn record(&mut self, camera: usize, margins: &[f32]) {
        let place = &mut self.boxes[camera];
        let rows = self.pixels.chunks_exact_mut(self.width).zip(margins.chunks_exact(self.width));
        for (y, (seen, margins)) in (0..).zip(rows) {
            for (seen, margin) in seen.iter_mut().zip(margins) {
                *seen |= u64::from(*margin > 0.0) << camera;
            }
            let inside = |margin: &f32| *margin > 0.0;
            if let (Some(x), Some(last)) =
                (margins.iter().position(inside), margins.iter().rposition(inside))
            {
                place.min = place.min.min(uvec2(x as u32, y));
                place.max = place.max.max(uvec2(last as u32 + 1, y + 1));
            }
        }
    }

    /// Returns the bounding box of the pixels that a camera sees.
    pub(super) fn place(&self, camera: usize) -> OverlapBox {
        self.boxes[camera]
    }

    pub(super) fn coverage(&self) -> Coverage {
        let share = |of: &dyn Fn(u64) -> bool| {
            self.pixels.iter().filter(|&&seen| of(seen)).count() as f64 / self.pixels.len() as f64
        };
        Coverage {
            any: share(&|seen| seen != 0),
            cameras: (0..self.boxes.len()).map(|i| share(&|seen| seen >> i & 1 == 1)).collect(),
            overlap: share(&|seen| seen.count_ones() > 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use glam::uvec2;
    use shared_types::colour::OverlapBox;

    use super::Seen;

    #[test]
    fn a_box_contains_the_pixels_that_a_camera_sees() {
        let mut seen = Seen { pixels: vec![0; 12], width: 4, boxes: vec![OverlapBox::EMPTY; 2] };
        seen.record(1, &[0.0, 0.0, 0.0, 0.0, 0.0, 0.1, 0.2, 0.0, 0.3, 0.0, 0.0, 0.0]);
        assert_eq!(seen.place(1), OverlapBox { min: uvec2(0, 1), max: uvec2(3, 3) });
        assert!(seen.place(0).is_empty());
        assert_eq!(seen.pixels, [0, 0, 0, 0, 0, 2, 2, 0, 2, 0, 0, 0]);
    }
}
