//! Multiband blending in f64, without kernels, tiles or half precision: the definition with which panoramas are
//! compared.
//!
//! The method is that of Burt and Adelson (1983), applied to the difference of each camera's picture from the feathered
//! mean of all pictures.

use glam::{IVec2, UVec2, ivec2};

/// What one camera contributes to a panorama.
pub(super) struct View<'a> {
    /// Returns what the camera sees of a cell of level 1, or `None` if it sees nothing.
    pub(super) cell: Box<dyn Fn(IVec2) -> Option<Seen> + 'a>,
    /// The weight in the panorama, pixel by pixel.
    pub(super) weights: Vec<f64>,
}

/// What one camera sees of a cell of level 1. Its pixels count like the cells in a reduction.
#[derive(Clone, Copy)]
pub(super) struct Seen {
    /// The corrected colour at the mean place of the pixels.
    pub(super) colour: [f64; 3],
    /// The part of the cell that the camera sees.
    pub(super) part: f64,
    /// The feathered weight.
    pub(super) feathered: f64,
}

/// A level of a pyramid: colours with weights, row by row. The first cell is at position `first`.
struct Level {
    first: IVec2,
    size: IVec2,
    cells: Vec<([f64; 3], f64)>,
}

/// Changes a stitched panorama so that the views of all cameras are blended with `levels` levels. Its pixels, and those
/// of the result, are R'G'B' levels before rounding, or `None` where no camera has any weight.
pub(super) fn blend(
    size: UVec2,
    stitched: &[Option<[f64; 3]>],
    views: &[View<'_>],
    levels: u32,
) -> Vec<Option<[f64; 3]>> {
    // Every level has at least one cell before the panorama and one after it, because these are means of pixels, too.
    let side = 1 << levels;
    let (first, whole) = (IVec2::splat(-side), (size.as_ivec2() / side + 3) * side);
    let pyramid = |first: Level| {
        let mut all = vec![first];
        (1..levels as usize).for_each(|level| all.push(all[level - 1].reduced()));
        all
    };
    // For each camera, the levels of its differences where it sees anything, and those of its weights.
    let of_camera = |camera: &View<'_>| {
        let difference = |at: IVec2| {
            let seen = views.iter().filter_map(|view| (view.cell)(at));
            let feathered = mean(seen.map(|seen| (seen.colour, seen.feathered)));
            match (camera.cell)(at).zip(feathered) {
                Some((seen, feathered)) => (minus(seen.colour, feathered), seen.part),
                None => ([0.0; 3], 0.0),
            }
        };
        let weight = |at: IVec2| {
            let inside = at.as_uvec2().cmplt(size).all();
            ([0.0; 3], if inside { camera.weights[index(size, at)] } else { 0.0 })
        };
        let weights = Level::new(first, whole, weight).reduced();
        [pyramid(Level::new(first / 2, whole / 2, difference)), pyramid(weights)]
    };
    let pyramids: Vec<_> = views.iter().map(of_camera).collect();
    // The sum of the bands, last level first.
    let mut sum: Option<Level> = None;
    for level in (0..levels as usize).rev() {
        let cell = |at: IVec2| {
            let of_camera = |[differences, weights]: &[Vec<Level>; 2]| {
                let coarse = differences.get(level + 1).map(|coarse| coarse.up(at));
                let fine = differences[level].get(at).0;
                (minus(fine, coarse.unwrap_or_default()), weights[level].get(at).1)
            };
            let band = mean(pyramids.iter().map(of_camera)).unwrap_or_default();
            let coarse = sum.as_ref().map(|sum| sum.up(at));
            (plus(band, coarse.unwrap_or_default()), 1.0)
        };
        let Level { first, size, .. } = pyramids[0][0][level];
        sum = Some(Level::new(first, size, cell));
    }
    let sum = sum.expect("at least one level");
    let result = |(at, stitched): (usize, &Option<[f64; 3]>)| {
        let pixel = ivec2(at as i32 % size.x as i32, at as i32 / size.x as i32);
        // The panorama is the mean of the pictures, so these bands are those of level 0.
        let of_camera = |(view, [differences, _]): (&View<'_>, &[Vec<Level>; 2])| {
            (differences[0].up(pixel), view.weights[at])
        };
        let coarse = mean(views.iter().zip(&pyramids).map(of_camera)).unwrap_or_default();
        let change = minus(sum.up(pixel), coarse);
        stitched.map(|shown| plus(shown, change).map(|level| level.clamp(0.0, 255.0)))
    };
    stitched.iter().enumerate().map(result).collect()
}

impl Level {
    fn new(first: IVec2, size: IVec2, cell: impl Fn(IVec2) -> ([f64; 3], f64)) -> Self {
        let places = (0..size.y).flat_map(|y| (0..size.x).map(move |x| first + ivec2(x, y)));
        Self { first, size, cells: places.map(cell).collect() }
    }

    fn get(&self, at: IVec2) -> ([f64; 3], f64) {
        let at = at - self.first;
        let inside = at.cmpge(IVec2::ZERO).all() && at.cmplt(self.size).all();
        if inside { self.cells[index(self.size.as_uvec2(), at)] } else { ([0.0; 3], 0.0) }
    }

    /// Returns the next level: the mean of the 4×4 cells around each 2×2 cells.
    fn reduced(&self) -> Self {
        Self::new(self.first / 2, self.size / 2, |at| {
            let tap = |i: i32| {
                let (colour, weight) = self.get(2 * at + ivec2(i % 4, i / 4) - 1);
                (colour, weight * tap(i))
            };
            let total = (0..16).map(|i| tap(i).1).sum();
            (mean((0..16).map(tap)).unwrap_or_default(), total)
        })
    }

    /// Interpolates the level at a cell of the level before, or at a pixel.
    fn up(&self, at: IVec2) -> [f64; 3] {
        // The nearest cell on either side.
        let taps = |at: i32| {
            let near = at.div_euclid(2);
            [(near, 0.75), (near - 1 + 2 * at.rem_euclid(2), 0.25)]
        };
        let rows = taps(at.y).into_iter();
        let taps =
            rows.flat_map(|(y, down)| taps(at.x).map(|(x, across)| (ivec2(x, y), down * across)));
        taps.fold([0.0; 3], |sum, (at, factor)| plus(sum, self.get(at).0.map(|c| c * factor)))
    }
}

/// Returns the factor of the `i`-th of the 4×4 cells of which a cell of the next level is the mean.
pub(super) fn tap(i: i32) -> f64 {
    const TAPS: [f64; 4] = [1.0, 3.0, 3.0, 1.0];
    TAPS[i as usize % 4] * TAPS[i as usize / 4] / 64.0
}

/// Returns the weighted mean of colours, or `None` if the sum of the weights is 0.
pub(super) fn mean(colours: impl IntoIterator<Item = ([f64; 3], f64)>) -> Option<[f64; 3]> {
    let (mut sum, mut total) = ([0.0; 3], 0.0);
    for (colour, weight) in colours {
        (0..3).for_each(|c| sum[c] += weight * colour[c]);
        total += weight;
    }
    (total > 0.0).then(|| sum.map(|sum| sum / total))
}

/// Returns the index of an element in an image of `size` elements.
pub(super) fn index(size: UVec2, at: IVec2) -> usize {
    at.y as usize * size.x as usize + at.x as usize
}

fn plus(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    std::array::from_fn(|c| a[c] + b[c])
}

fn minus(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    std::array::from_fn(|c| a[c] - b[c])
}
