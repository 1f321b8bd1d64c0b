//! Parses trajectories, and lists of times, from text. The parent module documents the file format.

use std::collections::HashSet;
use std::path::Path;

use super::{MAX_COLUMNS, RowError, TIME, Trajectory, TrajectoryError, row_fault};
use crate::io::text::{TextError, read_text_up_to};

/// The maximum size of a trajectory file in bytes. It is enough for a camera path of two hours with 100 poses per
/// second.
pub const FILE_LIMIT: u64 = 64 << 20;

/// The names of the value columns of a TUM file. Such a file has no header, and each line has a time and seven values,
/// separated by spaces.
const TUM: [&str; 7] = ["tx", "ty", "tz", "qx", "qy", "qz", "qw"];

/// The number of characters to which a field or name is shortened in an error message.
const SHOWN: usize = 40;

/// Reads the first column of a file as times in seconds, which may have any order. Ignores the other columns.
///
/// # Errors
/// Returns [`TrajectoryError::Text`] if the file cannot be read, [`TrajectoryError::Empty`] if it has no rows, or
/// [`TrajectoryError::Line`] if a time is invalid.
pub fn open_times(path: impl AsRef<Path>) -> Result<Vec<f64>, TrajectoryError> {
    parse_times(&text_of(path.as_ref())?, path)
}

/// Parses `text` like the contents of a file in [`open_times`]. Error messages use `file` as the name of the text.
///
/// # Errors
/// Returns [`TrajectoryError::Empty`] if there are no rows, or [`TrajectoryError::Line`] if a time is invalid.
pub fn parse_times(text: &str, file: impl AsRef<Path>) -> Result<Vec<f64>, TrajectoryError> {
    let table = Table::of(text, file.as_ref());
    let mut times = Vec::new();
    let mut before = "";
    for (line, content) in table.rows() {
        let word = table.fields(content).next().unwrap_or_default();
        let at = |fault| table.at(line, fault);
        let time = number(1, word).map_err(at)?;
        let indistinct = || indistinct(time, word, before);
        let fault = row_fault(time, time, &[]).or_else(indistinct);
        fault.map_or(Ok(()), |fault| Err(at(fault)))?;
        times.push(time);
        before = word;
    }
    if times.is_empty() {
        return Err(table.empty());
    }
    Ok(times)
}

/// Reads a file of at most [`FILE_LIMIT`] bytes as text.
pub(super) fn text_of(path: &Path) -> Result<String, TextError> {
    read_text_up_to(path, FILE_LIMIT)
}

/// Parses `text` for [`Trajectory::parse`], which documents the errors.
pub(super) fn parse(text: &str, file: &Path) -> Result<Trajectory, TrajectoryError> {
    let table = Table::of(text, file);
    let Some((first, content)) = table.lines().next() else { return Err(table.empty()) };
    let width = table.fields(content).take(MAX_COLUMNS + 2).count();
    if width < 2 {
        return Err(table.at(first, RowError::NoValues));
    }
    if width > MAX_COLUMNS + 1 {
        return Err(table.at(first, RowError::TooManyColumns));
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
        return Err(table.at(first, fault));
    }
    let (mut times, mut values) = (Vec::new(), Vec::new());
    let (mut before, mut word_before) = (f64::NEG_INFINITY, "");
    for (line, content) in table.rows() {
        let start = values.len();
        let at = |fault| table.at(line, fault);
        let found = table.fields(content).count();
        if found != width {
            return Err(at(RowError::Fields { found, expected: width }));
        }
        let (mut time, mut time_word) = (before, "");
        for (i, word) in table.fields(content).enumerate() {
            let number = number(i + 1, word).map_err(at)?;
            if i == 0 { (time, time_word) = (number, word) } else { values.push(number) }
        }
        let indistinct = || indistinct(time, time_word, word_before);
        let fault = row_fault(before, time, &values[start..]).or_else(indistinct);
        fault.map_or(Ok(()), |fault| Err(at(fault)))?;
        times.push(time);
        (before, word_before) = (time, time_word);
    }
    if times.is_empty() {
        return Err(table.empty());
    }
    Ok(Trajectory { time: time_name.to_owned(), columns, times, values })
}

/// Returns an error for the first invalid name among the time column and the value columns, or `None` if all names are
/// valid.
pub(super) fn name_fault(time: &str, columns: &[String]) -> Option<RowError> {
    let mut known = HashSet::new();
    let mut is_bad = |name| {
        let odd = |c: char| matches!(c, ',' | '"' | '#' | '\u{feff}') || c.is_control();
        let plain = |name: &str| !name.is_empty() && name.trim() == name && !name.contains(odd);
        !plain(name) || like_number(name) || !known.insert(name)
    };
    let mut names = [time].into_iter().chain(columns.iter().map(String::as_str)).enumerate();
    let (i, name) = names.find(|&(_, name)| is_bad(name))?;
    Some(RowError::Name { column: i + 1, name: shown(name) })
}

/// Returns whether a field is a number or starts like one.
fn like_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.'))
        || word.parse::<f64>().is_ok()
}

fn number(column: usize, word: &str) -> Result<f64, RowError> {
    word.parse().map_err(|_| RowError::NotANumber { column, word: shown(word) })
}

/// Returns the error of a time whose text `word` is another number than the text before it, although both parse to
/// `time`. For instance, f64 represents nanoseconds since 1970 only in steps of 256 ns.
fn indistinct(time: f64, word: &str, before: &str) -> Option<RowError> {
    let same = word == before || before.parse() != Ok(time) || decimal(word) == decimal(before);
    let step = time.abs().next_up() - time.abs();
    (!same).then(|| RowError::Indistinct { time: shown(word), before: shown(before), step })
}

/// Returns the exact value of a number's text: whether it is negative, its digits without zeros at either end, and the
/// power of ten of the last digit. Equal numbers have equal values.
fn decimal(word: &str) -> (bool, String, i64) {
    let (mantissa, exponent) = word.split_once(['e', 'E']).unwrap_or((word, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = [whole.trim_start_matches(['+', '-']), fraction].concat();
    let digits = digits.trim_start_matches('0');
    let kept = digits.trim_end_matches('0');
    if kept.is_empty() {
        return (false, String::new(), 0);
    }
    let dropped = digits.len() - kept.len();
    let power = exponent.parse::<i64>().unwrap_or(0).saturating_sub(fraction.len() as i64);
    (word.starts_with('-'), kept.to_owned(), power.saturating_add(dropped as i64))
}

fn shown(word: &str) -> String {
    word.chars().take(SHOWN).collect()
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

    fn at(&self, line: usize, fault: RowError) -> TrajectoryError {
        TrajectoryError::Line { file: self.file.to_owned(), line, fault }
    }

    fn empty(&self) -> TrajectoryError {
        TrajectoryError::Empty { file: self.file.to_owned() }
    }
}
