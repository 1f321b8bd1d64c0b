//! Multiband blending in f64, without kernels, boxes or half precision: the definition with which panoramas are compared.
//!
//! The method is that of Burt and Adelson (1983), applied to the difference of each camera's picture from the panorama.

use glam::UVec2;

/// What one camera contributes to a panorama, pixel by pixel.
pub(super) struct View {
    /// The corrected colour, or `None` where the camera sees nothing.
    pub(super) colours: Vec<Option<[f64; 3]>>,
    /// The weight in the panorama.
    pub(super) weights: Vec<f64>,
}

/// A level of a pyramid: colours with weights, row by row.
struct Level {
    size: UVec2,
    cells: Vec<([f64; 3], f64)>,
}

/// Changes a stitched panorama so that the views of all cameras are blended with `levels` levels. Its pixels, and those
/// of the result, are R'G'B' levels before rounding, or `None` where no camera has any weight.
pub(super) fn blend(
    size: UVec2,
    stitched: &[Option<[f64; 3]>],
    views: &[View],
    levels: u32,
) -> Vec<Option<[f64; 3]>> {
    let pixels = size.element_product() as usize;
    // Level 0 of each camera: differences where the camera sees the pixel, and its weights.
    let mut pyramids: Vec<[Vec<Level>; 2]> = Vec::new();
    for view in views {
        let difference = |at: usize| match (view.colours[at], stitched[at]) {
            (Some(colour), Some(shown)) => (minus(colour, shown), 1.0),
            _ => ([0.0; 3], 0.0),
        };
        let weight = |at: usize| {
            let weight = if view.colours[at].is_some() { view.weights[at] } else { 0.0 };
            ([0.0; 3], weight)
        };
        let pyramid = |cells: Vec<_>| {
            let mut all = vec![Level { size, cells }];
            for level in 0..levels as usize {
                all.push(all[level].reduced());
            }
            all
        };
        let differences = pyramid((0..pixels).map(difference).collect());
        pyramids.push([differences, pyramid((0..pixels).map(weight).collect())]);
    }
    // The sum of the bands, last level first.
    let mut sum: Option<Level> = None;
    for level in (0..=levels as usize).rev() {
        let size = pyramids[0][0][level].size;
        let cell = |at: usize| {
            let place = UVec2::new(at as u32 % size.x, at as u32 / size.x);
            let of_camera = |[differences, weights]: &[Vec<Level>; 2]| {
                // The panorama is the mean of the pictures, so the mean of the differences at level 0 is 0.
                let fine = if level > 0 { differences[level].cells[at].0 } else { [0.0; 3] };
                let coarse = differences.get(level + 1).and_then(|coarse| coarse.up(place));
                (minus(fine, coarse.unwrap_or_default()), weights[level].cells[at].1)
            };
            let total = pyramids.iter().map(|pyramid| pyramid[1][level].cells[at].1).sum::<f64>();
            let band = mean(pyramids.iter().map(of_camera)).unwrap_or_default();
            let coarse = sum.as_ref().and_then(|sum| sum.up(place)).unwrap_or_default();
            (plus(band, coarse), total)
        };
        let cells = (0..size.element_product() as usize).map(cell).collect();
        sum = Some(Level { size, cells });
    }
    let bands = sum.expect("at least one level").cells;
    let result = |(stitched, (bands, _)): (&Option<[f64; 3]>, ([f64; 3], f64))| {
        stitched.map(|shown| plus(shown, bands).map(|level| level.clamp(0.0, 255.0)))
    };
    stitched.iter().zip(bands).map(result).collect()
}

impl Level {
    fn get(&self, x: i64, y: i64) -> ([f64; 3], f64) {
        let inside = x >= 0 && y >= 0 && x < self.size.x.into() && y < self.size.y.into();
        if inside { self.cells[(y * i64::from(self.size.x) + x) as usize] } else { ([0.0; 3], 0.0) }
    }

    /// Returns the next level: the mean of 5×5 cells around every second cell.
    fn reduced(&self) -> Self {
        const TAPS: [f64; 5] = [1.0, 4.0, 6.0, 4.0, 1.0];
        let size = self.size.map(|side| side.div_ceil(2));
        let cell = |at: u32| {
            let (x, y) = (2 * i64::from(at % size.x) - 2, 2 * i64::from(at / size.x) - 2);
            let tap = |i: usize| {
                let (colour, weight) = self.get(x + i as i64 % 5, y + i as i64 / 5);
                (colour, weight * TAPS[i % 5] * TAPS[i / 5] / 256.0)
            };
            let total = (0..25).map(|i| tap(i).1).sum();
            (mean((0..25).map(tap)).unwrap_or_default(), total)
        };
        Self { size, cells: (0..size.element_product()).map(cell).collect() }
    }

    /// Interpolates the level at a cell of the level before. Returns `None` if nothing is defined there.
    fn up(&self, at: UVec2) -> Option<[f64; 3]> {
        let taps = |at: u32| {
            let base = i64::from(at / 2);
            match at % 2 {
                0 => vec![(base - 1, 1.0), (base, 6.0), (base + 1, 1.0)],
                _ => vec![(base, 4.0), (base + 1, 4.0)],
            }
        };
        let rows = taps(at.y).into_iter();
        mean(rows.flat_map(|(y, down)| {
            taps(at.x).into_iter().map(move |(x, across)| {
                let (colour, weight) = self.get(x, y);
                (colour, weight * across * down)
            })
        }))
    }
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

fn plus(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    std::array::from_fn(|c| a[c] + b[c])
}

fn minus(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    std::array::from_fn(|c| a[c] - b[c])
}
