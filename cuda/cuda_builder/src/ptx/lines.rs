//! Makes the line table name the kernel's own source.
//!
//! A PTX instruction has one line. LLVM 22 writes the line of the innermost inlined function, which
//! for most instructions is in `core` or `cuda_std`. Profilers, `compute-sanitizer` and `cuda-gdb`
//! would then name a line that the kernel's author has not written. [`name_callers`] replaces it by
//! the line of the innermost caller outside the libraries, which it finds in the debug information
//! (DWARF 2) that LLVM appends to the PTX. It then removes the debug information, which `ptxas`
//! does not accept.
//!
//! LLVM writes one range for each inlined call. If the instructions of several calls are mixed, the
//! ranges overlap. The declaration of the inlined function then decides: its file must be the file
//! of the line, and it must begin at or before the line. Between two calls of one function, the
//! shorter range decides, which can be the wrong one.

mod dwarf;

use std::collections::HashMap;
use std::fmt::Write as _;

use dwarf::Inlined;

/// Replaces the lines of library functions by the lines of their callers, and removes the debug
/// information. `kernels` is the name of the kernel crate.
pub(crate) fn name_callers(ptx: &str, kernels: &str) -> String {
    let own = format!("/crates/{kernels}-");
    let lines: Vec<&str> = ptx.lines().collect();
    let labels: HashMap<&str, usize> =
        (0..).zip(&lines).filter_map(|(at, line)| Some((line.strip_suffix(':')?, at))).collect();
    let calls = dwarf::inlined_calls(&lines, &labels);
    let files: HashMap<u32, &str> = lines.iter().filter_map(|line| file(line)).collect();
    let is_library = |file: u32| files.get(&file).is_some_and(|path| is_library(path, &own));

    let mut text = String::with_capacity(ptx.len());
    let mut in_section = false;
    for (at, line) in lines.iter().enumerate() {
        if line.starts_with("\t.section\t.debug_") {
            // The braces of an empty section are on the same line.
            in_section = !line.ends_with('}');
        } else if in_section {
            in_section = line.trim() != "}";
        } else if let Some(target) = line.strip_prefix(".target ") {
            let _ = writeln!(text, ".target {}", target.trim_end_matches(", debug"));
        } else if line.starts_with("$L__sec_end") {
            // The label belongs to a section.
        } else {
            match place(line).filter(|(file, ..)| is_library(*file)) {
                Some((file, number, _)) => match caller(&calls, at, (file, number), &is_library) {
                    Some([file, line, column]) => {
                        let _ = writeln!(text, "\t.loc\t{file} {line} {column}");
                    }
                    None => _ = writeln!(text, "{line}"),
                },
                None => _ = writeln!(text, "{line}"),
            }
        }
    }
    text
}

/// Returns whether a file belongs to Rust's libraries, to this kit or to a dependency. `own` is the
/// start of the kernel crate's paths if it is not a member of a workspace.
fn is_library(path: &str, own: &str) -> bool {
    path.contains("/rust/library/")
        || path.contains("/cuda_std/src/")
        || path.starts_with("/crates/") && !path.starts_with(own)
}

/// Parses a line such as `.file 1 "/workspace/src/lib.rs"`.
fn file(line: &str) -> Option<(u32, &str)> {
    let (number, path) = line.trim_start().strip_prefix(".file\t")?.split_once(' ')?;
    Some((number.parse().ok()?, path.trim_matches('"')))
}

/// Parses a line such as `.loc 1 12 5`: file, line and column.
fn place(line: &str) -> Option<(u32, u32, u32)> {
    let mut numbers = line.trim_start().strip_prefix(".loc\t")?.split(' ').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// Returns file, line and column of the innermost call outside the libraries that led to the line
/// `(file, number)` of a library at the line `at` of the PTX.
fn caller(
    calls: &[Inlined],
    at: usize,
    (file, number): (u32, u32),
    is_library: &impl Fn(u32) -> bool,
) -> Option<[u32; 3]> {
    let covers = |call: &&Inlined| call.range.contains(&at);
    let declares = |call: &Inlined| {
        call.declared.is_some_and(|(declared, first)| declared == file && first <= number)
    };
    let best = calls
        .iter()
        .filter(covers)
        .max_by_key(|call| (declares(call), call.depth, std::cmp::Reverse(call.range.len())))?;
    let mut call = Some(best);
    while let Some(inner) = call {
        if !is_library(inner.caller[0]) {
            return Some(inner.caller);
        }
        call = inner.parent.and_then(|parent| calls.get(parent));
    }
    None
}

#[cfg(test)]
mod tests;
