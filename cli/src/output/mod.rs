//! Prints results to stdout.

pub(crate) mod calibrated;
pub(crate) mod colour;
pub(crate) mod conversions;
pub(crate) mod failure;
pub(crate) mod interrupt;
pub(crate) mod log;
pub(crate) mod meter;
pub(crate) mod plot;
pub(crate) mod progress;
pub(crate) mod report;
pub(crate) mod stages;

use std::borrow::Cow;
use std::io::{self, BufWriter, StdoutLock, Write};

use serde::Serialize;

use crate::output::failure::Failure;

/// Prints text to stdout with [`escaped`] control characters. A reader that closes the pipe early (`| head`) is not an
/// error.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    print_with(|out| out.write_all(escaped(text).as_bytes()))
}

/// Returns whether a character can be printed to a terminal without changing its state. Control characters, except line
/// ends and tabs, and characters that reverse the direction of writing can change it.
pub(crate) fn is_plain(c: char) -> bool {
    match c {
        '\n' | '\t' => true,
        '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => false,
        c => !c.is_control(),
    }
}

/// Escapes the characters that are not [plain](is_plain), because text from a file, such as a camera's name, could
/// control the terminal.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_plain) {
        return text.into();
    }
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if is_plain(c) { escaped.push(c) } else { escaped.extend(c.escape_default()) }
    }
    escaped.into()
}

/// Calls `write` with a buffered stdout, and flushes it. Like [`print()`], does not fail if the reader has closed the
/// pipe.
pub(crate) fn print_with(
    write: impl FnOnce(&mut BufWriter<StdoutLock<'_>>) -> io::Result<()>,
) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::stdout(error)),
        _ => Ok(()),
    }
}

/// Prints JSON to stdout.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let mut text =
        serde_json::to_string_pretty(value).map_err(|error| Failure::stdout(error.into()))?;
    text.push('\n');
    print_with(|out| out.write_all(text.as_bytes()))
}
