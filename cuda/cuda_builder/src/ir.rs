//! Reads information that the PTX lacks from the LLVM IR of the optimised module.
//!
//! The IR contains the call sites through which each instruction was inlined, and the ordering of
//! each atomic operation. This module reads the text line by line, as LLVM prints it, and ignores
//! everything else.

mod atomics;
mod barriers;

pub(crate) use atomics::{Order, Orders};
pub(crate) use barriers::duplicated_barrier;

use std::collections::HashMap;

/// A frame of a call chain: the metadata node of a function, a line and a column.
type Frame<'a> = (&'a str, &'a str, &'a str);

/// Returns the identifier at the start of `text`, without quotes.
fn name(text: &str) -> &str {
    if let Some(quoted) = text.strip_prefix('"') {
        return quoted.split('"').next().unwrap_or(quoted);
    }
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '$' | '!');
    &text[..text.find(|c| !is_part(c)).unwrap_or(text.len())]
}

/// The metadata nodes of the module: the text of each node by its name, such as `!12`.
struct Nodes<'a>(HashMap<&'a str, &'a str>);

impl<'a> Nodes<'a> {
    fn read(ir: &'a str) -> Self {
        let nodes = ir.lines().filter(|line| line.starts_with('!'));
        Self(nodes.filter_map(|line| line.split_once(" = ")).collect())
    }

    /// Returns the value of `key` in a node, such as `12` in `line: 12`.
    fn get(&self, node: &str, key: &str) -> Option<&'a str> {
        let text = self.0.get(node)?;
        let at = text.match_indices(key).find(|(at, _)| {
            text[..*at].ends_with(['(', ' ']) && text[at + key.len()..].starts_with(": ")
        })?;
        Some(name(&text[at.0 + key.len() + 2..]))
    }

    /// Returns the call chain of the location `node`, innermost frame first. Frames are compared by
    /// content, because LLVM may write two nodes for the same location.
    fn chain(&self, node: &'a str) -> Vec<Frame<'a>> {
        let frame = |node: &&'a str| {
            let function = self.function(node);
            (function, self.get(node, "line").unwrap_or(""), self.get(node, "column").unwrap_or(""))
        };
        self.frames(node).map(|node| frame(&node)).collect()
    }

    /// Returns the location `node` and the call sites into which it was inlined, innermost first.
    fn frames(&self, node: &'a str) -> impl Iterator<Item = &'a str> {
        std::iter::successors(Some(node), |node| self.get(node, "inlinedAt"))
    }

    /// Returns the metadata node of the function that contains a location.
    fn function(&self, node: &str) -> &'a str {
        let mut scope = self.get(node, "scope").unwrap_or("");
        while self.0.get(scope).is_some_and(|text| text.contains("DILexicalBlock")) {
            scope = self.get(scope, "scope").unwrap_or("");
        }
        scope
    }

    /// Returns the innermost position outside `core` and `cuda_std` in the inlined call chain of
    /// the location `node`, as `FILE:LINE:COLUMN`.
    fn place(&self, node: &'a str) -> String {
        let file = |node: &str| self.get(self.function(node), "file").unwrap_or("");
        let is_inner = |node: &&str| {
            let text = self.0.get(file(node)).copied().unwrap_or("");
            text.contains("/crates/core-") || text.contains("cuda-std-")
        };
        let node = self.frames(node).find(|node| !is_inner(node)).unwrap_or(node);
        let value = |key| self.get(node, key).unwrap_or("?");
        let file = self.get(file(node), "filename").unwrap_or("?");
        format!("{file}:{}:{}", value("line"), value("column"))
    }

    /// Returns the file, line and column of the location `node`, with the file path written as in
    /// the `.file` directives of the PTX.
    fn position(&self, node: &str) -> Option<(String, String, String)> {
        let file = self.get(self.get(node, "scope")?, "file")?;
        let filename = self.get(file, "filename")?;
        let path = if filename.starts_with('/') {
            filename.to_owned()
        } else {
            format!("{}/{filename}", self.get(file, "directory")?)
        };
        Some((path, self.get(node, "line")?.to_owned(), self.get(node, "column")?.to_owned()))
    }
}
