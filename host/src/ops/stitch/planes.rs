//! Launches the stitch kernels that read a warp's planes, for two cameras. `sum` launches those for any number.

use cuda_std::{DeviceTexture, DeviceViewMut};
use glam::Vec4;
use kernels_gpu::stitch::planes::{
    self as kernels, StitchGammaTable, StitchHardwareBilinear, StitchTexturedPlanes,
};
use shared_types::Rgba8;
use shared_types::texture::DeviceTexturedCameraPlanes;

use super::lookup::NOT_TWO_RGBA;
use super::{Lookup, LookupError, StitchError, StitchOptions, StitchSet};
use crate::device::{DeviceError, Stream, Textures};
use crate::frame::{
    FrameFormat, FrameView, FrameViewMut, PixelFormat, Textured, cell_launch, launch_by_formats,
};
use crate::lock::lock;
use crate::warp::{DeviceWarp, Plane};

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
    let (config, formats) = (cell_launch(out.format()), (left.format(), right.format()));
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

/// Launches a variant of the kernel for two RGBA frames, which reads the warp, the frames or the colours in another way.
/// `textured` are the frames as textures, if the lookup reads them so; they are valid until `textures` evicts them.
#[track_caller]
pub(super) fn launch_variant(
    stream: &Stream,
    textures: &mut Textures,
    StitchSet { warp, options, .. }: &StitchSet<'_>,
    (frames, textured): (&[FrameView<'_>], &[Textured<'_>]),
    out: DeviceViewMut<'_, Rgba8>,
) -> Result<(), StitchError> {
    let unsupported =
        |reason: &str| LookupError { lookup: options.lookup, reason: reason.to_owned() };
    let &[FrameView::Rgba8(left), FrameView::Rgba8(right)] = frames else {
        return Err(unsupported(NOT_TWO_RGBA).into());
    };
    warp.await_ready(stream)?;
    let (planes_left, planes_right) = (warp.planes(0)?, warp.planes(1)?);
    let (width, height) = out.size();
    let config = cell_launch(FrameFormat::rgba8(width, height));
    let params = options.params(PixelFormat::Rgba8, PixelFormat::Rgba8);
    match (options.lookup, textured) {
        (Lookup::HardwareBilinear, &[Textured::Rgba8(left), Textured::Rgba8(right)]) => {
            let kernel =
                StitchHardwareBilinear { left, right, planes_left, planes_right, params, out };
            stream.launch(&config, &kernel)?;
        }
        (Lookup::GammaTable, _) => {
            let mut table = lock(warp.gamma_table(stream)?);
            table.update(stream, [options.colours[0], options.colours[1]])?;
            let entries = table.entries.view();
            let kernel = StitchGammaTable {
                left,
                right,
                planes_left,
                planes_right,
                table: entries,
                params,
                out,
            };
            let launched = stream.launch(&config, &kernel);
            table.done.record(stream)?;
            launched?;
        }
        _ => {
            let [planes_left, planes_right] =
                textured_planes(stream, textures, warp)?.ok_or_else(|| {
                    unsupported("the planes of this warp, which the device cannot read as textures")
                })?;
            let kernel =
                StitchTexturedPlanes { left, right, planes_left, planes_right, params, out };
            stream.launch(&config, &kernel)?;
        }
    }
    Ok(())
}

/// Returns textures over the planes of a warp, left and right. Returns `None` if the device cannot read the planes as
/// textures.
#[track_caller]
fn textured_planes<'a>(
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
