//! Finds operations for which LLVM would call a library function that the GPU does not have.
//!
//! LLVM fails with "unsupported library call operation" and reports no position. LLVM writes the IR
//! before it fails, so this module searches the IR for the operation.

use super::{Nodes, name};

/// Returns the position, as `FILE:LINE:COLUMN`, of the first conversion between a 128-bit integer
/// and a floating-point number.
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
