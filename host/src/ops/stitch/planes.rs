//! Launches the stitch kernels of the lookups that read a warp's planes. `mesh` launches those of the `mesh` lookup.

use cuda_std::DeviceTexture;
use glam::Vec4;
use kernels_gpu::stitch::planes as kernels;
use shared_types::photometry::Vignette;
use shared_types::stitch::BLOCK;
use shared_types::texture::DeviceTexturedCameraPlanes;

use super::GammaTable;
use super::{Power, StitchError, StitchOptions};
use crate::device::{Device, DeviceError, LaunchConfig, Stream, Textures};
use crate::frame::{FrameFormat, FrameView, FrameViewMut, Textured, launch_by_formats};
use crate::warp::{DeviceWarp, Plane};

/// The method with which the kernel applies gammas: none if all are 1, a power function, or a table.
enum Gamma<'a> {
    Linear,
    Exact,
    Fast,
    Table(&'a GammaTable),
}

/// Launches the kernel for the formats of two frames and the output. The caller has checked that both frames have the
/// same pixel format. The optional last argument is the gamma table, for the kernels that read one.
macro_rules! launch_planes {
    (
        $stream:ident, $Frames:ident[$l:ident, $r:ident], [$left:ident, $right:ident], $params:ident, $out:ident:
        $rgba8:ident $nv12:ident $nv12_rgba8:ident $rgba8_nv12:ident $(, $table:ident)?
    ) => {{
        let config = config($out.format());
        macro_rules! launch {
            ($kernel:ident, $from_left:ident, $from_right:ident, $to:ident) => {
                $stream.launch(&config, &kernels::$kernel {
                    left: $from_left,
                    right: $from_right,
                    planes_left: $left,
                    planes_right: $right,
                    $(table: $table.view(),)?
                    params: $params,
                    out: $to,
                })
            };
        }
        match launch_by_formats!($Frames[$l, $r], $out, launch: $rgba8, $nv12, $nv12_rgba8, $rgba8_nv12) {
            Some(launched) => launched.map_err(StitchError::from),
            None => unreachable!("the caller has checked that both frames have one 8-bit format"),
        }
    }};
}

/// Returns a launch configuration with a thread per pixel for RGBA, and per chroma sample (four pixels) for NV12 and
/// P010.
pub(super) fn config(out: FrameFormat) -> LaunchConfig {
    let cell = out.pixels.cell();
    let [columns, rows] = out.size.to_array().map(|side| side.div_ceil(cell));
    LaunchConfig::cover(columns, rows, BLOCK)
}

/// Launches the kernel of [`Lookup::Planes`](super::Lookup::Planes) for the requested method of gamma correction.
#[track_caller]
pub(super) fn launch(
    stream: &Stream,
    (l, r): (FrameView<'_>, FrameView<'_>),
    warp: &DeviceWarp,
    options: &StitchOptions,
    table: Option<&mut GammaTable>,
    out: FrameViewMut<'_>,
) -> Result<(), StitchError> {
    warp.await_ready(stream)?;
    let (left, right) = (warp.planes(0)?, warp.planes(1)?);
    let params = options.params(l.format().pixels, out.format().pixels);
    // A table maps each channel of levels up to white. A shoulder depends on all channels, and a vignette brightens
    // levels beyond white, which a gain below 1 can bring back.
    let exact = (0..2).any(|camera| {
        options.colours[camera].shoulder != 0.0 || options.vignettes[camera] != Vignette::NONE
    });
    let gamma = match (table, options.power) {
        (Some(_), _) if exact => Gamma::Exact,
        (Some(table), _) => {
            table.update(stream, options.colours[0], options.colours[1])?;
            Gamma::Table(table)
        }
        _ if options.is_linear() => Gamma::Linear,
        (None, Power::Exact) => Gamma::Exact,
        (None, Power::Fast | Power::Table) => Gamma::Fast,
    };
    match gamma {
        Gamma::Linear => launch_planes!(stream, FrameView[l, r], [left, right], params, out:
            StitchPlanesLinear StitchPlanesNv12Linear StitchPlanesNv12Rgba8Linear
            StitchPlanesRgba8Nv12Linear),
        Gamma::Exact => launch_planes!(stream, FrameView[l, r], [left, right], params, out:
            StitchPlanesExact StitchPlanesNv12Exact StitchPlanesNv12Rgba8Exact
            StitchPlanesRgba8Nv12Exact),
        Gamma::Fast => launch_planes!(stream, FrameView[l, r], [left, right], params, out:
            StitchPlanesFast StitchPlanesNv12Fast StitchPlanesNv12Rgba8Fast
            StitchPlanesRgba8Nv12Fast),
        Gamma::Table(table) => {
            launch_planes!(stream, FrameView[l, r], [left, right], params, out:
            StitchPlanesTable StitchPlanesNv12Table StitchPlanesNv12Rgba8Table
            StitchPlanesRgba8Nv12Table, table)
        }
    }
}

/// Launches the kernel of [`Lookup::HardwareBilinear`](super::Lookup::HardwareBilinear). This kernel reads the frames
/// through textures, and computes gammas with the fast power function.
#[track_caller]
pub(super) fn launch_hardware(
    stream: &Stream,
    (l, r): (Textured<'_>, Textured<'_>),
    warp: &DeviceWarp,
    options: &StitchOptions,
    out: FrameViewMut<'_>,
) -> Result<(), StitchError> {
    warp.await_ready(stream)?;
    let (left, right) = (warp.planes(0)?, warp.planes(1)?);
    let params = options.params(l.pixels(), out.format().pixels);
    launch_planes!(stream, Textured[l, r], [left, right], params, out:
        StitchHardwareRgba8 StitchHardwareNv12 StitchHardwareNv12Rgba8 StitchHardwareRgba8Nv12)
}

/// Launches the kernel of [`Lookup::TexturedPlanes`](super::Lookup::TexturedPlanes). This kernel reads the planes of
/// the warp through textures, and computes gammas with the fast power function.
#[track_caller]
pub(super) fn launch_textured(
    stream: &Stream,
    (l, r): (FrameView<'_>, FrameView<'_>),
    [left, right]: [DeviceTexturedCameraPlanes<'_>; 2],
    options: &StitchOptions,
    out: FrameViewMut<'_>,
) -> Result<(), StitchError> {
    let params = options.params(l.format().pixels, out.format().pixels);
    launch_planes!(stream, FrameView[l, r], [left, right], params, out:
        StitchTexturedPlanesRgba8 StitchTexturedPlanesNv12 StitchTexturedPlanesNv12Rgba8
        StitchTexturedPlanesRgba8Nv12)
}

/// Returns textures over the planes of a warp, left and right. Returns `None` if the device cannot read the planes as
/// textures. The returned textures are valid until `textures` evicts them to make room for textures over other planes.
#[track_caller]
pub(super) fn textured<'a>(
    stream: &Stream,
    textures: &mut Textures,
    warp: &'a DeviceWarp,
) -> Result<Option<[DeviceTexturedCameraPlanes<'a>; 2]>, DeviceError> {
    warp.await_ready(stream)?;
    let device: &Device = stream.device();
    let mut plane = |plane| {
        let handle = textures.over(device, &warp.plane(plane).view())?;
        // SAFETY: the planes of `warp` are valid for `'a`, and textures over f32 planes return floats. The caller
        // guarantees that `textures` does not evict these textures while kernels use them.
        Ok::<_, DeviceError>(
            handle.map(|handle| unsafe { DeviceTexture::<'a, Vec4>::new(device.place(), handle) }),
        )
    };
    let (width, height) = warp.size().into();
    let mut camera = |[x, y, weight]: [Plane; 3]| {
        let planes = plane(x)?.zip(plane(y)?).zip(plane(weight)?);
        Ok::<_, DeviceError>(planes.map(|((x, y), weight)| DeviceTexturedCameraPlanes {
            x,
            y,
            weight,
            width,
            height,
        }))
    };
    let mut camera = |i| camera([Plane::X(i), Plane::Y(i), Plane::Weight(i)]);
    let (left, right) = (camera(0)?, camera(1)?);
    Ok(left.zip(right).map(<[_; 2]>::from))
}
