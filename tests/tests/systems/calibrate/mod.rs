//! Calibration from correspondences: simulated cameras with known answers, external ground truth, and refusals.

mod outside;
mod pairs;
mod refusals;
mod rigs;
mod several;

use proptest::test_runner::{Config, RngSeed};

/// Returns a configuration with a fixed seed. The bounds on noise are statistical, so among enough random cases one
/// would exceed them.
fn config(cases: u32) -> Config {
    Config { cases, rng_seed: RngSeed::Fixed(20_261_121), ..Config::default() }
}
