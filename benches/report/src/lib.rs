//! Reports bench results as an HTML page, Markdown tables and JSON.
//!
//! Benches append their measurements to a record, one JSON value per line ([`record`]). [`Report::read`] reads records
//! from any machine, and [`Report::write`] turns them into `report.json`, `index.html` and the tables in
//! `BENCHMARKS.md`. A report needs neither a GPU nor Rust, so the bundle for GPU machines without Rust includes this
//! crate's program.
//!
//! | file | contents |
//! |---|---|
//! | [`record`] | the lines of a record, and their parser |
//! | [`figures`] | rates, ratios and targets of each row, by machine |
//! | `scale` | the number of live camera pairs that machines sustain: a line of a record, and its table |
//! | `targets` | the targets of each system |
//! | `facts` | the text that page and tables share |
//! | `markdown`, `html` | the table and the page |
//! | `plot` | plots as SVG |
//!
//! This crate measures nothing. `panoweave-benches` contains the benches.

mod error;
mod facts;
pub mod figures;
mod html;
mod markdown;
mod plot;
pub mod record;
mod scale;
mod targets;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub use error::ReportError;
use figures::Section;
use record::Recorded;

/// The memory bandwidth of a Jetson Orin NX (LPDDR5) in GB/s, from its data sheet.
/// [`Figure::model_orin_ms`](figures::Figure::model_orin_ms) is based on it.
pub const ORIN_GB_S: f64 = 102.0;

/// All measurements, with a section per machine.
#[derive(Debug)]
pub struct Report {
    sections: Vec<Section>,
}

impl Report {
    /// Reads bench records. If several rows have the same machine, work, variant, role and timer, keeps only the newest
    /// one.
    ///
    /// # Errors
    /// Returns [`ReportError`] if a file cannot be read, a line is invalid, or the records have no measurements.
    pub fn read<P: AsRef<Path>>(records: &[P]) -> Result<Self, ReportError> {
        let mut recorded = Recorded::default();
        for file in records {
            recorded.read(file.as_ref())?;
        }
        if recorded.is_empty() {
            let files: Vec<_> = records.iter().map(|file| file.as_ref().to_owned()).collect();
            return Err(ReportError::Empty { files });
        }
        Ok(Self { sections: figures::sections(&recorded) })
    }

    /// Returns the measurements by machine.
    #[must_use]
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// Writes `report.json` and `index.html` into a folder. Also replaces the tables in the Markdown file `text`, such
    /// as `BENCHMARKS.md`: the lines between its two marker lines. Other lines stay the same. Returns the paths of all
    /// written files.
    ///
    /// # Errors
    /// Returns [`ReportError`] if a file cannot be read or written, or if `text` lacks the marker lines.
    pub fn write(&self, folder: &Path, text: &Path) -> Result<Vec<PathBuf>, ReportError> {
        // Check the marker lines of `text` before any file is written, so that an error leaves all files unchanged.
        let kept = read_regular(text).map_err(|source| ReportError::read(text, source))?;
        let table = markdown::between_markers(&kept, &markdown::tables(&self.sections))
            .ok_or_else(|| ReportError::Markers { file: text.to_owned() })?;
        let json = serde_json::to_string_pretty(&self.sections).map_err(io::Error::from);
        fs::create_dir_all(folder).map_err(|source| ReportError::write(folder, source))?;
        let (report, page) = (folder.join("report.json"), folder.join("index.html"));
        json.and_then(|json| replace(&report, json + "\n"))
            .map_err(|source| ReportError::write(&report, source))?;
        replace(&page, html::page(&self.sections))
            .map_err(|source| ReportError::write(&page, source))?;
        replace(text, table).map_err(|source| ReportError::write(text, source))?;
        Ok(vec![report, page, text.to_owned()])
    }
}

/// Reads a text file. Rejects devices and pipes, which might never end.
fn read_regular(file: &Path) -> io::Result<String> {
    if !fs::metadata(file)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    fs::read_to_string(file)
}

/// Replaces a file atomically: on failure, the old content stays.
fn replace(file: &Path, content: String) -> io::Result<()> {
    let new = file.with_added_extension("new");
    let replaced = fs::write(&new, content).and_then(|()| fs::rename(&new, file));
    if replaced.is_err() {
        // Remove the incomplete new file. Ignore an error of the removal, because the first error is returned.
        let _ = fs::remove_file(&new);
    }
    replaced
}
