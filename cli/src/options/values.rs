//! Parsers of option values. Their errors state the allowed values.

use std::str::FromStr;

use panoweave::ops::features::{MAX_GRADIENT_SIGMA, MAX_WINDOW};

/// Parses a value that is allowed. `expected` describes the allowed values.
fn value<T: FromStr>(
    text: &str,
    is_allowed: impl FnOnce(&T) -> bool,
    expected: impl Into<String>,
) -> Result<T, String> {
    text.parse().ok().filter(is_allowed).ok_or_else(|| expected.into())
}

/// Parses the side of the window around a feature in pixels.
pub(crate) fn window(text: &str) -> Result<u32, String> {
    let is_allowed = |window: &u32| window % 2 == 1 && (3..=MAX_WINDOW).contains(window);
    value(
        text,
        is_allowed,
        format!("a window must be an odd number of pixels from 3 to {MAX_WINDOW}"),
    )
}

/// Parses the minimum eigenvalue of a feature.
pub(crate) fn eigenvalue(text: &str) -> Result<f32, String> {
    value(text, |value| *value >= 0.0, "an eigenvalue must be a number that is at least 0")
}

/// Parses the standard deviation of a Gaussian in pixels.
pub(crate) fn sigma(text: &str) -> Result<f32, String> {
    let expected = format!(
        "a sigma must be a number of pixels from 0.1 to {MAX_GRADIENT_SIGMA}; to find coarser features, use a smaller picture"
    );
    value(text, |sigma| (0.1..=MAX_GRADIENT_SIGMA).contains(sigma), expected)
}
