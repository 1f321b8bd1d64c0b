//! The results as JSON, as Markdown tables and as a page with pictures.

mod facts;
mod markdown;
mod page;

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::judge::Scores;
use crate::run::Entry;
use crate::video::VideoEntry;
pub use facts::Facts;

/// All results of a run.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Report {
    /// When and with what the results were made.
    pub facts: Facts,
    /// A result per case and stitcher.
    pub entries: Vec<Entry>,
    /// A result per sequence and way to stitch it.
    #[serde(default)]
    pub videos: Vec<VideoEntry>,
}

/// A score in tables.
pub struct Column {
    /// The heading.
    pub name: &'static str,
    /// Whether more is better.
    pub more: bool,
    /// A difference up to this is a tie.
    pub tie: f64,
    /// Digits after the point.
    pub digits: usize,
    /// The value, if the case has one.
    pub value: fn(&Scores) -> Option<f64>,
}

/// The scores, in the order of the tables.
pub const COLUMNS: [Column; 8] = [
    Column {
        name: "coverage %",
        more: true,
        tie: 0.5,
        digits: 1,
        value: |s| Some(100.0 * s.coverage),
    },
    Column { name: "PSNR dB", more: true, tie: 0.25, digits: 2, value: |s| Some(s.psnr) },
    Column { name: "SSIM", more: true, tie: 0.003, digits: 3, value: |s| Some(s.ssim) },
    Column { name: "geometry px", more: false, tie: 0.1, digits: 2, value: |s| Some(s.geometry) },
    Column {
        name: "misaligned px",
        more: false,
        tie: 0.1,
        digits: 2,
        value: |s| Some(s.misalignment),
    },
    Column {
        name: "ghosts %",
        more: false,
        tie: 1.0,
        digits: 1,
        value: |s| Some(100.0 * s.ghosts?),
    },
    Column { name: "seam /px", more: false, tie: 0.03, digits: 3, value: |s| s.seam },
    Column { name: "colour %", more: false, tie: 0.25, digits: 2, value: |s| Some(s.colour) },
];

/// Wins, ties and losses of a stitcher against another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Duel {
    /// Number of cases with a better score.
    pub wins: usize,
    /// Number of cases with about the same score.
    pub ties: usize,
    /// Number of cases with a worse score.
    pub losses: usize,
}

impl Report {
    /// Returns the distinct values of a text of the entries, in their order.
    fn names<'a>(&'a self, name: impl Fn(&'a Entry) -> &'a str) -> Vec<&'a str> {
        let mut names = Vec::new();
        for entry in &self.entries {
            if !names.contains(&name(entry)) {
                names.push(name(entry));
            }
        }
        names
    }

    /// Returns the stitchers, in the order of their entries.
    #[must_use]
    pub fn stitchers(&self) -> Vec<&str> {
        self.names(|entry| &entry.stitcher)
    }

    /// Returns the classes, in the order of their entries.
    #[must_use]
    pub fn classes(&self) -> Vec<&str> {
        self.names(|entry| &entry.class)
    }

    /// Returns the entry of another stitcher for the same case.
    #[must_use]
    pub fn rival(&self, entry: &Entry, stitcher: &str) -> Option<&Entry> {
        let same = |e: &&Entry| (&e.class, e.seed) == (&entry.class, entry.seed);
        self.entries.iter().filter(same).find(|e| e.stitcher == stitcher)
    }

    /// Returns the entries of one stitcher for the cases of which all `stitchers` made a complete panorama.
    fn solved_by(&self, stitchers: &[&str], stitcher: &str) -> Vec<&Entry> {
        let solved = |entry: &&Entry| {
            let complete = |name: &&str| self.rival(entry, name).is_some_and(Entry::is_complete);
            entry.stitcher == stitcher && stitchers.iter().all(complete)
        };
        self.entries.iter().filter(solved).collect()
    }

    /// Compares two stitchers by a score over all cases. An incomplete panorama loses against a complete one.
    #[must_use]
    pub fn duel(&self, stitcher: &str, other: &str, column: &Column) -> Duel {
        let mut duel = Duel::default();
        for entry in self.entries.iter().filter(|entry| entry.stitcher == stitcher) {
            let Some(rival) = self.rival(entry, other) else { continue };
            let gain = match (entry.is_complete(), rival.is_complete()) {
                (false, false) => continue,
                (true, false) => f64::MAX,
                (false, true) => f64::MIN,
                (true, true) => {
                    let value = |e: &Entry| e.scores.as_ref().and_then(column.value);
                    let Some((a, b)) = value(entry).zip(value(rival)) else { continue };
                    if column.more { a - b } else { b - a }
                }
            };
            match gain {
                gain if gain > column.tie => duel.wins += 1,
                gain if gain < -column.tie => duel.losses += 1,
                _ => duel.ties += 1,
            }
        }
        duel
    }

    /// Reads `report.json` in the folder of a run.
    pub fn open(folder: &Path) -> Result<Self> {
        let file = folder.join("report.json");
        let text = fs::read_to_string(&file).map_err(|source| Error::file(&file, source))?;
        serde_json::from_str(&text)
            .map_err(|error| Error::Options(format!("{} is not a report: {error}", file.display())))
    }

    /// Writes `report.json`, `report.md` and `index.html` into the folder of the run.
    pub fn save(&self, folder: &Path) -> Result<()> {
        let json = serde_json::to_string_pretty(self).map_err(|error| {
            Error::Options(format!("the report cannot be written as JSON: {error}"))
        })?;
        let files = [
            ("report.json", json),
            ("report.md", markdown::text(self)),
            ("index.html", page::html(self)),
        ];
        for (name, text) in files {
            let file = folder.join(name);
            fs::write(&file, text).map_err(|source| Error::file(&file, source))?;
        }
        Ok(())
    }
}

/// Returns the mean of a score over entries, or `None` if none has it.
#[must_use]
pub fn mean<'a>(entries: impl Iterator<Item = &'a Entry>, column: &Column) -> Option<f64> {
    let values: Vec<f64> =
        entries.filter_map(|entry| (column.value)(entry.scores.as_ref()?)).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(stitcher: &str, seed: u64, psnr: Option<f64>) -> Entry {
        let scores = psnr.map(|psnr| Scores {
            coverage: 1.0,
            psnr,
            ssim: 0.9,
            geometry: 0.1,
            misalignment: 0.2,
            lost: 0.0,
            seam: None,
            ghosts: None,
            colour: 1.0,
            surface: "plane".to_owned(),
            scale: 1.0,
            landmarks: 100,
        });
        let failure = scores.is_none().then(|| "no <overlap>".to_owned());
        let (class, stitcher) = ("plain".to_owned(), stitcher.to_owned());
        Entry { class, seed, stitcher, scores, failure, wall: 1.5, cpu: None }
    }

    fn report() -> Report {
        let entries = vec![
            entry("a", 0, Some(30.0)),
            entry("b", 0, Some(28.0)),
            entry("a", 1, Some(20.0)),
            entry("b", 1, None),
            entry("a", 2, Some(25.0)),
            entry("b", 2, Some(25.1)),
        ];
        let facts = Facts { date: "2026-01-02".to_owned(), ..Facts::default() };
        Report { facts, entries, videos: Vec::new() }
    }

    #[test]
    fn a_failure_loses_and_small_differences_are_ties() {
        let psnr = &COLUMNS[1];
        let duel = report().duel("a", "b", psnr);
        assert_eq!(duel, Duel { wins: 2, ties: 1, losses: 0 });
        assert_eq!(report().duel("b", "a", psnr), Duel { wins: 0, ties: 1, losses: 2 });
        assert_eq!(report().duel("a", "b", &COLUMNS[6]).wins, 1, "only the failure counts");
    }

    #[test]
    fn common_means_leave_out_cases_that_one_stitcher_failed() {
        let report = report();
        let all = mean(report.entries.iter().filter(|e| e.stitcher == "a"), &COLUMNS[1]);
        let common = mean(report.solved_by(&["a", "b"], "a").into_iter(), &COLUMNS[1]);
        assert_eq!((all, common), (Some(25.0), Some(27.5)));
    }

    #[test]
    fn the_files_have_every_number_and_escape_texts() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut report = report();
        // Only one of two stitchers has this score, so it does not count.
        report.entries[0].scores.as_mut().expect("solved").seam = Some(0.5);
        report.save(folder.path()).expect("saved");
        let read = |name| fs::read_to_string(folder.path().join(name)).expect(name);
        assert!(
            read("report.md").contains("| plain | a | 3/3 | 100.0 | 25.00 |"),
            "{}",
            read("report.md")
        );
        assert!(read("report.md").contains("- plain: nothing but turned cameras\n"));
        let equal = "| plain | 2 | 100.0 / 100.0 | 27.50 / 26.55 | 0.900 / 0.900 | 0.10 / 0.10 | 0.20 / 0.20 | – / – | – / – |";
        assert!(read("report.md").contains(equal), "{}", read("report.md"));
        assert!(read("index.html").contains("no &lt;overlap&gt;"));
        let back: Report = serde_json::from_str(&read("report.json")).expect("JSON");
        assert_eq!(back.entries.len(), 6);
    }
}
