//! Helpers for tests that read malformed files. The reader must return an error within 2 seconds, and the error message
//! must be one line that names the file.

use std::fmt::{Debug, Display};
use std::path::Path;
use std::time::{Duration, Instant};

/// Runs `read` on a malformed file and returns the error. Checks that `read` fails within 2 seconds, and that the
/// message is one line that names the file.
pub(crate) fn refusal<T, E: Debug + Display>(
    file: &Path,
    read: impl FnOnce(&Path) -> Result<T, E>,
) -> E {
    let start = Instant::now();
    let Err(error) = read(file) else { panic!("{} was accepted", file.display()) };
    let took = start.elapsed();
    assert!(took < Duration::from_secs(2), "{error} took {took:?}");
    let message = error.to_string();
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    assert!(message.contains(&*name), "{message:?} does not name {name}");
    assert!(!message.contains('\n'), "{message:?} has several lines");
    error
}

/// Asserts that an error matches a pattern. Otherwise panics with the error.
macro_rules! assert_variant {
    ($error:expr, $pattern:pat $(if $guard:expr)?) => {
        match $error {
            $pattern $(if $guard)? => {}
            other => panic!("{other:?} is not {}", stringify!($pattern)),
        }
    };
}
pub(crate) use assert_variant;

/// Checks that a message contains a text.
#[track_caller]
pub(crate) fn says(error: impl std::fmt::Display, text: &str) {
    let said = error.to_string();
    assert!(said.contains(text), "{text:?} is not in {said:?}");
}
