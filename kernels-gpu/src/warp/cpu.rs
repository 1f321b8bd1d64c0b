//! The kernels of a warp on the CPU: rows of the canvas on all cores, with the same results as the kernels, bit by bit.
//!
//! A ray of a cylindrical or equirectangular canvas depends on the sine and cosine of an angle per column and per row,
//! which are computed once. A pinhole lens is evaluated for several pixels at once.

use super::{bounded, edge_distance, project, sin_cos};
use crate::cpu::{covered, vectorised};
use cuda_std::launch::LaunchConfig;
use cuda_std::prelude::*;
use glam::{DVec3, Vec2, dvec3, vec2};
use rayon::prelude::*;
use shared_types::warp::{Camera, Canvas, Lens, Projection, UNSEEN};
use std::vec::Vec;

/// The number of pixels that are computed together.
const SIDE: usize = 16;

/// A number for each of these pixels.
type Numbers = [f64; SIDE];

/// Computes a launch of [`warp_camera`](super::warp_camera).
///
/// # Safety
/// The outputs must be valid host memory that nothing else accesses.
pub(super) unsafe fn camera(
    config: &LaunchConfig,
    canvas: Canvas,
    camera: Camera,
    u: ViewMut<f32>,
    v: ViewMut<f32>,
    margin: ViewMut<f32>,
) -> bool {
    let width = covered(config, 0, u.width().min(v.width()).min(margin.width()));
    let height = covered(config, 1, u.height().min(v.height()).min(margin.height()));
    let is_curved =
        matches!(canvas.projection, Projection::CYLINDRICAL | Projection::EQUIRECTANGULAR);
    let columns: Vec<_> = (0..width)
        .map(|x| {
            let x = (f64::from(x) - canvas.centre.x) / canvas.scale.x;
            if is_curved { sin_cos(x) } else { (x, 1.0) }
        })
        .collect();
    let outputs = [u, v, margin];
    (0..height).into_par_iter().for_each(|y| {
        // SAFETY: the row is inside the outputs. The caller guarantees their memory, and no other call takes this row.
        let [u, v, margin] = outputs.map(|view| unsafe { view.host_row(y) });
        let row = Row::new(&canvas, y);
        let places = u.chunks_mut(SIDE).zip(v.chunks_mut(SIDE)).zip(margin.chunks_mut(SIDE));
        vectorised!(for (columns, ((u, v), margin)) in columns.chunks(SIDE).zip(places) {
            let rays = row.rays(&camera, columns);
            let sources = sources(&camera, &rays);
            let all = sources.iter().zip(u).zip(v).zip(margin).take(columns.len());
            for (((source, u), v), margin) in all {
                (*u, *v) = (source.x, source.y);
                *margin = edge_distance(camera.size, *source);
            }
        });
    });
    true
}

/// The parts of a ray that all rays of a row share.
struct Row {
    projection: Projection,
    /// The offset of the row from the centre, in units of the scale.
    y: f64,
    sin: f64,
    cos: f64,
}

impl Row {
    fn new(canvas: &Canvas, y: u32) -> Self {
        let y = (f64::from(y) - canvas.centre.y) / canvas.scale.y;
        let (sin, cos) = sin_cos(y);
        Self { projection: canvas.projection, y, sin, cos }
    }

    /// Returns the rays of several columns in the camera's frame, as [`ray`](super::ray) defines them. A column is a sine
    /// and a cosine, or on a planar canvas an offset and 1.
    #[inline(always)]
    fn rays(&self, camera: &Camera, columns: &[(f64, f64)]) -> [Numbers; 3] {
        let mut rays = [[0.0; SIDE]; 3];
        let Self { projection, y, sin, cos } = *self;
        for (k, (a, b)) in columns.iter().take(SIDE).enumerate() {
            let ray = match projection {
                Projection::CYLINDRICAL => dvec3(*a, y, *b),
                Projection::EQUIRECTANGULAR => dvec3(a * cos, sin, b * cos),
                _ => dvec3(*a, y, 1.0),
            };
            [rays[0][k], rays[1][k], rays[2][k]] = (camera.from_ray * ray).to_array();
        }
        rays
    }
}

/// Returns the source pixels of rays, or [`UNSEEN`].
#[inline(always)]
fn sources(camera: &Camera, [x, y, z]: &[Numbers; 3]) -> [Vec2; SIDE] {
    let mut sources = [Vec2::splat(UNSEEN); SIDE];
    if camera.lens != Lens::PINHOLE {
        for (k, source) in sources.iter_mut().enumerate() {
            if let Some(place) = project(camera, DVec3::new(x[k], y[k], z[k])) {
                *source = vec2(bounded(place.x), bounded(place.y));
            }
        }
        return sources;
    }
    // The steps are those of the lens in `lens`, without branches.
    let [k1, k2, p1, p2, k3] = camera.distortion;
    let (limit, focal, centre) = (camera.limit * camera.limit, camera.focal, camera.centre);
    for (k, source) in sources.iter_mut().enumerate() {
        let per_z = 1.0 / z[k];
        let (x, y) = (x[k] * per_z, y[k] * per_z);
        let (xx, yy, xy2) = (x * x, y * y, 2.0 * x * y);
        let r2 = xx + yy;
        let radial = r2.mul_add(r2.mul_add(r2.mul_add(k3, k2), k1), 1.0);
        let bent = |x: f64, xx: f64, p: f64, q: f64| {
            x.mul_add(radial, p.mul_add(xy2, q * xx.mul_add(2.0, r2)))
        };
        let u = bent(x, xx, p1, p2) * focal.x + centre.x;
        let v = bent(y, yy, p2, p1) * focal.y + centre.y;
        let is_seen = (z[k] > 0.0) & (r2 <= limit) & u.is_finite() & v.is_finite();
        if is_seen {
            *source = vec2(bounded(u), bounded(v));
        }
    }
    sources
}

/// Computes a launch of [`warp_add_margin`](super::warp_add_margin).
///
/// # Safety
/// All memory must be valid host memory. Nothing else may access the sums or write the margins.
pub(super) unsafe fn add_margin(
    config: &LaunchConfig,
    margin: View<f32>,
    first: u32,
    sum: ViewMut<f32>,
) -> bool {
    let width = covered(config, 0, margin.width().min(sum.width())) as usize;
    let height = covered(config, 1, margin.height().min(sum.height()));
    (0..height).into_par_iter().for_each(|y| {
        // SAFETY: the row is inside both. The caller guarantees their memory, and no other call takes this row.
        let (margin, sum) = unsafe { (margin.host_row(y), sum.host_row(y)) };
        for (margin, sum) in margin[..width].iter().zip(sum) {
            *sum = if first != 0 { 0.0 } else { *sum } + margin;
        }
    });
    true
}

/// Computes a launch of [`warp_feather`](super::warp_feather).
///
/// # Safety
/// All memory must be valid host memory. Nothing else may access the margins or write the sums.
pub(super) unsafe fn feather(config: &LaunchConfig, sum: View<f32>, margin: ViewMut<f32>) -> bool {
    let width = covered(config, 0, margin.width().min(sum.width())) as usize;
    let height = covered(config, 1, margin.height().min(sum.height()));
    (0..height).into_par_iter().for_each(|y| {
        // SAFETY: the row is inside both. The caller guarantees their memory, and no other call takes this row.
        let (sum, margin) = unsafe { (sum.host_row(y), margin.host_row(y)) };
        for (sum, margin) in sum[..width].iter().zip(margin) {
            if *sum > 0.0 {
                *margin /= sum;
            }
        }
    });
    true
}
