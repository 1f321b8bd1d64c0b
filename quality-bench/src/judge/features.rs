//! Corners and their descriptors, to find where a panorama shows the truth, whatever its orientation and scale.
//!
//! Harris corners on a pyramid, each with an orientation and an 8×8 patch of 40×40 pixels, normalised for brightness
//! and contrast ("Multi-Image Matching using Multi-Scale Oriented Patches", Brown, Szeliski, Winder, CVPR 2005). The
//! judge has its own features so that it favours no stitcher.

use glam::DVec2;

use crate::grid::{Grid, Mask, Plane};

/// A corner with its descriptor.
#[derive(Clone, Debug)]
pub(super) struct Feature {
    /// Its place in the full picture.
    pub(super) pixel: DVec2,
    /// The patch, with mean 0 and length 1.
    patch: [f32; 64],
}

/// The scale factors of the pyramid.
const SCALES: [f64; 5] = [1.0, 1.414, 2.0, 2.828, 4.0];
/// The cell, in pixels of its level, in which at most [`PER_CELL`] corners are kept.
const CELL: usize = 32;
const PER_CELL: usize = 2;
/// The largest ratio of the squared distances of the best and the second-best match.
const RATIO: f32 = 0.65;

/// Returns the response of a corner detector at each pixel, in squared levels: about the smaller eigenvalue of the
/// gradients' covariance.
pub(super) fn corners(luma: &Plane) -> Plane {
    let gradient = luma.blurred(1.0).gradient();
    let part = |f: fn([f32; 2]) -> f32| gradient.map(f).blurred(1.5);
    let (xx, xy, yy) = (part(|g| g[0] * g[0]), part(|g| g[0] * g[1]), part(|g| g[1] * g[1]));
    Grid::from_fn(luma.width, luma.height, |x, y| {
        let i = y * luma.width + x;
        let (a, b, c) = (xx.data[i], xy.data[i], yy.data[i]);
        (a * c - b * b) / (a + c + 1e-3)
    })
}

/// Returns the strongest corners in cells of `cell` pixels, at most `count` per cell, above `least`.
pub(super) fn strongest(
    response: &Plane,
    mask: &Mask,
    cell: usize,
    count: usize,
    least: f32,
) -> Vec<[usize; 2]> {
    let mut found = Vec::new();
    for top in (0..response.height).step_by(cell) {
        for left in (0..response.width).step_by(cell) {
            let mut here = Vec::new();
            for y in top..(top + cell).min(response.height) {
                for x in left..(left + cell).min(response.width) {
                    let value = response.data[y * response.width + x];
                    if value > least && mask.data[y * response.width + x] && is_peak(response, x, y)
                    {
                        here.push((value, [x, y]));
                    }
                }
            }
            here.sort_by(|a, b| b.0.total_cmp(&a.0));
            found.extend(here.into_iter().take(count).map(|(_, place)| place));
        }
    }
    found
}

fn is_peak(plane: &Plane, x: usize, y: usize) -> bool {
    let value = plane.data[y * plane.width + x];
    let (x, y) = (x as isize, y as isize);
    (-2..=2).all(|dy| (-2..=2).all(|dx| plane.at(x + dx, y + dy) <= value))
}

/// Returns the features of a picture at the pixels of `mask`.
pub(super) fn features(luma: &Plane, mask: &Mask) -> Vec<Feature> {
    let mut found = Vec::new();
    for scale in SCALES {
        let (width, height) =
            ((luma.width as f64 / scale) as usize, (luma.height as f64 / scale) as usize);
        if width < 60 || height < 60 {
            break;
        }
        let smooth = if scale > 1.0 { luma.blurred(0.5 * scale) } else { luma.clone() };
        let level = Plane::from_fn(width, height, |x, y| {
            smooth.sample(DVec2::new(x as f64, y as f64) * scale)
        });
        let inside = Mask::from_fn(width, height, |x, y| {
            mask.at((x as f64 * scale) as isize, (y as f64 * scale) as isize)
        });
        let inside = inside.eroded(14);
        let slope = level.blurred(4.5).gradient();
        let soft = level.blurred(2.0);
        for [x, y] in strongest(&corners(&level), &inside, CELL, PER_CELL, 1.0) {
            let [dx, dy] = slope.data[y * width + x];
            let place = DVec2::new(x as f64, y as f64);
            let axis = DVec2::new(f64::from(dx), f64::from(dy)).normalize_or(DVec2::X);
            if let Some(patch) = describe(&soft, place, axis) {
                found.push(Feature { pixel: place * scale, patch });
            }
        }
    }
    found
}

/// Returns the normalised patch around a place, whose columns are along `axis`. `None` if it has no contrast.
fn describe(soft: &Plane, place: DVec2, axis: DVec2) -> Option<[f32; 64]> {
    let mut patch = [0.0; 64];
    for (i, value) in patch.iter_mut().enumerate() {
        let at = (DVec2::new((i % 8) as f64, (i / 8) as f64) - 3.5) * 5.0;
        *value = soft.sample(place + axis.rotate(at));
    }
    let mean = patch.iter().sum::<f32>() / 64.0;
    patch.iter_mut().for_each(|value| *value -= mean);
    let length = patch.iter().map(|value| value * value).sum::<f32>().sqrt();
    patch.iter_mut().for_each(|value| *value /= length);
    (length > 8.0).then_some(patch)
}

/// Returns the pairs of places, first in `from` and then in `to`, whose patches agree and are unlike those elsewhere.
pub(super) fn matched(from: &[Feature], to: &[Feature]) -> Vec<(DVec2, DVec2)> {
    let best = Grid::from_fn(1, from.len(), |_, i| {
        let (mut first, mut second) = ((f32::MAX, 0), f32::MAX);
        for (j, other) in to.iter().enumerate() {
            let distance = squared_distance(&from[i].patch, &other.patch);
            if distance < first.0 {
                if to[first.1].pixel.distance(other.pixel) > 8.0 {
                    second = first.0;
                }
                first = (distance, j);
            } else if distance < second && to[first.1].pixel.distance(other.pixel) > 8.0 {
                second = distance;
            }
        }
        let is_clear = first.0 < 0.5 && first.0 < RATIO * second;
        is_clear.then_some(first.1)
    });
    let pair = |(i, j): (usize, &Option<usize>)| j.map(|j| (from[i].pixel, to[j].pixel));
    best.data.iter().enumerate().filter_map(pair).collect()
}

fn squared_distance(a: &[f32; 64], b: &[f32; 64]) -> f32 {
    let mut sums = [0.0; 8];
    for (a, b) in a.chunks_exact(8).zip(b.chunks_exact(8)) {
        (0..8).for_each(|i| sums[i] += (a[i] - b[i]) * (a[i] - b[i]));
    }
    sums.iter().sum()
}
