//! Finds the largest rectangle of a canvas that the cameras cover completely. A panorama cropped to it has no black
//! pixels.

use glam::{DVec2, UVec2};
use kernels_gpu::warp::{project, ray};

use super::{Geometry, inside};

/// Maximum number of columns or rows of the search grid.
const GRID: u32 = 1024;

/// Returns whether any camera sees a canvas pixel. As in the stitch kernels, the source position of the pixel must be
/// [`inside`] the camera's picture.
fn seen(geometry: &Geometry, pixel: DVec2) -> bool {
    let ray = ray(&geometry.canvas, pixel);
    geometry.cameras.iter().any(|camera| {
        project(camera, camera.from_ray * ray).is_some_and(|at| inside(at, camera.size))
    })
}

/// Returns the first pixel and the size in pixels of the largest rectangle that the cameras cover completely. Its sides
/// may be a few grid cells shorter than possible. Returns `None` if no grid cell is covered.
pub(crate) fn largest_rectangle(geometry: &Geometry) -> Option<(UVec2, UVec2)> {
    let size = geometry.canvas.size;
    let step = size.max_element().div_ceil(GRID).max(1);
    // A cell counts as covered if the cameras see its four corners. This is an approximation: a cell may contain
    // uncovered pixels between covered corners. `shrink` removes them.
    let many = (size - 1) / step;
    let corner = |i: u32| f64::from(i * step);
    let row = |y: u32| -> Vec<bool> {
        (0..=many.x).map(|x| seen(geometry, DVec2::new(corner(x), corner(y)))).collect()
    };
    let mut above = row(0);
    let mut heights = vec![0_u32; many.x as usize];
    let mut best = (0_u64, UVec2::ZERO, UVec2::ZERO);
    for y in 1..=many.y {
        let below = row(y);
        for (x, height) in heights.iter_mut().enumerate() {
            let whole = above[x] && above[x + 1] && below[x] && below[x + 1];
            *height = if whole { *height + 1 } else { 0 };
        }
        let (area, first, width, height) = under(&heights);
        if area > best.0 {
            best = (area, UVec2::new(first, y - height), UVec2::new(width, height));
        }
        above = below;
    }
    if best.0 == 0 {
        return None;
    }
    Some(shrink(geometry, best.1 * step, best.2 * step + 1))
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
    use super::*;

    #[test]
    fn the_largest_under_a_histogram() {
        assert_eq!(under(&[2, 1, 5, 6, 2, 3]), (10, 2, 2, 5));
        assert_eq!(under(&[3, 3, 3]), (9, 0, 3, 3));
        assert_eq!(under(&[0, 0]).0, 0);
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
}
