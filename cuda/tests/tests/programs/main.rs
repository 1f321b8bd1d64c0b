//! Tests that programs written for rust-cuda build and run with the kernel kit (the crates in `cuda/`).
//!
//! rust-cuda's programs are not in the repository. The tests copy them from the test data into `target/tmp/kit`, make
//! their `Cargo.toml` depend on the kit, and build them there.
//!
//! Other tests check the kit's own packages: their content and their README.

mod cargo_cuda;
mod compile;
mod crates;
mod examples;
mod guide;
mod links;
mod package;
mod page;
mod template;
