//! Launches the stitch kernels of the `mesh` lookup, for two to four cameras. `planes` launches the kernels of the
//! other lookups.

use glam::UVec2;
use kernels_gpu::stitch::mesh as kernels;
use shared_types::stitch::Colour;
use shared_types::stitch::mesh::{BLOCK, Grading, MAX_CAMERAS, MeshParams};

use super::{StitchError, check_colour};
use crate::device::{LaunchConfig, Stream};
use crate::frame::{
    FrameFormat, FrameView, FrameViewMut, PixelFormat, Textured, launch_by_formats,
};
use crate::lock::lock;
use crate::warp::{DeviceMesh, Mesh};

/// The names of the cameras in error texts.
const ORDINALS: [&str; MAX_CAMERAS] = ["first", "second", "third", "fourth"];

/// Options for [`stitch_cameras`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CamerasOptions {
    /// Whether to rotate the panorama by 180°.
    pub flip: bool,
    /// Whether to brighten the left and the right tenth of the panorama, by a factor that rises to 1.35 at the edges.
    pub edge_boost: bool,
}

/// Submits the stitch of one frame per camera of a mesh into `out` without waiting, as one launch. `colours` contains
/// the colour correction of each camera, in the order of `frames`. The gamma correction uses the method
/// [`Power::Fast`](super::Power::Fast).
///
/// # Errors
/// Returns [`StitchError`] if the frames, the colours or the output do not match the mesh, if the device cannot read a
/// frame as textures, or if the device fails.
#[track_caller]
pub fn stitch_cameras<'a>(
    stream: &Stream,
    frames: &[FrameView<'_>],
    mesh: &DeviceMesh,
    colours: &[Colour],
    options: CamerasOptions,
    out: impl Into<FrameViewMut<'a>>,
) -> Result<(), StitchError> {
    let out = out.into();
    let (expected, output) = (mesh.sources().len(), out.format());
    for found in [frames.len(), colours.len()] {
        if found != expected {
            return Err(StitchError::Cameras { found, expected });
        }
    }
    let [first, ..] = frames else {
        return Err(StitchError::Cameras { found: 0, expected });
    };
    let input = first.format();
    let cameras = frames.iter().zip(colours).zip(mesh.sources()).zip(ORDINALS);
    for (((frame, colour), &expected), side) in cameras {
        check_colour(side, *colour)?;
        let found = frame.format();
        if found.pixels != input.pixels {
            return Err(StitchError::Formats { left: input, right: found });
        }
        if found.size != expected {
            return Err(StitchError::SourceSize { side, found: found.size, expected });
        }
        if !frame.is_whole() {
            return Err(StitchError::Chroma { which: side });
        }
    }
    if output.size != mesh.size() {
        return Err(StitchError::OutputSize { found: output.size, expected: mesh.size() });
    }
    if !out.is_whole() {
        return Err(StitchError::Chroma { which: "output" });
    }
    if !supports_flip(options.flip, output) {
        return Err(StitchError::Flip(output.size));
    }
    // Hold the lock until the launch is submitted, so that no other thread evicts the textures that this launch uses.
    let mut textures = lock(mesh.textures());
    let textured = frames
        .iter()
        .enumerate()
        .map(|(i, frame)| {
            Textured::of(stream.device(), &mut textures, frame)?.ok_or(StitchError::Unaligned(i))
        })
        .collect::<Result<Vec<_>, _>>()?;
    let params = params(colours, options.flip, options.edge_boost, input, output);
    launch(stream, &textured, mesh, params, out)
}

/// Returns whether the mesh kernels can write an output of this format, rotated by 180° if `flip` is set. A flipped
/// NV12 panorama needs even sides, because two columns and two rows share a chroma sample.
pub(super) fn supports_flip(flip: bool, FrameFormat { size, pixels }: FrameFormat) -> bool {
    let shares_chroma = matches!(pixels, PixelFormat::Nv12(_));
    !(flip && shares_chroma && (size.x % 2 != 0 || size.y % 2 != 0))
}

/// Returns the kernels' parameters: colours, orientation, edge boost and colour conversions.
pub(super) fn params(
    colours: &[Colour],
    flip: bool,
    edge_boost: bool,
    input: FrameFormat,
    output: FrameFormat,
) -> MeshParams {
    let decode = input.pixels.encoding().to_rgb();
    let of = |camera: usize| colours.get(camera).copied().unwrap_or(Colour::IDENTITY);
    MeshParams {
        cameras: std::array::from_fn(|camera| Grading::new(of(camera), &decode)),
        flip: flip.into(),
        edge_boost: edge_boost.into(),
        encode: output.pixels.encoding().from_rgb(),
    }
}

/// Launches the kernel that reads the frames through textures. There must be one frame per camera of the mesh, and all
/// frames must have the same format.
#[track_caller]
pub(super) fn launch(
    stream: &Stream,
    frames: &[Textured<'_>],
    mesh: &DeviceMesh,
    params: MeshParams,
    out: FrameViewMut<'_>,
) -> Result<(), StitchError> {
    mesh.await_ready(stream)?;
    let (layers, patches, places, shares) = mesh.buffers();
    let threads = Mesh::tiles_of(mesh.size()) * UVec2::from(BLOCK);
    let config = LaunchConfig::cover(threads.x, threads.y, BLOCK);
    // The kernels have arguments for four frames. If the mesh has fewer cameras, pass the last frame for the others;
    // the mesh does not refer to cameras that do not exist.
    let frame = |camera: usize| frames[camera.min(frames.len() - 1)];
    let (first, second, third, fourth) = (frame(0), frame(1), frame(2), frame(3));
    /// Launches one of the kernels, which all take these arguments.
    macro_rules! launch {
        ($kernel:ident, $first:ident, $second:ident, $third:ident, $fourth:ident, $out:ident) => {{
            let kernel = kernels::$kernel {
                first: $first,
                second: $second,
                third: $third,
                fourth: $fourth,
                layers: layers.view(),
                patches: patches.view(),
                places: places.view(),
                shares: shares.view(),
                params,
                out: $out,
            };
            // SAFETY: `layers`, `patches`, `places` and `shares` belong to one mesh, so their indices are consistent.
            // The caller has checked that `out` has the size of the mesh, and that `supports_flip` returns true for
            // `out`.
            unsafe { stream.launch_unchecked(&config, &kernel) }
        }};
    }
    match launch_by_formats!(Textured[first, second, third, fourth], out, launch:
        StitchMeshRgba8, StitchMeshNv12, StitchMeshNv12Rgba8, StitchMeshRgba8Nv12)
    {
        Some(launched) => launched.map_err(StitchError::from),
        None => unreachable!("the caller has checked that all frames have one format"),
    }
}
