//! Calibration from correspondences: made-up cameras whose answer is known, outside truth, refusals.

mod outside;
mod pairs;
mod refusals;
mod rigs;
mod several;

use proptest::test_runner::{Config, RngSeed};

/// So many cases, the same ones each time: noise is bounded by its statistics, and in enough random cases one is
/// beyond.
fn config(cases: u32) -> Config {
    Config { cases, rng_seed: RngSeed::Fixed(20_261_121), ..Config::default() }
}
