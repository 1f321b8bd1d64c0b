//! The stitch with planes on the CPU: two rows of 32 panorama pixels at a time.
//!
//! The cameras, colour corrections and weights are those of [`planes`](super::planes). All powers are computed with the
//! accuracy of a mesh's, which differs from an exact power by less than a level. The gamma table is left to the
//! simulator, because its results are those of interpolation.

use crate::cpu::{
    Colours, Opens, Panorama, Picture, Places, SIDE, Shading, Shared, brighten, vectorised,
};
use crate::io::Sampler2d;
use cuda_std::launch::LaunchConfig;
use glam::{UVec2, Vec3, uvec2};
use rayon::prelude::*;
use shared_types::photometry::Vignette;
use shared_types::stitch::mesh::Grading;
use shared_types::stitch::{Colour, MIN_WEIGHT, StitchParams};
use shared_types::texture::TexturedCameraPlanes;
use shared_types::warp::CameraPlanes;

/// A camera: its picture and the size of it, its planes, and its colour correction.
struct Camera<P> {
    picture: P,
    size: UVec2,
    planes: CameraPlanes,
    grading: Grading,
    shading: Shading,
}

/// Computes a launch of a kernel that reads planes in memory.
///
/// # Safety
/// All memory must be valid host memory, and nothing else may access the panorama.
#[expect(clippy::too_many_arguments, reason = "they are the arguments of the kernels")]
pub(super) unsafe fn planes<P: Opens + Sampler2d, O: Panorama>(
    _: &LaunchConfig,
    left: P,
    right: P,
    planes_left: CameraPlanes,
    planes_right: CameraPlanes,
    params: StitchParams,
    out: O,
) -> bool {
    let cameras = [
        (left, planes_left, params.left, params.left_vignette),
        (right, planes_right, params.right, params.right_vignette),
    ];
    // SAFETY: the caller guarantees it.
    unsafe { stitch(cameras, &params, out) }
}

/// Computes a launch of a kernel that ignores the gammas; see [`planes`].
///
/// # Safety
/// The conditions are those of [`planes`].
#[expect(clippy::too_many_arguments, reason = "they are the arguments of the kernels")]
pub(super) unsafe fn linear_planes<P: Opens + Sampler2d, O: Panorama>(
    config: &LaunchConfig,
    left: P,
    right: P,
    planes_left: CameraPlanes,
    planes_right: CameraPlanes,
    params: StitchParams,
    out: O,
) -> bool {
    let linear = |colour: Colour| Colour { gamma: 1.0, ..colour };
    let params = StitchParams { left: linear(params.left), right: linear(params.right), ..params };
    // SAFETY: the caller guarantees it.
    unsafe { planes(config, left, right, planes_left, planes_right, params, out) }
}

/// Leaves a launch with planes in textures to the simulator: on the CPU, they have no advantage.
///
/// # Safety
/// There are no conditions.
#[expect(clippy::too_many_arguments, reason = "they are the arguments of the kernels")]
pub(super) unsafe fn textured_planes<P, O>(
    _: &LaunchConfig,
    _: P,
    _: P,
    _: TexturedCameraPlanes,
    _: TexturedCameraPlanes,
    _: StitchParams,
    _: O,
) -> bool {
    false
}

/// Stitches two cameras. Returns false if a picture or the panorama is not supported.
///
/// # Safety
/// The conditions are those of [`planes`].
unsafe fn stitch<P: Opens + Sampler2d, O: Panorama>(
    cameras: [(P, CameraPlanes, Colour, Vignette); 2],
    params: &StitchParams,
    out: O,
) -> bool {
    let (width, height) = out.size();
    let flips = params.flip != 0;
    let is_odd = !width.is_multiple_of(O::CELL) || !height.is_multiple_of(O::CELL);
    if !out.is_whole() || (flips && is_odd) {
        return false;
    }
    let open = |(picture, planes, colour, vignette): (P, CameraPlanes, Colour, Vignette)| {
        let (size, grading) = (picture.size(), picture.grading(colour, &params.decode));
        let grading = grading.vignetted(vignette);
        let white = colour.gain;
        let shading = Shading {
            gamma: colour.gamma,
            vignette: grading.vignette,
            shoulder: (colour.shoulder != 0.0).then(|| [white, Vec3::splat(colour.shoulder)]),
        };
        // SAFETY: the caller guarantees that the picture is valid host memory.
        let picture = unsafe { picture.open() }?;
        Some(Camera { picture, size, planes, grading, shading })
    };
    let [Some(left), Some(right)] = cameras.map(open) else { return false };
    let cameras = Shared([left, right]);
    (0..height.div_ceil(2)).into_par_iter().for_each(|pair| {
        let cameras = &cameras;
        vectorised!({
            for x in (0..width).step_by(SIDE) {
                let at = uvec2(x, 2 * pair);
                let mut colours = mean(&cameras.0, at);
                if params.edge_boost != 0 {
                    brighten(&mut colours, x, width);
                }
                // SAFETY: `at` is inside the panorama, whose size suits a flip, as checked above. Nothing else writes
                // these pixels.
                unsafe { out.store(at, &colours, &params.encode, flips) };
            }
        });
    });
    true
}

/// Returns the weighted mean colours of the cameras in two rows, whose first pixel is `at`. Pixels that no camera sees
/// are black.
#[inline(always)]
fn mean<P: Picture>(cameras: &[Camera<P>], at: UVec2) -> Colours {
    let mut sums: Colours = [[[0.0; SIDE]; 3]; 2];
    let mut weights = [[0.0; SIDE]; 2];
    for camera in cameras {
        let (mut places, mut own): (Places, _) = ([[[0.0; SIDE]; 2]; 2], [[0.0; SIDE]; 2]);
        let mut sees = false;
        for i in 0..2 {
            sees |= lookup(camera, at + uvec2(0, i as u32), &mut places[i], &mut own[i]);
        }
        if !sees {
            continue;
        }
        let mut colours: Colours = [[[0.0; SIDE]; 3]; 2];
        camera.picture.sample(&places, false, &camera.grading, &mut colours);
        camera.shading.apply(&places, &mut colours);
        for i in 0..2 {
            for k in 0..SIDE {
                weights[i][k] += own[i][k];
            }
            for channel in 0..3 {
                for k in 0..SIDE {
                    sums[i][channel][k] += colours[i][channel][k] * own[i][k];
                }
            }
        }
    }
    for i in 0..2 {
        for channel in &mut sums[i] {
            for k in 0..SIDE {
                let weight = weights[i][k];
                // The quotient may exceed 1 by a rounding error.
                let mean = if weight > 0.0 { channel[k] / weight } else { 0.0 };
                channel[k] = if mean < 1.0 { mean } else { 1.0 };
            }
        }
    }
    sums
}

/// Reads the texture coordinates and weights of a camera in a row of pixels from `at` on. A weight is 0 where the camera
/// does not contribute. Returns whether it contributes anywhere.
#[inline(always)]
fn lookup<P>(
    camera: &Camera<P>,
    at: UVec2,
    [u, v]: &mut [[f32; SIDE]; 2],
    weights: &mut [f32; SIDE],
) -> bool {
    let planes = &camera.planes;
    if at.x >= planes.width() || at.y >= planes.height() {
        return false;
    }
    // SAFETY: the row is inside the planes, as just checked, and they are valid host memory.
    let [x_row, y_row, weight_row] = unsafe { planes.host_rows(at.y) };
    let columns = at.x as usize..(at.x as usize + SIDE).min(weight_row.len());
    let (x_row, y_row, weight_row) =
        (&x_row[columns.clone()], &y_row[columns.clone()], &weight_row[columns]);
    if !weight_row.iter().fold(false, |any, weight| any | (*weight > MIN_WEIGHT)) {
        return false;
    }
    let size = camera.size.as_vec2();
    let mut any = 0.0;
    for (k, ((x, y), weight)) in x_row.iter().zip(y_row).zip(weight_row).enumerate() {
        // A NaN fails all comparisons.
        let is_inside = (*x >= 0.0) & (*x < size.x) & (*y >= 0.0) & (*y < size.y);
        let weight = if is_inside & (*weight > MIN_WEIGHT) { *weight } else { 0.0 };
        (u[k], v[k], weights[k]) = (x + 0.5, y + 0.5, weight);
        any += weight;
    }
    any > 0.0
}
