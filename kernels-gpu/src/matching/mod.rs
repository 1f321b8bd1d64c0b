//! Matching: finds distinctive points in each of two pictures, describes the neighbourhood of each point, and finds
//! similar points of the other picture.
//!
//! [`shrink`] makes the smoothed levels of an image pyramid. [`find_peaks`] finds at most one point in each cell of a
//! level, and [`orient`] sums the gradients around the point by direction, so that matching works for rotated pictures.
//! [`describe`] sums the gradients in a grid of fields that rotates with the point. This resembles SIFT (Lowe 2004),
//! but lobes of a cubed cosine replace the histogram, so no angle is computed. [`pack`] normalises these sums, takes
//! square roots (Arandjelović and Zisserman 2012) and converts them to bytes. [`find_nearest`] compares each descriptor
//! with all descriptors of the other picture, four bytes per instruction.
//!
//! No kernel has a barrier: each thread computes one or a few numbers from memory that earlier kernels wrote. Therefore
//! some samples are computed more than once. In return, the CPU can run each kernel as a plain loop.

#[cfg(not(target_arch = "nvptx64"))]
mod cpu;

use cuda_std::prelude::*;
use glam::{Vec2, vec2};
use shared_types::matching::{
    ALL_FIELDS, BINS, BLOCK_THREADS, CELL, DIRECTIONS, Descriptor, EDGE, FIELDS, Field, KEPT,
    Nearest, ORIENTATION_RADIUS, Peak, Pose, REACH, SAMPLES, SPACING,
};

/// Scales `input` to the size of `out`. Each output pixel is the weighted mean of the input pixels around the same
/// position in the picture. The weight is `(1 − d²)²` along each axis, where `d` is the distance divided by [`REACH`]
/// pixels of the smaller picture. Outside the picture, its outermost pixels are repeated.
#[kernel(launch_bounds(BLOCK_THREADS, 4), cpu(cpu::shrink))]
pub fn shrink(input: View<f32>, out: ViewMut<f32>) {
    let at = thread::index_2d();
    if !out.contains(at.x, at.y) || input.width() == 0 || input.height() == 0 {
        return;
    }
    let (across, down) = (
        Window::new(at.x, input.width(), out.width()),
        Window::new(at.y, input.height(), out.height()),
    );
    let (mut sum, mut weights) = (0.0, 0.0);
    for y in down.first..=down.last {
        let (mut row, mut row_weights) = (0.0, 0.0);
        let from = y.clamp(0, input.height() as i32 - 1) as u32;
        for x in across.first..=across.last {
            let weight = across.weight(x);
            // SAFETY: the position is clamped to `input`, which is not empty, as checked above.
            let value = unsafe { input.load(x.clamp(0, input.width() as i32 - 1) as u32, from) };
            row = weight.mul_add(value, row);
            row_weights += weight;
        }
        let weight = down.weight(y);
        sum = weight.mul_add(row, sum);
        weights = weight.mul_add(row_weights, weights);
    }
    // SAFETY: `out` contains this pixel, and only this thread writes it.
    unsafe { out.store(at.x, at.y, sum / weights) };
}

/// The source pixels along one axis that contribute to a pixel of the scaled picture, and their weights.
struct Window {
    first: i32,
    last: i32,
    middle: f32,
    per_reach: f32,
}

impl Window {
    /// Returns the window for pixel `at` of a row or column that is scaled from `from` pixels to `to` pixels.
    #[device]
    fn new(at: u32, from: u32, to: u32) -> Self {
        let step = from as f32 / to as f32;
        let middle = (at as f32 + 0.5).mul_add(step, -0.5);
        let reach = REACH * step.max(1.0);
        // A pixel at distance `reach` has weight 0, so the window starts after that pixel.
        let (first, last) = ((middle - reach).floor() as i32 + 1, (middle + reach).floor() as i32);
        Self { first, last, middle, per_reach: 1.0 / reach }
    }

    #[device]
    fn weight(&self, at: i32) -> f32 {
        let d = (at as f32 - self.middle) * self.per_reach;
        window(d * d)
    }
}

/// The four pixels around a position, and the fractional part of the position. Pixels outside the picture are replaced
/// by the nearest pixels inside.
struct Corners {
    x: [u32; 2],
    y: [u32; 2],
    part: Vec2,
}

impl Corners {
    /// Returns the four pixels around `place`, which is clamped to the picture.
    ///
    /// # Safety
    /// The caller must ensure that the picture is not empty.
    #[device]
    unsafe fn around(place: Vec2, view: &View<f32>) -> Self {
        let (last_x, last_y) = (view.width() - 1, view.height() - 1);
        // A NaN becomes 0.
        let place = vec2(place.x.max(0.0).min(last_x as f32), place.y.max(0.0).min(last_y as f32));
        let floor = vec2(place.x.floor(), place.y.floor());
        let (x, y) = (floor.x as u32, floor.y as u32);
        Self { x: [x, (x + 1).min(last_x)], y: [y, (y + 1).min(last_y)], part: place - floor }
    }

    /// Interpolates bilinearly between the four pixels.
    ///
    /// # Safety
    /// The caller must ensure that the corners were computed for a picture of `view`'s size.
    #[device]
    unsafe fn sample(&self, view: &View<f32>) -> f32 {
        let ([x0, x1], [y0, y1]) = (self.x, self.y);
        let lerp = |a: f32, b: f32, t: f32| (b - a).mul_add(t, a);
        // SAFETY: the caller guarantees that the corners belong to a picture of this size, so they are inside `view`.
        unsafe {
            let top = lerp(view.load(x0, y0), view.load(x1, y0), self.part.x);
            let bottom = lerp(view.load(x0, y1), view.load(x1, y1), self.part.x);
            lerp(top, bottom, self.part.y)
        }
    }
}

/// Finds the largest local maximum in each cell of [`CELL`]×[`CELL`] pixels. A local maximum is a positive value that
/// exceeds its eight neighbours, except that it may equal the three neighbours above and the one to the left. Writes
/// one peak per cell, row by row, to `peaks` from element `first` on. A cell without a local maximum gets a peak of
/// value 0.
///
/// The position is refined to the maximum of the parabolas through the pixel and its neighbours along each axis. Pixels
/// closer than `border`, at least 1, to an edge of the picture are ignored.
#[kernel(launch_bounds(BLOCK_THREADS, 4), dims(1), cpu(cpu::find_peaks))]
pub fn find_peaks(values: View<f32>, border: u32, first: u32, peaks: SliceMut<Peak>) {
    let (width, height) = (values.width(), values.height());
    let columns = width.div_ceil(CELL);
    let i = thread::index_1d();
    let to = first.saturating_add(i);
    if columns == 0 || to >= peaks.len() || i >= columns * height.div_ceil(CELL) {
        return;
    }
    let border = border.max(1);
    let range = |cell: u32, side: u32| {
        (cell * CELL).max(border)..(cell * CELL + CELL).min(side.saturating_sub(border))
    };
    let mut best = Peak::default();
    for y in range(i / columns, height) {
        for x in range(i % columns, width) {
            // SAFETY: `x` and `y` are at least one pixel away from the edges of `values`, so all neighbours are inside.
            let around = |dx: u32, dy: u32| unsafe { values.load(x + dx - 1, y + dy - 1) };
            let value = around(1, 1);
            if value <= best.value {
                continue;
            }
            let before = around(0, 0).max(around(1, 0)).max(around(2, 0)).max(around(0, 1));
            let after = around(2, 1).max(around(0, 2)).max(around(1, 2)).max(around(2, 2));
            if value >= before && value > after {
                let top = |low: f32, high: f32| {
                    let bend = 2.0 * value - low - high;
                    if bend > 0.0 { (0.5 * (high - low) / bend).clamp(-0.5, 0.5) } else { 0.0 }
                };
                let offset = vec2(top(around(0, 1), around(2, 1)), top(around(1, 0), around(1, 2)));
                best = Peak { at: vec2(x as f32, y as f32) + offset, value };
            }
        }
    }
    // SAFETY: `to` is less than the length of `peaks`, as checked above, and only this thread writes this cell's peak.
    unsafe { peaks.store(to, best) };
}

/// Returns `max(0, gradient · direction)³ / gradient²`: the length of the gradient, times the cube of the cosine of its
/// angle to the unit vector `direction`. The cube falls to 1/2 at 37°. `per_square` is `1 / gradient²`, or a multiple
/// of it to scale the result.
#[device]
fn lobe(gradient: Vec2, direction: Vec2, per_square: f32) -> f32 {
    let along = gradient.x.mul_add(direction.x, gradient.y * direction.y).max(0.0);
    along * along * along * per_square
}

/// Returns 1 over the square of the gradient's length, or 0 for a zero gradient.
#[device]
fn per_square(gradient: Vec2) -> f32 {
    let square = gradient.x.mul_add(gradient.x, gradient.y * gradient.y);
    if square > 0.0 { 1.0 / square } else { 0.0 }
}

/// Returns the weight `(1 − d²)²` for a relative distance d, or 0 if d exceeds 1. `square` is d².
#[device]
fn window(square: f32) -> f32 {
    let rest = (1.0 - square).max(0.0);
    rest * rest
}

/// Sums the gradients around each of `count` points, separately for each of [`BINS`] directions (bins). The first one
/// is point `first`. A sum includes the gradients within [`ORIENTATION_RADIUS`] pixels of the point. They are weighted
/// by their distance from the point, and by how well they match the direction of the bin (`lobe`). Element
/// `p · BINS + bin` of `out` receives the sum for point `p`. `directions` has a unit vector for each bin. The gradients
/// of the outermost [`EDGE`] pixels of the picture are ignored.
#[kernel(launch_bounds(BLOCK_THREADS, 4), dims(1), cpu(cpu::orient))]
pub fn orient(
    along_x: View<f32>,
    along_y: View<f32>,
    points: Slice<Vec2>,
    first: u32,
    count: u32,
    directions: Slice<Vec2>,
    out: SliceMut<f32>,
) {
    let i = thread::index_1d();
    let (point, bin) = (first.saturating_add(i / BINS), i % BINS);
    let to = point.saturating_mul(BINS).saturating_add(bin);
    let (width, height) = (along_x.width(), along_x.height());
    let same = along_y.width() == width && along_y.height() == height;
    if !same || i / BINS >= count || point >= points.len() {
        return;
    }
    if to >= out.len() || bin >= directions.len() {
        return;
    }
    // SAFETY: `point` and `bin` are less than the lengths of `points` and `directions`, as just checked.
    let (at, direction) = unsafe { (points.load(point), directions.load(bin)) };
    let (x, y) = (at.x.round_ties_even() as i32, at.y.round_ties_even() as i32);
    let range = |middle: i32, side: u32| {
        let (low, high) = (EDGE as i32, side as i32 - EDGE as i32);
        let first = middle.saturating_sub(ORIENTATION_RADIUS).max(low);
        first..middle.saturating_add(ORIENTATION_RADIUS + 1).min(high)
    };
    let mut sum = 0.0;
    for row in range(y, height) {
        for column in range(x, width) {
            let (dx, dy) = (column - x, row - y);
            let distance = (dx * dx + dy * dy) as f32;
            let weight = window(distance / (ORIENTATION_RADIUS * ORIENTATION_RADIUS) as f32);
            let (column, row) = (column as u32, row as u32);
            // SAFETY: the ranges contain only pixels of the picture, and `along_x` and `along_y` have the same size.
            let gradient = unsafe { vec2(along_x.load(column, row), along_y.load(column, row)) };
            sum = weight.mul_add(lobe(gradient, direction, per_square(gradient)), sum);
        }
    }
    // SAFETY: `to` is less than the length of `out`, as checked above, and only this thread writes this element.
    unsafe { out.store(to, sum) };
}

/// Sums the gradients around each of `count` poses by field and direction. The first one is pose `first`. Element
/// `p · ALL_FIELDS + field` of `out` receives the sums for pose `p`. Fields are numbered along the rows of the rotated
/// grid.
///
/// A sample contributes to the four fields around it. Its weight decreases with the distance from the centre of the
/// field and with the distance from the pose. Samples that touch the outermost [`EDGE`] pixels of the picture are
/// ignored.
#[kernel(launch_bounds(BLOCK_THREADS, 4), dims(1), cpu(cpu::describe))]
pub fn describe(
    along_x: View<f32>,
    along_y: View<f32>,
    poses: Slice<Pose>,
    first: u32,
    count: u32,
    out: SliceMut<Field>,
) {
    const DIAGONAL: f32 = core::f32::consts::FRAC_1_SQRT_2;
    const HALF: f32 = (FIELDS * SAMPLES) as f32 * 0.5;
    let i = thread::index_1d();
    let (pose, field) = (first.saturating_add(i / ALL_FIELDS), i % ALL_FIELDS);
    let to = pose.saturating_mul(ALL_FIELDS).saturating_add(field);
    let (width, height) = (along_x.width(), along_x.height());
    let same = along_y.width() == width && along_y.height() == height && width.min(height) > 0;
    if !same || i / ALL_FIELDS >= count || pose >= poses.len() || to >= out.len() {
        return;
    }
    // SAFETY: `pose` is less than the length of `poses`, as just checked.
    let Pose { at, along } = unsafe { poses.load(pose) };
    let (column, row) = (field % FIELDS, field / FIELDS);
    let (mut a, mut b, mut c, mut d) = (0.0, 0.0, 0.0, 0.0);
    let (mut e, mut f, mut g, mut h) = (0.0, 0.0, 0.0, 0.0);
    for j in 0..4 * SAMPLES * SAMPLES {
        // The offset of the sample from the middle of the field, in fields: −1 to 1.
        let step = |j: u32| (j as f32 + 0.5 - SAMPLES as f32) / SAMPLES as f32;
        let (dx, dy) = (step(j % (2 * SAMPLES)), step(j / (2 * SAMPLES)));
        let from_middle =
            |cell: u32, d: f32| (cell as f32 + 0.5 + d).mul_add(SAMPLES as f32, -HALF);
        let (u, v) = (from_middle(column, dx), from_middle(row, dy));
        let weight =
            window(u.mul_add(u, v * v) / (2.0 * HALF * HALF)) * (1.0 - dx.abs()) * (1.0 - dy.abs());
        let place = vec2(
            SPACING.mul_add(along.x.mul_add(u, -(along.y * v)), at.x),
            SPACING.mul_add(along.y.mul_add(u, along.x * v), at.y),
        );
        let within =
            |at: f32, side: u32| at >= EDGE as f32 && at <= side as f32 - (EDGE + 1) as f32;
        if !within(place.x, width) || !within(place.y, height) {
            continue;
        }
        // SAFETY: `along_x` and `along_y` are not empty and have the same size, as checked above.
        let (x, y) = unsafe {
            let corners = Corners::around(place, &along_x);
            (corners.sample(&along_x), corners.sample(&along_y))
        };
        let gradient = vec2(along.x.mul_add(x, along.y * y), along.x.mul_add(y, -(along.y * x)));
        let per_square = weight * per_square(gradient);
        let in_lobe = |x: f32, y: f32| lobe(gradient, vec2(x, y), per_square);
        a += in_lobe(1.0, 0.0);
        b += in_lobe(DIAGONAL, DIAGONAL);
        c += in_lobe(0.0, 1.0);
        d += in_lobe(-DIAGONAL, DIAGONAL);
        e += in_lobe(-1.0, 0.0);
        f += in_lobe(-DIAGONAL, -DIAGONAL);
        g += in_lobe(0.0, -1.0);
        h += in_lobe(DIAGONAL, -DIAGONAL);
    }
    // SAFETY: `to` is less than the length of `out`, as checked above, and only this thread writes this element.
    unsafe { out.store(to, [a, b, c, d, e, f, g, h]) };
}

/// Normalises descriptors and converts them to bytes.
///
/// First, the kernel clamps the numbers to 0.2 times the descriptor's Euclidean length, so that a strong edge, or an
/// area clipped at white, does not dominate the descriptor. Then it divides the numbers by their sum and takes square
/// roots, which form a vector of length 1. Finally, it multiplies the roots by [`Descriptor::LENGTH`] and rounds them
/// to bytes.
#[kernel(launch_bounds(BLOCK_THREADS, 4), dims(1))]
pub fn pack(fields: Slice<Field>, out: SliceMut<Descriptor>) {
    let i = thread::index_1d();
    if i >= fields.len() / ALL_FIELDS || i >= out.len() {
        return;
    }
    // SAFETY: `fields` contains all fields of descriptor `i`, as just checked.
    let field = |j: u32| unsafe { fields.load(i * ALL_FIELDS + j) };
    let mut squares = 0.0;
    for j in 0..ALL_FIELDS {
        squares = field(j).into_iter().fold(squares, |sum: f32, v| v.mul_add(v, sum));
    }
    let most = MOST * squares.sqrt();
    let mut sum = 0.0;
    for j in 0..ALL_FIELDS {
        sum = field(j).into_iter().fold(sum, |sum: f32, v| sum + v.min(most));
    }
    let scale = if sum > 0.0 { 1.0 / sum } else { 0.0 };
    let byte = |v: f32| (Descriptor::LENGTH * (v.min(most) * scale).sqrt()).to_u8_saturating();
    let mut words = [0; Descriptor::WORDS];
    for (j, words) in (0..ALL_FIELDS).zip(words.chunks_exact_mut(DIRECTIONS / 4)) {
        let [a, b, c, d, e, f, g, h] = field(j).map(byte);
        words
            .copy_from_slice(&[u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h])]);
    }
    // SAFETY: `i` is less than the length of `out`, as checked above, and only this thread writes element `i`.
    unsafe { out.store(i, Descriptor(words)) };
}

/// The limit to which [`pack`] clamps a number of a descriptor, relative to the descriptor's length (Lowe 2004).
const MOST: f32 = 0.2;

/// Finds similar descriptors: for each descriptor of `these`, writes the [`KEPT`] descriptors of `others` with the
/// largest dot products, in descending order. Equal products are in ascending order of the index. Products of 0 are
/// ignored.
#[kernel(launch_bounds(BLOCK_THREADS, 4), dims(1), cpu(cpu::find_nearest))]
pub fn find_nearest(these: Slice<Descriptor>, others: Slice<Descriptor>, out: SliceMut<Nearest>) {
    let i = thread::index_1d();
    if i >= these.len() || i >= out.len() {
        return;
    }
    // SAFETY: `i` is less than the length of `these`, as just checked.
    let Descriptor(this) = unsafe { these.load(i) };
    let mut best = Nearest::default();
    for other in 0..others.len() {
        // SAFETY: `other` is less than the length of `others`.
        let Descriptor(words) = unsafe { others.load(other) };
        let mut product = 0;
        for j in 0..Descriptor::WORDS {
            product = dp4a(this[j], words[j], product);
        }
        if product > best.product[KEPT - 1] {
            // Insert the match at the end of the sorted list, and move it up to its place.
            best.product[KEPT - 1] = product;
            best.index[KEPT - 1] = other;
            for j in (1..KEPT).rev() {
                if best.product[j] > best.product[j - 1] {
                    best.product.swap(j, j - 1);
                    best.index.swap(j, j - 1);
                }
            }
        }
    }
    // SAFETY: `i` is less than the length of `out`, as checked above, and only this thread writes element `i`.
    unsafe { out.store(i, best) };
}
