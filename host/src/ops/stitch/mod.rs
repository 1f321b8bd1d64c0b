//! Stitches frames and pictures with a warp.
//!
//! [`stitch`] submits the stitch of one frame per camera in device memory without waiting. [`stitch_pictures`] stitches
//! pictures in host memory in one call. [`live`](crate::live) stitches live video.

mod covers;
mod error;
mod lookup;
mod mesh;
mod per_camera;
mod planes;
pub(crate) mod sum;

use glam::UVec2;
use shared_types::stitch::{MAX_CAMERAS, StitchParams};

use crate::device::{DeviceError, Image, Stream};
use crate::frame::{FrameView, FrameViewMut, PixelFormat, Textured};
use crate::io::picture::{Picture, Pixel};
use crate::lock::lock;
use crate::warp::DeviceWarp;
use error::check_colour;
use planes::Variant;
use sum::{LayerView, SumView};

pub use covers::Covers;
pub use error::StitchError;
pub(crate) use error::{
    check_depths, check_frames, check_images, check_output, check_size, check_sources,
};
pub use lookup::Lookup;
pub(crate) use planes::config;
pub use per_camera::{Colours, PerCamera, Vignettes};

/// The options of a stitch: colour corrections, orientation, edge boost and lookup.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StitchOptions {
    /// The colour correction of each camera.
    pub colours: Colours,
    /// The vignette of each camera.
    pub vignettes: Vignettes,
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
            flip: false,
            edge_boost: false,
            lookup: Lookup::default(),
            covers: Covers::NONE,
        }
    }
}

impl StitchOptions {
    /// Checks the colour corrections of the first `cameras` cameras: gains must be 0 to 1000, gammas greater than 0 and
    /// at most 100, and shoulders 0 to 1.
    ///
    /// # Errors
    /// Returns [`StitchError::Invalid`] if a value is out of range.
    pub fn check(&self, cameras: usize) -> Result<(), StitchError> {
        self.colours.iter().take(cameras).enumerate().try_for_each(check_colour)
    }

    /// Returns whether a shoulder changes the colours of any of the first `cameras` cameras.
    pub(crate) fn has_shoulder(&self, cameras: usize) -> bool {
        (0..cameras.min(MAX_CAMERAS))
            .any(|camera| self.colours[camera].has_shoulder(&self.vignettes[camera]))
    }

    /// Returns the parameters for the kernels of two cameras.
    fn params(&self, input: PixelFormat, output: PixelFormat) -> StitchParams {
        StitchParams {
            left: self.colours[0],
            right: self.colours[1],
            left_vignette: self.vignettes[0],
            right_vignette: self.vignettes[1],
            exact: self.lookup.is_exact().into(),
            flip: self.flip.into(),
            edge_boost: self.edge_boost.into(),
            decode: input.to_rgb(),
            encode: output.to_yuv(),
        }
    }
}

/// Submits the stitch of one frame per camera of `warp` into `out` without waiting. With [`Lookup::Mesh`], and for two
/// cameras with every lookup but [`Lookup::Cubic`], the stitch is a single launch. With more than two cameras,
/// [`Lookup::Planes`] takes one launch per camera and one more, and 16 bytes of device memory per panorama pixel, which
/// `warp` keeps. So do frames that differ in their pixel formats, 10-bit frames or outputs, and a colour that
/// [covers](Covers) a camera.
///
/// The first stitch with [`Lookup::Mesh`] waits for the computation of the warp's [mesh](DeviceWarp::mesh).
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
    let out = out.into();
    options.check(warp.sources().len())?;
    check_frames(frames, warp.sources())?;
    check_output(&out, warp.size())?;
    let output = out.format();
    // Hold the lock until the launch is submitted, so that no other thread evicts the textures that this launch uses.
    let mut textures = lock(warp.textures());
    if options.lookup == Lookup::Mesh && mesh::supports(frames, options, output) {
        let textured =
            frames.iter().map(|frame| Textured::of(stream.device(), &mut textures, frame));
        if let Some(frames) = textured.collect::<Result<Option<Vec<_>>, DeviceError>>()? {
            let mesh = warp.mesh(stream).map_err(StitchError::Mesh)?;
            return mesh::launch(stream, &frames, mesh, options, out);
        }
    }
    if let Some(frames) = two_alike(frames, output.pixels, options) {
        let variant = Variant::new(stream, &mut textures, frames, warp, options)?;
        return match (variant, frames, out) {
            (
                Some(variant),
                [FrameView::Rgba8(left), FrameView::Rgba8(right)],
                FrameViewMut::Rgba8(out),
            ) => variant.launch(stream, [left, right], warp, options, out),
            (_, frames, out) => planes::launch(stream, frames, warp, options, out),
        };
    }
    let pictures: Vec<_> = frames.iter().map(|&frame| LayerView::Frame(frame)).collect();
    sum::launch(stream, &pictures, warp, options, SumView::Frame(out))
}

/// Returns the frames if one launch can stitch them by planes: two frames of one 8-bit format to 8 bits, sampled
/// bilinearly, and not covered by a colour.
fn two_alike<'a>(
    frames: &[FrameView<'a>],
    output: PixelFormat,
    options: &StitchOptions,
) -> Option<[FrameView<'a>; 2]> {
    let &[left, right] = frames else { return None };
    let pixels = left.format().pixels;
    let alike = pixels == right.format().pixels && pixels.bits() == 8 && output.bits() == 8;
    let plain = options.lookup != Lookup::Cubic && !options.covers.covers_any(2);
    (alike && plain).then_some([left, right])
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
