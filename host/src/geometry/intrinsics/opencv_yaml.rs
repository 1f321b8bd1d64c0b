//! Parses the subset of YAML that OpenCV's `FileStorage` writes: a map from names to numbers and matrices.
//!
//! OpenCV files start with the line `%YAML:1.0`. It is not a valid YAML directive, so this parser drops it. YAML
//! aliases are rejected: `FileStorage` writes none, and expanding them would let a small file exhaust all memory. The
//! parser does not recurse, so nested lists cannot overflow the stack.

use std::path::{Path, PathBuf};

use saphyr_parser::{Event, Parser};

use crate::io::text::TextError;

/// Maximum nesting depth of lists and maps. `FileStorage` files with matrices have three levels.
const MAX_DEPTH: usize = 16;

/// The error for a calibration file that cannot be parsed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum YamlError {
    /// The file could not be read as text.
    #[error(transparent)]
    Text(#[from] TextError),
    /// The text is not valid YAML.
    #[error("{}:{line}:{column}: not valid YAML: {reason}", file.display())]
    Syntax {
        /// The calibration file.
        file: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// Column number, from 1.
        column: usize,
        /// The message of the YAML parser.
        reason: String,
    },
    /// The text uses an alias (`*name`).
    #[error("{}:{line}: YAML aliases (*name) are not supported; write the value instead of the alias", file.display())]
    Alias {
        /// The calibration file.
        file: PathBuf,
        /// Line, from 1.
        line: usize,
    },
    /// Lists and maps are nested deeper than `MAX_DEPTH` levels.
    #[error("{}:{line}: lists or maps are nested more than {MAX_DEPTH} levels deep; use a calibration file as OpenCV writes it", file.display())]
    TooDeep {
        /// The calibration file.
        file: PathBuf,
        /// Line, from 1.
        line: usize,
    },
    /// The text is not a map of names to values.
    #[error("{}: expected a map of names to values, as written by OpenCV's FileStorage", file.display())]
    NotAMap {
        /// The calibration file.
        file: PathBuf,
    },
}

/// A YAML value: a number or text, a list, or a map.
#[derive(Debug)]
pub(crate) enum Node {
    Scalar(String),
    List(Vec<Node>),
    /// The entries in file order. If a name occurs twice, [`get`](Self::get) returns the first value.
    Map(Vec<(String, Node)>),
}

impl Node {
    /// Returns the value of `name` in a map, or `None` for other nodes.
    pub(crate) fn get(&self, name: &str) -> Option<&Node> {
        match self {
            Self::Map(entries) => entries.iter().find(|(n, _)| n == name).map(|(_, node)| node),
            _ => None,
        }
    }
}

/// A map or list whose end the parser has not reached yet.
struct Open {
    node: Node,
    /// The name of the next value, if `node` is a map and this name was parsed already.
    name: Option<String>,
}

/// Parses the first YAML document of `text`. Error messages name `file`.
pub(crate) fn parse(text: &str, file: &Path) -> Result<Node, YamlError> {
    let file = || file.to_owned();
    let body = match text.strip_prefix("%YAML:") {
        // Keep the line break, so that line numbers in error messages are right.
        Some(rest) => rest.find('\n').map_or("", |end| &rest[end..]),
        None => text,
    };
    let mut open: Vec<Open> = Vec::new();
    for event in Parser::new_from_str(body) {
        let (event, span) = event.map_err(|error| YamlError::Syntax {
            file: file(),
            line: error.marker().line(),
            column: error.marker().col() + 1,
            // The parser quotes an unexpected character after a colon. The file may be none that the user may read.
            reason: error.info().split(": `").next().unwrap_or_default().to_owned(),
        })?;
        let line = span.start.line();
        let finished = match event {
            Event::Alias(_) => return Err(YamlError::Alias { file: file(), line }),
            Event::SequenceStart(..) | Event::MappingStart(..) if open.len() == MAX_DEPTH => {
                return Err(YamlError::TooDeep { file: file(), line });
            }
            Event::SequenceStart(..) => {
                open.push(Open { node: Node::List(Vec::new()), name: None });
                continue;
            }
            Event::MappingStart(..) => {
                open.push(Open { node: Node::Map(Vec::new()), name: None });
                continue;
            }
            Event::Scalar(value, ..) => Node::Scalar(value.into_owned()),
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(Open { node, .. }) => node,
                None => break,
            },
            Event::DocumentEnd | Event::StreamEnd => break,
            Event::Nothing | Event::StreamStart | Event::DocumentStart(_) => continue,
        };
        let Some(parent) = open.last_mut() else {
            return match finished {
                map @ Node::Map(_) => Ok(map),
                _ => Err(YamlError::NotAMap { file: file() }),
            };
        };
        match (&mut parent.node, parent.name.take()) {
            (Node::List(items), _) => items.push(finished),
            (Node::Map(entries), Some(name)) => entries.push((name, finished)),
            // YAML allows a list or a map as a name, but `FileStorage` writes no such names. Replace such a name by an
            // empty one, which is never looked up.
            (_, None) => match finished {
                Node::Scalar(name) => parent.name = Some(name),
                _ => parent.name = Some(String::new()),
            },
            (Node::Scalar(_), Some(_)) => {}
        }
    }
    Err(YamlError::NotAMap { file: file() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_storage_document() {
        let text = "%YAML:1.0\n---\na: 1.\nm: !!opencv-matrix\n   rows: 1\n   data: [ 1., 2.,\n      3. ]\n";
        let root = parse(text, Path::new("x.yaml")).unwrap();
        assert!(matches!(root.get("a"), Some(Node::Scalar(s)) if s == "1."));
        let data = root.get("m").and_then(|m| m.get("data"));
        assert!(matches!(data, Some(Node::List(items)) if items.len() == 3));
    }

    #[test]
    fn rejects_aliases_and_invalid_yaml() {
        let parse = |text: &str| parse(text, Path::new("x.yaml"));
        let bomb = "a: &a [x,x]\nb: &b [*a,*a]\n";
        assert!(matches!(parse(bomb), Err(YamlError::Alias { line: 2, .. })));
        let deep = "[".repeat(100_000);
        assert!(matches!(parse(&deep), Err(YamlError::TooDeep { .. } | YamlError::Syntax { .. })));
        assert!(matches!(parse("a: [1, 2"), Err(YamlError::Syntax { .. })));
        assert!(matches!(parse(""), Err(YamlError::NotAMap { .. })));
        assert!(matches!(parse("- 1\n- 2\n"), Err(YamlError::NotAMap { .. })));
        assert!(matches!(parse("%YAML:1.0"), Err(YamlError::NotAMap { .. })));
    }
}
