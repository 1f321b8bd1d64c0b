//! Reports errors to the user on stderr, and with `--json` also as JSON on stdout.
//!
//! Most reports are a single line. If the cause is in a text file, such as a rig, homography or trajectory, the report
//! also shows the line of the file and marks the position in it.

use std::io::{self, IsTerminal, Write};
use std::ops::Range;
use std::path::Path;
use std::process::ExitCode;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet as Lines};
use panoweave::io::text::TEXT_LIMIT;
use serde_json::json;

use crate::output;
use crate::output::failure::{Failure, Kind, TextPlace, exit_code};

/// Reports a failure on stderr and, if `as_json` is true, also as JSON on stdout. Returns the failure's exit code.
pub(crate) fn failure(failure: &Failure, as_json: bool) -> ExitCode {
    let snippet = Snippet::of(failure);
    match snippet.as_ref().map(Snippet::render) {
        Some(text) => complain(&text),
        None => complain(&format!("error: {}\n", output::escaped(&failure.to_string()))),
    }
    finish(failure.kind(), &failure.to_string(), as_json)
}

/// Reports arguments that clap could not parse. clap also returns the texts of `--help` and `--version` as errors. This
/// function prints these texts to stdout.
pub(crate) fn usage(error: &clap::Error, as_json: bool) -> ExitCode {
    if !error.use_stderr() {
        return match output::print(&error.to_string()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => failure(&error, as_json),
        };
    }
    let text = error.to_string();
    complain(&output::escaped(&text));
    // clap's text consists of a sentence, an empty line, and hints. Put only the sentence into the JSON.
    let sentence = text.split("\n\n").next().unwrap_or_default();
    let sentence = sentence.split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence = sentence.strip_prefix("error: ").unwrap_or(&sentence);
    finish(Kind::Usage, sentence, as_json)
}

/// Prints what to do first, for a user who gives no arguments. Returns the exit code of a usage error.
pub(crate) fn first_steps(text: &str) -> ExitCode {
    complain(&format!("{text}\n"));
    ExitCode::from(exit_code(Kind::Usage))
}

fn finish(kind: Kind, message: &str, as_json: bool) -> ExitCode {
    if as_json {
        let error = json!({ "message": message, "kind": kind, "exit_code": exit_code(kind) });
        // If stdout fails, the user still has the message on stderr, so ignore the failure.
        let _ = output::print_json(&json!({ "error": error }));
    }
    ExitCode::from(exit_code(kind))
}

/// Writes `text` to stderr. Ignores errors, so that the program also works with a closed stderr.
fn complain(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Maximum length in bytes of a line of a text file for which an error report shows the line.
const MAX_SHOWN: usize = 200;

/// A failure that a text file caused, the text of the file, and the byte range of the cause in this text.
struct Snippet<'a> {
    failure: &'a Failure,
    file: String,
    text: String,
    place: Range<usize>,
}

impl<'a> Snippet<'a> {
    fn of(failure: &'a Failure) -> Option<Self> {
        let TextPlace { file, line, column, word } = failure.place()?;
        let text = read_again(file)?;
        let start: usize = text.split_inclusive('\n').take(*line - 1).map(str::len).sum();
        let content = text.get(start..)?.lines().next().unwrap_or_default();
        let before: usize = content.chars().take(*column - 1).map(char::len_utf8).sum();
        let before = before + content[before..].find(word.as_str()).unwrap_or(0);
        let end = if word.is_empty() { content.trim_end().len() } else { before + word.len() };
        // Do not show a long line, because it would fill the terminal. The report then has only the message.
        if content.len() > MAX_SHOWN {
            return None;
        }
        let place = start + before..start + end.max(before);
        Some(Self {
            failure,
            file: output::escaped(&file.display().to_string()).into_owned(),
            text,
            place,
        })
    }

    fn render(&self) -> String {
        let plain = !io::stderr().is_terminal() || std::env::var_os("NO_COLOR").is_some();
        let renderer = if plain { Renderer::plain() } else { Renderer::styled() };
        let message = output::escaped(&self.failure.to_string()).into_owned();
        let mark = AnnotationKind::Primary.span(self.place.clone()).label("here");
        let lines = Lines::source(&self.text).path(&self.file).annotation(mark);
        let report = Level::ERROR.primary_title(message).element(lines);
        renderer.render(&[report]) + "\n"
    }
}

/// Reads the text file that caused an error, so that the report can show a line of it. Returns `None` if the file no
/// longer exists, is too large or is not UTF-8. Replaces characters that could change the terminal's state.
fn read_again(file: &Path) -> Option<String> {
    let there = std::fs::metadata(file).ok().filter(|m| m.is_file() && m.len() <= TEXT_LIMIT);
    let text = there.and_then(|_| std::fs::read_to_string(file).ok())?;
    let shown = |c: char| match c {
        '\n' | '\r' | '\t' => c,
        _ if output::is_plain(c) => c,
        _ if c.is_ascii() => '?',
        _ => '¿',
    };
    Some(text.chars().map(shown).collect())
}
