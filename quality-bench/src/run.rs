//! Runs cases: renders the pictures, stitches them with each stitcher, judges, and keeps the results.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::case::{Case, Truth};
use crate::error::{Error, Result};
use crate::grid::{self, Picture};
use crate::judge::{Judged, Scores, judge};
use crate::stitchers::Stitcher;

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

/// Settings of a run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The folder for pictures, panoramas and reports.
    pub out: PathBuf,
    /// The time limit of a stitch.
    pub limit: Duration,
}

/// Runs all stitchers on a case.
pub fn case(case: &Case, stitchers: &[Stitcher], settings: &Settings) -> Result<Vec<Entry>> {
    let name = format!("{}-{}", case.class, case.seed);
    let folder = folder(&settings.out.join("cases").join(&name))?;
    let mut files = Vec::new();
    for i in 0..case.cameras.len() {
        let file = folder.join(format!("camera_{i}.png"));
        case.photograph(i).save(&file)?;
        files.push(file);
    }
    let truth = case.truth();
    thumbnail(&truth.picture, &folder.join("truth.jpg"))?;
    let mut entries = Vec::new();
    for stitcher in stitchers {
        let (entry, judged) = stitched(stitcher, &files, &truth, &folder, settings.limit)?;
        if let Some(judged) = judged {
            thumbnail(&judged.picture, &folder.join(format!("{}.jpg", stitcher.name)))?;
            thumbnail(&difference(&judged), &folder.join(format!("{}_difference.jpg", stitcher.name)))?;
        }
        entries.push(Entry { class: case.class.to_owned(), seed: case.seed, ..entry });
    }
    Ok(entries)
}

/// Runs a stitcher on picture files and judges its panorama.
pub fn stitched(
    stitcher: &Stitcher,
    files: &[PathBuf],
    truth: &Truth,
    folder: &Path,
    limit: Duration,
) -> Result<(Entry, Option<Judged>)> {
    let outcome = stitcher.stitch(files, &folder.join(stitcher.name), limit)?;
    let mut entry = Entry {
        class: String::new(),
        seed: 0,
        stitcher: stitcher.name.to_owned(),
        scores: None,
        failure: None,
        wall: outcome.times.wall,
        cpu: outcome.times.cpu,
    };
    let file = match outcome.panorama {
        Ok(file) => file,
        Err(reason) => {
            entry.failure = Some(reason);
            return Ok((entry, None));
        }
    };
    let (panorama, mask) = grid::open(&file)?;
    let judged = judge(&panorama, &mask, truth);
    match &judged {
        Some(judged) => entry.scores = Some(judged.scores.clone()),
        None => entry.failure = Some("the panorama does not resemble the truth".to_owned()),
    }
    Ok((entry, judged))
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
