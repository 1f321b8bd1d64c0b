//! Measures the visibility of a seam: the level changes of a panorama across the line between two cameras.
//!
//! The *owner* of a pixel is the camera with the largest weight. A *place* is a pair of neighbouring pixels with
//! different owners. At each place, four pixels are read along the line through the pair, `span` pixels apart. The line
//! between the cameras is between the second and the third pixel:
//!
//! ```text
//!   a ──span── b ──span──│──── c ──span── d        ratio = (mean |c − b| + ½) / (mean of |b − a| and |d − c| + ½)
//! ```
//!
//! Means are over all places and channels. An invisible line has the ratio 1: the picture changes across it as much as
//! beside it. The half level in numerator and denominator accounts for rounding, so flat pictures have a ratio too. A
//! sharp line raises the ratio at span 1. A brightness step that fades over a seam's feather raises it at a longer
//! span. The result is the largest ratio of all spans.
//!
//! Not detected: a blend wider than the longest span; ghosts in a blend; and a step among stronger contours, which also
//! hide the step from a viewer. [`SpanDifference::step`] measures such a step if the line has many places. If the
//! cameras disagree, the seam may follow a real contour, which is measured like a visible seam.

use glam::UVec2;
use shared_types::stitch::MIN_WEIGHT;

use super::{Levels, QualityError, check_count, check_size};
use crate::warp::{Plane, Warp};

/// The owner of a pixel that no camera sees.
pub const NOBODY: u8 = u8::MAX;

/// The distances of compared pixels, in pixels: 1 compares neighbours, 5 detects a sharp line that an encoder has
/// smoothed, and 25 reaches beyond the default feather of a seam (16 pixels).
pub const SPANS: [u32; 3] = [1, 5, 25];

/// The contribution of rounding to a difference, in levels.
const ROUNDING: f64 = 0.5;

/// The line between the cameras of a panorama: for each span, the neighbouring pixels between which it runs.
#[derive(Clone, Debug)]
pub struct SeamLine {
    size: UVec2,
    places: [Vec<Place>; SPANS.len()],
}

/// A pixel whose right or lower neighbour shows another camera.
#[derive(Clone, Copy, Debug)]
struct Place {
    x: u32,
    y: u32,
    /// Whether the neighbour is the lower one. Otherwise, it is the right one.
    below: bool,
    /// Whether the neighbour's camera has a higher index than the pixel's camera.
    rises: bool,
}

/// The level changes of a panorama across and beside the line at one span, in levels from 0 to 255.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpanDifference {
    /// The distance of the compared pixels, in pixels.
    pub span: u32,
    /// The number of measured positions along the line; at least 1.
    pub places: usize,
    /// The mean absolute difference of two pixels across the line.
    pub across: f64,
    /// The mean absolute difference of two pixels on the same side of the line, over both sides.
    pub beside: f64,
    /// The level step from one camera to the other, minus the slope beside the line. For each channel, it is a signed
    /// mean, in which textures cancel. The value is the mean of the channels' absolute steps.
    pub step: f64,
}

/// The visibility of a seam: the differences at each span.
#[derive(Clone, Debug, PartialEq)]
pub struct SeamVisibility {
    /// One element for each span of [`SPANS`] with at least one measured position; not empty.
    pub spans: Vec<SpanDifference>,
}

impl SpanDifference {
    /// Returns the ratio of the changes across the line to those beside it.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        (self.across + ROUNDING) / (self.beside + ROUNDING)
    }
}

impl SeamVisibility {
    /// Returns the differences at the span with the largest ratio.
    #[must_use]
    pub fn worst(&self) -> &SpanDifference {
        // The index is valid, because `spans` is not empty.
        let first = &self.spans[0];
        self.spans.iter().fold(first, |a, b| if b.ratio() > a.ratio() { b } else { a })
    }

    /// Returns the largest ratio; 1 or less for an invisible seam.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.worst().ratio()
    }
}

/// Returns the score of a seam's [ratio](SeamVisibility::ratio): `1 / max(ratio, 1)`. A score of 0.9 is a line that is
/// stronger by a ninth than the changes beside it.
#[must_use]
pub fn seam_score(ratio: f64) -> f64 {
    1.0 / ratio.max(1.0)
}

/// Returns the owner of each pixel of a warp, row by row: the camera with the larger weight (0 left, 1 right), or
/// [`NOBODY`] where no camera contributes. The left camera wins ties, as in
/// [`Panorama::owners`](crate::panorama::Panorama::owners). The line between the cameras is thus in the middle of a
/// feathered blend.
#[must_use]
pub fn owners_of_warp(warp: &Warp) -> Vec<u8> {
    let weights = [0, 1].map(|camera| {
        let many = warp.plane(Plane::WeightLeft).len();
        (0..many).map(|at| warp.counts(camera, at).unwrap_or(0.0)).collect::<Vec<_>>()
    });
    owners_of_weights(weights.each_ref().map(Vec::as_slice))
}

/// Returns the owners like [`owners_of_warp`], but only from the weights of the left and the right camera. Does not
/// check that source coordinates are inside the pictures.
#[must_use]
pub fn owners_of_weights([left, right]: [&[f32]; 2]) -> Vec<u8> {
    let owner = |(&left, &right): (&f32, &f32)| match (left > MIN_WEIGHT, right > MIN_WEIGHT) {
        (false, false) => NOBODY,
        _ => u8::from(right > left),
    };
    left.iter().zip(right).map(owner).collect()
}

impl SeamLine {
    /// Finds the line between the cameras in a panorama of `size` pixels. `owners` has the camera of each pixel, row by
    /// row, or [`NOBODY`] where no camera contributes. At each span, excludes positions where one of the four pixels to
    /// read is outside the panorama or on the wrong side of the line.
    ///
    /// # Errors
    /// Returns [`QualityError::Count`] if `owners` does not have one element per pixel.
    pub fn new(owners: &[u8], size: UVec2) -> Result<Self, QualityError> {
        check_count("owners", owners.len(), size)?;
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

    /// Measures the visibility of the seam in a panorama. Returns `None` if there is no position to measure: the
    /// cameras' areas do not touch, or one camera owns only a narrow strip.
    ///
    /// # Errors
    /// Returns [`QualityError::Size`] if the panorama does not have the size that was passed to [`new`](Self::new).
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
            // All channels have the same number of values, so this is the mean of the channels' absolute means.
            step: step.iter().map(|step| step.abs()).sum::<f64>() / numbers,
        })
    }
}

impl Place {
    /// Returns pixel `i` (0 to 3) of the four pixels to read at `span`, or `None` if it is outside a panorama of `size`
    /// pixels.
    fn pixel(self, span: u32, i: usize, size: UVec2) -> Option<(u32, u32)> {
        let [near, far] = [(span - 1) / 2, (span - 1) / 2 + span].map(i64::from);
        let along = [-far, -near, near + 1, far + 1][i];
        let (x, y) = (i64::from(self.x), i64::from(self.y));
        let (x, y) = if self.below { (x, y + along) } else { (x + along, y) };
        let inside = |at: i64, side: u32| u32::try_from(at).ok().filter(|&at| at < side);
        Some((inside(x, size.x)?, inside(y, size.y)?))
    }
}
