//! Tests that run cargo or rustc: the stored PTX, programs that depend on the workspace, code that must not compile.

mod embedding;
mod kept_ptx;
mod kit;
mod levels;
