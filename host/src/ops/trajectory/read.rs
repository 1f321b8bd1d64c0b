//! Parses trajectories, and lists of times, from text. The parent module documents the file format.

use std::collections::HashSet;
use std::path::Path;

use super::{MAX_COLUMNS, TIME, Trajectory, TrajectoryError};
use crate::io::text::{TextError, read_text_up_to};

/// The maximum size of a trajectory file in bytes. It is enough for a camera path of two hours with 100 poses per
/// second.
pub const FILE_LIMIT: u64 = 64 << 20;

/// The names of the value columns of a TUM file. Such a file has no header, and each line has a time and seven values,
/// separated by spaces.
const TUM: [&str; 7] = ["tx", "ty", "tz", "qx", "qy", "qz", "qw"];

/// Reads the first column of a file as times in seconds, which may have any order. Ignores the other columns.
pub fn open_times(path: impl AsRef<Path>) -> Result<Vec<f64>, TrajectoryError> {
    parse_times(&text_of(path.as_ref())?, path)
}

/// Parses `text` like the contents of a file in [`open_times`]. Error messages use `file` as the name of the text.
pub fn parse_times(text: &str, file: impl AsRef<Path>) -> Result<Vec<f64>, TrajectoryError> {
    let table = Table::of(text, file.as_ref());
    let time =
        |(line, content)| table.number(line, 1, table.fields(content).next().unwrap_or_default());
    let times: Vec<f64> = table.rows().map(time).collect::<Result<_, _>>()?;
    if times.is_empty() { Err(table.empty()) } else { Ok(times) }
}

/// Reads a file of at most [`FILE_LIMIT`] bytes as text.
pub(super) fn text_of(path: &Path) -> Result<String, TextError> {
    read_text_up_to(path, FILE_LIMIT)
}

/// Parses `text` for [`Trajectory::parse`].
pub(super) fn parse(text: &str, file: &Path) -> Result<Trajectory, TrajectoryError> {
    let table = Table::of(text, file);
    let Some((first, content)) = table.lines().next() else { return Err(table.empty()) };
    let width = table.fields(content).take(MAX_COLUMNS + 2).count();
    if width < 2 {
        return table.fault(first, "no values; a row needs a time and at least one value");
    }
    if width > MAX_COLUMNS + 1 {
        let reason =
            format!("more than {MAX_COLUMNS} value columns; check that it is the right file");
        return table.fault(first, reason);
    }
    let mut time_name = TIME;
    let columns: Vec<String> = if table.has_header {
        let mut names = table.fields(content);
        // Some programs write a header whose time column has no name.
        time_name = names.next().filter(|name| !name.is_empty()).unwrap_or(TIME);
        names.map(str::to_owned).collect()
    } else if !table.commas && width == 1 + TUM.len() {
        TUM.map(str::to_owned).to_vec()
    } else {
        (1..width).map(|i| format!("c{i}")).collect()
    };
    if let Some(fault) = name_fault(time_name, &columns) {
        return table.fault(first, fault);
    }
    let (mut times, mut values) = (Vec::new(), Vec::new());
    let mut before = f64::NEG_INFINITY;
    for (line, content) in table.rows() {
        let found = table.fields(content).count();
        if found != width {
            return table.fault(line, format!("{found} fields, but the first row has {width}; all rows must have the same number of fields, separated by commas or by spaces"));
        }
        for (i, word) in table.fields(content).enumerate() {
            let number = table.number(line, i + 1, word)?;
            if i == 0 { times.push(number) } else { values.push(number) }
        }
        let time = times[times.len() - 1];
        if time < before {
            return table.fault(
                line,
                format!(
                    "time {time} is less than the previous time, {before}; sort the rows by time"
                ),
            );
        }
        before = time;
    }
    if times.is_empty() {
        return Err(table.empty());
    }
    Ok(Trajectory { time: time_name.to_owned(), columns, times, values })
}

/// Returns an error for the first invalid name among the time column and the value columns, or `None` if all names are
/// valid.
pub(super) fn name_fault(time: &str, columns: &[String]) -> Option<String> {
    let mut known = HashSet::new();
    let mut is_bad = |name| {
        let odd = |c: char| matches!(c, ',' | '"' | '#' | '\u{feff}') || c.is_control();
        let plain = |name: &str| !name.is_empty() && name.trim() == name && !name.contains(odd);
        !plain(name) || like_number(name) || !known.insert(name)
    };
    let mut names = [time].into_iter().chain(columns.iter().map(String::as_str)).zip(1..);
    let (name, column) = names.find(|&(name, _)| is_bad(name))?;
    Some(format!(
        "column {column} is named {:?}; a name must be unique and not empty, must not start like a number, and must not contain commas, quotes or #",
        shown(name)
    ))
}

/// Returns whether a field is a number or starts like one.
fn like_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.'))
        || word.parse::<f64>().is_ok()
}

/// Shortens a field or name for an error message.
fn shown(word: &str) -> String {
    word.chars().take(40).collect()
}

/// A text with one row of fields per line. The fields are separated by commas, or by spaces and tabs.
struct Table<'a> {
    text: &'a str,
    file: &'a Path,
    /// Whether commas separate the fields. Otherwise, spaces or tabs do.
    commas: bool,
    has_header: bool,
}

impl<'a> Table<'a> {
    fn of(text: &'a str, file: &'a Path) -> Self {
        // Some editors write a byte order mark at the start of a file.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut table = Self { text, file, commas: false, has_header: false };
        if let Some((_, content)) = table.lines().next() {
            table.commas = content.contains(',');
            table.has_header = !table.fields(content).any(like_number);
        }
        table
    }

    /// Returns the lines after removing comments, without lines that are then empty. Each line has its number, counted
    /// from 1.
    fn lines(&self) -> impl Iterator<Item = (usize, &'a str)> + use<'a> {
        let content = |line: &'a str| line.split('#').next().unwrap_or_default().trim();
        let lines = self.text.lines().enumerate().map(move |(i, line)| (i + 1, content(line)));
        lines.filter(|(_, content)| !content.is_empty())
    }

    /// Returns the lines with values: all non-empty lines except the header, if there is one.
    fn rows(&self) -> impl Iterator<Item = (usize, &'a str)> + use<'a> {
        self.lines().skip(usize::from(self.has_header))
    }

    fn fields(&self, content: &'a str) -> impl Iterator<Item = &'a str> + use<'a> {
        let bare = |word: &'a str| {
            let word = word.trim();
            word.strip_prefix('"').and_then(|word| word.strip_suffix('"')).unwrap_or(word)
        };
        let by_comma = self.commas.then(|| content.split(','));
        let by_space = (!self.commas).then(|| content.split_whitespace());
        by_comma.into_iter().flatten().chain(by_space.into_iter().flatten()).map(bare)
    }

    /// Parses a field. Columns are numbered from 1.
    fn number(&self, line: usize, column: usize, word: &str) -> Result<f64, TrajectoryError> {
        let Ok(number) = word.parse::<f64>() else {
            let (file, word) = (self.file.to_owned(), shown(word));
            let reason = format!(
                "column {column}: {word:?} is not a number; write numbers like 12, -1.5 or 2e-3"
            );
            return Err(TrajectoryError::Line { file, line, word, reason });
        };
        if number.is_finite() {
            return Ok(number);
        }
        self.fault(
            line,
            format!("column {column} is not a finite number; correct it, or leave the row out"),
        )
    }

    fn fault<T>(&self, line: usize, reason: impl Into<String>) -> Result<T, TrajectoryError> {
        let (file, word) = (self.file.to_owned(), String::new());
        Err(TrajectoryError::Line { file, line, word, reason: reason.into() })
    }

    fn empty(&self) -> TrajectoryError {
        let file = self.file.display();
        TrajectoryError::Invalid(format!("{file}: the file has no rows; at least one is needed"))
    }
}
