//! The kernel kit as somebody else uses it: programs that were written for rust-cuda.
//!
//! They stay out of the repository; the tests copy them from the test data into `target/kit`, change the
//! dependency lines of their `Cargo.toml` and nothing else, and build them there.

mod compile;
mod crates;
mod examples;
mod package;
mod page;
mod project;
