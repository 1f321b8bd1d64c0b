//! Panoramas of more than two pictures: what stitches two, once for every picture more.
//!
//! The panorama so far is the left picture of the next step. It looks at its own place, and a pixel of it
//! counts as much as its cameras' distances from their edges add up to: so each camera counts as it
//! would if all were blended at once, and colours, seams and stitches are those of two pictures.
//!
//! ```no_run
//! # fn stitch(
//! #     stream: &panoweave::device::Stream,
//! #     geometry: &panoweave::geometry::Geometry,
//! #     pictures: &[panoweave::picture::Picture],
//! # ) -> Result<Option<panoweave::picture::Picture>, Box<dyn std::error::Error>> {
//! use panoweave::mosaic::{Mosaic, Step};
//! use panoweave::stitch::{StitchOptions, stitch_pictures};
//!
//! let mut mosaic = Mosaic::new(stream, geometry)?;
//! let (mut panorama, options) = (None, StitchOptions::default());
//! while let Some(Step { left, right, warp }) = mosaic.step(stream)? {
//!     let left = left.map(|left| &pictures[left]).or(panorama.as_ref()).expect("the first has a left");
//!     panorama = Some(stitch_pictures(stream, left, &pictures[right], &warp, &options)?);
//! }
//! # Ok(panorama) }
//! ```
//!
//! Cost: a pass over the whole canvas for each picture, and levels are rounded each time, by half a level
//! at most. It is for stills; live video is of two cameras.

use glam::{DMat3, DVec2, UVec2};
use shared_types::warp::{Camera, Canvas};

use crate::device::Stream;
use crate::geometry::Geometry;
use crate::rig::MAX_CAMERAS;
use crate::warp::{DeviceWarp, Plane, RenderError, check_sizes};

/// How the pictures of a geometry become one panorama, step by step.
#[derive(Debug)]
pub struct Mosaic {
    canvas: Canvas,
    cameras: Vec<Camera>,
    coverage: MosaicCoverage,
    /// Cameras in the order in which they are added.
    order: Vec<usize>,
    /// Those that have been.
    added: usize,
    /// Their margins' sum for every pixel.
    total: Vec<f32>,
}

/// The next picture, or the first two.
#[derive(Debug)]
pub struct Step {
    /// Camera of the left picture; `None` for the panorama so far.
    pub left: Option<usize>,
    /// Camera of the right picture.
    pub right: usize,
    /// Where the panorama looks in both.
    pub warp: DeviceWarp,
}

/// What fractions of the panorama are seen.
#[derive(Clone, Debug, PartialEq)]
pub struct MosaicCoverage {
    /// By any camera.
    pub any: f64,
    /// By each camera.
    pub cameras: Vec<f64>,
    /// By more than one.
    pub overlap: f64,
}

impl Mosaic {
    /// Finds out what each camera sees, and waits for it.
    ///
    /// # Errors
    /// [`RenderError`].
    #[track_caller]
    pub fn new(stream: &Stream, geometry: &Geometry) -> Result<Self, RenderError> {
        let Geometry { canvas, cameras } = geometry.clone();
        if !(2..=MAX_CAMERAS).contains(&cameras.len()) {
            return Err(RenderError::Cameras(cameras.len()));
        }
        let size = canvas.size;
        // Bit i: camera i sees the pixel.
        let mut seen = vec![0_u64; size.x as usize * size.y as usize];
        for (first, two) in cameras.chunks(2).enumerate() {
            let two = [two[0], *two.last().unwrap_or(&two[0])];
            check_sizes(size, two.map(|camera| camera.size))?;
            let warp = DeviceWarp::margins(stream, size, two.map(|camera| (canvas, camera)))?;
            for (i, plane) in [Plane::WeightLeft, Plane::WeightRight].into_iter().enumerate() {
                let camera = (2 * first + i).min(cameras.len() - 1);
                let margins = warp.plane(plane).download(stream)?;
                for (seen, margin) in seen.iter_mut().zip(margins) {
                    *seen |= u64::from(margin > 0.0) << camera;
                }
            }
        }
        let share = |of: &dyn Fn(u64) -> bool| {
            seen.iter().filter(|&&seen| of(seen)).count() as f64 / seen.len() as f64
        };
        let coverage = MosaicCoverage {
            any: share(&|seen| seen != 0),
            cameras: (0..cameras.len()).map(|i| share(&|seen| seen >> i & 1 == 1)).collect(),
            overlap: share(&|seen| seen.count_ones() > 1),
        };
        let order = order(&seen, cameras.len());
        Ok(Self { canvas, cameras, coverage, order, added: 0, total: vec![0.0; seen.len()] })
    }

    /// What is seen.
    #[must_use]
    pub fn coverage(&self) -> &MosaicCoverage {
        &self.coverage
    }

    /// Whether all pictures have been added.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.added == self.order.len()
    }

    /// The next step; `None` after the last.
    ///
    /// # Errors
    /// [`RenderError`].
    #[track_caller]
    pub fn step(&mut self, stream: &Stream) -> Result<Option<Step>, RenderError> {
        let Some(&next) = self.order.get(self.added) else { return Ok(None) };
        let size = self.canvas.size;
        let of = |camera: usize| (self.canvas, self.cameras[camera]);
        let (left, right, mut warp) = if self.added == 0 {
            let right = self.order[1];
            (Some(next), right, DeviceWarp::margins(stream, size, [of(next), of(right)])?)
        } else {
            (None, next, DeviceWarp::margins(stream, size, [itself(size), of(next)])?)
        };
        if let Some([left_margin, right_margin]) = warp.weights_mut() {
            if left.is_some() {
                self.total = left_margin.download(stream)?;
            } else {
                left_margin.upload(stream, &self.total)?;
            }
            let more = right_margin.download(stream)?;
            self.total.iter_mut().zip(more).for_each(|(total, more)| *total += more);
        }
        warp.feather(stream)?;
        self.added += if left.is_some() { 2 } else { 1 };
        Ok(Some(Step { left, right, warp }))
    }
}

/// The view of a picture that is as large as the panorama and lies on it.
fn itself(size: UVec2) -> (Canvas, Camera) {
    (Canvas::of_pixels(DVec2::ZERO, size), Camera::from_matrix(DMat3::IDENTITY, size))
}

/// From the first camera on, always the one that has most in common with those before it, so that colours
/// and seams have an overlap to come from.
fn order(seen: &[u64], cameras: usize) -> Vec<usize> {
    let mut order = vec![0];
    while order.len() < cameras {
        let before = order.iter().fold(0_u64, |bits, camera| bits | 1 << camera);
        let mut common = vec![0_u64; cameras];
        for seen in seen.iter().filter(|&&seen| seen & before != 0) {
            let mut more = seen & !before;
            while more != 0 {
                common[more.trailing_zeros() as usize] += 1;
                more &= more - 1;
            }
        }
        let rest = (0..cameras).filter(|camera| before >> camera & 1 == 0);
        // Of those that have as much, the first.
        order.extend(rest.rev().max_by_key(|&camera| common[camera]));
    }
    order
}

#[cfg(test)]
mod tests {
    use super::order;

    #[test]
    fn neighbours_follow_each_other() {
        // 0 and 2 overlap, 2 and 1 by more, 3 and 1; 4 sees what no other does.
        let seen = [0b00001, 0b00101, 0b00110, 0b00110, 0b01010, 0b10000, 0];
        assert_eq!(order(&seen, 5), [0, 2, 1, 3, 4]);
    }
}
