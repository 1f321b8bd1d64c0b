//! The error that ends a command: a message with a kind, from which the exit code follows.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use panoweave::error::Classify;
pub(crate) use panoweave::error::Kind;
use panoweave::job::listed;
use panoweave::video::CompareError;

/// The exit code if `calibrate --check` finds that a rig has drifted, or if a score is below `--fail-below`.
pub(crate) const CHECK_FAILED: u8 = 5;

/// The error that ended a command.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    kind: Kind,
    text: String,
    /// The place in a text file that caused the failure.
    place: Option<TextPlace>,
}

/// A [`panoweave::error::TextPlace`] that owns its names.
#[derive(Clone, Debug)]
pub(crate) struct TextPlace {
    pub(crate) file: PathBuf,
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) word: String,
}

/// Returns the program's exit code for a failure of this kind.
pub(crate) fn exit_code(kind: Kind) -> u8 {
    match kind {
        Kind::Device => 1,
        Kind::Usage | Kind::Input | Kind::Output => 2,
        Kind::NoDevice => 3,
        Kind::DeviceLost => 4,
        // Shells report 128 + 2 for a program that SIGINT (signal 2) ended.
        Kind::Interrupted => 130,
    }
}

impl<E: Classify> From<E> for Failure {
    fn from(error: E) -> Self {
        let place = error.place().map(|place| TextPlace {
            file: place.file.to_owned(),
            line: place.line,
            column: place.column,
            word: place.word.to_owned(),
        });
        Self { kind: error.kind(), text: error.message(), place }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Failure {
    pub(crate) fn new(kind: Kind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into(), place: None }
    }

    pub(crate) fn usage(text: impl Into<String>) -> Self {
        Self::new(Kind::Usage, text)
    }

    pub(crate) fn input(text: impl Into<String>) -> Self {
        Self::new(Kind::Input, text)
    }

    /// Creates the failure of an output file that cannot be written.
    pub(crate) fn output(file: &Path, reason: impl fmt::Display) -> Self {
        Self::new(Kind::Output, format!("{}: cannot be written: {reason}", file.display()))
    }

    pub(crate) fn output_twice(file: &Path) -> Self {
        Self::output(file, "two outputs have this name; choose different names")
    }

    pub(crate) fn stdout(error: io::Error) -> Self {
        Self::new(Kind::Output, format!("the result cannot be printed: {error}"))
    }

    pub(crate) fn interrupted(text: impl Into<String>) -> Self {
        Self::new(Kind::Interrupted, text)
    }

    /// Creates the failure of a video that was stopped before its first frame.
    pub(crate) fn not_begun(file: &Path) -> Self {
        Self::interrupted(format!(
            "{}: not written: stopped before the first frame",
            file.display()
        ))
    }

    /// Creates the failure that reports why the pictures or videos in `files` could not be compared.
    pub(crate) fn compare(files: &[&Path], error: impl Into<CompareError>) -> Self {
        match error.into() {
            error @ (CompareError::Device(_) | CompareError::Video(_)) => error.into(),
            error => Self::input(format!("{}: {error}", listed(files))),
        }
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    pub(crate) fn place(&self) -> Option<&TextPlace> {
        self.place.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use panoweave::io::video::VideoError;
    use panoweave::live::LiveError;
    use panoweave::video::VideoStitchError;

    use super::*;

    #[test]
    fn a_thread_that_cannot_start_is_no_fault_of_the_input() {
        let error = || io::Error::from(io::ErrorKind::WouldBlock);
        let live = LiveError::Thread(Arc::new(error()));
        for error in [VideoError::Thread(error()).into(), VideoStitchError::Live(live)] {
            assert_eq!(exit_code(Failure::from(error).kind()), 1);
        }
    }
}
