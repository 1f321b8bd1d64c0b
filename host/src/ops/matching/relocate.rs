//! Refines correspondences to about a tenth of a pixel with the map of a first calibration.
//!
//! The detector finds each point in each picture on its own, so blur, noise and the steps between pyramid levels shift
//! the two points of a correspondence by about 0.7 pixels relative to each other. The calibration predicts how the
//! neighbourhood of a point appears in the other picture. So the neighbourhood in the left picture is a template, and
//! its position in the right picture is the minimum of the squared differences (Lucas and Kanade 1981, in the inverse
//! form of Baker and Matthews 2004). The template's mean and contrast are fitted too, so that exposure has no effect.
//!
//! The template is a disc with a radius of [`REACH`] pixels. Pictures are reduced by the whole factor that brings them
//! closest to [`PIXELS`], so pictures of up to 4.9 megapixels are not reduced. The host computes this in f64.

use glam::{DMat2, DVec2, IVec2, UVec2, dvec2, ivec2};
use shared_types::Rgba8;

use super::{PIXELS, joined};
use crate::geometry::calibrate::{
    CalibrateOptions, Calibration, Correspondence, ModelChoice, PairFigures, Photo, PhotoPair,
    Views, calibrate,
};
use crate::io::picture::{Picture, Pixel};

/// The radius of the template in pixels of the reduced picture.
const REACH: i32 = 8;

/// The maximum distance of the result from the given point along each axis, in pixels of the reduced picture.
const MOST_SHIFT: i32 = 3;

/// The largest distance from the centre of the window to its edge along an axis, in pixels of the reduced picture. With
/// it, the right picture shows the template up to three times as large.
const MOST_REACH: f64 = 40.0;

/// The smallest correlation of the template with the right picture. Where it is smaller, the pictures show different
/// objects there, for instance because a near object hides the point.
const SIMILAR: f64 = 0.8;

/// The smallest standard deviation of the template in levels. Windows with less contrast show noise.
const CONTRAST: f64 = 2.0;

/// The smallest second moment of the gradients along any direction, as a fraction of the sum over two perpendicular
/// directions. Along a straight edge, the position of the template is unknown.
const LEAST_SHARE: f64 = 0.02;

/// The maximum number of steps. Most correspondences take four.
const STEPS: usize = 20;

/// The length of a step in pixels below which the result is found.
const SMALL_STEP: f64 = 0.005;

/// Returns `correspondences` with refined positions for `inliers`. A correspondence keeps its position if the pictures
/// are not similar there, if the template has too little contrast or structure in only one direction, or if the window
/// is not inside both pictures.
///
/// `map` maps a pixel of the left picture to the right one, as the calibration found it. It determines the shape and
/// the size of the window; the search starts at the given right point. The left point of a result is the centre of a
/// pixel, or of a pixel of the reduced picture.
#[must_use]
pub fn relocate<P: Pixel>(
    pictures: [&Picture<P>; 2],
    correspondences: &[Correspondence],
    inliers: &[usize],
    map: impl Fn(DVec2) -> Option<DVec2>,
) -> Vec<Correspondence> {
    let [left, right] = pictures.map(Reduced::new);
    let mut all = correspondences.to_vec();
    for &i in inliers {
        if let Some(one) = all.get_mut(i) {
            *one = relocated(&left, &right, one, &map).unwrap_or(*one);
        }
    }
    all
}

/// Calibrates cameras again from relocated correspondences of their calibration `found`, which was computed from
/// `photos` and the [`joined`] `pairs`. Both `moments` and `pairs` have an element per moment: its pictures, and its
/// pairs as [`links`](super::links) returns them.
///
/// Returns the new calibration and the refined pairs. The indices in [`Calibration::pairs`] refer to these pairs. Pairs that
/// contradict `found` are not among them. The model stays the same. Returns `found` and the joined pairs if the new
/// calibration fails, or contains fewer pictures or pairs.
///
/// The second calibration takes at most as long as the first one, because it has no pairs without overlap.
#[must_use]
pub fn recalibrate<P: Pixel>(
    moments: &[&[Picture<P>]],
    photos: &[Photo],
    pairs: &[Vec<PhotoPair>],
    found: Calibration,
    options: &CalibrateOptions,
) -> (Calibration, Vec<PhotoPair>) {
    let one = |figures: &PairFigures| {
        let [left, right] = [figures.left, figures.right].map(|i| found.indices[i]);
        let map = |at| found.views.map(figures.right, figures.left, at);
        let mut correspondences = Vec::new();
        for (pictures, pairs) in moments.iter().zip(pairs) {
            let pair = pairs.iter().find(|pair| [pair.left, pair.right] == [left, right])?;
            let both = [pictures.get(left)?, pictures.get(right)?];
            // The indices of the inliers count the joined correspondences.
            let before = correspondences.len();
            let range = before..before + pair.correspondences.len();
            let own = figures.inliers.iter().filter(|i| range.contains(i));
            let own: Vec<_> = own.map(|i| i - before).collect();
            correspondences.extend(relocate(both, &pair.correspondences, &own, map));
        }
        Some(PhotoPair { left, right, correspondences })
    };
    let relocated: Vec<_> = found.pairs.iter().filter_map(one).collect();
    let alike = |again: &Calibration| {
        again.indices == found.indices && again.pairs.len() == found.pairs.len()
    };
    let model = match found.views {
        Views::Planes(_) => ModelChoice::Homography,
        Views::Rotation(_) => ModelChoice::Rotation,
    };
    match calibrate(photos, &relocated, &CalibrateOptions { model, ..*options }) {
        Ok(again) if alike(&again) => {
            let Calibration { left_out, mut false_pairs, .. } = found;
            false_pairs.extend(again.false_pairs);
            (Calibration { left_out, false_pairs, ..again }, relocated)
        }
        other => {
            tracing::debug!(?other, "keeping the first calibration");
            (found, joined(pairs))
        }
    }
}

/// Returns a correspondence with more exact positions; see [`relocate`].
fn relocated(
    left: &Reduced<'_, impl Pixel>,
    right: &Reduced<'_, impl Pixel>,
    given: &Correspondence,
    map: &impl Fn(DVec2) -> Option<DVec2>,
) -> Option<Correspondence> {
    let map = |at: DVec2| Some(right.reduced(map(left.whole(at))?));
    let from = left.reduced(given.left);
    let centre = from.round();
    let along = |axis: DVec2| Some((map(centre + axis)? - map(centre - axis)?) / 2.0);
    let shape = DMat2::from_cols(along(DVec2::X)?, along(DVec2::Y)?);
    let start = right.reduced(given.right) + shape * (centre - from);
    let template = Template::new(left, centre)?;
    // The bounds of the image of a square, in which the search may move the template.
    let reach = (shape.x_axis.abs() + shape.y_axis.abs()) * f64::from(REACH + MOST_SHIFT);
    if reach.max_element() > MOST_REACH {
        return None;
    }
    let window = right.window((start - reach).floor(), (start + reach).ceil())?;
    let shift = template.find(&window, start, shape)?;
    let right = right.whole(start + shape * shift);
    Some(Correspondence { left: left.whole(centre), right, score: given.score })
}

/// A picture that is reduced by a whole factor when its pixels are read.
struct Reduced<'p, P> {
    picture: &'p Picture<P>,
    factor: u32,
}

impl<'p, P: Pixel> Reduced<'p, P> {
    fn new(picture: &'p Picture<P>) -> Self {
        let area = picture.size().as_dvec2().element_product();
        let factor = (area / PIXELS as f64).sqrt().round().max(1.0) as u32;
        Self { picture, factor }
    }

    /// Returns the luma (BT.601, 0 to 255) of a pixel of the reduced picture: the mean of a square of pixels, or NaN if
    /// one of them is transparent.
    fn level(&self, at: IVec2) -> f64 {
        let (first, factor) = (at.as_uvec2() * self.factor, self.factor);
        let level = |i: u32| {
            let at = first + UVec2::new(i % factor, i / factor);
            let pixel = self.picture.pixels()[(at.y * self.picture.width() + at.x) as usize];
            let Rgba8 { r, g, b, a } = pixel.into();
            let [r, g, b] = [r, g, b].map(f64::from);
            if a < 128 { f64::NAN } else { 0.299 * r + 0.587 * g + 0.114 * b }
        };
        (0..factor * factor).map(level).sum::<f64>() / f64::from(factor * factor)
    }

    /// Returns the position in the reduced picture of a position in the picture.
    fn reduced(&self, whole: DVec2) -> DVec2 {
        (whole + 0.5) / f64::from(self.factor) - 0.5
    }

    /// Returns the position in the picture of a position in the reduced picture.
    fn whole(&self, reduced: DVec2) -> DVec2 {
        (reduced + 0.5) * f64::from(self.factor) - 0.5
    }

    /// Reads the pixels from `low` to `high`, including both, which are whole numbers. Returns `None` if some are
    /// outside the reduced picture or transparent.
    fn window(&self, low: DVec2, high: DVec2) -> Option<Window> {
        // An incomplete pixel at the right and lower edges is left out.
        let sides = (self.picture.size() / self.factor).as_dvec2();
        // These comparisons are false for NaN.
        let inside = low.cmpge(DVec2::ZERO).all() && high.cmplt(sides).all();
        if !inside {
            return None;
        }
        let (low, high) = (low.as_ivec2(), high.as_ivec2());
        let size = (high - low + 1).as_uvec2();
        let mut levels = Vec::with_capacity((size.x * size.y) as usize);
        for y in low.y..=high.y {
            levels.extend((low.x..=high.x).map(|x| self.level(ivec2(x, y))));
        }
        levels.iter().all(|level| !level.is_nan()).then_some(Window { first: low, size, levels })
    }
}

/// The levels of a rectangle of a reduced picture.
struct Window {
    first: IVec2,
    size: UVec2,
    levels: Vec<f64>,
}

impl Window {
    /// Returns the level of a pixel, which must be inside the window.
    fn at(&self, pixel: IVec2) -> f64 {
        let at = pixel - self.first;
        self.levels[at.y as usize * self.size.x as usize + at.x as usize]
    }

    /// Returns the level at a position, interpolated bilinearly, or `None` outside the window.
    fn between(&self, at: DVec2) -> Option<f64> {
        let low = at.floor();
        let last = self.first + self.size.as_ivec2() - 1;
        let (part, low) = (at - low, low.as_ivec2());
        if low.cmplt(self.first).any() || low.cmpge(last).any() {
            return None;
        }
        let row = |low: IVec2| self.at(low) * (1.0 - part.x) + self.at(low + IVec2::X) * part.x;
        Some(row(low) * (1.0 - part.y) + row(low + IVec2::Y) * part.y)
    }
}

/// A pixel of a template.
struct Sample {
    /// The distance from the template's centre.
    offset: DVec2,
    weight: f64,
    /// The difference from the template's mean.
    level: f64,
    gradient: DVec2,
}

/// The neighbourhood of a point, whose weights decrease to 0 at its edge and have the sum 1.
struct Template {
    samples: Vec<Sample>,
    variance: f64,
    /// The inverse of the second moments of the gradients.
    inverse: DMat2,
}

impl Template {
    /// Returns the template around a pixel of a reduced picture, or `None` if it has too little contrast.
    fn new(picture: &Reduced<'_, impl Pixel>, centre: DVec2) -> Option<Self> {
        let reach = f64::from(REACH + 1);
        let window = picture.window(centre - reach, centre + reach)?;
        let centre = centre.as_ivec2();
        let mut samples = Vec::new();
        for (x, y) in (-REACH..=REACH).flat_map(|y| (-REACH..=REACH).map(move |x| (x, y))) {
            let offset = ivec2(x, y);
            let square = f64::from(offset.length_squared()) / f64::from((REACH + 1) * (REACH + 1));
            if square >= 1.0 {
                continue;
            }
            let at = |x: i32, y: i32| window.at(centre + offset + ivec2(x, y));
            let gradient = dvec2(at(1, 0) - at(-1, 0), at(0, 1) - at(0, -1)) / 2.0;
            let (level, weight) = (at(0, 0), (1.0 - square).powi(2));
            samples.push(Sample { offset: offset.as_dvec2(), weight, level, gradient });
        }
        let total: f64 = samples.iter().map(|one| one.weight).sum();
        samples.iter_mut().for_each(|one| one.weight /= total);
        let mean: f64 = samples.iter().map(|one| one.weight * one.level).sum();
        samples.iter_mut().for_each(|one| one.level -= mean);
        let variance = samples.iter().map(|one| one.weight * one.level * one.level).sum();
        let mut moments = DMat2::ZERO;
        for Sample { weight, gradient, .. } in &samples {
            moments += DMat2::from_cols(*gradient * gradient.x, *gradient * gradient.y) * *weight;
        }
        let (sum, product) = (moments.x_axis.x + moments.y_axis.y, moments.determinant());
        let least = 0.5 * (sum - (sum * sum - 4.0 * product).max(0.0).sqrt());
        let clear = variance >= CONTRAST * CONTRAST && least > LEAST_SHARE * sum;
        clear.then(|| Self { samples, variance, inverse: moments.inverse() })
    }

    /// Returns the shift, in pixels of the template, that moves the template to its image in the window. `shape` maps
    /// an offset in the template to one in the window, where the template's centre is at `start` before the shift.
    fn find(&self, window: &Window, start: DVec2, shape: DMat2) -> Option<DVec2> {
        let mut shift = DVec2::ZERO;
        let mut levels = Vec::with_capacity(self.samples.len());
        for _ in 0..STEPS {
            levels.clear();
            for Sample { offset, .. } in &self.samples {
                levels.push(window.between(start + shape * (*offset + shift))?);
            }
            let both = || self.samples.iter().zip(&levels);
            let mean: f64 = both().map(|(one, level)| one.weight * level).sum();
            let variance: f64 =
                both().map(|(one, level)| one.weight * (level - mean).powi(2)).sum();
            let product: f64 =
                both().map(|(one, level)| one.weight * one.level * (level - mean)).sum();
            // This comparison is also false for a window without contrast.
            let similar = product > SIMILAR * (variance * self.variance).sqrt();
            let contrast = self.variance / product;
            let error: DVec2 = both()
                .map(|(one, level)| {
                    one.gradient * (one.weight * ((level - mean) * contrast - one.level))
                })
                .sum();
            let step = self.inverse * error;
            if step.length() < SMALL_STEP {
                return similar.then_some(shift);
            }
            shift -= step;
            let far = shift.abs().max_element() > f64::from(MOST_SHIFT);
            if far || !step.is_finite() {
                return None;
            }
        }
        None
    }
}
