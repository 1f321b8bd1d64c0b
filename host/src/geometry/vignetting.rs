//! The vignetting of a lens, as a rig states it, and its conversion for the kernels.

use glam::{DMat3, DVec3, UVec2, Vec2};
use serde::{Deserialize, Serialize};
use shared_types::photometry::Vignette;

/// The light that a lens keeps at a distance `r` from the middle of the picture: `1 + a·r² + b·r⁴ + c·r⁶` of that in
/// the middle. The distance is 1 at the corners.
///
/// This is the model `pa` of lensfun, and that of Hugin with its coefficients Vb, Vc and Vd.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Vignetting(pub [f64; 3]);

impl Vignetting {
    /// A lens that keeps all light.
    pub const NONE: Self = Self([0.0; 3]);

    /// The least and the most light that a lens may keep.
    const LIGHT: [f64; 2] = [0.05, 4.0];

    /// Returns the light at a squared distance `q` from the middle.
    #[must_use]
    pub fn light(&self, q: f64) -> f64 {
        let Self([a, b, c]) = *self;
        1.0 + q * (a + q * (b + q * c))
    }

    /// Returns the vignetting of a picture of `size` pixels that has a vignette, and its centre as fractions of the
    /// width and the height. A vignette with numbers that are not finite is none.
    pub(crate) fn of_vignette(vignette: &Vignette, size: UVec2) -> (Self, Vec2) {
        let Vignette { terms, per_corner, centre } = *vignette;
        let is_finite = terms.is_finite() && per_corner.is_finite() && centre.is_finite();
        if !is_finite || per_corner == 0.0 {
            return (Self::NONE, MIDDLE);
        }
        let scale = f64::from(per_corner) * f64::from(to_corner(size, centre));
        let terms = terms.as_dvec3() * DVec3::new(scale, scale.powi(2), scale.powi(3));
        (Self(terms.to_array()), (centre + 0.5) / size.as_vec2())
    }

    /// Returns the logarithm of the levels that the lens keeps at a squared distance `q` from the middle. Like the
    /// kernels, it assumes that the lens keeps at least [`Vignette::LEAST`].
    pub(crate) fn falloff(&self, q: f64) -> f64 {
        self.light(q).max(Vignette::LEAST.into()).ln() / f64::from(Vignette::GAMMA)
    }

    /// Returns whether the light is between 0.05 and 4 everywhere in the picture.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        let [least, most] = Self::LIGHT;
        (0..=32).all(|i| (least..=most).contains(&self.light(f64::from(i) / 32.0)))
    }

    /// Returns the vignetting that is nearest to a [`falloff`](Self::falloff).
    pub(crate) fn of_levels(falloff: impl Fn(f64) -> f64) -> Self {
        Self(polynomial(|q| (f64::from(Vignette::GAMMA) * falloff(q)).exp()))
    }

    /// Returns the vignetting of a picture of `size` pixels, or none if it is not [valid](Self::is_valid).
    #[must_use]
    pub fn vignette(&self, size: UVec2) -> Vignette {
        if self.is_valid() { self.vignette_around(MIDDLE, size) } else { Vignette::NONE }
    }

    /// Returns the vignetting of a picture of `size` pixels around a centre, which is given as fractions of the width
    /// and the height. The distance is 1 at the farthest corner.
    pub(crate) fn vignette_around(&self, centre: Vec2, size: UVec2) -> Vignette {
        if *self == Self::NONE {
            return Vignette::NONE;
        }
        let terms = DVec3::from(self.0).as_vec3();
        let centre = centre * size.as_vec2() - 0.5;
        Vignette { terms, per_corner: to_corner(size, centre).recip(), centre }
    }
}

/// The middle of a picture as fractions of its width and height.
pub(crate) const MIDDLE: Vec2 = Vec2::splat(0.5);

/// Returns the squared distance in pixels from a position in a picture to the centre of the farthest pixel, at least 1.
pub(crate) fn to_corner(size: UVec2, place: Vec2) -> f32 {
    let last = size.as_vec2() - 1.0;
    place.abs().max((last - place).abs()).length_squared().max(1.0)
}

/// Returns the coefficients a, b and c of the polynomial `1 + a·q + b·q² + c·q³` that is nearest to a function from 0
/// to 1 by least squares.
fn polynomial(function: impl Fn(f64) -> f64) -> [f64; 3] {
    const POINTS: usize = 32;
    let point = |i: usize| (i + 1) as f64 / POINTS as f64;
    let (mut squares, mut right) = (DMat3::ZERO, DVec3::ZERO);
    for point in (0..POINTS).map(point) {
        let powers = DVec3::new(point, point.powi(2), point.powi(3));
        squares += DMat3::from_cols(powers * powers.x, powers * powers.y, powers * powers.z);
        right += powers * (function(point) - 1.0);
    }
    let terms = squares.inverse() * right;
    if terms.is_finite() { terms.to_array() } else { [0.0; 3] }
}

#[cfg(test)]
mod tests {
    use glam::{uvec2, vec2, vec3};
    use kernels_gpu::colour::vignette::factor;

    use super::*;

    /// The factor restores a level that the lens has darkened.
    #[test]
    fn the_factor_undoes_the_loss_of_light() {
        // The last three keep a fifth, a tenth and a twentieth of the light in the corners.
        let lenses = [
            [-0.3, 0.05, -0.15],
            [0.9, 0.0, -0.3],
            [0.0, 0.0, -0.8],
            [0.9, -1.0, -0.8],
            [-0.95, 0.0, 0.0],
        ];
        for vignetting in lenses.map(Vignetting) {
            let vignette = vignetting.vignette(uvec2(3840, 2160));
            for i in 0..=200 {
                let r = f64::from(i) / 200.0;
                let dark = vignetting.light(r * r).powf(1.0 / 2.2);
                let place = vignette.centre + vignette.centre * r as f32;
                let restored = dark * f64::from(factor(&vignette, place));
                assert!((restored - 1.0).abs() < 1e-5, "{vignetting:?}, {r}: {restored}");
            }
        }
    }

    /// The vignetting of a vignette gives the same factors, also if the centre is not in the middle, the distance is
    /// not 1 at a corner, or the lens keeps hardly any light.
    #[test]
    fn a_vignette_becomes_vignetting() {
        let (size, centre) = (uvec2(300, 200), vec2(40.0, 170.0));
        let terms = vec3(-0.6, -0.9, -0.3);
        let vignettes = [
            Vignetting([-0.97, 0.0, 0.0]).vignette_around(MIDDLE, size),
            Vignette { terms, per_corner: 0.5 / to_corner(size, centre), centre },
            Vignette { terms, per_corner: 0.5 / to_corner(size, -centre), centre: -centre },
        ];
        for vignette in vignettes {
            let (vignetting, centre) = Vignetting::of_vignette(&vignette, size);
            let again = vignetting.vignette_around(centre, size);
            for place in [vec2(0.0, 0.0), vec2(299.0, 0.0), vec2(0.0, 199.0), vec2(150.0, 90.0)] {
                let (was, is) = (factor(&vignette, place), factor(&again, place));
                assert!((is / was - 1.0).abs() < 1e-4, "{vignette:?}, {place}: {was}, {is}");
                let q = place.distance_squared(vignette.centre) / to_corner(size, vignette.centre);
                let falloff = vignetting.falloff(q.into()).exp() as f32;
                assert!((falloff * was - 1.0).abs() < 1e-4, "{vignette:?}, {place}: {falloff}");
            }
        }
        let unknown = Vignette { centre: vec2(f32::NAN, 0.0), ..vignettes[0] };
        assert_eq!(Vignetting::of_vignette(&unknown, size), (Vignetting::NONE, MIDDLE));
    }

    #[test]
    fn a_falloff_of_levels_becomes_light() {
        let found = Vignetting::of_levels(|q| -0.2 * q - 0.05 * q * q);
        for i in 0..=10 {
            let q = f64::from(i) / 10.0;
            let light = (2.2 * (-0.2 * q - 0.05 * q * q)).exp();
            assert!((found.light(q) - light).abs() < 2e-3, "{q}");
        }
    }

    #[test]
    fn impossible_lenses_have_no_vignette() {
        for vignetting in [[-1.0, 0.0, 0.0], [f64::NAN; 3], [9.0, 0.0, 0.0]].map(Vignetting) {
            assert!(!vignetting.is_valid());
            assert_eq!(vignetting.vignette(uvec2(8, 8)), Vignette::NONE);
        }
        // A picture of one pixel has no corners.
        let one = Vignetting([-0.3, 0.0, 0.0]).vignette(uvec2(1, 1));
        assert!(factor(&one, glam::Vec2::ZERO) == 1.0);
    }
}
