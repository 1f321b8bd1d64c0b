//! Draws the preview of a calibration: the pictures in a row with their matches, and below them the panorama with the
//! borders between the cameras.

use glam::DVec2;
use panoweave::device::Stream;
use panoweave::frame::Rgba8;
use panoweave::io::picture::Picture;
use panoweave::job::Calibrated;
use panoweave::ops::blend::Blend;
use panoweave::ops::seam::SeamOptions;
use panoweave::panorama::{Panorama, PanoramaOptions, stitch_geometry};

use crate::output::failure::Failure;

/// Maximum width of the preview, in pixels.
const WIDTH: f64 = 1920.0;

/// Approximate maximum number of lines that connect matching points. More lines would hide the pictures.
const LINES: usize = 60;

const AGREES: Rgba8 = Rgba8::opaque(80, 230, 90);
const DIFFERS: Rgba8 = Rgba8::opaque(230, 60, 50);
const OUTLINE: Rgba8 = Rgba8::opaque(255, 220, 0);

/// Stitches the calibrated pictures and draws the preview.
pub(crate) fn calibration(
    stream: &Stream,
    pictures: &[Picture],
    found: &Calibrated,
) -> Result<Picture, Failure> {
    let options = PanoramaOptions {
        match_colour: true,
        blend: Blend::Seam(SeamOptions::default()),
        owners: true,
        ..PanoramaOptions::default()
    };
    let geometry = found.rig.geometry()?;
    let (panorama, _) = stitch_geometry(stream, pictures, &geometry, &options)?;
    Ok(draw(pictures, found, &panorama))
}

fn draw(pictures: &[Picture], found: &Calibrated, panorama: &Panorama) -> Picture {
    let Panorama { picture: panorama, owners, .. } = panorama;
    let size = |p: &Picture| p.size().as_dvec2();
    // Scale all pictures by the same factor, and scale the panorama to the width of the row of pictures.
    let sizes: Vec<DVec2> = pictures.iter().map(size).collect();
    let row: f64 = sizes.iter().map(|size| size.x).sum();
    let scale = (WIDTH / row).min(1.0);
    let width = (row * scale).ceil();
    let under = width / size(panorama).x;
    let top = (sizes.iter().fold(0.0, |most: f64, size| most.max(size.y)) * scale).ceil();
    let canvas = DVec2::new(width, top + (size(panorama).y * under).ceil()).as_uvec2();
    let mut sketch = Sketch { picture: Picture::filled(canvas.x, canvas.y, Rgba8::BLACK) };
    let places: Vec<DVec2> = sizes
        .iter()
        .scan(0.0, |x, size| Some(DVec2::new(std::mem::replace(x, *x + size.x * scale), 0.0)))
        .collect();
    for (picture, place) in pictures.iter().zip(&places) {
        sketch.paste(picture, *place, scale);
    }
    sketch.paste(panorama, DVec2::new(0.0, top), under);

    let on = |picture: usize, at: DVec2| places[picture] + (at + 0.5) * scale;
    let links = found.overlapping();
    for pair in links.iter().map(|(pair, _)| pair) {
        for (own, other) in [(pair.left, pair.right), (pair.right, pair.left)] {
            let edge = outline(sizes[other]).map(|at| {
                let at = found.calibration.views.map(own, other, at)?;
                let inside = at.cmpge(DVec2::ZERO).all() && at.cmple(sizes[own] - 1.0).all();
                inside.then(|| on(own, at))
            });
            edge.flatten().for_each(|at| sketch.dot(at, 1, OUTLINE));
        }
    }
    for (pair, inliers) in &links {
        let (left, right) = (pair.left, pair.right);
        let points = &pair.correspondences;
        let mut agree = vec![false; points.len()];
        inliers.iter().for_each(|&i| agree[i] = true);
        for (which, colour) in [(false, DIFFERS), (true, AGREES)] {
            for (pair, _) in points.iter().zip(&agree).filter(|(_, agrees)| **agrees == which) {
                sketch.dot(on(left, pair.left), 2, colour);
                sketch.dot(on(right, pair.right), 2, colour);
            }
        }
        let step = (inliers.len() * links.len() / LINES).max(1);
        for &i in inliers.iter().step_by(step) {
            sketch.line(on(left, points[i].left), on(right, points[i].right), AGREES);
        }
    }
    for at in handover(owners, panorama.width() as usize) {
        sketch.dot(DVec2::new(0.0, top) + (at + 0.5) * under, 1, OUTLINE);
    }
    sketch.picture
}

/// Yields the outline of a picture of `size` pixels as points: 1000 along each of its four edges.
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

/// Returns the panorama pixels where one camera's area borders on that of another. `owners` contains, row by row, the
/// index of the camera that each pixel shows, or `u8::MAX` if a pixel shows no camera.
fn handover(owners: &[u8], width: usize) -> Vec<DVec2> {
    let differ = |a: u8, b: u8| a.max(b) < u8::MAX && a != b;
    let mut places = Vec::new();
    for (at, &owner) in owners.iter().enumerate() {
        let (x, y) = (at % width, at / width);
        let before = |is: bool, back: usize| is && differ(owner, owners[at - back]);
        if before(x > 0, 1) || before(y > 0, width) {
            places.push(DVec2::new(x as f64, y as f64));
        }
    }
    places
}

/// A picture to draw on. Drawing outside the picture has no effect.
struct Sketch {
    picture: Picture,
}

impl Sketch {
    /// Draws a picture, scaled by `scale`, with its top left corner at `place`. Each drawn pixel has the mean colour of
    /// the source pixels that it covers.
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

    /// Draws a filled square around `at` with a side of `2 · radius − 1` pixels.
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
