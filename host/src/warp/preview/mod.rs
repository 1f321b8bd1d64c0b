//! Draws the canvas of a panorama with the area of each camera.
//!
//! - Each camera's area has its own colour; the first camera is orange and the second one is blue. Where cameras
//!   overlap, their colours are mixed by weight and paler, the paler the more cameras overlap.
//! - A light line with dark edges is the outline of a camera's picture.
//! - The number of a camera, from 1, is at the centre of its area.
//! - Pixels to which no camera contributes are black.
//! - Fine lines mark every eighth of the width and height of a source. Their shape shows the distortion. If the
//!   pictures of the cameras are given, they are drawn instead of these lines.
//!
//! The canvas is a [`Warp`] or a [`Geometry`]. A geometry gives the distance of each point to the edge of a picture, so
//! its outlines are smooth and continue across the edge of a full circle. A warp without a geometry has weights, which
//! may end inside the picture. The outline is then drawn along the pixels next to that end.

mod label;
mod outline;
mod scene;

use glam::{DVec2, UVec2, Vec3};
use shared_types::Rgba8;

use crate::geometry::Geometry;
use crate::io::picture::Picture;
use crate::warp::Warp;
use label::Labels;
use scene::{Look, Scene};

/// The brightness of a grid line relative to the pixels around it.
const LINE: f32 = 0.6;
/// The number of grid cells across the width and across the height of a source.
const CELLS: f64 = 8.0;
/// The share of white where two cameras overlap, and the most where more cameras overlap.
const PALE: [f32; 2] = [0.2, 0.6];
/// The share of a camera's own colour if its picture is drawn.
const OVER_PICTURE: f32 = 0.3;

impl Warp {
    /// Draws the warp. If a side of the panorama is longer than `max_side` pixels, the preview is scaled down so that
    /// its longer side has `max_side` pixels.
    #[must_use]
    pub fn preview(&self, max_side: u32) -> Picture {
        Canvas::new(self.size(), max_side).draw(self, &[])
    }
}

impl Geometry {
    /// Draws the canvas and the areas of the cameras, in the same way and size as [`Warp::preview`]. `pictures` are
    /// drawn in the areas of their cameras, which are in the same order. They may be scaled versions of the cameras'
    /// pictures. A camera without a picture has only its colour.
    #[must_use]
    pub fn preview(&self, pictures: &[Picture], max_side: u32) -> Picture {
        Canvas::new(self.canvas.size, max_side).draw(self, pictures)
    }
}

/// The pixels of a preview.
struct Canvas {
    size: UVec2,
    /// The number of canvas pixels per preview pixel along either axis, at least 1.
    step: f64,
    /// The sum of the colours of each pixel, multiplied by the weights.
    colours: Vec<Vec3>,
    /// The sum of the weights.
    weights: Vec<f32>,
    /// The number of cameras that contribute.
    counts: Vec<u8>,
    /// The outlines above the colours: a colour, multiplied by its opacity, and the opacity.
    lines: Vec<(Vec3, f32)>,
}

impl Canvas {
    fn new(canvas: UVec2, max_side: u32) -> Self {
        let step = f64::from(canvas.max_element()) / f64::from(max_side.max(1));
        let step = step.max(1.0);
        let size = (canvas.as_dvec2() / step).as_uvec2().max(UVec2::ONE);
        let area = size.x as usize * size.y as usize;
        Self {
            size,
            step,
            colours: vec![Vec3::ZERO; area],
            weights: vec![0.0; area],
            counts: vec![0; area],
            lines: vec![(Vec3::ZERO, 0.0); area],
        }
    }

    fn draw(mut self, scene: &impl Scene, pictures: &[Picture]) -> Picture {
        let mut labels = Labels::new(self.size);
        for (camera, source) in scene.sources().into_iter().enumerate() {
            let looks = self.looks(scene, camera);
            let tint = tint(camera);
            self.fill(&looks, source, tint, pictures.get(camera));
            let lines = outline::distances(&looks, self.size, source, scene.is_full_circle());
            for (line, distance) in self.lines.iter_mut().zip(lines) {
                outline::draw(line, distance, tint.lerp(Vec3::splat(255.0), 0.6));
            }
            if let Some(at) = label::centre(&looks, self.size.x, scene.is_full_circle()) {
                labels.add(camera + 1, at, rgba(tint));
            }
        }
        let mut picture = Picture::filled(self.size.x, self.size.y, Rgba8::BLACK);
        for (at, pixel) in picture.pixels_mut().iter_mut().enumerate() {
            *pixel = rgba(self.pixel(at));
        }
        labels.draw(&mut picture);
        picture
    }

    /// Returns what the camera contributes to each pixel.
    fn looks(&self, scene: &impl Scene, camera: usize) -> Vec<Option<Look>> {
        let rows = (0..self.size.y).flat_map(|y| (0..self.size.x).map(move |x| UVec2::new(x, y)));
        rows.map(|at| scene.look(camera, (at.as_dvec2() + 0.5) * self.step - 0.5)).collect()
    }

    /// Adds the colours of a camera, whose pictures have `source` pixels.
    fn fill(
        &mut self,
        looks: &[Option<Look>],
        source: UVec2,
        tint: Vec3,
        picture: Option<&Picture>,
    ) {
        let width = self.size.x as usize;
        let source = source.as_dvec2();
        let seen = looks.iter().flatten().filter(|look| look.weight > 0.0).count();
        let small = picture.map(|picture| Reduced::new(picture, seen));
        let cell = |look: &Look| (look.place * CELLS / source).floor();
        for (at, look) in looks.iter().enumerate() {
            let Some(look) = look.as_ref().filter(|look| look.weight > 0.0) else { continue };
            let colour = if let Some(small) = &small {
                small.at(look.place / source).lerp(tint, OVER_PICTURE)
            } else {
                let right = looks.get(at + 1).filter(|_| (at + 1) % width != 0);
                let next = [right, looks.get(at + width)].into_iter().flatten().flatten();
                let line = { next }.any(|next| cell(next) != cell(look));
                tint * if line { LINE } else { 1.0 }
            };
            let weight = look.weight as f32;
            self.colours[at] += colour * weight;
            self.weights[at] += weight;
            self.counts[at] += 1;
        }
    }

    /// Returns the colour of a pixel without the labels.
    fn pixel(&self, at: usize) -> Vec3 {
        let (line, opacity) = self.lines[at];
        let below = if self.counts[at] > 0 {
            let pale = PALE[0] * f32::from(self.counts[at] - 1);
            (self.colours[at] / self.weights[at]).lerp(Vec3::splat(255.0), pale.min(PALE[1]))
        } else {
            Vec3::ZERO
        };
        line + below * (1.0 - opacity)
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
