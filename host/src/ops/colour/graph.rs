//! Solves the colour corrections of any number of cameras from the colour sums of their overlaps.
//!
//! The cameras are the nodes of a graph, and each overlap is an edge. The ratio of the mean levels in an overlap is the
//! ratio by which the two gains must differ. The logarithm of a ratio is a difference of logarithms, so linear least
//! squares gives the logarithms of all gains. Solving all cameras at once makes loops consistent: in a panorama of
//! 360°, the corrections of the last and the first camera fit together like those of all other neighbours.
//!
//! The graph does not use the pixels of the overlaps. It cannot tell which edge of a single loop is wrong: a wrong edge
//! and an opposite error of any other edge of the loop give the same sums.

use glam::Vec3;
use nalgebra::{DMatrix, DVector};
use shared_types::colour::ColourSums;
use shared_types::stitch::Colour;

use super::estimate::{depth, equalise, luma, means};
use super::{EstimateLimits, FactorRange};

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

/// The result of [`solve`].
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// The colour correction of each camera. It is the identity for unmatched cameras.
    pub colours: Vec<Colour>,
    /// The cameras without an edge, in ascending order.
    pub unmatched: Vec<usize>,
}

impl Edge {
    /// Creates the edge between two cameras from their colour sums. Camera `cameras[0]` is the left camera of `sums`.
    ///
    /// Returns `None` if the sums allow no estimate, as [`estimate`](super::estimate()) does: the weight is below
    /// [`EstimateLimits::min_weight`], or a mean level is 0, more than 255, or NaN.
    #[must_use]
    pub fn new(cameras: [usize; 2], sums: &ColourSums, limits: &EstimateLimits) -> Option<Self> {
        let means = means(sums, limits)?;
        let weight = f64::from(sums.weight);
        Some(Self { cameras, means, influence: weight / (weight + HALF_WEIGHT) })
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
///
/// Cameras that are connected by edges, directly or through other cameras, are corrected together. In each such group
/// the mean logarithm of a gain is 0, so the pictures become neither brighter nor darker on average. If gains are then
/// outside `limits`, all gains of the group are scaled by the same factor to bring them inside. If that is impossible,
/// the remaining gains are limited, and gammas correct the difference that the limits leave, as in
/// [`estimate`](super::estimate()). A group of two cameras has exactly the colours of `estimate`.
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
    limits: &EstimateLimits,
    anchor: Option<usize>,
    expected: &[Colour],
) -> Solution {
    let mut solution = Solution { colours: vec![Colour::IDENTITY; cameras], unmatched: Vec::new() };
    for group in groups(cameras, edges) {
        let anchor = group.cameras.iter().position(|camera| Some(*camera) == anchor);
        let colours = match (&group.cameras[..], &group.edges[..]) {
            ([alone], _) => {
                solution.unmatched.push(*alone);
                continue;
            }
            ([_, _], [edge]) if anchor.is_none() => {
                let mut colours = equalise(edge.means, limits);
                if edge.ends == [1, 0] {
                    colours.reverse();
                }
                colours.to_vec()
            }
            _ => group.solve(limits, anchor, expected),
        };
        for (camera, colour) in group.cameras.into_iter().zip(colours) {
            solution.colours[camera] = colour;
        }
    }
    solution
}

/// Cameras that are connected by edges.
struct Group {
    cameras: Vec<usize>,
    edges: Vec<GroupEdge>,
}

/// An edge between two cameras of a [`Group`].
struct GroupEdge {
    /// Indices into [`Group::cameras`].
    ends: [usize; 2],
    means: [[f64; 3]; 2],
    influence: f64,
}

/// Divides the cameras into groups that no edge connects.
fn groups(cameras: usize, edges: &[Edge]) -> Vec<Group> {
    let valid = |edge: &&Edge| {
        let [a, b] = edge.cameras;
        a != b && a.max(b) < cameras
    };
    let edges: Vec<_> = edges.iter().filter(valid).collect();
    // The group of each camera, named after its first camera.
    let mut names: Vec<usize> = (0..cameras).collect();
    for edge in &edges {
        let [a, b] = edge.cameras.map(|camera| names[camera]);
        names.iter_mut().filter(|name| **name == a.max(b)).for_each(|name| *name = a.min(b));
    }
    let group = |name: usize| {
        let cameras: Vec<usize> = (0..cameras).filter(|&camera| names[camera] == name).collect();
        let inside = edges.iter().filter(|edge| names[edge.cameras[0]] == name);
        let edges = inside.map(|edge| GroupEdge {
            ends: edge.cameras.map(|camera| cameras.partition_point(|other| *other < camera)),
            means: edge.means,
            influence: edge.influence,
        });
        Group { edges: edges.collect(), cameras }
    };
    (0..cameras).filter(|&camera| names[camera] == camera).map(group).collect()
}

impl Group {
    fn solve(
        &self,
        limits: &EstimateLimits,
        anchor: Option<usize>,
        expected: &[Colour],
    ) -> Vec<Colour> {
        let strongest = self.edges.iter().map(|edge| edge.influence).fold(0.0, f64::max);
        let mut links: Vec<Link<3>> = self
            .edges
            .iter()
            .map(|edge| Link {
                ends: edge.ends,
                difference: std::array::from_fn(|c| (edge.means[1][c] / edge.means[0][c]).ln()),
                weight: edge.influence / strongest,
            })
            .collect();
        let expected = self.cameras.iter().map(|&camera| {
            let gain = expected.get(camera).map_or(Vec3::ONE, |colour| colour.gain);
            gain.to_array().map(|gain| f64::from(gain).max(f64::MIN_POSITIVE).ln())
        });
        discount_outliers(&expected.collect::<Vec<_>>(), &mut links);
        let wanted = common(least_squares(self.cameras.len(), &links), limits.gain, anchor);
        let wanted: Vec<_> = wanted.into_iter().map(|logs| logs.map(f64::exp)).collect();
        let range = limits.gain;
        let gains: Vec<_> =
            wanted.iter().map(|gains| gains.map(|gain| range.limit(gain))).collect();

        let links = self.edges.iter().zip(&links).map(|(edge, link)| {
            // The levels of both cameras would be equal with the wanted gains.
            let level = |c: usize| {
                let [a, b] = [0, 1].map(|side| edge.means[side][c] * wanted[edge.ends[side]][c]);
                (a * b).sqrt()
            };
            let [a, b] = edge.ends.map(|end| {
                let limited = std::array::from_fn(|c| gains[end][c] / wanted[end][c]);
                depth(luma(limited, std::array::from_fn(level)))
            });
            Link { ends: link.ends, difference: [(b / a).ln()], weight: link.weight }
        });
        let gammas = common(
            least_squares(self.cameras.len(), &links.collect::<Vec<_>>()),
            limits.gamma,
            anchor,
        );
        let colour = |(gain, [gamma]): (&[f64; 3], [f64; 1])| Colour {
            gain: Vec3::from_array(gain.map(|gain| gain as f32)),
            gamma: limits.gamma.limit(gamma.exp()) as f32,
            ..Colour::IDENTITY
        };
        gains.iter().zip(gammas).map(colour).collect()
    }
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
    range: FactorRange,
    anchor: Option<usize>,
) -> Vec<[f64; N]> {
    for i in 0..N {
        let sum: f64 = logs.iter().map(|logs| logs[i]).sum();
        let mean = sum / logs.len() as f64;
        let (least, most) = logs.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, m), logs| {
            (l.min(logs[i]), m.max(logs[i]))
        });
        let (a, b) = (f64::from(range.least()).ln() - least, f64::from(range.most()).ln() - most);
        let shift =
            anchor.map_or_else(|| (-mean).clamp(a.min(b), a.max(b)), |anchor| -logs[anchor][i]);
        logs.iter_mut().for_each(|logs| logs[i] += shift);
    }
    logs
}

#[cfg(test)]
mod tests;
