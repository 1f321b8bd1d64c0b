//! Reads the source lines that a profile refers to.
//!
//! The compiler names the files of a workspace relative to its root, and `cargo test` runs a test
//! in the folder of its package. The root is therefore the nearest folder with a `Cargo.lock`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// The files that were read.
pub(super) struct Sources {
    root: PathBuf,
    /// The lines of each file; none if the file cannot be read.
    files: HashMap<String, Vec<String>>,
}

impl Sources {
    /// Looks for the files of the workspace around the current folder.
    pub(super) fn new() -> Self {
        let here = env::current_dir().unwrap_or_default();
        let root = here.ancestors().find(|folder| folder.join("Cargo.lock").is_file());
        Self { root: root.unwrap_or(&here).to_owned(), files: HashMap::new() }
    }

    /// Returns the lines of a file. Returns none if the file cannot be read.
    pub(super) fn lines(&mut self, file: &str) -> &[String] {
        self.files.entry(file.to_owned()).or_insert_with(|| {
            let text = fs::read_to_string(self.root.join(Path::new(file))).unwrap_or_default();
            text.lines().map(str::to_owned).collect()
        })
    }

    /// Returns a line, counted from 1, without indentation.
    pub(super) fn line(&mut self, file: &str, line: u32) -> Option<&str> {
        let index = line.checked_sub(1)?;
        self.lines(file).get(index as usize).map(|text| text.trim())
    }

    /// Returns the first and the last line of the function that contains the lines `first` to
    /// `last`. The attributes before the function are part of it. Its last line is the next one
    /// that closes a brace with the same indentation as the first.
    pub(super) fn function(&mut self, file: &str, [first, last]: [u32; 2]) -> [u32; 2] {
        let lines = self.lines(file);
        let text = |line: u32| lines.get(line as usize - 1).map_or("", String::as_str);
        let starts = |line: &u32| {
            let text = text(*line).trim_start();
            text.starts_with("fn ") || (text.contains(" fn ") && !text.starts_with("//"))
        };
        let Some(start) = (1..=first).rev().find(starts) else { return [first, last] };
        let indent = |line: u32| text(line).len() - text(line).trim_start().len();
        let closes = |line: &u32| {
            indent(*line) == indent(start) && text(*line).trim_start().starts_with('}')
        };
        let end = (last..=lines.len() as u32).find(closes).unwrap_or(last);
        let belongs = |line: &u32| text(*line).trim_start().starts_with("#[");
        let start = (1..start).rev().take_while(belongs).last().unwrap_or(start);
        [start, end]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_file_is_found_and_its_function_is_delimited() {
        let mut sources = Sources::new();
        let here = line!();
        assert_eq!(sources.line(file!(), here), Some("let here = line!();"));
        assert_eq!(sources.function(file!(), [here, here + 1]), [here - 3, here + 5]);
        assert_eq!(sources.line(file!(), 0), None);
        assert_eq!(sources.line("absent.rs", 1), None);
    }
}
