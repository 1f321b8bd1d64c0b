//! Fits a quadratic map to a camera's source coordinates in a cell of a tile, by least squares.
//!
//! Discrete Legendre polynomials (Gram, 1883) are orthogonal on a grid of pixels, and so are their products for the two
//! axes. Therefore each coefficient of the fit is one weighted sum. `bands` selects the size of the cells.

use std::ops::Range;

use glam::{DVec2, UVec2, Vec2};
use kernels_gpu::stitch::mesh;
use shared_types::stitch::mesh::{Patch, TILE};

use super::input::MeshInput;
use crate::warp::counting;

/// A tile of a panorama. Pixel positions in the tile are relative to the tile's top left pixel.
pub(super) struct Tile<'a> {
    input: &'a MeshInput<'a>,
    /// The position of the tile's top left pixel in the panorama.
    pub(super) corner: UVec2,
    /// The number of columns and rows of the tile that are inside the panorama.
    size: UVec2,
    /// For each camera, its weight at each pixel, or 0 at a pixel to which the camera does not contribute.
    weights: Vec<[f32; PIXELS]>,
    /// For each camera, the number of pixels to which it contributes.
    seen: Vec<usize>,
}

/// The number of pixels of a tile.
const PIXELS: usize = (TILE * TILE) as usize;

impl<'a> Tile<'a> {
    pub(super) fn new(input: &'a MeshInput<'a>, corner: UVec2) -> Self {
        let size = (input.size - corner).min(UVec2::splat(TILE));
        let mut tile = Self { input, corner, size, weights: Vec::new(), seen: Vec::new() };
        let weights = |(camera, source): (usize, &UVec2)| {
            let mut weights = [0.0; PIXELS];
            for y in 0..size.y {
                let counted = &mut weights[(y * TILE) as usize..][..size.x as usize];
                let [columns, rows, weights] = tile.row(camera, y, 0..size.x);
                let places = columns.iter().zip(rows).map(|(x, y)| Vec2::new(*x, *y));
                for ((counted, place), weight) in counted.iter_mut().zip(places).zip(weights) {
                    *counted = counting(place, *weight, *source).unwrap_or(0.0);
                }
            }
            weights
        };
        tile.weights = input.sources.iter().enumerate().map(weights).collect();
        let seen = |weights: &[f32; PIXELS]| weights.iter().filter(|weight| **weight > 0.0).count();
        tile.seen = tile.weights.iter().map(seen).collect();
        tile
    }

    /// Returns whether a camera contributes to at least one pixel of the tile.
    pub(super) fn is_seen(&self, camera: usize) -> bool {
        self.seen[camera] > 0
    }

    /// Returns whether a camera contributes to every pixel of the tile.
    fn counts_throughout(&self, camera: usize) -> bool {
        self.seen[camera] == self.size.element_product() as usize
    }

    /// Returns whether one patch for the whole tile may be used for a camera.
    ///
    /// A chroma sample covers four pixels. So the stitch may also evaluate a patch at pixels outside the panorama, and
    /// at pixels to which the camera does not contribute, and needs usable source coordinates for both. If a tile has
    /// only two columns or rows, or at most three of both, a patch has enough free coefficients to match even invalid
    /// coordinates at such pixels. Therefore the camera must contribute to every pixel of these tiles.
    pub(super) fn may_have_one_patch(&self, camera: usize) -> bool {
        let passes_through = self.size.min_element() == 2 || self.size.max_element() <= 3;
        !passes_through || self.counts_throughout(camera)
    }

    /// Returns whether at least one camera contributes to each pixel of the tile.
    pub(super) fn is_covered(&self) -> bool {
        let cameras = || 0..self.seen.len();
        let counts = |pixel| cameras().any(|camera| self.weight(camera, pixel) > 0.0);
        cameras().any(|camera| self.counts_throughout(camera)) || self.pixels().all(counts)
    }

    /// Yields `TILE` × `TILE` pixels row by row. If the tile extends beyond the panorama, yields the nearest pixel of
    /// the panorama for each pixel outside, because the stitch may evaluate chroma there.
    pub(super) fn whole(&self) -> impl Iterator<Item = UVec2> + use<'a> {
        let last = self.size - 1;
        (0..TILE).flat_map(move |y| (0..TILE).map(move |x| UVec2::new(x, y).min(last)))
    }

    /// Yields the pixels of the tile that are inside the panorama, row by row.
    pub(super) fn pixels(&self) -> impl Iterator<Item = UVec2> + use<'a> {
        let size = self.size;
        (0..size.y).flat_map(move |y| (0..size.x).map(move |x| UVec2::new(x, y)))
    }

    /// Returns three slices for `columns` of row `y`: the camera's source columns, source rows and weights.
    fn row(&self, camera: usize, y: u32, columns: Range<u32>) -> [&'a [f32]; 3] {
        let first = (self.corner.y + y) as usize * self.input.size.x as usize;
        let [start, end] =
            [columns.start, columns.end].map(|x| first + (self.corner.x + x) as usize);
        self.input.planes[camera].map(|plane| &plane[start..end])
    }

    /// Returns a camera's source coordinates for a pixel.
    pub(super) fn place(&self, camera: usize, UVec2 { x, y }: UVec2) -> Vec2 {
        let [column, row, _] = self.row(camera, y, x..x + 1);
        Vec2::new(column[0], row[0])
    }

    /// Returns a camera's weight at a pixel, or 0 if the camera does not contribute to it.
    pub(super) fn weight(&self, camera: usize, UVec2 { x, y }: UVec2) -> f64 {
        self.weights[camera][(y * TILE + x) as usize].into()
    }

    /// Returns a camera's share at a pixel: its weight divided by the sum of the weights of all cameras, or 0 if the
    /// sum is 0.
    pub(super) fn share(&self, camera: usize, pixel: UVec2) -> f64 {
        let whole: f64 = (0..self.weights.len()).map(|camera| self.weight(camera, pixel)).sum();
        if whole > 0.0 { self.weight(camera, pixel) / whole } else { 0.0 }
    }

    /// Returns the quadratic map that best fits a camera's source coordinates in the cell with the top left pixel
    /// `corner` and sides of `cell` pixels. Returns `None` if the map deviates by more than `error` source pixels at a
    /// pixel to which the camera contributes.
    pub(super) fn patch(
        &self,
        camera: usize,
        corner: UVec2,
        cell: u32,
        error: f32,
    ) -> Option<Patch> {
        let end = (corner + cell).min(self.size);
        let (columns, rows) = (corner.x..end.x, corner.y..end.y);
        let pixels = || rows.clone().flat_map(|y| columns.clone().map(move |x| UVec2::new(x, y)));
        if !pixels().any(|pixel| self.weight(camera, pixel) > 0.0) {
            return Some(Patch::default());
        }
        let patch = fitted(columns.clone(), rows, |y| self.row(camera, y, columns.clone()));
        self.far(camera, &patch, corner, cell, error).is_none().then_some(patch)
    }

    /// Returns the first pixel of a cell to which a camera contributes and at which a patch deviates by more than
    /// `error` source pixels along either axis. Returns `None` if there is no such pixel.
    pub(super) fn far(
        &self,
        camera: usize,
        patch: &Patch,
        corner: UVec2,
        cell: u32,
        error: f32,
    ) -> Option<UVec2> {
        let end = (corner + cell).min(self.size);
        if corner.cmpge(end).any() {
            return None;
        }
        let surely = Surely::new(patch, error);
        (corner.y..end.y).find_map(|y| {
            let [columns, rows, _] = self.row(camera, y, corner.x..end.x);
            let weights = &self.weights[camera][(y * TILE + corner.x) as usize..];
            let places = columns.iter().zip(rows).zip(weights);
            let (near, xs) = (surely.row(y), &COLUMNS[corner.x as usize..]);
            // Test all pixels of the row without an early exit, so that the compiler vectorizes the loop.
            let all_near = places.zip(xs).fold(true, |all, (((u, v), weight), x)| {
                all & (near(*x, *u, *v) | (*weight == 0.0))
            });
            if all_near {
                return None;
            }
            (corner.x..end.x).map(|x| UVec2::new(x, y)).find(|pixel| {
                let place = mesh::place(patch, pixel.x, y);
                self.weight(camera, *pixel) > 0.0
                    && !is_near(place, self.place(camera, *pixel), error)
            })
        })
    }
}

/// Yields the first pixel of each cell of a tile, row by row. `cell` is the side of a cell in pixels.
pub(super) fn corners(cell: u32) -> impl Iterator<Item = UVec2> {
    let firsts = move || (0..TILE).step_by(cell as usize);
    firsts().flat_map(move |y| firsts().map(move |x| UVec2::new(x, y)))
}

/// Returns whether two points differ by at most `error` along both axes. Returns false for NaN and infinity.
pub(super) fn is_near(one: Vec2, other: Vec2, error: f32) -> bool {
    (one - other).abs().cmple(Vec2::splat(error)).all()
}

/// A fast, conservative test whether a patch is within the error bound at a pixel. If the test fails, the patch may
/// still be within the bound, so the caller must evaluate the patch in f32, as the kernels do.
///
/// The test computes in f64 without fused multiply-adds, which are slow function calls in code for a generic CPU. The
/// kernels' f32 result differs from it by at most eight f32 rounding errors of the sum of the terms' magnitudes. The
/// test reduces the error bound by this difference.
struct Surely {
    u: [f64; 6],
    v: [f64; 6],
    /// The error bound, reduced by the maximum rounding error of the kernels, in source pixels.
    off: f64,
}

impl Surely {
    fn new(patch: &Patch, error: f32) -> Self {
        let [u, v] = [patch.u, patch.v].map(|axis| axis.map(f64::from));
        let size = |[c, x, y, xx, xy, yy]: [f64; 6]| {
            let (lines, curves) = (x.abs() + y.abs(), xx.abs() + xy.abs() + yy.abs());
            c.abs() + MIDDLE * (lines + MIDDLE * curves)
        };
        let error = f64::from(error);
        let rounding = 0.5 * f64::from(f32::EPSILON);
        Self { u, v, off: error - 8.0 * rounding * (size(u).max(size(v)) + error) }
    }

    /// Returns a test for the pixels in row `y` of the tile. Its arguments are a pixel's column relative to the tile's
    /// centre, and the pixel's source column and row. The test returns whether the patch is surely within the error
    /// bound at this pixel.
    fn row(&self, y: u32) -> impl Fn(f64, f32, f32) -> bool {
        let y = f64::from(y) - MIDDLE;
        let line = |[c, x, yc, xx, xy, yy]: [f64; 6]| [c + (yc + yy * y) * y, x + xy * y, xx];
        let (across, down, off) = (line(self.u), line(self.v), self.off);
        let apart = |[c, x1, x2]: [f64; 3], x: f64, place: f32| {
            (c + (x1 + x2 * x) * x - f64::from(place)).abs()
        };
        move |x, u, v| (apart(across, x, u) <= off) & (apart(down, x, v) <= off)
    }
}

/// The distance from a tile's first pixel to its centre along either axis, in pixels.
const MIDDLE: f64 = 0.5 * (TILE - 1) as f64;

/// The positions of a tile's columns relative to its centre, in pixels.
const COLUMNS: [f64; TILE as usize] = {
    let mut columns = [0.0; TILE as usize];
    let mut x = 0;
    while x < columns.len() {
        columns[x] = x as f64 - MIDDLE;
        x += 1;
    }
    columns
};

/// Returns the quadratic map that fits the source coordinates in a range of columns and rows of a tile by least
/// squares. `places` returns the source columns, source rows and weights of these columns in a given row. The weights
/// are ignored.
fn fitted<'a>(
    columns: Range<u32>,
    rows: Range<u32>,
    places: impl Fn(u32) -> [&'a [f32]; 3],
) -> Patch {
    let (along, down) = (Legendre::over(&columns), Legendre::over(&rows));
    // `sums[i][j]` is the coefficient of a product of two polynomials: the polynomial of degree i in x, and the one of
    // degree j in y.
    let mut sums = [[DVec2::ZERO; 3]; 3];
    for y in rows {
        let mut row = [DVec2::ZERO; 3];
        let [us, vs, _] = places(y);
        for ((x, u), v) in columns.clone().zip(us).zip(vs) {
            let place = DVec2::new(f64::from(*u), f64::from(*v));
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
        // These loops include products with a total degree above 2, but the coefficients of these products in `sums`
        // are 0.
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

/// The first three normalised discrete Legendre polynomials over a range of n pixels. Before normalisation, they are 1,
/// t and t² − (n² − 1)/12, where t is the position of a pixel relative to the centre of the range. If n is less than 3,
/// a polynomial that is 0 at every pixel of the range is dropped.
struct Legendre {
    /// The position of the range's centre relative to the tile's centre, in pixels.
    middle: f64,
    /// The constant (n² − 1)/12 of the third polynomial.
    second: f64,
    /// The factor of each polynomial that normalises it, or 0 if the polynomial is dropped.
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

    /// Returns the values of the three polynomials at column or row `pixel` of the tile.
    fn at(&self, pixel: u32) -> [f64; 3] {
        let t = f64::from(pixel) - MIDDLE - self.middle;
        [self.scales[0], self.scales[1] * t, self.scales[2] * (t * t - self.second)]
    }

    /// Returns the coefficients of 1, d and d² in the polynomial of the given degree, where d is the position relative
    /// to the tile's centre.
    fn powers(&self, degree: usize) -> [f64; 3] {
        let (m, scale) = (self.middle, self.scales[degree]);
        match degree {
            0 => [scale, 0.0, 0.0],
            1 => [-m * scale, scale, 0.0],
            _ => [(m * m - self.second) * scale, -2.0 * m * scale, scale],
        }
    }
}
