//! Measures which part of the canvas each camera covers, and where cameras overlap, from a [`Geometry`] alone.
//!
//! The canvas is divided into cells: 2048 along the longer side, or 1024 with more than 16 cameras. The cameras that see
//! the centre of a cell have the whole cell. So the border of an area is off by at most half a cell, and an area at least
//! 100 cells wide and high is within 1 % of its value. An overlap that is narrower than a cell may be missed.
//!
//! All results come from one table: the region of each distinct set of cameras. A camera, a pair and the uncovered part
//! are sums over the sets that match. As in the stitch kernels, a camera sees a point if the source position is at least
//! 0 and less than the size of the picture on both axes.
//!
//! Parallax and blend weights are not considered.

use std::collections::BTreeMap;
use std::f64::consts::TAU;

use glam::{DVec2, UVec2, dvec2};
use kernels_gpu::warp::{project, ray};
use rayon::prelude::*;
use serde::Serialize;
use shared_types::warp::{Canvas, Projection};

use super::{Geometry, inside};

/// The cameras and overlaps of a panorama, in the order of [`Geometry::cameras`]. All shares are from 0 to 1.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Overlaps {
    /// The area of each camera.
    pub cameras: Vec<CameraArea>,
    /// The pairs of cameras that overlap on the canvas, in ascending order.
    pub pairs: Vec<PairOverlap>,
    /// The cameras that are connected by overlaps, as groups. Each camera is in one group, so a rig in one piece has
    /// one group. Groups and their cameras are in ascending order.
    pub groups: Vec<Vec<usize>>,
    /// The areas that three or more cameras cover, one for each set of cameras that meets. The largest area is first.
    pub meetings: Vec<Meeting>,
    /// The share of the canvas that no camera covers.
    pub uncovered: f64,
}

/// The area that a camera covers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CameraArea {
    /// The share of the canvas that the camera covers.
    pub canvas: f64,
    /// The share of the camera's picture that the canvas shows.
    pub picture: f64,
    /// The bounding box of the area. `None` if the canvas shows nothing of the camera.
    pub bounds: Option<CanvasBox>,
}

/// The overlap of two cameras.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PairOverlap {
    /// The indices of the two cameras, the lower one first.
    pub cameras: [usize; 2],
    /// The overlap as a share of the canvas.
    pub canvas: f64,
    /// The overlap as a share of the smaller of the two cameras' areas on the canvas.
    pub smaller: f64,
    /// The overlap as a share of each of the two pictures, in source pixels.
    pub pictures: [f64; 2],
    /// The bounding box of the overlap.
    pub bounds: CanvasBox,
}

/// An area that three or more cameras cover.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Meeting {
    /// The indices of the cameras that cover the area, in ascending order. No other camera covers it.
    pub cameras: Vec<usize>,
    /// The area as a share of the canvas.
    pub canvas: f64,
    /// The bounding box of the area.
    pub bounds: CanvasBox,
}

/// A rectangle in canvas pixels, measured from the top left corner of the canvas.
///
/// On a canvas of a full circle, the box may continue at the left edge: then `x + width` exceeds the canvas's width.
/// The box of an area in several pieces contains all of them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CanvasBox {
    /// The left edge.
    pub x: f64,
    /// The top edge.
    pub y: f64,
    /// The width.
    pub width: f64,
    /// The height.
    pub height: f64,
}

/// Returns whether the canvas shows a full circle, so that its left and right edge touch.
pub(crate) fn is_full_circle(canvas: &Canvas) -> bool {
    // Half a pixel is a tolerance for rounding.
    canvas.projection != Projection::PLANAR
        && f64::from(canvas.size.x) + 0.5 >= TAU * canvas.scale.x
}

/// A part of the canvas, in one or more pieces.
#[derive(Clone)]
struct Region {
    /// The number of cells.
    cells: f64,
    /// The area in the picture of each camera, in source pixels. Zero for a camera that does not see the region.
    pictures: Vec<f64>,
    /// Whether the region touches each column and each row of cells.
    columns: Vec<bool>,
    rows: Vec<bool>,
}

impl Region {
    /// Adds another region to this one.
    fn merge(&mut self, other: &Self) {
        self.cells += other.cells;
        self.pictures.iter_mut().zip(&other.pictures).for_each(|(sum, area)| *sum += area);
        self.columns.iter_mut().zip(&other.columns).for_each(|(is, also)| *is |= also);
        self.rows.iter_mut().zip(&other.rows).for_each(|(is, also)| *is |= also);
    }
}

/// The regions of the canvas by the set of cameras that see them, in ascending order.
type Regions = BTreeMap<Vec<usize>, Region>;

fn add(regions: &mut Regions, set: &[usize], region: &Region) {
    match regions.get_mut(set) {
        Some(own) => own.merge(region),
        None => drop(regions.insert(set.to_vec(), region.clone())),
    }
}

/// The grid of cells over a canvas.
struct Grid<'a> {
    geometry: &'a Geometry,
    cells: UVec2,
    /// The size of a cell in canvas pixels.
    step: DVec2,
}

impl<'a> Grid<'a> {
    fn new(geometry: &'a Geometry) -> Self {
        let size = geometry.canvas.size;
        let most = if geometry.cameras.len() > 16 { 1024.0 } else { 2048.0 };
        let per_pixel = most / f64::from(size.max_element()).max(1.0);
        let cells = (size.as_dvec2() * per_pixel).ceil().as_uvec2();
        Self { geometry, cells, step: size.as_dvec2() / cells.max(UVec2::ONE).as_dvec2() }
    }

    /// Returns the source position that a camera shows at a point, which is given in cells from the top left corner. The
    /// canvas starts half a pixel before the centre of its first pixel.
    fn place(&self, camera: usize, cell: DVec2) -> Option<DVec2> {
        let camera = &self.geometry.cameras[camera];
        project(camera, camera.from_ray * ray(&self.geometry.canvas, cell * self.step - 0.5))
    }

    /// Returns the regions of a row of cells.
    fn row(&self, y: u32) -> Regions {
        let cameras = 0..self.geometry.cameras.len();
        let mut regions = Regions::new();
        for x in 0..self.cells.x {
            let centre = dvec2(x.into(), y.into()) + 0.5;
            let sees = |&camera: &usize| {
                let size = self.geometry.cameras[camera].size;
                self.place(camera, centre).is_some_and(|at| inside(at, size))
            };
            let set: Vec<usize> = cameras.clone().filter(sees).collect();
            let areas: Vec<f64> = set.iter().map(|&i| self.area_in_picture(i, centre)).collect();
            let region = regions.entry(set.clone()).or_insert_with(|| Region {
                cells: 0.0,
                pictures: vec![0.0; cameras.len()],
                columns: vec![false; self.cells.x as usize],
                rows: vec![false; self.cells.y as usize],
            });
            region.cells += 1.0;
            set.iter().zip(areas).for_each(|(&i, area)| region.pictures[i] += area);
            region.columns[x as usize] = true;
            region.rows[y as usize] = true;
        }
        regions
    }

    /// Returns the area of a cell in source pixels. The result is 0 if the lens sees only a part of the cell.
    fn area_in_picture(&self, camera: usize, centre: DVec2) -> f64 {
        let [left, right, top, bottom] = [(-0.5, 0.0), (0.5, 0.0), (0.0, -0.5), (0.0, 0.5)]
            .map(|(x, y)| self.place(camera, centre + dvec2(x, y)));
        let (Some(across), Some(down)) = (
            left.zip(right).map(|(left, right)| right - left),
            top.zip(bottom).map(|(top, bottom)| bottom - top),
        ) else {
            return 0.0;
        };
        across.perp_dot(down).abs()
    }

    fn bounds(&self, region: &Region) -> CanvasBox {
        let (left, columns) = extent(&region.columns, is_full_circle(&self.geometry.canvas));
        let (top, rows) = extent(&region.rows, false);
        let (first, size) = (dvec2(left, top) * self.step, dvec2(columns, rows) * self.step);
        CanvasBox { x: first.x, y: first.y, width: size.x, height: size.y }
    }
}

impl Geometry {
    /// Measures the area of each camera and the overlaps between cameras on the canvas. Uses only the CPU. Areas that
    /// are not tiny are within 1 %; the source file states the accuracy.
    #[must_use]
    pub fn overlaps(&self) -> Overlaps {
        let grid = Grid::new(self);
        let regions = (0..grid.cells.y).into_par_iter().map(|y| grid.row(y));
        let regions = regions.reduce(Regions::new, |mut all, more| {
            more.iter().for_each(|(set, region)| add(&mut all, set, region));
            all
        });
        let total = f64::from(grid.cells.x * grid.cells.y).max(1.0);
        let cameras = &self.cameras;
        let in_picture = |region: &Region, i: usize| {
            // Rounding may give a little more than the whole picture.
            (region.pictures[i] / cameras[i].size.as_dvec2().element_product()).min(1.0)
        };
        // The part of the canvas that all cameras of a set see.
        let common = |set: &[usize]| {
            let mut common = Regions::new();
            let matching = |seen: &Vec<usize>| set.iter().all(|camera| seen.contains(camera));
            let matching = regions.iter().filter(|(seen, _)| matching(seen));
            matching.for_each(|(_, region)| add(&mut common, set, region));
            common.remove(set)
        };
        let areas: Vec<_> = (0..cameras.len()).map(|i| common(&[i])).collect();
        let pair = |(a, b): (usize, usize)| {
            let both = common(&[a, b])?;
            Some(PairOverlap {
                cameras: [a, b],
                canvas: both.cells / total,
                smaller: both.cells / areas[a].as_ref()?.cells.min(areas[b].as_ref()?.cells),
                pictures: [a, b].map(|i| in_picture(&both, i)),
                bounds: grid.bounds(&both),
            })
        };
        let pairs = (0..cameras.len()).flat_map(|a| (a + 1..cameras.len()).map(move |b| (a, b)));
        let sets = regions.iter().filter(|(set, _)| set.len() > 2);
        let mut meetings: Vec<_> = sets
            .map(|(set, region)| Meeting {
                cameras: set.clone(),
                canvas: region.cells / total,
                bounds: grid.bounds(region),
            })
            .collect();
        meetings.sort_by(|a, b| b.canvas.total_cmp(&a.canvas).then(a.cameras.cmp(&b.cameras)));
        let area = |(i, area): (usize, &Option<Region>)| CameraArea {
            canvas: area.as_ref().map_or(0.0, |area| area.cells / total),
            picture: area.as_ref().map_or(0.0, |area| in_picture(area, i)),
            bounds: area.as_ref().map(|area| grid.bounds(area)),
        };
        Overlaps {
            cameras: areas.iter().enumerate().map(area).collect(),
            pairs: pairs.filter_map(pair).collect(),
            groups: groups(cameras.len(), regions.keys()),
            meetings,
            uncovered: regions.get(&[][..]).map_or(0.0, |region| region.cells / total),
        }
    }
}

/// Returns the groups of cameras that the sets connect.
fn groups<'a>(cameras: usize, sets: impl Iterator<Item = &'a Vec<usize>>) -> Vec<Vec<usize>> {
    let mut group: Vec<usize> = (0..cameras).collect();
    for set in sets {
        for &camera in set {
            let (to, from) = (group[set[0]], group[camera]);
            group.iter_mut().filter(|own| **own == from).for_each(|own| *own = to);
        }
    }
    let members =
        |name: usize| -> Vec<usize> { (0..cameras).filter(|&i| group[i] == name).collect() };
    let mut groups: Vec<_> =
        (0..cameras).map(members).filter(|members| !members.is_empty()).collect();
    groups.sort();
    groups
}

/// Returns the first element and the length of the shortest range that contains all set elements. On a circle, the range
/// may continue at the start.
fn extent(is_set: &[bool], circle: bool) -> (f64, f64) {
    let set: Vec<usize> = (0..is_set.len()).filter(|&i| is_set[i]).collect();
    let (Some(&first), Some(&last)) = (set.first(), set.last()) else { return (0.0, 0.0) };
    // The longest gap between neighbours. The range is the rest of the circle.
    let gaps = set.windows(2).map(|pair| (pair[1] - pair[0], pair[1]));
    let (gap, start) = gaps.max_by_key(|(gap, _)| *gap).unwrap_or((0, first));
    let many = is_set.len();
    let (start, length) = if !circle || first + many - last >= gap {
        (first, last - first + 1)
    } else {
        (start, many - gap + 1)
    };
    (start as f64, length as f64)
}

#[cfg(test)]
mod tests;
