//! Local refinement: moves the pictures of overlapping cameras by a few pixels so that near objects fit together.
//!
//! One warp cannot fit all distances if the cameras are apart: near objects are displaced against each other. The
//! refinement measures the displacements in the overlaps and distributes them to the cameras.
//!
//! 1. `gray` reduces the pictures and shows each of them on a reduced panorama.
//! 2. `search` compares small windows of two cameras at the nodes of a coarse grid (normalised cross-correlation).
//! 3. `smooth` fits a smooth field to the measurements. A window without texture gives no measurement, and a straight
//!    outline only the component across it. Measurements that contradict their neighbours lose their influence.
//! 4. Let `A(p + e) = B(p)`, so `e` is the displacement of camera A against camera B. A is moved by `w_B · e` and B by
//!    `−w_A · e`, where `w` are the weights of feathering. So both fit together everywhere, and neither moves where only
//!    it is visible. Between the nodes, shifts are interpolated, so a movement ends within one node of the overlap.
//!
//! The host computes the displacements, and a kernel moves the warp. [`WarpRefiner`] repeats this for video, with small
//! steps. The refinement cannot show what a near object covers in the other picture: a seam around the object can.

mod follow;
mod gray;
mod search;
mod smooth;

use glam::{UVec2, Vec2};
use kernels_gpu::warp::edge_distance;

use crate::error::operation_error;
use crate::warp::Refinement;
pub use follow::WarpRefiner;
use gray::Gray;
pub(crate) use gray::GraySource;

/// The approximate number of pixels of the reduced panorama.
const PIXELS: u64 = 1_000_000;

/// The largest displacement that is searched, in pixels of the reduced panorama. The time of a search grows with its
/// square.
const MOST_REACH: f32 = 24.0;

/// The distance between nodes, in pixels of the reduced panorama.
const SPACING: u32 = 16;

/// How to refine a warp.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RefineOptions {
    /// The largest displacement of two cameras against each other, in panorama pixels: 1 to 256. The default is 24.
    pub limit: f32,
}

operation_error! {
    /// A warp cannot be refined.
    RefineError: "refining a warp: {0}"
}

impl Default for RefineOptions {
    fn default() -> Self {
        Self { limit: 24.0 }
    }
}

impl RefineOptions {
    /// Checks the limit.
    ///
    /// # Errors
    /// Returns [`RefineError`] if the limit is not 1 to 256 pixels.
    pub fn check(&self) -> Result<(), RefineError> {
        let error = || RefineError::Invalid("the limit must be 1 to 256 pixels".to_owned());
        (1.0..=256.0).contains(&self.limit).then_some(()).ok_or_else(error)
    }
}

/// The positions and weights at which the pictures of a panorama are compared.
#[derive(Debug)]
pub(crate) struct Comparison {
    limit: f32,
    /// The number of panorama pixels per pixel of the reduced panorama, along each axis.
    step: u32,
    /// The size of the reduced panorama.
    size: UVec2,
    nodes: UVec2,
    /// The position in each camera's picture for each pixel of the reduced panorama.
    places: Vec<Vec<Option<Vec2>>>,
    /// The feathered weight of each camera at each node.
    weights: Vec<Vec<f32>>,
}

impl Comparison {
    /// Prepares the comparison of pictures of the sizes `sources` in a panorama of `size` pixels. `place` returns the
    /// source coordinates that a camera shows at a panorama pixel, or `None` if it does not see the pixel. The caller
    /// must check the options.
    pub(crate) fn new(
        size: UVec2,
        sources: &[UVec2],
        options: RefineOptions,
        place: impl Fn(usize, UVec2) -> Option<Vec2>,
    ) -> Self {
        let limit = options.limit;
        let area = u64::from(size.x) * u64::from(size.y);
        let coarse = (limit / MOST_REACH).ceil() as u32;
        let step = (area.div_ceil(PIXELS).isqrt() as u32).max(coarse);
        let reduced = (size / step).max(UVec2::ONE);
        let nodes = reduced / SPACING + 2;
        let places = (0..sources.len())
            .map(|camera| points(reduced).map(|at| place(camera, at * step)).collect())
            .collect();
        let weights = |node: UVec2| {
            // The last nodes are beyond the panorama.
            let at = (node * SPACING * step).min(size - 1);
            let margin = |(camera, &source): (usize, &UVec2)| {
                place(camera, at).map_or(0.0, |place| edge_distance(source, place))
            };
            let margins: Vec<_> = sources.iter().enumerate().map(margin).collect();
            let whole: f32 = margins.iter().sum();
            (whole > 0.0).then(|| margins.iter().map(|margin| margin / whole).collect())
        };
        let seen: Vec<(UVec2, Vec<f32>)> =
            points(nodes).filter_map(|node| Some((node, weights(node)?))).collect();
        // A node that no camera sees has the weights of the nearest other one, so that a camera does not move beside it.
        let weights = |node: UVec2| {
            let distance = |at: &UVec2| at.as_ivec2().distance_squared(node.as_ivec2());
            let nearest = seen.iter().min_by_key(|(at, _)| distance(at));
            nearest.map_or_else(|| vec![0.0; sources.len()], |(_, weights)| weights.clone())
        };
        let weights = points(nodes).map(weights).collect();
        Self { limit, step, size: reduced, nodes, places, weights }
    }

    /// Measures the displacements of the pictures. Uses only the CPU.
    pub(crate) fn measure(&self, sources: &[GraySource<'_>]) -> Refinement {
        let step = self.step as f32;
        let reach = (self.limit / step).ceil() as i32;
        let grays: Vec<_> = (sources.iter().zip(&self.places))
            .map(|(source, places)| Gray::of(source, self.size, self.step, places))
            .collect();
        let mut shifts = vec![vec![Vec2::ZERO; self.weights.len()]; sources.len()];
        for a in 0..sources.len() {
            for b in a + 1..sources.len() {
                let found = search::search(&grays[a], &grays[b], self.nodes, SPACING, reach);
                let Some(field) = smooth::smooth(&found, self.nodes) else { continue };
                for (node, (moved, weights)) in field.into_iter().zip(&self.weights).enumerate() {
                    let moved = (step * moved).clamp_length_max(self.limit);
                    shifts[a][node] += weights[b] * moved;
                    shifts[b][node] -= weights[a] * moved;
                }
            }
        }
        Refinement { nodes: self.nodes, spacing: SPACING as f32 * step, shifts }
    }
}

/// Returns the columns and rows of a grid, row by row.
fn points(size: UVec2) -> impl Iterator<Item = UVec2> {
    (0..size.y).flat_map(move |y| (0..size.x).map(move |x| UVec2::new(x, y)))
}
