//! The name of a new package, and the rules that it must satisfy. Cargo itself rejects keywords and names of dependencies.

use std::fmt;
use std::path::Path;

use crate::error::Error;

/// The longest accepted name, in characters. The registry accepts 64, and the name of the package of kernels is longer
/// by its suffix.
const MAX_LENGTH: usize = 64 - "-kernels".len();

/// A valid package name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name(String);

impl Name {
    /// Returns the name of the package in `folder`: the last part of the path.
    pub(super) fn of_folder(folder: &Path) -> Result<Self, Error> {
        let last = folder.file_name().unwrap_or_default().to_string_lossy();
        match problem(&last) {
            None => Ok(Self(last.into_owned())),
            Some(reason) => Err(Error::new(format!(
                "cannot use `{last}` as a package name: {reason}; choose another name"
            ))),
        }
    }

    /// Returns the name of the library in Rust source.
    pub(super) fn library(&self) -> String {
        self.0.replace('-', "_")
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns the rule that `name` breaks, if any.
fn problem(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        Some("it is empty")
    } else if !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_') {
        Some("it may contain only ASCII letters, digits, `-` and `_`")
    } else if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        Some("it must start with a letter")
    } else if name.len() > MAX_LENGTH {
        Some("it is longer than 56 characters")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_names_are_accepted() {
        for name in ["vecadd", "my-program", "my_program2", "A"] {
            assert_eq!(problem(name), None, "{name}");
        }
        let name = Name::of_folder(Path::new("somewhere/my-program")).expect("a valid name");
        assert_eq!((name.to_string(), name.library()), ("my-program".into(), "my_program".into()));
    }

    #[test]
    fn invalid_names_are_rejected_with_the_broken_rule() {
        let cases = [
            ("", "empty"),
            ("a b", "only ASCII"),
            ("größe", "only ASCII"),
            ("2d", "start with a letter"),
            ("-x", "start with a letter"),
        ];
        for (name, rule) in cases {
            let found = problem(name).unwrap_or_default();
            assert!(found.contains(rule), "{name}: {found}");
        }
        assert!(problem(&"x".repeat(MAX_LENGTH)).is_none());
        assert!(problem(&"x".repeat(MAX_LENGTH + 1)).is_some_and(|rule| rule.contains("56")));
        assert!(Name::of_folder(Path::new("..")).is_err());
    }
}
