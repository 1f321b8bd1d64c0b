//! The judge: registers a panorama with the truth and scores it. It knows nothing about who made the panorama.

mod compare;
mod features;
mod fit;
mod ghost;
mod register;
mod tone;

use glam::DVec2;

use crate::case::Truth;
use crate::grid::{Mask, Picture};
pub(crate) use compare::psnr;
use compare::{colour_error, seam_gradient, ssim};
use ghost::BLOCK;
use register::{Landmark, REACH};
pub(crate) use register::{Registered, Registration, places, soft};
pub(crate) use tone::fit as fit_tone;

/// The scores of a panorama.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scores {
    /// The part of the truth that the panorama shows.
    pub(crate) coverage: f64,
    /// Peak signal-to-noise ratio in dB.
    pub(crate) psnr: f64,
    /// Structural similarity, up to 1.
    pub(crate) ssim: f64,
    /// The distance, in truth pixels, of a landmark from where the best projection puts it: its median.
    pub(crate) geometry: f64,
    /// The same distance after the smooth residual is removed: its 95th percentile. Landmarks that were not found count
    /// with the search radius. It rises with breaks at seams, doubled or missing parts.
    pub(crate) misalignment: f64,
    /// Seam gradient in levels per pixel, if the truth has smooth areas.
    pub(crate) seam: Option<f64>,
    /// The part of the textured blocks in the overlaps that show two things at once, if there are such blocks.
    pub(crate) ghosts: Option<f64>,
    /// Colour error in percent.
    pub(crate) colour: f64,
}

/// A judged panorama.
#[derive(Clone, Debug)]
pub(crate) struct Judged {
    pub(crate) scores: Scores,
    /// How the panorama was registered.
    pub(crate) registration: Registration,
}

/// Registers a panorama with the truth and scores it. `mask` has the pixels that the panorama shows. Returns `None` if
/// the panorama cannot be registered, that is, if it does not look like the truth.
pub(crate) fn judge(panorama: &Picture, mask: &Mask, truth: &Truth) -> Option<Judged> {
    let (registration, landmarks, drawn) = register::register(panorama, mask, truth)?;
    let seen = truth.seen.map(|count| count > 0);
    let shown = drawn.shown.and(&seen);
    let compared = shown.eroded(2);
    if compared.count() < 1000 {
        return None;
    }
    let toned = |truth: &Picture, mask: &Mask| {
        let tones = tone::fit(&drawn.picture, truth, mask);
        let mut picture = drawn.picture.map(|pixel| [0, 1, 2].map(|c| tones[c].apply(pixel[c])));
        for (pixel, shown) in picture.data.iter_mut().zip(&shown.data) {
            if !shown {
                *pixel = [0.0; 3];
            }
        }
        picture
    };
    // First without the objects, whose place is not known yet; then with them, because their colours may be unlike
    // those of the rest.
    let clear = compared.and(&truth.ambiguous.map(|ambiguous| !ambiguous));
    let best = best_views(&toned(&truth.picture, &clear), truth, &compared);
    let picture = toned(&best, &compared);
    let (here, there) = (picture.luma(), best.luma());
    let (geometry, misalignment) = distances(&registration, &landmarks);
    let scores = Scores {
        coverage: shown.count() as f64 / seen.count().max(1) as f64,
        psnr: psnr(&picture, &best, &compared),
        ssim: ssim(&here, &there, &compared),
        geometry,
        misalignment,
        seam: seam_gradient(&here, &there, &compared),
        ghosts: ghost::ghosts(&picture, truth, &compared),
        colour: colour_error(&picture, &best, &compared),
    };
    Some(Judged { scores, registration })
}

/// Returns the truth with, in each block that has objects, the view of the camera that the panorama resembles most.
fn best_views(panorama: &Picture, truth: &Truth, mask: &Mask) -> Picture {
    let mut best = truth.picture.clone();
    for top in (0..mask.height).step_by(BLOCK) {
        for left in (0..mask.width).step_by(BLOCK) {
            let pixels: Vec<usize> = (0..BLOCK * BLOCK)
                .map(|i| (left + i % BLOCK, top + i / BLOCK))
                .filter(|&(x, y)| x < mask.width && y < mask.height)
                .map(|(x, y)| y * mask.width + x)
                .filter(|&i| mask.data[i])
                .collect();
            if !pixels.iter().any(|&i| truth.ambiguous.data[i]) {
                continue;
            }
            let cost = |view: &&Picture| {
                let off = |&i: &usize| {
                    // Where the camera sees nothing, another camera must have been used.
                    let there = view.data[i];
                    let there = if there == [0.0; 3] { truth.picture.data[i] } else { there };
                    (0..3).map(|c| f64::from(panorama.data[i][c] - there[c]).powi(2)).sum::<f64>()
                };
                pixels.iter().map(off).sum::<f64>()
            };
            let view = truth.views.iter().min_by(|a, b| cost(a).total_cmp(&cost(b)));
            for &i in &pixels {
                match view.map(|view| view.data[i]) {
                    Some(colour) if colour != [0.0; 3] => best.data[i] = colour,
                    _ => {}
                }
            }
        }
    }
    best
}

/// Returns the median distance of the landmarks from the projection, and the 95th percentile of their distances from the
/// full registration, both in truth pixels.
fn distances(registration: &Registration, landmarks: &[Landmark]) -> (f64, f64) {
    let quantile = |mut values: Vec<f64>, part: f64| {
        values.sort_by(f64::total_cmp);
        let at = ((values.len().saturating_sub(1)) as f64 * part).round() as usize;
        values.get(at).copied().unwrap_or(0.0)
    };
    let from = |found: DVec2, expected: Option<DVec2>| {
        expected.map_or(REACH as f64, |p| p.distance(found) * registration.scale())
    };
    let found = || landmarks.iter().filter_map(|l| Some((l.truth, l.found?)));
    let projected = found().map(|(truth, found)| from(found, registration.projected(truth)));
    let smooth = landmarks.iter().map(|l| match l.found {
        Some(found) => from(found, registration.pixel(l.truth)).min(REACH as f64),
        None => REACH as f64,
    });
    (quantile(projected.collect(), 0.5), quantile(smooth.collect(), 0.95))
}
