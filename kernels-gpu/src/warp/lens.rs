//! Lenses: map a point in the camera's coordinate system to a point of its picture, before focal length and centre are
//! applied.
//!
//! Warps use f64, because they are computed only once per rig. Views use f32, because they evaluate the lens at every
//! pixel of every frame. With coordinates up to a few thousand pixels, the error is a few thousandths of a pixel.

use crate::unroll::unroll;
use core::f32::consts::{FRAC_PI_2, PI};
use core::ops::{Add, Div, Mul};
use cuda_std::prelude::*;
use shared_types::warp::Lens;

/// The number type of a lens computation: f32 or f64.
pub(crate) trait Real:
    Copy
    + PartialOrd
    + From<u8>
    + Add<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + GpuFloat
{
    /// A full turn in radians.
    const TURN: Self;
    /// Half a pixel, and a little more for rounding errors.
    const HALF: Self;

    /// Returns the angle of the vector `(x, self)` from the x axis, in radians.
    fn angle_from(self, x: Self) -> Self;

    /// Returns 1 / `self`. For f32, the error is at most 1 ULP.
    fn reciprocal(self) -> Self;

    /// Returns 1 / √`self`. For f32, the error is at most 2 ULP.
    fn reciprocal_root(self) -> Self;
}

impl Real for f32 {
    const TURN: Self = core::f32::consts::TAU;
    const HALF: Self = 0.501;

    #[device]
    fn angle_from(self, x: Self) -> Self {
        angle(x, self)
    }

    #[device]
    fn reciprocal(self) -> Self {
        self.fast_recip()
    }

    #[device]
    fn reciprocal_root(self) -> Self {
        self.fast_rsqrt()
    }
}

impl Real for f64 {
    const TURN: Self = core::f64::consts::TAU;
    const HALF: Self = 0.501;

    #[device]
    fn angle_from(self, x: Self) -> Self {
        libm::atan2(self, x)
    }

    #[device]
    fn reciprocal(self) -> Self {
        1.0 / self
    }

    #[device]
    fn reciprocal_root(self) -> Self {
        1.0 / self.sqrt()
    }
}

/// Returns the point of the picture plane at which the lens shows a ray, or `None` if the lens cannot see the ray. See
/// [`Lens`]. Without `PANORAMAS`, the lens must be a pinhole or a fisheye; this takes fewer registers.
#[device]
pub(crate) fn bend<R: Real, const PANORAMAS: bool>(
    lens: Lens,
    k: &[R; 5],
    limit: R,
    ray: [R; 3],
) -> Option<[R; 2]> {
    match lens {
        Lens::CYLINDRICAL | Lens::EQUIRECTANGULAR if PANORAMAS => panorama(lens, limit, ray),
        Lens::FISHEYE => fisheye(k, limit, ray),
        _ => pinhole(k, limit, ray),
    }
}

/// Returns the point of the picture plane for a ray through a pinhole lens with Brown–Conrady distortion, as in
/// `cv::projectPoints`.
#[device]
fn pinhole<R: Real>(k: &[R; 5], limit: R, [x, y, z]: [R; 3]) -> Option<[R; 2]> {
    let [zero, one, two] = [0, 1, 2].map(R::from);
    if z <= zero {
        return None;
    }
    let &[k1, k2, p1, p2, k3] = k;
    let per_z = z.reciprocal();
    let (x, y) = (x * per_z, y * per_z);
    let (xx, yy, xy2) = (x * x, y * y, two * x * y);
    let r2 = xx + yy;
    if r2 > limit * limit {
        return None;
    }
    let radial = r2.mul_add(r2.mul_add(r2.mul_add(k3, k2), k1), one);
    let bent = |x: R, xx: R, p: R, q: R| x.mul_add(radial, p.mul_add(xy2, q * xx.mul_add(two, r2)));
    Some([bent(x, xx, p1, p2), bent(y, yy, p2, p1)])
}

/// Returns the point of the picture plane for a ray through an equidistant fisheye lens with distortion, as in
/// `cv::fisheye::projectPoints`.
#[device]
fn fisheye<R: Real>(k: &[R; 5], limit: R, [x, y, z]: [R; 3]) -> Option<[R; 2]> {
    let [zero, one] = [0, 1].map(R::from);
    let &[k1, k2, k3, k4, _] = k;
    let r2 = x * x + y * y;
    // On the optical axis, the direction is undefined, but the offset is zero in any direction.
    let per_r = if r2 > zero { r2.reciprocal_root() } else { zero };
    let theta = (r2 * per_r).angle_from(z);
    if theta > limit {
        return None;
    }
    let t2 = theta * theta;
    let factor = t2.mul_add(t2.mul_add(t2.mul_add(t2.mul_add(k4, k3), k2), k1), one);
    let scale = theta * factor * per_r;
    Some([x * scale, y * scale])
}

/// Returns the point of a cylindrical or equirectangular panorama for a ray; see [`Lens`]. `left` is the angle from its
/// left edge to the axis.
#[device]
fn panorama<R: Real>(lens: Lens, left: R, [x, y, z]: [R; 3]) -> Option<[R; 2]> {
    let zero = R::from(0);
    let r2 = x * x + z * z;
    let per_r = if r2 > zero { r2.reciprocal_root() } else { zero };
    let down = match lens {
        Lens::EQUIRECTANGULAR => y.angle_from(r2 * per_r),
        _ if r2 > zero => y * per_r,
        _ => return None,
    };
    let across = x.angle_from(z);
    let across = if across + left < zero { across + R::TURN } else { across };
    Some([across, down])
}

/// Returns the coordinate of a picture's pixel along an axis. In a panorama, the half pixel before the centre of the
/// first one, `first`, belongs to it, like that behind the last one. Otherwise, a full circle and a pole would have a
/// gap there.
#[device]
pub(crate) fn closed<R: Real>(lens: Lens, at: R, first: R) -> R {
    let is_before = at < first && at + R::HALF >= first;
    if is_before && lens.is_panorama() { first } else { at }
}

/// Returns the angle of `(x, y)` from the x axis in radians, with an error of at most 3e-7.
///
/// Evaluates a polynomial in q², where q is the shorter coordinate divided by the longer one, so at most 1. The
/// polynomial is fitted for the smallest maximum relative error (1.5e-8). Symmetry extends the result to the whole
/// circle.
#[device]
pub fn angle(x: f32, y: f32) -> f32 {
    /// Coefficients of atan(q)/q in q², highest power first.
    const ARC: [f32; 9] = [
        0.002_849_423,
        -0.016_066_669,
        0.042_688_128,
        -0.075_039_834,
        0.106_407_72,
        -0.142_035_96,
        0.199_926_12,
        -0.333_330_72,
        1.0,
    ];
    let (w, h) = (x.abs(), y.abs());
    let steep = h > w;
    let (short, long) = if steep { (w, h) } else { (h, w) };
    // The angle of the zero vector is 0.
    let q = if long > 0.0 { short * long.fast_recip() } else { 0.0 };
    let mut sum = ARC[0];
    // Unroll, because a loop would put the coefficients into local memory.
    unroll!(8, |i| sum = (q * q).mul_add(sum, ARC[i + 1]));
    let angle = q * sum;
    let angle = if steep { FRAC_PI_2 - angle } else { angle };
    let angle = if x < 0.0 { PI - angle } else { angle };
    if y < 0.0 { -angle } else { angle }
}
