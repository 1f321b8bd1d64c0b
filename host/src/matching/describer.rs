//! From a picture to its points and descriptors, on the device.

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
use super::{MatchError, MatchOptions};
use crate::convolve::{Between, Filter, Taps};
use crate::device::{Buffer, DeviceError, Image, LaunchConfig, Stream};
use crate::features::{Detector, FeatureOptions};

/// Levels of the pyramid, each smaller than the one before by the square root of two.
const LEVELS: u32 = 7;

/// Shorter side of the smallest level, in pixels.
const SMALLEST: u32 = 48;

/// Standard deviation in pixels of the smoothing before a level is made of the one before.
const BLUR: f32 = 0.7;

/// Pixels along each edge of a level without points.
const BORDER: u32 = 8;

/// Another orientation counts if its sum of gradients is so much of the largest.
const SECOND_ORIENTATION: f32 = 0.8;

/// A point of a picture, in one orientation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Keypoint {
    /// Where it is in the full picture; pixel centres are at integers.
    pub at: DVec2,
    /// Pixels of the full picture in one of the level that it was found on.
    pub scale: f64,
    /// Its orientation in radians, from the x axis towards the y axis.
    pub angle: f64,
    /// The smaller eigenvalue of the gradients' products around it, on its level.
    pub value: f32,
}

/// The points of a picture, and their descriptors on the device.
#[derive(Debug)]
pub struct Described {
    pub(super) points: Vec<Keypoint>,
    pub(super) descriptors: Buffer<Descriptor>,
}

impl Described {
    /// The points, in the order of their descriptors.
    #[must_use]
    pub fn points(&self) -> &[Keypoint] {
        &self.points
    }
}

/// Finds and describes points in pictures of one size, on one stream, and keeps the memory for it: about 50
/// bytes a pixel.
#[derive(Debug)]
pub struct Describer {
    options: MatchOptions,
    size: UVec2,
    luma: Image<f32>,
    blur: Filter,
    between: Between,
    /// Unit vectors of the orientations' bins.
    directions: Buffer<Vec2>,
    levels: Vec<Level>,
}

/// One level of the pyramid.
#[derive(Debug)]
struct Level {
    luma: Image<f32>,
    blurred: Image<f32>,
    detector: Detector,
    peaks: Buffer<Peak>,
}

impl Level {
    fn new(stream: &Stream, size: UVec2) -> Result<Self, MatchError> {
        let device = stream.device();
        let image = || Image::new(device, size.x, size.y);
        let cells = size.x.div_ceil(CELL) * size.y.div_ceil(CELL);
        Ok(Self {
            luma: image()?,
            blurred: image()?,
            detector: Detector::new(stream, size, &FeatureOptions::default())?,
            peaks: Buffer::new(device, cells)?,
        })
    }

    fn size(&self) -> UVec2 {
        UVec2::new(self.luma.width(), self.luma.height())
    }
}

impl Describer {
    /// A describer for pictures of `size`.
    ///
    /// # Errors
    /// [`MatchError`].
    #[track_caller]
    pub fn new(stream: &Stream, size: UVec2, options: &MatchOptions) -> Result<Self, MatchError> {
        let blur = Taps::gaussian(BLUR)?;
        let angles = (0..BINS).map(|bin| TAU * f64::from(bin) / f64::from(BINS));
        let directions: Vec<_> = angles.map(|a| DVec2::from_angle(a).as_vec2()).collect();
        let mut levels = Vec::new();
        for size in level_sizes(size, options.pixels) {
            levels.push(Level::new(stream, size)?);
        }
        Ok(Self {
            options: options.clone(),
            size,
            luma: Image::new(stream.device(), size.x, size.y)?,
            blur: Filter::new(stream, &blur, &blur)?,
            between: Between::default(),
            directions: Buffer::from_slice(stream, &directions)?,
            levels,
        })
    }

    /// Finds and describes the points of a picture, and waits for them.
    ///
    /// # Errors
    /// [`MatchError`].
    #[track_caller]
    pub fn describe(
        &mut self,
        stream: &Stream,
        picture: DeviceView<'_, Rgba8>,
    ) -> Result<Described, MatchError> {
        let (width, height) = picture.size();
        let found = UVec2::new(width, height);
        if found != self.size {
            return Err(MatchError::Size { found, expected: self.size });
        }
        self.submit_levels(stream, picture)?;
        let mut all = Vec::new();
        let count = share(&self.levels, self.options.points);
        for (level, count) in self.levels.iter().zip(count) {
            let mut peaks = level.peaks.download(stream)?;
            peaks.retain(|peak| peak.value > 0.0);
            all.push(level.oriented(stream, &spread(peaks, count), &self.directions)?);
        }
        let poses: u32 = all.iter().map(|(_, poses)| poses.len() as u32).sum();
        // There is no empty buffer.
        let descriptors = Buffer::new(stream.device(), poses.max(1))?;
        let mut described = Described { points: Vec::new(), descriptors };
        for (level, (peaks, poses)) in self.levels.iter().zip(all) {
            let first = described.points.len() as u32;
            level.describe(stream, &poses, first, &mut described.descriptors)?;
            let (size, own) = (self.size.as_dvec2(), level.size().as_dvec2());
            described.points.extend(peaks.iter().zip(&poses).map(|(peak, pose)| Keypoint {
                at: (pose.at.as_dvec2() + 0.5) * size / own - 0.5,
                scale: size.x / own.x,
                angle: f64::from(pose.along.y).atan2(pose.along.x.into()),
                value: peak.value,
            }));
        }
        Ok(described)
    }

    /// Submits everything up to the points of each level.
    #[track_caller]
    fn submit_levels(
        &mut self,
        stream: &Stream,
        picture: DeviceView<'_, Rgba8>,
    ) -> Result<(), MatchError> {
        let config = LaunchConfig::cover(self.size.x, self.size.y, BLOCK);
        stream.launch(&config, &LumaRgba8 { picture, out: self.luma.view_mut() })?;
        for i in 0..self.levels.len() {
            let (before, rest) = self.levels.split_at_mut(i);
            let Some(level) = rest.first_mut() else { break };
            // The first level may be much smaller than the picture, which is then smoothed on the way.
            let from = match before.last() {
                Some(before) => &before.blurred,
                None => &self.luma,
            };
            let size = level.size();
            let steps = halvings(UVec2::new(from.width(), from.height()), size);
            let halved = halve(stream, from, steps, &self.blur, &mut self.between)?;
            let input = halved.as_ref().unwrap_or(from).view();
            let config = LaunchConfig::cover(size.x, size.y, BLOCK);
            stream.launch(&config, &Shrink { input, out: level.luma.view_mut() })?;
            let (luma, blurred) = (level.luma.view(), level.blurred.view_mut());
            self.blur.convolve(stream, luma, &mut self.between, blurred)?;
            level.detector.submit_luma(stream, luma)?;
            let config = line(level.peaks.len());
            let values = level.detector.eigenvalues().view();
            stream.launch(
                &config,
                &FindPeaks { values, border: BORDER, peaks: level.peaks.view_mut() },
            )?;
        }
        Ok(())
    }
}

impl Level {
    /// The poses of points, and for each its point.
    #[track_caller]
    fn oriented(
        &self,
        stream: &Stream,
        peaks: &[Peak],
        directions: &Buffer<Vec2>,
    ) -> Result<(Vec<Peak>, Vec<Pose>), DeviceError> {
        if peaks.is_empty() {
            return Ok(Default::default());
        }
        let points: Vec<_> = peaks.iter().map(|peak| peak.at).collect();
        let points = Buffer::from_slice(stream, &points)?;
        let mut sums = Buffer::new(stream.device(), points.len() * BINS)?;
        let [along_x, along_y] = self.detector.gradients().map(Image::view);
        let kernel = Orient {
            along_x,
            along_y,
            points: points.view(),
            directions: directions.view(),
            out: sums.view_mut(),
        };
        stream.launch(&line(points.len() * BINS), &kernel)?;
        let sums = sums.download(stream)?;
        let poses = peaks.iter().zip(sums.chunks_exact(BINS as usize)).flat_map(|(peak, sums)| {
            orientations(sums).into_iter().map(move |angle| {
                (*peak, Pose { at: peak.at, along: DVec2::from_angle(angle).as_vec2() })
            })
        });
        Ok(poses.unzip())
    }

    /// Writes the descriptors of poses from element `first` on.
    #[track_caller]
    fn describe(
        &self,
        stream: &Stream,
        poses: &[Pose],
        first: u32,
        out: &mut Buffer<Descriptor>,
    ) -> Result<(), DeviceError> {
        if poses.is_empty() {
            return Ok(());
        }
        let poses = Buffer::from_slice(stream, poses)?;
        let mut fields: Buffer<Field> = Buffer::new(stream.device(), poses.len() * ALL_FIELDS)?;
        let [along_x, along_y] = self.detector.gradients().map(Image::view);
        let kernel = Describe { along_x, along_y, poses: poses.view(), out: fields.view_mut() };
        stream.launch(&line(poses.len() * ALL_FIELDS), &kernel)?;
        let kernel = Pack { fields: fields.view(), first, out: out.view_mut() };
        stream.launch(&line(poses.len()), &kernel)
    }
}

/// A thread for each of `count`, in a row of blocks.
pub(super) fn line(count: u32) -> LaunchConfig {
    LaunchConfig::cover(count, 1, [BLOCK_THREADS, 1])
}

/// Sizes of the levels of a picture of `size`, the first one of at most `pixels` pixels.
fn level_sizes(size: UVec2, pixels: u64) -> Vec<UVec2> {
    let area = size.as_dvec2().element_product();
    let first = (area / pixels.max(1) as f64).log2().max(0.0).ceil();
    let sizes = (0..LEVELS).map(|level| {
        let scale = (-0.5 * (first + f64::from(level))).exp2();
        (size.as_dvec2() * scale).round().as_uvec2().max(UVec2::ONE)
    });
    let large = |size: &UVec2| size.min_element() >= SMALLEST;
    let all: Vec<_> = sizes.take_while(large).collect();
    // A picture smaller than that has one level.
    if all.is_empty() { vec![size] } else { all }
}

/// How often a picture is halved before it is shrunk to `to`, so that shrinking takes no pixel twice over.
fn halvings(from: UVec2, to: UVec2) -> u32 {
    (from.x / to.x.max(1)).max(1).ilog2()
}

/// Halves a picture so many times, smoothed before each.
#[track_caller]
fn halve(
    stream: &Stream,
    from: &Image<f32>,
    times: u32,
    blur: &Filter,
    between: &mut Between,
) -> Result<Option<Image<f32>>, MatchError> {
    let mut last: Option<Image<f32>> = None;
    for _ in 0..times {
        let input = last.as_ref().unwrap_or(from);
        let (width, height) = (input.width(), input.height());
        let mut blurred = Image::new(stream.device(), width, height)?;
        blur.convolve(stream, input.view(), between, blurred.view_mut())?;
        let size = UVec2::new(width.div_ceil(2), height.div_ceil(2));
        let mut half = Image::new(stream.device(), size.x, size.y)?;
        let config = LaunchConfig::cover(size.x, size.y, BLOCK);
        stream.launch(&config, &Shrink { input: blurred.view(), out: half.view_mut() })?;
        // `blurred` is freed below: the launch must be done.
        stream.synchronize()?;
        last = Some(half);
    }
    Ok(last)
}

/// How many points each level gets: in proportion to its sides.
fn share(levels: &[Level], points: usize) -> Vec<usize> {
    let sides: Vec<f64> =
        levels.iter().map(|level| level.size().as_dvec2().element_product().sqrt()).collect();
    let all: f64 = sides.iter().sum();
    sides.iter().map(|side| (points as f64 * side / all).round() as usize).collect()
}

/// The directions of a point's gradients, from their sums by bin, in radians: the largest, and what comes near it.
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
    found.truncate(2);
    found.into_iter().map(|(_, angle)| angle).collect()
}
