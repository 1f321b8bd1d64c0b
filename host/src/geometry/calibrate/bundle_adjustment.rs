//! Fits one model to all pairs of several pictures (bundle adjustment: Triggs et al., 2000).
//!
//! As in Brown and Lowe, IJCV 2007, each residual relates two pictures, so the fit needs no points in space. The fit
//! starts from a spanning tree of pairs. Rotating cameras and homographies are both fitted, and the model with the
//! lower information criterion (see `select`) is the result.

use glam::{DMat3, UVec2};
use rayon::prelude::*;
use shared_types::warp::Camera;

use super::cameras::{RotatingCameras, rays, rotation_between};
use super::fit::{covariance, squared};
use super::loss::Loss;
use super::matches::some;
use super::model::{Match, Model};
use super::planes::Planes;
use super::quality::judge;
use super::select::{
    Choice, FOCALS, Fitted, camera_of, focals, most_noise, most_plausible, refit, selected,
};
use super::tree::{Edge, Tree, TreeLink};
use super::{CalibrateOptions, ModelChoice, PairFigures, Photo, Refusal, Views};

/// Maximum number of correspondences that each pair contributes to the common fit.
pub(super) const PER_PAIR: usize = 150;

/// Approximate maximum number of correspondences of all pairs in the common fit. The time of a fit grows with their
/// number times the number of free parameters. In a large set, each pair contributes fewer, because each picture
/// belongs to more pairs.
const TOTAL: usize = 6000;

/// Minimum number of correspondences that each pair contributes to the common fit of a large set.
const LEAST_PER_PAIR: usize = 40;

/// The model that was fitted to all pictures together.
pub(super) struct Common {
    /// Index of the reference picture. `views` uses the coordinate frame of this picture.
    pub(super) reference: usize,
    pub(super) views: Views,
    /// The quality figures of each edge (a calibrated pair), or the reason why the model does not explain the edge.
    /// Includes the edges to which the model was not fitted.
    pub(super) figures: Vec<Result<PairFigures, Refusal>>,
}

/// Fits a model to the edges (calibrated pairs) with the indices `kept`, and computes the model's quality figures for
/// all edges.
pub(super) fn common(
    pictures: &[Photo],
    tree: &Tree,
    edges: &[Edge],
    kept: &[usize],
    options: &CalibrateOptions,
) -> Result<Common, Refusal> {
    let each = (TOTAL / kept.len().max(1)).clamp(LEAST_PER_PAIR, PER_PAIR);
    let matches: Vec<Match> =
        kept.iter().flat_map(|&e| some(&edges[e].inliers, each)).copied().collect();
    let all: Vec<&Match> = matches.iter().collect();
    let sizes: Vec<UVec2> = pictures.iter().map(|picture| picture.size).collect();
    let most = most_noise(&sizes);

    let plane = |options: &CalibrateOptions| {
        let rotation = options.model == ModelChoice::Rotation;
        let start = (!rotation).then(|| planes(&sizes, tree, edges))?;
        Some(refit(start, &all, most))
    };
    let (plane, rotation) =
        rayon::join(|| plane(options), || rotation(pictures, tree, edges, &matches, options, most));
    let choice = selected(plane, rotation, &matches, &sizes)?;
    let figures = match &choice {
        Choice::Planes(fitted) => figures(fitted, edges, &all, pictures),
        Choice::Rotation(fitted) => figures(fitted, edges, &all, pictures),
    };
    Ok(Common { reference: tree.reference, views: choice.views(), figures })
}

/// Returns the quality figures of all edges. `matches` are the correspondences to which the model was fitted.
fn figures<M: Model>(
    fitted: &Fitted<M>,
    edges: &[Edge],
    matches: &[&Match],
    pictures: &[Photo],
) -> Vec<Result<PairFigures, Refusal>> {
    // Uses the correspondences of all pairs, because those of a single pair may not determine all parameters.
    let fit = covariance(&fitted.model, matches);
    let one = |edge: &Edge| {
        let sizes = edge.link.map(|i| pictures[i].size);
        judge(&fitted.model, &edge.matches, fitted.noise, sizes, fit.as_ref())
    };
    edges.par_iter().map(one).collect()
}

/// Returns the homographies from which the fit starts: the products of the pairs' homographies along the tree.
fn planes(sizes: &[UVec2], tree: &Tree, edges: &[Edge]) -> Planes {
    let mut matrices = vec![DMat3::IDENTITY; sizes.len()];
    for &TreeLink { child, parent, edge } in &tree.links {
        let forward = edges[edge].link[1] == child;
        let [to, from] = if forward { [0, 1] } else { [1, 0] };
        matrices[child] = matrices[parent] * edges[edge].views.homography(to, from);
    }
    Planes::new(sizes, tree.reference, matrices)
}

/// Fits rotating cameras. The fit starts from the rotations of the pairs, multiplied along the tree. Returns the reason
/// as an error if no plausible cameras fit.
fn rotation(
    pictures: &[Photo],
    tree: &Tree,
    edges: &[Edge],
    matches: &[Match],
    options: &CalibrateOptions,
    most: f64,
) -> Result<Fitted<RotatingCameras>, String> {
    if options.model == ModelChoice::Homography {
        return Err("a homography was requested".to_owned());
    }
    let all: Vec<&Match> = matches.iter().collect();
    let known: Vec<bool> = pictures.iter().map(|picture| picture.lens.is_some()).collect();
    // The first fit has few free parameters, because it starts far from the solution and must converge. The later fits
    // start from its result and free more parameters.
    let focals = focals(pictures);
    let mut rough: Option<(f64, Fitted<RotatingCameras>)> = None;
    for share in focal_shares(edges, known.iter().all(|known| *known)) {
        let Some(cameras) = chained(pictures, tree, edges, share) else { continue };
        let start =
            RotatingCameras::new(cameras, known.clone(), tree.reference).freed(focals[0], false);
        let fitted = refit(start, &all, most);
        let loss = Loss::new(most);
        let cost: f64 = matches.iter().map(|one| loss.loss(squared(&fitted.model, one))).sum();
        if rough.as_ref().is_none_or(|(least, _)| cost < *least) {
            rough = Some((cost, fitted));
        }
    }
    let Some((_, rough)) = rough else {
        return Err("all agreeing correspondences lie in one direction".to_owned());
    };
    most_plausible(&rough.model, focals, matches, &all, most)
}

/// Returns the focal lengths to start from, as fractions of the picture's larger side: the median of the pairs that
/// were calibrated as rotating cameras. If there are none, returns several, because a ring of pictures may determine a
/// focal length that none of its pairs does.
fn focal_shares(edges: &[Edge], known: bool) -> Vec<f64> {
    /// The number of starts if no pair determines the focal length.
    const STARTS: i32 = 4;
    let cameras = edges.iter().filter_map(|edge| match &edge.views {
        Views::Rotation(cameras) => Some(cameras),
        Views::Planes(_) => None,
    });
    let share = |camera: &Camera| camera.focal.x / f64::from(camera.size.max_element());
    let mut shares: Vec<f64> = cameras.flatten().map(share).collect();
    shares.sort_by(f64::total_cmp);
    if let Some(share) = shares.get(shares.len() / 2) {
        return vec![*share];
    }
    if known {
        return vec![1.0];
    }
    let (low, high) = (libm::log(*FOCALS.start()), libm::log(*FOCALS.end()));
    let at = |i: i32| libm::exp(low + (high - low) * (f64::from(i) + 0.5) / f64::from(STARTS));
    (0..STARTS).map(at).collect()
}

/// Returns cameras with the focal length `share`, as a fraction of the picture's larger side. Their rotations are those
/// of the pairs, multiplied along the tree. Returns `None` if the correspondences of a pair lie in one direction.
fn chained(pictures: &[Photo], tree: &Tree, edges: &[Edge], share: f64) -> Option<Vec<Camera>> {
    let camera = |picture| camera_of(picture, share * f64::from(picture.size.max_element()));
    let mut cameras: Vec<_> = pictures.iter().map(camera).collect();
    for &TreeLink { child, parent, edge } in &tree.links {
        let pairs = edges[edge].inliers.iter().filter_map(|one| rays(&cameras, one));
        let right_to_left = rotation_between(pairs)?;
        // `turn` is the rotation from the parent's frame to the child's.
        let turn =
            if edges[edge].link[1] == child { right_to_left.transpose() } else { right_to_left };
        cameras[child].from_ray = turn * cameras[parent].from_ray;
    }
    Some(cameras)
}
