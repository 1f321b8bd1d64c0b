//! A record of benches: JSON, a value a line, appended to by one process after the other.
//!
//! A line of `"kind":"run"` says what the following rows were measured on, one of `"kind":"row"` is a measurement, and
//! so is one of `"kind":"scale"`, of how much at once a machine keeps pace with.
//! Every process begins with a run of its own, so that rows of one run are of one process.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::ReportError;
pub use crate::scale::Scale;

/// A line of a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Line {
    /// What the rows after it were measured on.
    Run(Run),
    /// A measurement.
    Row(Row),
    /// How many live pairs at once.
    Scale(Scale),
}

/// A machine and what ran there: a GPU, or the processor by the CPU's backend, of which most is not asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// When, in seconds since 1970.
    pub started: u64,
    /// The commit that was built, with `+` where files differed from it.
    pub commit: Option<String>,
    /// The product name of the GPU or the processor.
    #[serde(alias = "gpu")]
    pub device: String,
    /// How many threads the processor has for this, if it is one.
    pub threads: Option<u32>,
    /// The GPU's compute capability, such as `9.0`.
    pub capability: Option<String>,
    /// Its memory in bytes.
    pub memory: Option<u64>,
    /// Its multiprocessors.
    pub multiprocessors: Option<u32>,
    /// The newest CUDA that the driver knows, such as `13.0`.
    pub cuda: Option<String>,
    /// The driver's version, such as `580.95.05`, as `nvidia-smi` says it.
    pub driver: Option<String>,
    /// Clocks that the driver gives for the GPU: the highest ones, not those of the moment.
    pub peak: Clocks,
    /// Width of the memory's bus in bits.
    pub bus_bits: Option<u32>,
    /// Clocks as they were found right after the first bench, while they are still up.
    pub found: Clocks,
    /// Jetson's power mode, as `nvpmodel` says it.
    pub power_mode: Option<String>,
}

/// Clocks in MHz; those that nobody tells are missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clocks {
    /// Of the multiprocessors.
    pub sm_mhz: Option<u32>,
    /// Of the memory; on Jetson that of the external memory controller, EMC.
    pub memory_mhz: Option<u32>,
}

impl Run {
    /// The memory's highest bandwidth in GB/s, by clock and bus: two transfers a cycle.
    #[must_use]
    pub fn peak_gb_s(&self) -> Option<f64> {
        let (clock, bits) = (self.peak.memory_mhz?, self.bus_bits?);
        Some(2.0 * f64::from(clock) * f64::from(bits) / 8.0 / 1e3)
    }
}

/// What is measured: the same for all variants that do it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Work {
    /// The system, such as `stitch`.
    pub system: String,
    /// What it does, such as `rgba` or `7 taps`.
    pub of: String,
    /// How much of it.
    pub size: Size,
    /// Bytes that must move, each counted once, read and written together.
    pub bytes: u64,
}

/// How much there is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Size {
    /// Width and height.
    Pixels(u32, u32),
    /// Batches of a size of their own.
    Batches(u32),
}

impl From<[u32; 2]> for Size {
    fn from([width, height]: [u32; 2]) -> Self {
        Self::Pixels(width, height)
    }
}

impl Size {
    /// How many, and of what.
    #[must_use]
    pub fn count(self) -> (f64, &'static str) {
        match self {
            Self::Pixels(width, height) => (f64::from(width) * f64::from(height), "pixels"),
            Self::Batches(batches) => (f64::from(batches), "batches"),
        }
    }
}

impl std::fmt::Display for Size {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Pixels(width, height) => write!(f, "{width}×{height}"),
            Self::Batches(batches) => write!(f, "{batches} batches"),
        }
    }
}

/// What a variant is to the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// A way of ours.
    Ours,
    /// The design of the original system, rebuilt.
    Original,
    /// Another library's way.
    Peer,
    /// A copy of as many bytes: the floor under long launches.
    Copy,
}

/// What the time is taken by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Timer {
    /// Events on the device's stream.
    Events,
    /// The host's clock, copies over the bus or allocations included.
    Clock,
}

/// A measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// What was done. Of a copy, the bytes that it moved.
    pub work: Work,
    /// How: one of those side by side. What stands before a last `/` is a manner of doing it that several
    /// implementations share, as in `fast/mesh` and `fast/c++`.
    pub variant: String,
    /// Whose it is.
    pub role: Role,
    /// What took the time.
    pub timer: Timer,
    /// Median time of once in µs.
    pub median_us: f64,
    /// Shortest.
    pub min_us: f64,
    /// Longest.
    pub max_us: f64,
    /// How many samples these are of.
    pub samples: u32,
}

impl Row {
    /// What its variant shares with others, `fast` of `fast/mesh`; nothing without a `/`.
    #[must_use]
    pub fn manner(&self) -> &str {
        self.variant.rsplit_once('/').map_or("", |(manner, _)| manner)
    }

    /// What cannot have been measured.
    fn fault(&self) -> Option<&'static str> {
        let Self { work, median_us: median, min_us: min, max_us: max, .. } = self;
        match () {
            () if !(median.is_finite() && *median > 0.0) => Some("a median is above 0"),
            () if !(min <= median && median <= max) => {
                Some("a median lies between the shortest and the longest time")
            }
            () if work.bytes == 0 => Some("something must move"),
            () if self.samples == 0 => Some("a measurement has samples"),
            () => None,
        }
    }
}

/// What there is before a measurement.
const AFTER_A_RUN: &str = "a row follows a line that says its run";

/// The lines of several records.
#[derive(Debug, Default)]
pub(crate) struct Recorded {
    /// In the order of the files.
    pub(crate) runs: Vec<Run>,
    /// With the index of their run.
    pub(crate) rows: Vec<(usize, Row)>,
    /// As the rows.
    pub(crate) scales: Vec<(usize, Scale)>,
}

impl Recorded {
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.scales.is_empty()
    }

    pub(crate) fn read(&mut self, file: &Path) -> Result<(), ReportError> {
        let text = crate::read_regular(file).map_err(|source| ReportError::read(file, source))?;
        let mut run = None;
        for (i, text) in text.lines().enumerate().filter(|(_, text)| !text.trim().is_empty()) {
            let (file, line) = (|| file.to_owned(), i + 1);
            let parsed = serde_json::from_str(text);
            let value = |what| ReportError::Value { file: file(), line, what };
            match parsed.map_err(|source| ReportError::Line { file: file(), line, source })? {
                Line::Run(found) => {
                    run = Some(self.runs.len());
                    self.runs.push(found);
                }
                Line::Row(row) => {
                    let run = run.ok_or_else(|| value(AFTER_A_RUN))?;
                    if let Some(what) = row.fault() {
                        return Err(value(what));
                    }
                    self.rows.push((run, row));
                }
                Line::Scale(scale) => {
                    let run = run.ok_or_else(|| value(AFTER_A_RUN))?;
                    if let Some(what) = scale.fault() {
                        return Err(value(what));
                    }
                    self.scales.push((run, scale));
                }
            }
        }
        Ok(())
    }
}
