//! The kernel that moves the picture of a camera within the panorama, by displacements on a coarse grid.

use crate::warp::camera::is_inside;
use cuda_std::prelude::*;
use glam::{UVec2, Vec2, uvec2};
use shared_types::warp::{BLOCK_THREADS, CameraPlanes};

/// Writes a camera's source coordinates, moved by the displacements of a grid. Pixel `p` of the planes receives the
/// source coordinates of the position `p + shift(p)`. `size` is the size of the camera's picture. Node `(x, y)` of
/// `shifts` is at the position `first + (x, y) · spacing`; all lengths are in pixels of the planes.
///
/// The source coordinates change almost linearly over a displacement, so the kernel adds their derivative at `p` times
/// the displacement: the mean of the differences to the neighbours that the camera sees, or the only one. For a
/// displacement of `d` pixels and a focal length of `f` panorama pixels, the error is about `d² / 2f` pixels. The result
/// stays within the picture, and pixels that the camera does not see are copied.
#[kernel(launch_bounds(BLOCK_THREADS, 4))]
pub fn warp_shift(
    planes: CameraPlanes,
    size: UVec2,
    shifts: View<Vec2>,
    first: Vec2,
    spacing: f32,
    u: ViewMut<f32>,
    v: ViewMut<f32>,
) {
    let at = thread::index_2d();
    if !(planes.contains(at.x, at.y) && u.contains(at.x, at.y) && v.contains(at.x, at.y)) {
        return;
    }
    // SAFETY: the planes contain the pixel, as just checked.
    let mut place = unsafe { planes.place(at.x, at.y) };
    if is_inside(size, place) {
        let shift = between(&shifts, (at.as_vec2() - first) / spacing);
        let along = slope(planes, size, at, place, uvec2(1, 0)) * shift.x;
        let down = slope(planes, size, at, place, uvec2(0, 1)) * shift.y;
        place = (place + (along + down)).clamp(Vec2::ZERO, size.as_vec2() - 1.0);
    }
    // SAFETY: the pixel is inside both outputs, as checked above, and only this thread writes it.
    unsafe {
        u.store(at.x, at.y, place.x);
        v.store(at.x, at.y, place.y);
    }
}

/// Returns the change of a camera's source coordinates `place` per pixel at `at`, in the direction of `step`. Returns 0
/// if the camera sees neither neighbour.
#[device]
fn slope(planes: CameraPlanes, size: UVec2, at: UVec2, place: Vec2, step: UVec2) -> Vec2 {
    // A step beyond the first pixel wraps to an index that the planes do not contain.
    let [before, after] = [at.wrapping_sub(step), at + step].map(|at| {
        // SAFETY: the planes contain the pixel, as just checked.
        let seen = planes.contains(at.x, at.y).then(|| unsafe { planes.place(at.x, at.y) });
        seen.filter(|place| is_inside(size, *place))
    });
    let both = before.is_some() && after.is_some();
    (after.unwrap_or(place) - before.unwrap_or(place)) * if both { 0.5 } else { 1.0 }
}

/// Returns the displacement at a position in nodes, interpolated bilinearly. Positions outside the grid have that of
/// the nearest position on its outline.
#[device]
fn between(shifts: &View<Vec2>, at: Vec2) -> Vec2 {
    let last = uvec2(shifts.width(), shifts.height()).saturating_sub(UVec2::ONE);
    let at = at.clamp(Vec2::ZERO, last.as_vec2());
    let low = at.floor();
    let part = at - low;
    let low = low.as_uvec2();
    let high = (low + 1).min(last);
    let node = |x: u32, y: u32| shifts.get(x, y).unwrap_or(Vec2::ZERO);
    let above = node(low.x, low.y).lerp(node(high.x, low.y), part.x);
    let below = node(low.x, high.y).lerp(node(high.x, high.y), part.x);
    above.lerp(below, part.y)
}
