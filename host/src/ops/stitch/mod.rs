//! Stitches frames and pictures with a warp.
//!
//! [`stitch`] submits the stitch of one frame per camera in device memory without waiting. [`stitch_pictures`] stitches
//! pictures in host memory in one call. [`stitch_cameras`] needs only a mesh instead of a whole warp.
//! [`live`](crate::live) stitches live video.

mod covers;
mod gamma_table;
mod mesh;
mod per_camera;
mod planes;
pub(crate) mod sum;

use glam::{UVec2, Vec3};
use shared_types::stitch::{Colour, MAX_CAMERAS, StitchParams};
use thiserror::Error;

use crate::device::{DeviceError, Image, Stream};
use crate::frame::{FrameFormat, FrameView, FrameViewMut, PixelFormat, Textured};
use crate::io::picture::{Picture, Pixel};
use crate::lock::lock;
use crate::warp::{DeviceWarp, RenderError, camera_name};
use sum::{LayerView, SumView};

pub use covers::Covers;
pub use gamma_table::GammaTable;
pub use mesh::{CamerasOptions, stitch_cameras};
pub use per_camera::{Colours, PerCamera, Vignettes};

/// The method to compute the power function of a gamma correction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Power {
    /// The power function in f32 arithmetic, with an error of at most 2 ULP (units in the last place).
    Exact,
    /// The power function of the GPU's special function unit. Output levels differ from those of [`Exact`](Self::Exact)
    /// by at most one.
    #[default]
    Fast,
    /// A table with one entry per 8-bit level, between which the kernel interpolates. Another kernel rebuilds the table
    /// when gains or gammas change. Compared with [`Exact`](Self::Exact), the interpolation adds an error of at most
    /// 0.6 levels for gains up to 2 and gammas from 0.8 to 1.2. For a gamma of 0.45, the error near black is 6 levels.
    /// Y'CbCr levels above white are clipped before the gain is applied. A stitch of more than two cameras, of frames with
    /// different pixel formats, of 10-bit frames, of 16-bit pictures, with a colour that [covers](Covers) a camera, with
    /// a [shoulder](Colour::shoulder), or with vignetting uses [`Exact`](Self::Exact) instead.
    Table,
}

/// The way a stitch finds the source coordinates of each panorama pixel.
///
/// In the following cases, a stitch uses [`Planes`](Self::Planes) instead of the requested lookup:
///
/// - [`Power::Exact`] or [`Power::Table`] with a gamma other than 1
/// - frames or planes that the device cannot read as textures, because their rows are not aligned
/// - frames with different pixel formats
/// - for [`Mesh`](Self::Mesh), colours with a [shoulder](Colour::shoulder) and a gain other than 1
/// - [pictures](stitch_pictures) with 16 bits per channel, except with [`Cubic`](Self::Cubic)
/// - 10-bit frames (P010) with an output that is not P010, or the reverse
/// - for [`TexturedPlanes`](Self::TexturedPlanes) and [`HardwareBilinear`](Self::HardwareBilinear), 10-bit frames
/// - for [`TexturedPlanes`](Self::TexturedPlanes) and [`HardwareBilinear`](Self::HardwareBilinear), more than two
///   cameras
/// - for [`TexturedPlanes`](Self::TexturedPlanes) and [`HardwareBilinear`](Self::HardwareBilinear), a colour that
///   [covers](Covers) a camera
/// - for [`Mesh`](Self::Mesh), a flipped NV12 or P010 panorama with an odd number of columns or rows
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Lookup {
    /// Evaluates a compact mesh, which is within 1/32 source pixel of the warp's planes. The texture unit samples the
    /// frames with 8-bit weights. If frames and panorama are NV12 or P010, the four pixels of a chroma sample share one
    /// chroma lookup, provided that one patch of the mesh covers their whole tile of 32×32 pixels. For RGBA panoramas
    /// of 5700×1900 pixels, this lookup is three times as fast as [`Planes`](Self::Planes) on an H100.
    #[default]
    Mesh,
    /// Reads the warp's planes and samples the frames in floating point. The results of all other lookups are compared
    /// with this lookup.
    Planes,
    /// Reads the warp's planes through the texture unit. The result is the same as with [`Planes`](Self::Planes).
    TexturedPlanes,
    /// Reads the warp's planes. The texture unit samples the frames with 8-bit weights.
    HardwareBilinear,
    /// Reads the warp's planes, and samples the frames with a cubic filter, except the chroma of NV12. The panorama is
    /// sharper than with the other lookups: on photographs, its signal-to-noise ratio is 0.7 to 1.6 dB higher. Always
    /// uses [`Power::Exact`] and, for any number of cameras, the launches of [`Planes`](Self::Planes) for more than
    /// two. A camera that a colour [covers](Covers) and 10-bit frames are sampled bilinearly.
    Cubic,
}

impl Lookup {
    /// All lookups, in the order of their declaration.
    pub const ALL: [Self; 5] =
        [Self::Mesh, Self::Planes, Self::TexturedPlanes, Self::HardwareBilinear, Self::Cubic];

    /// Returns the lookup's name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mesh => "mesh",
            Self::Planes => "planes",
            Self::TexturedPlanes => "textured-planes",
            Self::HardwareBilinear => "hardware-bilinear",
            Self::Cubic => "cubic",
        }
    }
}

/// The options of a stitch: colour corrections, orientation, edge boost and lookup.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StitchOptions {
    /// The colour correction of each camera.
    pub colours: Colours,
    /// The vignette of each camera.
    pub vignettes: Vignettes,
    /// The method to compute the power function of a gamma correction. It has no effect if all gammas are 1.
    pub power: Power,
    /// Whether to rotate the panorama by 180°.
    pub flip: bool,
    /// Whether to brighten the left and the right tenth of the panorama, by a factor that rises to 1.35 at the edges.
    pub edge_boost: bool,
    /// The way the stitch finds source coordinates.
    pub lookup: Lookup,
    /// The colour that replaces parts of the cameras' pictures.
    pub covers: Covers,
}

impl Default for StitchOptions {
    fn default() -> Self {
        Self {
            colours: Colours::IDENTITY,
            vignettes: Vignettes::NONE,
            power: Power::default(),
            flip: false,
            edge_boost: false,
            lookup: Lookup::default(),
            covers: Covers::NONE,
        }
    }
}

/// The error if pictures, warp and options do not match, or the device failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StitchError {
    /// A picture does not have the source size of the warp.
    #[error(
        "stitching: the {side} picture is {}×{} pixels, but the warp was made for {}×{}; make a warp for this size", found.x, found.y, expected.x, expected.y
    )]
    SourceSize {
        /// The name of the picture, such as `left`.
        side: &'static str,
        /// The picture's size.
        found: UVec2,
        /// The size that the warp expects.
        expected: UVec2,
    },
    /// The output does not have the size of the warp.
    #[error("stitching: the output is {}×{} pixels; it must have the warp's size, {}×{}", found.x, found.y, expected.x, expected.y)]
    OutputSize {
        /// The output's size.
        found: UVec2,
        /// The warp's size.
        expected: UVec2,
    },
    /// The pictures have different formats.
    #[error(
        "stitching: the pictures have different formats, {left} and {right}; convert one of them"
    )]
    Formats {
        /// The format of the left picture, or of the first of several.
        left: FrameFormat,
        /// The format of the right picture, or of the first one that differs.
        right: FrameFormat,
    },
    /// Some of the frames and the output are P010, and others are not. Only [`stitch`] with [`Lookup::Planes`] combines
    /// them.
    #[error(
        "stitching: {first} and {other} cannot be combined here; use P010 for all frames and for the output, or for none of them"
    )]
    Depths {
        /// The format of the first frame.
        first: FrameFormat,
        /// The format of the first frame or output of another depth.
        other: FrameFormat,
    },
    /// A chroma plane does not have half the width and height of the luma plane, rounded up.
    #[error(
        "stitching: the {which} frame's chroma plane must have half the width and height of its luma plane, rounded up"
    )]
    Chroma {
        /// The name of the frame, such as `left`.
        which: &'static str,
    },
    /// A gain is out of range: it must be 0 to 1000.
    #[error("stitching: the {side} camera's gains are {gain}; each must be 0 to 1000")]
    Gain {
        /// The name of the camera, such as `left`.
        side: &'static str,
        /// The gains of red, green and blue.
        gain: Vec3,
    },
    /// A gamma is out of range: it must be greater than 0 and at most 100.
    #[error(
        "stitching: the {side} camera's gamma is {gamma}; it must be greater than 0 and at most 100"
    )]
    Gamma {
        /// The name of the camera, such as `left`.
        side: &'static str,
        /// The gamma.
        gamma: f32,
    },
    /// A shoulder is out of range.
    #[error("stitching: the {side} camera's shoulder is {shoulder}; it must be 0 to 1")]
    Shoulder {
        /// The name of the camera, such as `left`.
        side: &'static str,
        /// The shoulder.
        shoulder: f32,
    },
    /// A shoulder was given to a stitch that has only a mesh, whose kernels have no shoulder.
    #[error(
        "stitching: a stitch with only a mesh cannot keep highlights; set the {0} camera's shoulder to 0, or stitch with a warp"
    )]
    MeshShoulder(&'static str),
    /// The number of frames, or of colours, differs from the number of cameras.
    #[error(
        "stitching: {found} frames or colours were passed, but there are {expected} cameras; pass one frame and one colour per camera"
    )]
    Cameras {
        /// The number of frames, or of colours.
        found: usize,
        /// The number of cameras of the warp or mesh.
        expected: usize,
    },
    /// The device cannot read a frame as textures, because the frame's rows are not aligned.
    #[error(
        "stitching: the rows of frame {0} (counted from 0) are not aligned for textures on this device; copy it to a `DeviceFrame`"
    )]
    Unaligned(usize),
    /// The mesh kernels cannot flip an NV12 or P010 panorama that has an odd width or height.
    #[error("stitching: an NV12 or P010 panorama of {}×{} pixels cannot be flipped; use an even width and height, or RGBA", .0.x, .0.y)]
    Flip(UVec2),
    /// The warp's mesh could not be computed.
    #[error("stitching: cannot compute the warp's mesh: {0}")]
    Mesh(#[source] RenderError),
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

impl StitchOptions {
    /// Checks the colour corrections of the first `cameras` cameras: gains must be 0 to 1000, gammas greater than 0 and
    /// at most 100, and shoulders 0 to 1.
    ///
    /// # Errors
    /// Returns [`StitchError::Gain`], [`StitchError::Gamma`] or [`StitchError::Shoulder`] if a value is out of range.
    pub fn check(&self, cameras: usize) -> Result<(), StitchError> {
        let mut colours = self.colours.iter().take(cameras).enumerate();
        colours.try_for_each(|(camera, colour)| check_colour(camera_name(camera, cameras), *colour))
    }

    /// Returns whether a shoulder changes the colours of any of the first `cameras` cameras.
    pub(crate) fn has_shoulder(&self, cameras: usize) -> bool {
        (0..cameras.min(MAX_CAMERAS))
            .any(|camera| self.colours[camera].has_shoulder(&self.vignettes[camera]))
    }

    /// Returns whether all gammas are 1.
    fn is_linear(&self) -> bool {
        self.colours.iter().all(|colour| colour.gamma == 1.0)
    }

    /// Returns the parameters for the kernels of two cameras.
    fn params(&self, input: PixelFormat, output: PixelFormat) -> StitchParams {
        StitchParams {
            left: self.colours[0],
            right: self.colours[1],
            left_vignette: self.vignettes[0],
            right_vignette: self.vignettes[1],
            flip: self.flip.into(),
            edge_boost: self.edge_boost.into(),
            decode: input.to_rgb(),
            encode: output.to_yuv(),
        }
    }
}

/// Checks a camera's gains, gamma and shoulder.
fn check_colour(side: &'static str, colour: Colour) -> Result<(), StitchError> {
    let Colour { gain, gamma, shoulder } = colour;
    if !gain.to_array().iter().all(|g| (0.0..=1000.0).contains(g)) {
        return Err(StitchError::Gain { side, gain });
    }
    if !(gamma > 0.0 && gamma <= 100.0) {
        return Err(StitchError::Gamma { side, gamma });
    }
    if !(0.0..=1.0).contains(&shoulder) {
        return Err(StitchError::Shoulder { side, shoulder });
    }
    Ok(())
}

/// Submits the stitch of one frame per camera of `warp` into `out` without waiting. With [`Lookup::Mesh`], and for two
/// cameras with every lookup but [`Lookup::Cubic`], the stitch is a single launch. With more than two cameras,
/// [`Lookup::Planes`] takes one launch per camera and one more, and 16 bytes of device memory per panorama pixel, which
/// `warp` keeps. So do frames that differ in their pixel formats, 10-bit frames or outputs, and a colour that
/// [covers](Covers) a camera.
///
/// The first stitch with [`Lookup::Mesh`] waits for the computation of the warp's [mesh](DeviceWarp::mesh).
///
/// With [`Power::Table`], each call builds a new table. [`stitch_with_table`] reuses a table.
///
/// # Errors
/// Returns [`StitchError`] if frames, warp and options do not match, or the device fails.
#[track_caller]
pub fn stitch<'a>(
    stream: &Stream,
    frames: &[FrameView<'_>],
    warp: &DeviceWarp,
    options: &StitchOptions,
    out: impl Into<FrameViewMut<'a>>,
) -> Result<(), StitchError> {
    let mut table = match options.power {
        Power::Table => Some(GammaTable::new(stream.device())?),
        _ => None,
    };
    submit(stream, (frames, out.into()), warp, options, table.as_mut())
}

/// Submits a stitch like [`stitch`] with [`Power::Table`], but rebuilds `table` only if gains or gammas have changed
/// since the last call. Ignores `options.power`.
///
/// # Errors
/// Returns [`StitchError`] if frames, warp and options do not match, or the device fails.
#[track_caller]
pub fn stitch_with_table<'a>(
    stream: &Stream,
    frames: &[FrameView<'_>],
    warp: &DeviceWarp,
    options: &StitchOptions,
    table: &mut GammaTable,
    out: impl Into<FrameViewMut<'a>>,
) -> Result<(), StitchError> {
    submit(stream, (frames, out.into()), warp, options, Some(table))
}

/// Checks that there is one picture for each camera of a warp or mesh, and that the pictures have the cameras' source
/// sizes.
pub(crate) fn check_sources(found: &[UVec2], expected: &[UVec2]) -> Result<(), StitchError> {
    let cameras = expected.len();
    if found.len() != cameras {
        return Err(StitchError::Cameras { found: found.len(), expected: cameras });
    }
    for (camera, (&found, &expected)) in found.iter().zip(expected).enumerate() {
        if found != expected {
            let side = camera_name(camera, cameras);
            return Err(StitchError::SourceSize { side, found, expected });
        }
    }
    Ok(())
}

/// Checks the number and the sizes of frames like [`check_sources`], and that their chroma planes are complete.
pub(crate) fn check_frames(frames: &[FrameView<'_>], sources: &[UVec2]) -> Result<(), StitchError> {
    let sizes: Vec<_> = frames.iter().map(|frame| frame.format().size).collect();
    check_sources(&sizes, sources)?;
    match frames.iter().position(|frame| !frame.is_whole()) {
        Some(camera) => Err(StitchError::Chroma { which: camera_name(camera, frames.len()) }),
        None => Ok(()),
    }
}

/// Checks that an output has the size of the panorama, and that its chroma plane is complete.
pub(crate) fn check_output(out: &FrameViewMut<'_>, expected: UVec2) -> Result<(), StitchError> {
    check_size(out.format().size, expected)?;
    if !out.is_whole() {
        return Err(StitchError::Chroma { which: "output" });
    }
    Ok(())
}

/// Checks that an output has the size of the panorama.
pub(crate) fn check_size(found: UVec2, expected: UVec2) -> Result<(), StitchError> {
    if found != expected {
        return Err(StitchError::OutputSize { found, expected });
    }
    Ok(())
}

/// Checks that all frames have the pixel format of the first one, and returns the first one's format.
pub(crate) fn common_format(frames: &[FrameView<'_>]) -> Result<FrameFormat, StitchError> {
    let [first, ..] = frames else {
        return Err(StitchError::Cameras { found: 0, expected: 2 });
    };
    let left = first.format();
    match frames.iter().map(FrameView::format).find(|format| format.pixels != left.pixels) {
        Some(right) => Err(StitchError::Formats { left, right }),
        None => Ok(left),
    }
}

/// Checks that either all or none of the formats are P010.
pub(crate) fn check_depths(
    formats: impl IntoIterator<Item = FrameFormat>,
) -> Result<(), StitchError> {
    let mut formats = formats.into_iter();
    let Some(first) = formats.next() else { return Ok(()) };
    match formats.find(|format| format.pixels.bits() != first.pixels.bits()) {
        Some(other) => Err(StitchError::Depths { first, other }),
        None => Ok(()),
    }
}

#[track_caller]
fn submit(
    stream: &Stream,
    (frames, out): (&[FrameView<'_>], FrameViewMut<'_>),
    warp: &DeviceWarp,
    options: &StitchOptions,
    table: Option<&mut GammaTable>,
) -> Result<(), StitchError> {
    options.check(warp.sources().len())?;
    let output = out.format();
    check_frames(frames, warp.sources())?;
    check_output(&out, warp.size())?;
    let alike = common_format(frames).is_ok();
    let formats = || frames.iter().map(FrameView::format).chain([output]);
    let deep = formats().any(|format| format.pixels.bits() > 8);
    let same_depth = check_depths(formats()).is_ok();
    let covered = options.covers.covers_any(frames.len());
    // Hold the lock until the launch is submitted, so that no other thread evicts the textures that this launch uses.
    let mut textures = lock(warp.textures());
    let mut textured = || -> Result<Option<Vec<_>>, DeviceError> {
        frames.iter().map(|frame| Textured::of(stream.device(), &mut textures, frame)).collect()
    };
    match options.lookup {
        // Only the kernels of `planes::launch` support gamma tables and powers other than `Power::Fast`.
        _ if table.is_some() || (options.power != Power::Fast && !options.is_linear()) => {}
        Lookup::Planes | Lookup::Cubic => {}
        Lookup::Mesh if !mesh::supports_flip(options.flip, output) || !same_depth => {}
        // The kernels that read a mesh have no shoulder.
        Lookup::Mesh if options.has_shoulder(frames.len()) => {}
        Lookup::Mesh => {
            if let Some(frames) = textured()? {
                let mesh = warp.mesh(stream).map_err(StitchError::Mesh)?;
                let colours: Vec<_> = options.colours.iter().take(frames.len()).copied().collect();
                let params = mesh::params(options.flip, options.edge_boost, output);
                let gradings =
                    mesh::gradings(&frames, &colours, &options.vignettes, &options.covers);
                return mesh::launch(stream, (&frames, &gradings), mesh, params, out);
            }
        }
        _ if frames.len() > 2 || !alike || covered || deep => {}
        Lookup::HardwareBilinear => {
            if let Some(&[left, right]) = textured()?.as_deref() {
                return planes::launch_hardware(stream, (left, right), warp, options, out);
            }
        }
        Lookup::TexturedPlanes => {
            if let (Some(planes), &[left, right]) =
                (planes::textured(stream, &mut textures, warp)?, frames)
            {
                return planes::launch_textured(stream, (left, right), planes, options, out);
            }
        }
    }
    match *frames {
        [left, right] if alike && !covered && !deep && options.lookup != Lookup::Cubic => {
            planes::launch(stream, (left, right), warp, options, table, out)
        }
        _ => {
            let pictures: Vec<_> = frames.iter().map(|&frame| LayerView::Frame(frame)).collect();
            sum::launch(stream, &pictures, warp, options, SumView::Frame(out))
        }
    }
}

/// Stitches one picture per camera of `warp` on the stream's device and waits for the panorama. For a warp that is used
/// only once, use [`Lookup::Planes`], which needs no mesh.
///
/// Transparent pixels count like all others. To leave them out, use
/// [`panorama::stitch_warp`](crate::panorama::stitch_warp).
///
/// # Errors
/// Returns [`StitchError`] if pictures, warp and options do not match, or the device fails.
#[track_caller]
pub fn stitch_pictures<P: Pixel>(
    stream: &Stream,
    pictures: &[&Picture<P>],
    warp: &DeviceWarp,
    options: &StitchOptions,
) -> Result<Picture<P>, StitchError> {
    let images = Picture::upload_all(stream, pictures)?;
    let UVec2 { x, y } = warp.size();
    let mut out = Image::new(stream.device(), x, y)?;
    stitch_images(stream, &images, warp, options, &mut out)?;
    Ok(Picture::download(stream, &out)?)
}

/// Submits the stitch of one still picture per camera of `warp` into `out` without waiting, like [`stitch`]. Pictures
/// with 16 bits per channel always take the launches of more than two cameras.
///
/// # Errors
/// Returns [`StitchError`] if images, warp and options do not match, or the device fails.
#[track_caller]
pub fn stitch_images<P: Pixel>(
    stream: &Stream,
    images: &[Image<P>],
    warp: &DeviceWarp,
    options: &StitchOptions,
    out: &mut Image<P>,
) -> Result<(), StitchError> {
    let pictures: Vec<_> = images.iter().map(|image| LayerView::from(P::view(image))).collect();
    match P::view_mut(out).into() {
        SumView::Frame(out) => {
            let frames: Vec<_> = pictures.into_iter().filter_map(LayerView::frame).collect();
            stitch(stream, &frames, warp, options, out)
        }
        out => {
            options.check(warp.sources().len())?;
            check_images(images, warp.sources())?;
            check_size(out.format().size, warp.size())?;
            sum::launch(stream, &pictures, warp, options, out)
        }
    }
}

/// Checks the number and the sizes of images like [`check_sources`].
pub(crate) fn check_images<P: Pixel>(
    images: &[Image<P>],
    sources: &[UVec2],
) -> Result<(), StitchError> {
    let size = |image: &Image<P>| UVec2::new(image.width(), image.height());
    check_sources(&images.iter().map(size).collect::<Vec<_>>(), sources)
}
