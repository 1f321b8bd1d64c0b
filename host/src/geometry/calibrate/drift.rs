//! Checks a rig against correspondences between new pictures, to detect a camera that was moved.
//!
//! Most correspondences may be wrong, so large distances between correspondences and the rig do not prove that a camera
//! moved. Therefore a new model is fitted to the correspondences first. Only those that agree with the new model are
//! compared with the rig.

use glam::UVec2;

use super::cameras::map;
use super::matches::{check_picture, checked};
use super::select::choose;
use super::{CalibrateOptions, Correspondence, KnownLens, ModelChoice, Photo, Refusal};
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
    // Use the inverse instead of the transpose, because a camera may be a homography.
    let to_world = right.from_ray.inverse();
    let off = |&i: &usize| {
        let at = map(left, right, to_world, correspondences[i].right);
        at.map_or(f64::INFINITY, |at| at.distance(correspondences[i].left))
    };
    let off: Vec<f64> = fresh.inliers.iter().map(off).collect();
    let side = f64::from(pictures[0].size.max_element());
    let expected = rig.quality.as_ref().map_or(0.0, |quality| quality.seam_error_px);
    let allowed_px = (DRIFT * (side / 2000.0).max(1.0)).max(DRIFT_EXPECTED * expected);
    Ok(drift(off, matches.len(), allowed_px))
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
