//! Prepares the correspondences of two pictures: checks them, removes duplicates and those on an overlay that both
//! pictures have, and sorts them by score.
//!
//! Also checks the sizes and lenses of pictures. The module `robust`, not this one, decides which correspondences are
//! correct.

use std::collections::HashSet;

use glam::{DVec2, UVec2};

use super::model::Match;
use super::refusal::MIN_INLIERS;
use super::{Correspondence, Photo, Refusal};
use crate::io::picture::MAX_SIDE;

/// Grid spacing in pixels for finding duplicates. Correspondences with the same coordinates after rounding to this grid
/// are duplicates, because a detector may find the same corner at several scales.
const SAME: f64 = 0.5;

/// Maximum distance in pixels of a point beyond the outermost pixel centres of its picture. Points may lie slightly
/// outside, because detectors interpolate at the border.
const BEYOND: f64 = 1.0;

/// Maximum distance in pixels between the coordinates of an overlay, such as a logo, a clock or a spot on the lens, in two
/// pictures of one size.
const STATIC: f64 = 1.5;

/// Side of the cells in which correspondences are counted, as a fraction of the picture's larger side.
const CELL: f64 = 1.0 / 16.0;

/// Minimum noise to assume for correct correspondences, as a standard deviation in pixels. Detectors are not more
/// accurate, and a threshold near 0 would reject correct correspondences.
pub(super) const LEAST_NOISE: f64 = 0.3;

/// Returns at most `most` of the items, at regular intervals.
pub(super) fn some<T>(all: &[T], most: usize) -> Vec<&T> {
    all.iter().step_by(all.len().div_ceil(most.max(1)).max(1)).collect()
}

/// Checks and sorts the correspondences between the pictures with the indices `link` (left, right), and removes
/// duplicates and overlays. Returns the others, best score first.
pub(super) fn checked(
    correspondences: &[Correspondence],
    link: [usize; 2],
    pictures: [&Photo; 2],
) -> Result<Vec<Match>, Refusal> {
    for (index, one) in correspondences.iter().enumerate() {
        for (at, picture) in [one.left, one.right].into_iter().zip(pictures) {
            let end = picture.size.as_dvec2() - 1.0 + BEYOND;
            // The comparisons are false for NaN, so that NaN counts as outside.
            let inside = at.cmpge(DVec2::splat(-BEYOND)).all() && at.cmple(end).all();
            if !inside {
                let UVec2 { x: width, y: height } = picture.size;
                let (name, DVec2 { x, y }) = (picture.name.clone(), at);
                return Err(Refusal::Correspondence { index, name, x, y, width, height });
            }
        }
    }
    let mut order: Vec<usize> = (0..correspondences.len()).collect();
    // The sort is stable, and `total_cmp` also orders NaN, so the same input always gives the same order.
    order.sort_by(|&a, &b| correspondences[b].score.total_cmp(&correspondences[a].score));
    let index = first_of_each(correspondences, &order);
    let index = without_overlay(correspondences, index, pictures);
    if index.len() < MIN_INLIERS {
        return Err(Refusal::TooFew { found: index.len() });
    }
    let one = |index: usize| {
        let Correspondence { left, right, .. } = correspondences[index];
        Match { link, left, right, index }
    };
    Ok(index.into_iter().map(one).collect())
}

/// Returns the indices in `order`, without those of duplicate correspondences. Keeps the first of several duplicates.
fn first_of_each(correspondences: &[Correspondence], order: &[usize]) -> Vec<usize> {
    let key = |i: usize| {
        let Correspondence { left, right, .. } = correspondences[i];
        [left.x, left.y, right.x, right.y].map(|c| (c / SAME).round() as i64)
    };
    let mut seen = HashSet::with_capacity(order.len());
    order.iter().copied().filter(|&i| seen.insert(key(i))).collect()
}

/// Returns the indices in `index`, without those of correspondences on an overlay: they have the same coordinates in
/// both pictures, but the rest of the scene has not. If they are in at least half of the cells that have any
/// correspondence, the pictures show the same view, and all indices are returned.
fn without_overlay(
    correspondences: &[Correspondence],
    index: Vec<usize>,
    pictures: [&Photo; 2],
) -> Vec<usize> {
    if pictures[0].size != pictures[1].size {
        return index;
    }
    let is_static = |i: &usize| {
        let Correspondence { left, right, .. } = correspondences[*i];
        left.distance(right) < STATIC
    };
    let side = CELL * f64::from(pictures[0].size.max_element());
    let cell = |i: &usize| (correspondences[*i].left / side).floor().as_ivec2();
    let all: HashSet<_> = index.iter().map(cell).collect();
    let with_static: HashSet<_> = index.iter().filter(|i| is_static(i)).map(cell).collect();
    if 2 * with_static.len() >= all.len() {
        return index;
    }
    index.into_iter().filter(|i| !is_static(i)).collect()
}

/// Checks that the size of a picture is in range, and also the parameters of its lens if the lens is known.
pub(super) fn check_picture(picture: &Photo) -> Result<(), Refusal> {
    let UVec2 { x: width, y: height } = picture.size;
    let name = || picture.name.clone();
    if picture.size.min_element() == 0 || picture.size.max_element() > MAX_SIDE {
        return Err(Refusal::PictureSize { name: name(), width, height });
    }
    let Some(lens) = &picture.lens else { return Ok(()) };
    let m = lens.matrix;
    for (field, value) in [("fx", m.fx), ("fy", m.fy)] {
        if !(1.0..=1e6).contains(&value) {
            return Err(Refusal::Lens { name: name(), field, value });
        }
    }
    let (found, most) = (lens.distortion.len(), lens.lens.coefficients());
    if lens.distortion.iter().skip(most).any(|k| *k != 0.0) {
        return Err(Refusal::Coefficients { name: name(), found, most });
    }
    let others = lens.distortion.iter().map(|&k| ("distortion", k));
    for (field, value) in [("cx", m.cx), ("cy", m.cy)].into_iter().chain(others) {
        if !(-1e6..=1e6).contains(&value) {
            return Err(Refusal::Lens { name: name(), field, value });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_are_sorted_distinct_and_checked() {
        let at = |x: f64, score| {
            let (left, right) = (DVec2::new(x, 5.0), DVec2::new(x, 7.0));
            Correspondence { left, right, score }
        };
        let picture = Photo::new("a", UVec2::new(100, 50));
        let new = |all: &[Correspondence]| checked(all, [0, 1], [&picture, &picture]);
        let mut all: Vec<_> = (0..12).map(|i| at(f64::from(i) * 3.0, f64::from(i))).collect();
        all.push(at(33.1, 99.0));
        let matches = new(&all).unwrap();
        assert_eq!([0, 1, 2].map(|i| matches[i].index), [12, 10, 9]);
        assert_eq!(matches.len(), 12);
        assert!(matches!(new(&all[..4]), Err(Refusal::TooFew { found: 4 })));
        for bad in [f64::NAN, -2.0, 101.0, f64::INFINITY] {
            all[3] = at(bad, 0.0);
            let refusal = new(&all);
            assert!(matches!(refusal, Err(Refusal::Correspondence { index: 3, .. })), "{bad}");
        }
    }
}
