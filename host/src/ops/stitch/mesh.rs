//! Launches the stitch kernels of the `mesh` lookup, which take all cameras in one launch. `planes` launches the
//! kernels of the other lookups.

use cuda_std::DeviceTable;
use glam::UVec2;
use kernels_gpu::stitch::mesh as kernels;
use shared_types::stitch::mesh::{BLOCK, Grading, MeshParams, TwoGradings};

use super::{StitchError, StitchOptions};
use crate::device::{LaunchConfig, Stream};
use crate::frame::{
    FrameFormat, FrameViewMut, FrameViewMut as Out, PixelFormat, Textured, TexturedFrames,
    TexturedFrames as In, launch_by_formats,
};
use crate::warp::{DeviceMesh, Mesh};

/// Returns the conversion of each frame's samples to colours.
fn gradings(frames: &[Textured<'_>], options: &StitchOptions) -> Vec<Grading> {
    let grading = |(camera, frame): (usize, &Textured<'_>)| {
        let colour = options.colours[camera];
        let grading = match frame.pixels() {
            PixelFormat::Rgba8 => Grading::rgb(colour),
            pixels @ PixelFormat::P010(_) => Grading::p010(colour, &pixels.to_rgb()),
            pixels => Grading::yuv(colour, &pixels.to_rgb()),
        };
        options.covers.grade(camera, grading.vignetted(options.vignettes[camera]))
    };
    frames.iter().enumerate().map(grading).collect()
}

/// The arguments of a launch apart from the cameras and the output.
struct Call<'a> {
    stream: &'a Stream,
    mesh: &'a DeviceMesh,
    params: MeshParams,
}

/// Launches one of the kernels, which differ in the arguments for the cameras.
macro_rules! launch {
    ($call:ident, $kernel:ident { $($camera:ident),+ }, $out:ident) => {{
        let (layers, patches, places, shares) = $call.mesh.buffers();
        let threads = Mesh::tiles_of($call.mesh.size()) * UVec2::from(BLOCK);
        let config = LaunchConfig::cover(threads.x, threads.y, BLOCK);
        let kernel = kernels::$kernel {
            $($camera,)+
            layers: layers.view(),
            patches: patches.view(),
            places: places.view(),
            shares: shares.view(),
            params: $call.params,
            out: $out,
        };
        // SAFETY: `layers`, `patches`, `places` and `shares` belong to one mesh, so their indices are consistent. There
        // is a conversion for each picture. The caller of `launch` has checked that `out` has the size of the mesh, and
        // that a flip is supported.
        unsafe { $call.stream.launch_unchecked(&config, &kernel) }
    }};
}

/// Launches the kernel that reads the frames through textures. There is one frame per camera of the mesh, and
/// [`StitchOptions::select`] returned this lookup. Two frames of one format are separate arguments, which is faster; see
/// `kernels_gpu::stitch::mesh`.
#[track_caller]
pub(super) fn launch(
    stream: &Stream,
    frames: &[Textured<'_>],
    mesh: &DeviceMesh,
    options: &StitchOptions,
    out: FrameViewMut<'_>,
) -> Result<(), StitchError> {
    let output = out.format();
    let (flip, edge_boost) = (options.flip.into(), options.edge_boost.into());
    let params = MeshParams { flip, edge_boost, encode: output.pixels.to_yuv() };
    let gradings = gradings(frames, options);
    mesh.await_ready(stream)?;
    let call = Call { stream, mesh, params };
    let launched = match (frames, &gradings[..]) {
        (&[left, right], &[first, second]) if left.is_like(&right) => {
            two(&call, [left, right], TwoGradings { first, second }, out)
        }
        _ => many(&call, frames, &gradings, out),
    };
    // `None` stands for formats of different depths, which `select` has excluded.
    launched.unwrap_or_else(|| {
        let pixels = frames.first().map_or(PixelFormat::Rgba8, Textured::pixels);
        let first = FrameFormat { size: mesh.sources()[0], pixels };
        Err(StitchError::depths(first, output))
    })
}

/// Launches the kernel for two frames of one format.
#[track_caller]
fn two(
    call: &Call<'_>,
    [first, second]: [Textured<'_>; 2],
    gradings: TwoGradings,
    out: FrameViewMut<'_>,
) -> Option<Result<(), StitchError>> {
    macro_rules! launch_two {
        ($kernel:ident, $first:ident, $second:ident, $out:ident) => {{
            let (first, second) = ($first, $second);
            launch!(call, $kernel { first, second, gradings }, $out)
        }};
    }
    let launched = launch_by_formats!(Textured[first, second], out, launch_two:
        StitchMeshRgba8, StitchMeshNv12, StitchMeshNv12Rgba8, StitchMeshRgba8Nv12,
        StitchMeshP010);
    launched.map(|launched| launched.map_err(StitchError::from))
}

/// Launches the kernel for up to 16 frames, whose formats may differ.
#[track_caller]
fn many(
    call: &Call<'_>,
    frames: &[Textured<'_>],
    gradings: &[Grading],
    out: FrameViewMut<'_>,
) -> Option<Result<(), StitchError>> {
    let gradings = DeviceTable::new(gradings)?;
    let launched = match (TexturedFrames::new(frames)?, out) {
        (In::Rgba8(pictures), Out::Rgba8(out)) => {
            launch!(call, StitchMeshManyRgba8 { pictures, gradings }, out)
        }
        (In::Rgba8(pictures), Out::Nv12(out, _)) => {
            launch!(call, StitchMeshManyRgba8Nv12 { pictures, gradings }, out)
        }
        (In::Nv12(pictures), Out::Rgba8(out)) => {
            launch!(call, StitchMeshManyNv12Rgba8 { pictures, gradings }, out)
        }
        (In::Nv12(pictures), Out::Nv12(out, _)) => {
            launch!(call, StitchMeshManyNv12 { pictures, gradings }, out)
        }
        (In::Mixed(pictures), Out::Rgba8(out)) => {
            launch!(call, StitchMeshMixedRgba8 { pictures, gradings }, out)
        }
        (In::Mixed(pictures), Out::Nv12(out, _)) => {
            launch!(call, StitchMeshMixedNv12 { pictures, gradings }, out)
        }
        (In::P010(pictures), Out::P010(out, _)) => {
            launch!(call, StitchMeshManyP010 { pictures, gradings }, out)
        }
        (In::P010(_), _) | (_, Out::P010(..)) => return None,
    };
    Some(launched.map_err(StitchError::from))
}
