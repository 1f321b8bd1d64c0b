//! Adaptive non-maximum suppression (Brown, Szeliski and Winder 2005). The radius of a point is its distance to the
//! nearest clearly stronger point. The points with the largest radii are selected, so that they are spread over the
//! picture.

use glam::Vec2;
use shared_types::matching::Peak;

/// A point is clearly weaker than another point if its value is less than `ROBUST` times the value of the other point.
const ROBUST: f32 = 0.9;

/// Selects at most `count` points with the largest radii, in descending order of their radii. If radii are equal, the
/// stronger point is first. A radius is the distance to the nearest clearly stronger point.
///
/// Ignores points that are not finite. Finding the radii takes linear time in practice, because most points have a
/// stronger neighbour nearby.
pub(super) fn spread(mut points: Vec<Peak>, count: usize) -> Vec<Peak> {
    points.retain(|point| point.at.is_finite() && point.value.is_finite());
    let order = |p: &Peak| (p.at.y, p.at.x);
    points.sort_by(|a, b| {
        b.value
            .total_cmp(&a.value)
            .then(order(a).partial_cmp(&order(b)).unwrap_or(std::cmp::Ordering::Equal))
    });
    let mut grid = Grid::new(&points);
    // The points are sorted by value in descending order, so all stronger points are before the current point.
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

/// A grid of square cells, each with a list of points.
struct Grid {
    origin: Vec2,
    side: f32,
    columns: usize,
    rows: usize,
    cells: Vec<Vec<Vec2>>,
}

impl Grid {
    /// Creates an empty grid over the bounding box of `points`, with about as many cells as there are points.
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

    /// Returns the squared distance to the nearest point in the grid, or infinity if the grid is empty. Searches rings
    /// of cells around `at` until the next ring is farther away than the nearest point found.
    fn nearest(&self, at: Vec2) -> f32 {
        let (x, y) = self.cell(at);
        let mut nearest = f32::INFINITY;
        for ring in 0..self.columns.max(self.rows) {
            // The cells of this ring are at least this far away. The ring number minus 1 allows for rounding errors in
            // the cell indices.
            let away = ring.saturating_sub(1) as f32 * self.side;
            if away * away > nearest {
                break;
            }
            let columns = x.saturating_sub(ring)..=(x + ring).min(self.columns - 1);
            for row in y.saturating_sub(ring)..=(y + ring).min(self.rows - 1) {
                // The first and the last row of a ring are complete. Rows in between have one cell at each end.
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

    /// A weak point far from all others is selected before a strong point near a stronger one.
    #[test]
    fn isolated_points_are_selected_first() {
        let peak = |x: f32, value| Peak { at: vec2(x, 0.0), value };
        let points = vec![peak(0.0, 100.0), peak(2.0, 80.0), peak(50.0, 1.0), peak(3.0, 79.0)];
        let places =
            |count| spread(points.clone(), count).iter().map(|p| p.at.x).collect::<Vec<_>>();
        assert_eq!(places(2), [0.0, 50.0]);
        // The point with value 79 is not clearly weaker than the one with 80. Its nearest clearly stronger point is
        // the one with 100, at distance 3.
        assert_eq!(places(4), [0.0, 50.0, 3.0, 2.0]);
        assert!(spread(Vec::new(), 5).is_empty());
    }
    /// The radii computed with the grid equal those of an exhaustive search.
    #[test]
    fn the_grid_finds_the_same_radii_as_an_exhaustive_search() {
        let mut random = fastrand::Rng::with_seed(3);
        for (many, width, height) in [(1, 9.0, 9.0), (40, 900.0, 2.0), (700, 300.0, 500.0)] {
            let mut level = || random.f32();
            let points: Vec<Peak> = (0..many)
                // Use few distinct values, so that many are equal, and leave a part of the area almost empty.
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
