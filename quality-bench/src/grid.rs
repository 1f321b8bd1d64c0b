//! Pictures, planes and masks in memory: one value per pixel, row by row, and how values between pixels are found.
//!
//! Pixel `(0, 0)` has its centre at the coordinates `(0, 0)`. Colours are RGB levels from 0 to 255 as `f32`.

use std::path::Path;

use glam::DVec2;
use panoweave::frame::Rgba8;
use panoweave::io::picture::Picture as File;
use rayon::prelude::*;

use crate::Result;

/// An RGB colour. In a picture, levels from 0 to 255.
pub(crate) type Rgb = [f32; 3];

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Grid<T> {
    pub(crate) width: usize,
    pub(crate) height: usize,
    /// The values, row by row.
    pub(crate) data: Vec<T>,
}

/// A colour picture.
pub(crate) type Picture = Grid<Rgb>;
/// One channel of a picture.
pub(crate) type Plane = Grid<f32>;
/// The pixels that count.
pub(crate) type Mask = Grid<bool>;

impl<T: Copy + Default + Send + Sync> Grid<T> {
    /// Fills a grid row by row, on all cores. `fill` gets the number of a row and the row with default values.
    pub(crate) fn from_rows(
        width: usize,
        height: usize,
        fill: impl Fn(usize, &mut [T]) + Sync,
    ) -> Self {
        let mut data = vec![T::default(); width * height];
        let rows = data.par_chunks_mut(width.max(1)).enumerate();
        rows.for_each(|(y, row)| fill(y, row));
        Self { width, height, data }
    }

    /// Computes the value of each pixel from its column and row, on all cores.
    pub(crate) fn from_fn(
        width: usize,
        height: usize,
        value: impl Fn(usize, usize) -> T + Sync,
    ) -> Self {
        Self::from_rows(width, height, |y, row| {
            row.iter_mut().enumerate().for_each(|(x, pixel)| *pixel = value(x, y));
        })
    }

    fn row(&self, y: usize) -> &[T] {
        &self.data[y * self.width..(y + 1) * self.width]
    }

    /// Returns the value at a column and row, or `None` outside.
    pub(crate) fn get_at(&self, x: isize, y: isize) -> Option<T> {
        let (x, y) = (usize::try_from(x).ok()?, usize::try_from(y).ok()?);
        (x < self.width && y < self.height).then(|| self.data[y * self.width + x])
    }

    /// Returns the value at a column and row. Coordinates outside are moved to the border.
    pub(crate) fn at(&self, x: isize, y: isize) -> T {
        let x = x.clamp(0, self.width as isize - 1) as usize;
        let y = y.clamp(0, self.height as isize - 1) as usize;
        self.data[y * self.width + x]
    }

    /// Returns a grid of the same size with `map` applied to each value.
    pub(crate) fn map<U: Copy + Default + Send + Sync>(
        &self,
        map: impl Fn(T) -> U + Sync,
    ) -> Grid<U> {
        Grid::from_fn(self.width, self.height, |x, y| map(self.data[y * self.width + x]))
    }

    /// Returns whether a point lies at least `border` pixels inside the outer pixel centres.
    pub(crate) fn contains(&self, p: DVec2, border: f64) -> bool {
        let (right, bottom) = (self.width as f64 - 1.0, self.height as f64 - 1.0);
        p.x >= border && p.y >= border && p.x <= right - border && p.y <= bottom - border
    }
}

/// Returns the four weights of a Catmull-Rom spline between the second and the third of four values.
fn spline(t: f32) -> [f32; 4] {
    let (t2, t3) = (t * t, t * t * t);
    [
        -0.5 * t3 + t2 - 0.5 * t,
        1.5 * t3 - 2.5 * t2 + 1.0,
        -1.5 * t3 + 2.0 * t2 + 0.5 * t,
        0.5 * t3 - 0.5 * t2,
    ]
}

impl Picture {
    /// Interpolates with Catmull-Rom splines (4×4 pixels).
    pub(crate) fn sample(&self, p: DVec2) -> Rgb {
        let (x, y) = (p.x.floor(), p.y.floor());
        let (wx, wy) = (spline((p.x - x) as f32), spline((p.y - y) as f32));
        let mut sum = [0.0; 3];
        for (j, wy) in wy.iter().enumerate() {
            for (i, wx) in wx.iter().enumerate() {
                let colour = self.at(x as isize + i as isize - 1, y as isize + j as isize - 1);
                (0..3).for_each(|c| sum[c] += wx * wy * colour[c]);
            }
        }
        sum
    }

    /// Returns the brightness: the mean of the three channels with the weights of BT.601.
    pub(crate) fn luma(&self) -> Plane {
        self.map(|[r, g, b]| 0.299 * r + 0.587 * g + 0.114 * b)
    }

    pub(crate) fn channel(&self, c: usize) -> Plane {
        self.map(|colour| colour[c])
    }

    /// Returns the picture with whole levels, as panoweave stores it.
    pub(crate) fn rounded(&self) -> Result<File> {
        let pixel = |colour: &Rgb| {
            let [r, g, b] = colour.map(|v| v.round().clamp(0.0, 255.0) as u8);
            Rgba8::opaque(r, g, b)
        };
        let (width, height) = (self.width as u32, self.height as u32);
        let pixels = self.data.iter().map(pixel).collect();
        Ok(File::from_pixels(width, height, pixels).ok_or("a grid without its values")?)
    }

    /// Writes a PNG file.
    pub(crate) fn save(&self, file: &Path) -> Result<()> {
        self.rounded()?.save(file).map_err(|error| error.to_string())
    }
}

/// Reads a picture and the pixels that it shows. Transparent pixels are not shown. If the file has no transparent
/// pixels, fully black pixels are not shown, because most stitchers fill the outside with black.
pub(crate) fn open(file: &Path) -> Result<(Picture, Mask)> {
    let picture = File::open(file).map_err(|error| error.to_string())?;
    let (width, height) = (picture.width() as usize, picture.height() as usize);
    let transparent = picture.pixels().iter().any(|pixel| pixel.a < 128);
    let shown = |&Rgba8 { r, g, b, a }: &Rgba8| {
        if transparent { a >= 128 } else { (r, g, b) != (0, 0, 0) }
    };
    let mask = Grid { width, height, data: picture.pixels().iter().map(shown).collect() };
    let colour = |&Rgba8 { r, g, b, .. }: &Rgba8| [r, g, b].map(f32::from);
    Ok((Grid { width, height, data: picture.pixels().iter().map(colour).collect() }, mask))
}

impl Plane {
    /// Blurs with a Gaussian of `sigma` pixels. Border pixels are repeated.
    pub(crate) fn blurred(&self, sigma: f64) -> Self {
        let radius = (3.0 * sigma).ceil() as usize;
        let offset = |i: usize| i as f64 - radius as f64;
        let weight = |i: usize| (-offset(i).powi(2) / (2.0 * sigma * sigma)).exp() as f32;
        let mut weights: Vec<f32> = (0..=2 * radius).map(weight).collect();
        let total: f32 = weights.iter().sum();
        weights.iter_mut().for_each(|weight| *weight /= total);
        let add = |sum: &mut [f32], values: &[f32], weight: f32| {
            sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += weight * value);
        };
        let across = Self::from_rows(self.width, self.height, |y, row| {
            let line = self.row(y);
            let (first, last) = (line[0], line[line.len() - 1]);
            let padding = |value| std::iter::repeat_n(value, radius);
            let padded: Vec<f32> =
                padding(first).chain(line.iter().copied()).chain(padding(last)).collect();
            weights.iter().enumerate().for_each(|(i, weight)| add(row, &padded[i..], *weight));
        });
        Self::from_rows(self.width, self.height, |y, row| {
            for (i, weight) in weights.iter().enumerate() {
                let from = (y + i).saturating_sub(radius).min(self.height - 1);
                add(row, across.row(from), *weight);
            }
        })
    }

    /// Interpolates between four pixels.
    pub(crate) fn sample(&self, p: DVec2) -> f32 {
        let (x, y) = (p.x.floor(), p.y.floor());
        let (fx, fy) = ((p.x - x) as f32, (p.y - y) as f32);
        let (x, y) = (x as isize, y as isize);
        let row = |y| self.at(x, y) * (1.0 - fx) + self.at(x + 1, y) * fx;
        row(y) * (1.0 - fy) + row(y + 1) * fy
    }

    /// Returns the gradient by central differences, in levels per pixel.
    pub(crate) fn gradient(&self) -> Grid<[f32; 2]> {
        Grid::from_fn(self.width, self.height, |x, y| {
            let (x, y) = (x as isize, y as isize);
            [
                (self.at(x + 1, y) - self.at(x - 1, y)) / 2.0,
                (self.at(x, y + 1) - self.at(x, y - 1)) / 2.0,
            ]
        })
    }
}

impl Mask {
    /// Returns the pixels whose whole neighbourhood of `radius` pixels, a square, is in the mask. The outside of the
    /// picture is not in the mask.
    pub(crate) fn eroded(&self, radius: usize) -> Self {
        self.map(|pixel| !pixel).grown(radius, true).map(|pixel| !pixel)
    }

    /// Returns the pixels within `radius` pixels, a square, of the mask.
    pub(crate) fn dilated(&self, radius: usize) -> Self {
        self.grown(radius, false)
    }

    /// Returns the pixels within `radius` pixels of the mask. `outside`: whether the outside is in the mask.
    fn grown(&self, radius: usize, outside: bool) -> Self {
        let or = |sum: &mut [bool], values: &[bool]| {
            sum.iter_mut().zip(values).for_each(|(sum, value)| *sum |= value);
        };
        let across = Self::from_rows(self.width, self.height, |y, row| {
            let padding = || std::iter::repeat_n(outside, radius);
            let padded: Vec<bool> =
                padding().chain(self.row(y).iter().copied()).chain(padding()).collect();
            (0..=2 * radius).for_each(|i| or(row, &padded[i..]));
        });
        Self::from_rows(self.width, self.height, |y, row| {
            for i in y..=y + 2 * radius {
                match i.checked_sub(radius) {
                    Some(from) if from < self.height => or(row, across.row(from)),
                    _ if outside => row.fill(true),
                    _ => {}
                }
            }
        })
    }

    /// Returns the pixels in both masks.
    pub(crate) fn and(&self, other: &Self) -> Self {
        let data = self.data.iter().zip(&other.data).map(|(a, b)| *a && *b).collect();
        Self { data, ..*self }
    }

    /// Returns the number of pixels in the mask.
    pub(crate) fn count(&self) -> usize {
        self.data.iter().filter(|&&pixel| pixel).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_shrinks_and_grows_by_a_square() {
        let at = |x: usize, y: usize| (3..9).contains(&x) && (2..7).contains(&y);
        let mask = Mask::from_fn(12, 9, at);
        assert_eq!(mask.count(), 30);
        assert_eq!(mask.eroded(1).count(), 12);
        assert_eq!(mask.dilated(1).count(), 56);
        assert_eq!(Mask::from_fn(5, 5, |_, _| true).eroded(1).count(), 9, "the border shrinks too");
    }

    #[test]
    fn a_blur_has_its_standard_deviation_and_keeps_the_sum() {
        let dot = Plane::from_fn(41, 41, |x, y| if (x, y) == (20, 20) { 1.0 } else { 0.0 });
        let blurred = dot.blurred(2.0);
        let moment = |n: i32| -> f32 {
            (0..41 * 41).map(|i| blurred.data[i] * ((i % 41) as f32 - 20.0).powi(n)).sum()
        };
        assert!((moment(0) - 1.0).abs() < 1e-4 && moment(1).abs() < 1e-3);
        assert!((moment(2) - 4.0).abs() < 0.1, "variance {}", moment(2));
    }

    #[test]
    fn samples_of_a_parabola_are_exact() {
        let parabola = Picture::from_fn(20, 20, |x, y| [(x * x + y * y) as f32; 3]);
        let found = parabola.sample(DVec2::new(7.25, 11.5))[0];
        assert!((found - (7.25 * 7.25 + 11.5 * 11.5)).abs() < 1e-3, "{found}");
    }
}
