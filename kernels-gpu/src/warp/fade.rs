//! The kernel that takes absent cameras out of a warp's weights, so that their neighbours replace them.

use crate::warp::camera::SourceLookup;
use core::ptr::with_exposed_provenance_mut;
use cuda_std::arg::Alike;
use cuda_std::prelude::*;
use glam::UVec2;
use shared_types::stitch::{MAX_CAMERAS, MIN_WEIGHT};
use shared_types::warp::{BLOCK_THREADS, FadedCamera};

/// Changes the weights of all cameras in place, as far as cameras are absent.
///
/// At each pixel, let `s` be a camera's weight, `b` its weight in the warp as it was rendered, and `p` its presence. The
/// camera keeps `p · s`. The rest of the weights is distributed to the cameras in proportion to `p · b`. So the
/// neighbours fill the pixels of an absent camera, even if their weight is 0 there, as next to a seam. If no present
/// camera sees the pixel, each camera keeps `s`. The sum of the weights stays the same.
///
/// `first` is the plane of the first camera's weights.
///
/// # Safety
/// Each camera must have a weight plane of its own with the size and pitch of `first` at its address. No work outside
/// this launch may access these planes while it runs.
#[kernel(launch_bounds(BLOCK_THREADS, 4))]
pub unsafe fn warp_fade(cameras: Table<FadedCamera, MAX_CAMERAS>, first: ViewMut<f32>) {
    let at = thread::index_2d();
    if !first.contains(at.x, at.y) {
        return;
    }
    let (mut whole, mut kept, mut claims) = (0.0, 0.0, 0.0);
    let mut index = 0;
    while let Some(camera) = cameras.get(index) {
        // SAFETY: `first` contains the pixel, and the caller guarantees that the camera's plane is like it.
        if let Some((base, weight)) = unsafe { weights(&camera, first, at) } {
            whole += weight;
            kept += camera.presence * weight;
            claims += camera.presence * base;
        }
        index += 1;
    }
    if !(whole > 0.0 && claims > 0.0) {
        return;
    }
    // The rest of the weights per unit of `presence · base`.
    let fill = (whole - kept).max(0.0) / claims;
    index = 0;
    while let Some(camera) = cameras.get(index) {
        // SAFETY: the reason is the same as above. Only this thread accesses the pixel.
        unsafe {
            if let Some((base, weight)) = weights(&camera, first, at) {
                let weight = camera.presence * (weight + base * fill);
                plane(&camera, first).store(at.x, at.y, weight);
            }
        }
        index += 1;
    }
}

/// Returns the plane of a camera's weights.
///
/// # Safety
/// There must be a plane with the size and pitch of `first` at the camera's address.
#[device]
unsafe fn plane(camera: &FadedCamera, first: ViewMut<f32>) -> ViewMut<f32> {
    // SAFETY: the caller guarantees that there is such a plane.
    unsafe { first.with_address(with_exposed_provenance_mut(camera.weights as usize)) }
}

/// Returns a camera's weight in the warp as it was rendered, and its current weight. Returns `None` if the camera does
/// not contribute to the pixel, whatever its current weight is.
///
/// # Safety
/// `first` must contain the pixel. There must be a plane with the size and pitch of `first` at the camera's address,
/// and no other thread may write this pixel of the plane.
#[device]
unsafe fn weights(camera: &FadedCamera, first: ViewMut<f32>, at: UVec2) -> Option<(f32, f32)> {
    let FadedCamera { base, size, .. } = *camera;
    let (_, base) = SourceLookup { planes: base, size }.source(at.x, at.y, MIN_WEIGHT)?;
    // SAFETY: the caller guarantees that the plane exists and contains the pixel.
    Some((base, unsafe { plane(camera, first).load(at.x, at.y) }))
}
