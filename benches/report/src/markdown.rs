//! The Markdown tables in `BENCHMARKS.md`: for each machine, the measurements of this library and of other libraries.

use std::fmt::{self, Write as _};

use crate::facts::{HEAD, WORDS, cells, facts, notes};
use crate::figures::{Figure, Section};
use crate::record::{Role, Scale};
use crate::scale;

/// The marker line that precedes the tables in the Markdown file.
pub(crate) const BEGIN: &str = "<!-- begin: what `cargo xtask bench` measured -->";
/// The marker line that follows the tables in the Markdown file.
pub(crate) const END: &str = "<!-- end: what `cargo xtask bench` measured -->";

/// Replaces all text between the two marker lines of `text` by `tables`. Returns `None` if a marker line is missing.
pub(crate) fn between_markers(text: &str, tables: &str) -> Option<String> {
    let (before, rest) = text.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n\n{tables}\n{END}{after}"))
}

/// Returns Markdown with the notes, and with the description and the tables of each machine.
pub(crate) fn tables(sections: &[Section]) -> String {
    let mut out = String::new();
    // Ignore the result, because writing to a string cannot fail.
    let _ = write(&mut out, sections);
    out
}

fn write(out: &mut String, sections: &[Section]) -> fmt::Result {
    for note in notes() {
        writeln!(out, "- {}", escaped(&note))?;
    }
    for section in sections {
        writeln!(out, "\n## {}\n", escaped(&section.device))?;
        for (name, fact) in facts(section) {
            writeln!(out, "- {name}: {}", escaped(&fact))?;
        }
        let told = |figure: &&Figure| matches!(figure.row.role, Role::Ours | Role::Peer);
        let told = section.figures.iter().filter(told);
        table(out, &HEAD, WORDS, told.map(|figure| cells(section, figure)))?;
        if !section.scales.is_empty() {
            writeln!(out, "\n{}", escaped(scale::NOTE))?;
            table(out, &scale::HEAD, scale::WORDS, section.scales.iter().map(Scale::cells))?;
        }
    }
    Ok(())
}

/// Writes a table whose first `words` columns are text, or nothing if there are no rows.
fn table<const N: usize>(
    out: &mut String,
    head: &[&str; N],
    words: usize,
    rows: impl Iterator<Item = [String; N]>,
) -> fmt::Result {
    let mut rows = rows.peekable();
    if rows.peek().is_none() {
        return Ok(());
    }
    writeln!(out, "\n| {} |", head.join(" | "))?;
    let rule = (0..N).map(|i| if i < words { "---" } else { "--:" });
    writeln!(out, "|{}|", rule.collect::<Vec<_>>().join("|"))?;
    for cells in rows {
        writeln!(out, "| {} |", cells.map(|cell| escaped(&cell)).join(" | "))?;
    }
    Ok(())
}

/// Escapes Markdown: a `|` would end a cell, and `*` and `_` would format the text.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '|' | '*' | '_' | '`' | '<' | '\\') {
            out.push('\\');
        }
        out.push(if c == '\n' { ' ' } else { c });
    }
    out
}
