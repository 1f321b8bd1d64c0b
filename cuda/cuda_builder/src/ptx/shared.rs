//! Declares the shared arrays of `shared_array!` at the head of the PTX module.
//!
//! The length of an array may depend on a generic parameter of the function that uses the array, so
//! only an `asm!` inside that function can write the length. If the function is inlined twice, the
//! PTX contains the `asm!` twice, and a declaration in it would be a duplicate. The macro therefore
//! writes a comment with the size. This module turns equal comments into one declaration:
//!
//! ```text
//! // cuda_std.shared NAME align=16 bytes=1024
//! ```

use super::marker::invalid;
use super::scan::malformed;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The first characters of a marker line, after any indentation.
const PREFIX: &str = "// cuda_std.shared ";

/// The line after which a module's declarations begin.
const ADDRESS_SIZE: &str = ".address_size 64\n";

pub(super) fn is_marker(line: &str) -> bool {
    line.trim_start().starts_with(PREFIX)
}

/// Returns the offset in `ptx` at which the declarations must be inserted, and one declaration per
/// array.
pub(super) fn declarations(ptx: &str) -> Result<(usize, String), String> {
    let mut arrays = BTreeMap::new();
    for line in ptx.lines().map(str::trim).filter(|line| is_marker(line)) {
        let problem = |reason| invalid(line, reason);
        let (name, align, bytes) = read(line).ok_or_else(|| {
            problem("the text after `cuda_std.shared` is not NAME align=NUMBER bytes=NUMBER")
        })?;
        if !align.is_power_of_two() {
            return Err(problem("the alignment is not a power of two"));
        }
        if *arrays.entry(name).or_insert((align, bytes)) != (align, bytes) {
            return Err(problem("another array of this name has a different size or alignment"));
        }
    }
    if arrays.is_empty() {
        return Ok((0, String::new()));
    }
    let head = ptx
        .find(ADDRESS_SIZE)
        .ok_or_else(|| malformed(0, "`.address_size 64` in the head of the module"))?;
    let mut text = String::from("\n");
    for (name, (align, bytes)) in arrays {
        let _ = writeln!(text, ".shared .align {align} .b8 {name}[{bytes}];");
    }
    Ok((head + ADDRESS_SIZE.len(), text))
}

fn read(line: &str) -> Option<(&str, u32, u32)> {
    let mut words = line.strip_prefix(PREFIX)?.split_whitespace();
    let name = words.next()?;
    let align = words.next()?.strip_prefix("align=")?.parse().ok()?;
    let bytes = words.next()?.strip_prefix("bytes=")?.parse().ok()?;
    words.next().is_none().then_some((name, align, bytes))
}
