//! Tests that run cargo or read the sources. They check the stored PTX, programs that depend on the workspace, the
//! kernel kit, the levels of the modules, and the list of unsafe promises in `doc/soundness.md`.

mod embedding;
mod files;
mod kept_ptx;
mod kit;
mod levels;
mod one_build;
mod soundness;
