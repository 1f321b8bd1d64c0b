//! Checks a rig against fresh correspondences.
//!
//! Most correspondences may be wrong, so a large distance from the rig alone proves nothing. Therefore a new model is
//! fitted first, and only the correspondences that agree with it are compared with the rig. If a camera was moved, the
//! new model fits well, and the rig is wrong everywhere.

use glam::UVec2;

use super::cameras::map;
use super::fit::Sight;
use super::matches::{Matches, check_picture};
use super::select::{Choice, choose};
use super::{CalibrateOptions, Correspondence, KnownLens, ModelChoice, Photo, Refusal, judged};
use crate::geometry::rig::Rig;

/// Median error in pixels above which a rig has drifted, for left pictures of up to 2000 pixels a side. It grows in
/// proportion for larger pictures. A smaller error is invisible at the seam.
const DRIFT: f64 = 2.0;

/// The same limit as a multiple of the seam error that the rig's calibration expected. The larger limit applies.
const DRIFT_EXPECTED: f64 = 3.0;

/// The agreement of a rig with fresh pictures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// The number of distinct correspondences.
    pub matches: usize,
    /// The number of correspondences that agree with each other.
    pub inliers: usize,
    /// Median distance of the agreeing correspondences from the rig, in pixels of the left picture. Infinite if the
    /// rig does not see most of them.
    pub median_px: f64,
    /// Root mean square distance of the agreeing correspondences that the rig sees.
    pub rms_px: f64,
    /// Fraction of the agreeing correspondences that are closer than `allowed_px`.
    pub agreeing: f64,
    /// The maximum allowed median, in pixels.
    pub allowed_px: f64,
    /// Whether the rig has drifted.
    pub drifted: bool,
}

/// Compares a rig with fresh correspondences between the pictures of two of its cameras.
///
/// # Errors
/// Returns [`Refusal::NoSuchCamera`], or another [`Refusal`] if the correspondences do not determine a model.
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
    let matches = Matches::new(correspondences, [0, 1], pictures)?;
    let sights = &matches.sights;
    // Fits the rig's kind of model with the rig's lenses, because only the angles of the cameras may have changed.
    let mounted = pictures.iter().all(|picture| picture.lens.is_some());
    let model = if mounted { ModelChoice::Rotation } else { ModelChoice::Homography };
    let options = CalibrateOptions { model, ..options.clone() };
    let fresh = match choose(&matches, pictures, &options)? {
        Choice::Planes(f) => judged(&f.model, sights, f.noise, pictures, &options)?,
        Choice::Cameras(f) => judged(&f.model, sights, f.noise, pictures, &options)?,
    };
    let (left, right) = (&cameras[left], &cameras[right]);
    // The inverse, not the transpose, because a camera may be a homography.
    let to_world = right.from_ray.inverse();
    let off =
        |sight: &Sight| Some((map(left, right, to_world, sight.right)? - sight.left).length());
    let off: Vec<f64> =
        fresh.inliers.iter().map(|&i| off(&sights[i]).unwrap_or(f64::INFINITY)).collect();
    let side = f64::from(pictures[0].size.max_element());
    let expected = rig.quality.as_ref().map_or(0.0, |quality| quality.seam_error_px);
    let allowed_px = (DRIFT * (side / 2000.0).max(1.0)).max(DRIFT_EXPECTED * expected);
    Ok(drift(off, sights.len(), allowed_px))
}

/// Returns the result for the distances `off` of the agreeing correspondences from the rig.
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
