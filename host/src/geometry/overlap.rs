//! Measures which part of the canvas each camera covers, and where cameras overlap, from a [`Geometry`] alone.
//!
//! The canvas is divided into cells: at most 1024 along the longer side, 512 with more than 16 cameras, and none
//! smaller than a pixel. A cell whose four corners are seen by the same cameras counts as a whole. Any other cell
//! lies on the border of a picture, and each of its 8×8 subcells is decided by its centre. So the border of an area is
//! off by at most 1/16 of a cell, and the share of an area at least 13 cells wide and high is within 1 % of its value.
//! An overlap that is narrower than a cell may be missed.
//!
//! All results come from one table: the canvas area of each distinct set of cameras. A camera, a pair and the
//! uncovered part are sums over the sets that match. As in the stitch kernels, a camera sees a point if the source
//! position is at least 0 and less than the size of the picture on both axes.
//!
//! Parallax and blend weights are not considered.

use std::collections::BTreeMap;
use std::f64::consts::TAU;

use glam::{DVec2, UVec2};
use kernels_gpu::warp::{project, ray};
use serde::Serialize;
use shared_types::warp::{Canvas, Projection};

use super::crop::sees;
use super::rig::MAX_CAMERAS;
use super::{Geometry, inside};

/// The number of subcells along each side of a cell. A byte has one bit for each of them.
const SUBCELLS: u32 = 8;

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

/// The error for a geometry with too many cameras.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the overlaps of {found} cameras cannot be measured; use a panorama of at most {MAX_CAMERAS}"
)]
pub struct OverlapError {
    /// The number of cameras.
    pub found: usize,
}

impl Geometry {
    /// Measures the area of each camera and the overlaps between cameras on the canvas. Uses only the CPU. The areas
    /// have the accuracy that the source file states: within 1 % if they are not tiny.
    ///
    /// # Errors
    /// Returns [`OverlapError`] if there are more than [`MAX_CAMERAS`] cameras.
    pub fn overlaps(&self) -> Result<Overlaps, OverlapError> {
        let found = self.cameras.len();
        if found > MAX_CAMERAS {
            return Err(OverlapError { found });
        }
        Ok(Survey::new(self).overlaps())
    }
}

/// Returns whether the canvas shows a full circle, so that its left and right edge touch.
pub(crate) fn is_full_circle(canvas: &Canvas) -> bool {
    // Half a pixel is a tolerance for rounding.
    canvas.projection != Projection::PLANAR
        && f64::from(canvas.size.x) + 0.5 >= TAU * canvas.scale.x
}

/// Returns the cameras of a set, in ascending order. Bit i of `set` stands for camera i.
fn members(set: u64) -> impl Iterator<Item = usize> {
    (0..u64::BITS as usize).filter(move |camera| set >> camera & 1 == 1)
}

/// A part of the canvas, in one or more pieces.
#[derive(Clone)]
struct Region {
    /// The area in canvas pixels.
    area: f64,
    /// The area in the picture of each camera, in source pixels. Zero for a camera that does not see the region.
    pictures: Vec<f64>,
    /// The subcells of each column of cells that the region touches: one bit each, the leftmost is bit 0.
    columns: Vec<u8>,
    /// The same for the rows.
    rows: Vec<u8>,
}

impl Region {
    fn new(cells: UVec2, cameras: usize) -> Self {
        let bits = |count: u32| vec![0; count as usize];
        Self {
            area: 0.0,
            pictures: vec![0.0; cameras],
            columns: bits(cells.x),
            rows: bits(cells.y),
        }
    }

    /// Adds a part of a cell: its area on the canvas and in each picture that shows it, and the bits of the columns and
    /// rows of subcells that it touches.
    fn add(&mut self, cell: UVec2, bits: [u8; 2], area: f64, seen: u64, pictures: &[f64]) {
        self.area += area;
        members(seen).for_each(|i| self.pictures[i] += pictures[i]);
        self.columns[cell.x as usize] |= bits[0];
        self.rows[cell.y as usize] |= bits[1];
    }

    /// Adds another region to this one.
    fn merge(&mut self, other: &Self) {
        self.area += other.area;
        self.pictures.iter_mut().zip(&other.pictures).for_each(|(sum, area)| *sum += area);
        self.columns.iter_mut().zip(&other.columns).for_each(|(bits, more)| *bits |= more);
        self.rows.iter_mut().zip(&other.rows).for_each(|(bits, more)| *bits |= more);
    }
}

/// The regions of the canvas by the set of cameras that see them.
struct Survey<'a> {
    geometry: &'a Geometry,
    cells: UVec2,
    /// The size of a cell in canvas pixels.
    step: DVec2,
    regions: BTreeMap<u64, Region>,
}

/// The cameras that see a corner of a cell, and the source position in each camera. A position is meaningless if the
/// lens cannot see the corner.
#[derive(Clone, Default)]
struct Corner {
    seen: u64,
    places: Vec<DVec2>,
}

impl<'a> Survey<'a> {
    fn new(geometry: &'a Geometry) -> Self {
        let size = geometry.canvas.size;
        let most = if geometry.cameras.len() > 16 { 512 } else { 1024 };
        let edge = size.max_element().div_ceil(most).max(1);
        let cells = UVec2::new(size.x.div_ceil(edge), size.y.div_ceil(edge));
        let step = size.as_dvec2() / cells.max(UVec2::ONE).as_dvec2();
        let mut survey = Self { geometry, cells, step, regions: BTreeMap::new() };
        let row = |survey: &Self, y: u32| -> Vec<Corner> {
            (0..=cells.x).map(|x| survey.corner(DVec2::new(x.into(), y.into()))).collect()
        };
        let mut above = row(&survey, 0);
        for y in 0..cells.y {
            let below = row(&survey, y + 1);
            for x in 0..cells.x {
                let at = x as usize;
                let corners = [&above[at], &above[at + 1], &below[at + 1], &below[at]];
                survey.add(UVec2::new(x, y), corners);
            }
            above = below;
        }
        survey
    }

    /// Returns the canvas position of a point that is given in cells from the top left corner. The canvas starts half a
    /// pixel before the centre of its first pixel.
    fn canvas(&self, cell: DVec2) -> DVec2 {
        cell * self.step - 0.5
    }

    fn corner(&self, cell: DVec2) -> Corner {
        let at = ray(&self.geometry.canvas, self.canvas(cell));
        let mut corner = Corner::default();
        for (i, camera) in self.geometry.cameras.iter().enumerate() {
            let place = project(camera, camera.from_ray * at);
            corner.seen |= u64::from(place.is_some_and(|place| inside(place, camera.size))) << i;
            corner.places.push(place.unwrap_or_default());
        }
        corner
    }

    /// Adds a cell to the regions. `corners` are clockwise.
    fn add(&mut self, cell: UVec2, corners: [&Corner; 4]) {
        let sure = corners.iter().fold(u64::MAX, |all, corner| all & corner.seen);
        let any = corners.iter().fold(0, |any, corner| any | corner.seen);
        let area = self.step.element_product();
        let mut pictures = vec![0.0; self.geometry.cameras.len()];
        for i in members(sure) {
            pictures[i] = quad_area(corners.map(|corner| corner.places[i]));
        }
        if sure == any {
            self.region(sure).add(cell, [u8::MAX; 2], area, sure, &pictures);
            return;
        }
        for i in members(any & !sure) {
            pictures[i] = self.area_in_picture(i, cell);
        }
        let subcells = f64::from(SUBCELLS * SUBCELLS);
        pictures.iter_mut().for_each(|area| *area /= subcells);
        for y in 0..SUBCELLS {
            for x in 0..SUBCELLS {
                let centre = (UVec2::new(x, y).as_dvec2() + 0.5) / f64::from(SUBCELLS);
                let at = self.canvas(cell.as_dvec2() + centre);
                let seen = members(any & !sure).fold(sure, |seen, i| {
                    seen | u64::from(sees(&self.geometry.cameras[i], &self.geometry.canvas, at))
                        << i
                });
                let bits = [1 << x, 1 << y];
                self.region(seen).add(cell, bits, area / subcells, seen, &pictures);
            }
        }
    }

    fn region(&mut self, set: u64) -> &mut Region {
        let (cells, cameras) = (self.cells, self.geometry.cameras.len());
        self.regions.entry(set).or_insert_with(|| Region::new(cells, cameras))
    }

    /// Returns the area in source pixels of a cell on the border of a picture, from the derivatives at its centre. The
    /// result is 0 if the lens sees only a part of the cell.
    fn area_in_picture(&self, camera: usize, cell: UVec2) -> f64 {
        let Geometry { canvas, cameras } = self.geometry;
        let camera = &cameras[camera];
        let at = |x, y| {
            let at = self.canvas(cell.as_dvec2() + DVec2::new(x, y));
            project(camera, camera.from_ray * ray(canvas, at))
        };
        match [at(0.0, 0.5), at(1.0, 0.5), at(0.5, 0.0), at(0.5, 1.0)] {
            [Some(left), Some(right), Some(top), Some(bottom)] => {
                (right - left).perp_dot(bottom - top).abs()
            }
            _ => 0.0,
        }
    }

    /// Returns the part of the canvas that all cameras of a set see, or `None` if there is none.
    fn common(&self, set: u64) -> Option<Region> {
        let mut matching =
            self.regions.iter().filter(|(seen, _)| *seen & set == set).map(|(_, region)| region);
        let first = matching.next()?.clone();
        Some(matching.fold(first, |mut sum, region| {
            sum.merge(region);
            sum
        }))
    }

    fn overlaps(&self) -> Overlaps {
        let cameras = &self.geometry.cameras;
        let total = self.geometry.canvas.size.as_dvec2().element_product().max(1.0);
        let in_picture = |region: &Region, i: usize| {
            // Rounding may give a little more than the whole picture.
            (region.pictures[i] / cameras[i].size.as_dvec2().element_product()).min(1.0)
        };
        let areas: Vec<_> = (0..cameras.len()).map(|i| self.common(1 << i)).collect();
        let mut pairs = Vec::new();
        for (b, area_b) in areas.iter().enumerate() {
            for (a, area_a) in areas[..b].iter().enumerate() {
                let (Some(area_a), Some(area_b)) = (area_a, area_b) else { continue };
                let Some(both) = self.common(1 << a | 1 << b) else { continue };
                pairs.push(PairOverlap {
                    cameras: [a, b],
                    canvas: both.area / total,
                    smaller: both.area / area_a.area.min(area_b.area),
                    pictures: [a, b].map(|i| in_picture(&both, i)),
                    bounds: self.bounds(&both),
                });
            }
        }
        pairs.sort_by_key(|pair| pair.cameras);
        let meeting = |(set, region): (&u64, &Region)| Meeting {
            cameras: members(*set).collect(),
            canvas: region.area / total,
            bounds: self.bounds(region),
        };
        let sets = self.regions.iter().filter(|(set, _)| set.count_ones() > 2);
        let mut meetings: Vec<_> = sets.map(meeting).collect();
        meetings.sort_by(|a, b| b.canvas.total_cmp(&a.canvas).then(a.cameras.cmp(&b.cameras)));
        let area = |(i, area): (usize, &Option<Region>)| CameraArea {
            canvas: area.as_ref().map_or(0.0, |area| area.area / total),
            picture: area.as_ref().map_or(0.0, |area| in_picture(area, i)),
            bounds: area.as_ref().map(|area| self.bounds(area)),
        };
        Overlaps {
            cameras: areas.iter().enumerate().map(area).collect(),
            pairs,
            groups: self.groups(),
            meetings,
            uncovered: self.regions.get(&0).map_or(0.0, |region| region.area / total),
        }
    }

    /// Returns the groups of cameras that overlaps connect.
    fn groups(&self) -> Vec<Vec<usize>> {
        let mut rest = (0..self.geometry.cameras.len()).fold(0, |all, i| all | 1_u64 << i);
        let mut groups = Vec::new();
        while rest != 0 {
            let mut group = rest & rest.wrapping_neg();
            loop {
                let sets = self.regions.keys().filter(|set| *set & group != 0);
                let grown = sets.fold(group, |grown, set| grown | set);
                if grown == group {
                    break;
                }
                group = grown;
            }
            groups.push(members(group).collect());
            rest &= !group;
        }
        groups
    }

    fn bounds(&self, region: &Region) -> CanvasBox {
        let sub = self.step / f64::from(SUBCELLS);
        let (left, columns) = extent(&region.columns, is_full_circle(&self.geometry.canvas));
        let (top, rows) = extent(&region.rows, false);
        CanvasBox {
            x: f64::from(left) * sub.x,
            y: f64::from(top) * sub.y,
            width: f64::from(columns) * sub.x,
            height: f64::from(rows) * sub.y,
        }
    }
}

/// Returns the area of a polygon with four corners, with the shoelace formula.
fn quad_area([a, b, c, d]: [DVec2; 4]) -> f64 {
    (c - a).perp_dot(d - b).abs() / 2.0
}

/// Returns the first subcell and the number of subcells of the shortest range that contains all set bits. On a circle,
/// the range may continue at the start.
fn extent(bits: &[u8], circle: bool) -> (u32, u32) {
    let many = bits.len() as u32 * SUBCELLS;
    let is_set = |at: &u32| bits[(at / SUBCELLS) as usize] >> (at % SUBCELLS) & 1 == 1;
    let mut set = (0..many).filter(is_set);
    let Some(first) = set.next() else { return (0, 0) };
    // The gaps between neighbouring set bits. The range is the rest of the circle without the longest gap.
    let (mut last, mut gap, mut start) = (first, 0, first);
    for at in set {
        if circle && at - last > gap {
            (gap, start) = (at - last, at);
        }
        last = at;
    }
    let outer = first + many - last;
    if !circle || outer >= gap { (first, last - first + 1) } else { (start, many - gap + 1) }
}

#[cfg(test)]
mod tests;
