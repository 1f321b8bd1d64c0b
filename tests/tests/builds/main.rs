//! Tests that run cargo or read the sources. They check the stored PTX, programs that depend on the workspace,
//! and the levels of the modules.

mod embedding;
mod kept_ptx;
mod levels;
mod one_build;
