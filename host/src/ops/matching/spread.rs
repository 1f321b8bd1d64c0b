//! Adaptive non-maximum suppression (Brown, Szeliski and Winder 2005): a point stays while it is the strongest within
//! a radius, and the radius grows until the requested number is left.

use glam::Vec2;
use shared_types::matching::Peak;

/// A point suppresses another one that is weaker than this fraction of it.
const ROBUST: f32 = 0.9;

/// Selects `count` points, those with the largest radius first; the stronger one of equals.
///
/// Points that are not finite are dropped. Time grows linearly with the number of points, because most have a stronger
/// neighbour nearby.
pub(super) fn spread(mut points: Vec<Peak>, count: usize) -> Vec<Peak> {
    points.retain(|point| point.at.is_finite() && point.value.is_finite());
    let order = |p: &Peak| (p.at.y, p.at.x);
    points.sort_by(|a, b| {
        b.value
            .total_cmp(&a.value)
            .then(order(a).partial_cmp(&order(b)).unwrap_or(std::cmp::Ordering::Equal))
    });
    let mut grid = Grid::new(&points);
    // Stronger points come first, so only those are examined.
    let mut stronger = 0;
    let mut radii: Vec<(f32, usize)> = Vec::with_capacity(points.len());
    for (i, point) in points.iter().enumerate() {
        while stronger < i && ROBUST * points[stronger].value > point.value {
            grid.insert(points[stronger].at);
            stronger += 1;
        }
        radii.push((grid.nearest(point.at), i));
    }
    radii.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    radii.truncate(count);
    radii.into_iter().map(|(_, i)| points[i]).collect()
}

/// Points by square cell.
struct Grid {
    origin: Vec2,
    side: f32,
    columns: usize,
    rows: usize,
    cells: Vec<Vec<Vec2>>,
}

impl Grid {
    /// Creates an empty grid over the area of `points`, with about as many cells.
    fn new(points: &[Peak]) -> Self {
        let low = points.iter().fold(Vec2::INFINITY, |low, p| low.min(p.at));
        let high = points.iter().fold(Vec2::NEG_INFINITY, |high, p| high.max(p.at));
        let extent = (high - low).max(Vec2::ONE);
        let side = (extent.x * extent.y / points.len().max(1) as f32).sqrt().max(1.0);
        let [columns, rows] = (extent / side).to_array().map(|cells| cells as usize + 1);
        let cells = vec![Vec::new(); if points.is_empty() { 0 } else { columns * rows }];
        Self { origin: low, side, columns, rows, cells }
    }

    fn cell(&self, at: Vec2) -> (usize, usize) {
        let [x, y] = ((at - self.origin) / self.side).to_array().map(|cell| cell as usize);
        (x.min(self.columns - 1), y.min(self.rows - 1))
    }

    fn insert(&mut self, at: Vec2) {
        let (x, y) = self.cell(at);
        self.cells[y * self.columns + x].push(at);
    }

    /// Returns the squared distance to the nearest point, infinite if there is none. Searches rings of cells around
    /// `at` until the next ring is farther than the result.
    fn nearest(&self, at: Vec2) -> f32 {
        let (x, y) = self.cell(at);
        let mut nearest = f32::INFINITY;
        for ring in 0..self.columns.max(self.rows) {
            // One ring less absorbs rounding: cells of this ring are at least this far away.
            let away = ring.saturating_sub(1) as f32 * self.side;
            if away * away > nearest {
                break;
            }
            let columns = x.saturating_sub(ring)..=(x + ring).min(self.columns - 1);
            for row in y.saturating_sub(ring)..=(y + ring).min(self.rows - 1) {
                // Between its first and last row, a ring has two cells per row.
                let step = if row.abs_diff(y) == ring { 1 } else { (2 * ring).max(1) };
                let first = if step == 1 || x >= ring { *columns.start() } else { x + ring };
                for column in (first..=*columns.end()).step_by(step) {
                    for other in &self.cells[row * self.columns + column] {
                        nearest = nearest.min(other.distance_squared(at));
                    }
                }
            }
        }
        nearest
    }
}

#[cfg(test)]
mod tests {
    use glam::vec2;

    use super::*;

    #[test]
    fn a_weak_point_alone_comes_before_a_strong_one_beside_a_stronger_one() {
        let peak = |x: f32, value| Peak { at: vec2(x, 0.0), value };
        let points = vec![peak(0.0, 100.0), peak(2.0, 80.0), peak(50.0, 1.0), peak(3.0, 79.0)];
        let places =
            |count| spread(points.clone(), count).iter().map(|p| p.at.x).collect::<Vec<_>>();
        assert_eq!(places(2), [0.0, 50.0]);
        // 79 exceeds nine tenths of 80, so only the strongest point suppresses it, from farther away.
        assert_eq!(places(4), [0.0, 50.0, 3.0, 2.0]);
        assert!(spread(Vec::new(), 5).is_empty());
    }
    #[test]
    fn the_grid_finds_what_a_search_through_all_finds() {
        let mut random = fastrand::Rng::with_seed(3);
        for (many, width, height) in [(1, 9.0, 9.0), (40, 900.0, 2.0), (700, 300.0, 500.0)] {
            let mut level = || random.f32();
            let points: Vec<Peak> = (0..many)
                // Few distinct values, and an area with hardly any points.
                .map(|_| {
                    let at = vec2(level() * level() * width, level() * height);
                    Peak { at, value: (level() * 30.0).floor() }
                })
                .collect();
            let radius = |point: &Peak| {
                let stronger = points.iter().filter(|p| ROBUST * p.value > point.value);
                stronger.map(|p| p.at.distance_squared(point.at)).fold(f32::INFINITY, f32::min)
            };
            let mut expected: Vec<f32> = points.iter().map(radius).collect();
            expected.sort_by(|a, b| b.total_cmp(a));
            let found = spread(points.clone(), points.len());
            assert_eq!(found.iter().map(radius).collect::<Vec<_>>(), expected);
        }
    }
}
