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
mod set;
pub(crate) mod sum;

use glam::{UVec2, Vec3};
use shared_types::photometry::Vignette;
use shared_types::stitch::{Colour, MAX_CAMERAS, StitchParams};

use crate::device::{Image, Stream};
use crate::frame::{FrameView, FrameViewMut, PixelFormat};
use crate::io::picture::{Picture, Pixel};
use crate::warp::DeviceWarp;
use error::check_colour;
use sum::SumView;

pub use covers::Covers;
pub use error::StitchError;
pub(crate) use error::{check_depths, check_size, check_sources};
pub(crate) use lookup::LookupCase;
pub use lookup::{Lookup, LookupError};
pub use per_camera::{Colours, PerCamera, Vignettes};
pub(crate) use set::{Pictures, StitchSet, Target};

/// The options of a stitch: colour corrections, orientation, edge boost and lookup.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
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

    /// Returns the colour correction of a camera as kernels with a constant colour take it, the constant, and the
    /// vignette; see [`Covers`]. Cameras beyond [`MAX_CAMERAS`] have none of them.
    pub(crate) fn correction(&self, camera: usize) -> (Colour, Vec3, Vignette) {
        if camera >= MAX_CAMERAS {
            return Default::default();
        }
        let (colour, offset) = self.covers.mixed(camera, self.colours[camera]);
        (colour, offset, self.vignettes[camera].covered(self.covers.parts[camera]))
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
/// Returns [`StitchError`] if frames, warp and options do not match, the lookup does not support them, or the device
/// fails.
#[track_caller]
pub fn stitch<'a>(
    stream: &Stream,
    frames: &[FrameView<'_>],
    warp: &DeviceWarp,
    options: &StitchOptions,
    out: impl Into<FrameViewMut<'a>>,
) -> Result<(), StitchError> {
    let set = StitchSet::new(frames.iter().copied(), warp, options)?;
    set.stitch(stream, SumView::Frame(out.into()))
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
/// Returns [`StitchError`] as [`stitch`] does.
#[track_caller]
pub fn stitch_images<P: Pixel>(
    stream: &Stream,
    images: &[Image<P>],
    warp: &DeviceWarp,
    options: &StitchOptions,
    out: &mut Image<P>,
) -> Result<(), StitchError> {
    StitchSet::new(images.iter().map(P::view), warp, options)?.stitch(stream, out.panorama())
}
