//! Registers a panorama with the truth: which pixel shows which direction, whoever made the panorama.
//!
//! 1. Matches of features give a projection ([`fit`](super::fit)).
//! 2. Landmarks, corners of the truth, are searched near where the projection expects them, by normalised correlation.
//!    They refine the projection.
//! 3. A cubic polynomial of the remaining shifts, the *smooth residual*, absorbs errors that bend the panorama without
//!    a break, such as a focal length that is a bit wrong. It has too few coefficients to follow a seam.

use glam::DVec2;
use nalgebra::{DMatrix, DVector};

use super::features::{corners, features, matched, strongest};
use super::fit::{LEAST, Pair, fit, refined};
use crate::case::Truth;
use crate::grid::{Grid, Mask, Picture, Plane};
use crate::projection::{Projection, Surface};

/// Half the width of a landmark's patch, in truth pixels.
const PATCH: isize = 8;
/// How far from its expected place a landmark is searched, in truth pixels.
pub(crate) const REACH: isize = 10;
/// The least correlation of a found landmark.
const LEAST_CORRELATION: f32 = 0.7;

/// A landmark of the truth that lies inside the panorama.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Landmark {
    /// Its pixel in the truth.
    pub(crate) truth: DVec2,
    /// The panorama pixel where it was found, or `None` if nothing similar is near its expected place.
    pub(crate) found: Option<DVec2>,
}

/// Maps truth pixels to panorama pixels.
#[derive(Clone, Debug)]
pub(crate) struct Registration {
    /// The panorama's projection.
    pub(crate) projection: Projection,
    /// The projection of the truth.
    canvas: Projection,
    /// Width and height of the truth.
    extent: DVec2,
    /// Width and height of the panorama.
    size: DVec2,
    /// Coefficients of the smooth residual, in panorama pixels.
    smooth: Vec<DVec2>,
}

/// The panorama, drawn on the truth's canvas.
#[derive(Clone, Debug)]
pub(crate) struct Registered {
    /// The colours.
    pub(crate) picture: Picture,
    /// The pixels that the panorama shows.
    pub(crate) shown: Mask,
}

/// Returns the terms of the cubic polynomial at a point.
fn terms(p: DVec2) -> [f64; 10] {
    let DVec2 { x, y } = p;
    [1.0, x, y, x * x, x * y, y * y, x * x * x, x * x * y, x * y * y, y * y * y]
}

impl Registration {
    /// Returns where the fitted projection alone puts a truth pixel.
    pub(crate) fn projected(&self, truth: DVec2) -> Option<DVec2> {
        let focal = self.projection.focal;
        let pixel = self.projection.pixel(self.canvas.direction(truth))?;
        // A panorama of more than a full turn, or one that starts elsewhere, shows the direction one turn further.
        let turn = std::f64::consts::TAU * focal;
        let turn = if self.projection.surface == Surface::Plane { 0.0 } else { turn };
        let inside = |by: &f64| (-0.5..self.size.x - 0.5).contains(&(pixel.x + by));
        let by = [0.0, turn, -turn].into_iter().find(inside).unwrap_or(0.0);
        Some(pixel + DVec2::new(by, 0.0))
    }

    /// Returns the panorama pixel of a truth pixel: the projection and the smooth residual.
    pub(crate) fn pixel(&self, truth: DVec2) -> Option<DVec2> {
        Some(self.projected(truth)? + self.residual(truth))
    }

    /// Returns the smooth residual at a truth pixel, in panorama pixels.
    fn residual(&self, truth: DVec2) -> DVec2 {
        let terms = terms(truth / self.extent * 2.0 - 1.0);
        self.smooth.iter().zip(terms).map(|(coefficient, term)| *coefficient * term).sum()
    }

    /// Returns the number of truth pixels per panorama pixel.
    pub(crate) fn scale(&self) -> f64 {
        self.canvas.focal / self.projection.focal
    }

    /// Draws the panorama on the truth's canvas. A panorama of a higher resolution is averaged.
    pub(crate) fn draw(&self, panorama: &Picture, mask: &Mask, truth: &Truth) -> Registered {
        let (width, height) = (truth.picture.width, truth.picture.height);
        let n = (1.0 / self.scale()).round().clamp(1.0, 4.0) as usize;
        let place = |x: usize, y: usize, i: usize| {
            let at = DVec2::new((i % n) as f64 + 0.5, (i / n) as f64 + 0.5) / n as f64 - 0.5;
            self.pixel(DVec2::new(x as f64, y as f64) + at)
        };
        let pixels = Grid::from_fn(width, height, |x, y| {
            let middle = self.pixel(DVec2::new(x as f64, y as f64))?;
            let (left, top) = (middle.x.floor() as isize, middle.y.floor() as isize);
            let corners = [(0, 0), (1, 0), (0, 1), (1, 1)];
            let inside = panorama.contains(middle, 0.0)
                && corners.iter().all(|(i, j)| mask.at(left + i, top + j));
            if !inside || n == 1 {
                return inside.then(|| panorama.sample(middle));
            }
            let mut sum = [0.0; 3];
            for i in 0..n * n {
                let colour = panorama.sample(place(x, y, i).unwrap_or(middle));
                (0..3).for_each(|c| sum[c] += colour[c] / (n * n) as f32);
            }
            Some(sum)
        });
        let picture = pixels.map(|pixel| pixel.unwrap_or_default().map(|v| v.clamp(0.0, 255.0)));
        Registered { picture, shown: pixels.map(|pixel| pixel.is_some()) }
    }

    /// Searches the landmarks of the truth, at `places`, in the registered panorama. `luma` is the truth's brightness
    /// ([`soft`]).
    pub(crate) fn landmarks(
        &self,
        places: &[[usize; 2]],
        luma: &Plane,
        drawn: &Registered,
    ) -> Vec<Landmark> {
        let shown = drawn.shown.eroded(PATCH as usize);
        let panorama = soft(&drawn.picture);
        let inside = |p: &&[usize; 2]| shown.data[p[1] * shown.width + p[0]];
        let places: Vec<[usize; 2]> = places.iter().filter(inside).copied().collect();
        let found = Grid::from_fn(1, places.len(), |_, i| {
            let truth = DVec2::new(places[i][0] as f64, places[i][1] as f64);
            let shift = search(luma, &panorama, &shown, places[i]);
            Some(Landmark { truth, found: shift.and_then(|shift| self.pixel(truth + shift)) })
        });
        found.data.into_iter().flatten().collect()
    }

    /// Refines the projection and the smooth residual by the landmarks that were found.
    fn refine(&mut self, landmarks: &[Landmark]) {
        let wrapped = |landmark: &Landmark| {
            // The refinement compares with the projection itself, not with the copy one turn further.
            let found = landmark.found?;
            let direct = self.projection.pixel(self.canvas.direction(landmark.truth))?;
            let by = self.projected(landmark.truth)? - direct;
            Some((found - by, self.canvas.direction(landmark.truth)))
        };
        let pairs: Vec<Pair> = landmarks.iter().filter_map(wrapped).collect();
        if pairs.len() < LEAST {
            return;
        }
        self.projection = refined(self.projection, &pairs, &[3.0, 1.0]);
        self.smooth.clear();
        let rest: Vec<(DVec2, DVec2)> = landmarks
            .iter()
            .filter_map(|l| Some((l.truth, l.found? - self.projected(l.truth)?)))
            .collect();
        self.smooth = polynomial(&rest, self.extent);
    }
}

/// Fits the cubic polynomial to shifts at truth pixels, with weights that fall for shifts that do not fit. With few
/// shifts, only a linear one.
fn polynomial(shifts: &[(DVec2, DVec2)], extent: DVec2) -> Vec<DVec2> {
    let count = if shifts.len() < 60 { 3 } else { 10 };
    let mut weights = vec![1.0; shifts.len()];
    let mut solution = vec![DVec2::ZERO; count];
    for _ in 0..8 {
        let mut normal = DMatrix::<f64>::identity(count, count) * (2e-3 * shifts.len() as f64);
        let mut right = [DVector::zeros(count), DVector::zeros(count)];
        for ((truth, shift), weight) in shifts.iter().zip(&weights) {
            let terms = terms(*truth / extent * 2.0 - 1.0);
            for i in 0..count {
                right[0][i] += weight * terms[i] * shift.x;
                right[1][i] += weight * terms[i] * shift.y;
                (0..count).for_each(|j| normal[(i, j)] += weight * terms[i] * terms[j]);
            }
        }
        let Some(solved) = normal.cholesky() else { break };
        let (x, y) = (solved.solve(&right[0]), solved.solve(&right[1]));
        solution = x.iter().zip(&y).map(|(x, y)| DVec2::new(*x, *y)).collect();
        for ((truth, shift), weight) in shifts.iter().zip(&mut weights) {
            let terms = terms(*truth / extent * 2.0 - 1.0);
            let fitted: DVec2 = solution.iter().zip(terms).map(|(c, t)| *c * t).sum();
            *weight = 1.0 / (1.0 + (*shift - fitted).length_squared());
        }
    }
    solution
}

/// Searches the truth's patch at `place` in the panorama. Returns the shift to the best correlation, with fractions
/// from a parabola, or `None` if it is too low or at the border of the search.
fn search(truth: &Plane, panorama: &Plane, shown: &Mask, place: [usize; 2]) -> Option<DVec2> {
    let (cx, cy) = (place[0] as isize, place[1] as isize);
    let side = (2 * REACH + 1) as usize;
    let mut scores = vec![f32::MIN; side * side];
    for (i, score) in scores.iter_mut().enumerate() {
        let (dx, dy) = ((i % side) as isize - REACH, (i / side) as isize - REACH);
        if shown.get_at(cx + dx, cy + dy) == Some(true) {
            *score = correlation(truth, panorama, [cx, cy], [cx + dx, cy + dy]);
        }
    }
    let best = (0..scores.len()).max_by(|&a, &b| scores[a].total_cmp(&scores[b]))?;
    let (x, y) = (best % side, best / side);
    if scores[best] < LEAST_CORRELATION || x == 0 || y == 0 || x == side - 1 || y == side - 1 {
        return None;
    }
    let peak = |before: f32, here: f32, after: f32| {
        let bend = before - 2.0 * here + after;
        if bend < -1e-9 { f64::from(0.5 * (before - after) / bend).clamp(-0.5, 0.5) } else { 0.0 }
    };
    let [left, right, up, down] = [best - 1, best + 1, best - side, best + side].map(|i| scores[i]);
    if left.min(right).min(up).min(down) == f32::MIN {
        return None;
    }
    let fraction = DVec2::new(peak(left, scores[best], right), peak(up, scores[best], down));
    Some(DVec2::new(x as f64 - REACH as f64, y as f64 - REACH as f64) + fraction)
}

/// Returns the normalised correlation, from −1 to 1, of the patches around two pixels. The patches must lie inside.
fn correlation(a: &Plane, b: &Plane, at: [isize; 2], bt: [isize; 2]) -> f32 {
    let (mut sa, mut sb, mut saa, mut sbb, mut sab) = (0.0f32, 0.0f32, 0.0f32, 0.0f32, 0.0f32);
    let side = 2 * PATCH as usize + 1;
    let row = |plane: &Plane, [x, y]: [isize; 2], dy: isize| {
        let start = (y + dy) as usize * plane.width + (x - PATCH) as usize;
        start..start + side
    };
    for dy in -PATCH..=PATCH {
        let (left, right) = (&a.data[row(a, at, dy)], &b.data[row(b, bt, dy)]);
        for (p, q) in left.iter().zip(right) {
            let (p, q) = (p - 128.0, q - 128.0);
            (sa, sb, saa, sbb, sab) = (sa + p, sb + q, saa + p * p, sbb + q * q, sab + p * q);
        }
    }
    let n = (side * side) as f32;
    let (va, vb) = (saa - sa * sa / n, sbb - sb * sb / n);
    if va < n || vb < n { 0.0 } else { (sab - sa * sb / n) / (va * vb).sqrt() }
}

/// Returns the brightness in which landmarks are searched: softened, so that a blurred panorama is like a sharp truth.
pub(crate) fn soft(picture: &Picture) -> Plane {
    picture.luma().blurred(1.2)
}

/// Returns the places of landmarks in the truth: its corners, away from objects and from the border.
pub(crate) fn places(truth: &Truth) -> Vec<[usize; 2]> {
    let near = PATCH as usize + 2;
    let clear = truth.ambiguous.dilated(near).map(|near_object| !near_object);
    let usable = truth.seen.map(|count| count > 0).eroded(near).and(&clear);
    strongest(&corners(&truth.picture.luma()), &usable, 28, 1, 6.0)
}

/// Registers a panorama with the truth. Returns the mapping, the landmarks, and the panorama on the truth's canvas, or
/// `None` if no projection explains enough features.
pub(super) fn register(
    panorama: &Picture,
    mask: &Mask,
    truth: &Truth,
) -> Option<(Registration, Vec<Landmark>, Registered)> {
    let seen = truth.seen.map(|count| count > 0);
    let (luma, size) =
        (truth.picture.luma(), DVec2::new(panorama.width as f64, panorama.height as f64));
    let there = features(&luma, &seen);
    let here = features(&panorama.luma(), mask);
    let pairs: Vec<Pair> = matched(&here, &there)
        .into_iter()
        .map(|(pixel, truth_pixel)| (pixel, truth.projection.direction(truth_pixel)))
        .collect();
    let mut registration = Registration {
        projection: fit(&pairs, size)?,
        canvas: truth.projection,
        extent: DVec2::new(truth.picture.width as f64, truth.picture.height as f64),
        size,
        smooth: Vec::new(),
    };
    let places = places(truth);
    let luma = soft(&truth.picture);
    let mut drawn = registration.draw(panorama, mask, truth);
    for _ in 0..2 {
        let landmarks = registration.landmarks(&places, &luma, &drawn);
        registration.refine(&landmarks);
        drawn = registration.draw(panorama, mask, truth);
    }
    let landmarks = registration.landmarks(&places, &luma, &drawn);
    Some((registration, landmarks, drawn))
}
