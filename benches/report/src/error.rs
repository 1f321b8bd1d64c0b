//! What can be wrong with a record, and with the files that are made of it.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::markdown::{BEGIN, END};

/// Why there is no report.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReportError {
    /// A record or a text cannot be read.
    #[error("cannot read {}: {source}", file.display())]
    Read {
        /// It.
        file: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A line is not of a record.
    #[error(
        "{}:{line} is not a line of a bench record: {source}; a record is made by `cargo xtask bench`, or `run.sh \
         bench` of the bundle, of the same commit",
        file.display()
    )]
    Line {
        /// The record.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong, with the column.
        source: serde_json::Error,
    },
    /// A line is one of a record, and cannot have been measured.
    #[error("{}:{line} of the bench record: {what}; measure again", file.display())]
    Value {
        /// The record.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        what: &'static str,
    },
    /// No row in any of the records.
    #[error(
        "nothing to report: no bench recorded anything in {}; benches need an NVIDIA GPU that can be used, and \
         say so when they skip; run the bundle on a machine with one, and `cargo xtask bench --from` its record",
        names(files)
    )]
    Empty {
        /// The records.
        files: Vec<PathBuf>,
    },
    /// The text has no place for the table.
    #[error("{} lacks the lines\n{BEGIN}\n{END}\nbetween which the table belongs", file.display())]
    Markers {
        /// The text.
        file: PathBuf,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {source}", file.display())]
    Write {
        /// It.
        file: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl ReportError {
    pub(crate) fn read(file: &Path, source: io::Error) -> Self {
        Self::Read { file: file.to_owned(), source }
    }

    pub(crate) fn write(file: &Path, source: io::Error) -> Self {
        Self::Write { file: file.to_owned(), source }
    }
}

fn names(files: &[PathBuf]) -> String {
    if files.is_empty() {
        return "no file".to_owned();
    }
    files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(", ")
}
