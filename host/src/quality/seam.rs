//! Whether a seam shows: how a panorama changes across the line at which one camera hands over to the other.
//!
//! At each place where neighbouring pixels have different owners, four pixels in a row along the axis that joins
//! them are looked at, `span` apart, the line between the second and the third:
//!
//! ```text
//!   a ──span── b ──span──│──── c ──span── d        ratio = (mean |c − b| + ½) / (mean of |b − a| and |d − c| + ½)
//! ```
//!
//! Means are over all places and channels. A line that nobody sees has the ratio 1: across it the
//! picture changes as much as beside it. The half level on both sides is what rounding can make, so that flat
//! pictures have a ratio too. A sharp line shows at the span of 1; a step of brightness that fades over a seam's
//! feather shows at a longer one. The largest of the spans' ratios counts.
//!
//! Blind to: steps among contours that are stronger, which hide them from the eye too, unless there are many of
//! them (see [`SpanDifference::step`]); a blend that is wider than the longest span; and what a blend shows
//! twice. Where both cameras do not agree the seam may follow a real contour, and that counts.

use glam::UVec2;
use shared_types::stitch::MIN_WEIGHT;

use super::{Levels, QualityError, check_count, check_size};
use crate::warp::{Plane, Warp};

/// The owner of a pixel that no camera sees.
pub const NOBODY: u8 = u8::MAX;

/// Distances of the pixels that are compared, in pixels: the next ones, some that a sharp line smoothed by an
/// encoder still parts, and some beyond the default feather of a seam.
pub const SPANS: [u32; 3] = [1, 5, 25];

/// What rounding can make, in levels.
const ROUNDING: f64 = 0.5;

/// The line at which cameras hand over, as the places to be looked at.
#[derive(Clone, Debug)]
pub struct SeamLine {
    size: UVec2,
    places: [Vec<Place>; SPANS.len()],
}

/// A pixel whose neighbour to the right, or below, is another camera's.
#[derive(Clone, Copy, Debug)]
struct Place {
    x: u32,
    y: u32,
    below: bool,
    /// Whether the neighbour has the higher number.
    rises: bool,
}

/// How a panorama changes at one span, in levels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpanDifference {
    /// Pixels between what is compared.
    pub span: u32,
    /// Places that were looked at; not 0.
    pub places: usize,
    /// Mean absolute difference across the line.
    pub across: f64,
    /// Mean absolute difference beside it, on both sides.
    pub beside: f64,
    /// How much brighter or darker one camera is than the other across the line than a slope beside it would make
    /// it: the mean with its sign, which textures do not hide; the mean of the channels' magnitudes.
    pub step: f64,
}

/// How much a seam shows.
#[derive(Clone, Debug, PartialEq)]
pub struct SeamVisibility {
    /// At each span of [`SPANS`] that the line has places for; not empty.
    pub spans: Vec<SpanDifference>,
}

impl SpanDifference {
    /// How much more the panorama changes across the line than beside it.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        (self.across + ROUNDING) / (self.beside + ROUNDING)
    }
}

impl SeamVisibility {
    /// The span at which it shows most.
    #[must_use]
    pub fn worst(&self) -> &SpanDifference {
        // Not empty.
        let first = &self.spans[0];
        self.spans.iter().fold(first, |a, b| if b.ratio() > a.ratio() { b } else { a })
    }

    /// Its ratio: 1, or less, where the seam does not show.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.worst().ratio()
    }
}

/// Who owns each pixel of a warp, row by row: the camera that counts more, 0 left, 1 right; [`NOBODY`] where none
/// counts. Where both count the same, as [`Panorama::owners`](crate::panorama::Panorama::owners) too, it is the
/// left one. So the line is in the middle of a blend from edge to edge.
#[must_use]
pub fn owners_of_warp(warp: &Warp) -> Vec<u8> {
    let weights = [0, 1].map(|camera| {
        let many = warp.plane(Plane::WeightLeft).len();
        (0..many).map(|at| warp.counts(camera, at).unwrap_or(0.0)).collect::<Vec<_>>()
    });
    owners_of_weights(weights.each_ref().map(Vec::as_slice))
}

/// As [`owners_of_warp`], of both cameras' weights alone.
#[must_use]
pub fn owners_of_weights([left, right]: [&[f32]; 2]) -> Vec<u8> {
    let owner = |(&left, &right): (&f32, &f32)| match (left > MIN_WEIGHT, right > MIN_WEIGHT) {
        (false, false) => NOBODY,
        _ => u8::from(right > left),
    };
    left.iter().zip(right).map(owner).collect()
}

impl SeamLine {
    /// The line between the owners of a panorama of `size` pixels, given row by row; [`NOBODY`] where no
    /// camera looks. Pixels beyond the panorama's edge, or those of a third camera, are not looked at.
    ///
    /// # Errors
    /// [`QualityError::Count`].
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

    /// Measures a panorama. `None` where the line has no places: cameras do not meet, or one of them only in a
    /// strip that is too narrow.
    ///
    /// # Errors
    /// [`QualityError::Size`].
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
            // The channels' sums over as many numbers: the mean over channels of each one's mean.
            step: step.iter().map(|step| step.abs()).sum::<f64>() / numbers,
        })
    }
}

impl Place {
    /// Pixel `i` of the four that are looked at, if it is in a panorama of `size` pixels.
    fn pixel(self, span: u32, i: usize, size: UVec2) -> Option<(u32, u32)> {
        let [near, far] = [(span - 1) / 2, (span - 1) / 2 + span].map(i64::from);
        let along = [-far, -near, near + 1, far + 1][i];
        let (x, y) = (i64::from(self.x), i64::from(self.y));
        let (x, y) = if self.below { (x, y + along) } else { (x + along, y) };
        let inside = |at: i64, side: u32| u32::try_from(at).ok().filter(|&at| at < side);
        Some((inside(x, size.x)?, inside(y, size.y)?))
    }
}
