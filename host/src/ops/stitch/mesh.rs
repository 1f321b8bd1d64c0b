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
            // that a flip is supported.
            unsafe { stream.launch_unchecked(&config, &kernel) }
        }};
    }
    // The caller has checked that only P010 is combined with P010.
    let depths = || {
        let pixels = frames.first().map_or(PixelFormat::Rgba8, Textured::pixels);
        StitchError::depths(FrameFormat { size: mesh.sources()[0], pixels }, output)
    };
    if let (&[first, second], &[first_grading, second_grading]) = (frames, &gradings[..])
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
    let gradings = DeviceTable::new(&gradings).ok_or_else(depths)?;
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
