//! Records of benches, and the report that compares their times.
//!
//! Each bench appends to a record, which has one JSON value per line: first a [`Run`], which describes the machine,
//! then a [`Row`] for each measured time. [`read`] compares each row with the yardsticks of the same run: a copy of the
//! same number of bytes, and the original design in CUDA C++. In another run, the GPU may have had other clocks.
//! [`write()`] writes the result as `report.json` and as tables in `report.md`.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::{Deserialize, Serialize};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The targets of an H100: system, work, size, variant and the maximum time in µs.
const TARGETS: [(&str, &str, &str, &str, f64); 10] = [
    ("stitch", "rgba", "5700×1900", "fast/mesh", 46.0),
    ("stitch", "nv12", "5700×1900", "fast/mesh", 25.0),
    ("colour", "rgba", "700×1900", "rust", 12.0),
    ("resample", "bf16, even", "256 batches", "rust", 7.5),
    ("resample", "bf16, even", "8192 batches", "rust", 110.0),
    ("ssim", "8 bits", "3840×2160", "fused", 50.0),
    ("convolve", "7 taps", "3840×2160", "one launch", 35.0),
    ("convolve", "15 taps", "3840×2160", "one launch", 42.0),
    ("convolve", "31 taps", "3840×2160", "one launch", 70.0),
    ("view", "rgba to rgba", "1920×1080", "lenses", 12.0),
];

/// A line of a record.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Line {
    /// The machine on which the following rows were measured.
    Run(Run),
    /// A measured time.
    Row(Row),
}

/// The machine of a run, and its state.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    /// The product name of the GPU or the processor. Each has a section of its own in the report.
    pub device: String,
    /// The commit of the benches, followed by `+` if files had changed. Empty if it is unknown.
    pub commit: String,
    /// The names and values of properties, such as the driver and the clocks.
    pub facts: Vec<(String, String)>,
}

/// The origin of a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// An implementation by this library.
    Ours,
    /// The design of the original system, in CUDA C++.
    Original,
    /// An implementation by another library.
    Peer,
    /// A copy of the same number of bytes.
    Copy,
}

/// The measured time of a variant.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    /// The benchmarked part of the library, such as `stitch`.
    pub system: String,
    /// The kind of work, such as the pixel format `rgba`, or `7 taps`.
    pub work: String,
    /// The amount of work, such as `5700×1900`.
    pub size: String,
    /// The number of bytes to read plus the number to write, each byte counted once.
    pub bytes: u64,
    /// The implementation. The text before the last `/` is its gamma method, such as `fast` in `fast/mesh`.
    pub variant: String,
    /// The origin of the variant.
    pub role: Role,
    /// Whether the host's clock measured the times. They include the host's work. Otherwise, events on the device's
    /// stream measured them.
    pub by_clock: bool,
    /// The median time of one repetition in µs.
    pub median_us: f64,
    /// The shortest time of one repetition in µs.
    pub min_us: f64,
    /// The longest time of one repetition in µs.
    pub max_us: f64,
    /// The number of samples.
    pub samples: u32,
}

impl Row {
    fn key(&self) -> (&str, &str, &str, bool) {
        (&self.system, &self.work, &self.size, self.by_clock)
    }

    fn is_repeated_by(&self, other: &Self) -> bool {
        self.key() == other.key() && (self.role, &self.variant) == (other.role, &other.variant)
    }

    fn method(&self) -> &str {
        self.variant.rsplit_once('/').map_or("", |(method, _)| method)
    }

    fn gb_s(&self) -> f64 {
        self.bytes as f64 / self.median_us / 1e3
    }
}

/// A row, compared with the yardsticks of its run. Values without a yardstick are `None`.
#[derive(Debug, Serialize)]
pub struct Figure {
    /// The row of the record.
    #[serde(flatten)]
    pub row: Row,
    /// The commit of the row's run.
    pub commit: String,
    /// [`Row::bytes`] divided by the median time, in GB/s.
    pub gb_s: f64,
    /// The rate divided by the rate of a copy.
    pub of_copy: Option<f64>,
    /// The median time of the original design in µs.
    pub original_us: Option<f64>,
    /// The median time of the original design divided by that of this row.
    pub ratio: Option<f64>,
    /// The target of this row on an H100 in µs.
    pub target_us: Option<f64>,
}

impl Figure {
    fn new(row: &Row, run: &Run, rows: &[Row]) -> Self {
        let is_ours = row.role == Role::Ours;
        let beside = |role| rows.iter().filter(move |o| o.role == role && o.key() == row.key());
        let copy = beside(Role::Copy).find(|_| row.role != Role::Copy);
        // Prefer the original with the same gamma method to one without a method.
        let of = |method: &str| beside(Role::Original).find(|other| other.method() == method);
        let original = of(row.method()).or_else(|| of("")).filter(|_| is_ours);
        let work = (&*row.system, &*row.work, &*row.size, &*row.variant);
        let target = TARGETS.iter().find(|t| is_ours && (t.0, t.1, t.2, t.3) == work);
        Self {
            row: row.clone(),
            commit: run.commit.clone(),
            gb_s: row.gb_s(),
            of_copy: copy.map(|copy| row.gb_s() / copy.gb_s()),
            original_us: original.map(|original| original.median_us),
            ratio: original.map(|original| original.median_us / row.median_us),
            target_us: target.filter(|_| run.device.contains("H100")).map(|target| target.4),
        }
    }

    fn cells(&self) -> String {
        let row = &self.row;
        let text = |value: Option<String>| value.unwrap_or_else(|| "–".to_owned());
        let held = |most| if row.median_us <= most { "met" } else { "missed" };
        [
            row.system.clone(),
            row.work.clone(),
            row.size.clone(),
            row.variant.clone(),
            self.commit.clone(),
            digits(row.median_us) + if row.by_clock { "\\*" } else { "" },
            digits(row.bytes as f64 / 1e6),
            digits(self.gb_s),
            text(self.of_copy.map(|share| format!("{:.0} %", 100.0 * share))),
            text(self.original_us.map(digits)),
            text(self.ratio.map(|ratio| digits(ratio) + "×")),
            text(self.target_us.map(|most| format!("≤ {most} µs: {}", held(most)))),
        ]
        .join(" | ")
    }
}

/// The head of a table of [`Figure::cells`].
const HEAD: &str = "\
| system | work | size | variant | commit | µs | MB | GB/s | share of copy | original µs | ratio | target |
|---|---|---|---|---|--:|--:|--:|--:|--:|--:|---|
";

/// Formats a number with three significant digits, or three decimals below 1.
fn digits(value: f64) -> String {
    let digits = match value {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        v if v >= 0.9995 => 2,
        _ => 3,
    };
    format!("{value:.digits$}")
}

/// The measurements on one kind of GPU or processor.
#[derive(Debug, Default, Serialize)]
pub struct Section {
    /// The product name of the GPU or the processor.
    pub device: String,
    /// The names and all values of the runs' properties.
    pub facts: Vec<(String, BTreeSet<String>)>,
    /// The last measurement of each variant.
    pub figures: Vec<Figure>,
}

impl Section {
    fn add(&mut self, run: Run, rows: &[Row]) {
        for row in rows {
            let figure = Figure::new(row, &run, rows);
            match self.figures.iter_mut().find(|old| old.row.is_repeated_by(row)) {
                Some(old) => *old = figure,
                None => self.figures.push(figure),
            }
        }
        for (name, value) in run.facts {
            match self.facts.iter_mut().find(|fact| fact.0 == name) {
                Some(fact) => _ = fact.1.insert(value),
                None => self.facts.push((name, BTreeSet::from([value]))),
            }
        }
    }

    fn markdown(&self) -> String {
        let mut text = format!("## {}\n\n", self.device);
        for (name, values) in &self.facts {
            let values: Vec<_> = values.iter().map(String::as_str).collect();
            text += &format!("- {name}: {}\n", values.join(", "));
        }
        text += &format!("\n{HEAD}");
        let shown = |figure: &&Figure| matches!(figure.row.role, Role::Ours | Role::Peer);
        for figure in self.figures.iter().filter(shown) {
            text += &format!("| {} |\n", figure.cells());
        }
        text
    }
}

/// Returns a function that adds the operation and the file to an error of the operating system.
fn named(operation: &str, file: &Path) -> impl FnOnce(io::Error) -> String {
    move |error| format!("cannot {operation} {}: {error}", file.display())
}

/// Reads records, and compares their rows. If a row was measured several times on the same device, the last one in the
/// records counts.
///
/// # Errors
/// Returns an error if a record cannot be read, has an invalid line, or has no measurement.
pub fn read<P: AsRef<Path>>(records: &[P]) -> Result<Vec<Section>> {
    let mut runs: Vec<(Run, Vec<Row>)> = Vec::new();
    for file in records.iter().map(AsRef::as_ref) {
        let text = fs::read_to_string(file).map_err(named("read", file))?;
        let earlier = runs.len();
        for (line, text) in (1..).zip(text.lines()) {
            let error = |what: String| {
                let place = format!("{}:{line}", file.display());
                format!("{place} is not a line of a bench record: {what}; run the bench again")
            };
            match serde_json::from_str(text).map_err(|e| error(e.to_string()))? {
                Line::Run(run) => runs.push((run, Vec::new())),
                Line::Row(row) => {
                    let run = runs[earlier..].last_mut();
                    run.ok_or_else(|| error("no run precedes the row".to_owned()))?.1.push(row);
                }
            }
        }
    }
    let mut sections: Vec<Section> = Vec::new();
    for (run, rows) in runs.into_iter().filter(|(_, rows)| !rows.is_empty()) {
        let found = sections.iter().position(|section| section.device == run.device);
        let index = found.unwrap_or(sections.len());
        if found.is_none() {
            sections.push(Section { device: run.device.clone(), ..Section::default() });
        }
        sections[index].add(run, &rows);
    }
    if sections.is_empty() {
        return Err("the records have no measurements; most benches need an NVIDIA GPU".into());
    }
    Ok(sections)
}

/// Writes `report.json` and `report.md` to `folder`. Returns their paths.
///
/// # Errors
/// Returns an error if a file cannot be written.
pub fn write(sections: &[Section], folder: &Path) -> Result<[PathBuf; 2]> {
    fs::create_dir_all(folder).map_err(named("create", folder))?;
    let tables: Vec<_> = sections.iter().map(Section::markdown).collect();
    let json = serde_json::to_string_pretty(sections)? + "\n";
    let files = [folder.join("report.json"), folder.join("report.md")];
    for (file, text) in files.iter().zip([json, tables.join("\n")]) {
        fs::write(file, text).map_err(named("write", file))?;
    }
    Ok(files)
}
