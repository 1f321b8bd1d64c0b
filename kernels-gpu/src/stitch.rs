//! Stitch, variant `planes`: two pictures and six warp planes make a panorama.
//!
//! One thread an output pixel. For each camera that counts there (weight over
//! [`MIN_WEIGHT`], coordinates inside its picture) it samples bilinearly, applies the camera's
//! colour and adds to a weighted mean, which is rounded once. It is the reference that every faster
//! variant is measured against, and the fallback that takes any warp.
//!
//! Cost: 24 bytes of warp planes a pixel, more than the picture data itself; a camera whose weight is
//! too small does not read its coordinates.

use cuda_std::prelude::*;
use glam::{Vec3, vec3};
use shared_types::Rgba8;
use shared_types::stitch::{BLOCK_THREADS, Colour, MIN_WEIGHT, StitchParams};

/// A power function, chosen when the kernel is compiled.
trait Power {
    fn power(base: f32, exponent: f32) -> f32;
}

/// No gamma: the exponent is taken to be 1.
struct Linear;
/// Within 2 ULP.
struct Exact;
/// The special function unit: far below one level, and several times faster.
struct Fast;

impl Power for Linear {
    #[inline(always)]
    fn power(base: f32, _: f32) -> f32 {
        base
    }
}

impl Power for Exact {
    #[inline(always)]
    fn power(base: f32, exponent: f32) -> f32 {
        base.powf(exponent)
    }
}

impl Power for Fast {
    #[inline(always)]
    fn power(base: f32, exponent: f32) -> f32 {
        base.fast_powf(exponent)
    }
}

/// Defines one kernel of the variant.
macro_rules! stitch_planes {
    ($(#[$doc:meta])* $name:ident, $power:ty) => {
        $(#[$doc])*
        ///
        /// `out` and the planes have the panorama's size; what of a smaller plane is missing counts
        /// as weight 0. Pixels that no camera sees become opaque black.
        #[kernel(launch_bounds(BLOCK_THREADS, 4))]
        pub fn $name(
            left: View<Rgba8>,
            right: View<Rgba8>,
            lut_left_x: View<f32>,
            lut_left_y: View<f32>,
            lut_right_x: View<f32>,
            lut_right_y: View<f32>,
            weight_left: View<f32>,
            weight_right: View<f32>,
            params: StitchParams,
            out: ViewMut<Rgba8>,
        ) {
            let at = thread::index_2d();
            let (x, y) = (at.x, at.y);
            if !out.contains(x, y) {
                return;
            }
            let left = Source { picture: left, x: lut_left_x, y: lut_left_y, weight: weight_left };
            let right = Source { picture: right, x: lut_right_x, y: lut_right_y, weight: weight_right };
            let mut sum = WeightedSum::default();
            left.add::<$power>(x, y, &params.left, &mut sum);
            right.add::<$power>(x, y, &params.right, &mut sum);
            let boost = if params.edge_boost != 0 { edge_boost(x, out.width()) } else { 1.0 };
            let pixel = sum.pixel(boost);
            let (x, y) = if params.flip != 0 {
                (out.width() - 1 - x, out.height() - 1 - y)
            } else {
                (x, y)
            };
            // SAFETY: inside of `out`; the map from thread to pixel is one to one.
            unsafe { out.store(x, y, pixel) };
        }
    };
}

stitch_planes! {
    /// Stitches with gains only; both gammas are taken to be 1.
    stitch_planes_linear, Linear
}
stitch_planes! {
    /// Stitches with exact gamma.
    stitch_planes_exact, Exact
}
stitch_planes! {
    /// Stitches with fast gamma.
    stitch_planes_fast, Fast
}

/// One camera: its picture and where each panorama pixel looks in it.
struct Source {
    picture: View<Rgba8>,
    x: View<f32>,
    y: View<f32>,
    weight: View<f32>,
}

impl Source {
    /// Adds what the camera sees at panorama pixel `(x, y)`, if it counts there.
    #[inline(always)]
    fn add<P: Power>(&self, x: u32, y: u32, colour: &Colour, sum: &mut WeightedSum) {
        if !(self.weight.contains(x, y) && self.x.contains(x, y) && self.y.contains(x, y)) {
            return;
        }
        // SAFETY: inside, as just checked.
        let weight = unsafe { self.weight.load(x, y) };
        if weight > MIN_WEIGHT {
            // SAFETY: inside, as just checked.
            let (u, v) = unsafe { (self.x.load(x, y), self.y.load(x, y)) };
            let (w, h) = (self.picture.width() as f32, self.picture.height() as f32);
            // A NaN fails all four.
            if u >= 0.0 && u < w && v >= 0.0 && v < h {
                sum.colour += weight * apply::<P>(colour, bilinear(&self.picture, u, v));
                sum.weight += weight;
            }
        }
    }
}

/// Bilinear sample at `(u, v)` inside of the picture, as levels 0 to 255. Pixel centres are at
/// integers; a neighbour beyond the last row or column is that row or column.
#[inline(always)]
fn bilinear(picture: &View<Rgba8>, u: f32, v: f32) -> Vec3 {
    let (fu, fv) = (u.floor(), v.floor());
    let (a, b) = (u - fu, v - fv);
    // SAFETY: `u` and `v` are in [0, width) and [0, height), which fit.
    let (x0, y0) = unsafe { (fu.to_int_unchecked::<u32>(), fv.to_int_unchecked::<u32>()) };
    let x1 = (x0 + 1).min(picture.width() - 1);
    let y1 = (y0 + 1).min(picture.height() - 1);
    // SAFETY: clamped to the picture.
    let [p00, p10, p01, p11] = unsafe {
        [picture.load(x0, y0), picture.load(x1, y0), picture.load(x0, y1), picture.load(x1, y1)]
    };
    let top = lerp(levels(p00), levels(p10), a);
    let bottom = lerp(levels(p01), levels(p11), a);
    lerp(top, bottom, b)
}

#[inline(always)]
fn levels(pixel: Rgba8) -> Vec3 {
    vec3(pixel.r.into(), pixel.g.into(), pixel.b.into())
}

/// `a + t·(b − a)`, fused.
#[inline(always)]
fn lerp(a: Vec3, b: Vec3, t: f32) -> Vec3 {
    let d = b - a;
    vec3(d.x.mul_add(t, a.x), d.y.mul_add(t, a.y), d.z.mul_add(t, a.z))
}

/// A camera's colour on levels 0 to 255, with a result from 0 to 1.
#[inline(always)]
fn apply<P: Power>(colour: &Colour, levels: Vec3) -> Vec3 {
    let scaled = levels * (colour.gain * (1.0 / 255.0));
    let channel = |c: f32| P::power(c.clamp(0.0, 1.0), colour.gamma);
    vec3(channel(scaled.x), channel(scaled.y), channel(scaled.z))
}

/// Gain towards both ends of the panorama.
#[inline(always)]
fn edge_boost(x: u32, width: u32) -> f32 {
    let half = 0.5 * width as f32;
    let d = (x as f32 - half).abs() / half;
    if d > 0.8 { (d - 0.8).mul_add(1.75, 1.0).min(1.35) } else { 1.0 }
}

/// Σ weight·colour and Σ weight, colour from 0 to 1.
#[derive(Default)]
struct WeightedSum {
    colour: Vec3,
    weight: f32,
}

impl WeightedSum {
    /// The mean times `boost`, rounded once; opaque black where nothing was added.
    #[inline(always)]
    fn pixel(&self, boost: f32) -> Rgba8 {
        if self.weight > 0.0 {
            let mean = self.colour * (255.0 * boost / self.weight);
            Rgba8::opaque(
                mean.x.to_u8_saturating(),
                mean.y.to_u8_saturating(),
                mean.z.to_u8_saturating(),
            )
        } else {
            Rgba8::BLACK
        }
    }
}
