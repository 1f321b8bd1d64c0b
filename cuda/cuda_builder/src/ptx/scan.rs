//! Finds the functions of a PTX file. For each function, records the end of its head, the words of
//! its body and the number of its barriers.
//!
//! The module scans words and brackets without a grammar. Comments and strings are blanked first,
//! so the rest can be split at punctuation. This covers the PTX that LLVM writes and the PTX that
//! people write in `asm!`.

use std::collections::BTreeSet;

/// A function or kernel with a body.
#[derive(Debug)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) is_entry: bool,
    /// The byte offset just after the parameter list, where launch bounds such as `.maxntid` go.
    pub(super) head_end: usize,
    /// The byte offset just after the `{` that opens the body.
    pub(super) body: usize,
    /// The number of block-wide barriers in the body.
    pub(super) barriers: u32,
    /// Whether the body contains [`WAIT`](super::WAIT), but some path returns without reaching it.
    pub(super) returns_early: bool,
    /// Every word of the body, including the names of called functions.
    pub(super) names: BTreeSet<String>,
}

/// The functions that a PTX file defines, and those that it only declares.
#[derive(Debug)]
pub(super) struct Module {
    /// All functions with bodies, in textual order.
    pub(super) functions: Vec<Function>,
    /// The names of functions that are declared but have no body.
    pub(super) missing: BTreeSet<String>,
}

/// Finds all functions in the PTX text, and the names that it only declares.
pub(super) fn module(ptx: &str) -> Result<Module, String> {
    let code = blanked(ptx);
    let mut scan = Scan { code: &code, at: 0 };
    let mut functions: Vec<Function> = Vec::new();
    let mut missing = BTreeSet::new();
    while let Some(word) = scan.next() {
        match word {
            ".entry" | ".func" => match scan.function(word == ".entry")? {
                Ok(function) => functions.push(function),
                Err(declared) => {
                    missing.insert(declared);
                }
            },
            "{" => {
                scan.skip_group("{", "}")?;
            }
            _ => {}
        }
    }
    for function in &functions {
        missing.remove(&function.name);
    }
    Ok(Module { functions, missing })
}

/// Blanks out comments, strings and line tables, preserving every offset and line break.
fn blanked(ptx: &str) -> String {
    let mut code = ptx.as_bytes().to_vec();
    let mut at = 0;
    while at < code.len() {
        let rest = &code[at..];
        let length = if rest.starts_with(b"//") {
            rest.iter().position(|&b| b == b'\n')
        } else if rest.starts_with(b"/*") {
            rest.windows(2).skip(2).position(|w| w == b"*/").map(|n| n + 4)
        } else if rest.starts_with(b".loc\t") {
            // A `.loc` line has no semicolon, so it would become part of the next statement.
            rest.iter().position(|&b| b == b'\n')
        } else if rest[0] == b'"' {
            rest[1..].iter().position(|&b| b == b'"').map(|n| n + 2)
        } else {
            at += 1;
            continue;
        };
        let end = length.map_or(code.len(), |length| at + length);
        for byte in &mut code[at..end] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        at = end;
    }
    // The conversion loses nothing: comments and strings end at ASCII characters, so only whole
    // characters were blanked.
    String::from_utf8_lossy(&code).into_owned()
}

struct Scan<'a> {
    code: &'a str,
    at: usize,
}

impl<'a> Iterator for Scan<'a> {
    type Item = &'a str;

    /// Returns the next word, or one punctuation character.
    fn next(&mut self) -> Option<&'a str> {
        let rest = &self.code[self.at..];
        let skipped = rest.len() - rest.trim_start().len();
        let rest = &rest[skipped..];
        let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%' | '.');
        let length = match rest.find(|c| !is_word(c)) {
            Some(0) => rest.chars().next()?.len_utf8(),
            Some(length) => length,
            None if rest.is_empty() => return None,
            None => rest.len(),
        };
        self.at += skipped + length;
        Some(&rest[..length])
    }
}

impl<'a> Scan<'a> {
    /// Reads a function from the position after `.entry` or `.func`. Returns the function, or the
    /// name in the inner `Err` if the text only declares the function without a body.
    fn function(&mut self, is_entry: bool) -> Result<Result<Function, String>, String> {
        let mut name = self.expect("a function's name")?;
        if name == "(" {
            // The return value of a `.func` precedes its name.
            self.skip_group("(", ")")?;
            name = self.expect("a function's name")?;
        }
        let mut head_end = self.at;
        loop {
            match self.expect("a body or a semicolon")? {
                "(" => {
                    self.skip_group("(", ")")?;
                    head_end = self.at;
                }
                ";" => return Ok(Err(name.to_owned())),
                "{" => break,
                _ => {}
            }
        }
        let body = self.at;
        let words = self.skip_group("{", "}")?;
        Ok(Ok(Function {
            name: name.to_owned(),
            is_entry,
            head_end,
            body,
            returns_early: words.contains(&super::WAIT)
                && super::paths::return_without(super::WAIT, &words),
            barriers: words.iter().map(|word| u32::from(is_barrier(word))).sum(),
            names: words.into_iter().map(str::to_owned).collect(),
        }))
    }

    /// Reads up to the bracket `close` that matches the bracket `open` just read. Returns the words
    /// between the two brackets.
    fn skip_group(&mut self, open: &str, close: &str) -> Result<Vec<&'a str>, String> {
        let mut words = Vec::new();
        let mut depth = 1;
        loop {
            let word = self.expect("a closing bracket")?;
            if word == open {
                depth += 1;
            } else if word == close {
                depth -= 1;
            }
            if depth == 0 {
                return Ok(words);
            }
            words.push(word);
        }
    }

    fn expect(&mut self, reason: &'static str) -> Result<&'a str, String> {
        let at = self.at;
        self.next().ok_or_else(|| malformed(at, reason))
    }
}

/// Returns the error that the PTX cannot be parsed at the byte `at`.
pub(super) fn malformed(at: usize, expected: &str) -> String {
    format!(
        "the PTX cannot be parsed at byte {at}: expected {expected}; check the `asm!` of the kernels, \
         and report a bug in cuda_builder if a newer rustc wrote this PTX"
    )
}

/// Returns the lines of the text outside `asm!` blocks.
pub(super) fn lines(ptx: &str) -> impl Iterator<Item = &str> {
    let mut in_asm = false;
    ptx.split_inclusive('\n').filter(move |line| {
        match line.trim() {
            "// begin inline asm" => in_asm = true,
            "// end inline asm" => in_asm = false,
            _ => {}
        }
        !in_asm
    })
}

/// Returns the text with those lines outside `asm!` blocks replaced for which `new` returns a text.
pub(super) fn replace_lines<'a>(
    ptx: &'a str,
    mut new: impl FnMut(&'a str) -> Option<String>,
) -> String {
    let mut text = String::with_capacity(ptx.len() + ptx.len() / 64);
    let mut at = 0;
    for line in lines(ptx) {
        if let Some(new) = new(line) {
            let start = line.as_ptr().addr() - ptx.as_ptr().addr();
            text.extend([&ptx[at..start], &new]);
            at = start + line.len();
        }
    }
    text + &ptx[at..]
}

/// Returns whether the instruction makes a thread wait for its whole block.
///
/// `bar.warp.sync` waits only for a warp, and `bar.arrive` does not wait; neither is a barrier.
pub(crate) fn is_barrier(word: &str) -> bool {
    let mut parts = word.split('.');
    let family = parts.next();
    let mut what = parts.next();
    if what == Some("cta") {
        what = parts.next();
    }
    matches!(family, Some("bar" | "barrier")) && matches!(what, Some("sync" | "red"))
}
