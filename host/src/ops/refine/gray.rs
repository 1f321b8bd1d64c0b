//! The gray levels of a camera on a reduced panorama.

use glam::{FloatExt, UVec2, Vec2, uvec2};
use shared_types::Rgba8;

use super::points;
use crate::frame::Frame;
use crate::io::picture::{Picture, Pixel};

/// The picture of a camera whose gray levels are read.
pub(crate) struct GraySource<'a> {
    size: UVec2,
    /// Returns the gray level (0 to 255) of a pixel, or NaN if it is transparent.
    level: Box<dyn Fn(UVec2) -> f32 + 'a>,
}

impl<'a> GraySource<'a> {
    pub(crate) fn of_picture<P: Pixel>(picture: &'a Picture<P>) -> Self {
        let width = picture.width() as usize;
        let level = move |at: UVec2| {
            let pixel = picture.pixels()[at.y as usize * width + at.x as usize];
            let Rgba8 { r, g, b, a } = pixel.into();
            if a < 128 { f32::NAN } else { gray([r, g, b]) }
        };
        Self { size: picture.size(), level: Box::new(level) }
    }

    /// In Y'CbCr formats, the gray levels are the stored luma.
    pub(crate) fn of_frame(frame: &Frame<'a>) -> Self {
        let (plane, (bytes, levels)) = (frame.planes()[0], frame.format().pixels.levels());
        let level = move |at: UVec2| {
            let pixel = &plane.bytes[at.y as usize * plane.pitch + at.x as usize * bytes..];
            match pixel[levels.clone()] {
                [red, green, blue] => gray([red, green, blue]),
                ref luma => luma[0].into(),
            }
        };
        Self { size: frame.format().size, level: Box::new(level) }
    }

    /// Returns the level of a pixel of the picture reduced by a whole factor: the mean of a square, which ends at the
    /// edge of the picture. The result is NaN if a pixel of the square is transparent.
    fn mean(&self, at: UVec2, factor: u32) -> f32 {
        let (low, high) = (at * factor, (at * factor + factor).min(self.size));
        let mut sum = 0.0;
        for y in low.y..high.y {
            sum += (low.x..high.x).map(|x| (self.level)(uvec2(x, y))).sum::<f32>();
        }
        sum / (high - low).as_vec2().element_product()
    }
}

/// Returns the luma (BT.601) of red, green and blue.
fn gray(levels: [u8; 3]) -> f32 {
    let [r, g, b] = levels.map(f32::from);
    0.299 * r + 0.587 * g + 0.114 * b
}

/// Gray levels (0 to 255) of one camera, row by row. Positions that the camera does not see, and transparent
/// ones, are NaN.
pub(super) struct Gray {
    size: UVec2,
    levels: Vec<f32>,
}

impl Gray {
    /// Shows a picture on a panorama of `size` pixels, which is `step` times smaller than the whole one. `places` are
    /// the source coordinates at its pixels.
    pub(super) fn of(
        source: &GraySource<'_>,
        size: UVec2,
        step: u32,
        places: &[Option<Vec2>],
    ) -> Self {
        let seen = places.iter().flatten().count().max(1) as f32;
        // The number of source pixels per panorama pixel along an axis, if the panorama shows the whole picture.
        let (area, shown) = (source.size.as_vec2().element_product(), seen * (step * step) as f32);
        let factor = (step as f32 * (area / shown).sqrt()).round().max(1.0);
        let own = source.size.map(|side| side.div_ceil(factor as u32));
        let levels = points(own).map(|at| source.mean(at, factor as u32)).collect();
        let reduced = Self { size: own, levels };
        let level = |place: &Option<Vec2>| {
            place.map_or(f32::NAN, |place| reduced.between((place + 0.5) / factor - 0.5))
        };
        Self { size, levels: places.iter().map(level).collect() }
    }

    /// Returns the level at a position, interpolated bilinearly.
    fn between(&self, at: Vec2) -> f32 {
        let last = self.size - 1;
        let at = at.clamp(Vec2::ZERO, last.as_vec2());
        let (low, part) = (at.floor().as_uvec2(), at.fract());
        let high = (low + 1).min(last);
        let level = |x: u32, y: u32| self.levels[(y * self.size.x + x) as usize];
        let row = |y: u32| level(low.x, y).lerp(level(high.x, y), part.x);
        row(low.y).lerp(row(high.y), part.y)
    }

    /// Copies the square of `side` pixels whose first pixel is at `(x, y)` to `out`. Returns whether the panorama
    /// contains the square and the camera sees all of it.
    pub(super) fn square(&self, [x, y]: [i32; 2], side: u32, out: &mut Vec<f32>) -> bool {
        out.clear();
        let (Ok(x), Ok(y)) = (u32::try_from(x), u32::try_from(y)) else { return false };
        if x + side > self.size.x || y + side > self.size.y {
            return false;
        }
        for y in y..y + side {
            let first = (y * self.size.x + x) as usize;
            out.extend_from_slice(&self.levels[first..][..side as usize]);
        }
        out.iter().all(|level| !level.is_nan())
    }
}
