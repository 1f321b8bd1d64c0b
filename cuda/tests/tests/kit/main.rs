//! Tests of the kernel kit on every device: each feature of `cuda_std`, deliberate faults, invalid launches, and the
//! PTX text.

mod conformance;
mod device;
mod faults;
mod launch_errors;
mod lost_gpu;
mod planted;
mod ptx;
