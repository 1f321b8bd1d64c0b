//! The steps between samples and colours: vignette, shoulder, limits and power.

use super::{Colours, Places, SIDE};
use crate::colour::shoulder::shoulder;
use crate::cpu::power;
use glam::{Vec3, vec3};
use shared_types::photometry::Vignette;

/// The nonlinear steps of a colour correction.
#[derive(Clone, Copy)]
pub(crate) struct Shading {
    /// The exponent of the power.
    pub(crate) gamma: f32,
    /// The vignette. Its centre is in texture coordinates.
    pub(crate) vignette: Vignette,
    /// A colour that is added after the vignette.
    pub(crate) offset: Vec3,
    /// The colour of white and the limit of the shoulder, if there is one. Neither contains the offset.
    pub(crate) shoulder: Option<[Vec3; 2]>,
}

impl Shading {
    /// Returns the steps of a correction with this gamma and nothing else.
    pub(crate) fn of_gamma(gamma: f32) -> Self {
        Self { gamma, vignette: Vignette::NONE, offset: Vec3::ZERO, shoulder: None }
    }

    /// Multiplies the colours of samples at `places` by the factor of the vignette, adds the offset, applies the shoulder, limits them to
    /// 0 to 1 and computes the power.
    #[inline(always)]
    pub(crate) fn apply(&self, places: &Places, colours: &mut Colours) {
        let has_vignette = self.vignette.per_corner > 0.0;
        for (colours, [x, y]) in colours.iter_mut().zip(places) {
            let mut factors = [1.0; SIDE];
            if has_vignette {
                for k in 0..SIDE {
                    factors[k] = factor(&self.vignette, x[k], y[k]);
                }
                for channel in colours.iter_mut() {
                    for (value, factor) in channel.iter_mut().zip(&factors) {
                        *value *= factor;
                    }
                }
            }
            let offset = self.offset;
            if offset != Vec3::ZERO {
                for (channel, offset) in colours.iter_mut().zip(offset.to_array()) {
                    channel.iter_mut().for_each(|value| *value += offset);
                }
            }
            if let Some([white, limit]) = self.shoulder {
                let [red, green, blue] = colours;
                for k in 0..SIDE {
                    let colour = vec3(red[k], green[k], blue[k]);
                    let white = white * factors[k] + offset;
                    let colour = shoulder(colour, white, limit + offset, offset);
                    [red[k], green[k], blue[k]] = colour.to_array();
                }
            }
            for channel in colours {
                for value in channel.iter_mut() {
                    // A NaN becomes 0.
                    let positive = if *value > 0.0 { *value } else { 0.0 };
                    *value = if positive < 1.0 { positive } else { 1.0 };
                }
                if self.gamma != 1.0 {
                    for value in channel.iter_mut() {
                        *value = power(*value, self.gamma);
                    }
                }
            }
        }
    }
}

/// Returns the factor of a vignette at `(x, y)`, as [`factor`](crate::colour::vignette::factor) does, with the vectorised
/// [`power`] and without fused multiply-adds.
#[inline(always)]
fn factor(vignette: &Vignette, x: f32, y: f32) -> f32 {
    let (x, y) = (x - vignette.centre.x, y - vignette.centre.y);
    let q = (x * x + y * y) * vignette.per_corner;
    let terms = vignette.terms;
    let light = ((terms.z * q + terms.y) * q + terms.x) * q + 1.0;
    // A NaN becomes the least light.
    let light = if light > Vignette::LEAST { light } else { Vignette::LEAST };
    power(light, -1.0 / Vignette::GAMMA)
}
