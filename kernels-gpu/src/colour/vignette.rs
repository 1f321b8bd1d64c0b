//! The factor that undoes the vignetting of a lens.

// On the host, `core` or `std` provides the methods of `f32`.
#[cfg(target_arch = "nvptx64")]
use cuda_std::GpuFloat as _;
use glam::Vec2;
use shared_types::photometry::Vignette;

/// Returns the factor of the levels at a pixel position; see [`Vignette`].
#[inline(always)]
pub fn factor(vignette: &Vignette, place: Vec2) -> f32 {
    let Vec2 { x, y } = place - vignette.centre;
    let q = x.mul_add(x, y * y) * vignette.per_corner;
    let terms = vignette.terms;
    terms.z.mul_add(q, terms.y).mul_add(q, terms.x).mul_add(q, 1.0)
}
