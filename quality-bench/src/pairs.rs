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
use panoweave::geometry::calibrate::{
    CalibrateOptions, Calibration, Correspondence, Photo, PhotoPair, Refusal, calibrate,
};
use panoweave::io::picture::Picture as File;
use panoweave::ops::matching::{Described, Describer, pairs, recalibrate};

use crate::case::Case;
use crate::classes::{CLASSES, REPEATED};
use crate::grid::{self, Picture};
use crate::rig::Camera;
use crate::{Result, folder};

/// The larger side of the pictures in pixels.
const SIDE: f64 = 640.0;

/// Mean error of a map above which a pair is lost, as a fraction of the picture's width.
const MOST_OFF: f64 = 0.01;

/// The number of places of a background, evenly spaced around the horizon.
const PLACES: u32 = 5;

/// The number of the 40×40 positions in a picture of which a neighbour must show more: 8 %.
const LEAST_SEEN: usize = 128;

/// Whether the pictures of a pair have a common view.
const APART: &str = "apart";
const COMMON: &str = "common";

/// A map from a pixel of the right picture to the pixel of the left picture.
type Truth<'t> = dyn Fn(DVec2) -> Option<DVec2> + 't;

/// A picture, and its keypoints.
struct Shot {
    name: String,
    picture: File,
    /// The size relative to that of the file.
    scale: DVec2,
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

/// Measures all pairs, of `seeds` seeds per made-up class, and returns a table of the results.
pub(crate) fn measure(out: &Path, data: &Path, seeds: Option<u64>) -> Result<String> {
    let stream = Device::cpu().stream().map_err(|error| error.to_string())?;
    let tallies = BTreeMap::new();
    let mut bench = Bench { stream, folder: folder(&out.join("pairs"))?, seeds, tallies };
    bench.apart(data)?;
    bench.overlapping(data)?;
    let line = |(view, kind): &(&str, String), Tally { pairs, wrong, time }: &Tally| {
        let each = time.as_secs_f64() * 1e3 / f64::from(*pairs);
        format!("| {view} | {kind} | {pairs} | {wrong} | {each:.0} |\n")
    };
    let mut table =
        "| common view | kind | pairs | wrong | ms per pair |\n|---|---|--:|--:|--:|\n".to_owned();
    for view in [APART, COMMON] {
        let mut sum = Tally::default();
        for (key, tally) in bench.tallies.iter().filter(|((own, _), _)| *own == view) {
            table += &line(key, tally);
            sum.pairs += tally.pairs;
            sum.wrong += tally.wrong;
            sum.time += tally.time;
        }
        table += &line(&(view, "all".to_owned()), &sum);
    }
    Ok(table)
}

struct Bench {
    stream: Stream,
    /// The folder of the made-up pictures, which are rendered once.
    folder: PathBuf,
    /// The number of seeds per class, if it is not that of the class.
    seeds: Option<u64>,
    /// The counts by whether there is a common view, and the kind.
    tallies: BTreeMap<(&'static str, String), Tally>,
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
        for seed in 0..self.seeds.unwrap_or(REPEATED.seeds) {
            let mut case = Case::new(&REPEATED, seed, 1.0, data)?.ok_or("a background")?;
            let first = case.cameras[0].clone();
            let place = |i| std::f64::consts::TAU * f64::from(i) / f64::from(PLACES);
            let turned = |i| DMat3::from_rotation_y(place(i)) * first.turn;
            let camera = |i| Camera { turn: turned(i), ..first.clone() };
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
            let (left, right) = (self.shot(&left)?, self.shot(&right)?);
            let truth = |at: DVec2| {
                let point = matrix * ((at + 0.5) / right.scale - 0.5).extend(1.0);
                (point.z > 0.0).then(|| (point.truncate() / point.z + 0.5) * left.scale - 0.5)
            };
            self.judge("photographs", &left, &right, Some(&truth))?;
        }
        for class in [&REPEATED].into_iter().chain(&CLASSES) {
            for seed in 0..self.seeds.unwrap_or(class.seeds) {
                let Some(case) = Case::new(class, seed, 1.0, data)? else { continue };
                let shots = self.shots(&case, "rig")?;
                let name =
                    if class.name == REPEATED.name { kind(seed) } else { class.name.to_owned() };
                for i in 1..shots.len() {
                    let [left, right] = [i - 1, i].map(|i| case.cameras[i].clone());
                    let truth = |at| left.pixel(right.direction(at));
                    let seen =
                        places(2.0 * right.centre()).filter(|&at| truth(at).is_some()).count();
                    // The last camera of a row is no neighbour of the first one of the next row.
                    if seen > LEAST_SEEN {
                        self.judge(&name, &shots[i - 1], &shots[i], Some(&truth))?;
                    }
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

    /// Reads a picture, scales it to [`SIDE`] if it is larger, and describes it.
    fn shot(&self, file: &Path) -> Result<Shot> {
        let (whole, _) = grid::open(file)?;
        let picture = reduced(&whole).rounded()?;
        let scale = picture.size().as_dvec2() / DVec2::new(whole.width as f64, whole.height as f64);
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let describe = || {
            let image = picture.upload(&self.stream)?;
            Describer::new(&self.stream, picture.size())?.describe(&self.stream, image.view())
        };
        let described = describe().map_err(|error| error.to_string())?;
        Ok(Shot { name, picture, scale, described })
    }

    /// Calibrates a pair, and counts it. `truth` is the map from right to left if the pictures have a common view.
    fn judge(
        &mut self,
        kind: &str,
        left: &Shot,
        right: &Shot,
        truth: Option<&Truth>,
    ) -> Result<()> {
        let begin = Instant::now();
        let correspondences = pairs(&self.stream, &left.described, &right.described)
            .map_err(|error| error.to_string())?;
        let found = calibrated([left, right], correspondences);
        let time = begin.elapsed();
        let view = if truth.is_some() { COMMON } else { APART };
        let (outcome, is_wrong) = match (&found, truth) {
            (Ok(found), None) => (told(found), true),
            (Ok(found), Some(truth)) => {
                let off = off(found, truth);
                let most = MOST_OFF * f64::from(left.picture.width());
                (format!("off by {off:.2} px, {}", told(found)), off > most)
            }
            (Err(refusal), truth) => (refusal.to_string(), truth.is_some()),
        };
        let mark = if is_wrong { "WRONG" } else { "right" };
        println!("{mark} {view} {kind} {} {}: {outcome}", left.name, right.name);
        let tally = self.tallies.entry((view, kind.to_owned())).or_default();
        tally.pairs += 1;
        tally.wrong += u32::from(is_wrong);
        tally.time += time;
        Ok(())
    }
}

fn calibrated(
    shots: [&Shot; 2],
    correspondences: Vec<Correspondence>,
) -> std::result::Result<Calibration, Refusal> {
    let photos = shots.map(|shot| Photo::new(&shot.name, shot.picture.size()));
    let pictures = shots.map(|shot| shot.picture.clone());
    let options = CalibrateOptions::default();
    let links = vec![PhotoPair { left: 0, right: 1, correspondences }];
    let found = calibrate(&photos, &links, &options)?;
    Ok(recalibrate(&[&pictures[..]], &photos, &[links], found, &options).0)
}

fn told(found: &Calibration) -> String {
    let q = found.quality();
    let share = q.inliers as f64 / found.pairs[0].in_overlap.max(1) as f64;
    format!(
        "{}, {}, {} of {} agree, {share:.3} of those in the overlap, RMS {:.2} px, overlap {:.2}, coverage {:.2}, seam {:.1} px",
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
fn off(found: &Calibration, truth: &Truth<'_>) -> f64 {
    let [left, right] = [0, 1].map(|i| found.pictures[i].size.as_dvec2() - 1.0);
    let off = |at| {
        let expected = truth(at)?;
        let inside = expected.cmpge(DVec2::ZERO).all() && expected.cmple(left).all();
        inside.then(|| found.views.map(0, 1, at).map_or(left.x, |at| at.distance(expected)))
    };
    let all: Vec<f64> = places(right).filter_map(off).collect();
    all.iter().sum::<f64>() / all.len().max(1) as f64
}

/// Returns 40×40 positions in a picture whose last pixel is at `last`.
fn places(last: DVec2) -> impl Iterator<Item = DVec2> {
    (0..40 * 40).map(move |i| DVec2::new(f64::from(i % 40), f64::from(i / 40)) / 39.0 * last)
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
