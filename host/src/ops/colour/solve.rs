//! Solves the colour corrections of any number of cameras from the colour sums of their overlaps.
//!
//! The cameras are the nodes of a graph, and each overlap is an edge. The ratio of the mean levels in an overlap is the
//! ratio by which the two gains must differ. The logarithm of a ratio is a difference of logarithms, so linear least
//! squares gives the logarithms of all gains. Solving all cameras at once makes loops consistent: in a panorama of
//! 360°, the corrections of the last and the first camera fit together like those of all other neighbours.
//!
//! The graph uses only the sums of the colours, not the pixels. Therefore it equalises the means, but cannot distinguish
//! a difference in exposure from a difference in black level or response curve. It cannot tell either which edge of a
//! single loop is wrong: a wrong edge and an opposite error of any other edge of the loop give the same sums.
//!
//! **Gains.** A different exposure multiplies all levels by a factor, in linear light and in pictures encoded with a
//! power function. So each channel gets a gain per camera. The geometric mean of the gains is 1: of two cameras, one is
//! brightened by the same factor as the other is darkened.
//!
//! **Gammas** correct the difference that limited gains leave, and are exactly 1 if there is none. Of two cameras, let
//! a < b be the lumas of their means after the gains. The gamma that maps level m to level t is
//! `ln(t / 255) / ln(m / 255)`. Both cameras are mapped to the same t, whose logarithm T is the geometric mean of the
//! cameras' logarithms A and B:
//!
//! ```text
//! A = ln(255 / a)   B = ln(255 / b)   T = ln(255 / t) = √(A · B)
//! gamma of the darker   = T / A = √(B / A) < 1    brightens its mid-tones
//! gamma of the brighter = T / B = √(A / B) > 1    darkens its mid-tones
//! ```
//!
//! The gamma is exact for a uniform picture with the mean level. For other pictures, a part of the difference may
//! remain, but the gammas never increase or reverse it (Jensen's inequality). On test pictures with level ratios of 5
//! and 8, gains and gammas leave at most 2 % and 8 % of the difference of the means. Each camera has only one gamma for
//! all channels, so a colour cast may remain.

use glam::Vec3;
use nalgebra::{DMatrix, DVector};
use shared_types::colour::{ColourSums, LUMA};
use shared_types::stitch::Colour;

/// The default minimum sum of the weights in an overlap.
pub(super) const LEAST_WEIGHT: f32 = 10_000.0;

/// The ranges of gains and gammas.
const GAIN: [f64; 2] = [0.5, 2.0];
const GAMMA: [f64; 2] = [0.8, 1.2];

/// The weight at which an edge has half the influence of an edge of unlimited weight.
///
/// The error of an edge has two parts. Noise decreases with the number of pixels, but the error due to parallax and
/// moving objects does not. Therefore all but the smallest overlaps have almost equal influence.
const HALF_WEIGHT: f64 = 500.0;

/// The difference between an edge and the solution, as a logarithm, up to which the edge has full influence: 5 %. Noise
/// and small parallax stay below it, so they are distributed over all edges. A larger difference is an outlier.
///
/// In a single loop with a wrong edge of ×1.15, this limit leaves steps at the other edges that are as small as those
/// of plain least squares. With 2 % or 3 %, every tenth loop had a step of 13 % at an edge that was right.
const TOLERANCE: f64 = 0.05;

/// The influence with which each camera is pulled towards its expected correction in the first pass. The strongest edge
/// has an influence of 1. The pull decides between solutions that the edges do not distinguish.
const EXPECTATION: f64 = 0.05;

/// The number of iterations of each of the two passes that search for outliers.
const PASSES: usize = 16;

/// The factor for the influence of an edge that is older than others.
const OUTDATED: f64 = 1e-3;

/// The mean colours of two cameras in their overlap: an edge of the graph of cameras.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edge {
    pub(super) cameras: [usize; 2],
    /// The mean levels of red, green and blue of both cameras, greater than 0 and at most 255.
    means: [[f64; 3]; 2],
    /// The influence on the solution, greater than 0 and less than 1.
    influence: f64,
}

impl Edge {
    /// Creates the edge between two cameras from their colour sums. Camera `cameras[0]` is the left camera of `sums`.
    ///
    /// Returns `None` if the weight is below `min_weight` (for instance because the scene is dark), or a mean level is
    /// 0, more than 255, or NaN.
    #[must_use]
    pub fn new(cameras: [usize; 2], sums: &ColourSums, min_weight: f32) -> Option<Self> {
        let weight = f64::from(sums.weight);
        // A NaN weight fails this check. An infinite weight passes, but then the means are 0.
        let enough = sums.weight > 0.0 && sums.weight >= min_weight;
        let means = [sums.left, sums.right].map(|[r, g, b, _]| [r, g, b].map(f64::from));
        let means = means.map(|sums| sums.map(|sum| sum / weight));
        let valid = means.as_flattened().iter().all(|mean| *mean > 0.0 && *mean <= 255.0);
        let influence = weight / (weight + HALF_WEIGHT);
        (enough && valid).then_some(Self { cameras, means, influence })
    }

    /// Returns the two cameras.
    #[must_use]
    pub fn cameras(&self) -> [usize; 2] {
        self.cameras
    }

    /// Returns this edge with an influence that matters only where no other edge contradicts it.
    pub(super) fn outdated(self) -> Self {
        Self { influence: self.influence * OUTDATED, ..self }
    }
}

/// Solves the colour corrections of `cameras` cameras, so that the colours match as well as possible in all overlaps.
/// Cameras without an edge have the identity.
///
/// Cameras that are connected by edges, directly or through other cameras, are corrected together. In each such group
/// the mean logarithm of a gain is 0, so the pictures become neither brighter nor darker on average. If gains are then
/// outside [0.5, 2], all gains of the group are scaled by the same factor to bring them inside. If that is impossible,
/// the remaining gains are limited, and gammas from 0.8 to 1.2 correct the difference that the limits leave.
///
/// The camera `anchor` keeps its colours, and the cameras of its group are matched to it.
///
/// **Outliers.** An edge is an outlier if it contradicts the other edges, for instance because of a moving object. If
/// the graph has loops, iteratively reweighted least squares reduces the influence of outliers in two passes. The first
/// pass minimises Huber's loss (Huber 1964), which has a single minimum. The second pass continues with weights that
/// fall with the square of the difference, so that outliers have almost no influence. Where the edges do not decide,
/// the solution nearest to `expected` wins. Pass the previous solution, or an empty slice for the identity. `expected`
/// has no influence on a consistent graph.
///
/// Edges between a camera and itself, and edges of cameras that do not exist, are ignored.
#[must_use]
pub fn solve(
    cameras: usize,
    edges: &[Edge],
    anchor: Option<usize>,
    expected: &[Colour],
) -> Vec<Colour> {
    let valid = |edge: &&Edge| {
        let [a, b] = edge.cameras;
        a != b && a.max(b) < cameras
    };
    let edges: Vec<&Edge> = edges.iter().filter(valid).collect();
    // The group of each camera, named after its first camera.
    let mut group: Vec<usize> = (0..cameras).collect();
    for edge in &edges {
        let [a, b] = edge.cameras.map(|camera| group[camera]);
        group.iter_mut().filter(|name| **name == a.max(b)).for_each(|name| *name = a.min(b));
    }
    let mut colours = vec![Colour::IDENTITY; cameras];
    for name in 0..cameras {
        let members: Vec<usize> = (0..cameras).filter(|&camera| group[camera] == name).collect();
        if members.len() < 2 {
            continue;
        }
        let index = |camera: usize| members.partition_point(|other| *other < camera);
        let inside = edges.iter().filter(|edge| group[edge.cameras[0]] == name);
        let inside = inside.map(|edge| Edge { cameras: edge.cameras.map(index), ..**edge });
        let anchor = members.iter().position(|camera| Some(*camera) == anchor);
        let gain = |camera: usize| expected.get(camera).map_or(Vec3::ONE, |colour| colour.gain);
        let expected: Vec<_> = members.iter().map(|&camera| gain(camera)).collect();
        let solved = solve_group(&inside.collect::<Vec<_>>(), anchor, &expected);
        for (camera, colour) in members.into_iter().zip(solved) {
            colours[camera] = colour;
        }
    }
    colours
}

/// Solves the corrections of cameras that the edges connect. `expected` has a gain for each of them.
fn solve_group(edges: &[Edge], anchor: Option<usize>, expected: &[Vec3]) -> Vec<Colour> {
    let strongest = edges.iter().map(|edge| edge.influence).fold(0.0, f64::max);
    let link = |edge: &Edge| Link {
        ends: edge.cameras,
        difference: [0, 1, 2].map(|c| edge.means[1][c].ln() - edge.means[0][c].ln()),
        weight: edge.influence / strongest,
    };
    let mut links: Vec<Link<3>> = edges.iter().map(link).collect();
    let log = |gain: f32| f64::from(gain).max(f64::MIN_POSITIVE).ln();
    let expected: Vec<_> = expected.iter().map(|gain| gain.to_array().map(log)).collect();
    discount_outliers(&expected, &mut links);
    let wanted = common(least_squares(expected.len(), &links), GAIN, anchor);
    let wanted: Vec<_> = wanted.into_iter().map(|logs| logs.map(f64::exp)).collect();
    let limit = |gain: f64| gain.clamp(GAIN[0], GAIN[1]);
    let gains: Vec<_> = wanted.iter().map(|gains| gains.map(limit)).collect();

    let links = edges.iter().zip(&links).map(|(edge, link)| {
        // The levels of both cameras would be equal with the wanted gains.
        let level = |c: usize| {
            let [a, b] = [0, 1].map(|side| edge.means[side][c] * wanted[edge.cameras[side]][c]);
            (a * b).sqrt()
        };
        let [a, b] = edge.cameras.map(|camera| {
            let limited = |c: usize| level(c) * gains[camera][c] / wanted[camera][c];
            depth((0..3).map(|c| f64::from(LUMA[c]) * limited(c)).sum())
        });
        Link { ends: link.ends, difference: [b.ln() - a.ln()], weight: link.weight }
    });
    let gammas = least_squares(expected.len(), &links.collect::<Vec<_>>());
    let gammas = common(gammas, GAMMA, anchor);
    let colour = |(gain, [gamma]): (&[f64; 3], [f64; 1])| Colour {
        gain: Vec3::from_array(gain.map(|gain| gain as f32)),
        gamma: gamma.exp().clamp(GAMMA[0], GAMMA[1]) as f32,
        ..Colour::IDENTITY
    };
    gains.iter().zip(gammas).map(colour).collect()
}

/// Returns the depth `ln(255 / luma)` of a luma below white. The depth of white is 0, which no gamma can change.
/// Therefore the luma is limited to 254, just below white.
fn depth(luma: f64) -> f64 {
    (255.0 / luma.min(254.0)).ln()
}

/// The requirement that the numbers of two nodes differ by `difference`: first node minus second node. Each node has
/// `N` numbers.
#[derive(Clone, Copy, Debug)]
struct Link<const N: usize> {
    ends: [usize; 2],
    difference: [f64; N],
    weight: f64,
}

impl<const N: usize> Link<N> {
    /// Returns by how much the nodes contradict the requirement: the root mean square over their numbers.
    fn residual(&self, nodes: &[[f64; N]]) -> f64 {
        let [a, b] = self.ends.map(|end| nodes[end]);
        let squares = (0..N).map(|i| (a[i] - b[i] - self.difference[i]).powi(2));
        (squares.sum::<f64>() / N as f64).sqrt()
    }
}

/// Reduces the weights of links that contradict the others; see [`solve`]. Links without loops are all satisfied.
fn discount_outliers<const N: usize>(expected: &[[f64; N]], links: &mut [Link<N>]) {
    let nodes = expected.len();
    if links.len() < nodes {
        return;
    }
    let full: Vec<f64> = links.iter().map(|link| link.weight).collect();
    for pass in 0..2 * PASSES {
        let first = pass < PASSES;
        // In the first pass, one more node, the number 0, pulls all others towards their expected numbers.
        let pulls = expected.iter().enumerate().filter(|_| first).map(|(node, &difference)| Link {
            ends: [node, nodes],
            difference,
            weight: EXPECTATION,
        });
        let all: Vec<_> = links.iter().copied().chain(pulls).collect();
        let solved = least_squares(nodes + usize::from(first), &all);
        for (link, full) in links.iter_mut().zip(&full) {
            let inside = (TOLERANCE / link.residual(&solved)).min(1.0);
            link.weight = full * if first { inside } else { inside * inside };
        }
    }
}

/// Returns the numbers of all nodes that minimise the weighted sum of the squared contradictions. The numbers of the
/// last node are 0. The links must connect all nodes, and their weights must be greater than 0.
fn least_squares<const N: usize>(nodes: usize, links: &[Link<N>]) -> Vec<[f64; N]> {
    let unknown = nodes - 1;
    let mut matrix = DMatrix::<f64>::zeros(unknown, unknown);
    let mut sides = [0; N].map(|_| DVector::<f64>::zeros(unknown));
    for Link { ends, difference, weight } in links {
        for (node, other, sign) in [(ends[0], ends[1], 1.0), (ends[1], ends[0], -1.0)] {
            if node < unknown {
                matrix[(node, node)] += weight;
                if other < unknown {
                    matrix[(node, other)] -= weight;
                }
                for (side, difference) in sides.iter_mut().zip(difference) {
                    side[node] += sign * weight * difference;
                }
            }
        }
    }
    let mut solved = vec![[0.0; N]; nodes];
    // The matrix of a connected graph is positive definite.
    if let Some(factors) = matrix.cholesky() {
        for (i, side) in sides.iter_mut().enumerate() {
            factors.solve_mut(side);
            solved.iter_mut().zip(side.iter()).for_each(|(node, number)| node[i] = *number);
        }
    }
    solved
}

/// Adds a common number to the logarithms of all cameras. With an anchor, its logarithm becomes 0. Otherwise the mean
/// becomes 0, or the nearest number to it with which as many factors as possible are inside `range`.
fn common<const N: usize>(
    mut logs: Vec<[f64; N]>,
    range: [f64; 2],
    anchor: Option<usize>,
) -> Vec<[f64; N]> {
    for i in 0..N {
        let column = || logs.iter().map(|logs| logs[i]);
        let mean = column().sum::<f64>() / logs.len() as f64;
        let a = range[0].ln() - column().fold(f64::INFINITY, f64::min);
        let b = range[1].ln() - column().fold(f64::NEG_INFINITY, f64::max);
        let balanced = (-mean).clamp(a.min(b), a.max(b));
        let shift = anchor.map_or(balanced, |anchor| -logs[anchor][i]);
        logs.iter_mut().for_each(|logs| logs[i] += shift);
    }
    logs
}

#[cfg(test)]
mod tests;
