//! Selects and fits the model of two pictures: one plane (a homography) or rotating cameras.
//!
//! If the lenses have no distortion, a homography also describes rotating cameras. Therefore the homography is computed
//! first, unless the lenses are known. Rotating cameras include the lenses and allow panoramas of any width, so they
//! are selected if they explain the correspondences as well with fewer parameters. Otherwise the homography is
//! selected.
//!
//! The comparison uses the Bayesian information criterion with a robust cost, like Torr's GRIC (1998). The criterion is
//! the sum of the squared residuals divided by the noise variance, each at most [`CHI2`], plus `ln(2n)` per parameter
//! for `n` correspondences.

use glam::{DMat3, DVec2, UVec2};
use rayon::prelude::*;
use shared_types::warp::Camera;

use super::cameras::{Focal, RotatingCameras, plain_camera, rays, rotation_between};
use super::fit::{covariance, fit, squared};
use super::loss::{CHI2, Loss};
use super::matches::{LEAST_NOISE, some};
use super::model::{Match, Model};
use super::planes::{Planes, of_four, stretch};
use super::quality::judge;
use super::robust::search;
use super::{CalibrateOptions, ModelChoice, PairFigures, Photo, Refusal, Views};
use crate::geometry::homography::corners;
use crate::geometry::rig::lens_camera;
use crate::geometry::unproject;

/// Range of focal lengths that the calibration estimates, as fractions of the picture's larger side. It corresponds to
/// fields of view from 118° to 6°. For other lenses, the caller must provide a lens calibration.
pub(super) const FOCALS: std::ops::RangeInclusive<f64> = 0.3..=10.0;

/// Standard deviation of the logarithm of an estimated focal length above which the estimate is rejected. Cameras that
/// barely differ in direction, or only in roll, do not determine the focal length. In these cases, a homography fits
/// equally well.
const FOCAL_DOUBT: f64 = 0.25;

/// Error of rotating cameras that the comparison with a homography tolerates, as a fraction of the picture's larger
/// side. Without this tolerance, slight lens distortion would select the homography, and so would a rotation that is
/// not exactly about the optical centre.
const TOLERANCE: f64 = 1e-3;

/// Minimum number of correspondences that rotating cameras must explain, as a fraction of the number that homographies
/// explain, to be preferred although the homographies fit better.
const NEARLY: f64 = 0.95;

/// Maximum noise of rotating cameras, relative to that of homographies, to be preferred although the homographies fit
/// better. Views of a flat scene from several positions have a larger ratio.
const MOST_NOISE_RATIO: f64 = 1.5;

/// The value that replaces [`NEARLY`], for any noise and any number of pictures, if the plane of the homographies is
/// [`STRAINED`].
const NEARLY_IF_STRAINED: f64 = 0.6;

/// Factor by which a plane increases the area of a picture's corner, above which the plane is strained. A picture that
/// is turned by 30°, with a field of view of 60°, is stretched by a factor of 8 at its outer edge.
const STRAINED: f64 = 4.0;

/// Maximum noise of a correct correspondence, as a standard deviation in pixels, for sides of up to 2000 pixels. The maximum grows in proportion to larger sides,
/// because the features of larger pictures are detected on downscaled copies.
const MOST_NOISE: f64 = 3.0;

/// Approximate number of correct correspondences to which each candidate model is fitted before one of them is
/// selected.
const FEW: usize = 300;

/// Approximate number of correct correspondences to which the selected cameras are fitted. With this number, noise of
/// 1 px causes an error of a twentieth of a pixel, less than typical lens errors.
const MANY: usize = 800;

/// A fitted model.
#[derive(Clone, Debug)]
pub(super) struct Fitted<M> {
    pub(super) model: M,
    /// Standard deviation of the noise of the inliers, in pixels.
    pub(super) noise: f64,
}

/// The selected model of two or more pictures.
#[derive(Clone, Debug)]
pub(super) enum Choice {
    /// One plane.
    Planes(Fitted<Planes>),
    /// Cameras at one position.
    Rotation(Fitted<RotatingCameras>),
}

impl Choice {
    pub(super) fn views(&self) -> Views {
        match self {
            Self::Planes(Fitted { model, .. }) => {
                Views::Planes((0..model.to_reference().len()).map(|i| model.normed(i)).collect())
            }
            Self::Rotation(Fitted { model, .. }) => Views::Rotation(model.cameras().to_vec()),
        }
    }

    /// Returns the quality figures of a pair, or the reason why the model is rejected. If no more correspondences agree
    /// than by chance, checks whether one of the pictures is mirrored.
    pub(super) fn judged(
        &self,
        matches: &[Match],
        pictures: [&Photo; 2],
    ) -> Result<PairFigures, Refusal> {
        let sizes = pictures.map(|picture| picture.size);
        let judged = match self {
            Self::Planes(own) => judge(&own.model, matches, own.noise, sizes, None),
            Self::Rotation(own) => judge(&own.model, matches, own.noise, sizes, None),
        };
        let Err(refusal @ Refusal::Chance { .. }) = judged else { return judged };
        let width = f64::from(sizes[0].x) - 1.0;
        let flipped = |s: &Match| Match { left: DVec2::new(width - s.left.x, s.left.y), ..*s };
        let flipped: Vec<Match> = matches.iter().map(flipped).collect();
        let options =
            CalibrateOptions { model: ModelChoice::Homography, ..CalibrateOptions::default() };
        if let Ok(Self::Planes(own)) = choose(&flipped, pictures, &options)
            && let Ok(found) = judge(&own.model, &flipped, own.noise, sizes, None)
        {
            let (matches, inliers) = (flipped.len(), found.inliers.len());
            return Err(Refusal::Mirrored { matches, inliers });
        }
        Err(refusal)
    }
}

/// Returns the maximum noise in pixels for pictures of these sizes.
pub(super) fn most_noise(sizes: &[UVec2]) -> f64 {
    let side = sizes.iter().map(|size| size.max_element()).max().unwrap_or(0);
    MOST_NOISE * (f64::from(side) / 2000.0).max(1.0)
}

/// Returns the standard deviation of the noise of the agreeing correspondences, in pixels.
///
/// The squared residuals divided by the variance are χ²-distributed with two degrees of freedom, which has the median
/// 2 ln 2. So the variance is the median of the squared residuals divided by 2 ln 2.
fn noise<'s, M: Model>(model: &M, matches: impl Iterator<Item = &'s Match>, most: f64) -> f64 {
    let mut all: Vec<f64> = matches.map(|one| squared(model, one)).collect();
    all.sort_by(f64::total_cmp);
    let mut noise = most;
    for _ in 0..8 {
        let agree = all.partition_point(|&r| r < CHI2 * noise * noise);
        if agree == 0 {
            break;
        }
        let now = (all[agree / 2] / (2.0 * std::f64::consts::LN_2)).sqrt();
        noise = now.clamp(LEAST_NOISE, most);
    }
    noise
}

/// Fits a model to its inliers and estimates their noise, up to three times, until the noise changes by less than 2 %.
pub(super) fn refit<M: Model>(start: M, matches: &[&Match], most: f64) -> Fitted<M> {
    let mut fitted = Fitted { model: start, noise: most };
    for _ in 0..3 {
        // Allow 1.5 times the estimated noise, so that an inaccurate model of an early round keeps its inliers.
        let loss = Loss::new((1.5 * fitted.noise).min(most));
        let Some(model) = fit(&fitted.model, matches, |r| loss.weight(r), 2) else { break };
        let noise = noise(&model, matches.iter().copied(), most);
        let done = (noise - fitted.noise).abs() < 0.02 * noise;
        fitted = Fitted { model, noise };
        if done {
            break;
        }
    }
    fitted
}

/// Returns the information criterion of a model, for `noise` in pixels. The model with the lowest value is the best.
fn evidence<M: Model>(model: &M, matches: &[Match], noise: f64) -> f64 {
    let cost = |one| (squared(model, one) / (noise * noise)).min(CHI2);
    let numbers = model.freedom() as f64 * libm::log(2.0 * matches.len() as f64);
    matches.iter().map(cost).sum::<f64>() + numbers
}

/// Returns the noise in pixels for comparing different models. It adds the [`TOLERANCE`] for lens errors to `noise`.
fn tolerant(noise: f64, sizes: &[UVec2]) -> f64 {
    let side = sizes.iter().map(|size| size.max_element()).max().unwrap_or(0);
    libm::hypot(noise, TOLERANCE * f64::from(side))
}

/// Selects and fits the model of a pair of pictures.
pub(super) fn choose(
    matches: &[Match],
    pictures: [&Photo; 2],
    options: &CalibrateOptions,
) -> Result<Choice, Refusal> {
    let sizes = pictures.map(|picture| picture.size);
    let most = most_noise(&sizes);
    let loss = Loss::new(most);
    let nothing = || Refusal::Chance { matches: matches.len(), inliers: 0 };
    let all: Vec<&Match> = matches.iter().collect();

    let known = pictures.iter().all(|picture| picture.lens.is_some());
    if known && options.model != ModelChoice::Homography {
        let start = start(pictures, |_| 1.0);
        let solve = |sample: &[Match; 2]| {
            let pairs = [rays(start.cameras(), &sample[0])?, rays(start.cameras(), &sample[1])?];
            // A rotation preserves the angle between two rays. If the angles in the two pictures differ, one of the two
            // correspondences is wrong.
            let apart = |side: usize| pairs[0][side].angle_between(pairs[1][side]);
            let slack = 4.0 * most / start.cameras().iter().fold(1e6, |f: f64, c| f.min(c.focal.x));
            let fits = (apart(0) - apart(1)).abs() < slack && apart(0) > slack;
            Some(start.turned(1, rotation_between(pairs)?.transpose())).filter(|_| fits)
        };
        let found = search(matches, solve, &loss).ok_or_else(nothing)?;
        let rotation = refit(found.model, &all, most);
        // If rotating cameras are not required and explain fewer than about half of the correspondences, compare them
        // with a homography: the cameras may have different positions and show a flat scene.
        if options.model == ModelChoice::Rotation || found.cost < 0.5 * matches.len() as f64 {
            return Ok(Choice::Rotation(rotation));
        }
        let plane = plane(matches, sizes, &loss).ok_or_else(nothing)?;
        let plane = refit(plane, &all, most);
        return Ok(better(plane, rotation, matches, &sizes));
    }

    let plane = plane(matches, sizes, &loss).ok_or_else(nothing)?;
    let plane = refit(plane, &some(matches, FEW.max(matches.len() / 2)), most);
    let rotation = match options.model {
        ModelChoice::Homography => Err("a homography was requested".to_owned()),
        _ => rotation(&plane, matches, pictures, most),
    };
    let plane = (options.model != ModelChoice::Rotation).then_some(plane);
    Ok(match selected(plane, rotation, matches, &sizes)? {
        Choice::Rotation(Fitted { model, noise }) => {
            let agree = matches.iter().filter(|one| squared(&model, one) < CHI2 * noise * noise);
            let many = some(matches, MANY * matches.len() / agree.count().max(1));
            Choice::Rotation(refit(model, &many, most))
        }
        Choice::Planes(plane) => Choice::Planes(refit(plane.model, &all, most)),
    })
}

/// Returns the better of the fitted models. Rotating cameras can be absent for a reason, and homographies if they are
/// not allowed.
pub(super) fn selected(
    plane: Option<Fitted<Planes>>,
    rotation: Result<Fitted<RotatingCameras>, String>,
    matches: &[Match],
    sizes: &[UVec2],
) -> Result<Choice, Refusal> {
    match (plane, rotation) {
        (Some(plane), Ok(rotation)) => Ok(better(plane, rotation, matches, sizes)),
        (Some(plane), Err(_)) => Ok(Choice::Planes(plane)),
        (None, Ok(rotation)) => Ok(Choice::Rotation(rotation)),
        (None, Err(reason)) => Err(Refusal::NotTurning { reason }),
    }
}

/// Returns the better of two models of any number of pictures.
///
/// Rotating cameras are better if their information criterion is lower. For more than two pictures, they also are if
/// they explain nearly as many correspondences: homographies have more free parameters, so they also fit parallax and
/// lens errors, which say nothing about the rest of the picture. Two pictures have only one seam, where a homography
/// that fits the parallax is better. If the plane of the homographies stretches a picture strongly, the cameras turned
/// far, and a plane is the wrong surface even for a better fit.
fn better(
    plane: Fitted<Planes>,
    rotation: Fitted<RotatingCameras>,
    matches: &[Match],
    sizes: &[UVec2],
) -> Choice {
    let noise = tolerant(plane.noise.min(rotation.noise), sizes);
    if evidence(&rotation.model, matches, noise) < evidence(&plane.model, matches, noise) {
        return Choice::Rotation(rotation);
    }
    let cut = CHI2 * noise * noise;
    let many = |off: &dyn Fn(&Match) -> f64| matches.iter().filter(|s| off(s) < cut).count() as f64;
    let on_plane = many(&|one| squared(&plane.model, one));
    let rotated = many(&|one| squared(&rotation.model, one));
    let stretch = (0..sizes.len()).map(|i| stretch(plane.model.normed(i), sizes[i]));
    let cameras = if stretch.fold(0.0, f64::max) > STRAINED {
        rotated >= on_plane * NEARLY_IF_STRAINED
    } else {
        let alike = rotation.noise <= MOST_NOISE_RATIO * plane.noise;
        sizes.len() > 2 && alike && rotated >= on_plane * NEARLY
    };
    if cameras { Choice::Rotation(rotation) } else { Choice::Planes(plane) }
}

/// Finds the homography with the lowest robust cost.
fn plane(matches: &[Match], sizes: [UVec2; 2], loss: &Loss) -> Option<Planes> {
    let start = Planes::new(&sizes, 0, vec![DMat3::IDENTITY; 2]);
    let solve = |sample: &[Match; 4]| {
        let matrix = of_four(sample)?;
        Some(start.replaced(vec![DMat3::IDENTITY, matrix]))
    };
    search(matches, solve, loss).map(|found| found.model)
}

/// Returns cameras that look in the same direction. A camera without a known lens has the focal length `focal` in
/// pixels.
fn start(pictures: [&Photo; 2], focal: impl Fn(usize) -> f64) -> RotatingCameras {
    let camera = |i: usize| camera_of(pictures[i], focal(i));
    let known = pictures.iter().map(|picture| picture.lens.is_some()).collect();
    RotatingCameras::new(vec![camera(0), camera(1)], known, 0)
}

/// Returns a camera that looks straight ahead, with the picture's known lens, or else with the focal length `focal` in
/// pixels.
pub(super) fn camera_of(picture: &Photo, focal: f64) -> Camera {
    match &picture.lens {
        Some(known) => {
            lens_camera(DMat3::IDENTITY, picture.size, known.lens, &known.matrix, &known.distortion)
        }
        None => plain_camera(picture.size, focal),
    }
}

/// Returns rotating cameras that explain the inliers of a homography, or the reason as an error if there are none.
///
/// Tries focal lengths on a grid, and computes the best rotation for each. Unlike a closed-form solution from the
/// homography, this search needs no special cases.
fn rotation(
    plane: &Fitted<Planes>,
    matches: &[Match],
    pictures: [&Photo; 2],
    most: f64,
) -> Result<Fitted<RotatingCameras>, String> {
    /// The number of steps of the focal length grid, over the range of [`FOCALS`].
    const GRID: i32 = 16;
    let sizes = pictures.map(|picture| picture.size);
    let side = f64::from(sizes[0].max(sizes[1]).max_element());
    let cut = CHI2 * plane.noise * plane.noise;
    let agree: Vec<&Match> =
        matches.iter().filter(|one| squared(&plane.model, one) < cut).collect();
    // `few` may include wrong correspondences, which the robust fit tolerates.
    let few = some(matches, FEW * matches.len() / agree.len().max(1));
    let agree: Vec<&Match> = some(&agree, 96).into_iter().copied().collect();
    let (low, high) = (libm::log(*FOCALS.start()), libm::log(*FOCALS.end()));
    // `scale` is the scale of the left picture relative to the right one, which is about the ratio of their focal
    // lengths.
    let scales = agree.iter().filter_map(|s| Some(plane.model.local(0, 1, s.right)?.1));
    let mut scales: Vec<f64> = scales.map(|j| j.determinant().abs().sqrt()).collect();
    scales.sort_by(f64::total_cmp);
    let scale = scales.get(scales.len() / 2).copied().unwrap_or(1.0);
    let loss = Loss::new(4.0 * most);
    let mut best: Option<(f64, RotatingCameras)> = None;
    for step in 0..=GRID {
        let focal = side * libm::exp(low + (high - low) * f64::from(step) / f64::from(GRID));
        for ratio in [1.0, scale] {
            let start = start(pictures, |i| if i == 0 { focal } else { focal / ratio });
            let pairs = agree.iter().filter_map(|one| rays(start.cameras(), one));
            let Some(rotation) = rotation_between(pairs) else { continue };
            let model = start.turned(1, rotation.transpose());
            let cost: f64 = agree.iter().map(|one| loss.loss(squared(&model, one))).sum();
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, model));
            }
        }
    }
    let Some((_, start)) = best else {
        return Err("all agreeing correspondences lie in one direction".to_owned());
    };
    let focals = focals(pictures);
    let rough = refit(start.freed(focals[0], false), &few, most);
    most_plausible(&rough.model, focals, matches, &few, most)
}

/// Fits cameras to the matches `few`, once for each set of free lens parameters. `rough` has the result of a fit with
/// the fewest. Returns the plausible fit with the lowest information criterion, or the reason as an error if there is
/// none.
pub(super) fn most_plausible(
    rough: &RotatingCameras,
    focals: &[Focal],
    matches: &[Match],
    few: &[&Match],
    most: f64,
) -> Result<Fitted<RotatingCameras>, String> {
    let kinds: Vec<_> = focals.iter().flat_map(|&focal| [(focal, false), (focal, true)]).collect();
    let refitted = |(focal, radial)| refit(rough.freed(focal, radial), few, most);
    let fits: Vec<_> = kinds.into_par_iter().map(refitted).collect();
    let noise = fits.iter().fold(f64::INFINITY, |least, fitted| least.min(fitted.noise));
    let mut reason = "no focal length fits".to_owned();
    let mut best: Option<(f64, Fitted<RotatingCameras>)> = None;
    for fitted in fits {
        let cost = evidence(&fitted.model, matches, noise);
        if best.as_ref().is_some_and(|(least, _)| cost >= *least) {
            continue;
        }
        match plausible(&fitted, few) {
            Ok(()) => best = Some((cost, fitted)),
            Err(why) => reason = why,
        }
    }
    best.map(|(_, fitted)| fitted).ok_or(reason)
}

/// Returns the sets of free focal lengths to try, the smallest first. Pictures of one size may share a lens.
pub(super) fn focals<'p>(pictures: impl IntoIterator<Item = &'p Photo>) -> &'static [Focal] {
    let unknown = pictures.into_iter().filter(|picture| picture.lens.is_none());
    let sizes: Vec<_> = unknown.map(|picture| picture.size).collect();
    match sizes[..] {
        [] | [_] => &[Focal::Shared],
        [first, ..] if sizes.iter().all(|size| *size == first) => &[Focal::Shared, Focal::Each],
        _ => &[Focal::Each],
    }
}

/// Checks that the focal lengths are in range and certain, and that the distortion does not fold a picture. Returns the
/// reason as an error otherwise.
fn plausible(fitted: &Fitted<RotatingCameras>, matches: &[&Match]) -> Result<(), String> {
    let model = &fitted.model;
    for i in model.unknown() {
        let camera = &model.cameras()[i];
        let share = camera.focal.x / f64::from(camera.size.max_element());
        if !FOCALS.contains(&share) {
            return Err(format!(
                "the focal length would be {share:.2} times the larger side of the picture"
            ));
        }
        // A distortion polynomial that maps two rays to one pixel of the picture does not describe a real lens.
        if corners(camera.size).iter().any(|&corner| unproject(camera, corner).is_none()) {
            let k1 = camera.distortion[0];
            return Err(format!("the distortion would be {k1:.3}, which folds the picture"));
        }
    }
    let cut = CHI2 * fitted.noise * fitted.noise;
    let agree: Vec<&Match> = matches.iter().copied().filter(|s| squared(model, s) < cut).collect();
    let Some(covariance) = covariance(model, &agree) else {
        return Err("the correspondences do not determine the focal length".to_owned());
    };
    for n in model.focal_numbers() {
        let doubt = fitted.noise * covariance[(n, n)].sqrt();
        // The comparison is false for NaN, so that NaN is rejected.
        let sure = doubt < FOCAL_DOUBT;
        if !sure {
            return Err(format!("the focal length is uncertain by {:.0} %", 100.0 * doubt));
        }
    }
    Ok(())
}
