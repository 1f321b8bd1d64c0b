//! Tests of the calibration from correspondences: with simulated cameras whose parameters are known, with external
//! ground truth, and with input that must be rejected.

mod outside;
mod pairs;
mod refusals;
mod rigs;
mod several;

use proptest::test_runner::{Config, RngSeed};

/// Returns a proptest configuration with a fixed seed. The tests' error bounds are statistical, so with random seeds a
/// few cases would exceed them.
fn config(cases: u32) -> Config {
    Config { cases, rng_seed: RngSeed::Fixed(20_261_121), ..Config::default() }
}
