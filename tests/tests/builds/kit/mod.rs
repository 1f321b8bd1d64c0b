//! Tests that programs written for rust-cuda build and run with the kernel kit (the crates in `cuda/`).
//!
//! The programs are not in the repository. The tests copy them from the test data into `target/kit`, change only the
//! dependency lines of their `Cargo.toml`, and build them there.

mod compile;
mod crates;
mod examples;
mod package;
mod page;
mod project;
