//! Parsers of option values. Their errors state the allowed values.

use std::str::FromStr;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use glam::{UVec2, Vec3};
use panoweave::geometry::{MAX_CANVAS_AREA, MAX_CANVAS_SIDE};
use panoweave::io::picture::MAX_SIDE;
use panoweave::io::video::{Crf, StreamFormat};
use panoweave::ops::features::{MAX_GRADIENT_SIGMA, MAX_WINDOW};
use panoweave::ops::refine::RefineOptions;
use panoweave::ops::seam::SeamOptions;
use panoweave::ops::view::MAX_SMOOTHING;

/// Returns a parser of the names of values.
pub(crate) fn by_name<T: Clone + Send + Sync + 'static>(
    values: impl IntoIterator<Item = (&'static str, T)>,
) -> impl TypedValueParser<Value = T> {
    let values: Vec<_> = values.into_iter().collect();
    let names: Vec<_> = values.iter().map(|(name, _)| *name).collect();
    PossibleValuesParser::new(names).try_map(move |text| {
        let named = values.iter().find(|(name, _)| *name == text);
        let unknown = "unknown name; see --help for the possible values";
        named.map(|(_, value)| value.clone()).ok_or(unknown)
    })
}

/// Returns a parser of the names of stream formats.
pub(crate) fn format() -> impl TypedValueParser<Value = StreamFormat> {
    by_name(StreamFormat::all().into_iter().map(|format| (format.name(), format)))
}

/// Parses a value that is allowed. `expected` describes the allowed values.
fn value<T: FromStr>(
    text: &str,
    is_allowed: impl FnOnce(&T) -> bool,
    expected: impl Into<String>,
) -> Result<T, String> {
    text.parse().ok().filter(is_allowed).ok_or_else(|| expected.into())
}

/// Parses `WIDTHxHEIGHT`. A side that is too large for `u32` is `u32::MAX`, which no size allows.
fn sides(text: &str) -> Option<UVec2> {
    let (width, height) = text.split_once(['x', 'X', '×'])?;
    let side = |text: &str| {
        let is_whole = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        is_whole.then(|| text.parse().unwrap_or(u32::MAX))
    };
    Some(UVec2::new(side(width)?, side(height)?))
}

fn size(
    text: &str,
    is_allowed: impl FnOnce(&UVec2) -> bool,
    expected: String,
) -> Result<UVec2, String> {
    let size = sides(text).ok_or("a size must be WIDTHxHEIGHT in pixels, such as 3840x2160")?;
    Some(size).filter(|size| size.min_element() > 0).filter(is_allowed).ok_or(expected)
}

/// Parses the size of a picture. Each side must be 1 to `MAX_SIDE` pixels.
pub(crate) fn picture_size(text: &str) -> Result<UVec2, String> {
    let expected = format!("width and height must be 1 to {MAX_SIDE} pixels");
    size(text, |size| size.max_element() <= MAX_SIDE, expected)
}

/// Parses the size of a panorama. Each side must be 1 to `MAX_CANVAS_SIDE` pixels, and the area at most
/// `MAX_CANVAS_AREA`.
pub(crate) fn canvas_size(text: &str) -> Result<UVec2, String> {
    let is_allowed = |size: &UVec2| {
        let area = u64::from(size.x) * u64::from(size.y);
        size.max_element() <= MAX_CANVAS_SIDE && area <= MAX_CANVAS_AREA
    };
    let expected = format!(
        "width and height must be 1 to {MAX_CANVAS_SIDE} pixels, and their product at most {MAX_CANVAS_AREA}"
    );
    size(text, is_allowed, expected)
}

/// Parses one gain for all channels, or three gains for red, green and blue. Each gain must be from 0 to 1000.
pub(crate) fn gain(text: &str) -> Result<Vec3, String> {
    let gain = |word: &str| {
        let is_allowed = |gain: &f32| (0.0..=1000.0).contains(gain);
        value(word.trim(), is_allowed, "a gain must be a number from 0 to 1000")
    };
    let gains = text.split(',').map(gain).collect::<Result<Vec<_>, _>>()?;
    match gains[..] {
        [all] => Ok(Vec3::splat(all)),
        [r, g, b] => Ok(Vec3::new(r, g, b)),
        _ => Err("a gain must be one number, or three numbers as R,G,B".to_owned()),
    }
}

/// Parses a gamma, the exponent of the colour correction.
pub(crate) fn gamma(text: &str) -> Result<f32, String> {
    let is_allowed = |gamma: &f32| *gamma > 0.0 && *gamma <= 100.0;
    value(text, is_allowed, "a gamma must be greater than 0 and at most 100")
}

/// Parses the number of a camera, which is at least 1.
pub(crate) fn camera_number(text: &str) -> Result<usize, String> {
    value(text, |number| *number > 0, "a camera is a whole number; the first camera is 1")
}

/// Parses the width in pixels of the fade across a seam.
pub(crate) fn feather(text: &str) -> Result<f32, String> {
    let is_allowed = |feather: &f32| SeamOptions { feather: *feather }.check().is_ok();
    value(text, is_allowed, "a feather must be a number of pixels from 1 to 1000")
}

/// Parses the limit of the displacements of a refinement in panorama pixels.
pub(crate) fn displacement(text: &str) -> Result<RefineOptions, String> {
    let is_allowed = |limit: &f32| RefineOptions { limit: *limit }.check().is_ok();
    let limit = value(text, is_allowed, "a displacement must be a number of pixels from 1 to 256")?;
    Ok(RefineOptions { limit })
}

/// Parses the quality of encoded video (CRF).
pub(crate) fn crf(text: &str) -> Result<Crf, String> {
    let expected = "the CRF must be a whole number from 0 (lossless) to 51 (worst quality)";
    text.parse().ok().and_then(Crf::new).ok_or_else(|| expected.to_owned())
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

/// Parses the smoothing of a virtual camera's motion in seconds.
pub(crate) fn smoothing(text: &str) -> Result<f64, String> {
    let expected = format!("the smoothing must be a number of seconds from 0 to {MAX_SMOOTHING}");
    value(text, |seconds| (0.0..=MAX_SMOOTHING).contains(seconds), expected)
}

/// Parses the standard deviation of a Gaussian in pixels.
pub(crate) fn sigma(text: &str) -> Result<f32, String> {
    let expected = format!(
        "a sigma must be a number of pixels from 0.1 to {MAX_GRADIENT_SIGMA}; to find coarser features, use a smaller picture"
    );
    value(text, |sigma| (0.1..=MAX_GRADIENT_SIGMA).contains(sigma), expected)
}
