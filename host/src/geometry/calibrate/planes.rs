//! The model of pictures that show one plane: a homography for each picture.
//!
//! Every picture has a matrix that maps its pixels to those of a reference picture. The matrix of the reference is
//! fixed. A step of the fit changes eight of the nine elements of every other matrix, in coordinates from −1 to 1 over
//! the larger side of the picture. The largest element is fixed, because all multiples of a matrix are the same
//! homography.

use std::sync::Arc;

use glam::{DMat2, DMat3, DVec2, DVec3, UVec2};

use super::Photo;
use super::fit::fit;
use super::matches::some;
use super::model::{Link, Match, Model};
use super::quality::overlap;
use crate::geometry::homography::corners;

/// The homographies of several pictures that show one plane.
#[derive(Clone, Debug)]
pub(super) struct Planes {
    to_reference: Vec<DMat3>,
    from_reference: Vec<DMat3>,
    reference: usize,
    /// For each picture, the map from pixels to coordinates from −1 to 1 over its larger side, and the inverse map.
    units: Arc<[[DMat3; 2]]>,
}

impl Planes {
    /// Creates a model for pictures of these sizes. The matrix of picture `reference` is fixed.
    pub(super) fn new(sizes: &[UVec2], reference: usize, to_reference: Vec<DMat3>) -> Self {
        let unit = |size: &UVec2| {
            let half = f64::from(size.max_element()) / 2.0;
            let back = DMat3::from_cols(
                DVec3::X * half,
                DVec3::Y * half,
                ((size.as_dvec2() - 1.0) / 2.0).extend(1.0),
            );
            [back.inverse(), back]
        };
        let units = sizes.iter().map(unit).collect();
        Self::with(units, reference, to_reference)
    }

    fn with(units: Arc<[[DMat3; 2]]>, reference: usize, mut to_reference: Vec<DMat3>) -> Self {
        for (matrix, [_, back]) in to_reference.iter_mut().zip(units.iter()) {
            // Normalise the scale of the matrix, which would overflow or underflow after many steps.
            *matrix *= 1.0 / (*matrix * back.z_axis).length().max(f64::MIN_POSITIVE);
        }
        let from_reference = to_reference.iter().map(DMat3::inverse).collect();
        Self { to_reference, from_reference, reference, units }
    }

    /// Returns a model of the same pictures with the matrices `to_reference`.
    pub(super) fn replaced(&self, to_reference: Vec<DMat3>) -> Self {
        Self::with(Arc::clone(&self.units), self.reference, to_reference)
    }

    /// Returns, for each picture, the matrix from its pixels to those of the reference. The scale of a matrix has no
    /// meaning.
    pub(super) fn to_reference(&self) -> &[DMat3] {
        &self.to_reference
    }

    /// Returns the matrix from pixels of picture `i` to those of the reference, with the sign and scale of [`normed`].
    /// For the reference itself, this is the identity.
    pub(super) fn normed(&self, i: usize) -> DMat3 {
        if i == self.reference {
            return DMat3::IDENTITY;
        }
        normed(self.from_reference[self.reference] * self.to_reference[i])
    }

    fn between(&self, to: usize, from: usize) -> DMat3 {
        if to == self.reference {
            self.to_reference[from]
        } else {
            self.from_reference[to] * self.to_reference[from]
        }
    }
}

/// Returns the pixel of a homogeneous point, or `None` if the point is not in front of the camera.
pub(super) fn flat(point: DVec3) -> Option<DVec2> {
    (point.z > 0.0).then(|| point.truncate() / point.z)
}

/// Returns the multiple of a homography that maps the pixels of the overlap to points with a positive third coordinate
/// `z`. The map must not mirror.
///
/// The determinant of the map's derivative is `det / z³`. It is positive for a map that does not mirror, so `z` is
/// positive if `det` is. The scale of the result makes its last element 1, or −1 if pixel (0, 0) is behind the other
/// camera. If pixel (0, 0) maps to infinity, the last column has length 1.
pub(super) fn normed(matrix: DMat3) -> DMat3 {
    let (last, length) = (matrix.z_axis.z.abs(), matrix.z_axis.length());
    let size = if last > 1e-9 * length { last } else { length };
    matrix * (1.0 / size.max(f64::MIN_POSITIVE)).copysign(matrix.determinant())
}

/// Returns the index of the number with the largest magnitude.
fn pivot(numbers: &[f64; 9]) -> usize {
    (0..9).max_by(|&a, &b| numbers[a].abs().total_cmp(&numbers[b].abs())).unwrap_or(8)
}

impl Model for Planes {
    type Link = PlaneLink;

    fn freedom(&self) -> usize {
        8 * (self.to_reference.len() - 1)
    }

    fn stepped(&self, step: &[f64]) -> Self {
        let mut steps = step.chunks_exact(8);
        let mut matrices = self.to_reference.clone();
        let [into, out] = self.units[self.reference];
        for (i, matrix) in matrices.iter_mut().enumerate() {
            if i == self.reference {
                continue;
            }
            let [unit, back] = self.units[i];
            let mut numbers = (into * *matrix * back).to_cols_array();
            let fixed = pivot(&numbers);
            let size = numbers[fixed].abs();
            let free = (0..9).filter(|&n| n != fixed);
            for (n, by) in free.zip(steps.next().unwrap_or_default()) {
                numbers[n] += by * size;
            }
            *matrix = out * DMat3::from_cols_array(&numbers) * unit;
        }
        self.replaced(matrices)
    }

    fn link(&self, to: usize, from: usize) -> PlaneLink {
        let turned = [to, from].into_iter().filter(|&i| i != self.reference);
        let first = |i: usize| 8 * (i - usize::from(i > self.reference));
        let parameters = turned.flat_map(|i| first(i)..first(i) + 8).collect();
        // The map from the reference to `to`.
        let back = if to == self.reference { DMat3::IDENTITY } else { self.from_reference[to] };
        let free = |i: usize| {
            (i != self.reference).then(|| {
                let [into, out] = self.units[self.reference];
                let [unit, own] = self.units[i];
                let numbers = (into * self.to_reference[i] * own).to_cols_array();
                let fixed = pivot(&numbers);
                FreeMatrix { unit, by_number: back * out * numbers[fixed].abs(), fixed }
            })
        };
        PlaneLink { matrix: self.between(to, from), to: free(to), from: free(from), parameters }
    }

    fn map(&self, to: usize, from: usize, pixel: DVec2) -> Option<DVec2> {
        flat(self.between(to, from) * pixel.extend(1.0))
    }

    fn local(&self, to: usize, from: usize, pixel: DVec2) -> Option<(DVec2, DMat2)> {
        let matrix = self.between(to, from);
        let point = matrix * pixel.extend(1.0);
        let at = flat(point)?;
        let along = |axis: DVec3| (axis.truncate() - at * axis.z) / point.z;
        Some((at, DMat2::from_cols(along(matrix.x_axis), along(matrix.y_axis))))
    }
}

/// The derivatives of a picture's matrix by its free elements, which [`Planes`] scales and orders.
struct FreeMatrix {
    /// The map from pixels to coordinates from −1 to 1.
    unit: DMat3,
    /// Column `r` is the change of a homogeneous point of the target picture if row `r` of the product of the scaled
    /// matrix with the point in `unit` coordinates changes by 1.
    by_number: DMat3,
    /// Index of the fixed element.
    fixed: usize,
}

/// The map from one picture to another, with derivatives by the free parameters.
pub(super) struct PlaneLink {
    matrix: DMat3,
    to: Option<FreeMatrix>,
    from: Option<FreeMatrix>,
    parameters: Vec<usize>,
}

impl Link for PlaneLink {
    fn parameters(&self) -> &[usize] {
        &self.parameters
    }

    fn slopes(&self, pixel: DVec2, slopes: &mut [DVec2]) -> Option<DVec2> {
        let given = pixel.extend(1.0);
        let point = self.matrix * given;
        let at = flat(point)?;
        let mut slopes = slopes.iter_mut();
        // The inverse of the matrix of `to` is applied, so its elements have the opposite sign.
        for (free, given) in [(&self.to, -point), (&self.from, given)] {
            let Some(FreeMatrix { unit, by_number, fixed }) = free else { continue };
            let given = (*unit * given).to_array();
            let along = |change: DVec3| (change.truncate() - at * change.z) / point.z;
            let rows = [by_number.x_axis, by_number.y_axis, by_number.z_axis].map(along);
            let free = (0..9).filter(|n| n != fixed);
            for (n, slope) in free.zip(&mut slopes) {
                *slope = rows[n % 3] * given[n / 3];
            }
        }
        Some(at)
    }
}

/// Maximum ratio of areas on a flat panorama: the corner of a picture may be stretched by this factor. The value is the
/// square of a scale factor of 10.
const MOST_STRETCH: f64 = 100.0;

/// Returns the factor by which a homography increases the area of a picture, at the corner where it is largest. The
/// result is infinite if a part of the picture is behind the reference camera.
pub(super) fn stretch(matrix: DMat3, size: UVec2) -> f64 {
    let det = matrix.determinant();
    let area = |corner: DVec2| {
        let z = (matrix * corner.extend(1.0)).z;
        if z > 1e-6 { (det / (z * z * z)).abs() } else { f64::INFINITY }
    };
    corners(size).into_iter().map(area).fold(0.0, f64::max)
}

/// Returns the index of the picture that a flat panorama stretches most, if it stretches this picture too far to be
/// useful. `matrices` map the pictures to the reference.
pub(super) fn stretched(matrices: &[DMat3], pictures: &[Photo]) -> Option<usize> {
    let one = |(matrix, picture): (&DMat3, &Photo)| stretch(*matrix, picture.size);
    let all: Vec<f64> = matrices.iter().zip(pictures).map(one).collect();
    let worst = (0..all.len()).max_by(|&a, &b| all[a].total_cmp(&all[b]))?;
    (all[worst] > MOST_STRETCH).then_some(worst)
}

/// Returns the homography, from right to left, that is nearest to another model of two pictures. It minimises the sum
/// of Sampson's squared distances over the overlap. The fit starts from `start`, which is the result if there is no
/// overlap.
pub(super) fn nearest_plane<M: Model>(model: &M, sizes: [UVec2; 2], start: DMat3) -> DMat3 {
    /// Maximum number of sample points in the overlap. Four points without noise determine a homography; more points
    /// average the lens distortion.
    const MANY: usize = 200;
    let one = |&[left, right]: &[DVec2; 2]| Match { link: [0, 1], left, right, index: 0 };
    let matches: Vec<Match> = overlap(model, [0, 1], sizes).seen.iter().map(one).collect();
    let start = Planes::new(&sizes, 0, vec![DMat3::IDENTITY, start]);
    let found = fit(&start, &some(&matches, MANY), |_| 1.0, 2).unwrap_or(start);
    found.to_reference()[1]
}

/// Returns the homography, from right to left, that four correspondences determine. Returns `None` if three of them are
/// nearly on a line, or if the orientations of their triangles show that a correspondence is wrong.
///
/// Three points have the same orientation in both pictures if both show the plane from the same side and none of the
/// points is behind a camera. Most samples with a wrong correspondence fail this test, which is cheaper than scoring
/// (oriented constraints: Chum, Werner, Matas, ICPR 2004).
pub(super) fn of_four(sample: &[Match]) -> Option<DMat3> {
    let [a, b, c, d] = sample else { return None };
    let points = |side: fn(&Match) -> DVec2| [a, b, c, d].map(side);
    let (left, right) = (points(|s| s.left), points(|s| s.right));
    let [l, r] = [turns(&left)?, turns(&right)?];
    if l.iter().zip(&r).any(|(l, r)| l * r <= 0.0) {
        return None;
    }
    // `basis` returns the matrix that maps the unit vectors and (1, 1, 1) to the four points of a picture.
    let basis = |p: &[DVec2; 4], [t0, t1, t2, _]: [f64; 4]| {
        let [p0, p1, p2] = [p[0], p[1], p[2]].map(|p| p.extend(1.0));
        DMat3::from_cols(p0 * t0, p1 * t1, p2 * t2)
    };
    let (to, from) = (basis(&left, l), basis(&right, r));
    let matrix = to * from.inverse();
    let size = matrix.determinant().abs();
    if !matrix.is_finite() || size < 1e-12 {
        return None;
    }
    let sign = (matrix * right[0].extend(1.0)).z;
    Some(if sign < 0.0 { matrix * -1.0 } else { matrix })
}

/// Returns, for each of the four points, twice the signed area of the triangle of the other three. The first three
/// results are the numerators of Cramer's rule for the fourth point in the basis of the first three. Returns `None` if
/// a triangle is too flat.
fn turns(p: &[DVec2; 4]) -> Option<[f64; 4]> {
    /// Approximate minimum distance, in pixels, of a point from the line through two others.
    const FLAT: f64 = 2.0;
    let area = |a: DVec2, b: DVec2, c: DVec2| (b - a).perp_dot(c - a);
    let whole = area(p[0], p[1], p[2]);
    let turns = [area(p[3], p[1], p[2]), area(p[0], p[3], p[2]), area(p[0], p[1], p[3]), whole];
    let spread = p.iter().fold(0.0_f64, |most, q| most.max((*q - p[0]).length()));
    turns.iter().all(|t| t.abs() > FLAT * spread).then_some(turns)
}

#[cfg(test)]
mod tests {
    use super::super::fit::tests::check_slopes;
    use super::*;

    #[test]
    fn four_points_give_their_homography() {
        let truth = DMat3::from_cols_array(&[0.9, 0.1, 1e-4, -0.05, 1.1, -2e-4, 40.0, -15.0, 1.0]);
        let one = |x: f64, y: f64| {
            let right = DVec2::new(x, y);
            let left = flat(truth * right.extend(1.0)).unwrap();
            Match { link: [0, 1], left, right, index: 0 }
        };
        let sample = [one(10.0, 20.0), one(600.0, 35.0), one(90.0, 400.0), one(555.0, 470.0)];
        let found = of_four(&sample).unwrap();
        let found = normed(found);
        assert!(found.abs_diff_eq(truth, 1e-8), "{found}");
        assert!(normed(of_four(&sample).unwrap() * -1.0).abs_diff_eq(truth, 1e-8));
        // `of_four` returns `None` for mirrored points, and for three points on a line.
        let mirrored = sample.map(|s| Match { left: DVec2::new(-s.left.x, s.left.y), ..s });
        assert!(of_four(&mirrored).is_none());
        let line = [sample[0], one(20.0, 40.0), one(200.0, 400.0), sample[3]];
        assert!(of_four(&line).is_none());
    }

    #[test]
    fn steps_are_of_one_scale_and_the_derivative_is_right() {
        let sizes = [UVec2::new(4000, 3000), UVec2::new(2000, 1500)];
        let second = DMat3::from_cols_array(&[1.9, 0.1, 1e-5, 0.0, 2.1, 2e-5, 900.0, -15.0, 1.0]);
        let planes = Planes::new(&sizes, 0, vec![DMat3::IDENTITY, second]);
        let pixel = DVec2::new(1500.0, 300.0);
        let (at, jacobian) = planes.local(0, 1, pixel).unwrap();
        let aside = planes.map(0, 1, pixel + DVec2::new(0.5, -0.25)).unwrap();
        assert!((at + jacobian * DVec2::new(0.5, -0.25) - aside).length() < 1e-3);
        assert!((planes.map(1, 0, at).unwrap() - pixel).length() < 1e-9);
        for k in 0..8 {
            let mut step = [0.0; 8];
            step[k] = 1e-3;
            let stepped = planes.stepped(&step).map(0, 1, pixel).unwrap();
            assert!((0.01..20.0).contains(&(stepped - at).length()), "{k}: {stepped} {at}");
        }
        let three = Planes::new(&[sizes[0]; 3], 1, vec![second, DMat3::IDENTITY, second]);
        for [to, from] in [[0, 1], [1, 2], [2, 0]] {
            check_slopes(&three, to, from, pixel);
        }
    }
}
