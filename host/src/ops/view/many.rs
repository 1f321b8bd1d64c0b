//! Launches the kernels for views of up to 16 cameras, whose frames may differ in format.

use cuda_std::{DeviceTable, DeviceView};
use glam::Vec3;
use kernels_gpu::view::{
    ViewManyNv12, ViewManyP010, ViewManyRgba8, ViewMixedNv12, ViewMixedP010, ViewMixedRgba8,
};
use shared_types::photometry::Vignette;
use shared_types::view::{DeviceViewSource, ViewCamera};

use super::ViewError;
use super::shot::{ViewArgs, no_plane};
use crate::device::{Device, DeviceError, Stream, Textures};
use crate::frame::{DeviceNv12, DeviceP010, FrameView, FrameViewMut};
use crate::ops::stitch::StitchError;

/// Launches the kernel for the format of the output. It reads the frames through textures.
#[track_caller]
pub(super) fn launch(
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
        source(device, textures, frame, (camera, mix), weights)?.ok_or(StitchError::Unaligned(i))
    });
    let sources = sources.collect::<Result<Vec<_>, StitchError>>()?;
    let found = frames.len();
    let sources = DeviceTable::new(&sources)
        .ok_or(StitchError::Cameras { found, expected: cameras.len() })?;
    let (config, canvas, mixed) = (shot.config(), *canvas, mixes.is_some());
    let frame = shot.frame(frames[0].format().pixels);
    // SAFETY: the textures return fractions and are over memory that the frames borrow. The caller ensures that
    // `textures` does not evict them while the kernel uses them, and that either all frames and the output are P010, or
    // none of them. `first_plane` has checked that all planes are alike,
    // and `args` borrows them.
    let launched = unsafe {
        match out {
            FrameViewMut::Rgba8(out) if mixed => {
                let kernel = ViewMixedRgba8 { sources, planes, canvas, frame, out };
                stream.launch_unchecked(&config, &kernel)
            }
            FrameViewMut::Nv12(out, _) if mixed => {
                let kernel = ViewMixedNv12 { sources, planes, canvas, frame, out };
                stream.launch_unchecked(&config, &kernel)
            }
            FrameViewMut::Rgba8(out) => {
                let kernel = ViewManyRgba8 { sources, planes, canvas, frame, out };
                stream.launch_unchecked(&config, &kernel)
            }
            FrameViewMut::Nv12(out, _) => {
                let kernel = ViewManyNv12 { sources, planes, canvas, frame, out };
                stream.launch_unchecked(&config, &kernel)
            }
            FrameViewMut::P010(out, _) if mixed => {
                let kernel = ViewMixedP010 { sources, planes, canvas, frame, out };
                stream.launch_unchecked(&config, &kernel)
            }
            FrameViewMut::P010(out, _) => {
                let kernel = ViewManyP010 { sources, planes, canvas, frame, out };
                stream.launch_unchecked(&config, &kernel)
            }
        }
    };
    Ok(launched?)
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
        FrameView::Nv12(DeviceNv12 { y, uv }, _) => {
            textures.over(device, y)?.zip(textures.over(device, uv)?)
        }
        FrameView::P010(DeviceP010 { y, uv }, _) => {
            textures.over(device, y)?.zip(textures.over(device, uv)?)
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
