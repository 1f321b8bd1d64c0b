//! Masks: the pixels of a picture that do not count, such as the rim of a fisheye or the body of a car.
//!
//! The mask of a picture is its alpha channel. Pixels with an alpha of less than 128 are masked; with 16 bits, less
//! than 32,768.

use glam::{DVec2, IVec2, UVec2};

use shared_types::Rgba8;

use super::{Picture, Pixel};

/// The distance of diagonal neighbours.
const DIAGONAL: f32 = std::f32::consts::SQRT_2;

/// Alpha below which a pixel is masked, with 8 bits.
const OPAQUE: u8 = 128;

/// The distance of each pixel of a picture from the nearest masked pixel.
#[derive(Clone, Debug)]
pub(crate) struct Mask {
    size: UVec2,
    distance: Vec<f32>,
}

impl<P: Pixel> Picture<P> {
    /// Masks the pixels at which `mask` is darker than half: sets their alpha to 0. The functions of [`panorama`]
    /// ignore these pixels when they match and stitch pictures; those of [`ops::stitch`](crate::ops::stitch) do not.
    /// Returns false, and changes nothing, if the mask does not have the size of the picture.
    ///
    /// [`panorama`]: crate::panorama
    #[must_use]
    pub fn mask(&mut self, mask: &Picture) -> bool {
        if mask.size() != self.size() {
            return false;
        }
        for (pixel, mask) in self.pixels_mut().iter_mut().zip(mask.pixels()) {
            let sum = u32::from(mask.r) + u32::from(mask.g) + u32::from(mask.b);
            if sum < 3 * 128 || mask.a < OPAQUE {
                *pixel = pixel.masked();
            }
        }
        true
    }
}

impl Mask {
    /// Returns the mask of a picture, or `None` if no pixel is masked.
    pub(crate) fn of<P: Pixel>(picture: &Picture<P>) -> Option<Self> {
        picture.pixels().iter().any(is_masked).then(|| {
            let far = f32::MAX / 4.0;
            let pixels = picture.pixels().iter();
            let mut distance: Vec<f32> =
                pixels.map(|pixel| if is_masked(pixel) { 0.0 } else { far }).collect();
            // Chamfer distances: forward from the pixels above and to the left, then backward from those below and to
            // the right. They exceed the true distance by at most a tenth.
            let size = picture.size().as_ivec2();
            let pixels = size.x * size.y;
            (0..pixels).for_each(|at| relax(&mut distance, size, at, 1));
            (0..pixels).rev().for_each(|at| relax(&mut distance, size, at, -1));
            Self { size: picture.size(), distance }
        })
    }

    /// Returns the distance in pixels from a position to the area from which masked pixels have an influence. It is 0
    /// if one of the 4×4 pixels around the position is masked, because a stitch may interpolate with a cubic filter.
    pub(crate) fn distance(&self, x: f32, y: f32) -> f32 {
        let last = self.size - 1;
        let column = |x: f32| (x.max(0.0) as u32).min(last.x) as usize;
        let row = |y: f32| (y.max(0.0) as u32).min(last.y) as usize;
        let at = |x: usize, y: usize| self.distance[y * self.size.x as usize + x];
        let (columns, rows) = ([column(x), column(x.ceil())], [row(y), row(y.ceil())]);
        let all =
            [[0, 0], [1, 0], [0, 1], [1, 1]].map(|[i, j]: [usize; 2]| at(columns[i], rows[j]));
        // The neighbours of the inner four pixels are up to a diagonal away.
        (all.into_iter().fold(f32::INFINITY, f32::min) - DIAGONAL).max(0.0)
    }

    /// Returns whether a position is not masked.
    pub(crate) fn allows(&self, at: DVec2) -> bool {
        self.distance(at.x as f32, at.y as f32) > 0.0
    }
}

/// Returns whether the opacity of a pixel is less than half.
pub(crate) fn is_masked<P: Pixel>(pixel: &P) -> bool {
    let Rgba8 { a, .. } = (*pixel).into();
    a < OPAQUE
}

/// Lowers the distance of pixel `at` to that of a pixel before it plus the step from it. `before` is 1 if the pixels
/// above and to the left come before it, and −1 if those below and to the right do.
fn relax(distance: &mut [f32], size: IVec2, at: i32, before: i32) {
    let place = IVec2::new(at % size.x, at / size.x);
    for (x, y, step) in [(1, 0, 1.0), (0, 1, 1.0), (1, 1, DIAGONAL), (-1, 1, DIAGONAL)] {
        let from = place - before * IVec2::new(x, y);
        if from.cmpge(IVec2::ZERO).all() && from.cmplt(size).all() {
            let there = distance[(from.y * size.x + from.x) as usize];
            let here = &mut distance[at as usize];
            *here = here.min(there + step);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_to_the_nearest_masked_pixel() {
        let mut picture = Picture::filled(40, 30, Rgba8::opaque(1, 2, 3));
        assert!(Mask::of(&picture).is_none());
        let mut mask = Picture::filled(40, 30, Rgba8::opaque(255, 255, 255));
        mask.pixels_mut()[12 * 40 + 10] = Rgba8::opaque(0, 0, 0);
        assert!(picture.mask(&mask) && !picture.mask(&Picture::filled(40, 31, Rgba8::BLACK)));
        let mask = Mask::of(&picture).unwrap();
        for (x, y) in (0..30).flat_map(|y| (0..40).map(move |x| (x as f32, y as f32))) {
            let exact = (x - 10.0).hypot(y - 12.0);
            let [least, most] = [exact, 1.1 * exact].map(|far| (far - DIAGONAL).max(0.0));
            let found = mask.distance(x, y);
            assert!(found >= least - 1e-3 && found <= most + 1e-3, "{x} {y}: {found} {exact}");
        }
        for (x, is_allowed) in [(10.0, false), (9.5, false), (8.1, false), (7.9, true)] {
            assert_eq!(mask.allows(DVec2::new(x, 12.0)), is_allowed, "{x}");
        }
    }
}
