//! Restores the ordering of atomic operations, which LLVM drops.
//!
//! LLVM 22 compiles an `atomicrmw` of any ordering to an `atom` without an ordering, which is
//! relaxed. Loads, stores, fences and compare-and-swap are correct. The IR has the ordering, and
//! the line table of the PTX maps each `atom` to its operation, because `core` has a separate line
//! for each ordering. If the position is unknown, the strongest ordering of the module is used,
//! which is correct but slower.

use super::scan::{lines, replace_lines};
use crate::ir::{Order, Orders};
use std::collections::HashMap;

/// Returns whether the PTX has, outside `asm!`, an `atom` instruction without an ordering.
pub(crate) fn has_unordered_atomics(ptx: &str) -> bool {
    lines(ptx).any(|line| unordered(line).is_some())
}

/// Returns the PTX with the ordering from `orders` added to every atomic operation that lacks one.
/// `ptx` must contain its line tables.
pub(crate) fn order_atomics(ptx: &str, orders: &Orders) -> String {
    let files: HashMap<&str, &str> = ptx.lines().filter_map(file).collect();
    let mut place = ("", "", "");
    replace_lines(ptx, |line| {
        if let Some(rest) = line.strip_prefix("\t.loc\t") {
            let mut words = rest.split_whitespace();
            let mut next = || words.next().unwrap_or("");
            place = (files.get(next()).copied().unwrap_or(""), next(), next());
        }
        ordered(line, unordered(line)?, orders.at(place.0, place.1, place.2))
    })
}

/// Returns the name of the `atom` instruction in a line if it has no ordering.
fn unordered(line: &str) -> Option<&str> {
    let name = line.split_whitespace().find(|word| !word.starts_with('@'))?;
    let semantics = name.strip_prefix("atom.")?.split('.').next()?;
    (!["relaxed", "acquire", "release", "acq_rel"].contains(&semantics)).then_some(name)
}

/// Returns the line with the ordering `order` added to the instruction `operation`, or `None` if the
/// operation is relaxed.
///
/// The scope is `sys`, as in the loads and stores that LLVM writes. A total order needs a fence
/// before the operation, as LLVM writes for compare-and-swap.
fn ordered(line: &str, operation: &str, order: Order) -> Option<String> {
    let semantics = match order {
        Order { total: true, .. } => "acquire",
        Order { acquire: true, release: true, .. } => "acq_rel",
        Order { acquire: true, .. } => "acquire",
        Order { release: true, .. } => "release",
        _ => return None,
    };
    let fence = if order.total { "\tfence.sc.sys;\n" } else { "" };
    let rest = &operation["atom".len()..];
    Some(fence.to_owned() + &line.replacen(operation, &format!("atom.{semantics}.sys{rest}"), 1))
}

/// Returns the file number and file name that a `.file` line declares.
fn file(line: &str) -> Option<(&str, &str)> {
    let (number, name) = line.trim_start().strip_prefix(".file\t")?.split_once(' ')?;
    Some((number.trim(), name.trim().trim_matches('"')))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = "\
\t.loc\t1 7 3
\tatom.global.add.u32 \t%r1, [%rd1], 1;
\t.loc\t1 8 3
\tatom.global.add.u32 \t%r2, [%rd1], 1;
\t.loc\t1 9 3
\tatom.shared.exch.b32 \t%r3, [%rd1], 1;
\tatom.acq_rel.sys.global.cas.b32 \t%r4, [%rd1], 1, 2;
\t// begin inline asm
\tatom.global.add.u32 %r5, [%rd1], 1;
\t// end inline asm
\t.file\t1 \"/crates/core/atomic.rs\"
";

    fn ir(of_first: &str, of_last: &str) -> String {
        format!(
            "  %1 = atomicrmw add ptr %p, i32 1 {of_first}, align 4, !dbg !3
  %2 = atomicrmw add ptr %p, i32 1 monotonic, align 4, !dbg !4
  %3 = atomicrmw xchg ptr %p, i32 1 {of_last}, align 4, !dbg !5
!1 = !DIFile(filename: \"/crates/core/atomic.rs\", directory: \"\")
!2 = distinct !DISubprogram(name: \"f\", file: !1, line: 1)
!3 = !DILocation(line: 7, column: 3, scope: !2)
!4 = !DILocation(line: 8, column: 3, scope: !2)
!5 = !DILocation(line: 9, column: 3, scope: !2)
"
        )
    }

    #[test]
    fn every_atom_gets_the_ordering_of_its_operation() {
        let text = order_atomics(PTX, &Orders::read(&ir("release", "seq_cst")));
        let expected = PTX
            .replacen("atom.global", "atom.release.sys.global", 1)
            .replace("\tatom.shared", "\tfence.sc.sys;\n\tatom.acquire.sys.shared");
        assert_eq!(text, expected);
        let text = order_atomics(PTX, &Orders::read(&ir("acq_rel", "acquire")));
        let expected = PTX
            .replacen("atom.global", "atom.acq_rel.sys.global", 1)
            .replace("\tatom.shared", "\tatom.acquire.sys.shared");
        assert_eq!(text, expected);
    }

    #[test]
    fn relaxed_operations_stay_as_they_are() {
        let orders = Orders::read(&ir("monotonic", "monotonic"));
        assert_eq!(order_atomics(PTX, &orders), PTX);
    }

    #[test]
    fn only_bare_atoms_of_the_compiler_lack_an_ordering() {
        assert!(has_unordered_atomics(PTX));
        let own = PTX.lines().skip(6).collect::<Vec<_>>().join("\n");
        assert!(own.contains("atom.global") && !has_unordered_atomics(&own));
    }
}
