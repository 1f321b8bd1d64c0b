//! Finds what LLVM would call a library for, where the GPU has none.
//!
//! LLVM ends with "unsupported library call operation" and names no place. It has written the IR by
//! then.

use super::{Nodes, name};

/// The first conversion between a 128-bit integer and a floating-point number, with its place.
pub(crate) fn unsupported_conversion(ir: &str) -> Option<String> {
    let line = ir.lines().find(|line| {
        let to_float = ["uitofp i128 ", "sitofp i128 ", "uitofp nneg i128 "];
        let from_float = ["fptoui ", "fptosi ", "llvm.fptoui.sat.i128", "llvm.fptosi.sat.i128"];
        to_float.iter().any(|op| line.contains(op))
            || from_float.iter().any(|op| line.contains(op)) && line.contains("i128")
    })?;
    let (_, node) = line.rsplit_once("!dbg ")?;
    Some(Nodes::read(ir).place(name(node)))
}
