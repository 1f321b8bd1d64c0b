//! What the tests of the workspace share: devices, and comparisons.

pub mod gpu;
