//! Reads the inlined calls from the debug information in PTX.
//!
//! The sections `.debug_abbrev` and `.debug_info` are lists of numbers. Labels stand for addresses.
//! The numbers of tags, attributes and forms are those of the DWARF 2 standard.

use std::collections::HashMap;
use std::ops::Range;

const TAG_SUBPROGRAM: u64 = 0x2e;
const TAG_INLINED: u64 = 0x1d;

const LOW: u64 = 0x11;
const HIGH: u64 = 0x12;
const ORIGIN: u64 = 0x31;
const DECLARED_FILE: u64 = 0x3a;
const DECLARED_LINE: u64 = 0x3b;
const SPECIFICATION: u64 = 0x47;
const CALL_COLUMN: u64 = 0x57;
const CALL_FILE: u64 = 0x58;
const CALL_LINE: u64 = 0x59;

/// A call that the compiler has inlined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Inlined {
    /// The lines of the PTX from the call's first to its last instruction.
    pub(super) range: Range<usize>,
    /// The number of calls around this one.
    pub(super) depth: u32,
    /// The index of the call around this one.
    pub(super) parent: Option<usize>,
    /// File, line and column of the call.
    pub(super) caller: [u32; 3],
    /// File and line of the called function's declaration.
    pub(super) declared: Option<(u32, u32)>,
}

/// Returns the inlined calls. `labels` are the lines of the PTX that define labels. Returns none if
/// the debug information is missing or has an unknown form.
pub(super) fn inlined_calls(lines: &[&str], labels: &HashMap<&str, usize>) -> Vec<Inlined> {
    let abbreviations = Section::read(lines, "abbrev").and_then(|section| shapes(&section));
    let info = Section::read(lines, "info");
    let entries = match (abbreviations, info) {
        (Some(shapes), Some(info)) => entries(&info, &shapes).unwrap_or_default(),
        _ => return Vec::new(),
    };
    let at: HashMap<usize, usize> =
        entries.iter().enumerate().map(|(i, entry)| (entry.offset, i)).collect();
    let declaration = |entry: &Entry| {
        // A definition names its declaration, which may name another one.
        let mut entry = at.get(&(entry.number(ORIGIN)? as usize)).map(|i| &entries[*i])?;
        while !entry.values.contains_key(&DECLARED_FILE) {
            let next = entry.number(SPECIFICATION).or_else(|| entry.number(ORIGIN))?;
            entry = at.get(&(next as usize)).map(|i| &entries[*i])?;
        }
        Some((entry.number(DECLARED_FILE)? as u32, entry.number(DECLARED_LINE)? as u32))
    };
    let mut calls: Vec<Inlined> = Vec::new();
    // The calls around the current entry, with the depth of their entries in the tree.
    let mut open: Vec<(u32, usize)> = Vec::new();
    for entry in &entries {
        open.retain(|(depth, _)| *depth < entry.depth);
        if entry.tag == TAG_SUBPROGRAM {
            open.clear();
        }
        let line = |name| entry.label(name).and_then(|label| labels.get(label)).copied();
        let (TAG_INLINED, Some(low), Some(high)) = (entry.tag, line(LOW), line(HIGH)) else {
            continue;
        };
        let number = |name| entry.number(name).unwrap_or_default() as u32;
        open.push((entry.depth, calls.len()));
        calls.push(Inlined {
            range: low..high,
            depth: open.len() as u32,
            parent: open.iter().rev().nth(1).map(|(_, call)| *call),
            caller: [CALL_FILE, CALL_LINE, CALL_COLUMN].map(number),
            declared: declaration(entry),
        });
    }
    calls
}

/// The bytes of a section. A label takes the bytes of its address, which are 0 here.
#[derive(Default)]
struct Section<'a> {
    bytes: Vec<u8>,
    /// The label at an offset, or an offset in `.debug_info` as `.debug_info+7`.
    labels: HashMap<usize, &'a str>,
}

impl<'a> Section<'a> {
    fn read(lines: &[&'a str], name: &str) -> Option<Self> {
        let head = format!("\t.section\t.debug_{name}");
        let start = lines.iter().position(|line| *line == head)? + 2;
        let mut section = Self::default();
        for line in lines[start..].iter().take_while(|line| line.trim() != "}") {
            let Some((kind, values)) = line.trim().split_once(' ') else { continue };
            let size = match kind {
                ".b8" => 1,
                ".b16" => 2,
                ".b32" => 4,
                ".b64" => 8,
                _ => return None,
            };
            for value in values.split(',').map(str::trim) {
                match value.parse::<i64>() {
                    Ok(number) => section.bytes.extend(&number.to_le_bytes()[..size]),
                    Err(_) => {
                        section.labels.insert(section.bytes.len(), value);
                        section.bytes.resize(section.bytes.len() + size, 0);
                    }
                }
            }
        }
        Some(section)
    }
}

/// A position in a section.
struct Cursor<'s, 'a> {
    section: &'s Section<'a>,
    at: usize,
}

impl<'a> Cursor<'_, 'a> {
    /// Reads a little-endian number of `size` bytes.
    fn number(&mut self, size: usize) -> Option<u64> {
        let bytes = self.section.bytes.get(self.at..self.at + size)?;
        self.at += size;
        Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// Reads a number of seven bits per byte.
    fn leb128(&mut self) -> Option<u64> {
        let (mut number, mut shift) = (0, 0);
        loop {
            let byte = self.number(1)?;
            number |= (byte & 0x7f).checked_shl(shift).unwrap_or_default();
            shift += 7;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
    }

    fn skip(&mut self, bytes: u64) -> Option<u64> {
        self.at = self.at.checked_add(usize::try_from(bytes).ok()?)?;
        Some(0)
    }

    /// Reads a value of a form. The number of a text or a block is 0. `unit` is the offset of the
    /// unit, which references start from.
    fn value(&mut self, form: u64, unit: usize) -> Option<Value<'a>> {
        let label = self.section.labels.get(&self.at).copied();
        let number = match form {
            0x01 | 0x07 => self.number(8)?,
            0x05 => self.number(2)?,
            0x06 | 0x0e | 0x17 => self.number(4)?,
            0x0b | 0x0c => self.number(1)?,
            0x0d | 0x0f => self.leb128()?,
            0x19 => 1,
            // A reference into the same unit, or into the section.
            0x13 => self.number(4)? + unit as u64,
            0x10 => {
                self.number(8)?;
                label?.strip_prefix(".debug_info")?.trim_start_matches('+').parse().unwrap_or(0)
            }
            0x08 => {
                while self.number(1)? != 0 {}
                0
            }
            0x03 => self.number(2).and_then(|bytes| self.skip(bytes))?,
            0x04 => self.number(4).and_then(|bytes| self.skip(bytes))?,
            0x09 | 0x18 => self.leb128().and_then(|bytes| self.skip(bytes))?,
            0x0a => self.number(1).and_then(|bytes| self.skip(bytes))?,
            _ => return None,
        };
        Some(Value { number, label })
    }
}

struct Value<'a> {
    number: u64,
    label: Option<&'a str>,
}

/// The shape of an entry: its tag, whether it has children, and the names and forms of its values.
struct Shape {
    tag: u64,
    has_children: bool,
    values: Vec<(u64, u64)>,
}

fn shapes(section: &Section<'_>) -> Option<HashMap<u64, Shape>> {
    let mut cursor = Cursor { section, at: 0 };
    let mut shapes = HashMap::new();
    loop {
        let code = cursor.leb128()?;
        if code == 0 {
            return Some(shapes);
        }
        let (tag, has_children) = (cursor.leb128()?, cursor.number(1)? != 0);
        let mut values = Vec::new();
        loop {
            match (cursor.leb128()?, cursor.leb128()?) {
                (0, 0) => break,
                value => values.push(value),
            }
        }
        shapes.insert(code, Shape { tag, has_children, values });
    }
}

/// An entry of `.debug_info`.
struct Entry<'a> {
    offset: usize,
    depth: u32,
    tag: u64,
    values: HashMap<u64, Value<'a>>,
}

impl<'a> Entry<'a> {
    fn number(&self, name: u64) -> Option<u64> {
        self.values.get(&name).map(|value| value.number)
    }

    fn label(&self, name: u64) -> Option<&'a str> {
        self.values.get(&name).and_then(|value| value.label)
    }
}

/// Returns the entries of all units, in the order of the section.
fn entries<'a>(section: &Section<'a>, shapes: &HashMap<u64, Shape>) -> Option<Vec<Entry<'a>>> {
    let mut entries = Vec::new();
    let mut cursor = Cursor { section, at: 0 };
    while cursor.at + 4 <= section.bytes.len() {
        let unit = cursor.at;
        let end = cursor.number(4)? as usize + cursor.at;
        // The version, the place of the abbreviations, and the size of an address.
        cursor.skip(2 + 4 + 1)?;
        let mut depth = 0;
        while cursor.at < end {
            let offset = cursor.at;
            let code = cursor.leb128()?;
            if code == 0 {
                depth = u32::saturating_sub(depth, 1);
                continue;
            }
            let shape = shapes.get(&code)?;
            let values = shape
                .values
                .iter()
                .map(|(name, form)| Some((*name, cursor.value(*form, unit)?)))
                .collect::<Option<_>>()?;
            entries.push(Entry { offset, depth, tag: shape.tag, values });
            depth += u32::from(shape.has_children);
        }
    }
    Some(entries)
}
