//! Finds the largest rectangle of a canvas that the cameras cover completely. A panorama cropped to it has no black
//! pixels.

use glam::{DVec2, UVec2, dvec2};
use kernels_gpu::warp::{project, ray};
use shared_types::warp::{Camera, Canvas};

use super::Geometry;

/// Maximum number of columns or rows of the search grid.
const GRID: u32 = 1024;

/// The number of times that [`covered`] halves the sides of a cell. The smallest part is 1/64 of a cell wide.
const HALVINGS: u32 = 6;

/// Returns whether a camera sees a canvas position. As in the stitch kernels, the source position must be inside the
/// camera's picture. The kernels compute it from a moved canvas and round it to f32, which can move it across the edge
/// of the picture. So the distance to the edge must be at least one rounding error.
pub(super) fn sees(camera: &Camera, canvas: &Canvas, pixel: DVec2) -> bool {
    let size = camera.size.as_dvec2();
    let margin = size * f64::from(f32::EPSILON);
    project(camera, camera.from_ray * ray(canvas, pixel))
        .is_some_and(|at| at.cmpge(margin).all() && at.cmple(size - margin).all())
}

/// Returns whether any camera sees a canvas position.
pub(crate) fn seen(Geometry { canvas, cameras }: &Geometry, pixel: DVec2) -> bool {
    cameras.iter().any(|camera| sees(camera, canvas, pixel))
}

/// Returns whether the cameras cover all of a cell, from `low` to `high`. If no camera sees all four corners, the
/// quarters of the cell must be covered, and so on until `halvings` is 0. So a gap between two pictures is found, and a
/// hole between three.
fn covered(geometry: &Geometry, low: DVec2, high: DVec2, halvings: u32) -> bool {
    let Geometry { canvas, cameras } = geometry;
    let corners = [low, dvec2(high.x, low.y), dvec2(low.x, high.y), high];
    if cameras.iter().any(|camera| corners.iter().all(|at| sees(camera, canvas, *at))) {
        return true;
    }
    let half = (high - low) / 2.0;
    let quarters = [DVec2::ZERO, dvec2(half.x, 0.0), dvec2(0.0, half.y), half].map(|at| low + at);
    corners.iter().all(|at| seen(geometry, *at))
        && (halvings == 0
            || quarters.iter().all(|&from| covered(geometry, from, from + half, halvings - 1)))
}

impl Geometry {
    /// Returns the same panorama, cropped to the largest rectangle that the cameras cover completely. Its sides may be
    /// a few pixels shorter than possible. Returns `None` if there is no such rectangle.
    #[must_use]
    pub fn cropped(&self) -> Option<Self> {
        let (first, size) = largest_rectangle(self)?;
        let centre = self.canvas.centre - first.as_dvec2();
        let canvas = Canvas { centre, size, ..self.canvas };
        Some(Self { canvas, cameras: self.cameras.clone() })
    }
}

/// Returns the first pixel and the size in pixels of the largest rectangle that the cameras cover completely. Its sides
/// may be a few grid cells shorter than possible. Returns `None` if no grid cell is covered.
fn largest_rectangle(geometry: &Geometry) -> Option<(UVec2, UVec2)> {
    rectangle_of_cells(geometry, geometry.canvas.size.max_element().div_ceil(GRID).max(1))
}

/// Returns the largest rectangle as [`largest_rectangle`] does, from grid cells with sides of `step` pixels.
pub(crate) fn rectangle_of_cells(geometry: &Geometry, step: u32) -> Option<(UVec2, UVec2)> {
    let mut grid = Grid::new(geometry, step);
    loop {
        let (first, size) = grid.largest()?;
        // At its sides, the rectangle may be smaller by less than a cell, so search for holes inside first.
        let inner = (first + 1, size.saturating_sub(UVec2::splat(2)));
        if grid.remove_holes(geometry, (inner.0 * step, inner.1 * step + 1)) {
            continue;
        }
        let rectangle = shrink(geometry, first * step, size * step + 1);
        if !grid.remove_holes(geometry, rectangle) {
            return Some(rectangle);
        }
    }
}

/// The cells of a canvas, and whether each one is covered.
struct Grid {
    /// The side of a cell in pixels.
    step: u32,
    /// The rows of cells.
    rows: Vec<Vec<bool>>,
}

impl Grid {
    /// A cell counts as covered if the cameras see its four corners. This is an approximation: a cell may contain
    /// uncovered pixels between covered corners. [`remove_holes`](Self::remove_holes) and [`shrink`] remove them.
    fn new(geometry: &Geometry, step: u32) -> Self {
        let many = geometry.canvas.size.saturating_sub(UVec2::ONE) / step;
        let corner = |i: u32| f64::from(i * step);
        let row = |y: u32| -> Vec<bool> {
            (0..=many.x).map(|x| seen(geometry, dvec2(corner(x), corner(y)))).collect()
        };
        let mut above = row(0);
        let rows = (1..=many.y).map(|y| {
            let below = row(y);
            let whole = |x: usize| above[x] && above[x + 1] && below[x] && below[x + 1];
            let cells = (0..many.x as usize).map(whole).collect();
            above = below;
            cells
        });
        Self { step, rows: rows.collect() }
    }

    /// Returns the first cell and the size in cells of the largest rectangle of covered cells, or `None` if there is
    /// none.
    fn largest(&self) -> Option<(UVec2, UVec2)> {
        let mut heights = vec![0_u32; self.rows.first()?.len()];
        let mut best = (0_u64, UVec2::ZERO, UVec2::ZERO);
        for (row, y) in self.rows.iter().zip(1..) {
            for (height, whole) in heights.iter_mut().zip(row) {
                *height = if *whole { *height + 1 } else { 0 };
            }
            let (area, first, width, height) = under(&heights);
            if area > best.0 {
                best = (area, UVec2::new(first, y - height), UVec2::new(width, height));
            }
        }
        (best.0 > 0).then_some((best.1, best.2))
    }

    /// Searches the cells of a rectangle of pixels for parts that no camera sees, and marks these cells as not covered.
    /// Returns whether it found any. Ignores parts of cells outside the rectangle.
    fn remove_holes(&mut self, geometry: &Geometry, (first, size): (UVec2, UVec2)) -> bool {
        let last = first + size.max(UVec2::ONE) - 1;
        let mut found = false;
        for y in first.y / self.step..last.y.div_ceil(self.step) {
            for x in first.x / self.step..last.x.div_ceil(self.step) {
                let cell = UVec2::new(x, y) * self.step;
                let (low, high) = (cell.max(first), (cell + self.step).min(last));
                if !covered(geometry, low.as_dvec2(), high.as_dvec2(), HALVINGS) {
                    self.rows[y as usize][x as usize] = false;
                    found = true;
                }
            }
        }
        found
    }
}

/// Returns area, first column, width and height of the largest rectangle under a histogram.
///
/// The stack holds the rectangles that may extend to the next column, each with its first column and its height. The
/// heights are in ascending order.
fn under(heights: &[u32]) -> (u64, u32, u32, u32) {
    let mut best = (0, 0, 0, 0);
    let mut stack: Vec<(u32, u32)> = Vec::new();
    for (x, &height) in heights.iter().chain([&0]).enumerate() {
        let x = x as u32;
        let mut first = x;
        while let Some(&(from, tall)) = stack.last().filter(|(_, tall)| *tall >= height) {
            stack.pop();
            let area = u64::from(x - from) * u64::from(tall);
            if area > best.0 {
                best = (area, from, x - from, tall);
            }
            first = from;
        }
        stack.push((first, height));
    }
    best
}

/// Removes outer rows and columns of a rectangle until the cameras see all pixels of its four sides. The grid may miss
/// uncovered pixels, because the notch between the edges of two pictures may be narrower than a cell.
fn shrink(geometry: &Geometry, mut first: UVec2, mut size: UVec2) -> (UVec2, UVec2) {
    let at = |x: u32, y: u32| seen(geometry, UVec2::new(x, y).as_dvec2());
    while size.min_element() > 1 {
        let last = first + size - 1;
        let row = |y: u32| (first.x..=last.x).all(|x| at(x, y));
        let column = |x: u32| (first.y..=last.y).all(|y| at(x, y));
        let off = [!row(first.y), !row(last.y), !column(first.x), !column(last.x)];
        if off == [false; 4] {
            break;
        }
        let [top, bottom, left, right] = off.map(u32::from);
        // An uncovered pixel in a corner makes a row and a column incomplete, but removing one of them may be enough.
        // Remove only rows in this step, and remove columns in a later step if columns are still incomplete.
        let (left, right) = if top + bottom > 0 { (0, 0) } else { (left, right) };
        first += UVec2::new(left, top);
        size = size.saturating_sub(UVec2::new(left + right, top + bottom)).max(UVec2::ONE);
    }
    (first, size)
}

#[cfg(test)]
mod tests {
    use glam::{DMat3, Vec2};
    use shared_types::warp::Projection;

    use super::*;

    #[test]
    fn the_largest_under_a_histogram() {
        assert_eq!(under(&[2, 1, 5, 6, 2, 3]), (10, 2, 2, 5));
        assert_eq!(under(&[3, 3, 3]), (9, 0, 3, 3));
        assert_eq!(under(&[0, 0]).0, 0);
    }

    /// Four pictures of 200×200 pixels around a hole of 1.3×1.3 pixels, on a canvas with cells of 8×8 pixels. The hole
    /// contains no corner of a cell.
    #[test]
    fn a_hole_inside_a_cell_is_left_out() {
        let (a, b) = (195.3, 196.6);
        let camera = |[x, y]: [f64; 2]| {
            let from_ray = DMat3::from_translation(-dvec2(x, y));
            Camera::from_matrix(from_ray, UVec2::splat(200))
        };
        let corners = [[b - 200.0, a - 200.0], [b, b - 200.0], [a, b], [a - 200.0, a]];
        let canvas = Canvas {
            centre: DVec2::ZERO,
            scale: DVec2::ONE,
            size: UVec2::splat(400),
            projection: Projection::PLANAR,
            reserved: 0,
        };
        let geometry = Geometry { canvas, cameras: corners.map(camera).to_vec() };
        assert!(!seen(&geometry, dvec2(196.0, 196.0)) && seen(&geometry, dvec2(190.0, 196.0)));
        let (first, size) = rectangle_of_cells(&geometry, 8).unwrap();
        let last = first + size - 1;
        let apart = first.cmpgt(UVec2::splat(196)) | last.cmplt(UVec2::splat(196));
        assert!(apart.any(), "{first} {size}");
        // Two pictures side by side cover 393 pixels, and the cells beside the hole start at 200 and end at 192.
        assert!(size.max_element() > 380 && size.min_element() > 180, "{first} {size}");
    }

    #[test]
    fn two_shifted_pictures_leave_their_common_rows() {
        let shift = "1 0 700  0 1 40  0 0 1";
        let homography = crate::geometry::homography::Homography::parse(shift, "h").unwrap();
        let size = UVec2::new(1000, 600);
        let geometry = homography.geometry(size, size).unwrap();
        let (first, found) = largest_rectangle(&geometry).unwrap();
        // Both pictures cover the rows 40 to 599, and together they span 1700 columns. The result may be off by two
        // grid cells of 2 pixels.
        assert!(first.y >= 40 && first.y <= 44 && first.x <= 4, "{first}");
        assert!(found.x >= 1690 && found.y >= 550 && first.y + found.y <= 600, "{found}");
    }

    /// Pictures whose edges are parallel to those of the canvas, with focal lengths for which the projection of a
    /// canvas position at an edge is inexact. After the crop, the projection is that of a moved canvas, rounded to f32.
    #[test]
    fn a_crop_along_an_edge_has_no_uncovered_pixel() {
        let size = UVec2::new(95, 70);
        for focal in (0..300).map(|i| 70.0 + 0.37 * f64::from(i)) {
            let camera = |x: f64| {
                let from_ray = DMat3::from_cols_array(&[
                    focal,
                    0.0,
                    0.0,
                    0.0,
                    focal,
                    0.0,
                    47.3 - x,
                    34.7,
                    1.0,
                ]);
                Camera::from_matrix(from_ray, size)
            };
            let canvas = Canvas {
                centre: dvec2(47.3, 34.7),
                scale: DVec2::splat(focal),
                size: UVec2::new(160, 70),
                projection: Projection::PLANAR,
                reserved: 0,
            };
            let geometry = Geometry { canvas, cameras: vec![camera(0.0), camera(65.0)] };
            let Geometry { canvas, cameras } = geometry.cropped().unwrap();
            assert!(canvas.size.cmpge(UVec2::new(156, 66)).all(), "{}", canvas.size);
            for (x, y) in (0..canvas.size.x).flat_map(|x| (0..canvas.size.y).map(move |y| (x, y))) {
                let ray = ray(&canvas, UVec2::new(x, y).as_dvec2());
                let sees = |camera: &Camera| {
                    let at = project(camera, camera.from_ray * ray).unwrap().as_vec2();
                    at.cmpge(Vec2::ZERO).all() && at.cmplt(camera.size.as_vec2()).all()
                };
                assert!(cameras.iter().any(sees), "focal length {focal}, pixel {x}, {y}");
            }
        }
    }
}
