//! The search for a seam, and its weights, on the CPU.
//!
//! Cameras are compared in rows of cells on all cores, two rows of 32 pixels at a time. The colours are those of the stitch
//! with planes, which differ from the kernels' by less than a level. From the same differences, costs and paths are the
//! same as those of the kernels.

use crate::cpu::{covers, vectorised};
use crate::io::Sampler2d;
use crate::rows::{Opens, SIDE};
use crate::seam::CameraPair;
use crate::seam::changed;
use crate::seam::cost::single;
use crate::seam::steps::{Cells, between, bias, cheapest, trace_back};
use crate::seam::weights::{TAPS, path_at, tapped};
use crate::stitch::cpu::Camera;
use cuda_std::launch::LaunchConfig;
use cuda_std::prelude::*;
use glam::{UVec2, Vec2, Vec3, Vec4, uvec2, vec3};
use rayon::prelude::*;
use shared_types::photometry::Vignette;
use shared_types::seam::{MOST, SeamBlend, SeamCosts, SeamGrid, SeamLook, Sees};
use shared_types::stitch::{Colour, MIN_WEIGHT};
use shared_types::warp::CameraPlanes;
use std::vec;
use std::vec::Vec;

/// Sums over the pixels of a cell that both cameras see.
#[derive(Clone, Copy, Default)]
struct Sums {
    difference: Vec3,
    both: Vec3,
    count: f32,
}

/// Computes a launch of a kernel that `seam_difference!` defines. Returns false if a picture or the launch is not
/// supported.
///
/// # Safety
/// All memory must be valid host memory. Nothing else may access `motion` and `out`, or write the other arguments.
#[expect(clippy::too_many_arguments, reason = "they are the arguments of the kernels")]
pub(super) unsafe fn difference<P: Opens + Sampler2d>(
    config: &LaunchConfig,
    left: P,
    right: P,
    planes_left: CameraPlanes,
    planes_right: CameraPlanes,
    grid: SeamGrid,
    look: SeamLook,
    motion: ViewMut<Vec2>,
    out: ViewMut<Vec4>,
) -> bool {
    let (width, height) = (out.width(), out.height());
    if !covers(config, width, height) || (motion.width(), motion.height()) != (width, height) {
        return false;
    }
    // As in the kernels, cameras have no shoulder here.
    let open = |picture: P, planes, colour: Colour| {
        let colour = Colour { shoulder: 0.0, ..colour };
        // SAFETY: the caller guarantees that the picture is valid host memory.
        unsafe { Camera::open(picture, planes, colour, (Vignette::NONE, Vec3::ZERO), &look.decode) }
    };
    let cameras = (open(left, planes_left, look.left), open(right, planes_right, look.right));
    let (Some(left), Some(right)) = cameras else { return false };
    // SAFETY: the caller guarantees it.
    unsafe { compare(&[left, right], &grid, motion, out) };
    true
}

/// Compares two cameras in all cells; see [`difference`].
///
/// # Safety
/// The conditions are those of [`difference`], and `motion` and `out` must have the same size.
unsafe fn compare(
    cameras: &[Camera; 2],
    grid: &SeamGrid,
    motion: ViewMut<Vec2>,
    out: ViewMut<Vec4>,
) {
    let (width, height) = (out.width(), out.height());
    let transposed = grid.transposed != 0;
    // The cells along the rows of the panorama, and the rows of cells.
    let (across, along) = if transposed { (height, width) } else { (width, height) };
    (0..along).into_par_iter().for_each(|row| {
        let mut sums = vec![Sums::default(); across as usize];
        vectorised!(add_row(cameras, grid, row, &mut sums));
        for (column, sums) in (0..).zip(sums) {
            let cell = if transposed { uvec2(row, column) } else { uvec2(column, row) };
            let scale = 255.0 / sums.count.max(1.0);
            // SAFETY: the cell is inside both, which have the same size. The caller guarantees their memory, and no other
            // call takes this cell.
            unsafe {
                let before = motion.host_address(cell.y).add(cell.x as usize);
                let level = sums.both.element_sum() * (scale / 6.0) + 1.0;
                let change = changed(*before, level);
                *before = Vec2::new(level, change);
                let mean = (sums.difference * scale).extend(change);
                *out.host_address(cell.y).add(cell.x as usize) = mean;
            }
        }
    });
}

/// Adds the pixels of a row of cells to their sums.
#[inline(always)]
fn add_row(cameras: &[Camera; 2], grid: &SeamGrid, row: u32, sums: &mut [Sums]) {
    let first = grid.min.y + row * grid.cell;
    let end = uvec2(grid.min.x + sums.len() as u32 * grid.cell, first + grid.cell).min(grid.max);
    for y in (first..end.y).step_by(2) {
        for x in (grid.min.x..end.x).step_by(SIDE) {
            let [left, right] =
                [0, 1].map(|camera| cameras[camera].look(UVec2::new(x, y), MIN_WEIGHT));
            let (Some((left, left_weights)), Some((right, right_weights))) = (left, right) else {
                continue;
            };
            for i in 0..2.min((end.y - y) as usize) {
                for k in 0..SIDE.min((end.x - x) as usize) {
                    if left_weights[i][k] > 0.0 && right_weights[i][k] > 0.0 {
                        let colour = |of: &[[f32; SIDE]; 3]| vec3(of[0][k], of[1][k], of[2][k]);
                        let (left, right) = (colour(&left[i]), colour(&right[i]));
                        let sums = &mut sums[((x - grid.min.x + k as u32) / grid.cell) as usize];
                        sums.difference += left - right;
                        sums.both += left + right;
                        sums.count += 1.0;
                    }
                }
            }
        }
    }
}

/// Computes a launch of [`seam_cost`](super::seam_cost). The simulator runs a launch that does not compute all cells.
///
/// # Safety
/// All memory must be valid host memory. Nothing else may access `out` or write the other arguments.
pub(super) unsafe fn cost(
    config: &LaunchConfig,
    cells: View<u32>,
    difference: View<Vec4>,
    reach: u32,
    out: ViewMut<u32>,
) -> bool {
    let size = uvec2(cells.width(), cells.height());
    let same = uvec2(difference.width(), difference.height()) == size
        && uvec2(out.width(), out.height()) == size;
    if !same || !covers(config, size.x, size.y) {
        return false;
    }
    let levels = |at: UVec2| {
        // SAFETY: the cell is inside both. The caller guarantees their memory.
        let inside = at.cmplt(size).all().then(|| unsafe {
            (cells.host_row(at.y)[at.x as usize], difference.host_row(at.y)[at.x as usize])
        });
        inside.filter(|(sees, _)| sees & Sees::BOTH != 0).map(|(_, levels)| levels)
    };
    let places = |y: u32| (0..size.x).map(move |x| uvec2(x, y));
    let rows = (0..size.y).into_par_iter();
    // A kernel computes these again for each cell around.
    let singles: Vec<Vec<Option<f32>>> =
        rows.clone().map(|y| places(y).map(|at| single(at, levels)).collect()).collect();
    let single = |at: UVec2| *singles.get(at.y as usize)?.get(at.x as usize)?;
    rows.for_each(|y| {
        // SAFETY: the row is inside both. The caller guarantees their memory, and no other call takes this row.
        let (cells, out) = unsafe { (cells.host_row(y), out.host_row(y)) };
        for ((at, here), out) in places(y).zip(cells).zip(out) {
            *out = super::cost::cost(*here, at, reach, single);
        }
    });
    true
}

/// Computes a launch of [`seam_path`](super::seam_path) row by row. The simulator runs a launch that writes
/// nothing.
///
/// # Safety
/// The conditions of the kernel apply. All memory must be valid host memory. Nothing else may access `parent`, `best` and
/// `costs`, or write the other arguments.
#[expect(clippy::too_many_arguments, reason = "they are the arguments of the kernel")]
pub(super) unsafe fn path(
    _: &LaunchConfig,
    cost: View<u32>,
    sides: View<u32>,
    current: Slice<u32>,
    biased: u32,
    parent: ViewMut<u16>,
    best: SliceMut<u32>,
    costs: SliceMut<SeamCosts>,
) -> bool {
    let cells = Cells { cost, sides };
    let Some((places, along)) = cells.size() else { return false };
    let fits = parent.width() >= places && parent.height() >= along;
    if !(fits && best.len() >= along && current.len() >= along && costs.len() > 0) {
        return false;
    }
    // SAFETY: the caller guarantees the memory.
    let (current, costs) = unsafe { (current.as_host_slice(), costs.as_host_slice()) };
    // The elements are those of `LastRow` in the kernel.
    let [mut totals, mut above, mut runs] = [0; 3].map(|zero| vec![zero; places as usize]);
    for y in 0..along {
        let heres: Vec<u32> = (0..places).map(|place| cells.cell(place, y)).collect();
        for (run, (above, here)) in runs.iter_mut().zip(above.iter().zip(&heres)) {
            *run = between(*above, *here);
        }
        // SAFETY: the row is inside both, as checked above. The caller guarantees the rest.
        let (sides, parent) = unsafe { (sides.host_row(y), parent.host_row(y)) };
        let next = |place: u32| {
            let at = place as usize;
            let total = |place: u32| totals[place as usize];
            let (least, from) = cheapest(total, |place| runs[place as usize], place, places);
            let before = if place > 0 { heres[at - 1] } else { 0 };
            let row = (sides[at] + between(before, heres[at])).min(MOST);
            parent[at] = from as u16;
            least + row + bias(biased, current[y as usize], place)
        };
        totals = (0..places).map(next).collect();
        above = heres;
    }
    // SAFETY: the sizes were checked above, and `parent` was written.
    unsafe { trace_back(|place| totals[place as usize], places, parent, along, best) };
    // SAFETY: the caller guarantees the memory.
    let best = unsafe { best.as_host_slice() };
    let mut sums = SeamCosts { best: 0, breaches: 0, current: 0 };
    for y in 0..along {
        let (here, before) = (y as usize, y.saturating_sub(1) as usize);
        let old = |row: usize| current[row].min(places - 1);
        // SAFETY: all positions are less than `places`, the number of columns of `sides`.
        unsafe {
            let (cost, breaches) = cells.row(y, best[here], best[before]);
            sums.best += cost;
            sums.breaches += breaches;
            sums.current += cells.row(y, old(here), old(before)).0;
        }
    }
    costs[0] = sums;
    true
}

/// Computes a launch of [`seam_weights`](super::seam_weights) row by row. The simulator runs a launch that does not write
/// the whole overlap.
///
/// # Safety
/// All memory must be valid host memory. Nothing else may access the outputs or write the other arguments.
#[expect(clippy::too_many_arguments, reason = "they are the arguments of the kernel")]
pub(super) unsafe fn weights(
    config: &LaunchConfig,
    planes_left: CameraPlanes,
    planes_right: CameraPlanes,
    left: UVec2,
    right: UVec2,
    grid: SeamGrid,
    from: Slice<u32>,
    to: Slice<u32>,
    blend: SeamBlend,
    out_left: ViewMut<f32>,
    out_right: ViewMut<f32>,
) -> bool {
    let size = grid.max - grid.min;
    let holds = |out: ViewMut<f32>| grid.max.x <= out.width() && grid.max.y <= out.height();
    if !(covers(config, size.x, size.y) && holds(out_left) && holds(out_right)) {
        return false;
    }
    let cameras = CameraPair::new([planes_left, planes_right], [left, right]);
    let scale = 1.0 / grid.cell as f32;
    let feather = blend.feather * scale;
    let cells = |pixel: u32| (pixel as f32 + 0.5) * scale;
    // A path crosses the rows of the taps at the same places for all pixels at one place along the seam.
    let along = if grid.transposed != 0 { size.x } else { size.y };
    let crossed = |path: Slice<u32>| -> Vec<[f32; 2 * TAPS as usize + 1]> {
        let at = |tap: usize, along| path_at(path, cells(along), tap as i32 - TAPS, feather);
        (0..along).map(|along| std::array::from_fn(|tap| at(tap, along))).collect()
    };
    let from = if blend.from_path != 0 { from } else { to };
    let paths = [crossed(from), crossed(to)];
    (0..size.y).into_par_iter().for_each(|y| {
        // SAFETY: the row is inside both outputs. The caller guarantees their memory, and no other call takes this row.
        let [left, right] = [out_left, out_right].map(|out| unsafe {
            &mut out.host_row(grid.min.y + y)[grid.min.x as usize..grid.max.x as usize]
        });
        for (x, (left, right)) in (0..).zip(left.iter_mut().zip(right)) {
            let (across, along) = if grid.transposed != 0 { (y, x) } else { (x, y) };
            let across = cells(across);
            let near = |path: usize| {
                let crossed = (-TAPS..).zip(&paths[path][along as usize]);
                crossed.map(|(tap, path)| tapped(tap, *path, across, feather)).sum()
            };
            let at = grid.min + uvec2(x, y);
            [*left, *right] = super::weights::weights(&cameras, at, &grid, &blend, near);
        }
    });
    true
}
