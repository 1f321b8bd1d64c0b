//! A tile of a panorama, and the quadratic map that is nearest to where a camera's picture shows a cell of it.
//!
//! On a grid of n by m pixels the products of discrete Legendre polynomials (Gram, 1883) are orthogonal, so that each
//! coefficient of the fit is one sum. Which cells a tile is divided into is for `bands` to say.

use std::ops::Range;

use glam::{DVec2, UVec2, Vec2};
use kernels_gpu::mesh;
use shared_types::mesh::{Patch, TILE};

use super::looks::Looks;

/// A tile of a panorama.
pub(super) struct Tile<'a, L> {
    looks: &'a L,
    /// Its first pixel in the panorama.
    pub(super) corner: UVec2,
    /// Columns and rows of it that are in the panorama.
    size: UVec2,
}

impl<'a, L: Looks> Tile<'a, L> {
    pub(super) fn new(looks: &'a L, corner: UVec2) -> Self {
        Self { looks, corner, size: (looks.size() - corner).min(UVec2::splat(TILE)) }
    }

    /// Its pixels as elements of the planes, also those that are beyond the panorama.
    pub(super) fn whole(&self) -> impl Iterator<Item = Option<usize>> + use<'_, L> {
        (0..TILE)
            .flat_map(move |y| (0..TILE).map(move |x| UVec2::new(x, y)))
            .map(|pixel| pixel.cmplt(self.size).all().then(|| self.element(pixel)))
    }

    /// Those within.
    pub(super) fn pixels(&self) -> impl Iterator<Item = usize> + use<'_, L> {
        self.whole().flatten()
    }

    /// Those within as pixels of the tile, with the elements.
    pub(super) fn within(&self) -> impl Iterator<Item = (UVec2, usize)> + use<'_, L> {
        let pixel = |y| (0..self.size.x).map(move |x| UVec2::new(x, y));
        (0..self.size.y).flat_map(pixel).map(|pixel| (pixel, self.element(pixel)))
    }

    fn element(&self, pixel: UVec2) -> usize {
        let UVec2 { x, y } = self.corner + pixel;
        y as usize * self.looks.size().x as usize + x as usize
    }

    pub(super) fn place(&self, camera: usize, at: usize) -> Vec2 {
        self.looks.place(camera, at)
    }

    pub(super) fn weight(&self, camera: usize, at: usize) -> f64 {
        self.looks.counts(camera, at).map_or(0.0, f64::from)
    }

    /// A camera's share of the weights of those that count.
    pub(super) fn share(&self, camera: usize, at: usize) -> f64 {
        let whole: f64 =
            (0..self.looks.sources().len()).map(|camera| self.weight(camera, at)).sum();
        if whole > 0.0 { self.weight(camera, at) / whole } else { 0.0 }
    }

    /// The quadratic map that is nearest to a camera's places in a cell, if it is near enough where the camera counts.
    pub(super) fn patch(
        &self,
        camera: usize,
        corner: UVec2,
        cell: u32,
        error: f32,
    ) -> Option<Patch> {
        let end = (corner + cell).min(self.size);
        if corner.cmpge(end).any() {
            return Some(Patch::default());
        }
        let (columns, rows) = (corner.x..end.x, corner.y..end.y);
        let pixels = || rows.clone().flat_map(|y| columns.clone().map(move |x| UVec2::new(x, y)));
        let counts = |pixel: &UVec2| self.weight(camera, self.element(*pixel)) > 0.0;
        if !pixels().any(|pixel| counts(&pixel)) {
            return Some(Patch::default());
        }
        let patch = fitted(columns.clone(), rows.clone(), |x, y| {
            self.place(camera, self.element(UVec2::new(x, y))).as_dvec2()
        });
        let near = |pixel: UVec2| {
            let off =
                mesh::place(&patch, pixel.x, pixel.y) - self.place(camera, self.element(pixel));
            off.abs().max_element() <= error
        };
        pixels().filter(counts).all(near).then_some(patch)
    }
}

/// The quadratic map nearest to `place`, by least squares over some columns and rows of a tile.
fn fitted(columns: Range<u32>, rows: Range<u32>, place: impl Fn(u32, u32) -> DVec2) -> Patch {
    let (along, down) = (Legendre::over(&columns), Legendre::over(&rows));
    // Of products of degree i along x and j along y.
    let mut sums = [[DVec2::ZERO; 3]; 3];
    for y in rows {
        let mut row = [DVec2::ZERO; 3];
        for x in columns.clone() {
            let place = place(x, y);
            let values = along.at(x);
            for i in 0..3 {
                row[i] += place * values[i];
            }
        }
        let values = down.at(y);
        for i in 0..3 {
            for j in 0..3 - i {
                sums[i][j] += row[i] * values[j];
            }
        }
    }
    let mut powers = [[DVec2::ZERO; 3]; 3];
    for (i, sums) in sums.into_iter().enumerate() {
        // Those of higher degree are 0.
        for (j, sum) in sums.into_iter().enumerate() {
            for (powers, x) in powers.iter_mut().zip(along.powers(i)) {
                for (power, y) in powers.iter_mut().zip(down.powers(j)) {
                    *power += sum * (x * y);
                }
            }
        }
    }
    let [[c, y, yy], [x, xy, _], [xx, ..]] = powers;
    let of = |axis: fn(DVec2) -> f64| [c, x, y, xx, xy, yy].map(|power| axis(power) as f32);
    Patch { u: of(|p| p.x), v: of(|p| p.y) }
}

/// The first three discrete Legendre polynomials over a range of pixels, of length 1: 1, t and t² − (n² − 1)/12, of how
/// far t a pixel is from the middle of n. Those that vanish on so few are left out.
struct Legendre {
    /// From the middle of the tile to that of the range.
    middle: f64,
    second: f64,
    /// 1 / length.
    scales: [f64; 3],
}

impl Legendre {
    fn over(range: &Range<u32>) -> Self {
        let n = f64::from(range.end - range.start);
        let middle = 0.5 * (f64::from(range.start) + f64::from(range.end) - f64::from(TILE));
        let squares = [n, n * (n * n - 1.0) / 12.0, n * (n * n - 1.0) * (n * n - 4.0) / 180.0];
        let scales = squares.map(|square| if square > 0.0 { 1.0 / square.sqrt() } else { 0.0 });
        Self { middle, second: (n * n - 1.0) / 12.0, scales }
    }

    /// Their values at a pixel of the tile.
    fn at(&self, pixel: u32) -> [f64; 3] {
        let t = f64::from(pixel) - 0.5 * f64::from(TILE - 1) - self.middle;
        [self.scales[0], self.scales[1] * t, self.scales[2] * (t * t - self.second)]
    }

    /// One of them as coefficients of powers of how far a pixel is from the tile's middle.
    fn powers(&self, degree: usize) -> [f64; 3] {
        let (m, scale) = (self.middle, self.scales[degree]);
        match degree {
            0 => [scale, 0.0, 0.0],
            1 => [-m * scale, scale, 0.0],
            _ => [(m * m - self.second) * scale, -2.0 * m * scale, scale],
        }
    }
}
