//! Stitch: makes a panorama from the pictures of several cameras and a warp.
//!
//! [`mesh`] is the fast variant. [`planes`] is the reference for [`mesh`] and the fallback if a mesh cannot be used,
//! because it accepts every warp of two cameras. [`sum`] does the same for more cameras.

#[cfg(not(target_arch = "nvptx64"))]
pub(crate) mod cpu;
mod gamma_table;
pub mod mesh;
pub mod planes;
pub mod sum;

pub use gamma_table::*;

// On the host, `core` or `std` provides these methods of `f32`.
#[cfg(target_arch = "nvptx64")]
use cuda_std::GpuFloat as _;
use cuda_std::device;

/// Returns the factor by which panorama column `x` is brightened: 1 in the middle, up to 1.35 at both ends. See
/// [`StitchParams::edge_boost`](shared_types::stitch::StitchParams::edge_boost).
#[device]
pub(crate) fn edge_boost(x: u32, width: u32) -> f32 {
    let half = 0.5 * width as f32;
    let d = (x as f32 - half).abs() / half;
    if d > 0.8 { (d - 0.8).mul_add(1.75, 1.0).min(1.35) } else { 1.0 }
}
