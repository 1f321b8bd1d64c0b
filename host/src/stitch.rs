//! Stitching two pictures with a warp.
//!
//! [`stitch`] submits one stitch of images that lie on a device and does not wait. [`stitch_pictures`]
//! does everything for a pair of pictures in host memory. Live video is not here.

use glam::{UVec2, Vec3};
use kernels_gpu::stitch::{StitchPlanesExact, StitchPlanesFast, StitchPlanesLinear};
use shared_types::Rgba8;
use shared_types::stitch::{BLOCK, Colour, StitchParams};
use thiserror::Error;

use crate::device::{DeviceError, Image, LaunchConfig, Stream};
use crate::picture::Picture;
use crate::warp::{DeviceWarp, Plane};

/// How gamma is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Power {
    /// Within 2 ULP.
    Exact,
    /// The GPU's special function unit; the same picture to within one level.
    #[default]
    Fast,
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

    fn params(&self) -> StitchParams {
        StitchParams {
            left: self.left,
            right: self.right,
            flip: self.flip.into(),
            edge_boost: self.edge_boost.into(),
            ..StitchParams::default()
        }
    }
}

/// Submits the stitch of `left` and `right` into `out`.
///
/// # Errors
/// [`StitchError`].
#[track_caller]
pub fn stitch(
    stream: &Stream,
    left: &Image<Rgba8>,
    right: &Image<Rgba8>,
    warp: &DeviceWarp,
    options: &StitchOptions,
    out: &mut Image<Rgba8>,
) -> Result<(), StitchError> {
    options.check()?;
    let size = |image: &Image<Rgba8>| UVec2::new(image.width(), image.height());
    for (side, image, expected) in
        [("left", left, warp.sources()[0]), ("right", right, warp.sources()[1])]
    {
        if size(image) != expected {
            return Err(StitchError::SourceSize { side, found: size(image), expected });
        }
    }
    if size(out) != warp.size() {
        return Err(StitchError::OutputSize { found: size(out), expected: warp.size() });
    }
    let config = LaunchConfig::cover(out.width(), out.height(), BLOCK);
    /// The three kernels take the same arguments.
    macro_rules! launch {
        ($kernel:ident) => {
            stream.launch(
                &config,
                &$kernel {
                    left: left.view(),
                    right: right.view(),
                    lut_left_x: warp.plane(Plane::LeftX).view(),
                    lut_left_y: warp.plane(Plane::LeftY).view(),
                    lut_right_x: warp.plane(Plane::RightX).view(),
                    lut_right_y: warp.plane(Plane::RightY).view(),
                    weight_left: warp.plane(Plane::WeightLeft).view(),
                    weight_right: warp.plane(Plane::WeightRight).view(),
                    params: options.params(),
                    out: out.view_mut(),
                },
            )
        };
    }
    let linear = options.left.gamma == 1.0 && options.right.gamma == 1.0;
    match options.power {
        _ if linear => launch!(StitchPlanesLinear),
        Power::Exact => launch!(StitchPlanesExact),
        Power::Fast => launch!(StitchPlanesFast),
    }
    .map_err(StitchError::from)
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
    let upload = |picture: &Picture| {
        Image::from_slice(stream, picture.width(), picture.height(), picture.pixels())
    };
    let (left, right) = (upload(left)?, upload(right)?);
    let UVec2 { x, y } = warp.size();
    let mut out = Image::new(stream.device(), x, y)?;
    stitch(stream, &left, &right, warp, options, &mut out)?;
    let mut panorama = Picture::filled(x, y, Rgba8::BLACK);
    out.download_to(stream, panorama.pixels_mut())?;
    Ok(panorama)
}
