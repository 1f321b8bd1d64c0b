//! Launches the kernels for views of two cameras whose frames have one format.

use kernels_gpu::view as kernels;
use shared_types::view::ViewCameras;

use super::ViewError;
use super::shot::{ViewArgs, no_plane};
use crate::device::{Stream, Textures};
use crate::frame::{FrameView, FrameViewMut, Textured, launch_by_formats};
use crate::ops::stitch::StitchError;

/// Launches the kernel for the formats of the frames and the output. The kernel reads the frames through textures if
/// the device supports that.
#[track_caller]
pub(super) fn launch(
    stream: &Stream,
    textures: &mut Textures,
    [left, right]: [FrameView<'_>; 2],
    args: &ViewArgs<'_>,
    out: FrameViewMut<'_>,
) -> Result<(), ViewError> {
    let ViewArgs { shot, canvas, cameras, weights, .. } = args;
    let (config, canvas, frame) = (&shot.config(), *canvas, shot.frame(left.format().pixels));
    let cameras = ViewCameras { left: cameras[0], right: cameras[1] };
    let weight =
        |camera: usize| weights.get(camera).copied().unwrap_or_else(|| no_plane(stream.device()));
    let (left_weight, right_weight) = (weight(0), weight(1));
    let mut textured = |frame| Textured::of(stream.device(), textures, frame);
    let textured = textured(&left)?.zip(textured(&right)?);
    /// Launches one of the kernels, which all take these arguments.
    macro_rules! launch {
        ($kernel:ident, $left:ident, $right:ident, $out:ident) => {
            stream.launch(
                config,
                &kernels::$kernel {
                    left: $left,
                    right: $right,
                    left_weight,
                    right_weight,
                    canvas,
                    cameras,
                    frame,
                    out: $out,
                },
            )
        };
    }
    let launched = match textured {
        Some((left, right)) => launch_by_formats!(Textured[left, right], out, launch:
            ViewTexturedRgba8, ViewTexturedNv12, ViewTexturedNv12Rgba8, ViewTexturedRgba8Nv12,
            ViewTexturedP010),
        None => launch_by_formats!(FrameView[left, right], out, launch:
            ViewRgba8, ViewNv12, ViewNv12Rgba8, ViewRgba8Nv12, ViewP010),
    };
    match launched {
        Some(launched) => Ok(launched?),
        // The viewer has checked the depths, so the frames differ in format.
        None => {
            let (left, right) = (left.format(), right.format());
            Err(StitchError::Formats { left, right }.into())
        }
    }
}
