//! The kernels that turn paths of seams into weights.
//!
//! For two cameras, [`seam_weights`] writes both weights. For more cameras, each camera k is laid over the cameras before
//! it, in three steps:
//! 1. [`seam_whole`] sets the cover of each camera to 1 at each pixel to which it contributes, and to 0 elsewhere.
//! 2. [`seam_cover`] runs for each pair of cameras j < k with an overlap. It lowers the cover of k to its share of the
//!    pair. So the cover is the smallest share of k against a camera before it.
//! 3. [`seam_layer`] runs for each camera, last one first. The weight of a camera is its cover times the product of
//!    1 − cover of all cameras after it.
//!
//! So the weights sum to 1 at each pixel that a camera sees, whatever the paths are. They change continuously, because
//! shares do: a share falls to 0 at the edge of a camera's picture and changes gradually across a seam. In particular,
//! there is no visible corner where several seams meet.

#[cfg(not(target_arch = "nvptx64"))]
use super::cpu;
use super::{CameraPair, Seen};
use crate::warp::camera::SourceLookup;
use cuda_std::prelude::*;
use glam::{UVec2, Vec2};
use shared_types::seam::{BLOCK_THREADS, FREEDOM, SeamBlend, SeamGrid};
use shared_types::stitch::MIN_WEIGHT;
use shared_types::warp::CameraPlanes;

/// Writes the weights of both cameras for the pixels in the bounding box of the overlap. The two weights sum to 1 at
/// each pixel that at least one camera sees.
///
/// If only one camera sees the pixel, its weight is 1. If both cameras see it, the weight of the near camera is
///
/// ```text
/// w = mean over rows of clamp(½ + (path − place) / feather, 0, 1)
/// ```
///
/// Here `path` is the position of the path in the row, and `place` is the position of the pixel across the seam. The
/// mean is over rows within half a feather of the pixel, with the largest weight for the nearest row, so the fade has
/// about the same width for any direction of the path.
///
/// Near the edge of its picture, a camera's weight is limited to a maximum that is called its freedom ([`FREEDOM`]).
/// The other camera's weight is then at least 1 minus this freedom. So weights fall to 0 at the edge without a step.
/// With the freedoms f and g of the near and the far camera, w is clamped to [1 − g, f]. If f + g is less than 1, w is
/// f / (f + g) instead.
///
/// The written weights are a mix of the weights of path `from`, with the factor 1 − `blend.part`, and the weights of
/// path `to`, with the factor `blend.part`. If there is no previous path (`blend.from_path` is 0), the weights of the
/// warp replace the weights of path `from`. `left` and `right` are the sizes of the pictures. `out_left` and
/// `out_right` have the size of the panorama.
#[kernel(launch_bounds(BLOCK_THREADS, 2), cpu(cpu::weights))]
pub fn seam_weights(
    planes_left: CameraPlanes,
    planes_right: CameraPlanes,
    left: UVec2,
    right: UVec2,
    grid: SeamGrid,
    from: Slice<u32>,
    to: Slice<u32>,
    blend: SeamBlend,
    out_left: ViewMut<f32>,
    out_right: ViewMut<f32>,
) {
    let cameras = CameraPair::new([planes_left, planes_right], [left, right]);
    let at = thread::index_2d() + grid.min;
    let inside = out_left.contains(at.x, at.y) && out_right.contains(at.x, at.y);
    if !(inside && at.x < grid.max.x && at.y < grid.max.y) {
        return;
    }
    let near = |i: usize| nearness(if i == 0 { from } else { to }, &grid, at, blend.feather);
    let [left, right] = weights(&cameras, at, &grid, &blend, near);
    // SAFETY: the pixel is inside `out_left` and `out_right`, as just checked, and only this thread writes it.
    unsafe {
        out_left.store(at.x, at.y, left);
        out_right.store(at.x, at.y, right);
    }
}

/// Returns the weights of both cameras at a pixel. `near` returns the weight of the near camera by the former path (0) or
/// the new one (1), as [`nearness`] does.
#[device]
pub(super) fn weights(
    cameras: &CameraPair,
    at: UVec2,
    grid: &SeamGrid,
    blend: &SeamBlend,
    near: impl Fn(usize) -> f32,
) -> [f32; 2] {
    match cameras.seen(at) {
        Seen::Nobody => [0.0, 0.0],
        Seen::Left => [1.0, 0.0],
        Seen::Right => [0.0, 1.0],
        Seen::Both(sources) => {
            let left = faded_share(cameras, sources, grid, blend, near);
            [left, 1.0 - left]
        }
    }
}

/// Sets the cover of a camera to 1 at each pixel to which the camera contributes, and to 0 at all other pixels. `size` is
/// the size of its picture.
#[kernel(launch_bounds(BLOCK_THREADS, 2))]
pub fn seam_whole(planes: CameraPlanes, size: UVec2, cover: ViewMut<f32>) {
    let at = thread::index_2d();
    if !cover.contains(at.x, at.y) {
        return;
    }
    let counts = SourceLookup { planes, size }.source(at.x, at.y, MIN_WEIGHT).is_some();
    // SAFETY: the pixel is inside `cover`, as just checked, and only this thread writes it.
    unsafe { cover.store(at.x, at.y, if counts { 1.0 } else { 0.0 }) };
}

/// Lowers the cover of the right camera to its share of the pair, at the pixels in the bounding box of the overlap that
/// both cameras see. The arguments are those of [`seam_weights`]. If the pair has no path
/// ([`SeamBlend::NO_PATH`]), the share is that of the warp's weights.
#[kernel(launch_bounds(BLOCK_THREADS, 2))]
pub fn seam_cover(
    planes_left: CameraPlanes,
    planes_right: CameraPlanes,
    left: UVec2,
    right: UVec2,
    grid: SeamGrid,
    from: Slice<u32>,
    to: Slice<u32>,
    blend: SeamBlend,
    cover: ViewMut<f32>,
) {
    let cameras = CameraPair::new([planes_left, planes_right], [left, right]);
    let at = thread::index_2d() + grid.min;
    if !(cover.contains(at.x, at.y) && at.x < grid.max.x && at.y < grid.max.y) {
        return;
    }
    if let Seen::Both(sources) = cameras.seen(at) {
        let near = |i: usize| nearness(if i == 0 { from } else { to }, &grid, at, blend.feather);
        let share = 1.0 - faded_share(&cameras, sources, &grid, &blend, near);
        // SAFETY: the pixel is inside `cover`, as just checked, and only this thread accesses it.
        unsafe { cover.store(at.x, at.y, cover.load(at.x, at.y).min(share)) };
    }
}

/// Turns the cover of a camera into its weight, in place. `rest` contains the product of 1 − cover of all cameras after
/// this one. It is not read if `last` is not 0. Multiplies `rest` by 1 − the cover of this camera.
#[kernel(launch_bounds(BLOCK_THREADS, 2))]
pub fn seam_layer(last: u32, rest: ViewMut<f32>, cover: ViewMut<f32>) {
    let at = thread::index_2d();
    if !(rest.contains(at.x, at.y) && cover.contains(at.x, at.y)) {
        return;
    }
    // SAFETY: the pixel is inside `rest` and `cover`, as just checked, and only this thread accesses it.
    unsafe {
        let before = if last != 0 { 1.0 } else { rest.load(at.x, at.y) };
        let covered = cover.load(at.x, at.y);
        cover.store(at.x, at.y, before * covered);
        rest.store(at.x, at.y, before * (1.0 - covered));
    }
}

/// Returns the left camera's weight at a pixel that both cameras see: a mix of its weights for both paths, as
/// [`seam_weights`] defines it.
#[device]
fn faded_share(
    cameras: &CameraPair,
    sources: [(Vec2, f32); 2],
    grid: &SeamGrid,
    blend: &SeamBlend,
    near: impl Fn(usize) -> f32,
) -> f32 {
    let [(_, l), (_, r)] = sources;
    let feathered = l / (l + r);
    if blend.from_path == SeamBlend::NO_PATH {
        return feathered;
    }
    let [left, right] = (cameras.shares(sources) * FREEDOM).min(Vec2::ONE).to_array();
    let share = |path| {
        let near = near(path);
        let share = if grid.swapped != 0 { 1.0 - near } else { near };
        if left + right < 1.0 { left / (left + right) } else { share.max(1.0 - right).min(left) }
    };
    let former = if blend.from_path != 0 { share(0) } else { feathered };
    blend.part.mul_add(share(1) - former, former)
}

/// The number of rows above a pixel's row, and also below it, at which a path is sampled.
pub(super) const TAPS: i32 = 4;

/// Returns the weight of the near camera at a pixel by one path, before the limits at the edges of the pictures;
/// [`seam_weights`] defines it.
#[device]
fn nearness(path: Slice<u32>, grid: &SeamGrid, at: UVec2, feather: f32) -> f32 {
    let scale = 1.0 / grid.cell as f32;
    let place = ((at - grid.min).as_vec2() + 0.5) * scale;
    let (across, along) =
        if grid.transposed != 0 { (place.y, place.x) } else { (place.x, place.y) };
    let feather = feather * scale;
    let mut near = 0.0;
    for tap in -TAPS..=TAPS {
        near += tapped(tap, path_at(path, along, tap, feather), across, feather);
    }
    near
}

/// Returns where a path crosses the row of a tap, in cells. `along` is the place of the pixel along the seam, and
/// `feather` the width of the blend, also in cells.
#[device]
pub(super) fn path_at(path: Slice<u32>, along: f32, tap: i32, feather: f32) -> f32 {
    // The unit of `row` is a row of cells, and the centres of cells are at integers.
    let row = (tap as f32).mul_add(feather / (2 * TAPS) as f32, along - 0.5);
    let row = row.max(0.0).min((path.len() - 1) as f32);
    let first = row.floor();
    // SAFETY: `row` is clamped to the rows of `path`, even for NaN. A path has at least one row.
    let (a, b) = unsafe {
        let first = first.to_int_unchecked::<u32>();
        (path.load(first), path.load((first + 1).min(path.len() - 1)))
    };
    (b as f32 - a as f32).mul_add(row - first, a as f32)
}

/// Returns the part of a tap, at which the path is at `path`, in the weight of the near camera at the place `across`.
#[device]
pub(super) fn tapped(tap: i32, path: f32, across: f32, feather: f32) -> f32 {
    let weight = (TAPS + 1 - tap.abs()) as f32 / ((TAPS + 1) * (TAPS + 1)) as f32;
    weight * ((path - across) / feather + 0.5).clamp(0.0, 1.0)
}
