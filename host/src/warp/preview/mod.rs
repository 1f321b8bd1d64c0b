//! Draws the canvas of a panorama with the area of each camera.
//!
//! - Each camera's area has its own colour; the first camera is orange and the second one is blue. Where cameras
//!   overlap, their colours are mixed by weight and paler, the paler the more cameras overlap.
//! - A light line along the border of a camera's area is its outline, and the number at the centre counts from 1.
//! - Pixels to which no camera contributes are black.
//! - If the pictures of the cameras are given, they are drawn below the colours.

mod label;

use glam::{DVec2, UVec2, Vec3};
use kernels_gpu::warp::{project, ray};
use shared_types::Rgba8;

use crate::geometry::{Geometry, inside, is_full_circle};
use crate::io::picture::Picture;
use crate::warp::Warp;
use label::Labels;

/// The share of white where two cameras overlap, and the most where more cameras overlap.
const PALE: [f32; 2] = [0.2, 0.6];
/// The share of a camera's own colour if its picture is drawn.
const OVER_PICTURE: f32 = 0.3;
/// The share of white in an outline.
const OUTLINE: f32 = 0.6;

const WHITE: Vec3 = Vec3::splat(255.0);

/// The contribution of a camera to a point of the canvas.
#[derive(Clone, Copy, Debug)]
struct Contribution {
    /// The source position in pixels.
    place: DVec2,
    /// The weight of the camera relative to other cameras, greater than 0.
    weight: f32,
}

impl Warp {
    /// Draws the warp. If a side of the panorama is longer than `max_side` pixels, the preview is scaled down so that
    /// its longer side has `max_side` pixels.
    #[must_use]
    pub fn preview(&self, max_side: u32) -> Picture {
        let size = self.size();
        let contribution = |camera: usize, at: DVec2| {
            let at = at.round().as_uvec2().min(size - 1);
            let element = at.y as usize * size.x as usize + at.x as usize;
            let weight = self.counts(camera, element)?;
            Some(Contribution {
                place: DVec2::from(self.source(camera, element).map(f64::from)),
                weight,
            })
        };
        // The planes do not tell whether the panorama is a full circle, so a label may be beside its area.
        Canvas { size, max_side, full_circle: false }.draw(self.sources(), &[], contribution)
    }
}

impl Geometry {
    /// Draws the canvas and the areas of the cameras, in the same way and size as [`Warp::preview`]. `pictures` are
    /// drawn in the areas of their cameras, which are in the same order. They may be scaled versions of the cameras'
    /// pictures. A camera without a picture has only its colour.
    #[must_use]
    pub fn preview(&self, pictures: &[Picture], max_side: u32) -> Picture {
        let sources: Vec<_> = self.cameras.iter().map(|camera| camera.size).collect();
        let contribution = |camera: usize, at: DVec2| {
            let camera = &self.cameras[camera];
            let place = project(camera, camera.from_ray * ray(&self.canvas, at))?;
            let size = camera.size.as_dvec2();
            // As in the warp kernel, the weight decreases towards the edge of the picture, and is positive at the edge.
            let margin = place.min(size - place).min_element() + 1.0;
            let weight = (margin / size.min_element()) as f32;
            inside(place, camera.size).then_some(Contribution { place, weight })
        };
        let full_circle = is_full_circle(&self.canvas);
        Canvas { size: self.canvas.size, max_side, full_circle }.draw(
            &sources,
            pictures,
            contribution,
        )
    }
}

/// The canvas of a panorama, and the maximum side of the preview.
struct Canvas {
    size: UVec2,
    max_side: u32,
    /// Whether the left edge continues at the right edge.
    full_circle: bool,
}

impl Canvas {
    /// Draws the areas of cameras with pictures of the sizes `sources`. `contribution` returns the contribution of a camera at a
    /// position of the canvas, in pixels.
    fn draw(
        &self,
        sources: &[UVec2],
        pictures: &[Picture],
        contribution: impl Fn(usize, DVec2) -> Option<Contribution>,
    ) -> Picture {
        let longest = f64::from(self.size.max_element());
        let step = (longest / f64::from(self.max_side.max(1))).max(1.0);
        let size = (self.size.as_dvec2() / step).as_uvec2().max(UVec2::ONE);
        let width = size.x as usize;
        let places = || (0..size.y).flat_map(|y| (0..size.x).map(move |x| UVec2::new(x, y)));
        let mut labels = Labels::new(size);
        // For each pixel, the sum of the colours times the weights, the sum of the weights, the number of cameras, and
        // the outline on top.
        let mut pixels = vec![(Vec3::ZERO, 0.0, 0_u8, None); size.element_product() as usize];
        for (camera, source) in sources.iter().enumerate() {
            let input: Vec<_> = places()
                .map(|at| contribution(camera, (at.as_dvec2() + 0.5) * step - 0.5))
                .collect();
            let tint = tint(camera);
            let seen = input.iter().flatten().count();
            let small = pictures.get(camera).map(|picture| Reduced::new(picture, seen));
            let ends = |next: Option<usize>| next.is_some_and(|next| input[next].is_none());
            for (at, contribution) in input.iter().enumerate() {
                let Some(Contribution { place, weight }) = contribution else { continue };
                let colour = small.as_ref().map_or(tint, |small| {
                    small.at(*place / source.as_dvec2()).lerp(tint, OVER_PICTURE)
                });
                let (sum, weights, count, outline) = &mut pixels[at];
                *sum += colour * *weight;
                *weights += weight;
                *count += 1;
                // The end of the canvas is no outline.
                let (x, around) = (at % width, self.full_circle.then_some(width - 1));
                let left = if x > 0 { Some(at - 1) } else { around.map(|last| at + last) };
                let right = if x + 1 < width { Some(at + 1) } else { around.map(|last| at - last) };
                let below = (at + width < input.len()).then_some(at + width);
                if [left, right, at.checked_sub(width), below].into_iter().any(ends) {
                    *outline = Some(tint.lerp(WHITE, OUTLINE));
                }
            }
            if let Some(at) = label::centre(&input, size.x, self.full_circle) {
                labels.add(camera + 1, at, rgba(tint));
            }
        }
        let mut picture = Picture::filled(size.x, size.y, Rgba8::BLACK);
        for (pixel, (sum, weights, count, outline)) in picture.pixels_mut().iter_mut().zip(pixels) {
            if count > 0 {
                let pale = (PALE[0] * f32::from(count - 1)).min(PALE[1]);
                *pixel = rgba(outline.unwrap_or((sum / weights).lerp(WHITE, pale)));
            }
        }
        labels.draw(&mut picture);
        picture
    }
}

/// A picture that is scaled down by a whole number, so that it has about as many pixels as the preview shows of it.
struct Reduced {
    size: UVec2,
    pixels: Vec<Vec3>,
}

impl Reduced {
    /// Scales a picture that covers `seen` pixels of the preview. Each pixel is the mean of a square.
    fn new(picture: &Picture, seen: usize) -> Self {
        let full = picture.size();
        let ratio = full.as_dvec2().element_product() / (seen.max(1) as f64);
        let by = (ratio.sqrt() as u32).clamp(1, full.min_element().max(1));
        let size = full / by;
        let mean = |at: UVec2| {
            let rows = (0..by).flat_map(|y| (0..by).map(move |x| UVec2::new(x, y)));
            let sum = rows.fold(Vec3::ZERO, |sum, offset| {
                let from = at * by + offset;
                let pixel = picture.pixels()[from.y as usize * full.x as usize + from.x as usize];
                sum + Vec3::new(pixel.r.into(), pixel.g.into(), pixel.b.into())
            });
            sum / (by * by) as f32
        };
        let pixels = (0..size.y).flat_map(|y| (0..size.x).map(move |x| UVec2::new(x, y)));
        Self { size, pixels: pixels.map(mean).collect() }
    }

    /// Returns the colour at a place, as a fraction of the width and height. The colour of an empty picture is black.
    fn at(&self, place: DVec2) -> Vec3 {
        let at =
            (place * self.size.as_dvec2()).as_uvec2().min(self.size.saturating_sub(UVec2::ONE));
        let index = at.y as usize * self.size.x as usize + at.x as usize;
        self.pixels.get(index).copied().unwrap_or_default()
    }
}

/// Returns the colour of a camera: a saturated colour whose hue differs clearly from those of the cameras before it.
///
/// The hues halve the colour circle again and again: 28°, 208°, 118°, 298°, 73° …
fn tint(camera: usize) -> Vec3 {
    /// The least and the greatest level of a channel.
    const LEVELS: [f32; 2] = [40.0, 255.0];
    let turn = f64::from((camera as u32).reverse_bits()) / f64::from(u32::MAX) + 28.0 / 360.0;
    // A channel is at its maximum within 60° of its own hue, and at its minimum beyond 120°.
    let channel = |hue: f64| {
        let off = (turn - hue + 0.5).rem_euclid(1.0) - 0.5;
        let share = (2.0 - off.abs() * 6.0).clamp(0.0, 1.0) as f32;
        LEVELS[0] + (LEVELS[1] - LEVELS[0]) * share
    };
    Vec3::new(channel(0.0), channel(1.0 / 3.0), channel(2.0 / 3.0))
}

fn rgba(colour: Vec3) -> Rgba8 {
    let [r, g, b] = colour.to_array().map(|level| level.round() as u8);
    Rgba8::opaque(r, g, b)
}

#[cfg(test)]
mod tests;
