//! Measures the displacement of two cameras at the nodes of a grid.
//!
//! A window of the second camera is compared with windows of the first camera, displaced by up to a number of pixels.
//! The similarity is the normalised cross-correlation, which does not depend on exposure. Its maximum is the
//! displacement, refined by a quadratic through the neighbours. The curvature there tells how well each direction is
//! known: along a straight outline, hardly at all.

use glam::{Mat2, UVec2, Vec2, vec2};

use super::gray::Gray;
use super::points;

/// The distance from a window's centre to its edge. A window has 23×23 pixels.
const REACH: i32 = 11;

/// The smallest similarity of a measurement.
const SIMILAR: f32 = 0.6;

/// The smallest standard deviation of a window in levels. Windows with less contrast show noise.
const CONTRAST: f32 = 3.0;

/// How much less similar than an undisplaced window a window at the limit may be. It decides between equal textures,
/// such as the posts of a fence.
const PENALTY: f32 = 0.05;

/// A measurement at a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Found {
    pub(super) node: UVec2,
    /// The displacement of the first camera against the second one: `A(p + shift) = B(p)`.
    pub(super) shift: Vec2,
    /// The negative second derivatives of the similarity.
    pub(super) certainty: Mat2,
}

/// Returns the measurements of two cameras at the nodes of a grid. All lengths are pixels of the reduced panorama.
/// Displacements are at most `reach` along each axis.
pub(super) fn search(a: &Gray, b: &Gray, nodes: UVec2, spacing: u32, reach: i32) -> Vec<Found> {
    let found = |node: UVec2| {
        let (shift, certainty) = measure(a, b, (node * spacing).as_ivec2().to_array(), reach)?;
        Some(Found { node, shift, certainty })
    };
    points(nodes).filter_map(found).collect()
}

/// Measures the displacement at one position.
fn measure(a: &Gray, b: &Gray, [x, y]: [i32; 2], reach: i32) -> Option<(Vec2, Mat2)> {
    let side = (2 * REACH + 1) as u32;
    let (mut window, mut other) = (Vec::new(), Vec::new());
    if !b.square([x - REACH, y - REACH], side, &mut window) {
        return None;
    }
    let count = window.len() as f32;
    let mean = window.iter().sum::<f32>() / count;
    window.iter_mut().for_each(|level| *level -= mean);
    let energy = window.iter().map(|level| level * level).sum::<f32>();
    let least = count * CONTRAST * CONTRAST;
    if energy < least {
        return None;
    }
    // The similarity for each displacement, row by row.
    let range = 2 * reach + 1;
    let mut similarities = vec![f32::NEG_INFINITY; (range * range) as usize];
    for (i, similarity) in similarities.iter_mut().enumerate() {
        let (dx, dy) = (i as i32 % range - reach, i as i32 / range - reach);
        if !a.square([x + dx - REACH, y + dy - REACH], side, &mut other) {
            continue;
        }
        let (mut sum, mut squares, mut product) = (0.0, 0.0, 0.0);
        for (one, two) in other.iter().zip(&window) {
            sum += one;
            squares += one * one;
            product += one * two;
        }
        let contrast = squares - sum * sum / count;
        if contrast > least {
            *similarity = product / (contrast * energy).sqrt();
        }
    }
    let at = |dx: i32, dy: i32| similarities[((dy + reach) * range + dx + reach) as usize];
    let far = (reach * reach).max(1) as f32;
    let preferred = |dx: i32, dy: i32| at(dx, dy) - PENALTY * (dx * dx + dy * dy) as f32 / far;
    let all = (1 - reach..reach).flat_map(|dy| (1 - reach..reach).map(move |dx| (dx, dy)));
    let (dx, dy) = all.max_by(|l, r| preferred(l.0, l.1).total_cmp(&preferred(r.0, r.1)))?;
    let near = |i: i32, j: i32| at(dx + i, dy + j);
    let best = near(0, 0);
    let mut around = [-1, 0, 1].into_iter().flat_map(|j| [-1, 0, 1].map(|i| near(i, j)));
    // At a maximum on the edge of the range, the true displacement may be larger.
    if best < SIMILAR || around.any(|value| value > best || !value.is_finite()) {
        return None;
    }
    let slope = vec2(near(1, 0) - near(-1, 0), near(0, 1) - near(0, -1)) / 2.0;
    let across = 2.0 * best - near(1, 0) - near(-1, 0);
    let down = 2.0 * best - near(0, 1) - near(0, -1);
    let mixed = (near(1, -1) + near(-1, 1) - near(1, 1) - near(-1, -1)) / 4.0;
    let certainty = Mat2::from_cols_array(&[across, mixed, mixed, down]);
    // A small multiple of the identity keeps the step along an outline at 0.
    let step = (certainty + Mat2::from_diagonal(Vec2::splat(1e-3))).inverse() * slope;
    let positive = certainty.determinant() > 0.0 && across > 0.0;
    let shift = vec2(dx as f32, dy as f32) + step.clamp(Vec2::splat(-0.5), Vec2::splat(0.5));
    positive.then_some((shift, certainty))
}
