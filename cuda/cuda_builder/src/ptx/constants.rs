//! Replaces loads of constants by their values.
//!
//! Crates read tables with `read_volatile` to keep the values out of the instructions of a CPU
//! (`sha2` does). On a GPU, an instruction with a constant operand is faster than one with a load.
//! LLVM keeps such a load, but marks it as read-only if it is from a static that never changes. Its
//! bytes are then in the PTX.
//!
//! Statics that the host can find by name are left out, because the host may change them.

use std::collections::HashMap;
use std::fmt::Write as _;

use super::scan::lines;

/// Returns the PTX with every load of 32 or 64 bits from a constant replaced by a move.
pub(crate) fn fold_constants(ptx: &str) -> String {
    let tables: HashMap<&str, Vec<u8>> = ptx.lines().filter_map(table).collect();
    let mut text = String::with_capacity(ptx.len());
    for (line, in_asm) in lines(ptx) {
        match folded(line, &tables).filter(|_| !in_asm) {
            Some(moves) => text.push_str(&moves),
            None => text.push_str(line),
        }
    }
    text
}

/// Returns the name and the bytes of the table that a line such as `.global .align 4 .b8 NAME[2] =
/// {1, 2};` defines.
fn table(line: &str) -> Option<(&str, Vec<u8>)> {
    let (_, rest) = line.strip_prefix(".global .align ")?.split_once(" .b8 ")?;
    let (name, bytes) = rest.strip_suffix("};")?.split_once("] = {")?;
    let (name, len) = name.split_once('[')?;
    let bytes = bytes.split(',').map(|byte| byte.trim().parse().ok());
    let mut bytes: Vec<u8> = bytes.collect::<Option<_>>()?;
    // LLVM leaves out zeros at the end.
    bytes.resize(len.parse().ok()?, 0);
    Some((name, bytes))
}

/// Returns the moves that replace the line, if it is a load from one of `tables`.
fn folded(line: &str, tables: &HashMap<&str, Vec<u8>>) -> Option<String> {
    let line = line.trim();
    let (guard, load) = match line.split_once(' ') {
        Some((guard, load)) if guard.starts_with('@') => (format!("{guard} "), load.trim_start()),
        _ => (String::new(), line),
    };
    let (ty, operands) = load.strip_prefix("ld.global.nc.")?.split_once(char::is_whitespace)?;
    let (registers, place) = operands.trim().strip_suffix("];")?.rsplit_once(", [")?;
    let (name, offset) = match place.split_once('+') {
        Some((name, offset)) => (name, offset.parse().ok()?),
        None => (place, 0),
    };
    let bytes = tables.get(name)?.get(offset..)?;
    let size = match ty.rsplit('.').next()? {
        "b32" => 4,
        "b64" => 8,
        _ => return None,
    };
    let registers: Vec<&str> =
        registers.trim_matches(['{', '}']).split(',').map(str::trim).collect();
    if bytes.len() < size * registers.len() {
        return None;
    }
    let mut moves = String::new();
    for (register, bytes) in registers.into_iter().zip(bytes.chunks(size)) {
        // PTX is little-endian.
        let value = bytes.iter().rev().fold(0_u64, |value, &byte| value << 8 | u64::from(byte));
        let _ = writeln!(moves, "\t{guard}mov.b{} \t{register}, 0x{value:x};", 8 * size);
    }
    Some(moves)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLES: &str = "\
.global .align 4 .b8 K[12] = {1, 0, 0, 0, 2, 0, 0, 128, 255, 1};
.visible .global .align 4 .b8 named[4] = {1, 2, 3, 4};
.global .align 4 .b8 zeroed[4];
";

    fn fold(line: &str) -> String {
        let folded = fold_constants(&format!("{TABLES}{line}"));
        folded.strip_prefix(TABLES).expect("the tables").to_owned()
    }

    #[test]
    fn loads_of_constants_become_moves() {
        for (load, moves) in [
            ("\tld.global.nc.b32 \t%r1, [K];\n", "\tmov.b32 \t%r1, 0x1;\n"),
            ("\t@%p2 ld.global.nc.b32 \t%r1, [K+4];\n", "\t@%p2 mov.b32 \t%r1, 0x80000002;\n"),
            ("\tld.global.nc.b64 \t%rd1, [K+4];\n", "\tmov.b64 \t%rd1, 0x1ff80000002;\n"),
            (
                "\tld.global.nc.v2.b32 \t{%r1, %r2}, [K+4];\n",
                "\tmov.b32 \t%r1, 0x80000002;\n\tmov.b32 \t%r2, 0x1ff;\n",
            ),
        ] {
            assert_eq!(fold(load), moves);
        }
    }

    #[test]
    fn other_loads_stay() {
        for load in [
            "\tld.global.nc.b32 \t%r1, [%rd1];\n",
            "\tld.global.nc.b32 \t%r1, [named];\n",
            "\tld.global.nc.b32 \t%r1, [zeroed];\n",
            "\tld.global.nc.b32 \t%r1, [K+12];\n",
            "\tld.global.nc.b64 \t%rd1, [K+8];\n",
            "\tld.global.nc.b8 \t%rs1, [K];\n",
            "\tld.global.b32 \t%r1, [K];\n",
            "\t// begin inline asm\n\tld.global.nc.b32 %r1, [K];\n\t// end inline asm\n",
        ] {
            assert_eq!(fold(load), load);
        }
    }
}
