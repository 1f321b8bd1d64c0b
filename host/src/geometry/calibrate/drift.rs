//! Whether a rig still fits its cameras: fresh correspondences against what the rig says.
//!
//! Most correspondences may be wrong, so a large distance says nothing by itself. A fresh model is fitted
//! first; only what agrees with it is held against the rig. A camera that was moved gives a good fresh
//! model and a rig that is off everywhere.

use glam::UVec2;

use super::cameras::map;
use super::fit::Sight;
use super::matches::{Matches, check_picture};
use super::select::{Choice, choose};
use super::{CalibrateOptions, Correspondence, KnownLens, ModelChoice, Photo, Refusal, judged};
use crate::geometry::rig::Rig;

/// Pixels of the left picture, at 2000 a side and more in proportion, that a rig may be off at the median
/// before it counts as drifted: under it a seam shows nothing.
const DRIFT: f64 = 2.0;

/// The same, in multiples of what the rig's own calibration expected.
const DRIFT_EXPECTED: f64 = 3.0;

/// How a rig fits fresh pictures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// How many different correspondences there were.
    pub matches: usize,
    /// How many of them agree with each other, and are believed.
    pub inliers: usize,
    /// Median distance of those to where the rig has them, in pixels of the left picture. Infinite if the
    /// rig does not see most of them.
    pub median_px: f64,
    /// Root mean square of the same, of those that the rig sees.
    pub rms_px: f64,
    /// Fraction of the believed ones that are nearer than `allowed_px`.
    pub agreeing: f64,
    /// The median up to which a rig is fine.
    pub allowed_px: f64,
    /// Whether the rig no longer fits.
    pub drifted: bool,
}

/// Holds a rig against fresh correspondences between the pictures of two of its cameras.
///
/// # Errors
/// [`Refusal::NoSuchCamera`], or why the correspondences say nothing.
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
    // The same kind as the rig: with its lenses, whether or not the angles are still right.
    let mounted = pictures.iter().all(|picture| picture.lens.is_some());
    let model = if mounted { ModelChoice::Rotation } else { ModelChoice::Homography };
    let options = CalibrateOptions { model, ..options.clone() };
    let fresh = match choose(&matches, pictures, &options)? {
        Choice::Planes(f) => judged(&f.model, sights, f.noise, pictures, &options)?,
        Choice::Cameras(f) => judged(&f.model, sights, f.noise, pictures, &options)?,
    };
    let (left, right) = (&cameras[left], &cameras[right]);
    // Not the transpose: a homography is a camera too.
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

/// The figures of these distances; there is at least one.
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
