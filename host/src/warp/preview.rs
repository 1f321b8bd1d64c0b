//! Draws a warp without camera pictures, to show the areas that the cameras cover and the distortion.
//!
//! - The left camera is orange and the right one is blue. In the overlap, the colours are mixed by weight.
//! - Pixels to which no camera contributes are black.
//! - Fine lines mark every eighth of the width and height of a source. Their shape shows the distortion.
//! - A white rectangle is the bounding box of the overlap.

use shared_types::Rgba8;

use crate::io::picture::Picture;
use crate::warp::Warp;

const TINTS: [[f32; 3]; 2] = [[255.0, 140.0, 40.0], [40.0, 130.0, 255.0]];
const OUTLINE: Rgba8 = Rgba8::opaque(255, 255, 255);
/// The brightness of a grid line relative to the pixels around it.
const LINE: f32 = 0.6;
/// The number of grid cells across the width and across the height of a source.
const CELLS: f32 = 8.0;

impl Warp {
    /// Draws the warp. If a side of the panorama is longer than `max_side` pixels, the preview is scaled down so that
    /// its longer side has `max_side` pixels.
    #[must_use]
    pub fn preview(&self, max_side: u32) -> Picture {
        let size = self.size();
        let step = f64::from(size.max_element()) / f64::from(max_side.max(1));
        let step = step.max(1.0);
        let reduced = |side: u32| ((f64::from(side) / step) as u32).max(1);
        let (width, height) = (reduced(size.x), reduced(size.y));
        // `under` returns the column or row of the panorama at the centre of a column or row of the preview.
        let under = |at: u32, side: u32| (((f64::from(at) + 0.5) * step) as u32).min(side - 1);
        let element = |x: u32, y: u32| {
            under(y, size.y) as usize * size.x as usize + under(x, size.x) as usize
        };
        let mut picture = Picture::filled(width, height, Rgba8::BLACK);
        let pixels = picture.pixels_mut();
        for y in 0..height {
            for x in 0..width {
                let next =
                    [element((x + 1).min(width - 1), y), element(x, (y + 1).min(height - 1))];
                let at = y as usize * width as usize + x as usize;
                pixels[at] = self.preview_pixel(element(x, y), next);
            }
        }
        if let Some(b) = self.stats().overlap_box {
            let reduce = |at: u32, side: u32| ((f64::from(at) / step) as u32).min(side - 1);
            let (left, right) = (reduce(b.x, width), reduce(b.x + b.width - 1, width));
            let (top, bottom) = (reduce(b.y, height), reduce(b.y + b.height - 1, height));
            let mut draw = |x: u32, y: u32| {
                pixels[y as usize * width as usize + x as usize] = OUTLINE;
            };
            for x in left..=right {
                draw(x, top);
                draw(x, bottom);
            }
            for y in top..=bottom {
                draw(left, y);
                draw(right, y);
            }
        }
        picture
    }

    /// Returns the preview's colour for the panorama pixel with the index `at`. `next` contains the indices of the
    /// panorama pixels that the preview pixels to the right and below show.
    fn preview_pixel(&self, at: usize, next: [usize; 2]) -> Rgba8 {
        let (mut sum, mut total) = ([0.0; 3], 0.0);
        for (camera, tint) in TINTS.iter().cycle().take(self.sources().len()).enumerate() {
            let Some(weight) = self.counts(camera, at) else {
                continue;
            };
            let cell = |element: usize| {
                let [u, v] = self.source(camera, element);
                let size = self.sources()[camera].as_vec2();
                [(u * CELLS / size.x).floor(), (v * CELLS / size.y).floor()]
            };
            let line = next.iter().any(|&element| cell(element) != cell(at));
            let weight_lit = weight * if line { LINE } else { 1.0 };
            for (channel, value) in sum.iter_mut().zip(tint) {
                *channel += weight_lit * value;
            }
            total += weight;
        }
        if total == 0.0 {
            return Rgba8::BLACK;
        }
        let [r, g, b] = sum.map(|channel: f32| (channel / total).round() as u8);
        Rgba8::opaque(r, g, b)
    }
}
