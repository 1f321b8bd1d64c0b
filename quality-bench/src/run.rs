//! Runs cases: renders the pictures, stitches them with each stitcher, judges, and keeps the results.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::case::{Case, Truth};
use crate::error::{Error, Result};
use crate::grid::{self, Mask, Picture};
use crate::judge::{Judged, Scores, judge};
use crate::stitchers::{self, Outcome, Photos, Stitcher, Times};

/// The result of a stitcher on a case.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Entry {
    /// The class, or the folder's name.
    pub class: String,
    /// The seed.
    pub seed: u64,
    /// The stitcher.
    pub stitcher: String,
    /// The scores. `None` if the stitch failed, or the panorama could not be registered with the truth.
    pub scores: Option<Scores>,
    /// The reason why there are no scores.
    pub failure: Option<String>,
    /// Seconds on the clock.
    pub wall: f64,
    /// Seconds of all cores.
    pub cpu: Option<f64>,
}

/// The least coverage of a complete panorama.
pub const COMPLETE: f64 = 0.9;

impl Entry {
    /// Returns whether there is a panorama that shows nearly all that the cameras saw. A stitcher may leave out a
    /// camera or put it at a wrong place.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.scores.as_ref().is_some_and(|scores| scores.coverage >= COMPLETE)
    }
}

/// Settings of a run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The folder for pictures, panoramas and reports.
    pub out: PathBuf,
    /// The time limit of a stitch.
    pub limit: Duration,
    /// Results of an earlier run in the same folder. Their panoramas are judged again instead of stitched again.
    pub earlier: Vec<Entry>,
}

/// Runs all stitchers on a case.
pub fn case(case: &Case, programs: &[Stitcher], settings: &Settings) -> Result<Vec<Entry>> {
    let name = format!("{}-{}", case.class, case.seed);
    let folder = folder(&settings.out.join("cases").join(&name))?;
    let mut files = Vec::new();
    for i in 0..case.cameras.len() {
        let file = folder.join(format!("camera_{i}.png"));
        case.photograph(i).save(&file)?;
        files.push(file);
    }
    let photos = Photos { files, view: Some(case.cameras[0].view()) };
    let truth = case.truth();
    thumbnail(&truth.picture, &folder.join("truth.jpg"))?;
    let mut entries = Vec::new();
    for stitcher in programs {
        let id = (case.class, case.seed);
        let (mut entry, panorama) = made(stitcher, &photos, &folder, settings, id)?;
        if let Some((panorama, mask)) = panorama {
            match judge(&panorama, &mask, &truth) {
                Some(judged) => {
                    entry.scores = Some(judged.scores.clone());
                    let file = |end: &str| folder.join(format!("{}{end}.jpg", stitcher.name));
                    thumbnail(&judged.picture, &file(""))?;
                    thumbnail(&difference(&judged), &file("_difference"))?;
                }
                None => entry.failure = Some("the panorama does not resemble the truth".to_owned()),
            }
        }
        entries.push(entry);
    }
    Ok(entries)
}

/// Runs a stitcher, unless there is an earlier result. Returns an entry without scores, and the panorama with the
/// pixels that it shows.
fn made(
    stitcher: &Stitcher,
    photos: &Photos,
    folder: &Path,
    settings: &Settings,
    (class, seed): (&str, u64),
) -> Result<(Entry, Option<(Picture, Mask)>)> {
    let place = folder.join(stitcher.name);
    let is_earlier = |e: &&Entry| (&*e.class, e.seed, &*e.stitcher) == (class, seed, stitcher.name);
    let outcome = match settings.earlier.iter().find(is_earlier) {
        Some(Entry { wall, cpu, failure, .. }) => {
            let reason = || failure.clone().unwrap_or_else(|| "the panorama is gone".to_owned());
            let panorama = stitchers::panorama(&place).ok_or_else(reason);
            Outcome { panorama, times: Times { wall: *wall, cpu: *cpu } }
        }
        None => stitcher.stitch(photos, &place, settings.limit)?,
    };
    let entry = Entry {
        class: class.to_owned(),
        seed,
        stitcher: stitcher.name.to_owned(),
        scores: None,
        failure: outcome.panorama.as_ref().err().cloned(),
        wall: outcome.times.wall,
        cpu: outcome.times.cpu,
    };
    let panorama = outcome.panorama.ok().map(|file| grid::open(&file)).transpose()?;
    Ok((entry, panorama))
}

/// Creates a folder.
pub fn folder(path: &Path) -> Result<PathBuf> {
    fs::create_dir_all(path).map_err(|source| Error::file(path, source))?;
    path.canonicalize().map_err(|source| Error::file(path, source))
}

/// Returns four times the difference of a panorama and its truth, around grey. The outside is black.
#[must_use]
pub fn difference(judged: &Judged) -> Picture {
    let data = (0..judged.picture.data.len()).map(|i| {
        let (a, b) = (judged.picture.data[i], judged.truth.data[i]);
        let off = |c: usize| (128.0 + 4.0 * (a[c] - b[c])).clamp(0.0, 255.0);
        if judged.compared.data[i] { [0, 1, 2].map(off) } else { [0.0; 3] }
    });
    Picture { data: data.collect(), ..judged.picture }
}

/// Writes a picture with at most 1600 columns.
pub fn thumbnail(picture: &Picture, file: &Path) -> Result<()> {
    match picture.width.div_ceil(1600) {
        0 | 1 => picture.save(file),
        n => picture.reduced(n).save(file),
    }
}

/// Runs all stitchers on the pictures in each folder below `folder`. Passes each result to `show`.
pub fn folders(
    folder: &Path,
    programs: &[Stitcher],
    settings: &Settings,
    show: impl Fn(&Entry),
) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for set in listed(folder)?.into_iter().filter(|path| path.is_dir()) {
        let pictures: Vec<PathBuf> =
            listed(&set)?.into_iter().filter(|path| is_picture(path)).collect();
        let is_truth = |path: &&PathBuf| path.file_stem().is_some_and(|stem| stem == "truth");
        let truth = pictures.iter().find(is_truth).cloned();
        let files: Vec<PathBuf> = pictures.iter().filter(|path| !is_truth(path)).cloned().collect();
        if files.len() < 2 {
            continue;
        }
        let truths: Vec<Truth> = truth
            .iter()
            .chain(files.iter().filter(|_| truth.is_none()))
            .map(|file| Truth::open(file))
            .collect::<Result<_>>()?;
        let name = set.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let place = self::folder(&settings.out.join("cases").join(format!("{name}-0")))?;
        thumbnail(&truths[0].picture, &place.join("truth.jpg"))?;
        let absolute = |file: &PathBuf| file.canonicalize().map_err(|e| Error::file(file, e));
        let files = files.iter().map(absolute).collect::<Result<_>>()?;
        let photos = Photos { files, view: None };
        for stitcher in programs {
            let entry = on_files(stitcher, &photos, &truths, &place, settings, &name)?;
            show(&entry);
            entries.push(entry);
        }
    }
    if entries.is_empty() {
        let text = format!("{} has no folder with two pictures", folder.display());
        return Err(Error::Options(text));
    }
    Ok(entries)
}

/// Runs a stitcher on picture files and judges the panorama by each truth. The scores are means over the truths that
/// the panorama shows; `coverage` counts the others as 0.
fn on_files(
    stitcher: &Stitcher,
    photos: &Photos,
    truths: &[Truth],
    folder: &Path,
    settings: &Settings,
    name: &str,
) -> Result<Entry> {
    let (mut entry, panorama) = made(stitcher, photos, folder, settings, (name, 0))?;
    let Some((panorama, mask)) = panorama else { return Ok(entry) };
    thumbnail(&panorama, &folder.join(format!("{}.jpg", stitcher.name)))?;
    let judged: Vec<Judged> =
        truths.iter().filter_map(|truth| judge(&panorama, &mask, truth)).collect();
    if let Some(first) = judged.first() {
        let file = folder.join(format!("{}_difference.jpg", stitcher.name));
        thumbnail(&difference(first), &file)?;
    }
    entry.scores = Scores::mean(judged.iter().map(|judged| &judged.scores), truths.len());
    if entry.scores.is_none() {
        entry.failure = Some("the panorama does not resemble the pictures".to_owned());
    }
    Ok(entry)
}

/// Returns the entries of a folder, sorted by name.
fn listed(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).map_err(|source| Error::file(folder, source))?;
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.map(|entry| entry.path()).map_err(|source| Error::file(folder, source)))
        .collect::<Result<_>>()?;
    paths.sort();
    Ok(paths)
}

fn is_picture(path: &Path) -> bool {
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    ["png", "jpg", "jpeg"].contains(&extension.as_str())
}
