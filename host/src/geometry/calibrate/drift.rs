//! Checks a rig against correspondences between new pictures, to detect cameras that were moved, and pictures in another
//! order than the cameras.
//!
//! Most correspondences may be wrong, so large distances between correspondences and the rig do not prove that a camera
//! moved. Therefore a new model is fitted to the correspondences first. Only those that agree with the new model are
//! compared with the rig. Wrong correspondences hardly ever agree with the rig, so a few that do agree prove which
//! cameras two pictures show.

use std::cmp::Reverse;

use glam::UVec2;
use shared_types::warp::Camera;

use super::cameras::map;
use super::matches::{check_picture, checked};
use super::quality::LEAST_OVERLAP;
use super::refusal::MIN_INLIERS;
use super::select::choose;
use super::{CalibrateOptions, Correspondence, KnownLens, ModelChoice, Photo, PhotoPair, Refusal};
use crate::geometry::rig::Rig;

/// Median distance in pixels, between the inliers and the rig, above which the rig has drifted. It applies to left
/// pictures with sides of up to 2000 pixels, and grows in proportion to larger sides. A smaller distance is invisible
/// at the seam.
const DRIFT: f64 = 2.0;

/// The limit of the median distance as a multiple of the seam error that the rig file stores. The larger of this limit
/// and [`DRIFT`] applies.
const DRIFT_EXPECTED: f64 = 3.0;

/// The agreement of a rig with new pictures of its cameras.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// The number of distinct correspondences.
    pub matches: usize,
    /// The number of inliers: correspondences that agree with the newly fitted model.
    pub inliers: usize,
    /// Median distance between the left point of an inlier and the point to which the rig maps its right point, in
    /// pixels of the left picture. Infinite if the rig maps at most half of the inliers.
    pub median_px: f64,
    /// Root mean square distance, in pixels of the left picture, of the inliers that the rig can map.
    pub rms_px: f64,
    /// Fraction of the inliers whose distance from the rig is less than `allowed_px`, from 0 to 1.
    pub agreeing: f64,
    /// The maximum allowed median, in pixels of the left picture.
    pub allowed_px: f64,
    /// Whether the rig has drifted: `median_px` exceeds `allowed_px`.
    pub drifted: bool,
}

/// Compares a rig with correspondences between new pictures of two of its cameras. `left` and `right` are the indices
/// of the cameras.
///
/// # Errors
/// Returns [`Refusal::NoSuchCamera`] if the two indices are equal or out of range, or another [`Refusal`] if the rig is
/// invalid or the correspondences do not determine a model.
pub fn check(
    rig: &Rig,
    [left, right]: [usize; 2],
    correspondences: &[Correspondence],
    options: &CalibrateOptions,
) -> Result<Drift, Refusal> {
    let cameras = rig.geometry()?.cameras;
    let several = left != right && left.max(right) < cameras.len();
    if !several {
        return Err(Refusal::NoSuchCamera { cameras: cameras.len(), left, right });
    }
    let picture = |i: usize| {
        let camera = &rig.cameras[i];
        let lens = camera.mount().map(|mount| KnownLens {
            lens: mount.lens,
            matrix: mount.matrix,
            distortion: mount.distortion.clone(),
        });
        Photo { name: camera.name.clone(), size: UVec2::from(camera.size), lens }
    };
    let pictures = [picture(left), picture(right)];
    let pictures = [&pictures[0], &pictures[1]];
    for picture in pictures {
        check_picture(picture)?;
    }
    let matches = checked(correspondences, [0, 1], pictures)?;
    // Fit the same kind of model as the rig's, with the rig's lenses: moving a camera changes its orientation, but not
    // its lens.
    let mounted = pictures.iter().all(|picture| picture.lens.is_some());
    let model = if mounted { ModelChoice::Rotation } else { ModelChoice::Homography };
    let options = CalibrateOptions { model, ..*options };
    let fresh = choose(&matches, pictures, &options)?.judged(&matches, pictures)?;
    let (left, right) = (&cameras[left], &cameras[right]);
    let inliers = fresh.inliers.iter().map(|&i| &correspondences[i]);
    let off: Vec<f64> = distances(left, right, inliers).collect();
    Ok(drift(off, matches.len(), allowed_px(rig, left)))
}

/// Yields the distance of each correspondence from the rig, in pixels of the left picture; infinite if the rig does not
/// map its right point.
fn distances<'a>(
    left: &'a Camera,
    right: &'a Camera,
    correspondences: impl Iterator<Item = &'a Correspondence> + 'a,
) -> impl Iterator<Item = f64> + 'a {
    // Use the inverse instead of the transpose, because a camera may be a homography.
    let to_world = right.from_ray.inverse();
    correspondences.map(move |one| {
        let at = map(left, right, to_world, one.right);
        at.map_or(f64::INFINITY, |at| at.distance(one.left))
    })
}

/// Returns the maximum allowed median distance from the rig in pixels of the left camera.
fn allowed_px(rig: &Rig, left: &Camera) -> f64 {
    let side = f64::from(left.size.max_element());
    let expected = rig.quality.as_ref().map_or(0.0, |quality| quality.seam_error_px);
    (DRIFT * (side / 2000.0).max(1.0)).max(DRIFT_EXPECTED * expected)
}

/// The agreement of a rig with new pictures of all its cameras.
#[derive(Debug)]
pub struct RigCheck {
    /// The drift of the worst pair: the one with the largest ratio of measured to allowed distance. `None` if no pair
    /// determines a model.
    pub worst: Option<Drift>,
    /// The indices of the cameras that have probably moved, because the other pairs of cameras fit without them. Both
    /// cameras of a pair if either may have moved.
    pub moved: Vec<usize>,
    /// The camera of the rig that each picture shows, if the pictures fit the rig in this order only.
    pub order: Option<Vec<usize>>,
    /// The cameras of the first pair that overlaps in the rig, but cannot be checked, although one of its cameras is in
    /// no other pair that can. That camera may have moved so far that it shows nothing of the other pictures.
    pub unchecked: Option<([usize; 2], Refusal)>,
    /// The number of correspondences between pictures whose cameras overlap in the rig.
    pub matches: usize,
}

/// Compares a rig with correspondences between new pictures of all its cameras. Each pair of pictures is in `links` at
/// most once.
///
/// # Errors
/// Returns a [`Refusal`] if the rig is invalid.
pub fn check_rig(
    rig: &Rig,
    links: &[PhotoPair],
    options: &CalibrateOptions,
) -> Result<RigCheck, Refusal> {
    let geometry = rig.geometry()?;
    let overlaps = geometry.overlaps().pairs.into_iter();
    let overlaps = overlaps.filter(|pair| pair.pictures[0].max(pair.pictures[1]) >= LEAST_OVERLAP);
    let overlaps: Vec<_> = overlaps.map(|pair| pair.cameras).collect();
    let agreeing = |link: &PhotoPair, [left, right]: [usize; 2]| {
        let [left, right] = [left, right].map(|camera| &geometry.cameras[camera]);
        let allowed = allowed_px(rig, left);
        distances(left, right, link.correspondences.iter()).filter(|off| *off <= allowed).count()
    };
    let off = |drift: &Drift| drift.median_px / drift.allowed_px;
    let mut found =
        RigCheck { worst: None, moved: Vec::new(), order: None, unchecked: None, matches: 0 };
    let (mut bad, mut refused) = (Vec::new(), Vec::new());
    let (mut fits, mut is_checked) =
        (vec![false; rig.cameras.len()], vec![false; rig.cameras.len()]);
    for link in links {
        let cameras @ [left, right] = [link.left, link.right];
        let overlaps = overlaps.contains(&cameras);
        found.matches += if overlaps { link.correspondences.len() } else { 0 };
        match check(rig, cameras, &link.correspondences, options) {
            Ok(drift) => {
                (is_checked[left], is_checked[right]) = (true, true);
                if drift.drifted {
                    bad.push(cameras);
                } else {
                    (fits[left], fits[right]) = (true, true);
                }
                if found.worst.as_ref().is_none_or(|worst| off(&drift) > off(worst)) {
                    found.worst = Some(drift);
                }
            }
            Err(refusal) if overlaps && agreeing(link, cameras) < MIN_INLIERS => {
                bad.push(cameras);
                refused.push((cameras, refusal));
            }
            Err(_) => {}
        }
    }
    found.unchecked = refused.into_iter().find(|(pair, _)| pair.iter().any(|&i| !is_checked[i]));
    if !bad.is_empty() {
        found.order = order(rig.cameras.len(), links, &agreeing);
        found.moved = moved(bad, &fits);
    }
    Ok(found)
}

/// Returns the fewest cameras whose moves explain that the pairs `bad` do not fit the rig. A camera that `fits` in
/// another pair has moved only if there is no other explanation.
fn moved(mut bad: Vec<[usize; 2]>, fits: &[bool]) -> Vec<usize> {
    let mut moved = Vec::new();
    while !bad.is_empty() {
        let rank = |camera: usize| {
            (fits[camera], Reverse(bad.iter().filter(|pair| pair.contains(&camera)).count()))
        };
        let cameras = bad.iter().flatten().copied();
        let best = cameras.clone().map(rank).min();
        let mut alike: Vec<_> = cameras.filter(|&camera| Some(rank(camera)) == best).collect();
        // In a single pair, either camera may have moved.
        alike.truncate(if bad.len() == 1 { 2 } else { 1 });
        bad.retain(|pair| pair.iter().all(|camera| !alike.contains(camera)));
        moved.extend(alike);
    }
    moved.sort_unstable();
    moved
}

/// Returns the camera that each of `cameras` pictures shows, if the pictures agree with the rig much better in this order
/// than in their own. `agreeing` counts the correspondences that agree if two pictures show the given cameras.
///
/// Begins with each pair of pictures that agrees with a pair of cameras, because pairs of a regular row are alike, and
/// adds the picture that agrees best until none does. Any others keep the order of the remaining cameras. The order with
/// the most agreeing correspondences wins.
fn order(
    cameras: usize,
    links: &[PhotoPair],
    agreeing: &impl Fn(&PhotoPair, [usize; 2]) -> usize,
) -> Option<Vec<usize>> {
    /// A number of correspondences, the pictures, and the cameras that they show.
    type Agreement = (usize, [usize; 2], [usize; 2]);
    let pairs = (0..cameras).flat_map(|p| (0..cameras).map(move |q| [p, q]));
    let pairs: Vec<_> = pairs.filter(|[p, q]| p != q).collect();
    let mut all: Vec<Agreement> = Vec::new();
    for link in links {
        let count = |&pair: &[usize; 2]| (agreeing(link, pair), [link.left, link.right], pair);
        all.extend(pairs.iter().map(count).filter(|(count, ..)| *count >= MIN_INLIERS));
    }
    all.sort_by_key(|(count, ..)| Reverse(*count));
    let total = |camera_of: &[Option<usize>]| -> usize {
        let is = |(_, pictures, cameras): &&Agreement| {
            pictures.map(|picture| camera_of[picture]) == cameras.map(Some)
        };
        all.iter().filter(is).map(|(count, ..)| count).sum()
    };
    let from = |(_, pictures, shown): &Agreement| {
        let mut camera_of = vec![None; cameras];
        let mut next = Some((pictures, shown));
        while let Some((pictures, shown)) = next {
            (0..2).for_each(|i| camera_of[pictures[i]] = Some(shown[i]));
            let fits = |(_, pictures, shown): &&Agreement| {
                let known = |i: usize| camera_of[pictures[i]] == Some(shown[i]);
                let free = |i: usize| {
                    camera_of[pictures[i]].is_none() && !camera_of.contains(&Some(shown[i]))
                };
                (known(0) && free(1)) || (free(0) && known(1))
            };
            next = all.iter().find(fits).map(|(_, pictures, shown)| (pictures, shown));
        }
        camera_of
    };
    let own: Vec<_> = (0..cameras).map(Some).collect();
    let orders = all.iter().map(from).map(|order| (total(&order), order));
    // Of several best ones, `max_by_key` would take the last.
    let (agree, order) = orders.reduce(|best, one| if one.0 > best.0 { one } else { best })?;
    let mut rest = (0..cameras).filter(|camera| !order.contains(&Some(*camera)));
    let order: Option<Vec<_>> = order.iter().map(|of| of.or_else(|| rest.next())).collect();
    order.filter(|_| agree > 2 * total(&own))
}

/// Computes the figures of [`Drift`] from `off`, the distance of each inlier from the rig in pixels.
fn drift(mut off: Vec<f64>, matches: usize, allowed_px: f64) -> Drift {
    off.sort_by(f64::total_cmp);
    let inliers = off.len();
    let seen = &off[..off.partition_point(|d| d.is_finite())];
    let squares: f64 = seen.iter().map(|d| d * d).sum();
    let median_px = off.get(inliers / 2).copied().unwrap_or(f64::INFINITY);
    let agreeing = off.partition_point(|&d| d < allowed_px) as f64 / inliers.max(1) as f64;
    Drift {
        matches,
        inliers,
        median_px,
        rms_px: (squares / seen.len().max(1) as f64).sqrt(),
        agreeing,
        allowed_px,
        drifted: median_px > allowed_px,
    }
}
