//! Tests that run cargo or rustc: stored PTX, programs that depend on the workspace, the kernel kit, and the levels of
//! imports.

mod embedding;
mod kept_ptx;
mod kit;
mod levels;
