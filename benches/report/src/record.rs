//! A record of benches: a text file with one JSON value per line. Bench processes append to the record one after the
//! other.
//!
//! - A line with `"kind":"run"` describes the machine on which the following lines were measured.
//! - A line with `"kind":"row"` is a measurement of time.
//! - A line with `"kind":"scale"` is a measurement of the number of live camera pairs that a machine sustains.
//!
//! Every process writes its own run first, so all measurements after a run come from one process.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::ReportError;
pub use crate::scale::Scale;

/// A line of a bench record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Line {
    /// The machine on which the measurements in the following lines were made.
    Run(Run),
    /// A measurement of time.
    Row(Row),
    /// A measurement of the number of live camera pairs that a machine sustains.
    Scale(Scale),
}

/// The GPU, or for the CPU backend the processor, on which a run of benches measured, and its state. Most fields are
/// `None` for a processor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The time at which the run was recorded, in seconds since 1970.
    pub started: u64,
    /// The commit from which the benches were built, followed by `+` if the source files had uncommitted changes.
    pub commit: Option<String>,
    /// The product name of the GPU or the processor.
    pub device: String,
    /// The number of threads, if the device is a processor.
    pub threads: Option<u32>,
    /// The GPU's compute capability, such as `9.0`.
    pub capability: Option<String>,
    /// The GPU's memory in bytes.
    pub memory: Option<u64>,
    /// The number of multiprocessors.
    pub multiprocessors: Option<u32>,
    /// The newest CUDA version that the driver supports, such as `13.0`.
    pub cuda: Option<String>,
    /// The driver's version from `nvidia-smi`, such as `580.95.05`.
    pub driver: Option<String>,
    /// The maximum clock frequencies of the GPU, as the driver reports them.
    pub peak: Clocks,
    /// The width of the memory bus in bits.
    pub bus_bits: Option<u32>,
    /// The clock frequencies right after the first bench, before the idle GPU lowers them.
    pub found: Clocks,
    /// The power mode of a Jetson, as `nvpmodel` reports it. `None` on other machines.
    pub power_mode: Option<String>,
}

/// Clock frequencies in MHz. Unknown frequencies are `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clocks {
    /// The clock of the multiprocessors.
    pub sm_mhz: Option<u32>,
    /// The clock of the memory. On Jetson, this is the clock of the external memory controller (EMC).
    pub memory_mhz: Option<u32>,
}

impl Run {
    /// Returns the peak memory bandwidth in GB/s: the maximum memory clock times the bus width, at two transfers per
    /// clock cycle. Returns `None` if the clock or the bus width is unknown.
    #[must_use]
    pub fn peak_gb_s(&self) -> Option<f64> {
        let (clock, bits) = (self.peak.memory_mhz?, self.bus_bits?);
        Some(2.0 * f64::from(clock) * f64::from(bits) / 8.0 / 1e3)
    }
}

/// The work whose time a row contains. Rows with the same work are different implementations (variants) of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Work {
    /// The name of the benchmarked part of the library, such as `stitch` or `convolve`.
    pub system: String,
    /// The kind of work within the system, such as the pixel format `rgba`, or `7 taps`.
    pub of: String,
    /// The amount of work: the size of a picture, or a number of batches.
    pub size: Size,
    /// The minimum memory traffic: the number of bytes to read plus the number to write, each byte counted once.
    pub bytes: u64,
}

/// The amount of work, in pixels or batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Size {
    /// Width and height in pixels.
    Pixels(u32, u32),
    /// A number of batches. The bench defines the size of a batch.
    Batches(u32),
}

impl From<[u32; 2]> for Size {
    fn from([width, height]: [u32; 2]) -> Self {
        Self::Pixels(width, height)
    }
}

impl Size {
    /// Returns the number of pixels or batches, and the name of this unit.
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

/// The origin of a measured variant: this library, the original system, another library, or a memory copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// An implementation by this library.
    Ours,
    /// The design of the original system, reimplemented in CUDA C++.
    Original,
    /// An implementation by another library.
    Peer,
    /// A copy of the same number of bytes: the lower bound of the time, except for very short launches.
    Copy,
}

/// The clock that measured a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Timer {
    /// Events on the device's stream. The time includes only device work.
    Events,
    /// The host's clock. The time includes host work such as allocations and copies over the bus.
    Clock,
}

/// A measurement of the time of one variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// The measured work. In the row of a memory copy, `work.bytes` is the number of bytes that the copy moved.
    pub work: Work,
    /// The name of the implementation. The text before the last `/` is its gamma method, such as `fast` in `fast/mesh`
    /// and `fast/c++`.
    pub variant: String,
    /// The origin of the variant, such as this library or a memory copy.
    pub role: Role,
    /// The clock that measured the times of this row.
    pub timer: Timer,
    /// The median time of one repetition in µs.
    pub median_us: f64,
    /// The shortest time of one repetition in µs.
    pub min_us: f64,
    /// The longest time of one repetition in µs.
    pub max_us: f64,
    /// The number of samples from which the median, minimum and maximum were computed.
    pub samples: u32,
}

impl Row {
    /// Returns the gamma method: the part of the variant before the last `/`, such as `fast` for `fast/mesh`. Returns
    /// an empty string if there is no `/`.
    #[must_use]
    pub fn method(&self) -> &str {
        self.variant.rsplit_once('/').map_or("", |(method, _)| method)
    }

    /// Returns a description of the first value that no measurement can have, or `None` if all values are possible.
    fn fault(&self) -> Option<&'static str> {
        let Self { work, median_us: median, min_us: min, max_us: max, .. } = self;
        match () {
            () if !(median.is_finite() && *median > 0.0) => Some("the median is not above 0"),
            () if !(min <= median && median <= max) => {
                Some("the median is not between the shortest and the longest time")
            }
            () if work.bytes == 0 => Some("the work moves no bytes"),
            () if self.samples == 0 => Some("the row has no samples"),
            () => None,
        }
    }
}

/// The error text for a measurement without a preceding run.
const AFTER_A_RUN: &str = "no line of kind `run` precedes the measurement";

/// The lines of several records.
#[derive(Debug, Default)]
pub(crate) struct Recorded {
    /// The runs, in the order in which they occur in the records.
    pub(crate) runs: Vec<Run>,
    /// The rows with measured times, each with the index of its run in `runs`.
    pub(crate) rows: Vec<(usize, Row)>,
    /// The measured numbers of sustained live pairs, each with the index of its run in `runs`.
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
