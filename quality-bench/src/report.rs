//! The results as Markdown tables.

use crate::classes::CLASSES;
use crate::judge::Scores;
use crate::stitchers::Stitcher;
use crate::video::VideoEntry;

/// The result of a stitcher on a case.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) class: &'static str,
    pub(crate) seed: u64,
    pub(crate) stitcher: &'static str,
    /// The scores, or the reason why there is no panorama, or why it could not be registered with the truth.
    pub(crate) scores: Result<Scores, String>,
}

/// The least coverage of a complete panorama.
const COMPLETE: f64 = 0.9;

impl Entry {
    /// Returns whether there is a panorama that shows nearly all that the cameras saw. A stitcher may leave out a
    /// camera or put it at a wrong place.
    fn is_complete(&self) -> bool {
        self.scores.as_ref().is_ok_and(|scores| scores.coverage >= COMPLETE)
    }
}

/// All results of a run.
#[derive(Debug, Default)]
pub(crate) struct Report {
    versions: Vec<String>,
    stitchers: Vec<&'static str>,
    pub(crate) entries: Vec<Entry>,
    pub(crate) videos: Vec<VideoEntry>,
}

/// A score in tables.
struct Column {
    name: &'static str,
    /// Whether more is better.
    more: bool,
    /// A difference up to this is a tie.
    tie: f64,
    /// Digits after the point.
    digits: usize,
    /// The value, if the case has one.
    value: fn(&Scores) -> Option<f64>,
}

impl Column {
    const fn new(
        name: &'static str,
        more: bool,
        tie: f64,
        digits: usize,
        value: fn(&Scores) -> Option<f64>,
    ) -> Self {
        Self { name, more, tie, digits, value }
    }

    fn of(&self, entry: &Entry) -> Option<f64> {
        entry.scores.as_ref().ok().and_then(self.value)
    }

    /// Returns the mean over the entries that have the score with the digits of the column, or a dash.
    fn mean<'a>(&self, entries: impl Iterator<Item = &'a Entry>) -> String {
        let values: Vec<f64> = entries.filter_map(|entry| self.of(entry)).collect();
        match values.len() {
            0 => "–".to_owned(),
            n => format!("{:.*}", self.digits, values.iter().sum::<f64>() / n as f64),
        }
    }
}

/// The scores, in the order of the tables.
const COLUMNS: [Column; 8] = [
    Column::new("coverage %", true, 0.5, 1, |s| Some(100.0 * s.coverage)),
    Column::new("PSNR dB", true, 0.25, 2, |s| Some(s.psnr)),
    Column::new("SSIM", true, 0.003, 3, |s| Some(s.ssim)),
    Column::new("geometry px", false, 0.1, 2, |s| Some(s.geometry)),
    Column::new("misaligned px", false, 0.1, 2, |s| Some(s.misalignment)),
    Column::new("ghosts %", false, 1.0, 1, |s| Some(100.0 * s.ghosts?)),
    Column::new("seam /px", false, 0.03, 3, |s| s.seam),
    Column::new("colour %", false, 0.25, 2, |s| Some(s.colour)),
];

/// Returns a row of a table.
fn row(cells: impl IntoIterator<Item = String>) -> String {
    format!("| {} |\n", cells.into_iter().collect::<Vec<_>>().join(" | "))
}

/// Returns a heading and the first lines of a table. The columns after the first `texts` are aligned to the right.
fn table(heading: &str, names: &[&str], texts: usize) -> String {
    let line: String = (0..names.len()).map(|i| if i < texts { "---|" } else { "---:|" }).collect();
    format!("\n## {heading}\n\n{}|{line}\n", row(names.iter().map(|name| (*name).to_owned())))
}

impl Report {
    pub(crate) fn new(stitchers: &[Stitcher]) -> Self {
        let version = |s: &Stitcher| format!("- {}: {}\n", s.name, s.version);
        Self {
            versions: stitchers.iter().map(version).collect(),
            stitchers: stitchers.iter().map(|stitcher| stitcher.name).collect(),
            ..Self::default()
        }
    }

    /// Returns the entry of another stitcher for the same case.
    fn rival(&self, entry: &Entry, stitcher: &str) -> Option<&Entry> {
        let same = |e: &&Entry| (e.class, e.seed) == (entry.class, entry.seed);
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

    /// Counts the cases in which a stitcher has a better, about the same and a worse score than another one. An
    /// incomplete panorama loses against a complete one.
    fn duel(&self, stitcher: &str, other: &str, column: &Column) -> [usize; 3] {
        let mut counts = [0; 3];
        for entry in self.entries.iter().filter(|entry| entry.stitcher == stitcher) {
            let Some(rival) = self.rival(entry, other) else { continue };
            let gain = match (entry.is_complete(), rival.is_complete()) {
                (false, false) => continue,
                (true, false) => f64::MAX,
                (false, true) => f64::MIN,
                (true, true) => {
                    let Some((a, b)) = column.of(entry).zip(column.of(rival)) else { continue };
                    if column.more { a - b } else { b - a }
                }
            };
            counts[if gain > column.tie {
                0
            } else if gain < -column.tie {
                2
            } else {
                1
            }] += 1;
        }
        counts
    }

    /// Returns the means of entries as a row that begins with `first`.
    fn means(first: &[&str], entries: &[&Entry]) -> String {
        let complete = entries.iter().filter(|entry| entry.is_complete()).count();
        let first = first.iter().map(|text| (*text).to_owned());
        let means = COLUMNS.iter().map(|column| column.mean(entries.iter().copied()));
        row(first.chain([format!("{complete}/{}", entries.len())]).chain(means))
    }

    /// Returns the report: means per class, means over equal cases, wins and losses, sequences, and all cases.
    pub(crate) fn markdown(&self) -> String {
        let (stitchers, names) = (&self.stitchers, COLUMNS.map(|column| column.name));
        let with = |first: &[&'static str]| [first, &names].concat();
        let mut text = format!("# Quality of stitchers\n\n{}", self.versions.concat());
        let heading = "Means per class\n\n`complete` counts the panoramas that show at least 90 % of what the cameras \
                       saw. The means are over all panoramas, also incomplete ones.";
        text += &table(heading, &with(&["class", "stitcher", "complete"]), 3);
        let is_in = |class: &str| self.entries.iter().any(|entry| entry.class == class);
        let classes: Vec<_> = CLASSES.iter().filter(|class| is_in(class.name)).collect();
        for class in &classes {
            for &stitcher in stitchers {
                let own = |e: &&Entry| (e.class, e.stitcher) == (class.name, stitcher);
                let own: Vec<_> = self.entries.iter().filter(own).collect();
                text += &Self::means(&[class.name, stitcher], &own);
            }
        }
        text.push('\n');
        text.extend(classes.iter().map(|class| format!("- {}: {}\n", class.name, class.what)));
        let heading = "Means over the cases that every stitcher completed";
        text += &table(heading, &with(&["stitcher", "complete"]), 2);
        for stitcher in stitchers {
            text += &Self::means(&[stitcher], &self.solved_by(stitchers, stitcher));
        }
        if let Some((first, others)) = stitchers.split_first() {
            for other in others {
                let heading = format!(
                    "Means per class over the cases that both completed: {first} / {other}"
                );
                text += &table(&heading, &with(&["class", "cases"]), 1);
                for class in &classes {
                    text += &self.both(class.name, first, other);
                }
            }
            let heading = format!(
                "Wins – ties – losses of {first}\n\nAn incomplete panorama loses against a complete one."
            );
            text += &table(&heading, &[&["score", "tie up to"], others].concat(), 1);
            for column in &COLUMNS {
                let duel = |other: &&str| self.duel(first, other, column);
                let counts = others.iter().map(duel).map(|[w, t, l]| format!("{w} – {t} – {l}"));
                text += &row([column.name.to_owned(), column.tie.to_string()]
                    .into_iter()
                    .chain(counts));
            }
        }
        let columns = ["seed", "way", "PSNR dB", "flicker %", "drift %", "motion px"];
        text += &table("Sequences", &columns, 2);
        text.extend(self.videos.iter().map(|entry| row(entry.cells())));
        text += &table("Cases", &with(&["case", "stitcher"]), 2);
        for entry in &self.entries {
            let first = [format!("{}-{}", entry.class, entry.seed), entry.stitcher.to_owned()];
            let cells = match &entry.scores {
                Ok(_) => COLUMNS.iter().map(|column| column.mean([entry].into_iter())).collect(),
                Err(reason) => vec![reason.replace('|', "/")],
            };
            text += &row(first.into_iter().chain(cells));
        }
        text
    }

    /// Returns a row with the means of two stitchers over the cases of a class that both completed and for which both
    /// have the score.
    fn both(&self, class: &str, first: &str, other: &str) -> String {
        let own = self.solved_by(&[first, other], first).into_iter();
        let own = own.filter(|entry| entry.class == class);
        let both: Vec<[&Entry; 2]> =
            own.filter_map(|entry| Some([entry, self.rival(entry, other)?])).collect();
        let means = COLUMNS.iter().map(|column| {
            let scored = || both.iter().filter(|pair| pair.iter().all(|e| column.of(e).is_some()));
            let [a, b] = [0, 1].map(|side| column.mean(scored().map(|pair| pair[side])));
            format!("{a} / {b}")
        });
        row([class.to_owned(), both.len().to_string()].into_iter().chain(means))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let entry = |stitcher, seed, psnr: Option<f64>| {
            let scores = psnr.map(|psnr| Scores {
                coverage: 1.0,
                psnr,
                ssim: 0.9,
                geometry: 0.1,
                misalignment: 0.2,
                seam: None,
                ghosts: None,
                colour: 1.0,
            });
            Entry { class: "plain", seed, stitcher, scores: scores.ok_or("no overlap".to_owned()) }
        };
        let entries = vec![
            entry("a", 0, Some(30.0)),
            entry("b", 0, Some(28.0)),
            entry("a", 1, Some(20.0)),
            entry("b", 1, None),
            entry("a", 2, Some(25.0)),
            entry("b", 2, Some(25.1)),
        ];
        Report { stitchers: vec!["a", "b"], entries, ..Report::default() }
    }

    #[test]
    fn a_failure_loses_and_small_differences_are_ties() {
        let psnr = &COLUMNS[1];
        assert_eq!(report().duel("a", "b", psnr), [2, 1, 0]);
        assert_eq!(report().duel("b", "a", psnr), [0, 1, 2]);
        assert_eq!(report().duel("a", "b", &COLUMNS[6])[0], 1, "only the failure counts");
    }

    #[test]
    fn the_tables_have_the_means() {
        let mut report = report();
        // Only one of two stitchers has this score, so it does not count where both are compared.
        report.entries[0].scores.as_mut().expect("solved").seam = Some(0.5);
        let text = report.markdown();
        for row in [
            "| plain | a | 3/3 | 100.0 | 25.00 |",
            "- plain: nothing but turned cameras\n",
            "| a | 2/2 | 100.0 | 27.50 |",
            "| plain | 2 | 100.0 / 100.0 | 27.50 / 26.55 | 0.900 / 0.900 | 0.10 / 0.10 | 0.20 / 0.20 | – / – | – / – |",
            "| plain-1 | b | no overlap |",
        ] {
            assert!(text.contains(row), "{row}\n{text}");
        }
    }
}
