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
//! [`WarpRefiner`] repeats this for video, with small steps.
//!
//! The host computes the displacements, and a kernel moves the warp. A displacement has a limit. The refinement cannot
//! show what a near object covers in the other picture: a seam around the object can.

mod follow;
mod gray;
mod search;
mod smooth;

use glam::{UVec2, Vec2};
use kernels_gpu::warp::edge_distance;
use thiserror::Error;

use crate::device::DeviceError;
use crate::warp::Refinement;
pub use follow::WarpRefiner;
use gray::Gray;
pub(crate) use gray::Source;

/// The number of pixels of the reduced panorama, about.
const PIXELS: u64 = 1_000_000;

/// The largest displacement that is searched, in pixels of the reduced panorama. The search takes time that grows with
/// its square.
const MOST_REACH: f32 = 24.0;

/// The distance between nodes, in pixels of the reduced panorama.
const SPACING: u32 = 16;

/// How to refine a warp.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RefineOptions {
    /// The largest displacement of two cameras against each other, in panorama pixels: 1 to 256.
    pub limit: f32,
}

/// A warp cannot be refined.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RefineError {
    /// The limit of the displacements is out of range.
    #[error("refining a warp: the limit is {pixels} pixels, but must be 1 to 256")]
    Limit {
        /// The limit in panorama pixels.
        pixels: f32,
    },
    /// The number of frames differs from the number of the warp's cameras.
    #[error("refining a warp: {found} frames for {expected} cameras; pass one frame per camera")]
    Frames {
        /// The number of frames.
        found: usize,
        /// The number of cameras.
        expected: usize,
    },
    /// A frame does not have the size of its camera's picture.
    #[error(
        "refining a warp: the frame of camera {camera} (counted from 0) is {}×{} pixels, but the warp is for {}×{}; use the \
         frames for which the warp was made",
        found.x, found.y, expected.x, expected.y
    )]
    FrameSize {
        /// The index of the camera.
        camera: usize,
        /// The size of the frame.
        found: UVec2,
        /// The size for which the warp was made.
        expected: UVec2,
    },
    /// A refinement was requested for the views of a virtual camera.
    #[error(
        "refining a warp: a view is rendered from the models of the cameras, not from the warp; use no virtual camera, or no \
         refinement"
    )]
    View,
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

impl Default for RefineOptions {
    /// Returns a limit of 24 pixels.
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
        let fine = (1.0..=256.0).contains(&self.limit);
        if fine { Ok(()) } else { Err(RefineError::Limit { pixels: self.limit }) }
    }
}

/// Measures the displacements of pictures in a panorama of `size` pixels. `place` returns the source coordinates
/// that a camera shows at a panorama position, or `None` if it does not see the position. Uses only the CPU.
///
/// # Errors
/// Returns [`RefineError`] if the options are invalid.
pub(crate) fn measure(
    sources: &[Source<'_>],
    size: UVec2,
    options: &RefineOptions,
    place: &dyn Fn(usize, UVec2) -> Option<Vec2>,
) -> Result<Refinement, RefineError> {
    options.check()?;
    let area = u64::from(size.x) * u64::from(size.y);
    let coarse = (options.limit / MOST_REACH).ceil() as u32;
    let step = (area.div_ceil(PIXELS).isqrt() as u32).max(coarse).max(1);
    let reduced = (size / step).max(UVec2::ONE);
    let nodes = reduced / SPACING + 2;
    let cameras = 0..sources.len();
    let grays = cameras
        .clone()
        .map(|camera| Gray::of(&sources[camera], reduced, step, &|at| place(camera, at * step)));
    let grays: Vec<_> = grays.collect();
    let mut shifts = vec![vec![Vec2::ZERO; nodes.element_product() as usize]; sources.len()];
    let weights = weights(sources, size, nodes, SPACING * step, place);
    let reach = (options.limit / step as f32).ceil() as i32;
    for a in cameras.clone() {
        for b in a + 1..sources.len() {
            let found = search::search(&grays[a], &grays[b], nodes, SPACING, reach);
            let Some(field) = smooth::smooth(&found, nodes) else { continue };
            for (node, moved) in field.into_iter().enumerate() {
                let moved = (step as f32 * moved).clamp_length_max(options.limit);
                shifts[a][node] += weights[b][node] * moved;
                shifts[b][node] -= weights[a][node] * moved;
            }
        }
    }
    Ok(Refinement::new(size, nodes, (SPACING * step) as f32, shifts))
}

/// Returns the feathered weight of each camera at each node. The weights of a node sum to 1. A node that no camera sees
/// has the weights of the seen nodes around it, so that no camera moves next to it where only this camera is visible.
fn weights(
    sources: &[Source<'_>],
    size: UVec2,
    nodes: UVec2,
    spacing: u32,
    place: &dyn Fn(usize, UVec2) -> Option<Vec2>,
) -> Vec<Vec<f32>> {
    let mut weights = vec![Vec::new(); sources.len()];
    let mut is_seen = Vec::new();
    for node in points(nodes) {
        // The last nodes are beyond the panorama.
        let at = (node * spacing).min(size - 1);
        let margin = |camera: usize| {
            let place = place(camera, at)?;
            Some(edge_distance(sources[camera].size, place))
        };
        let margins: Vec<_> = (0..sources.len()).map(|of| margin(of).unwrap_or(0.0)).collect();
        let whole: f32 = margins.iter().sum();
        is_seen.push(whole > 0.0);
        for (weights, margin) in weights.iter_mut().zip(margins) {
            weights.push(if whole > 0.0 { margin / whole } else { 0.0 });
        }
    }
    spread(&mut weights, is_seen, nodes);
    weights
}

/// Gives each node that is not known the mean of the known nodes around it, ring by ring.
fn spread(weights: &mut [Vec<f32>], mut is_known: Vec<bool>, nodes: UVec2) {
    let index = |node: UVec2| (node.y * nodes.x + node.x) as usize;
    let around = |node: UVec2| {
        let (first, last) = (node.saturating_sub(UVec2::ONE), (node + 1).min(nodes - 1));
        points(last - first + 1).map(move |by| index(first + by))
    };
    while is_known.contains(&false) {
        let is_known_now = is_known.clone();
        let edge = |node: &UVec2| {
            !is_known_now[index(*node)] && around(*node).any(|other| is_known_now[other])
        };
        let ring: Vec<UVec2> = points(nodes).filter(edge).collect();
        if ring.is_empty() {
            // No camera sees any node.
            return;
        }
        for node in ring {
            let known: Vec<usize> = around(node).filter(|&other| is_known_now[other]).collect();
            for weights in &mut *weights {
                let sum: f32 = known.iter().map(|&other| weights[other]).sum();
                weights[index(node)] = sum / known.len() as f32;
            }
            is_known[index(node)] = true;
        }
    }
}

/// Returns the columns and rows of a grid, row by row.
fn points(size: UVec2) -> impl Iterator<Item = UVec2> {
    (0..size.y).flat_map(move |y| (0..size.x).map(move |x| UVec2::new(x, y)))
}

#[cfg(test)]
mod tests;
