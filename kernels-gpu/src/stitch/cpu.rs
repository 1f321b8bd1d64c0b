//! The stitch with planes on the CPU, of two cameras or by sums: two rows of 32 panorama pixels at a time.
//!
//! The cameras, colour corrections and weights are those of [`planes`](super::planes) and [`sum`](super::sum). All powers
//! are computed with the accuracy of a mesh's, which differs from an exact power by less than a level. The simulator runs
//! the other kernels: with a gamma table, whose results are those of interpolation, with planes in textures, which have
//! no advantage on the CPU, with 16 bits per channel, and with cubic NV12.

use super::edge_boost;
use crate::cpu::{covered, covers, vectorised};
use crate::io::{Cubic, Sampler2d};
use crate::rows::{
    Colours, Opens, Panorama, Picture, Places, Row, SIDE, Shading, accumulate, divide,
};
use cuda_std::launch::LaunchConfig;
use cuda_std::{View, ViewMut};
use glam::{UVec2, Vec3, uvec2, vec3};
use rayon::prelude::*;
use shared_types::Rgba8;
use shared_types::photometry::Vignette;
use shared_types::stitch::mesh::Grading;
use shared_types::stitch::sum::{AddParams, Combine, FinishParams, Sum};
use shared_types::stitch::{Colour, MIN_WEIGHT, StitchParams};
use shared_types::warp::CameraPlanes;
use shared_types::yuv::YuvToRgb;

/// A camera: its picture and the size of it, its planes, and its colour correction.
pub(crate) struct Camera {
    picture: Picture,
    size: UVec2,
    planes: CameraPlanes,
    grading: Grading,
    shading: Shading,
}

impl Camera {
    /// Opens the picture of a camera. Returns `None` if a picture of its kind or size is not supported.
    ///
    /// # Safety
    /// The picture must be valid host memory as long as the camera is used.
    pub(crate) unsafe fn open(
        picture: impl Opens + Sampler2d,
        planes: CameraPlanes,
        colour: Colour,
        (vignette, offset): (Vignette, Vec3),
        decode: &YuvToRgb,
    ) -> Option<Self> {
        let grading = picture.grading(colour, decode).vignetted(vignette);
        let shading = Shading {
            vignette: grading.vignette,
            offset,
            shoulder: (colour.shoulder != 0.0).then(|| [colour.gain, Vec3::splat(colour.shoulder)]),
            ..Shading::of_gamma(colour.gamma)
        };
        let size = picture.size();
        // SAFETY: the caller guarantees it.
        let picture = unsafe { picture.open() }?;
        Some(Self { picture, size, planes, grading, shading })
    }

    /// Returns the colours and weights of the camera in two rows, whose first pixel is `at`. A weight is 0 where the
    /// camera does not contribute. Returns `None` if it contributes nowhere.
    #[inline(always)]
    pub(crate) fn look(&self, at: UVec2, min_weight: f32) -> Option<(Colours, [Row; 2])> {
        let (mut places, mut weights): (Places, _) = ([[[0.0; SIDE]; 2]; 2], [[0.0; SIDE]; 2]);
        let mut sees = false;
        for i in 0..2 {
            let at = at + uvec2(0, i as u32);
            sees |= self.lookup(at, min_weight, &mut places[i], &mut weights[i]);
        }
        if !sees {
            return None;
        }
        let mut colours: Colours = [[[0.0; SIDE]; 3]; 2];
        self.picture.sample(&places, false, &self.grading, &mut colours);
        self.shading.apply(&places, &mut colours);
        Some((colours, weights))
    }

    /// Reads the texture coordinates and weights of a camera in a row of pixels from `at` on. A weight is 0 where the camera
    /// does not contribute. Returns whether it contributes anywhere.
    #[inline(always)]
    fn lookup(
        &self,
        at: UVec2,
        min_weight: f32,
        [u, v]: &mut [[f32; SIDE]; 2],
        weights: &mut [f32; SIDE],
    ) -> bool {
        let planes = &self.planes;
        if at.x >= planes.width() || at.y >= planes.height() {
            return false;
        }
        // SAFETY: the row is inside the planes, as just checked, and they are valid host memory.
        let [x_row, y_row, weight_row] = unsafe { planes.host_rows(at.y) };
        let columns = at.x as usize..(at.x as usize + SIDE).min(weight_row.len());
        let (x_row, y_row, weight_row) =
            (&x_row[columns.clone()], &y_row[columns.clone()], &weight_row[columns]);
        if !weight_row.iter().fold(false, |any, weight| any | (*weight > min_weight)) {
            return false;
        }
        let size = self.size.as_vec2();
        let mut any = 0.0;
        for (k, ((x, y), weight)) in x_row.iter().zip(y_row).zip(weight_row).enumerate() {
            // A NaN fails all comparisons.
            let is_inside = (*x >= 0.0) & (*x < size.x) & (*y >= 0.0) & (*y < size.y);
            let weight = if is_inside & (*weight > min_weight) { *weight } else { 0.0 };
            (u[k], v[k], weights[k]) = (x + 0.5, y + 0.5, weight);
            any += weight;
        }
        any > 0.0
    }
}

/// Computes a launch of a kernel that reads planes in memory.
///
/// # Safety
/// All memory must be valid host memory, and nothing else may access the panorama.
pub(super) unsafe fn planes<P: Opens + Sampler2d>(
    config: &LaunchConfig,
    left: P,
    right: P,
    planes_left: CameraPlanes,
    planes_right: CameraPlanes,
    params: StitchParams,
    out: impl Into<Panorama>,
) -> bool {
    // SAFETY: the caller guarantees that the pictures are valid host memory.
    let (left, right) = unsafe {
        let StitchParams { decode, left_vignette, right_vignette, .. } = &params;
        (
            Camera::open(left, planes_left, params.left, (*left_vignette, Vec3::ZERO), decode),
            Camera::open(right, planes_right, params.right, (*right_vignette, Vec3::ZERO), decode),
        )
    };
    let (Some(left), Some(right)) = (left, right) else { return false };
    // SAFETY: the caller guarantees it.
    unsafe { stitch(config, &[left, right], &params, out.into()) }
}

/// Stitches two cameras. Returns false if the panorama or the launch is not supported.
///
/// # Safety
/// The conditions are those of [`planes`].
unsafe fn stitch(
    config: &LaunchConfig,
    cameras: &[Camera; 2],
    params: &StitchParams,
    out: Panorama,
) -> bool {
    let (width, height) = out.size();
    let flips = params.flip != 0;
    if !is_writable(config, &out, flips) {
        return false;
    }
    (0..height.div_ceil(2)).into_par_iter().for_each(|pair| {
        vectorised!({
            for x in (0..width).step_by(SIDE) {
                let at = uvec2(x, 2 * pair);
                let mut colours = mean(cameras, at);
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

/// Returns whether a launch computes a whole panorama, and [`Panorama::store`] can write it. A thread of the kernels
/// computes the pixels that share a chroma sample.
fn is_writable(config: &LaunchConfig, out: &Panorama, flips: bool) -> bool {
    let ((width, height), cell) = (out.size(), out.cell());
    if !covers(config, width.div_ceil(cell), height.div_ceil(cell)) {
        return false;
    }
    let has_whole_cells = width.is_multiple_of(cell) && height.is_multiple_of(cell);
    out.is_whole() && (!flips || has_whole_cells)
}

/// Returns the weighted mean colours of the cameras in two rows, whose first pixel is `at`. Pixels that no camera sees
/// are black.
#[inline(always)]
fn mean(cameras: &[Camera], at: UVec2) -> Colours {
    let mut sums: Colours = [[[0.0; SIDE]; 3]; 2];
    let mut weights = [[0.0; SIDE]; 2];
    for camera in cameras {
        let Some((colours, own)) = camera.look(at, MIN_WEIGHT) else { continue };
        accumulate(&mut sums, &mut weights, &colours, &own);
    }
    divide(&mut sums, &weights);
    sums
}

/// Computes a launch of a kernel that adds a camera to sums.
///
/// # Safety
/// All memory must be valid host memory, and nothing else may access the sums.
pub(super) unsafe fn add<P: Opens + Sampler2d>(
    config: &LaunchConfig,
    picture: P,
    planes: CameraPlanes,
    params: AddParams,
    sums: ViewMut<Sum>,
) -> bool {
    let AddParams { colour, vignette, offset, .. } = params;
    // SAFETY: the caller guarantees that the picture is valid host memory.
    let camera =
        unsafe { Camera::open(picture, planes, colour, (vignette, offset), &params.decode) };
    // SAFETY: the caller guarantees it.
    camera.is_some_and(|camera| unsafe { add_camera(config, &camera, &params, sums) })
}

/// Adds a camera to sums; see [`add`].
///
/// # Safety
/// The conditions are those of [`add`].
unsafe fn add_camera(
    config: &LaunchConfig,
    camera: &Camera,
    params: &AddParams,
    sums: ViewMut<Sum>,
) -> bool {
    let AddParams { min_weight, min, .. } = *params;
    let end = params.max.min(uvec2(sums.width(), sums.height()));
    let sides = end.saturating_sub(min);
    let end = min + uvec2(covered(config, 0, sides.x), covered(config, 1, sides.y));
    let starts = params.combine == Combine::START;
    (min.y..end.y).into_par_iter().step_by(2).for_each(|y| {
        vectorised!(for x in (min.x..end.x).step_by(SIDE) {
            let seen = camera.look(uvec2(x, y), min_weight);
            if seen.is_none() && !starts {
                continue;
            }
            let (colours, weights) = seen.unwrap_or_default();
            for i in 0..2 {
                if y + i as u32 >= end.y {
                    break;
                }
                // SAFETY: the row is inside the sums. The caller guarantees their memory, and no other call takes these
                // rows.
                let row = unsafe { sums.host_row(y + i as u32) };
                let row = &mut row[x as usize..(x as usize + SIDE).min(end.x as usize)];
                for (k, sum) in row.iter_mut().enumerate() {
                    let before = if starts { Sum::default() } else { *sum };
                    let colour = vec3(colours[i][0][k], colours[i][1][k], colours[i][2][k]);
                    let weight = weights[i][k];
                    *sum = Sum {
                        colour: before.colour + colour * weight,
                        weight: before.weight + weight,
                    };
                }
            }
        });
    });
    true
}

/// Computes a launch of a kernel that samples with a cubic filter; see [`add`].
///
/// # Safety
/// The conditions are those of [`add`].
pub(super) unsafe fn add_cubic(
    config: &LaunchConfig,
    picture: View<Rgba8>,
    planes: CameraPlanes,
    params: AddParams,
    sums: ViewMut<Sum>,
) -> bool {
    // SAFETY: the caller guarantees it.
    unsafe { add(config, Cubic(picture), planes, params, sums) }
}

/// Computes a launch of a kernel that converts sums to a panorama. Returns false if the panorama is not supported.
///
/// # Safety
/// All memory must be valid host memory, and nothing else may access the panorama or write the sums.
pub(super) unsafe fn finish(
    config: &LaunchConfig,
    sums: View<Sum>,
    params: FinishParams,
    out: impl Into<Panorama>,
) -> bool {
    let out = out.into();
    let ((width, height), flips) = (out.size(), params.flip != 0);
    if !is_writable(config, &out, flips) {
        return false;
    }
    (0..height.div_ceil(2)).into_par_iter().for_each(|pair| {
        vectorised!(for x in (0..width).step_by(SIDE) {
            let at = uvec2(x, 2 * pair);
            let (mut colours, mut weights) = (Colours::default(), [[0.0; SIDE]; 2]);
            for i in 0..2 {
                let y = at.y + i as u32;
                if y < sums.height() && x < sums.width() {
                    // SAFETY: the row is inside the sums, and the caller guarantees their memory.
                    let row = unsafe { sums.host_row(y) };
                    for (k, sum) in row[x as usize..].iter().take(SIDE).enumerate() {
                        weights[i][k] = sum.weight;
                        for (channel, value) in colours[i].iter_mut().zip(sum.colour.to_array()) {
                            channel[k] = value;
                        }
                    }
                }
            }
            divide(&mut colours, &weights);
            if params.edge_boost != 0 {
                brighten(&mut colours, x, width);
            }
            // SAFETY: `at` is inside the panorama, whose size suits a flip, as checked above. Nothing else writes these
            // pixels.
            unsafe { out.store(at, &colours, &params.encode, flips) };
        });
    });
    true
}

/// Brightens two rows whose first column is `x`; see [`edge_boost`].
#[inline(always)]
pub(super) fn brighten(colours: &mut Colours, x: u32, width: u32) {
    for channel in colours.iter_mut().flatten() {
        for (k, value) in channel.iter_mut().enumerate() {
            *value = (*value * edge_boost(x + k as u32, width)).clamp(0.0, 1.0);
        }
    }
}
