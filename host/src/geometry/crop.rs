//! Finds the largest rectangle of a canvas that the cameras cover completely. A panorama cropped to it has no black
//! pixels.

use glam::{DVec2, UVec2};
use kernels_gpu::warp::{project, ray};
use rayon::prelude::*;
use shared_types::warp::{Camera, Canvas};

use super::Geometry;

/// Maximum number of columns or rows of the search grid.
const GRID: u32 = 1024;

/// The number of times that [`covered`] halves the sides of a cell. The smallest part is 1/64 of a cell wide.
const HALVINGS: u32 = 6;

/// Returns whether a camera sees a canvas position. As in the stitch kernels, the source position must be inside the
/// camera's picture. The kernels compute it from a moved canvas and round it to f32, which can move it across the edge
/// of the picture. So the distance to the edge must be at least one rounding error.
fn sees(camera: &Camera, canvas: &Canvas, pixel: DVec2) -> bool {
    let size = camera.size.as_dvec2();
    let margin = size * f64::from(f32::EPSILON);
    project(camera, camera.from_ray * ray(canvas, pixel))
        .is_some_and(|at| at.cmpge(margin).all() && at.cmple(size - margin).all())
}

/// Returns whether any camera sees a canvas position.
pub(crate) fn seen(Geometry { canvas, cameras }: &Geometry, pixel: DVec2) -> bool {
    cameras.iter().any(|camera| sees(camera, canvas, pixel))
}

impl Geometry {
    /// Returns the same panorama, cropped to the largest rectangle that the cameras cover completely. Its sides may be
    /// a few pixels shorter than possible. Returns `None` if there is no such rectangle.
    #[must_use]
    pub fn cropped(&self) -> Option<Self> {
        let step = self.canvas.size.max_element().div_ceil(GRID).max(1);
        let (first, size) = rectangle_of_cells(self, step)?;
        let centre = self.canvas.centre - first.as_dvec2();
        let canvas = Canvas { centre, size, ..self.canvas };
        Some(Self { canvas, cameras: self.cameras.clone() })
    }
}

/// Returns the first pixel and the size in pixels of the largest rectangle of covered cells, which have sides of `step`
/// pixels. Returns `None` if no cell is covered.
pub(crate) fn rectangle_of_cells(geometry: &Geometry, step: u32) -> Option<(UVec2, UVec2)> {
    let rows = cells(geometry, step);
    let mut heights = vec![0_u32; rows.first()?.len()];
    let mut best = (0_u64, UVec2::ZERO, UVec2::ZERO);
    for (row, y) in rows.iter().zip(1..) {
        for (height, covered) in heights.iter_mut().zip(row) {
            *height = if *covered { *height + 1 } else { 0 };
        }
        let (area, first, width, height) = under(&heights);
        if area > best.0 {
            best = (area, UVec2::new(first, y - height), UVec2::new(width, height));
        }
    }
    (best.0 > 0).then(|| (best.1 * step, best.2 * step + 1))
}

/// Returns whether the cameras cover all of a cell, from `low` to `high`. If no camera sees all four corners, the
/// quarters of the cell must be covered, and so on until `halvings` is 0. So a gap between two pictures is found, and a
/// hole between three.
fn covered(geometry: &Geometry, low: DVec2, high: DVec2, halvings: u32) -> bool {
    let Geometry { canvas, cameras } = geometry;
    let corners = [low, DVec2::new(high.x, low.y), DVec2::new(low.x, high.y), high];
    if cameras.iter().any(|camera| corners.iter().all(|at| sees(camera, canvas, *at))) {
        return true;
    }
    let middle = low.midpoint(high);
    corners.iter().all(|at| seen(geometry, *at))
        && (halvings == 0
            || corners.iter().all(|&corner| {
                covered(geometry, corner.min(middle), corner.max(middle), halvings - 1)
            }))
}

/// Returns the rows of cells of a canvas, and whether each is [`covered`].
fn cells(geometry: &Geometry, step: u32) -> Vec<Vec<bool>> {
    let Geometry { canvas, cameras } = geometry;
    let many = canvas.size.saturating_sub(UVec2::ONE) / step;
    // The cameras that see a corner, as bits. A panorama has at most 64 cameras.
    let set = |x: u32, y: u32| {
        let at = (UVec2::new(x, y) * step).as_dvec2();
        let seen = cameras.iter().map(|camera| sees(camera, canvas, at));
        seen.zip(0..).fold(0_u64, |set, (seen, bit)| set | u64::from(seen) << bit)
    };
    let row = |y: u32| -> Vec<bool> {
        let [above, below] =
            [y, y + 1].map(|y| (0..=many.x).map(|x| set(x, y)).collect::<Vec<_>>());
        let covered = |x: u32| {
            let i = x as usize;
            let corners = [above[i], above[i + 1], below[i], below[i + 1]];
            let low = (UVec2::new(x, y) * step).as_dvec2();
            corners.iter().fold(u64::MAX, |all, corner| all & corner) != 0
                || !corners.contains(&0) && covered(geometry, low, low + f64::from(step), HALVINGS)
        };
        (0..many.x).map(covered).collect()
    };
    (0..many.y).into_par_iter().map(row).collect()
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

#[cfg(test)]
mod tests {
    use glam::{DMat3, Vec2, dvec2};
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
        let (first, found) = rectangle_of_cells(&geometry, 2).unwrap();
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
                let scale = DMat3::from_scale(DVec2::splat(focal));
                let from_ray = DMat3::from_translation(dvec2(47.3 - x, 34.7)) * scale;
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
