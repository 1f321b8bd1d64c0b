//! The preview of a calibration: both pictures with what they have in common, and below the panorama with
//! the line where one camera hands over to the other.

use glam::{DVec2, UVec2};
use panoweave::calibrate::{Calibration, Correspondence};
use panoweave::device::Stream;
use panoweave::picture::Picture;
use panoweave::stitch::{StitchOptions, stitch_pictures};
use panoweave::warp::{DeviceWarp, Plane, Warp};
use shared_types::Rgba8;

use super::failure::Failure;

/// Widest preview, in pixels.
const WIDTH: f64 = 1920.0;

/// Most lines between points that agree.
const LINES: usize = 60;

const AGREES: Rgba8 = Rgba8::opaque(80, 230, 90);
const DIFFERS: Rgba8 = Rgba8::opaque(230, 60, 50);
const OUTLINE: Rgba8 = Rgba8::opaque(255, 220, 0);

/// Draws the preview of two pictures.
pub(super) fn calibration(
    stream: &Stream,
    pictures: &[Picture],
    found: &Calibration,
    correspondences: &[Correspondence],
    warp: &Warp,
) -> Result<Picture, Failure> {
    let [left, right] = pictures else {
        return Err(Failure::Usage("a preview is of two pictures"));
    };
    let on_device = DeviceWarp::upload(stream, warp)?;
    let panorama = stitch_pictures(stream, left, right, &on_device, &StitchOptions::default())?;
    let size = |p: &Picture| UVec2::new(p.width(), p.height()).as_dvec2();
    let (l, r, p) = (size(left), size(right), size(&panorama));
    // Both pictures at one scale, and the panorama as wide as both.
    let scale = (WIDTH / (l.x + r.x)).min(1.0);
    let width = ((l.x + r.x) * scale).ceil();
    let under = width / p.x;
    let top = (l.y.max(r.y) * scale).ceil();
    let canvas = DVec2::new(width, top + (p.y * under).ceil()).as_uvec2();
    let mut sketch = Sketch { picture: Picture::filled(canvas.x, canvas.y, Rgba8::BLACK) };
    let places = [DVec2::ZERO, DVec2::new(l.x * scale, 0.0)];
    sketch.paste(left, places[0], scale);
    sketch.paste(right, places[1], scale);
    sketch.paste(&panorama, DVec2::new(0.0, top), under);

    let on = |side: usize, at: DVec2| places[side] + (at + 0.5) * scale;
    for (own, other) in [(0, 1), (1, 0)] {
        let edge = outline([l, r][other]).map(|at| {
            let at = found.views.map(own, other, at)?;
            let inside = at.cmpge(DVec2::ZERO).all() && at.cmple([l, r][own]).all();
            inside.then(|| on(own, at))
        });
        edge.flatten().for_each(|at| sketch.dot(at, 1, OUTLINE));
    }
    let mut agree = vec![false; correspondences.len()];
    found.inliers.iter().for_each(|&i| agree[i] = true);
    for (which, colour) in [(false, DIFFERS), (true, AGREES)] {
        for (pair, _) in correspondences.iter().zip(&agree).filter(|(_, agrees)| **agrees == which)
        {
            sketch.dot(on(0, pair.left), 2, colour);
            sketch.dot(on(1, pair.right), 2, colour);
        }
    }
    let step = (found.inliers.len() / LINES).max(1);
    for &i in found.inliers.iter().step_by(step) {
        sketch.line(on(0, correspondences[i].left), on(1, correspondences[i].right), AGREES);
    }
    for at in handover(warp) {
        sketch.dot(DVec2::new(0.0, top) + (at + 0.5) * under, 1, OUTLINE);
    }
    Ok(sketch.picture)
}

/// Places along the edges of a picture, close together.
fn outline(size: DVec2) -> impl Iterator<Item = DVec2> {
    (0..1000).flat_map(move |i| {
        let at = (size - 1.0) * f64::from(i) / 999.0;
        [
            DVec2::new(at.x, 0.0),
            DVec2::new(at.x, size.y - 1.0),
            DVec2::new(0.0, at.y),
            DVec2::new(size.x - 1.0, at.y),
        ]
    })
}

/// Panorama pixels where both cameras count and their weights change places.
fn handover(warp: &Warp) -> Vec<DVec2> {
    let (width, height) = (warp.size().x as usize, warp.size().y as usize);
    let [left, right] = [Plane::WeightLeft, Plane::WeightRight].map(|plane| warp.plane(plane));
    let more = |at: usize| left[at] > right[at];
    let both = |at: usize| left[at] > 0.0 && right[at] > 0.0;
    let mut places = Vec::new();
    for y in 1..height {
        for x in 1..width {
            let at = y * width + x;
            let changes = |other: usize| both(other) && more(other) != more(at);
            if both(at) && (changes(at - 1) || changes(at - width)) {
                places.push(DVec2::new(x as f64, y as f64));
            }
        }
    }
    places
}

/// A picture that is drawn on. What lies outside of it is left out.
struct Sketch {
    picture: Picture,
}

impl Sketch {
    /// Shows a picture at a scale, from `place` on: each pixel the mean of those that it covers.
    fn paste(&mut self, picture: &Picture, place: DVec2, scale: f64) {
        let (width, height) = (picture.width(), picture.height());
        let to = (DVec2::new(width.into(), height.into()) * scale).as_uvec2();
        let range = |at: u32, side: u32| {
            let first = ((f64::from(at) / scale) as u32).min(side - 1);
            first..((f64::from(at + 1) / scale) as u32).clamp(first + 1, side.max(first + 1))
        };
        for y in 0..to.y {
            for x in 0..to.x {
                let (mut sum, mut count) = ([0u32; 3], 0);
                for row in range(y, height) {
                    for column in range(x, width) {
                        let at = row as usize * width as usize + column as usize;
                        let Some(pixel) = picture.pixels().get(at) else { continue };
                        let levels = [pixel.r, pixel.g, pixel.b];
                        sum.iter_mut()
                            .zip(levels)
                            .for_each(|(sum, level)| *sum += u32::from(level));
                        count += 1;
                    }
                }
                let [r, g, b] = sum.map(|sum| (sum / count.max(1)) as u8);
                self.set(place + DVec2::new(x.into(), y.into()), Rgba8::opaque(r, g, b));
            }
        }
    }

    fn set(&mut self, at: DVec2, colour: Rgba8) {
        let (width, height) = (self.picture.width(), self.picture.height());
        if at.x >= 0.0 && at.y >= 0.0 && at.x < f64::from(width) && at.y < f64::from(height) {
            let i = at.y as usize * width as usize + at.x as usize;
            self.picture.pixels_mut()[i] = colour;
        }
    }

    /// A square of `2 · radius − 1` pixels a side.
    fn dot(&mut self, at: DVec2, radius: i32, colour: Rgba8) {
        for dy in 1 - radius..radius {
            for dx in 1 - radius..radius {
                self.set(at + DVec2::new(dx.into(), dy.into()), colour);
            }
        }
    }

    fn line(&mut self, from: DVec2, to: DVec2, colour: Rgba8) {
        let steps = (to - from).abs().max_element().ceil().max(1.0);
        for i in 0..=steps as u32 {
            self.set(from.lerp(to, f64::from(i) / steps), colour);
        }
    }
}
