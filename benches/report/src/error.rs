//! The error type for reading records and writing reports.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::markdown::{BEGIN, END};

/// An error that prevents a report.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReportError {
    /// A record or a text file cannot be read.
    #[error("cannot read {}: {source}", file.display())]
    Read {
        /// The path of the file.
        file: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A line of a bench record is not valid JSON, or lacks fields, or has unknown fields.
    #[error(
        "{}:{line} is not a line of a bench record: {source}; create the record with `cargo xtask bench`, or with \
         the bundle's `run.sh bench`, at the same commit",
        file.display()
    )]
    Line {
        /// The path of the record.
        file: PathBuf,
        /// The line number, from 1.
        line: usize,
        /// The error of the JSON parser. Its text contains the column of the error.
        source: serde_json::Error,
    },
    /// A measurement in a bench record is invalid: one of its values is impossible, or no run precedes the measurement.
    #[error("{}:{line} contains an invalid measurement: {what}; run the bench again", file.display())]
    Value {
        /// The path of the record.
        file: PathBuf,
        /// The line number, from 1.
        line: usize,
        /// A description of the invalid value.
        what: &'static str,
    },
    /// The records contain no measurements.
    #[error(
        "nothing to report: no measurements in {}; benches need a usable NVIDIA GPU, and print a line when they \
         skip; run the bundle on a machine with a GPU, then pass its record to `cargo xtask bench --from`",
        names(files)
    )]
    Empty {
        /// The paths of the records.
        files: Vec<PathBuf>,
    },
    /// The Markdown file lacks the two marker lines between which the report's tables belong.
    #[error(
        "{} lacks the lines\n{BEGIN}\n{END}\nthat enclose the tables; add both lines where the tables belong",
        file.display()
    )]
    Markers {
        /// The path of the text file.
        file: PathBuf,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {source}", file.display())]
    Write {
        /// The path of the file.
        file: PathBuf,
        /// The error of the operating system.
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
