//! Calibration from correspondences: simulated cameras with known answers, external ground truth, and input that must
//! be refused.

mod outside;
mod pairs;
mod refusals;
mod rigs;
mod several;

use proptest::test_runner::{Config, RngSeed};

/// Returns a configuration with a fixed seed. The error bounds are statistical, so a few of many random cases would
/// exceed them.
fn config(cases: u32) -> Config {
    Config { cases, rng_seed: RngSeed::Fixed(20_261_121), ..Config::default() }
}
