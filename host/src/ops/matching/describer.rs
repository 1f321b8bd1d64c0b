//! Finds the keypoints of a picture and computes their descriptors. Kernels process the pixels; the host selects the
//! points and their orientations. `pairs` compares the descriptors.

use std::f64::consts::TAU;

use cuda_std::DeviceView;
use glam::{DVec2, UVec2, Vec2};
use kernels_gpu::features::LumaRgba8;
use kernels_gpu::matching::{Describe, FindPeaks, Orient, Pack, Shrink};
use shared_types::Rgba8;
use shared_types::matching::{
    ALL_FIELDS, BINS, BLOCK, BLOCK_THREADS, CELL, Descriptor, Field, Peak, Pose,
};

use super::spread::spread;
use super::{MatchError, PIXELS};
use crate::device::{Buffer, DeviceError, Image, LaunchConfig, Stream};
use crate::ops::features::{Detector, FeatureOptions};

/// The maximum number of points per picture.
const POINTS: f64 = 2000.0;

/// The maximum number of pyramid levels. The sides of each level are those of the previous level divided by √2.
const LEVELS: u32 = 7;

/// The minimum length of a level's shorter side, in pixels.
const SMALLEST: u32 = 48;

/// The width of the border without points, in pixels of each pyramid level.
const BORDER: u32 = 8;

/// The minimum eigenvalue of a point, in (levels per pixel)², summed over the detector's window. The eigenvalues that
/// rounding noise causes in a blank picture are smaller.
const LEAST_VALUE: f32 = 0.1;

/// The minimum gradient sum for a second orientation of a point, as a fraction of the point's largest gradient sum.
const SECOND_ORIENTATION: f32 = 0.8;

/// The maximum number of orientations per point.
const ORIENTATIONS: usize = 2;

/// A point of a picture, with one orientation. A point with two orientations becomes two keypoints.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Keypoint {
    /// The position in pixels of the full picture. Pixel centres are at integers.
    pub at: DVec2,
    /// The size of a pixel of the point's pyramid level, in pixels of the full picture.
    pub scale: f64,
}

/// The keypoints of a picture, and their descriptors on the device.
#[derive(Debug)]
pub struct Described {
    pub(super) points: Vec<Keypoint>,
    pub(super) descriptors: Buffer<Descriptor>,
}

impl Described {
    /// Returns the keypoints, in the order of their descriptors.
    #[must_use]
    pub fn points(&self) -> &[Keypoint] {
        &self.points
    }
}

/// Finds and describes keypoints in pictures of one size. Reuses its device memory, which is at most about 50 bytes per
/// pixel. All calls must use the same stream.
#[derive(Debug)]
pub struct Describer {
    size: UVec2,
    luma: Image<f32>,
    levels: Vec<Level>,
    /// The peaks of all levels, one level after the other. The elements of `points`, `sums`, `poses` and `fields` are
    /// also ordered by level.
    peaks: Buffer<Peak>,
    points: Buffer<Vec2>,
    /// The unit vectors of the orientation bins.
    directions: Buffer<Vec2>,
    /// The gradient sums of the points: for each point, one sum per orientation bin.
    sums: Buffer<f32>,
    poses: Buffer<Pose>,
    fields: Buffer<Field>,
}

/// One level of the pyramid, with the detector that finds its points.
#[derive(Debug)]
struct Level {
    /// The downscaled luma. `None` if the level has the size of the picture, because it then uses the picture's luma.
    luma: Option<Image<f32>>,
    detector: Detector,
    size: UVec2,
}

impl Level {
    fn new(stream: &Stream, size: UVec2, is_picture: bool) -> Result<Self, MatchError> {
        let image = || Image::new(stream.device(), size.x, size.y);
        Ok(Self {
            luma: if is_picture { None } else { Some(image()?) },
            detector: Detector::new(stream, size, &FeatureOptions::default())?,
            size,
        })
    }

    /// Returns the number of cells of the level. The kernel finds at most one peak (a local maximum of the eigenvalues)
    /// per cell.
    fn cells(&self) -> u32 {
        self.size.x.div_ceil(CELL) * self.size.y.div_ceil(CELL)
    }
}

impl Describer {
    /// Creates a describer for pictures of `size`.
    ///
    /// # Errors
    /// Returns [`MatchError`] if the size is invalid, or an allocation fails.
    #[track_caller]
    pub fn new(stream: &Stream, size: UVec2) -> Result<Self, MatchError> {
        let device = stream.device();
        let angles = (0..BINS).map(|bin| TAU * f64::from(bin) / f64::from(BINS));
        let directions: Vec<_> = angles.map(|a| DVec2::from_angle(a).as_vec2()).collect();
        let mut levels = Vec::new();
        for level in level_sizes(size) {
            levels.push(Level::new(stream, level, level == size)?);
        }
        let cells: u32 = levels.iter().map(Level::cells).sum();
        let points: usize = share(&levels).iter().sum();
        // A buffer must not be empty, even if there are no points.
        let points = u32::try_from(points).unwrap_or(u32::MAX).clamp(1, cells.max(1));
        let poses = points * ORIENTATIONS as u32;
        Ok(Self {
            size,
            luma: Image::new(device, size.x, size.y)?,
            levels,
            peaks: Buffer::new(device, cells.max(1))?,
            points: Buffer::new(device, points)?,
            directions: Buffer::from_slice(stream, &directions)?,
            sums: Buffer::new(device, points * BINS)?,
            poses: Buffer::new(device, poses)?,
            fields: Buffer::new(device, poses * ALL_FIELDS)?,
        })
    }

    /// Finds and describes the keypoints of a picture, and waits for them.
    ///
    /// # Errors
    /// Returns [`MatchError`] if the picture does not have the describer's size, or the device fails.
    #[track_caller]
    pub fn describe(
        &mut self,
        stream: &Stream,
        picture: DeviceView<'_, Rgba8>,
    ) -> Result<Described, MatchError> {
        let (width, height) = picture.size();
        let found = UVec2::new(width, height);
        if found != self.size {
            let expected = self.size;
            return Err(MatchError::Invalid(format!(
                "the picture is {}×{} pixels, but the describer was created for {}×{}",
                found.x, found.y, expected.x, expected.y
            )));
        }
        self.submit_levels(stream, picture)?;
        let peaks = self.chosen(stream)?;
        let poses = self.oriented(stream, &peaks)?;
        let descriptors = self.packed(stream, &poses)?;
        let mut points = Vec::new();
        for (level, poses) in self.levels.iter().zip(&poses) {
            let (size, own) = (self.size.as_dvec2(), level.size.as_dvec2());
            points.extend(poses.iter().map(|pose| Keypoint {
                at: (pose.at.as_dvec2() + 0.5) * size / own - 0.5,
                scale: size.x / own.x,
            }));
        }
        Ok(Described { points, descriptors })
    }

    /// Submits the computation of the pyramid, and of the gradients, eigenvalues and peaks of each level.
    #[track_caller]
    fn submit_levels(
        &mut self,
        stream: &Stream,
        picture: DeviceView<'_, Rgba8>,
    ) -> Result<(), MatchError> {
        let config = LaunchConfig::cover(self.size.x, self.size.y, BLOCK);
        stream.launch(&config, &LumaRgba8 { picture, out: self.luma.view_mut() })?;
        let (mut larger, mut first) = (&self.luma, 0);
        for Level { luma, detector, size } in &mut self.levels {
            if let Some(luma) = luma {
                let config = LaunchConfig::cover(size.x, size.y, BLOCK);
                let (input, out) = (larger.view(), luma.view_mut());
                stream.launch(&config, &Shrink { input, out })?;
                larger = luma;
            }
            detector.submit_luma(stream, larger.view())?;
            let cells = size.x.div_ceil(CELL) * size.y.div_ceil(CELL);
            let (values, peaks) = (detector.eigenvalues().view(), self.peaks.view_mut());
            stream.launch(&line(cells), &FindPeaks { values, border: BORDER, first, peaks })?;
            first += cells;
        }
        Ok(())
    }

    /// Waits for the peaks of all levels, and selects the points of each level from the peaks of that level.
    #[track_caller]
    fn chosen(&self, stream: &Stream) -> Result<Vec<Vec<Peak>>, DeviceError> {
        let all = self.peaks.download(stream)?;
        let (mut rest, mut room) = (&all[..], self.points.len() as usize);
        let shares = share(&self.levels);
        let chosen = self.levels.iter().zip(shares).map(|(level, share)| {
            let (own, others) = rest.split_at((level.cells() as usize).min(rest.len()));
            rest = others;
            let own = own.iter().filter(|peak| peak.value >= LEAST_VALUE).copied().collect();
            let chosen = spread(own, share.min(room));
            room -= chosen.len();
            chosen
        });
        Ok(chosen.collect())
    }

    /// Computes the orientations of all points. Returns one pose (position and direction) for each orientation.
    #[track_caller]
    fn oriented(
        &mut self,
        stream: &Stream,
        peaks: &[Vec<Peak>],
    ) -> Result<Vec<Vec<Pose>>, DeviceError> {
        let mut points: Vec<_> = peaks.iter().flatten().map(|peak| peak.at).collect();
        if points.is_empty() {
            return Ok(vec![Vec::new(); peaks.len()]);
        }
        points.resize(self.points.len() as usize, Vec2::ZERO);
        self.points.upload(stream, &points)?;
        let mut first = 0;
        for (level, peaks) in self.levels.iter().zip(peaks) {
            let count = peaks.len() as u32;
            if count == 0 {
                continue;
            }
            let [along_x, along_y] = level.detector.gradients().map(Image::view);
            let (points, directions) = (self.points.view(), self.directions.view());
            let out = self.sums.view_mut();
            let kernel = Orient { along_x, along_y, points, first, count, directions, out };
            stream.launch(&line(count * BINS), &kernel)?;
            first += count;
        }
        let sums = self.sums.download(stream)?;
        let mut sums = sums.chunks_exact(BINS as usize);
        let poses = |peaks: &Vec<Peak>| {
            let poses = peaks.iter().zip(&mut sums).flat_map(|(peak, sums)| {
                let along = |angle| DVec2::from_angle(angle).as_vec2();
                let pose = move |angle| Pose { at: peak.at, along: along(angle) };
                orientations(sums).into_iter().map(pose)
            });
            poses.collect()
        };
        Ok(peaks.iter().map(poses).collect())
    }

    /// Submits the computation of the descriptors of all poses without waiting, and returns the buffer of the
    /// descriptors.
    #[track_caller]
    fn packed(
        &mut self,
        stream: &Stream,
        poses: &[Vec<Pose>],
    ) -> Result<Buffer<Descriptor>, DeviceError> {
        let mut all: Vec<_> = poses.iter().flatten().copied().collect();
        let count = all.len() as u32;
        // A buffer must not be empty, even if there are no poses.
        let mut out = Buffer::new(stream.device(), count.max(1))?;
        if count == 0 {
            return Ok(out);
        }
        all.resize(self.poses.len() as usize, all[0]);
        self.poses.upload(stream, &all)?;
        let mut first = 0;
        for (level, poses) in self.levels.iter().zip(poses) {
            let count = poses.len() as u32;
            if count == 0 {
                continue;
            }
            let [along_x, along_y] = level.detector.gradients().map(Image::view);
            let (poses, out) = (self.poses.view(), self.fields.view_mut());
            let kernel = Describe { along_x, along_y, poses, first, count, out };
            stream.launch(&line(count * ALL_FIELDS), &kernel)?;
            first += count;
        }
        let kernel = Pack { fields: self.fields.view(), out: out.view_mut() };
        stream.launch(&line(count), &kernel)?;
        Ok(out)
    }
}

/// Returns a launch configuration with a thread for each of `count` elements.
fn line(count: u32) -> LaunchConfig {
    LaunchConfig::cover(count, 1, [BLOCK_THREADS, 1])
}

/// Returns the sizes of the pyramid levels for a picture of `size`. The first level has at most [`PIXELS`] pixels.
fn level_sizes(size: UVec2) -> Vec<UVec2> {
    let area = size.as_dvec2().element_product();
    let first = (area / PIXELS as f64).log2().max(0.0).ceil();
    let sizes = (0..LEVELS).map(|level| {
        let scale = (-0.5 * (first + f64::from(level))).exp2();
        (size.as_dvec2() * scale).round().as_uvec2().max(UVec2::ONE)
    });
    let large = |size: &UVec2| size.min_element() >= SMALLEST;
    let all: Vec<_> = sizes.take_while(large).collect();
    // A picture that is too small for any level has one level of its full size.
    if all.is_empty() { vec![size] } else { all }
}

/// Divides [`POINTS`] among the levels in proportion to their side lengths. Returns the number for each level.
fn share(levels: &[Level]) -> Vec<usize> {
    let sides: Vec<f64> =
        levels.iter().map(|level| level.size.as_dvec2().element_product().sqrt()).collect();
    let all: f64 = sides.iter().sum();
    sides.iter().map(|side| (POINTS * side / all).round() as usize).collect()
}

/// Returns the orientations of a point in radians: the local maxima of its gradient sums that are at least
/// [`SECOND_ORIENTATION`] times the largest sum. Returns at most [`ORIENTATIONS`] of them.
fn orientations(sums: &[f32]) -> Vec<f64> {
    let largest = sums.iter().copied().fold(0.0, f32::max);
    if largest <= 0.0 {
        return Vec::new();
    }
    let bins = sums.len();
    let mut found: Vec<(f32, f64)> = Vec::new();
    for (bin, &sum) in sums.iter().enumerate() {
        let (before, after) = (sums[(bin + bins - 1) % bins], sums[(bin + 1) % bins]);
        if sum >= SECOND_ORIENTATION * largest && sum >= before && sum > after {
            let bend = f64::from(2.0 * sum - before - after);
            let top = if bend > 0.0 { 0.5 * f64::from(after - before) / bend } else { 0.0 };
            found.push((sum, TAU * (bin as f64 + top) / bins as f64));
        }
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found.truncate(ORIENTATIONS);
    found.into_iter().map(|(_, angle)| angle).collect()
}
