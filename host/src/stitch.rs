//! Stitching two pictures with a warp.
//!
//! [`stitch`] submits one stitch of frames that lie on a device and does not wait. [`stitch_pictures`]
//! does everything for a pair of pictures in host memory. Live video is in [`live`](crate::live).

use glam::{UVec2, Vec3};
use kernels_gpu::stitch as kernels;
use shared_types::Rgba8;
use shared_types::stitch::{BLOCK, Colour, StitchParams};
use thiserror::Error;

use crate::colour::GammaTable;
use crate::device::{DeviceError, Image, LaunchConfig, Stream};
use crate::frame::{FrameFormat, FrameView, FrameViewMut, PixelFormat};
use crate::picture::Picture;
use crate::warp::DeviceWarp;

/// How gamma is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Power {
    /// Within 2 ULP.
    Exact,
    /// The GPU's special function unit; the same picture to within one level.
    #[default]
    Fast,
    /// Read from a table in shared memory, which a kernel builds when gains or gammas change; for gains
    /// up to 2 and gammas from 0.8 to 1.2 within 0.6 of a level more. A gamma far below 1 makes it
    /// worse next to black: 0.45 by 6 levels. Levels that Y'CbCr has above white are cut off before
    /// the gain.
    Table,
}

/// What a stitch does beside warping and blending.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StitchOptions {
    /// Colour of the left camera.
    pub left: Colour,
    /// Colour of the right camera.
    pub right: Colour,
    /// How gamma is computed; of no effect where both gammas are 1.
    pub power: Power,
    /// Turns the panorama by 180°.
    pub flip: bool,
    /// Brightens both ends of the panorama.
    pub edge_boost: bool,
}

impl Default for StitchOptions {
    fn default() -> Self {
        Self {
            left: Colour::IDENTITY,
            right: Colour::IDENTITY,
            power: Power::default(),
            flip: false,
            edge_boost: false,
        }
    }
}

/// Pictures, warp and options do not go together, or the device failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StitchError {
    /// A picture is not of the size that the warp was made for.
    #[error(
        "stitching: the {side} picture is {}×{} pixels but the warp was made for {}×{}; make a warp for this size", found.x, found.y, expected.x, expected.y
    )]
    SourceSize {
        /// Which picture.
        side: &'static str,
        /// Its size.
        found: UVec2,
        /// The warp's.
        expected: UVec2,
    },
    /// The output is not of the warp's size.
    #[error("stitching: the output is {}×{} pixels but the warp makes {}×{}", found.x, found.y, expected.x, expected.y)]
    OutputSize {
        /// The output's size.
        found: UVec2,
        /// The warp's.
        expected: UVec2,
    },
    /// The two pictures are of different formats.
    #[error("stitching: the left picture is {left} but the right one {right}; convert one of them")]
    Formats {
        /// The left picture's format.
        left: FrameFormat,
        /// The right picture's format.
        right: FrameFormat,
    },
    /// A chroma plane that is not half of its luma plane in size, rounded up.
    #[error("stitching: the {which} frame's chroma is not half of its luma in size, rounded up")]
    Chroma {
        /// Which frame.
        which: &'static str,
    },
    /// A gain that is negative or not a number.
    #[error("stitching: the {side} gain is {gain}; a gain is a number from 0 to 1000")]
    Gain {
        /// Which camera.
        side: &'static str,
        /// Red, green, blue.
        gain: Vec3,
    },
    /// A gamma that is not positive, or not a number.
    #[error("stitching: the {side} gamma is {gamma}; a gamma is a number over 0, up to 100")]
    Gamma {
        /// Which camera.
        side: &'static str,
        /// The exponent.
        gamma: f32,
    },
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

impl StitchOptions {
    /// Checks gains and gammas.
    ///
    /// # Errors
    /// [`StitchError::Gain`] or [`StitchError::Gamma`].
    pub fn check(&self) -> Result<(), StitchError> {
        for (side, Colour { gain, gamma }) in [("left", self.left), ("right", self.right)] {
            if !gain.to_array().iter().all(|g| (0.0..=1000.0).contains(g)) {
                return Err(StitchError::Gain { side, gain });
            }
            if !(gamma > 0.0 && gamma <= 100.0) {
                return Err(StitchError::Gamma { side, gamma });
            }
        }
        Ok(())
    }

    fn params(&self, input: PixelFormat, output: PixelFormat) -> StitchParams {
        StitchParams {
            left: self.left,
            right: self.right,
            flip: self.flip.into(),
            edge_boost: self.edge_boost.into(),
            decode: input.encoding().to_rgb(),
            encode: output.encoding().from_rgb(),
        }
    }
}

/// Submits the stitch of `left` and `right` into `out`: one launch, whatever the formats.
///
/// [`Power::Table`] makes a table for this one stitch; [`stitch_with_table`] keeps it.
///
/// # Errors
/// [`StitchError`].
#[track_caller]
pub fn stitch<'a>(
    stream: &Stream,
    left: impl Into<FrameView<'a>>,
    right: impl Into<FrameView<'a>>,
    warp: &DeviceWarp,
    options: &StitchOptions,
    out: impl Into<FrameViewMut<'a>>,
) -> Result<(), StitchError> {
    let mut table = match options.power {
        Power::Table => Some(GammaTable::new(stream.device())?),
        _ => None,
    };
    let frames = (left.into(), right.into(), out.into());
    submit(stream, frames, warp, options, table.as_mut())
}

/// As [`stitch`] with [`Power::Table`], from a table that is rebuilt only when gains or gammas changed.
///
/// # Errors
/// [`StitchError`].
#[track_caller]
pub fn stitch_with_table<'a>(
    stream: &Stream,
    left: impl Into<FrameView<'a>>,
    right: impl Into<FrameView<'a>>,
    warp: &DeviceWarp,
    options: &StitchOptions,
    table: &mut GammaTable,
    out: impl Into<FrameViewMut<'a>>,
) -> Result<(), StitchError> {
    submit(stream, (left.into(), right.into(), out.into()), warp, options, Some(table))
}

/// Checks the sizes of two pictures, left and right, against those that a warp was made for.
pub(crate) fn check_sources(found: [UVec2; 2], expected: [UVec2; 2]) -> Result<(), StitchError> {
    for ((side, found), expected) in ["left", "right"].into_iter().zip(found).zip(expected) {
        if found != expected {
            return Err(StitchError::SourceSize { side, found, expected });
        }
    }
    Ok(())
}

#[track_caller]
fn submit(
    stream: &Stream,
    (left, right, out): (FrameView<'_>, FrameView<'_>, FrameViewMut<'_>),
    warp: &DeviceWarp,
    options: &StitchOptions,
    table: Option<&mut GammaTable>,
) -> Result<(), StitchError> {
    options.check()?;
    let (input, output) = (left.format(), out.format());
    if input.pixels != right.format().pixels {
        return Err(StitchError::Formats { left: input, right: right.format() });
    }
    check_sources([input.size, right.format().size], warp.sources())?;
    if output.size != warp.size() {
        return Err(StitchError::OutputSize { found: output.size, expected: warp.size() });
    }
    let whole =
        [("left", left.is_whole()), ("right", right.is_whole()), ("output", out.is_whole())];
    if let Some(&(which, _)) = whole.iter().find(|(_, whole)| !whole) {
        return Err(StitchError::Chroma { which });
    }
    warp.await_ready(stream)?;
    let [planes_left, planes_right] = warp.planes()?;
    let linear = options.left.gamma == 1.0 && options.right.gamma == 1.0;
    let params = options.params(input.pixels, output.pixels);
    let gamma = match (table, options.power) {
        (Some(table), _) => {
            table.update(stream, options.left, options.right)?;
            Gamma::Table(table)
        }
        _ if linear => Gamma::Linear,
        (None, Power::Exact) => Gamma::Exact,
        (None, Power::Fast | Power::Table) => Gamma::Fast,
    };
    // A thread makes a pixel, or the four of a chroma sample.
    let cell = if let FrameViewMut::Nv12(..) = out { 2 } else { 1 };
    let [columns, rows] = output.size.to_array().map(|side| side.div_ceil(cell));
    let config = LaunchConfig::cover(columns, rows, BLOCK);
    /// All kernels take these arguments, and some a table.
    macro_rules! launch {
        ($kernel:ident, $left:ident, $right:ident, $out:ident $(, $table:ident)?) => {
            stream.launch(&config, &kernels::$kernel {
                left: $left,
                right: $right,
                planes_left,
                planes_right,
                $($table: $table.view(),)?
                params,
                out: $out,
            })
        };
    }
    /// The four kernels of one pair of formats.
    macro_rules! launch_one_of {
        ($left:ident, $right:ident, $out:ident: $linear:ident $exact:ident $fast:ident $by_table:ident) => {
            match gamma {
                Gamma::Linear => launch!($linear, $left, $right, $out),
                Gamma::Exact => launch!($exact, $left, $right, $out),
                Gamma::Fast => launch!($fast, $left, $right, $out),
                Gamma::Table(table) => launch!($by_table, $left, $right, $out, table),
            }
        };
    }
    use {FrameView as In, FrameViewMut as Out};
    match (left, right, out) {
        (In::Rgba8(l), In::Rgba8(r), Out::Rgba8(out)) => launch_one_of!(l, r, out:
            StitchPlanesLinear StitchPlanesExact StitchPlanesFast StitchPlanesTable),
        (In::Nv12(l, _), In::Nv12(r, _), Out::Nv12(out, _)) => launch_one_of!(l, r, out:
            StitchPlanesNv12Linear StitchPlanesNv12Exact StitchPlanesNv12Fast StitchPlanesNv12Table),
        (In::Nv12(l, _), In::Nv12(r, _), Out::Rgba8(out)) => launch_one_of!(l, r, out:
            StitchPlanesNv12Rgba8Linear StitchPlanesNv12Rgba8Exact StitchPlanesNv12Rgba8Fast
            StitchPlanesNv12Rgba8Table),
        (In::Rgba8(l), In::Rgba8(r), Out::Nv12(out, _)) => launch_one_of!(l, r, out:
            StitchPlanesRgba8Nv12Linear StitchPlanesRgba8Nv12Exact StitchPlanesRgba8Nv12Fast
            StitchPlanesRgba8Nv12Table),
        (left, right, _) => {
            let (left, right) = (left.format(), right.format());
            return Err(StitchError::Formats { left, right });
        }
    }
    .map_err(StitchError::from)
}

/// How a launch computes gamma.
enum Gamma<'a> {
    Linear,
    Exact,
    Fast,
    Table(&'a GammaTable),
}

/// Stitches two pictures on the stream's device and waits for the panorama.
///
/// # Errors
/// [`StitchError`].
#[track_caller]
pub fn stitch_pictures(
    stream: &Stream,
    left: &Picture,
    right: &Picture,
    warp: &DeviceWarp,
    options: &StitchOptions,
) -> Result<Picture, StitchError> {
    let [left, right] = [left, right].map(|picture| Image::from_picture(stream, picture));
    let (left, right) = (left?, right?);
    let UVec2 { x, y } = warp.size();
    let mut out = Image::new(stream.device(), x, y)?;
    stitch(stream, &left, &right, warp, options, &mut out)?;
    let mut panorama = Picture::filled(x, y, Rgba8::BLACK);
    out.download_to(stream, panorama.pixels_mut())?;
    Ok(panorama)
}
