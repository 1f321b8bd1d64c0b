//! The gradients around poses, sorted by field and direction.
//!
//! The samples of neighbouring fields overlap. Here, each sample is taken once and added to all of its fields. All
//! offsets of samples are multiples of 1/8 and exact, so they are the same numbers for each field.

use super::super::{per_square, window};
use crate::cpu::{threads, vectorised};
use cuda_std::launch::LaunchConfig;
use cuda_std::prelude::*;
use glam::{Vec2, vec2};
use rayon::prelude::*;
use shared_types::matching::{ALL_FIELDS, DIRECTIONS, EDGE, FIELDS, Field, Pose, SAMPLES, SPACING};

/// The number of samples along each side of a descriptor: those of its fields, and half a field on each side.
const SIDE: usize = ((FIELDS + 1) * SAMPLES) as usize;

/// Half the side of all fields, in samples.
const HALF: f32 = (FIELDS * SAMPLES) as f32 * 0.5;

/// The fields of a descriptor.
type Fields = [Field; ALL_FIELDS as usize];

/// Computes a launch of the kernel. The simulator runs a launch that computes only a part of the poses.
///
/// # Safety
/// All memory must be valid host memory, and nothing else may access `out` or write the other arguments.
pub(in crate::matching) unsafe fn describe(
    config: &LaunchConfig,
    along_x: View<f32>,
    along_y: View<f32>,
    poses: Slice<Pose>,
    first: u32,
    count: u32,
    out: SliceMut<Field>,
) -> bool {
    let (width, height) = (along_x.width(), along_x.height());
    let same = width == along_y.width() && height == along_y.height();
    let end = u64::from(first) + u64::from(count);
    if !same
        || width < 2 * EDGE
        || height < 2 * EDGE
        || threads(config, 0) < u64::from(count) * u64::from(ALL_FIELDS)
        || end > u64::from(poses.len())
        || end * u64::from(ALL_FIELDS) > u64::from(out.len())
    {
        return false;
    }
    let gradients = Gradients { along_x, along_y };
    // SAFETY: the caller guarantees it.
    let (poses, out) = unsafe { (poses.as_host_slice(), out.as_host_slice()) };
    let range = first as usize..end as usize;
    let (out, _) = out.as_chunks_mut::<{ ALL_FIELDS as usize }>();
    out[range.clone()].par_iter_mut().zip(&poses[range]).for_each(|(out, pose)| {
        // SAFETY: the caller guarantees the memory, and the sizes were checked above.
        vectorised!(unsafe { gradients.describe(pose, out) });
    });
    true
}

/// The gradients of a picture, which has at least 2 · [`EDGE`] columns and rows.
#[derive(Clone, Copy)]
struct Gradients {
    along_x: View<f32>,
    along_y: View<f32>,
}

impl Gradients {
    /// Computes the fields of a pose.
    ///
    /// # Safety
    /// The pictures must have the same size and be valid host memory.
    #[inline(always)]
    unsafe fn describe(&self, &Pose { at, along }: &Pose, fields: &mut Fields) {
        *fields = [[0.0; DIRECTIONS]; ALL_FIELDS as usize];
        for j in 0..SIDE {
            let v = j as f32 + 0.5 - SIDE as f32 / 2.0;
            let (mut x, mut y) = ([0.0; SIDE], [0.0; SIDE]);
            for i in 0..SIDE {
                let u = i as f32 + 0.5 - SIDE as f32 / 2.0;
                x[i] = SPACING.mul_add(along.x.mul_add(u, -(along.y * v)), at.x);
                y[i] = SPACING.mul_add(along.y.mul_add(u, along.x * v), at.y);
            }
            // SAFETY: the caller guarantees it.
            let (x, y, inside) = unsafe { self.sample(&x, &y) };
            for i in 0..SIDE {
                if !inside[i] {
                    continue;
                }
                let u = i as f32 + 0.5 - SIDE as f32 / 2.0;
                let gradient = vec2(
                    along.x.mul_add(x[i], along.y * y[i]),
                    along.x.mul_add(y[i], -(along.y * x[i])),
                );
                let fade = window(u.mul_add(u, v * v) / (2.0 * HALF * HALF));
                add(fields, [i, j], fade, gradient);
            }
        }
    }

    /// Interpolates the gradients at positions. Also returns whether they are far enough from the edges.
    ///
    /// # Safety
    /// The conditions are those of [`describe`](Self::describe).
    #[inline(always)]
    unsafe fn sample(
        &self,
        x: &[f32; SIDE],
        y: &[f32; SIDE],
    ) -> ([f32; SIDE], [f32; SIDE], [bool; SIDE]) {
        let (mut along_x, mut along_y, mut inside) = ([0.0; SIDE], [0.0; SIDE], [false; SIDE]);
        let within =
            |at: f32, side: u32| at >= EDGE as f32 && at <= side as f32 - (EDGE + 1) as f32;
        let (width, height) = (self.along_x.width(), self.along_x.height());
        for i in 0..SIDE {
            inside[i] = within(x[i], width) && within(y[i], height);
            // Positions that do not count are replaced by one inside the picture.
            let (x, y) = if inside[i] { (x[i], y[i]) } else { (EDGE as f32, EDGE as f32) };
            // SAFETY: the position is from `EDGE` to the sides minus `EDGE`, so it and its neighbours are inside.
            unsafe {
                let (column, row) = (x.to_int_unchecked::<i32>(), y.to_int_unchecked::<i32>());
                let part = vec2(x - column as f32, y - row as f32);
                let (column, row) = (column as usize, row as u32);
                along_x[i] = interpolated(self.along_x, column, row, part);
                along_y[i] = interpolated(self.along_y, column, row, part);
            }
        }
        (along_x, along_y, inside)
    }
}

/// Interpolates bilinearly between the pixels right of and below `(column, row)`.
///
/// # Safety
/// The pixel and its neighbours to the right and below must be inside the picture, which must be valid host memory.
#[inline(always)]
unsafe fn interpolated(view: View<f32>, column: usize, row: u32, part: Vec2) -> f32 {
    // SAFETY: the caller guarantees it.
    unsafe {
        let (top, bottom) = (view.host_row(row), view.host_row(row + 1));
        let (a, b) = (top.get_unchecked(column), top.get_unchecked(column + 1));
        let (c, d) = (bottom.get_unchecked(column), bottom.get_unchecked(column + 1));
        lerp(lerp(*a, *b, part.x), lerp(*c, *d, part.x), part.y)
    }
}

#[inline(always)]
fn lerp(a: f32, b: f32, t: f32) -> f32 {
    (b - a).mul_add(t, a)
}

/// Adds a gradient, in the frame of the pose, to the fields around sample `(i, j)`. `fade` is the weight of its distance
/// from the pose.
#[inline(always)]
fn add(fields: &mut Fields, at: [usize; 2], fade: f32, gradient: Vec2) {
    const DIAGONAL: f32 = core::f32::consts::FRAC_1_SQRT_2;
    const X: Field = [1.0, DIAGONAL, 0.0, -DIAGONAL, -1.0, -DIAGONAL, 0.0, DIAGONAL];
    const Y: Field = [0.0, DIAGONAL, 1.0, DIAGONAL, 0.0, -DIAGONAL, -1.0, -DIAGONAL];
    let mut cubes = [0.0; DIRECTIONS];
    for d in 0..DIRECTIONS {
        let along = gradient.x.mul_add(X[d], gradient.y * Y[d]);
        let along = if along > 0.0 { along } else { 0.0 };
        cubes[d] = along * along * along;
    }
    let per_square = per_square(gradient);
    let [columns, rows] = at.map(around);
    for (row, down) in rows {
        for (column, across) in columns {
            if row < FIELDS as usize && column < FIELDS as usize {
                let scale = fade * across * down * per_square;
                let field = &mut fields[row * FIELDS as usize + column];
                for d in 0..DIRECTIONS {
                    field[d] += cubes[d] * scale;
                }
            }
        }
    }
}

/// Returns the two fields, along an axis, to which sample `i` belongs, and the sample's weights in them. An index beyond
/// the fields means that there is none.
#[inline(always)]
fn around(i: usize) -> [(usize, f32); 2] {
    const SAMPLES: usize = shared_types::matching::SAMPLES as usize;
    // Field `n` has the samples from `n · SAMPLES` to `(n + 2) · SAMPLES`.
    let (second, first) = (i / SAMPLES, (i / SAMPLES).wrapping_sub(1));
    let weight = |j: usize| {
        let offset = (j as f32 + 0.5 - SAMPLES as f32) / SAMPLES as f32;
        1.0 - offset.abs()
    };
    [(first, weight(i % SAMPLES + SAMPLES)), (second, weight(i % SAMPLES))]
}
