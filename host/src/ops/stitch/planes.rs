//! Launches the stitch kernels that read a warp's planes, for two cameras. `sum` launches those for any number.

use cuda_std::{DeviceTexture, DeviceView, DeviceViewMut};
use glam::Vec4;
use kernels_gpu::stitch::planes as kernels;
use shared_types::Rgba8;
use shared_types::photometry::Vignette;
use shared_types::stitch::BLOCK;
use shared_types::texture::{DeviceRgba8Texture, DeviceTexturedCameraPlanes};

use super::{Lookup, StitchError, StitchOptions};
use crate::device::{DeviceError, LaunchConfig, Stream, Textures};
use crate::frame::{
    FrameFormat, FrameView, FrameViewMut, PixelFormat, Textured, launch_by_formats,
};
use crate::lock::lock;
use crate::warp::{DeviceWarp, Plane};

/// Returns a launch configuration with a thread per pixel for RGBA, and per chroma sample (four pixels) for NV12 and
/// P010.
pub(crate) fn config(out: FrameFormat) -> LaunchConfig {
    let cell = out.pixels.cell();
    let [columns, rows] = out.size.to_array().map(|side| side.div_ceil(cell));
    LaunchConfig::cover(columns, rows, BLOCK)
}

/// Launches the kernel for two frames of one 8-bit format, and an output with 8 bits.
#[track_caller]
pub(super) fn launch(
    stream: &Stream,
    [left, right]: [FrameView<'_>; 2],
    warp: &DeviceWarp,
    options: &StitchOptions,
    out: FrameViewMut<'_>,
) -> Result<(), StitchError> {
    warp.await_ready(stream)?;
    let (planes_left, planes_right) = (warp.planes(0)?, warp.planes(1)?);
    let (config, formats) = (config(out.format()), (left.format(), right.format()));
    let params = options.params(formats.0.pixels, out.format().pixels);
    macro_rules! launch {
        ($kernel:ident, $left:ident, $right:ident, $out:ident) => {{
            let (left, right, out) = ($left, $right, $out);
            stream.launch(
                &config,
                &kernels::$kernel { left, right, planes_left, planes_right, params, out },
            )
        }};
    }
    match launch_by_formats!(FrameView[left, right], out, launch:
        StitchPlanesRgba8, StitchPlanesNv12, StitchPlanesNv12Rgba8, StitchPlanesRgba8Nv12)
    {
        Some(launched) => Ok(launched?),
        None => Err(StitchError::formats(formats.0, formats.1)),
    }
}

/// A variant of the kernel for RGBA, with what it needs. The textures are valid until the [`Textures`] evict them.
pub(super) enum Variant<'a> {
    TexturedPlanes([DeviceTexturedCameraPlanes<'a>; 2]),
    HardwareBilinear([DeviceRgba8Texture<'a>; 2]),
    GammaTable,
}

impl<'a> Variant<'a> {
    /// Returns the variant for the lookup of the options. Returns `None` for the other lookups, and if the variant does
    /// not support the options or the device cannot read the memory as textures.
    #[track_caller]
    pub(super) fn new(
        stream: &Stream,
        textures: &mut Textures,
        frames: [FrameView<'a>; 2],
        warp: &'a DeviceWarp,
        options: &StitchOptions,
    ) -> Result<Option<Self>, DeviceError> {
        // A table maps each channel of levels up to white. A shoulder depends on all channels, and a vignette brightens
        // levels beyond white, which a gain below 1 can bring back.
        let fits_table = (0..2).all(|camera| {
            options.colours[camera].shoulder == 0.0 && options.vignettes[camera] == Vignette::NONE
        });
        Ok(match options.lookup {
            Lookup::TexturedPlanes => textured(stream, textures, warp)?.map(Self::TexturedPlanes),
            Lookup::HardwareBilinear => {
                let mut of = |frame| {
                    let texture = Textured::of(stream.device(), textures, frame)?;
                    let Some(Textured::Rgba8(texture)) = texture else { return Ok(None) };
                    Ok::<_, DeviceError>(Some(texture))
                };
                let (left, right) = (of(&frames[0])?, of(&frames[1])?);
                left.zip(right).map(<[_; 2]>::from).map(Self::HardwareBilinear)
            }
            Lookup::GammaTable => fits_table.then_some(Self::GammaTable),
            Lookup::Mesh | Lookup::Planes | Lookup::Cubic => None,
        })
    }

    /// Launches the variant.
    #[track_caller]
    pub(super) fn launch(
        self,
        stream: &Stream,
        [left, right]: [DeviceView<'_, Rgba8>; 2],
        warp: &DeviceWarp,
        options: &StitchOptions,
        out: DeviceViewMut<'_, Rgba8>,
    ) -> Result<(), StitchError> {
        warp.await_ready(stream)?;
        let (planes_left, planes_right) = (warp.planes(0)?, warp.planes(1)?);
        let (width, height) = out.size();
        let config = config(FrameFormat::rgba8(width, height));
        let params = options.params(PixelFormat::Rgba8, PixelFormat::Rgba8);
        match self {
            Self::TexturedPlanes([planes_left, planes_right]) => stream.launch(
                &config,
                &kernels::StitchTexturedPlanes {
                    left,
                    right,
                    planes_left,
                    planes_right,
                    params,
                    out,
                },
            )?,
            Self::HardwareBilinear([left, right]) => stream.launch(
                &config,
                &kernels::StitchHardwareBilinear {
                    left,
                    right,
                    planes_left,
                    planes_right,
                    params,
                    out,
                },
            )?,
            Self::GammaTable => {
                let mut table = lock(warp.gamma_table(stream)?);
                table.update(stream, [options.colours[0], options.colours[1]])?;
                let kernel = kernels::StitchGammaTable {
                    left,
                    right,
                    planes_left,
                    planes_right,
                    table: table.entries.view(),
                    params,
                    out,
                };
                let launched = stream.launch(&config, &kernel);
                table.done.record(stream)?;
                launched?
            }
        }
        Ok(())
    }
}

/// Returns textures over the planes of a warp, left and right. Returns `None` if the device cannot read the planes as
/// textures.
#[track_caller]
fn textured<'a>(
    stream: &Stream,
    textures: &mut Textures,
    warp: &'a DeviceWarp,
) -> Result<Option<[DeviceTexturedCameraPlanes<'a>; 2]>, DeviceError> {
    let device = stream.device();
    let mut plane = |plane| {
        let handle = textures.over(device, &warp.plane(plane).view())?;
        // SAFETY: the planes of `warp` are valid for `'a`, and textures over f32 planes return floats. The caller
        // guarantees that `textures` does not evict these textures while kernels use them.
        Ok::<_, DeviceError>(
            handle.map(|handle| unsafe { DeviceTexture::<'a, Vec4>::new(device.place(), handle) }),
        )
    };
    let (width, height) = warp.size().into();
    let mut camera = |i: usize| {
        let (x, y) = (plane(Plane::X(i))?, plane(Plane::Y(i))?);
        let planes = x.zip(y).zip(plane(Plane::Weight(i))?);
        Ok::<_, DeviceError>(planes.map(|((x, y), weight)| DeviceTexturedCameraPlanes {
            x,
            y,
            weight,
            width,
            height,
        }))
    };
    let (left, right) = (camera(0)?, camera(1)?);
    Ok(left.zip(right).map(<[_; 2]>::from))
}
