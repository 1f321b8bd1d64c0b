//! Visibility of a seam: the changes of a panorama across the line between two cameras.
//!
//! At each place where neighbouring pixels have different owners, it reads four pixels along the axis that joins them,
//! `span` apart, with the line between the second and the third:
//!
//! ```text
//!   a ──span── b ──span──│──── c ──span── d        ratio = (mean |c − b| + ½) / (mean of |b − a| and |d − c| + ½)
//! ```
//!
//! Means are over all places and channels. An invisible line has the ratio 1: the picture changes across it as much as
//! beside it. Half a level on both sides accounts for rounding, so flat pictures have a ratio too. A sharp line shows
//! at span 1; a brightness step that fades over a seam's feather shows at a longer span. The largest ratio of all
//! spans counts.
//!
//! Blind to: steps among stronger contours, which hide them from the eye too, unless there are many of them (see
//! [`SpanDifference::step`]); a blend wider than the longest span; and ghosts in a blend. If the cameras disagree, the
//! seam may follow a real contour, which counts.

use glam::UVec2;
use shared_types::stitch::MIN_WEIGHT;

use super::{Levels, QualityError, check_count, check_size};
use crate::warp::{Plane, Warp};

/// The owner of a pixel that no camera sees.
pub const NOBODY: u8 = u8::MAX;

/// Distances of the compared pixels: neighbours; pixels on both sides of a sharp line that an encoder has smoothed;
/// and pixels beyond the default feather of a seam.
pub const SPANS: [u32; 3] = [1, 5, 25];

/// The contribution of rounding, in levels.
const ROUNDING: f64 = 0.5;

/// The line between cameras, as the places to read.
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
    below: bool,
    /// Whether the neighbour has the higher number.
    rises: bool,
}

/// The changes of a panorama at one span, in levels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpanDifference {
    /// The distance of the compared pixels.
    pub span: u32,
    /// The number of places; not 0.
    pub places: usize,
    /// Mean absolute difference across the line.
    pub across: f64,
    /// Mean absolute difference beside the line, on both sides.
    pub beside: f64,
    /// The brightness step of the cameras across the line, minus the slope beside it: a signed mean, in which textures
    /// cancel; then the mean of the channels' magnitudes.
    pub step: f64,
}

/// The visibility of a seam.
#[derive(Clone, Debug, PartialEq)]
pub struct SeamVisibility {
    /// One element per span of [`SPANS`] that fits the line; not empty.
    pub spans: Vec<SpanDifference>,
}

impl SpanDifference {
    /// Returns the changes across the line relative to those beside it.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        (self.across + ROUNDING) / (self.beside + ROUNDING)
    }
}

impl SeamVisibility {
    /// Returns the span with the largest ratio.
    #[must_use]
    pub fn worst(&self) -> &SpanDifference {
        // Not empty.
        let first = &self.spans[0];
        self.spans.iter().fold(first, |a, b| if b.ratio() > a.ratio() { b } else { a })
    }

    /// Returns the largest ratio; 1 or less for an invisible seam.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.worst().ratio()
    }
}

/// Returns the owner of each pixel of a warp, row by row: the camera with the larger weight (0 left, 1 right), or
/// [`NOBODY`] where no camera counts. The left camera wins ties, as in
/// [`Panorama::owners`](crate::panorama::Panorama::owners). The line is thus in the middle of a feathered blend.
#[must_use]
pub fn owners_of_warp(warp: &Warp) -> Vec<u8> {
    let weights = [0, 1].map(|camera| {
        let many = warp.plane(Plane::WeightLeft).len();
        (0..many).map(|at| warp.counts(camera, at).unwrap_or(0.0)).collect::<Vec<_>>()
    });
    owners_of_weights(weights.each_ref().map(Vec::as_slice))
}

/// Returns the owners as [`owners_of_warp`] does, from the weights alone.
#[must_use]
pub fn owners_of_weights([left, right]: [&[f32]; 2]) -> Vec<u8> {
    let owner = |(&left, &right): (&f32, &f32)| match (left > MIN_WEIGHT, right > MIN_WEIGHT) {
        (false, false) => NOBODY,
        _ => u8::from(right > left),
    };
    left.iter().zip(right).map(owner).collect()
}

impl SeamLine {
    /// Finds the line between the owners of a panorama of `size` pixels, given row by row with [`NOBODY`] where no
    /// camera looks. Places whose pixels are outside the panorama or belong to a third camera do not count.
    ///
    /// # Errors
    /// Returns [`QualityError::Count`] if `owners` has another length.
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

    /// Measures a panorama; `None` if the line has no places, because the cameras do not meet or one of them owns only
    /// a narrow strip.
    ///
    /// # Errors
    /// Returns [`QualityError::Size`] if the panorama has another size.
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
            // The channels' sums over equal counts: the mean of each channel's mean.
            step: step.iter().map(|step| step.abs()).sum::<f64>() / numbers,
        })
    }
}

impl Place {
    /// Returns pixel `i` of the four, if it lies in a panorama of `size` pixels.
    fn pixel(self, span: u32, i: usize, size: UVec2) -> Option<(u32, u32)> {
        let [near, far] = [(span - 1) / 2, (span - 1) / 2 + span].map(i64::from);
        let along = [-far, -near, near + 1, far + 1][i];
        let (x, y) = (i64::from(self.x), i64::from(self.y));
        let (x, y) = if self.below { (x, y + along) } else { (x + along, y) };
        let inside = |at: i64, side: u32| u32::try_from(at).ok().filter(|&at| at < side);
        Some((inside(x, size.x)?, inside(y, size.y)?))
    }
}
