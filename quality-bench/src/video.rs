//! Short sequences of the same rig: noise, exposures that drift, and moving objects. Scores how steady the panoramas
//! are.
//!
//! The first frame's panorama is registered; the others must show the same directions at the same pixels. Only pixels
//! that no object touches in any frame count.

use std::path::Path;

use glam::DVec2;

use crate::Result;
use crate::case::{Case, Truth};
use crate::classes::VIDEO;
use crate::grid::{self, Grid, Mask, Plane};
use crate::judge::{Registered, Registration, fit_tone, judge, places, psnr, soft};
use crate::stitchers::{Runs, VideoWay};

/// Number of frames of a sequence.
pub(crate) const FRAMES: usize = 20;
/// Time between frames. An object's speed is per unit of time.
const STEP: f64 = 0.25;
/// Side of the blocks whose means are compared over time, in truth pixels.
const BLOCK: usize = 16;

/// The scores of a sequence.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Steadiness {
    /// Mean PSNR of the frames at pixels that no object touches, in dB.
    pub(crate) psnr: f64,
    /// The change of brightness from frame to frame that differs from place to place, in percent: the root mean square,
    /// over blocks and frames, of the logarithm of the ratio of a block's means minus the frame's median of it.
    pub(crate) flicker: f64,
    /// The change of brightness of the whole panorama from frame to frame, in percent: the root mean square of the
    /// medians.
    pub(crate) drift: f64,
    /// The change of a landmark's place from frame to frame, in truth pixels: root mean square.
    pub(crate) motion: f64,
}

/// The result of a way to stitch a sequence.
#[derive(Clone, Debug)]
pub(crate) struct VideoEntry {
    seed: u64,
    way: &'static str,
    /// The scores, or the reason why there are none.
    scores: std::result::Result<Steadiness, String>,
}

impl VideoEntry {
    /// Returns the cells of a row in the report.
    pub(crate) fn cells(&self) -> Vec<String> {
        let mut cells = vec![self.seed.to_string(), self.way.to_owned()];
        match &self.scores {
            Ok(s) => {
                cells.extend([s.psnr, s.flicker, s.drift].map(|score| format!("{score:.2}")));
                cells.push(format!("{:.3}", s.motion));
            }
            Err(reason) => cells.push(reason.replace('|', "/")),
        }
        cells
    }
}

/// Returns the case at a frame: objects have moved, exposures have drifted, and the noise is new.
pub(crate) fn at_frame(case: &Case, frame: usize) -> Case {
    let mut now = case.clone();
    now.seed ^= (frame as u64 + 1) << 16;
    for (i, camera) in now.cameras.iter_mut().enumerate() {
        camera.time = frame as f64 * STEP;
        let phase = frame as f64 * 0.15 + 2.1 * i as f64;
        camera.gain *= (0.25 * phase.sin()).exp2();
    }
    now
}

/// Renders a sequence, stitches it in each way and scores the panoramas.
pub(crate) fn sequence(seed: u64, ways: &[VideoWay], runs: &Runs) -> Result<Vec<VideoEntry>> {
    let Some(case) = Case::new(&VIDEO, seed, 0.75, Path::new(""))? else { return Ok(Vec::new()) };
    let folder = crate::folder(&runs.out.join("videos").join(seed.to_string()))?;
    let frames: Vec<Case> = (0..FRAMES).map(|frame| at_frame(&case, frame)).collect();
    for (number, frame) in frames.iter().enumerate() {
        for i in 0..frame.cameras.len() {
            frame.photograph(i).save(&folder.join(format!("camera{i}_{number:02}.png")))?;
        }
    }
    let mut truth = frames[0].truth();
    truth.ambiguous = touched(&frames, &truth);
    let patterns: Vec<_> =
        (0..case.cameras.len()).map(|i| folder.join(format!("camera{i}_%02d.png"))).collect();
    let mut entries = Vec::new();
    for way in ways {
        let place = folder.join(way.name.replace(' ', "_"));
        let scores = match way.stitch(&patterns, FRAMES, &place, runs.limit)? {
            Ok(files) => steadiness(&files, &truth)?
                .ok_or("a panorama does not resemble the truth".to_owned()),
            Err(reason) => Err(reason),
        };
        println!("video-{seed} {}: {scores:?}", way.name);
        entries.push(VideoEntry { seed, way: way.name, scores });
    }
    Ok(entries)
}

/// Returns the pixels that an object touches in any frame.
fn touched(frames: &[Case], truth: &Truth) -> Mask {
    let (width, height) = (truth.picture.width, truth.picture.height);
    let moving = Grid::from_fn(width, height, |x, y| {
        let direction = truth.projection.direction(DVec2::new(x as f64, y as f64));
        let hit = |case: &Case| {
            let camera = &case.cameras[0];
            case.scene.light(camera.position, direction, camera.time).1
        };
        frames.iter().any(hit)
    });
    moving.dilated(3)
}

/// Scores the panoramas of a sequence. `None` if one of them cannot be registered.
pub(crate) fn steadiness(
    files: &[std::path::PathBuf],
    truth: &Truth,
) -> Result<Option<Steadiness>> {
    let still = truth.ambiguous.map(|touched| !touched);
    let (places, luma) = (places(truth), soft(&truth.picture));
    let mut sums = Steadiness::default();
    let mut registration: Option<(Registration, [usize; 2])> = None;
    let mut before: Option<(Plane, Mask, Vec<Option<DVec2>>)> = None;
    let (mut moves, mut steps) = ((0.0, 0usize), 0usize);
    for file in files {
        let (panorama, mask) = grid::open(file)?;
        let size = [panorama.width, panorama.height];
        if registration.as_ref().is_none_or(|(_, other)| *other != size) {
            let Some(judged) = judge(&panorama, &mask, truth) else { return Ok(None) };
            registration = Some((judged.registration, size));
        }
        let Some((registration, _)) = &registration else { return Ok(None) };
        let drawn = registration.draw(&panorama, &mask, truth);
        let shown = drawn.shown.eroded(2).and(&still).and(&truth.seen.map(|count| count > 0));
        sums.psnr += quality(&drawn, truth, &shown) / files.len() as f64;
        let landmarks = registration.landmarks(&places, &luma, &drawn);
        let found = |place: &[usize; 2]| {
            let truth = DVec2::new(place[0] as f64, place[1] as f64);
            landmarks.iter().find(|landmark| landmark.truth == truth)?.found
        };
        let found: Vec<Option<DVec2>> = places.iter().map(found).collect();
        let brightness = drawn.picture.luma();
        if let Some((last, last_shown, last_found)) = &before {
            let (median, spread) = change(last, &brightness, &last_shown.and(&shown));
            sums.drift += median * median;
            sums.flicker += spread * spread;
            steps += 1;
            for (a, b) in found.iter().zip(last_found).filter_map(|(a, b)| a.zip(*b)) {
                moves = (moves.0 + (a.distance(b) * registration.scale()).powi(2), moves.1 + 1);
            }
        }
        before = Some((brightness, shown, found));
    }
    let root = |sum: f64, count: usize| (sum / count.max(1) as f64).sqrt();
    sums.drift = root(sums.drift, steps);
    sums.flicker = root(sums.flicker, steps);
    sums.motion = root(moves.0, moves.1);
    Ok(Some(sums))
}

/// Returns the PSNR of a frame after its tone is fitted.
fn quality(drawn: &Registered, truth: &Truth, shown: &Mask) -> f64 {
    let tones = fit_tone(&drawn.picture, &truth.picture, shown);
    let picture = drawn.picture.map(|pixel| [0, 1, 2].map(|c| tones[c].apply(pixel[c])));
    psnr(&picture, &truth.picture, shown)
}

/// Returns the median over blocks of the logarithm of the ratio of their means in two frames, and the root mean square
/// deviation from it, both in percent.
fn change(last: &Plane, now: &Plane, shown: &Mask) -> (f64, f64) {
    let mut ratios = Vec::new();
    for top in (0..shown.height.saturating_sub(BLOCK)).step_by(BLOCK) {
        for left in (0..shown.width.saturating_sub(BLOCK)).step_by(BLOCK) {
            let pixels =
                || (0..BLOCK * BLOCK).map(|i| (top + i / BLOCK) * shown.width + left + i % BLOCK);
            if pixels().all(|i| shown.data[i]) {
                let mean = |plane: &Plane| {
                    pixels().map(|i| f64::from(plane.data[i])).sum::<f64>() / (BLOCK * BLOCK) as f64
                };
                ratios.push(100.0 * ((mean(now) + 4.0) / (mean(last) + 4.0)).ln());
            }
        }
    }
    ratios.sort_by(f64::total_cmp);
    let median = ratios.get(ratios.len() / 2).copied().unwrap_or(0.0);
    let off = ratios.iter().map(|ratio| (ratio - median).powi(2)).sum::<f64>();
    (median, (off / ratios.len().max(1) as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planted_flicker_drift_and_motion_are_measured() {
        let case = Case::new(&VIDEO, 1, 0.5, Path::new("")).expect("no file").expect("a case");
        let mut truth = at_frame(&case, 0).truth();
        let frames: Vec<Case> = (0..4).map(|frame| at_frame(&case, frame)).collect();
        truth.ambiguous = touched(&frames, &truth);
        let folder = tempfile::tempdir().expect("a folder");
        let width = truth.picture.width;
        // Every second frame is 1 % brighter, 3 % brighter in its right quarter, and 1 px lower.
        let files: Vec<_> = (0..4)
            .map(|i| {
                let file = folder.path().join(format!("{i}.png"));
                let odd = i % 2 == 1;
                let picture = Grid::from_fn(width, truth.picture.height, |x, y| {
                    let from = truth.picture.at(x as isize, y as isize - isize::from(odd));
                    let right = if x > width * 3 / 4 { 1.02 } else { 1.0 };
                    from.map(|v| if odd { v * 1.01 * right } else { v })
                });
                picture.save(&file).expect("saved");
                file
            })
            .collect();
        let found = steadiness(&files, &truth).expect("read").expect("registered");
        assert!((found.motion - 1.0).abs() < 0.1, "{found:?}");
        assert!((0.8..3.2).contains(&found.drift), "{found:?}");
        assert!((0.9..2.5).contains(&found.flicker), "{found:?}");
        let same = vec![files[0].clone(); 3];
        let still = steadiness(&same, &truth).expect("read").expect("registered");
        assert!(still.motion < 1e-6 && still.drift < 1e-6 && still.flicker < 1e-6, "{still:?}");
    }
}
