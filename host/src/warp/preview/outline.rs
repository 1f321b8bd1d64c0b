//! Draws the outline of a camera's picture as an antialiased line.
//!
//! The distance of a preview pixel from the outline is the distance of its source position from the edge of the
//! picture, divided by the number of source pixels per preview pixel there. A line drawn from these distances follows
//! the true border, whatever its shape.

use glam::{DVec2, UVec2, Vec3};

use super::scene::{Look, margin};

/// Half the width of a line, and of the dark edge around it, in pixels.
const HALF: [f64; 2] = [1.0, 2.0];
/// The opacity of the dark edge.
const EDGE: f32 = 0.6;

/// Returns the approximate distance of each pixel from the outline of a camera's picture, in preview pixels. Far from
/// the outline, the result may be infinite. `looks` are the pixels of a preview of `size` pixels, and `source` is the
/// size of the picture.
pub(super) fn distances(
    looks: &[Option<Look>],
    size: UVec2,
    source: UVec2,
    full_circle: bool,
) -> impl Iterator<Item = f64> {
    let (width, height) = (size.x as usize, size.y as usize);
    let edge = move |at: usize| looks[at].map(|look| margin(look.place, source));
    (0..looks.len()).map(move |at| {
        let (x, y) = (at % width, at / width);
        let Some(look) = looks[at] else { return f64::INFINITY };
        // The index of a neighbour. Without a neighbour, the canvas ends, which is no outline.
        let left = if x > 0 { Some(at - 1) } else { full_circle.then_some(at + width - 1) };
        let right = if x + 1 < width { Some(at + 1) } else { full_circle.then(|| at + 1 - width) };
        let above = (y > 0).then(|| at - width);
        let below = (y + 1 < height).then_some(at + width);
        let unknown = |next: Option<usize>| next.is_some_and(|next| looks[next].is_none());
        if look.weight > 0.0 && [left, right, above, below].into_iter().any(unknown) {
            return 0.0;
        }
        let here = margin(look.place, source);
        // Far outside the picture, the source position may grow faster than the distance, towards a ray that is
        // parallel to the picture plane. There is no outline there.
        if here < -f64::from(source.max_element()) {
            return f64::INFINITY;
        }
        let slope = |before: Option<usize>, after: Option<usize>| match (
            before.and_then(edge),
            after.and_then(edge),
        ) {
            (Some(before), Some(after)) => (after - before) / 2.0,
            (Some(before), None) => here - before,
            (None, Some(after)) => after - here,
            (None, None) => 0.0,
        };
        here.abs() / DVec2::new(slope(left, right), slope(above, below)).length()
    })
}

/// Draws a pixel at a distance from an outline above the lines that were drawn before. `pixel` is a colour multiplied
/// by its opacity, and the opacity. A distance that is not a number has no effect.
pub(super) fn draw(pixel: &mut (Vec3, f32), distance: f64, colour: Vec3) {
    // The share of the pixel that a line of this half width covers.
    let [line, edge] = HALF.map(|half| (half + 0.5 - distance).clamp(0.0, 1.0) as f32);
    for (colour, opacity) in [(Vec3::ZERO, EDGE * edge), (colour, line)] {
        if opacity > 0.0 {
            let (below, covered) = *pixel;
            *pixel =
                (colour * opacity + below * (1.0 - opacity), opacity + covered * (1.0 - opacity));
        }
    }
}
