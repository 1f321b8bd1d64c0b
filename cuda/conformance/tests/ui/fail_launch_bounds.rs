//! Launch bounds that no GPU supports, invalid option values, and an option that does not exist.

use cuda_std::prelude::*;

#[kernel(launch_bounds(0))]
fn no_threads() {}

#[kernel(launch_bounds(1025))]
fn too_many_threads() {}

#[kernel(launch_bounds(64, 2, 3))]
fn too_many_numbers() {}

#[kernel(launch_bounds)]
fn no_numbers() {}

#[kernel(barriers(-1))]
fn negative() {}

#[kernel(registers(32))]
fn unknown() {}

fn main() {}
