//! Reports tests that are skipped because the machine lacks a requirement, such as a GPU. If the environment variable
//! `PANOWEAVE_REQUIRE` lists the requirement, the test fails instead. An example of its value is `gpu,data,ffmpeg`.
//!
//! `cargo xtask test` sets the variable `PANOWEAVE_SKIPPED` to the path of a file. Each skip appends a line to this
//! file, and `cargo xtask test` prints the lines at the end.

use std::env;
use std::fmt::{self, Display};
use std::fs::OpenOptions;
use std::io::Write;
use std::thread;

/// A requirement that a test has besides the Rust toolchain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// An NVIDIA GPU with its driver.
    Gpu,
    /// The external test data, which [`data`](crate::data) finds.
    Data,
    /// The programs ffmpeg and ffprobe.
    Ffmpeg,
    /// A C compiler called `cc`.
    Cc,
    /// The shells bash, fish and zsh, and groff. Each test needs one of them.
    Tools,
}

impl Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gpu => "gpu",
            Self::Data => "data",
            Self::Ffmpeg => "ffmpeg",
            Self::Cc => "cc",
            Self::Tools => "tools",
        })
    }
}

impl Need {
    /// Returns whether `PANOWEAVE_REQUIRE` lists this requirement.
    #[must_use]
    pub fn is_required(self) -> bool {
        let required = env::var("PANOWEAVE_REQUIRE").unwrap_or_default();
        required.split(',').any(|need| need.trim() == self.to_string())
    }
}

/// Reports that the calling test, or a part of it, is skipped because the machine lacks `need`.
///
/// # Panics
/// Panics if `PANOWEAVE_REQUIRE` lists `need`, or if the file named by `PANOWEAVE_SKIPPED` cannot be written.
pub fn skip(need: Need, reason: impl Display) {
    assert!(!need.is_required(), "PANOWEAVE_REQUIRE lists {need}: {reason}");
    eprintln!("skipped, {need}: {reason}");
    if let Some(list) = env::var_os("PANOWEAVE_SKIPPED") {
        let test = thread::current();
        let line = format!("{need}\t{}\t{reason}\n", test.name().unwrap_or("?"));
        let mut list = OpenOptions::new().create(true).append(true).open(list);
        // Write the line in a single call, so that the lines of parallel tests do not mix.
        let written = list.as_mut().map(|list| list.write_all(line.as_bytes()));
        assert!(
            matches!(written, Ok(Ok(()))),
            "cannot append a skip to the file in PANOWEAVE_SKIPPED"
        );
    }
}
