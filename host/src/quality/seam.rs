//! Measures the visibility of a seam: the level changes of a panorama across the line between two cameras.
//!
//! The *owner* of a pixel is the camera with the largest weight. A *place* is a pair of neighbouring pixels with
//! different owners. At each place, the measurement reads four pixels in the direction of the pair, `span` pixels
//! apart. The line between the cameras runs between the second and the third pixel:
//!
//! ```text
//!   a ──span── b ──span──│──── c ──span── d        ratio = (mean |c − b| + ½) / (mean of |b − a| and |d − c| + ½)
//! ```
//!
//! Means are over all places and channels. An invisible line has the ratio 1: the picture changes across the line as
//! much as beside it. The half level in numerator and denominator accounts for rounding, and gives flat pictures a
//! ratio of 1, too. A sharp line raises the ratio at a span of 1. A brightness step that fades over a seam's feather
//! raises the ratio at a longer span. The result is the largest ratio of all spans.
//!
//! The ratio does not detect a blend that is wider than the longest span, ghosts in a blend, or a step among stronger
//! contours, which also hide the step from a viewer. If the line has many places, [`SpanDifference::step`] measures
//! such a step. If the cameras disagree, the seam may follow a contour of an object. The ratio cannot distinguish such
//! a contour from a visible seam.

use glam::UVec2;
use shared_types::stitch::MIN_WEIGHT;

use super::{Levels, QualityError, check_owners, check_size};
use crate::warp::{Plane, Warp};

/// The value that stands for no camera in a list of owners. The owner of a pixel is the camera with the largest weight.
pub const NOBODY: u8 = u8::MAX;

/// The distances between the pixels that are compared, in pixels. At a distance of 1, neighbours are compared. A
/// distance of 5 detects a sharp line that an encoder has smoothed. A distance of 25 is longer than the default feather
/// of a seam (16 pixels).
pub const SPANS: [u32; 3] = [1, 5, 25];

/// The number of levels that is added to a mean difference because levels are rounded.
const ROUNDING: f64 = 0.5;

/// The line between the cameras of a panorama. For each span, it is a list of the pixel pairs at which the line is
/// measured.
#[derive(Clone, Debug)]
pub struct SeamLine {
    size: UVec2,
    places: [Vec<Place>; SPANS.len()],
}

/// A pixel whose right or lower neighbour belongs to another camera.
#[derive(Clone, Copy, Debug)]
struct Place {
    x: u32,
    y: u32,
    /// Whether the neighbour that belongs to the other camera is the lower one. If false, it is the right one.
    below: bool,
    /// Whether the neighbour's camera has a higher index than the pixel's camera.
    rises: bool,
}

/// The level changes of a panorama across the line between the cameras and beside this line, measured at one span. The
/// unit is a level from 0 to 255.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpanDifference {
    /// The distance between the pixels that are compared, in pixels.
    pub span: u32,
    /// The number of measured positions along the line; at least 1.
    pub places: usize,
    /// The mean absolute difference between two pixels on different sides of the line.
    pub across: f64,
    /// The mean absolute difference between two pixels on the same side of the line, averaged over both sides.
    pub beside: f64,
    /// The level step from one camera to the other, minus the level slope beside the line. For each channel, the signed
    /// steps are averaged over the line, so that textures cancel. The value is the mean of the absolute averages of the
    /// channels.
    pub step: f64,
}

/// The visibility of a seam, as level differences at each span.
#[derive(Clone, Debug, PartialEq)]
pub struct SeamVisibility {
    /// One element for each span of [`SPANS`] with at least one measured position; not empty.
    pub spans: Vec<SpanDifference>,
}

impl SpanDifference {
    /// Returns the ratio of the level change across the line to the level change beside the line.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        (self.across + ROUNDING) / (self.beside + ROUNDING)
    }
}

impl SeamVisibility {
    /// Returns the differences at the span for which the ratio is largest.
    #[must_use]
    pub fn worst(&self) -> &SpanDifference {
        // The index is valid, because `spans` is not empty.
        let first = &self.spans[0];
        self.spans.iter().fold(first, |a, b| if b.ratio() > a.ratio() { b } else { a })
    }

    /// Returns the largest ratio of all spans. It is 1 or less for an invisible seam.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.worst().ratio()
    }
}

/// Returns the score for a seam's [ratio](SeamVisibility::ratio): `1 / max(ratio, 1)`. For instance, if the change
/// across the line is larger by a ninth than the change beside it, the score is 0.9.
#[must_use]
pub fn seam_score(ratio: f64) -> f64 {
    1.0 / ratio.max(1.0)
}

/// Returns the owner of each pixel of a warp, row by row: the camera with the largest weight, or [`NOBODY`] at pixels
/// to which no camera contributes. Of several equal weights, the first camera's counts, as in
/// [`Panorama::owners`](crate::panorama::Panorama::owners). With feathered blending, the line between the owners is in
/// the middle of the blend.
#[must_use]
pub fn owners_of_warp(warp: &Warp) -> Vec<u8> {
    let weights: Vec<_> = (0..warp.sources().len())
        .map(|camera| {
            let many = warp.plane(Plane::Weight(camera)).len();
            (0..many).map(|at| warp.counts(camera, at).unwrap_or(0.0)).collect::<Vec<_>>()
        })
        .collect();
    owners_of_weights(&weights)
}

/// Returns the owner of each pixel like [`owners_of_warp`], but uses only the weights of each camera. Does not check
/// that the source coordinates are inside the pictures.
#[must_use]
pub fn owners_of_weights(weights: &[impl AsRef<[f32]>]) -> Vec<u8> {
    let pixels = weights.iter().map(|weights| weights.as_ref().len()).min().unwrap_or(0);
    let owner = |at: usize| {
        let (mut owner, mut most) = (NOBODY, MIN_WEIGHT);
        for (camera, weights) in (0..NOBODY).zip(weights) {
            if weights.as_ref()[at] > most {
                (owner, most) = (camera, weights.as_ref()[at]);
            }
        }
        owner
    };
    (0..pixels).map(owner).collect()
}

impl SeamLine {
    /// Finds the line between the cameras in a panorama of `size` pixels. `owners` contains the index of the camera of
    /// each pixel, row by row, or [`NOBODY`] at pixels to which no camera contributes. For each span, excludes the
    /// positions at which one of the four pixels to read is outside the panorama or on the wrong side of the line.
    pub fn new(owners: &[u8], size: UVec2) -> Result<Self, QualityError> {
        check_owners(owners, size)?;
        let at = |x: u32, y: u32| owners[y as usize * size.x as usize + x as usize];
        let mut places = SPANS.map(|_| Vec::new());
        for y in 0..size.y {
            for x in 0..size.x {
                let own = at(x, y);
                for below in [false, true] {
                    let (dx, dy) = if below { (0, 1) } else { (1, 0) };
                    if own == NOBODY || x + dx >= size.x || y + dy >= size.y {
                        continue;
                    }
                    let other = at(x + dx, y + dy);
                    if other == own || other == NOBODY {
                        continue;
                    }
                    let place = Place { x, y, below, rises: other > own };
                    for (places, span) in places.iter_mut().zip(SPANS) {
                        let owner = |i: usize| place.pixel(span, i, size).map(|(x, y)| at(x, y));
                        if [0, 1].iter().all(|&i| owner(i) == Some(own))
                            && [2, 3].iter().all(|&i| owner(i) == Some(other))
                        {
                            places.push(place);
                        }
                    }
                }
            }
        }
        Ok(Self { size, places })
    }

    /// Measures the visibility of the seam in a panorama. Returns `None` if there is no position to measure, because
    /// the areas of the cameras do not touch, or because the area of one camera is only a narrow strip.
    pub fn visibility(&self, levels: &Levels<'_>) -> Result<Option<SeamVisibility>, QualityError> {
        check_size("panorama", levels.size(), self.size)?;
        let spans = self.places.iter().zip(SPANS);
        let spans = spans.filter_map(|(places, span)| self.difference(levels, places, span));
        let spans: Vec<_> = spans.collect();
        Ok((!spans.is_empty()).then_some(SeamVisibility { spans }))
    }

    fn difference(
        &self,
        levels: &Levels<'_>,
        places: &[Place],
        span: u32,
    ) -> Option<SpanDifference> {
        let (mut across, mut beside, mut step) = (0.0, 0.0, [0.0; 3]);
        let mut numbers = 0.0;
        for place in places {
            let pixel = |i| place.pixel(span, i, self.size).map(|(x, y)| levels.at(x, y));
            let [Some(a), Some(b), Some(c), Some(d)] = [0, 1, 2, 3].map(pixel) else { continue };
            let sign = if place.rises { 1.0 } else { -1.0 };
            for (channel, step) in (0..b.len()).zip(&mut step) {
                let [a, b, c, d] = [a, b, c, d].map(|pixel| f64::from(pixel[channel]));
                across += (c - b).abs();
                beside += 0.5 * ((b - a).abs() + (d - c).abs());
                *step += sign * ((c - b) - 0.5 * ((b - a) + (d - c)));
                numbers += 1.0;
            }
        }
        (numbers > 0.0).then(|| SpanDifference {
            span,
            places: places.len(),
            across: across / numbers,
            beside: beside / numbers,
            // All channels have the same number of values. Therefore the sum divided by the number of all values is the
            // mean of the absolute channel means.
            step: step.iter().map(|step| step.abs()).sum::<f64>() / numbers,
        })
    }
}

impl Place {
    /// Returns the position of pixel `i` (0 to 3) of the four pixels to read at `span`. Returns `None` if this pixel is
    /// outside a panorama of `size` pixels.
    fn pixel(self, span: u32, i: usize, size: UVec2) -> Option<(u32, u32)> {
        let [near, far] = [(span - 1) / 2, (span - 1) / 2 + span].map(i64::from);
        let along = [-far, -near, near + 1, far + 1][i];
        let (x, y) = (i64::from(self.x), i64::from(self.y));
        let (x, y) = if self.below { (x, y + along) } else { (x + along, y) };
        let inside = |at: i64, side: u32| u32::try_from(at).ok().filter(|&at| at < side);
        Some((inside(x, size.x)?, inside(y, size.y)?))
    }
}
