//! Launches the stitch kernels of the `mesh` lookup, which take all cameras in one launch. `planes` launches the
//! kernels of the other lookups.

use cuda_std::DeviceTable;
use glam::UVec2;
use kernels_gpu::stitch::mesh as kernels;
use shared_types::photometry::Vignette;
use shared_types::stitch::mesh::{BLOCK, Grading, MeshParams, TwoGradings};
use shared_types::stitch::{Colour, MAX_CAMERAS};

use super::{
    Covers, StitchError, Vignettes, check_colour, check_depths, check_frames, check_output,
};
use crate::device::{LaunchConfig, Stream};
use crate::frame::{
    FrameFormat, FrameView, FrameViewMut, FrameViewMut as Out, PixelFormat, Textured,
    TexturedFrames, TexturedFrames as In, launch_by_formats,
};
use crate::lock::lock;
use crate::warp::{DeviceMesh, Mesh, camera_name};

/// Options for [`stitch_cameras`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CamerasOptions {
    /// Whether to rotate the panorama by 180°.
    pub flip: bool,
    /// Whether to brighten the left and the right tenth of the panorama, by a factor that rises to 1.35 at the edges.
    pub edge_boost: bool,
}

/// Submits the stitch of one frame per camera of a mesh into `out` without waiting, as one launch. `colours` contains
/// the colour correction of each camera, in the order of `frames`. The formats of the frames may differ, but either all
/// frames and the output are P010, or none of them. The gamma correction uses the method
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
    check_frames(frames, mesh.sources())?;
    if colours.len() != expected {
        return Err(StitchError::Cameras { found: colours.len(), expected });
    }
    for (camera, colour) in colours.iter().enumerate() {
        let name = camera_name(camera, expected);
        check_colour(name, *colour)?;
        if colour.has_shoulder(&Vignette::NONE) {
            return Err(StitchError::MeshShoulder(name));
        }
    }
    check_output(&out, mesh.size())?;
    check_depths(frames.iter().map(FrameView::format).chain([output]))?;
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
    let params = params(options.flip, options.edge_boost, output);
    let gradings = gradings(&textured, colours, &Vignettes::NONE, &Covers::NONE);
    launch(stream, (&textured, &gradings), mesh, params, out)
}

/// Returns whether the mesh kernels can write an output of this format, rotated by 180° if `flip` is set. A flipped
/// NV12 or P010 panorama needs even sides, because two columns and two rows share a chroma sample.
pub(super) fn supports_flip(flip: bool, FrameFormat { size, pixels }: FrameFormat) -> bool {
    !(flip && pixels.cell() > 1 && (size.x % 2 != 0 || size.y % 2 != 0))
}

/// Returns the kernels' parameters: orientation, edge boost and the conversion to the output's format.
pub(super) fn params(flip: bool, edge_boost: bool, output: FrameFormat) -> MeshParams {
    MeshParams { flip: flip.into(), edge_boost: edge_boost.into(), encode: output.pixels.to_yuv() }
}

/// Returns the conversion of each frame's samples to colours.
pub(super) fn gradings(
    frames: &[Textured<'_>],
    colours: &[Colour],
    vignettes: &Vignettes,
    covers: &Covers,
) -> Vec<Grading> {
    let grading = |(camera, (frame, colour)): (usize, (&Textured<'_>, &Colour))| {
        let grading = match frame.pixels() {
            PixelFormat::Rgba8 => Grading::rgb(*colour),
            pixels @ PixelFormat::Nv12(_) => Grading::yuv(*colour, &pixels.to_rgb()),
            pixels @ PixelFormat::P010(_) => Grading::p010(*colour, &pixels.to_rgb()),
        };
        covers.grade(camera, grading.vignetted(vignettes[camera]))
    };
    frames.iter().zip(colours).take(MAX_CAMERAS).enumerate().map(grading).collect()
}

/// Returns the format of the first frame.
fn first_format(frames: &[Textured<'_>], mesh: &DeviceMesh) -> FrameFormat {
    let pixels = frames.first().map_or(PixelFormat::Rgba8, Textured::pixels);
    FrameFormat { size: mesh.sources().first().copied().unwrap_or_default(), pixels }
}

/// Launches the kernel that reads the frames through textures. There must be one frame and one conversion per camera of
/// the mesh. Either all frames and the output are P010, or none of them. Two frames of one format are separate
/// arguments, which is faster; see `kernels_gpu::stitch::mesh`.
#[track_caller]
pub(super) fn launch(
    stream: &Stream,
    (frames, gradings): (&[Textured<'_>], &[Grading]),
    mesh: &DeviceMesh,
    params: MeshParams,
    out: FrameViewMut<'_>,
) -> Result<(), StitchError> {
    let (found, expected) = (gradings.len(), mesh.sources().len());
    if found != expected || frames.len() != expected {
        return Err(StitchError::Cameras { found, expected });
    }
    mesh.await_ready(stream)?;
    let (layers, patches, places, shares) = mesh.buffers();
    let threads = Mesh::tiles_of(mesh.size()) * UVec2::from(BLOCK);
    let config = LaunchConfig::cover(threads.x, threads.y, BLOCK);
    /// Launches one of the kernels, which differ in the arguments for the cameras.
    macro_rules! launch {
        ($kernel:ident { $($camera:ident),+ }, $out:ident) => {{
            let kernel = kernels::$kernel {
                $($camera,)+
                layers: layers.view(),
                patches: patches.view(),
                places: places.view(),
                shares: shares.view(),
                params,
                out: $out,
            };
            // SAFETY: `layers`, `patches`, `places` and `shares` belong to one mesh, so their indices are consistent.
            // There is a conversion for each picture. The caller has checked that `out` has the size of the mesh, and
            // that `supports_flip` returns true for `out`.
            unsafe { stream.launch_unchecked(&config, &kernel) }
        }};
    }
    let (first, other) = (first_format(frames, mesh), out.format());
    let depths = || StitchError::Depths { first, other };
    if let (&[first, second], &[first_grading, second_grading]) = (frames, gradings)
        && first.is_like(&second)
    {
        let gradings = TwoGradings { first: first_grading, second: second_grading };
        macro_rules! launch_two {
            ($kernel:ident, $first:ident, $second:ident, $out:ident) => {{
                let (first, second) = ($first, $second);
                launch!($kernel { first, second, gradings }, $out)
            }};
        }
        return match launch_by_formats!(Textured[first, second], out, launch_two:
            StitchMeshRgba8, StitchMeshNv12, StitchMeshNv12Rgba8, StitchMeshRgba8Nv12,
            StitchMeshP010)
        {
            Some(launched) => launched.map_err(StitchError::from),
            None => Err(depths()),
        };
    }
    let gradings = DeviceTable::new(gradings).ok_or(StitchError::Cameras { found, expected })?;
    // There are as many frames as conversions, so only a mix of P010 and other frames has no table.
    let frames = TexturedFrames::new(frames).ok_or_else(depths)?;
    match (frames, out) {
        (In::Rgba8(pictures), Out::Rgba8(out)) => {
            launch!(StitchMeshManyRgba8 { pictures, gradings }, out)
        }
        (In::Rgba8(pictures), Out::Nv12(out, _)) => {
            launch!(StitchMeshManyRgba8Nv12 { pictures, gradings }, out)
        }
        (In::Nv12(pictures), Out::Rgba8(out)) => {
            launch!(StitchMeshManyNv12Rgba8 { pictures, gradings }, out)
        }
        (In::Nv12(pictures), Out::Nv12(out, _)) => {
            launch!(StitchMeshManyNv12 { pictures, gradings }, out)
        }
        (In::Mixed(pictures), Out::Rgba8(out)) => {
            launch!(StitchMeshMixedRgba8 { pictures, gradings }, out)
        }
        (In::Mixed(pictures), Out::Nv12(out, _)) => {
            launch!(StitchMeshMixedNv12 { pictures, gradings }, out)
        }
        (In::P010(pictures), Out::P010(out, _)) => {
            launch!(StitchMeshManyP010 { pictures, gradings }, out)
        }
        (In::P010(_), _) | (_, Out::P010(..)) => return Err(depths()),
    }
    .map_err(StitchError::from)
}
