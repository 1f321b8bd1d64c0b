//! Stitches two pictures by a warp.
//!
//! [`stitch`] submits one stitch of frames in device memory without waiting. [`stitch_pictures`] does everything for a
//! pair of pictures in host memory. Live video is in [`live`](crate::live).

mod gamma_table;
mod mesh;
mod planes;

use glam::{UVec2, Vec3};
use shared_types::Rgba8;
use shared_types::stitch::{Colour, StitchParams};
use thiserror::Error;

use crate::device::{DeviceError, Image, Stream};
use crate::frame::{FrameFormat, FrameView, FrameViewMut, PixelFormat, Textured};
use crate::io::picture::Picture;
use crate::lock::lock;
use crate::warp::{DeviceWarp, RenderError};

pub use gamma_table::GammaTable;
pub use mesh::{CamerasOptions, stitch_cameras};

/// The computation of gamma.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Power {
    /// The power function, within 2 ULP.
    Exact,
    /// The GPU's special function unit. The picture differs by at most one level.
    #[default]
    Fast,
    /// A table in shared memory. A kernel rebuilds it when gains or gammas change. The table adds an error of at most 0.6
    /// level for gains up to 2 and gammas from 0.8 to 1.2. A gamma far below 1 increases it near black: 0.45 by 6
    /// levels. Y'CbCr levels above white are clipped before the gain.
    Table,
}

/// The way a stitch finds source coordinates.
///
/// A lookup falls back to [`Planes`](Self::Planes) in three cases: [`Power::Exact`] or [`Power::Table`] with a gamma
/// other than 1; frames that the device cannot read as textures, because their rows are not aligned; and NV12 flipped
/// by [`Mesh`](Self::Mesh) to an odd number of columns or rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Lookup {
    /// A compact mesh, within 1/32 pixel of the planes, and samples by the texture unit with 8-bit weights. From NV12
    /// to NV12, four pixels that share chroma share its sample if one patch of the mesh covers a whole tile. By far
    /// the fastest.
    #[default]
    Mesh,
    /// The warp's planes, and samples in floating point: the reference.
    Planes,
    /// The planes through the texture unit, with the same result as [`Planes`](Self::Planes).
    TexturedPlanes,
    /// The planes, and samples by the texture unit.
    HardwareBilinear,
}

impl Lookup {
    /// Every lookup.
    pub const ALL: [Self; 4] =
        [Self::Mesh, Self::Planes, Self::TexturedPlanes, Self::HardwareBilinear];

    /// Returns the name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mesh => "mesh",
            Self::Planes => "planes",
            Self::TexturedPlanes => "textured-planes",
            Self::HardwareBilinear => "hardware-bilinear",
        }
    }
}

/// Colour, orientation and lookup of a stitch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StitchOptions {
    /// Colour of the left camera.
    pub left: Colour,
    /// Colour of the right camera.
    pub right: Colour,
    /// The computation of gamma. It has no effect if both gammas are 1.
    pub power: Power,
    /// Rotates the panorama by 180°.
    pub flip: bool,
    /// Brightens both ends of the panorama.
    pub edge_boost: bool,
    /// The way source coordinates are found.
    pub lookup: Lookup,
}

impl Default for StitchOptions {
    fn default() -> Self {
        Self {
            left: Colour::IDENTITY,
            right: Colour::IDENTITY,
            power: Power::default(),
            flip: false,
            edge_boost: false,
            lookup: Lookup::default(),
        }
    }
}

/// Pictures, warp and options do not match, or the device failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StitchError {
    /// A picture has another size than the warp expects.
    #[error(
        "stitching: the {side} picture is {}×{} pixels but the warp was made for {}×{}; make a warp for this size", found.x, found.y, expected.x, expected.y
    )]
    SourceSize {
        /// The picture.
        side: &'static str,
        /// Its size.
        found: UVec2,
        /// The size that the warp expects.
        expected: UVec2,
    },
    /// The output has another size than the warp.
    #[error("stitching: the output is {}×{} pixels but the warp makes {}×{}", found.x, found.y, expected.x, expected.y)]
    OutputSize {
        /// The output's size.
        found: UVec2,
        /// The warp's size.
        expected: UVec2,
    },
    /// The pictures have different formats.
    #[error("stitching: the pictures are of two formats, {left} and {right}; convert one of them")]
    Formats {
        /// The format of the left picture, or of the first of several.
        left: FrameFormat,
        /// The format of the right picture, or of the first one that differs.
        right: FrameFormat,
    },
    /// A chroma plane is not half of its luma plane in size, rounded up.
    #[error("stitching: the {which} frame's chroma is not half of its luma in size, rounded up")]
    Chroma {
        /// The frame.
        which: &'static str,
    },
    /// A gain is negative or not a number.
    #[error("stitching: the {side} gain is {gain}; a gain is a number from 0 to 1000")]
    Gain {
        /// The camera.
        side: &'static str,
        /// Red, green, blue.
        gain: Vec3,
    },
    /// A gamma is not positive, or not a number.
    #[error("stitching: the {side} gamma is {gamma}; a gamma is a number over 0, up to 100")]
    Gamma {
        /// The camera.
        side: &'static str,
        /// The exponent.
        gamma: f32,
    },
    /// The number of frames or colours differs from the number of the mesh's cameras.
    #[error(
        "stitching: {found} frames and colours, but the mesh was made of {expected} cameras; give one of each for every camera"
    )]
    Cameras {
        /// The number of frames, or of colours.
        found: usize,
        /// The number of the mesh's cameras.
        expected: usize,
    },
    /// The device cannot read a frame's rows as a texture, and there is no other way.
    #[error(
        "stitching: frame {0}'s rows do not begin where textures of this device do; copy it into a frame of its own"
    )]
    Unaligned(usize),
    /// This NV12 panorama cannot be flipped.
    #[error("stitching: NV12 of {}×{} pixels cannot be flipped; use even sides, or RGBA", .0.x, .0.y)]
    Flip(UVec2),
    /// The warp's mesh could not be computed.
    #[error("stitching: making the warp's mesh: {0}")]
    Mesh(#[source] RenderError),
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

impl StitchOptions {
    /// Checks gains and gammas.
    ///
    /// # Errors
    /// Returns [`StitchError::Gain`] or [`StitchError::Gamma`].
    pub fn check(&self) -> Result<(), StitchError> {
        check_colour("left", self.left)?;
        check_colour("right", self.right)
    }

    /// Returns whether all gammas are 1.
    fn is_linear(&self) -> bool {
        self.left.gamma == 1.0 && self.right.gamma == 1.0
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

/// Checks a camera's gains and gamma.
fn check_colour(side: &'static str, Colour { gain, gamma }: Colour) -> Result<(), StitchError> {
    if !gain.to_array().iter().all(|g| (0.0..=1000.0).contains(g)) {
        return Err(StitchError::Gain { side, gain });
    }
    if !(gamma > 0.0 && gamma <= 100.0) {
        return Err(StitchError::Gamma { side, gamma });
    }
    Ok(())
}

/// Submits the stitch of `left` and `right` into `out`: one launch for any formats.
///
/// The first stitch with [`Lookup::Mesh`] waits for the computation of the warp's [mesh](DeviceWarp::mesh).
///
/// [`Power::Table`] builds a table for this one stitch; [`stitch_with_table`] keeps it.
///
/// # Errors
/// Returns [`StitchError`] if pictures, warp and options do not match, or the device fails.
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

/// Stitches as [`stitch`] with [`Power::Table`] does, from a table that is rebuilt only if gains or gammas changed.
///
/// # Errors
/// Returns [`StitchError`] if pictures, warp and options do not match, or the device fails.
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

/// Checks the sizes of two pictures, left and right, against those that a warp expects.
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
    // Held until the launch is submitted, so that no texture is evicted before.
    let mut textures = lock(warp.textures());
    let mut textured = || {
        let mut textured = |frame| Textured::of(stream.device(), &mut textures, frame);
        Ok::<_, DeviceError>(textured(&left)?.zip(textured(&right)?))
    };
    match options.lookup {
        // Only the plane kernels support other powers than the fast ones, and tables.
        _ if table.is_some() || (options.power != Power::Fast && !options.is_linear()) => {}
        Lookup::Planes => {}
        Lookup::Mesh if !mesh::supports_flip(options.flip, output) => {}
        Lookup::Mesh => {
            if let Some((left, right)) = textured()? {
                let mesh = warp.mesh(stream).map_err(StitchError::Mesh)?;
                let colours = [options.left, options.right];
                let params =
                    mesh::params(&colours, options.flip, options.edge_boost, input, output);
                return mesh::launch(stream, &[left, right], mesh, params, out);
            }
        }
        Lookup::HardwareBilinear => {
            if let Some(frames) = textured()? {
                return planes::launch_hardware(stream, frames, warp, options, out);
            }
        }
        Lookup::TexturedPlanes => {
            if let Some(planes) = planes::textured(stream, &mut textures, warp)? {
                return planes::launch_textured(stream, (left, right), planes, options, out);
            }
        }
    }
    planes::launch(stream, (left, right), warp, options, table, out)
}

/// Stitches two pictures on the stream's device and waits for the panorama. For a warp that is used once,
/// [`Lookup::Planes`] avoids the computation of a mesh.
///
/// # Errors
/// Returns [`StitchError`] if pictures, warp and options do not match, or the device fails.
#[track_caller]
pub fn stitch_pictures(
    stream: &Stream,
    left: &Picture,
    right: &Picture,
    warp: &DeviceWarp,
    options: &StitchOptions,
) -> Result<Picture, StitchError> {
    let [left, right] = [left, right].map(|picture| picture.upload(stream));
    let (left, right) = (left?, right?);
    let UVec2 { x, y } = warp.size();
    let mut out = Image::new(stream.device(), x, y)?;
    stitch(stream, &left, &right, warp, options, &mut out)?;
    let mut panorama = Picture::filled(x, y, Rgba8::BLACK);
    out.download_to(stream, panorama.pixels_mut())?;
    Ok(panorama)
}
