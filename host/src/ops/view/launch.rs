//! Launches the kernels of views, which read the frames through textures.

use std::ptr::NonNull;

use cuda_std::{DeviceTable, DeviceView};
use glam::Vec3;
use kernels_gpu::view as kernels;
use shared_types::photometry::Vignette;
use shared_types::view::{DeviceViewSource, ViewCamera, ViewCameras, ViewCanvas};

use super::ViewError;
use super::shot::Shot;
use crate::device::{Device, DeviceError, Stream, Textures};
use crate::frame::{FrameView, FrameViewMut, Textured, launch_by_formats};
use crate::ops::stitch::StitchError;

/// The arguments of a launch apart from the frames.
pub(super) struct ViewArgs<'a> {
    pub(super) shot: Shot,
    pub(super) canvas: ViewCanvas,
    pub(super) cameras: Vec<ViewCamera>,
    /// The constant that is added to each camera's colours before the power, and the camera's vignette. `None` if no
    /// picture is mixed with a colour, has vignetting or a shoulder, or is a panorama.
    pub(super) mixes: Option<Vec<(Vec3, Vignette)>>,
    /// The weight plane of each camera. It is empty if views are feathered.
    pub(super) weights: Vec<DeviceView<'a, f32>>,
}

/// Returns an empty plane, which stands for the weights of a camera that has none.
fn no_plane(device: &Device) -> DeviceView<'static, f32> {
    // SAFETY: the view is empty, so no kernel accesses its memory.
    unsafe { DeviceView::new(device.place(), NonNull::dangling().as_ptr(), 0, 0, 0) }
}

/// Launches the kernel for 1 to 16 frames, whose formats may differ. Two frames of one format that are neither mixed
/// with a colour nor have vignetting are faster with a kernel of their own.
#[track_caller]
pub(super) fn launch(
    stream: &Stream,
    textures: &mut Textures,
    frames: &[FrameView<'_>],
    args: &ViewArgs<'_>,
    out: FrameViewMut<'_>,
) -> Result<(), ViewError> {
    match *frames {
        [left, right] if args.mixes.is_none() && left.format().pixels == right.format().pixels => {
            two(stream, textures, [left, right], args, out)
        }
        _ => many(stream, textures, frames, args, out),
    }
}

/// Launches the kernel for two cameras.
#[track_caller]
fn two(
    stream: &Stream,
    textures: &mut Textures,
    frames: [FrameView<'_>; 2],
    args: &ViewArgs<'_>,
    out: FrameViewMut<'_>,
) -> Result<(), ViewError> {
    let ViewArgs { shot, canvas, cameras, weights, .. } = args;
    let [left_format, right_format] = frames.map(|frame| frame.format());
    let (config, canvas, frame) = (&shot.config(), *canvas, shot.frame(left_format.pixels));
    let cameras = ViewCameras { left: cameras[0], right: cameras[1] };
    let weight =
        |camera: usize| weights.get(camera).copied().unwrap_or_else(|| no_plane(stream.device()));
    let (left_weight, right_weight) = (weight(0), weight(1));
    let mut textured = |i: usize| {
        let frame = Textured::of(stream.device(), textures, &frames[i])?;
        frame.ok_or_else(|| StitchError::unaligned(i))
    };
    let (left, right) = (textured(0)?, textured(1)?);
    macro_rules! launch {
        ($kernel:ident, $left:ident, $right:ident, $out:ident) => {{
            let (left, right, out) = ($left, $right, $out);
            stream.launch(
                config,
                &kernels::$kernel {
                    left,
                    right,
                    left_weight,
                    right_weight,
                    canvas,
                    cameras,
                    frame,
                    out,
                },
            )
        }};
    }
    match launch_by_formats!(Textured[left, right], out, launch:
        ViewTexturedRgba8, ViewTexturedNv12, ViewTexturedNv12Rgba8, ViewTexturedRgba8Nv12,
        ViewTexturedP010)
    {
        Some(launched) => Ok(launched?),
        None => Err(StitchError::formats(left_format, right_format).into()),
    }
}

/// Launches the kernel for any number of cameras.
#[track_caller]
fn many(
    stream: &Stream,
    textures: &mut Textures,
    frames: &[FrameView<'_>],
    args: &ViewArgs<'_>,
    out: FrameViewMut<'_>,
) -> Result<(), ViewError> {
    let ViewArgs { shot, canvas, cameras, mixes, weights } = args;
    let device = stream.device();
    let planes = first_plane(device, weights)?;
    let sources = frames.iter().zip(cameras).enumerate().map(|(i, (frame, camera))| {
        let weights = weights.get(i).map_or(0, |plane| plane.rows().0.expose_provenance() as u64);
        let mix = mixes.as_ref().map_or_else(Default::default, |mixes| mixes[i]);
        let source = source(device, textures, frame, (camera, mix), weights)?;
        source.ok_or_else(|| StitchError::unaligned(i))
    });
    let sources = DeviceTable::new(&sources.collect::<Result<Vec<_>, StitchError>>()?)
        .ok_or_else(|| ViewError::cameras(frames.len()))?;
    let (config, canvas, mixed) = (shot.config(), *canvas, mixes.is_some());
    let frame = shot.frame(frames[0].format().pixels);
    macro_rules! launch {
        ($kernel:ident, $mixed:ident, $out:ident) => {{
            let out = $out;
            // SAFETY: the textures return fractions and are over memory that the frames borrow. The caller ensures that
            // `textures` does not evict them while the kernel uses them, and that either all frames and the output are
            // P010, or none of them. `first_plane` has checked that all planes are alike, and `args` borrows them.
            unsafe {
                if mixed {
                    let kernel = kernels::$mixed { sources, planes, canvas, frame, out };
                    stream.launch_unchecked(&config, &kernel)
                } else {
                    let kernel = kernels::$kernel { sources, planes, canvas, frame, out };
                    stream.launch_unchecked(&config, &kernel)
                }
            }
        }};
    }
    Ok(match out {
        FrameViewMut::Rgba8(out) => launch!(ViewManyRgba8, ViewMixedRgba8, out),
        FrameViewMut::Nv12(out, _) => launch!(ViewManyNv12, ViewMixedNv12, out),
        FrameViewMut::P010(out, _) => launch!(ViewManyP010, ViewMixedP010, out),
    }?)
}

/// The weight planes of a warp differ in size or pitch, so a kernel cannot take them as one argument.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the weight planes of the cameras differ in size or pitch; allocate them alike")]
struct UnlikeWeights;

/// Returns the plane of the first camera, or an empty one if there are no planes. Checks that all planes are alike.
#[track_caller]
fn first_plane<'w>(
    device: &Device,
    weights: &[DeviceView<'w, f32>],
) -> Result<DeviceView<'w, f32>, DeviceError> {
    let Some((first, others)) = weights.split_first() else { return Ok(no_plane(device)) };
    if others.iter().all(|plane| plane.is_like(first)) {
        Ok(*first)
    } else {
        Err(DeviceError::refused("taking a warp's weights", UnlikeWeights))
    }
}

/// Returns the kernel argument for a camera, or `None` if the device cannot read the frame's planes as textures. The
/// textures stay valid until `textures` evicts them for other frames.
#[track_caller]
fn source(
    device: &Device,
    textures: &mut Textures,
    frame: &FrameView<'_>,
    (camera, (offset, vignette)): (&ViewCamera, (Vec3, Vignette)),
    weights: u64,
) -> Result<Option<DeviceViewSource<'static>>, DeviceError> {
    let handles = match frame {
        FrameView::Rgba8(rows) => textures.over(device, rows)?.map(|texels| (texels, 0)),
        FrameView::Nv12(rows, _) => {
            textures.over(device, &rows.y)?.zip(textures.over(device, &rows.uv)?)
        }
        FrameView::P010(rows, _) => {
            textures.over(device, &rows.y)?.zip(textures.over(device, &rows.uv)?)
        }
    };
    let format = frame.format();
    let ViewCamera { rays, focal, centre, distortion, limit, lens, per_side, colour, bounds } =
        *camera;
    Ok(handles.map(|(texels, chroma)| DeviceViewSource {
        texels,
        chroma,
        weights,
        size: format.size,
        rays,
        focal,
        centre,
        distortion,
        limit,
        lens: lens.0,
        per_side,
        colour,
        offset,
        vignette,
        bounds,
        decode: format.pixels.to_rgb(),
    }))
}
