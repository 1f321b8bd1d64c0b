//! Pictures, planes and masks in memory: one value per pixel, row by row, and how values between pixels are found.
//!
//! Pixel `(0, 0)` has its centre at the coordinates `(0, 0)`. Colours are RGB levels from 0 to 255 as `f32`.

use std::path::Path;
use std::sync::Mutex;

use glam::DVec2;
use image::{ImageReader, Rgba, RgbaImage};

use crate::error::{Error, Result};

/// An RGB colour. In a picture, levels from 0 to 255.
pub type Rgb = [f32; 3];

/// A rectangle of values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grid<T> {
    /// Number of columns.
    pub width: usize,
    /// Number of rows.
    pub height: usize,
    /// The values, row by row.
    pub data: Vec<T>,
}

/// A colour picture.
pub type Picture = Grid<Rgb>;
/// One channel of a picture.
pub type Plane = Grid<f32>;
/// The pixels that count.
pub type Mask = Grid<bool>;

impl<T: Copy + Default + Send + Sync> Grid<T> {
    /// Computes the value of each pixel from its column and row, on all cores.
    pub fn from_fn(width: usize, height: usize, value: impl Fn(usize, usize) -> T + Sync) -> Self {
        let mut data = vec![T::default(); width * height];
        let rows = Mutex::new(data.chunks_mut(width.max(1)).enumerate());
        let next = || rows.lock().ok().and_then(|mut rows| rows.next());
        std::thread::scope(|scope| {
            for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
                scope.spawn(|| {
                    while let Some((y, row)) = next() {
                        row.iter_mut().enumerate().for_each(|(x, pixel)| *pixel = value(x, y));
                    }
                });
            }
        });
        Self { width, height, data }
    }

    /// Returns the value at a column and row. Coordinates outside are moved to the border.
    #[must_use]
    pub fn at(&self, x: isize, y: isize) -> T {
        let x = x.clamp(0, self.width as isize - 1) as usize;
        let y = y.clamp(0, self.height as isize - 1) as usize;
        self.data[y * self.width + x]
    }

    /// Returns a grid of the same size with `map` applied to each value.
    pub fn map<U: Copy + Default + Send + Sync>(&self, map: impl Fn(T) -> U + Sync) -> Grid<U> {
        Grid::from_fn(self.width, self.height, |x, y| map(self.data[y * self.width + x]))
    }

    /// Returns whether a point lies at least `border` pixels inside the outer pixel centres.
    #[must_use]
    pub fn contains(&self, p: DVec2, border: f64) -> bool {
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
    #[must_use]
    pub fn sample(&self, p: DVec2) -> Rgb {
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
    #[must_use]
    pub fn luma(&self) -> Plane {
        self.map(|[r, g, b]| 0.299 * r + 0.587 * g + 0.114 * b)
    }

    /// Returns one channel.
    #[must_use]
    pub fn channel(&self, c: usize) -> Plane {
        self.map(|colour| colour[c])
    }

    /// Writes a PNG or JPEG file, without alpha.
    pub fn save(&self, file: &Path) -> Result<()> {
        let bytes: Vec<u8> =
            self.data.iter().flatten().map(|v| v.round().clamp(0.0, 255.0) as u8).collect();
        image::save_buffer(
            file,
            &bytes,
            self.width as u32,
            self.height as u32,
            image::ExtendedColorType::Rgb8,
        )
        .map_err(|source| Error::picture(file, source))
    }

    /// Returns the picture with half the width and height, or `1 / n` of them.
    #[must_use]
    pub fn reduced(&self, n: usize) -> Self {
        Self::from_fn(self.width / n, self.height / n, |x, y| {
            let mut sum = [0.0; 3];
            for i in 0..n * n {
                let colour = self.data[(y * n + i / n) * self.width + x * n + i % n];
                (0..3).for_each(|c| sum[c] += colour[c] / (n * n) as f32);
            }
            sum
        })
    }
}

/// Reads a picture and the pixels that it shows. Transparent pixels are not shown. If the file has no transparent
/// pixels, fully black pixels are not shown, because most stitchers fill the outside with black.
pub fn open(file: &Path) -> Result<(Picture, Mask)> {
    let reader = ImageReader::open(file).and_then(ImageReader::with_guessed_format);
    let reader = reader.map_err(|source| Error::file(file, source))?;
    let pixels: RgbaImage =
        reader.decode().map_err(|source| Error::picture(file, source))?.into_rgba8();
    let (width, height) = (pixels.width() as usize, pixels.height() as usize);
    let transparent = pixels.pixels().any(|p| p[3] < 128);
    let shown =
        |&Rgba([r, g, b, a]): &Rgba<u8>| if transparent { a >= 128 } else { (r, g, b) != (0, 0, 0) };
    let mask = Grid { width, height, data: pixels.pixels().map(shown).collect() };
    let colour = |p: &Rgba<u8>| [0, 1, 2].map(|c| f32::from(p[c]));
    Ok((Grid { width, height, data: pixels.pixels().map(colour).collect() }, mask))
}

impl Plane {
    /// Blurs with a Gaussian of `sigma` pixels. Border pixels are repeated.
    #[must_use]
    pub fn blurred(&self, sigma: f64) -> Self {
        let radius = (3.0 * sigma).ceil() as isize;
        let weight = |i: isize| (-((i * i) as f64) / (2.0 * sigma * sigma)).exp() as f32;
        let weights: Vec<f32> = (-radius..=radius).map(weight).collect();
        let total: f32 = weights.iter().sum();
        let pass = |source: &Self, dx: isize, dy: isize| {
            Self::from_fn(self.width, self.height, |x, y| {
                let tap = |(i, w): (isize, &f32)| {
                    w * source.at(x as isize + i * dx, y as isize + i * dy)
                };
                (-radius..).zip(&weights).map(tap).sum::<f32>() / total
            })
        };
        pass(&pass(self, 1, 0), 0, 1)
    }

    /// Interpolates between four pixels.
    #[must_use]
    pub fn sample(&self, p: DVec2) -> f32 {
        let (x, y) = (p.x.floor(), p.y.floor());
        let (fx, fy) = ((p.x - x) as f32, (p.y - y) as f32);
        let (x, y) = (x as isize, y as isize);
        let row = |y| self.at(x, y) * (1.0 - fx) + self.at(x + 1, y) * fx;
        row(y) * (1.0 - fy) + row(y + 1) * fy
    }

    /// Returns the gradient by central differences, in levels per pixel.
    #[must_use]
    pub fn gradient(&self) -> Grid<[f32; 2]> {
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
    #[must_use]
    pub fn eroded(&self, radius: usize) -> Self {
        let radius = radius as isize;
        let pass = |source: &Self, dx: isize, dy: isize| {
            Self::from_fn(self.width, self.height, |x, y| {
                (-radius..=radius).all(|i| source.get(x as isize + i * dx, y as isize + i * dy))
            })
        };
        pass(&pass(self, 1, 0), 0, 1)
    }

    /// Returns the pixels within `radius` pixels, a square, of the mask.
    #[must_use]
    pub fn dilated(&self, radius: usize) -> Self {
        let radius = radius as isize;
        let pass = |source: &Self, dx: isize, dy: isize| {
            Self::from_fn(self.width, self.height, |x, y| {
                (-radius..=radius).any(|i| source.get(x as isize + i * dx, y as isize + i * dy))
            })
        };
        pass(&pass(self, 1, 0), 0, 1)
    }

    /// Returns the pixels in both masks.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let data = self.data.iter().zip(&other.data).map(|(a, b)| *a && *b).collect();
        Self { data, ..*self }
    }

    /// Returns the number of pixels in the mask.
    #[must_use]
    pub fn count(&self) -> usize {
        self.data.iter().filter(|&&pixel| pixel).count()
    }

    /// Returns whether a pixel is in the mask. The outside of the picture is not.
    #[must_use]
    pub fn get(&self, x: isize, y: isize) -> bool {
        let inside =
            x >= 0 && y >= 0 && x < self.width as isize && y < self.height as isize;
        inside && self.data[y as usize * self.width + x as usize]
    }
}
