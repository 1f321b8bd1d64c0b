//! Parses the subset of YAML that OpenCV's `FileStorage` writes: a map from names to numbers and matrices.
//!
//! OpenCV files start with the line `%YAML:1.0`. It is not a valid YAML directive, so this parser drops it. YAML
//! aliases are rejected: `FileStorage` writes none, and expanding them would let a small file exhaust all memory. The
//! parser does not recurse, so nested lists cannot overflow the stack.

use std::path::Path;

use saphyr_parser::{Event, Parser};

use super::IntrinsicsError;

/// Maximum nesting depth of lists and maps. `FileStorage` files with matrices have three levels.
const MAX_DEPTH: usize = 16;

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
pub(crate) fn parse(text: &str, file: &Path) -> Result<Node, IntrinsicsError> {
    let invalid = |reason: String| IntrinsicsError::Invalid(format!("{}{reason}", file.display()));
    let no_map = || {
        invalid(": expected a map of names to values, as written by OpenCV's FileStorage".into())
    };
    let body = match text.strip_prefix("%YAML:") {
        // Keep the line break, so that line numbers in error messages are right.
        Some(rest) => rest.find('\n').map_or("", |end| &rest[end..]),
        None => text,
    };
    let mut open: Vec<Open> = Vec::new();
    for event in Parser::new_from_str(body) {
        let (event, span) = event.map_err(|error| {
            let (line, column) = (error.marker().line(), error.marker().col() + 1);
            // The parser quotes an unexpected character after a colon. The file may be none that the user may read.
            let reason = error.info().split(": `").next().unwrap_or_default();
            invalid(format!(":{line}:{column}: not valid YAML: {reason}"))
        })?;
        let line = span.start.line();
        let finished = match event {
            Event::Alias(_) => {
                let reason =
                    "YAML aliases (*name) are not supported; write the value instead of the alias";
                return Err(invalid(format!(":{line}: {reason}")));
            }
            Event::SequenceStart(..) | Event::MappingStart(..) if open.len() == MAX_DEPTH => {
                return Err(invalid(format!(
                    ":{line}: lists or maps are nested more than {MAX_DEPTH} levels deep; use a calibration file as OpenCV \
                     writes it"
                )));
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
                _ => Err(no_map()),
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
    Err(no_map())
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
}
