//! The factor that undoes the vignetting of a lens.

use cuda_std::prelude::*;
use glam::Vec2;
use shared_types::photometry::Vignette;

/// Returns the factor of the levels at a pixel position; see [`Vignette`].
#[device]
pub fn factor(vignette: &Vignette, place: Vec2) -> f32 {
    let Vec2 { x, y } = place - vignette.centre;
    let q = x.mul_add(x, y * y) * vignette.per_corner;
    let terms = vignette.terms;
    let light = terms.z.mul_add(q, terms.y).mul_add(q, terms.x).mul_add(q, 1.0);
    light.max(Vignette::LEAST).fast_powf(-1.0 / Vignette::GAMMA)
}
