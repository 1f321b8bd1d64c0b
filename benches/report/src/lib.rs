//! What the benches measured, as a page, a table and JSON.
//!
//! Benches append to a record, one JSON value a line ([`record`]); [`Report::read`] takes records in, whichever
//! machine they were made on, and [`Report::write`] makes `report.json`, `index.html` and the table of
//! `BENCHMARKS.md` of them. It needs neither a GPU nor Rust, so that the bundle has it as a program.
//!
//! | file | what |
//! |---|---|
//! | [`record`] | the lines of a record, and how they are read |
//! | [`figures`] | rates, ratios and targets of each row, by machine |
//! | `scale` | how many live pairs at once: a line of a record, and its table |
//! | `targets` | what each system is to reach |
//! | `facts` | what page and table say of a machine, and of a row |
//! | `markdown`, `html` | the table and the page |
//! | `plot` | plots as SVG |
//!
//! Not here: how anything is measured, which is `panoweave-benches`.

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

/// Memory bandwidth of a Jetson Orin NX in GB/s, for the model; LPDDR5 by its data sheet.
pub const ORIN_GB_S: f64 = 102.0;

/// All that was measured, a section for each machine.
#[derive(Debug)]
pub struct Report {
    sections: Vec<Section>,
}

impl Report {
    /// Reads records. Of rows with the same machine, system, work, size and variant the newest counts.
    ///
    /// # Errors
    /// If a file cannot be read, a line of it is not of a record, or there is no measurement in any of them.
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

    /// What was measured on each machine.
    #[must_use]
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// Writes `report.json` and `index.html` into a folder, and the table between the markers of a text such as
    /// `BENCHMARKS.md`, whose other lines stay. Returns what was written.
    ///
    /// # Errors
    /// If a file cannot be read or written, or the text has no markers.
    pub fn write(&self, folder: &Path, text: &Path) -> Result<Vec<PathBuf>, ReportError> {
        // Before anything is written: a text without markers is refused.
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

/// A text file's content; a device or a pipe might never end.
fn read_regular(file: &Path) -> io::Result<String> {
    if !fs::metadata(file)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    fs::read_to_string(file)
}

/// Writes a file at once: where that fails, what was there stays.
fn replace(file: &Path, content: String) -> io::Result<()> {
    let new = file.with_added_extension("new");
    let replaced = fs::write(&new, content).and_then(|()| fs::rename(&new, file));
    if replaced.is_err() {
        // Nobody asked for a part of it.
        let _ = fs::remove_file(&new);
    }
    replaced
}
