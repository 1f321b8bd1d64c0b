//! Parsers of option values.

use std::num::{ParseFloatError, ParseIntError};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use glam::{UVec2, Vec3};
use panoweave::geometry::{MAX_CANVAS_AREA, MAX_CANVAS_SIDE};
use panoweave::io::picture::MAX_SIDE;
use panoweave::io::video::{Crf, VideoEncoder};
use panoweave::ops::features::{MAX_GRADIENT_SIGMA, MAX_WINDOW};
use panoweave::ops::refine::RefineOptions;
use panoweave::ops::seam::SeamOptions;
use panoweave::ops::view::MAX_SMOOTHING;
use panoweave::video::MAX_OFFSET;
use thiserror::Error;

/// The error for an invalid option value. Its text states the allowed values.
#[derive(Clone, Debug, PartialEq, Error)]
pub(crate) enum ValueError {
    #[error("a size must be WIDTHxHEIGHT in pixels, such as 3840x2160")]
    Size,
    #[error("width and height must be 1 to {MAX_SIDE} pixels")]
    Picture,
    #[error(
        "width and height must be 1 to {MAX_CANVAS_SIDE} pixels, and their product at most {MAX_CANVAS_AREA}"
    )]
    Canvas,
    #[error("a gain must be one number, or three numbers as R,G,B")]
    GainCount,
    #[error("a gain must be a number from 0 to 1000")]
    Gain,
    #[error("a gamma must be greater than 0 and at most 100")]
    Gamma,
    #[error("a camera is a whole number; the first camera is 1")]
    Camera,
    #[error("a feather must be a number of pixels from 1 to 1000")]
    Feather,
    #[error("a displacement must be a number of pixels from 1 to 256")]
    Displacement,
    #[error("a window must be an odd number of pixels from 3 to {MAX_WINDOW}")]
    Window,
    #[error("an eigenvalue must be a number that is at least 0")]
    Eigenvalue,
    #[error(
        "a sigma must be a number of pixels from 0.1 to {MAX_GRADIENT_SIGMA}; to find coarser features, use a smaller picture"
    )]
    Sigma,
    #[error("the smoothing must be a number of seconds from 0 to {MAX_SMOOTHING}")]
    Smoothing,
    #[error("the CRF must be a whole number from 0 (lossless) to 51 (worst quality)")]
    Crf,
    #[error(
        "the value must be audio, or a number of seconds from -{MAX_OFFSET} to {MAX_OFFSET} for each further video, separated by commas, as in 0.25,-1.5"
    )]
    Sync,
    #[error(
        "the value must be SCORE or NAME=SCORE with a score from 0 to 1, as in 0.9 or seam=0.9"
    )]
    Gate,
}

impl From<ParseIntError> for ValueError {
    fn from(_: ParseIntError) -> Self {
        Self::Size
    }
}

impl From<ParseFloatError> for ValueError {
    fn from(_: ParseFloatError) -> Self {
        Self::Gain
    }
}

/// Parses a whole number. Rejects a leading plus sign, which `u32::from_str` accepts.
fn whole(text: &str) -> Result<u32, ValueError> {
    if text.starts_with('+') {
        return Err(ValueError::Size);
    }
    Ok(text.parse()?)
}

/// Parses `WIDTHxHEIGHT`. Returns `None` for a side that is too large for `u32`, so that the caller can report the
/// largest allowed side.
fn sides(text: &str) -> Result<[Option<u32>; 2], ValueError> {
    let (width, height) = text.split_once(['x', 'X', '×']).ok_or(ValueError::Size)?;
    let side = |text: &str| match whole(text) {
        Ok(side) => Ok(Some(side)),
        Err(_) if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) => Ok(None),
        Err(error) => Err(error),
    };
    Ok([side(width)?, side(height)?])
}

/// Parses the size of a picture. Each side must be 1 to `MAX_SIDE` pixels.
pub(crate) fn picture_size(text: &str) -> Result<UVec2, ValueError> {
    match sides(text)? {
        [Some(w), Some(h)] if w.min(h) > 0 && w.max(h) <= MAX_SIDE => Ok(UVec2::new(w, h)),
        _ => Err(ValueError::Picture),
    }
}

/// Parses the size of a panorama. Each side must be 1 to `MAX_CANVAS_SIDE` pixels, and the area at most
/// `MAX_CANVAS_AREA`.
pub(crate) fn canvas_size(text: &str) -> Result<UVec2, ValueError> {
    match sides(text)? {
        [Some(w), Some(h)]
            if w.min(h) > 0
                && w.max(h) <= MAX_CANVAS_SIDE
                && u64::from(w) * u64::from(h) <= MAX_CANVAS_AREA =>
        {
            Ok(UVec2::new(w, h))
        }
        _ => Err(ValueError::Canvas),
    }
}

/// Parses one gain for all channels, or three gains for red, green and blue. Each gain must be from 0 to 1000.
pub(crate) fn gain(text: &str) -> Result<Vec3, ValueError> {
    let numbers: Vec<f32> =
        text.split(',').map(|word| word.trim().parse()).collect::<Result<_, _>>()?;
    let gain = match numbers[..] {
        [all] => Vec3::splat(all),
        [r, g, b] => Vec3::new(r, g, b),
        _ => return Err(ValueError::GainCount),
    };
    if gain.to_array().iter().all(|g| (0.0..=1000.0).contains(g)) {
        Ok(gain)
    } else {
        Err(ValueError::Gain)
    }
}

/// Parses a gamma, the exponent of the colour correction. It must be greater than 0 and at most 100.
pub(crate) fn gamma(text: &str) -> Result<f32, ValueError> {
    let gamma: f32 = text.parse().map_err(|_| ValueError::Gamma)?;
    if gamma > 0.0 && gamma <= 100.0 { Ok(gamma) } else { Err(ValueError::Gamma) }
}

/// Parses the number of a camera, which is at least 1.
pub(crate) fn camera_number(text: &str) -> Result<usize, ValueError> {
    text.parse().ok().filter(|number| *number > 0).ok_or(ValueError::Camera)
}

/// Parses the width of the fade across a seam: a number of pixels from 1 to 1000.
pub(crate) fn feather(text: &str) -> Result<f32, ValueError> {
    let feather = text.parse().map_err(|_| ValueError::Feather)?;
    SeamOptions { feather }.check().map_err(|_| ValueError::Feather)?;
    Ok(feather)
}

/// Parses the limit of the displacements of a refinement: a number of panorama pixels from 1 to 256.
pub(crate) fn displacement(text: &str) -> Result<RefineOptions, ValueError> {
    let options = RefineOptions { limit: text.parse().map_err(|_| ValueError::Displacement)? };
    options.check().map_err(|_| ValueError::Displacement)?;
    Ok(options)
}

/// Parses the quality of encoded video (CRF): a whole number from 0 (lossless) to 51 (worst quality).
pub(crate) fn crf(text: &str) -> Result<Crf, ValueError> {
    text.parse().ok().and_then(Crf::new).ok_or(ValueError::Crf)
}

/// Returns a parser of the name of an encoder.
pub(crate) fn encoder() -> impl TypedValueParser<Value = VideoEncoder> {
    PossibleValuesParser::new(VideoEncoder::ALL.map(VideoEncoder::name)).try_map(|name| {
        let named = VideoEncoder::ALL.into_iter().find(|encoder| encoder.name() == name);
        named.ok_or("unknown encoder; see --help for the possible values")
    })
}

/// Parses the side of the window around a feature, in pixels: an odd number from 3 to `MAX_WINDOW`.
pub(crate) fn window(text: &str) -> Result<u32, ValueError> {
    match text.parse() {
        Ok(window) if window % 2 == 1 && (3..=MAX_WINDOW).contains(&window) => Ok(window),
        _ => Err(ValueError::Window),
    }
}

/// Parses the minimum eigenvalue of a feature: a number that is at least 0.
pub(crate) fn eigenvalue(text: &str) -> Result<f32, ValueError> {
    let value: f32 = text.parse().map_err(|_| ValueError::Eigenvalue)?;
    if value >= 0.0 { Ok(value) } else { Err(ValueError::Eigenvalue) }
}

/// Parses the smoothing of a virtual camera's motion: a standard deviation from 0 to `MAX_SMOOTHING` seconds.
pub(crate) fn smoothing(text: &str) -> Result<f64, ValueError> {
    let seconds = text.parse().map_err(|_| ValueError::Smoothing)?;
    if (0.0..=MAX_SMOOTHING).contains(&seconds) { Ok(seconds) } else { Err(ValueError::Smoothing) }
}

/// Parses the standard deviation of a Gaussian: a number of pixels from 0.1 to `MAX_GRADIENT_SIGMA`.
pub(crate) fn sigma(text: &str) -> Result<f32, ValueError> {
    let sigma: f32 = text.parse().map_err(|_| ValueError::Sigma)?;
    if (0.1..=MAX_GRADIENT_SIGMA).contains(&sigma) { Ok(sigma) } else { Err(ValueError::Sigma) }
}
