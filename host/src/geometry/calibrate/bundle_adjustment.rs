//! Fits one model to all pairs of several pictures (bundle adjustment: Triggs et al., 2000).
//!
//! As in Brown and Lowe, IJCV 2007, each residual relates two pictures, so the fit needs no points in space. The fit
//! starts from a spanning tree of pairs. Rotating cameras and homographies are both fitted, and the model with the
//! lower information criterion (see `select`) is the result.

use glam::{DMat3, UVec2};

use super::cameras::{Cameras, Focal, rays, rotation_between};
use super::fit::{Model, Sight, covariance};
use super::planes::Planes;
use super::quality::judge;
use super::select::{Fitted, camera_of, evidence, most_noise, plausible, settle, tolerant};
use super::tree::{Edge, Tree, TreeLink};
use super::{CalibrateOptions, ModelChoice, PairFigures, Photo, PhotoPair, Refusal, Views};
use crate::geometry::calibrate::sample::some;

/// Maximum number of correspondences that each pair contributes to the common fit.
pub(super) const PER_PAIR: usize = 150;

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
    edges: &[Edge<'_>],
    kept: &[usize],
    options: &CalibrateOptions,
) -> Result<Common, Refusal> {
    let sights: Vec<Sight> =
        kept.iter().flat_map(|&e| some(&edges[e].inliers, PER_PAIR)).copied().collect();
    let sights_of: Vec<&Sight> = sights.iter().collect();
    let sizes: Vec<UVec2> = pictures.iter().map(|picture| picture.size).collect();
    let most = most_noise(options, &sizes);

    let plane = |options: &CalibrateOptions| {
        let rotation = options.model == ModelChoice::Rotation;
        let start = (!rotation).then(|| planes(&sizes, tree, edges))?;
        Some(settle(start, &sights_of, most))
    };
    let turning = turning(pictures, tree, edges, &sights_of, options, most);
    let (views, fitted) = match (plane(options), turning) {
        (Some(plane), Ok(turning)) => {
            let noise = tolerant(plane.noise.min(turning.noise), &sizes);
            let planes = evidence(&plane.model, &sights, noise);
            if evidence(&turning.model, &sights, noise) < planes {
                finish_cameras(turning)
            } else {
                finish_planes(plane)
            }
        }
        (Some(plane), Err(_)) => finish_planes(plane),
        (None, Ok(turning)) => finish_cameras(turning),
        (None, Err(reason)) => return Err(Refusal::NotTurning { reason }),
    };
    let figures = fitted.figures(edges, &sights_of, pictures, options);
    Ok(Common { reference: tree.reference, views, figures })
}

/// The model that fits all pictures better: homographies or rotating cameras.
enum Chosen {
    Planes(Fitted<Planes>),
    Cameras(Fitted<Cameras>),
}

fn finish_planes(plane: Fitted<Planes>) -> (Views, Chosen) {
    let matrices = (0..plane.model.to_reference().len()).map(|i| plane.model.normed(i));
    (Views::Planes(matrices.collect()), Chosen::Planes(plane))
}

fn finish_cameras(turning: Fitted<Cameras>) -> (Views, Chosen) {
    (Views::Cameras(turning.model.cameras().to_vec()), Chosen::Cameras(turning))
}

impl Chosen {
    /// Returns the quality figures of all edges. `sights` are the correspondences to which the model was fitted.
    fn figures(
        &self,
        edges: &[Edge<'_>],
        sights: &[&Sight],
        pictures: &[Photo],
        options: &CalibrateOptions,
    ) -> Vec<Result<PairFigures, Refusal>> {
        match self {
            Self::Planes(fitted) => figures(fitted, edges, sights, pictures, options),
            Self::Cameras(fitted) => figures(fitted, edges, sights, pictures, options),
        }
    }
}

fn figures<M: Model>(
    fitted: &Fitted<M>,
    edges: &[Edge<'_>],
    sights: &[&Sight],
    pictures: &[Photo],
    options: &CalibrateOptions,
) -> Vec<Result<PairFigures, Refusal>> {
    // Uses the correspondences of all pairs, because those of a single pair may not determine all parameters.
    let fit = covariance(&fitted.model, sights);
    let one = |edge: &Edge<'_>| {
        let PhotoPair { left, right, .. } = *edge.pair;
        let sizes = [pictures[left].size, pictures[right].size];
        let (sights, least) = (&edge.matches.sights, options.least_overlap);
        let found = judge(&fitted.model, sights, fitted.noise, sizes, least, fit.as_ref())?;
        let mut inliers: Vec<usize> =
            found.inliers.iter().map(|&i| edge.matches.index[i]).collect();
        inliers.sort_unstable();
        Ok(PairFigures {
            left,
            right,
            matches: sights.len(),
            inliers,
            rms_px: found.rms_px,
            overlap: found.overlap,
            coverage: found.coverage,
            seam_error_px: found.seam_error_px,
        })
    };
    edges.iter().map(one).collect()
}

/// Returns the homographies from which the fit starts: the products of the pairs' homographies along the tree.
fn planes(sizes: &[UVec2], tree: &Tree, edges: &[Edge<'_>]) -> Planes {
    let mut matrices = vec![DMat3::IDENTITY; sizes.len()];
    for &TreeLink { child, parent, edge } in &tree.links {
        let matrix = edges[edge].calibration.homography_right_to_left;
        let forward = edges[edge].pair.right == child;
        matrices[child] = matrices[parent] * if forward { matrix } else { matrix.inverse() };
    }
    Planes::new(sizes, tree.reference, matrices)
}

/// Fits rotating cameras. The fit starts from the rotations of the pairs, multiplied along the tree. Returns the reason
/// as an error if no plausible cameras fit.
fn turning(
    pictures: &[Photo],
    tree: &Tree,
    edges: &[Edge<'_>],
    sights: &[&Sight],
    options: &CalibrateOptions,
    most: f64,
) -> Result<Fitted<Cameras>, String> {
    if options.model == ModelChoice::Homography {
        return Err("a homography was requested".to_owned());
    }
    // Collects the focal lengths from the pairs that were calibrated as rotating cameras, as fractions of the picture's
    // larger side. The fit starts from their median.
    let mut shares: Vec<f64> = edges
        .iter()
        .filter_map(|edge| match &edge.calibration.views {
            Views::Cameras(cameras) => Some(cameras),
            Views::Planes(_) => None,
        })
        .flatten()
        .map(|camera| camera.focal.x / f64::from(camera.size.max_element()))
        .collect();
    shares.sort_by(f64::total_cmp);
    let known = pictures.iter().all(|picture| picture.lens.is_some());
    let share = match shares.get(shares.len() / 2) {
        Some(share) => *share,
        None if known => 1.0,
        None => return Err("no pair of pictures determines the focal length".to_owned()),
    };
    let camera = |picture| camera_of(picture, share * f64::from(picture.size.max_element()));
    let mut cameras: Vec<_> = pictures.iter().map(camera).collect();
    for &TreeLink { child, parent, edge } in &tree.links {
        let pairs = edges[edge].inliers.iter().filter_map(|sight| rays(&cameras, sight));
        let Some(right_to_left) = rotation_between(pairs) else {
            return Err("all agreeing correspondences lie in one direction".to_owned());
        };
        // `turn` is the rotation from the parent's frame to the child's.
        let turn =
            if edges[edge].pair.right == child { right_to_left.transpose() } else { right_to_left };
        cameras[child].from_ray = turn * cameras[parent].from_ray;
    }
    let known: Vec<bool> = pictures.iter().map(|picture| picture.lens.is_some()).collect();
    let start = Cameras::new(cameras, known, tree.reference);
    let size = pictures[tree.reference].size;
    let alike = start.unknown().all(|i| pictures[i].size == size);
    // The first fit has few free parameters, because it starts far from the solution and must converge. The later fits
    // start from its result and free more parameters.
    let first = if alike { Focal::Shared } else { Focal::Each };
    let rough = settle(start.freed(first, false), sights, most);
    let owned: Vec<Sight> = sights.iter().map(|sight| **sight).collect();
    let mut best: Option<(f64, Fitted<Cameras>)> = None;
    let mut reason = "no focal length fits".to_owned();
    for (focal, radial) in
        [(first, false), (first, true), (Focal::Each, false), (Focal::Each, true)]
    {
        if radial && !options.radial {
            continue;
        }
        let fitted = settle(rough.model.freed(focal, radial), sights, most);
        let cost = evidence(&fitted.model, &owned, rough.noise.min(fitted.noise));
        if best.as_ref().is_some_and(|(least, _)| cost >= *least) {
            continue;
        }
        match plausible(&fitted, sights) {
            Ok(()) => best = Some((cost, fitted)),
            Err(why) => reason = why,
        }
    }
    best.map(|(_, fitted)| fitted).ok_or(reason)
}
