//! Counts how often the calibration accepts two pictures without a common view, and how often it loses two with one.
//!
//! Pictures without a common view are photographs of different scenes of the outside data, and made-up pictures of
//! places of one background that are 72° apart. Pairs with a common view are the pairs of the outside data whose map
//! others published, and neighbours of made-up rigs. A pair is lost if it is refused, or if its map is off by more than
//! [`MOST_OFF`] on average.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use glam::{DMat3, DVec2};
use panoweave::device::{Device, Stream};
use panoweave::frame::Rgba8;
use panoweave::geometry::calibrate::{
    CalibrateOptions, Calibration, Photo, PhotoPair, Refusal, calibrate,
};
use panoweave::io::picture::Picture as File;
use panoweave::ops::matching::{Described, Describer, pairs, recalibrate};

use crate::case::Case;
use crate::classes::{CLASSES, REPEATED};
use crate::grid::{self, Picture};
use crate::{Result, folder};

/// The larger side of the pictures in pixels.
const SIDE: f64 = 640.0;

/// Mean error of a map above which a pair is lost, as a fraction of the picture's width.
const MOST_OFF: f64 = 0.01;

/// The number of places of a background, evenly spaced around the horizon.
const PLACES: u32 = 5;

/// A map from a pixel of the right picture to the pixel of the left picture.
type Truth = Box<dyn Fn(DVec2) -> Option<DVec2>>;

/// A picture, and its keypoints.
struct Shot {
    name: String,
    picture: File,
    described: Described,
}

/// The counts of the pairs of one kind.
#[derive(Default)]
struct Tally {
    pairs: u32,
    /// The accepted pairs without a common view, or the lost pairs with one.
    wrong: u32,
    time: Duration,
}

/// Measures all pairs, and returns a table of the results.
pub(crate) fn measure(out: &Path, data: &Path) -> Result<String> {
    let device = Device::cpu();
    let stream = device.stream().map_err(|error| error.to_string())?;
    let mut bench = Bench { stream, folder: folder(&out.join("pairs"))?, tallies: BTreeMap::new() };
    bench.apart(data)?;
    bench.overlapping(data)?;
    let line = |((common, kind), Tally { pairs, wrong, time }): (&(bool, String), &Tally)| {
        let each = time.as_secs_f64() * 1e3 / f64::from((*pairs).max(1));
        let view = if *common { "lost" } else { "accepted" };
        format!("| {kind} | {pairs} | {wrong} {view} | {each:.0} ms |\n")
    };
    Ok(bench.tallies.iter().map(line).collect())
}

struct Bench {
    stream: Stream,
    /// The folder of the made-up pictures, which are rendered once.
    folder: PathBuf,
    /// The counts by whether there is a common view, and the kind.
    tallies: BTreeMap<(bool, String), Tally>,
}

impl Bench {
    /// Judges pairs without a common view.
    fn apart(&mut self, data: &Path) -> Result<()> {
        let scenes = scenes(data);
        if scenes.is_empty() {
            println!("{} is missing: no photographs", data.display());
        }
        let mut photos = Vec::new();
        for (scene, file) in &scenes {
            photos.push((scene, self.shot(file)?));
        }
        for (i, (scene, right)) in photos.iter().enumerate() {
            for (_, left) in photos[..i].iter().filter(|(other, _)| other != scene) {
                self.judge("photographs", left, right, None)?;
            }
        }
        for seed in 0..REPEATED.seeds {
            let mut case = Case::new(&REPEATED, seed, 1.0, data)?.ok_or("a background")?;
            let first = case.cameras[0].clone();
            let place = |i| std::f64::consts::TAU * f64::from(i) / f64::from(PLACES);
            let turned = |i| DMat3::from_rotation_y(place(i)) * first.turn;
            let camera = |i| crate::rig::Camera { turn: turned(i), ..first.clone() };
            case.cameras = (0..PLACES).map(camera).collect();
            let shots = self.shots(&case, "places")?;
            for right in 1..shots.len() {
                for left in 0..right {
                    self.judge(&kind(seed), &shots[left], &shots[right], None)?;
                }
            }
        }
        Ok(())
    }

    /// Judges pairs with a common view.
    fn overlapping(&mut self, data: &Path) -> Result<()> {
        for (left, right, matrix) in published(data) {
            let (sizes, shots) =
                ([self.size(&left)?, self.size(&right)?], [self.shot(&left)?, self.shot(&right)?]);
            let scale = |i: usize| shots[i].picture.size().as_dvec2() / sizes[i];
            let (to, from) = (scale(0), scale(1));
            let truth = move |at: DVec2| {
                let point = matrix * ((at + 0.5) / from - 0.5).extend(1.0);
                (point.z > 0.0).then(|| (point.truncate() / point.z + 0.5) * to - 0.5)
            };
            self.judge("photographs", &shots[0], &shots[1], Some(Box::new(truth)))?;
        }
        for class in CLASSES.iter().chain([&REPEATED]) {
            for seed in 0..class.seeds {
                let Some(case) = Case::new(class, seed, 1.0, data)? else { continue };
                let shots = self.shots(&case, "rig")?;
                let name =
                    if class.name == REPEATED.name { kind(seed) } else { class.name.to_owned() };
                for i in 1..shots.len() {
                    let [left, right] = [i - 1, i].map(|i| case.cameras[i].clone());
                    let truth = move |at| left.pixel(right.direction(at));
                    self.judge(&name, &shots[i - 1], &shots[i], Some(Box::new(truth)))?;
                }
            }
        }
        Ok(())
    }

    /// Returns the pictures of a case's cameras.
    fn shots(&self, case: &Case, what: &str) -> Result<Vec<Shot>> {
        let shot = |i| {
            let file = self.folder.join(format!("{}_{}_{what}_{i}.png", case.class, case.seed));
            if !file.exists() {
                case.photograph(i).save(&file)?;
            }
            self.shot(&file)
        };
        (0..case.cameras.len()).map(shot).collect()
    }

    fn size(&self, file: &Path) -> Result<DVec2> {
        File::open(file).map(|picture| picture.size().as_dvec2()).map_err(|error| error.to_string())
    }

    /// Reads a picture, scales it to [`SIDE`] if it is larger, and describes it.
    fn shot(&self, file: &Path) -> Result<Shot> {
        let (picture, _) = grid::open(file)?;
        let picture = reduced(&picture);
        let pixel = |colour: &grid::Rgb| {
            let [r, g, b] = colour.map(|v| v.round().clamp(0.0, 255.0) as u8);
            Rgba8::opaque(r, g, b)
        };
        let pixels = picture.data.iter().map(pixel).collect();
        let picture = File::from_pixels(picture.width as u32, picture.height as u32, pixels)
            .ok_or("pixels")?;
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let describe = || {
            let image = picture.upload(&self.stream)?;
            Describer::new(&self.stream, picture.size())?.describe(&self.stream, image.view())
        };
        let described = describe().map_err(|error| error.to_string())?;
        Ok(Shot { name, picture, described })
    }

    /// Calibrates a pair, and counts it. `truth` is the map from right to left if the pictures have a common view.
    fn judge(&mut self, kind: &str, left: &Shot, right: &Shot, truth: Option<Truth>) -> Result<()> {
        let begin = Instant::now();
        let correspondences = pairs(&self.stream, &left.described, &right.described)
            .map_err(|error| error.to_string())?;
        let probe = correspondences.clone();
        let found = calibrated([left, right], correspondences);
        let time = begin.elapsed();
        let (outcome, is_wrong) = match (&found, &truth) {
            (Ok(found), None) => (told(found, [left, right], &probe), true),
            (Ok(found), Some(truth)) => {
                let off = off(found, truth);
                (
                    format!("off by {off:.2} px, {}", told(found, [left, right], &probe)),
                    off > MOST_OFF * f64::from(left.picture.width()),
                )
            }
            (Err(refusal), truth) => (refusal.to_string(), truth.is_some()),
        };
        let view = if truth.is_some() { "common" } else { "apart" };
        let mark = if is_wrong { "WRONG" } else { "right" };
        println!("{mark} {view} {kind} {} {}: {outcome}", left.name, right.name);
        let tally = self.tallies.entry((truth.is_some(), kind.to_owned())).or_default();
        tally.pairs += 1;
        tally.wrong += u32::from(is_wrong);
        tally.time += time;
        Ok(())
    }
}

fn calibrated(
    shots: [&Shot; 2],
    correspondences: Vec<panoweave::geometry::calibrate::Correspondence>,
) -> std::result::Result<Calibration, Refusal> {
    let photos = shots.map(|shot| Photo::new(&shot.name, shot.picture.size()));
    let pictures = shots.map(|shot| shot.picture.clone());
    let options = CalibrateOptions::default();
    let links = vec![PhotoPair { left: 0, right: 1, correspondences }];
    let found = calibrate(&photos, &links, &options)?;
    Ok(recalibrate(&pictures, &photos, links, found, &options).0)
}

fn told(
    found: &Calibration,
    shots: [&Shot; 2],
    all: &[panoweave::geometry::calibrate::Correspondence],
) -> String {
    let inside = |at: Option<DVec2>, i: usize| {
        let size = shots[i].picture.size().as_dvec2() - 1.0;
        at.is_some_and(|at| at.cmpge(DVec2::ZERO).all() && at.cmple(size).all())
    };
    let within = all
        .iter()
        .filter(|c| {
            inside(found.views.map(0, 1, c.right), 0) && inside(found.views.map(1, 0, c.left), 1)
        })
        .count();
    let luma = shots.map(|shot| {
        let (w, h) = (shot.picture.width() as usize, shot.picture.height() as usize);
        let data = shot
            .picture
            .pixels()
            .iter()
            .map(|p| 0.299 * f32::from(p.r) + 0.587 * f32::from(p.g) + 0.114 * f32::from(p.b))
            .collect();
        grid::Plane { width: w, height: h, data }
    });
    let mut nccs = Vec::new();
    let step = luma[0].width.max(luma[0].height) / 32;
    for y in (step / 2..luma[0].height).step_by(step) {
        for x in (step / 2..luma[0].width).step_by(step) {
            let mut best = -1.0f64;
            let mut flat = true;
            for dy in -1..=1 {
                for dx in -1..=1 {
                    let mut s = [0.0f64; 6];
                    let mut ok = true;
                    for j in -8..=8i32 {
                        for i in -8..=8i32 {
                            let at = DVec2::new(x as f64 + f64::from(i), y as f64 + f64::from(j));
                            let Some(to) = found.views.map(
                                1,
                                0,
                                at + DVec2::new(f64::from(dx), f64::from(dy)),
                            ) else {
                                ok = false;
                                continue;
                            };
                            if !luma[0].contains(at, 1.0) || !luma[1].contains(to, 1.0) {
                                ok = false;
                                continue;
                            }
                            let (a, b) =
                                (f64::from(luma[0].sample(at)), f64::from(luma[1].sample(to)));
                            for (s, v) in s.iter_mut().zip([1.0, a, b, a * a, b * b, a * b]) {
                                *s += v;
                            }
                        }
                    }
                    if !ok {
                        continue;
                    }
                    let n = s[0];
                    let (va, vb) = (s[3] / n - (s[1] / n).powi(2), s[4] / n - (s[2] / n).powi(2));
                    if va < 9.0 && vb < 9.0 {
                        continue;
                    }
                    flat = false;
                    let c = s[5] / n - s[1] * s[2] / n / n;
                    best = best.max(c / (va * vb).sqrt().max(1e-3));
                }
            }
            if !flat {
                nccs.push(best);
            }
        }
    }
    nccs.sort_by(f64::total_cmp);
    let q = |f: f64| nccs.get((nccs.len() as f64 * f) as usize).copied().unwrap_or(f64::NAN);
    let extra = format!(
        "within {within}, share {:.3}, patches {} ncc {:.2} {:.2} {:.2}",
        found.pairs[0].inliers.len() as f64 / within as f64,
        nccs.len(),
        q(0.25),
        q(0.5),
        q(0.75)
    );
    let q = found.quality();
    format!(
        "{extra} {} {} {} of {}, RMS {:.2} px, overlap {:.2}, coverage {:.2}, seam {:.1} px",
        found.verdict(),
        q.model.as_str(),
        q.inliers,
        q.matches,
        q.rms_px,
        q.overlap,
        q.coverage,
        q.seam_error_px
    )
}

/// Returns the mean distance in pixels of a calibration from the truth, over the overlap.
fn off(found: &Calibration, truth: &Truth) -> f64 {
    let [left, right] = [0, 1].map(|i| found.pictures[i].size.as_dvec2());
    let (mut sum, mut many) = (0.0, 0.0);
    for i in 0..40 * 40 {
        let at = DVec2::new(f64::from(i % 40), f64::from(i / 40)) / 39.0 * (right - 1.0);
        let Some(expected) = truth(at) else { continue };
        if expected.cmpge(DVec2::ZERO).all() && expected.cmple(left - 1.0).all() {
            sum += found.views.map(0, 1, at).map_or(left.x, |at| at.distance(expected));
            many += 1.0;
        }
    }
    sum / f64::max(many, 1.0)
}

fn kind(seed: u64) -> String {
    format!("{:?}", REPEATED.backgrounds[seed as usize % REPEATED.backgrounds.len()])
}

/// Scales a picture to a larger side of [`SIDE`] if it is larger.
fn reduced(picture: &Picture) -> Picture {
    let factor = picture.width.max(picture.height) as f64 / SIDE;
    if factor <= 1.0 {
        return picture.clone();
    }
    let blurred =
        [0, 1, 2].map(|c| picture.channel(c).blurred(0.5 * (factor * factor - 1.0).sqrt()));
    let [width, height] =
        [picture.width, picture.height].map(|side| (side as f64 / factor).round() as usize);
    let scale =
        DVec2::new(picture.width as f64 / width as f64, picture.height as f64 / height as f64);
    Picture::from_fn(width, height, |x, y| {
        let at = (DVec2::new(x as f64, y as f64) + 0.5) * scale - 0.5;
        [0, 1, 2].map(|c| blurred[c].sample(at))
    })
}

/// Returns the photographs of the outside data, each with the folder of its scene.
fn scenes(data: &Path) -> Vec<(PathBuf, PathBuf)> {
    let list = |folder: PathBuf| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut all: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        all.sort();
        all
    };
    let folders = ["scenes", "homography", "homography/magsac", "photos", "rigs"];
    let folders = folders.into_iter().flat_map(|folder| list(data.join(folder)));
    let mut all = Vec::new();
    for scene in folders.filter(|folder| folder.is_dir()) {
        for file in list(scene.clone()) {
            let name = file.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
            // Rigs keep the scene's name in front of an underscore.
            let own = if scene.ends_with("bumblebee2_scenes") {
                scene.join(name.split('_').next().unwrap_or_default())
            } else {
                scene.clone()
            };
            if name.ends_with(".png") || name.ends_with(".jpg") {
                all.push((own, file));
            }
        }
    }
    all
}

/// Returns the pairs of the outside data, left then right, with the published homography from right to left pixels.
fn published(data: &Path) -> Vec<(PathBuf, PathBuf, DMat3)> {
    let matrix = |text: &str| -> Option<DMat3> {
        let numbers: Vec<f64> =
            text.split_whitespace().map_while(|word| word.parse().ok()).collect();
        Some(DMat3::from_cols_array(&numbers.try_into().ok()?).transpose())
    };
    let text = |file: &str| fs::read_to_string(data.join(file)).unwrap_or_default();
    let scene = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let file = |i: usize| Some(data.join("scenes").join(fields.first()?).join(fields.get(i)?));
        Some((file(1)?, file(2)?, matrix(fields.last()?)?))
    };
    let plane = |(name, end): (&str, &str)| {
        let file = |rest: &str| data.join(format!("homography/magsac/{name}/{name}{rest}"));
        let model = fs::read_to_string(file("_model.txt")).ok()?;
        Some((file(&format!("A.{end}")), file(&format!("B.{end}")), matrix(&model)?))
    };
    let planes = [("Brussels", "jpg"), ("WhiteBoard", "jpg"), ("adam", "png"), ("city", "png")];
    let graf = matrix(&text("homography/graf/H1to3p")).map(|matrix| {
        let file = |name: &str| data.join("homography/graf").join(name);
        (file("img1.png"), file("img3.png"), matrix.inverse())
    });
    let scenes = text("stitch_ref/pairs.csv");
    scenes
        .lines()
        .skip(1)
        .filter_map(scene)
        .chain(planes.into_iter().filter_map(plane))
        .chain(graf)
        .collect()
}
