//! A warp as a mesh, which is a hundredth of its planes, with a stated error.
//!
//! The panorama is divided into tiles. Where a camera's picture shows a tile is a quadratic map, fitted by least squares
//! to the planes; if that is off by more than is allowed at a pixel where the camera counts, the tile is divided into
//! smaller cells, and where those do not do either, it keeps each pixel's place. Shares of the cameras are kept for each
//! pixel in 16 bits where more than one counts, or not all pixels show one; so seams keep their edges, and whether a
//! camera counts is the same as by the planes.
//!
//! On a grid of n by m pixels the products of discrete Legendre polynomials (Gram, 1883) are orthogonal, so that each
//! coefficient of the fit is one sum.

use std::ops::Range;

use glam::{DVec2, UVec2, Vec2};
use kernels_gpu::mesh;
use shared_types::mesh::{
    CELLS, Layer, MAX_CAMERAS, NO_CAMERA, NONE, Patch, Place, TILE, WHOLE_SHARE,
};
use thiserror::Error;

use super::{DeviceWarp, Plane, RenderError, Warp, check_sizes, counting};
use crate::device::{DeviceError, Stream};
use crate::geometry::Geometry;

/// Most that a coordinate of a mesh may be off if nothing else is asked for, in source pixels.
pub const MESH_ERROR: f32 = 1.0 / 32.0;

/// A mesh cannot be made as asked.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MeshError {
    /// The error is no length.
    #[error("making a mesh: an error of {0} source pixels cannot be kept; give a number over 0")]
    Bound(f32),
    /// A geometry of too few or too many cameras.
    #[error("making a mesh: the geometry has {0} cameras; give two to {MAX_CAMERAS}")]
    Cameras(usize),
    /// The cameras cannot be looked through.
    #[error("making a mesh: {0}")]
    Render(#[from] RenderError),
}

impl From<DeviceError> for MeshError {
    fn from(error: DeviceError) -> Self {
        Self::Render(error.into())
    }
}

/// A warp as a mesh.
#[derive(Clone, Debug, PartialEq)]
pub struct Mesh {
    size: UVec2,
    sources: Vec<UVec2>,
    /// The tiles' first layers, row by row, then those that they name as the next.
    layers: Vec<Layer>,
    patches: Vec<Patch>,
    places: Vec<Place>,
    shares: Vec<u16>,
}

/// What a mesh is made of; see [`Layer`].
pub(super) struct Parts<'a> {
    pub(super) layers: &'a [Layer],
    pub(super) patches: &'a [Patch],
    pub(super) places: &'a [Place],
    pub(super) shares: &'a [u16],
}

impl Mesh {
    /// A mesh whose places are off by at most `error` source pixels along either axis, and whose shares by at most
    /// 1/131,070.
    ///
    /// # Errors
    /// [`MeshError`].
    pub fn new(warp: &Warp, error: f32) -> Result<Self, MeshError> {
        check(error)?;
        Ok(Self::within(warp, error))
    }

    /// A mesh of all cameras of a geometry, two to [`MAX_CAMERAS`], each of which counts as far as it sees beyond a
    /// pixel, by the same bounds. Waits for the stream's device, which works out where they look.
    ///
    /// # Errors
    /// [`MeshError`].
    #[track_caller]
    pub fn render(stream: &Stream, geometry: &Geometry, error: f32) -> Result<Self, MeshError> {
        check(error)?;
        Ok(Self::within(&Cameras::render(stream, geometry)?, error))
    }

    /// As [`new`](Self::new), of an error that is a length.
    pub(super) fn within(looks: &impl Looks, error: f32) -> Self {
        let size = looks.size();
        let tiles = Self::tiles_of(size);
        let mut mesh = Self {
            size,
            sources: looks.sources().to_vec(),
            layers: vec![Layer::BLACK; tiles.element_product() as usize],
            patches: Vec::new(),
            places: Vec::new(),
            shares: Vec::new(),
        };
        for (i, (y, x)) in (0..tiles.y).flat_map(|y| (0..tiles.x).map(move |x| (y, x))).enumerate()
        {
            mesh.add(&Tile::new(looks, UVec2::new(x, y) * TILE), i, error);
        }
        mesh
    }

    /// What it is made of.
    pub(super) fn parts(&self) -> Parts<'_> {
        let Self { layers, patches, places, shares, .. } = self;
        Parts { layers, patches, places, shares }
    }

    /// Size of the panorama in pixels.
    #[must_use]
    pub fn size(&self) -> UVec2 {
        self.size
    }

    /// Sizes of the sources in pixels, camera by camera.
    #[must_use]
    pub fn sources(&self) -> &[UVec2] {
        &self.sources
    }

    /// Bytes of it.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let parts = [
            size_of_val(&self.layers[..]),
            size_of_val(&self.patches[..]),
            size_of_val(&self.places[..]),
            size_of_val(&self.shares[..]),
        ];
        parts.iter().sum::<usize>() as u64
    }

    /// How many layers have cells of each size, from the largest on, and last how many keep each pixel's place.
    #[must_use]
    pub fn divisions(&self) -> [usize; CELLS.len() + 1] {
        let mut counts = [0; CELLS.len() + 1];
        for layer in self.layers.iter().filter(|layer| layer.camera != NO_CAMERA) {
            let kind = CELLS.iter().position(|cell| *cell == u32::from(layer.cell));
            counts[kind.unwrap_or(CELLS.len())] += 1;
        }
        counts
    }

    /// Which cameras a panorama pixel shows: of each its number, the place in its picture, and its share.
    ///
    /// # Panics
    /// If the pixel is not in the panorama.
    pub fn at(&self, pixel: UVec2) -> impl Iterator<Item = (usize, Vec2, f32)> {
        assert!(pixel.cmplt(self.size).all(), "{pixel} is not in a panorama of {}", self.size);
        let (tile, UVec2 { x, y }) = (pixel / TILE, pixel % TILE);
        let first = (tile.y * Self::tiles_of(self.size).x + tile.x) as usize;
        let chain = std::iter::successors(self.layers.get(first), |layer| {
            self.layers.get(layer.next as usize)
        });
        let in_tile = (y * TILE + x) as usize;
        chain.filter(|layer| layer.camera != NO_CAMERA).filter_map(move |layer| {
            let share = match layer.shares {
                NONE => 1.0,
                first => f32::from(self.shares[first as usize + in_tile]) / WHOLE_SHARE,
            };
            let place = match u32::from(layer.cell) {
                0 => self.places[layer.places as usize + in_tile].0,
                TILE => mesh::place(&layer.patch, x, y),
                cell => {
                    let patch = layer.places + y / cell * (TILE / cell) + x / cell;
                    mesh::place(&self.patches[patch as usize], x, y)
                }
            };
            (share > 0.0).then_some((layer.camera.into(), place, share))
        })
    }

    /// Columns and rows of a panorama's tiles.
    pub(super) fn tiles_of(size: UVec2) -> UVec2 {
        UVec2::new(size.x.div_ceil(TILE), size.y.div_ceil(TILE))
    }

    /// Adds a tile's layers, the first at `first`.
    fn add(&mut self, tile: &Tile<'_, impl Looks>, first: usize, error: f32) {
        let seen = |camera: &usize| tile.pixels().any(|at| tile.weight(*camera, at) > 0.0);
        let mut last = None;
        for camera in (0..self.sources.len()).filter(seen) {
            let alone = tile.pixels().all(|at| tile.share(camera, at) == 1.0);
            let shares = if alone {
                NONE
            } else {
                let first = self.shares.len() as u32;
                self.shares.extend(tile.whole().map(|at| {
                    at.map_or(0, |at| {
                        (tile.share(camera, at) * f64::from(WHOLE_SHARE)).round() as u16
                    })
                }));
                first
            };
            let layer = Layer { camera: camera as u16, shares, ..self.fit(tile, camera, error) };
            last = Some(match last {
                None => {
                    self.layers[first] = layer;
                    first
                }
                Some(last) => {
                    let next = self.layers.len();
                    let before: &mut Layer = &mut self.layers[last];
                    before.next = next as u32;
                    self.layers.push(layer);
                    next
                }
            });
        }
    }

    /// A layer of a camera's places in a tile, by cells as large as may be, whose patches or places are added.
    fn fit(&mut self, tile: &Tile<'_, impl Looks>, camera: usize, error: f32) -> Layer {
        if let Some(patch) = tile.patch(camera, UVec2::ZERO, TILE, error) {
            return Layer { cell: TILE as u16, patch, ..Layer::BLACK };
        }
        let first = self.patches.len();
        'cells: for cell in CELLS.into_iter().skip(1) {
            for corner in (0..TILE)
                .step_by(cell as usize)
                .flat_map(|y| (0..TILE).step_by(cell as usize).map(move |x| UVec2::new(x, y)))
            {
                let Some(patch) = tile.patch(camera, corner, cell, error) else {
                    self.patches.truncate(first);
                    continue 'cells;
                };
                self.patches.push(patch);
            }
            return Layer { cell: cell as u16, places: first as u32, ..Layer::BLACK };
        }
        let first = self.places.len() as u32;
        let place = |at: Option<usize>| at.map_or(Vec2::ZERO, |at| tile.place(camera, at));
        self.places.extend(tile.whole().map(place).map(Place));
        Layer { cell: 0, places: first, ..Layer::BLACK }
    }
}

/// Checks an error that is asked for.
fn check(error: f32) -> Result<(), MeshError> {
    // A NaN is not over 0.
    if error > 0.0 && error.is_finite() { Ok(()) } else { Err(MeshError::Bound(error)) }
}

/// What a mesh is made of: for each camera where it shows a panorama's pixels, and how much it counts there.
pub(super) trait Looks {
    /// Size of the panorama.
    fn size(&self) -> UVec2;

    /// Sizes of the cameras' pictures.
    fn sources(&self) -> &[UVec2];

    /// Where a camera's picture shows an element of the planes.
    fn place(&self, camera: usize, at: usize) -> Vec2;

    /// How much a camera counts at an element of the planes; `None` where it does not.
    fn counts(&self, camera: usize, at: usize) -> Option<f32>;
}

impl Looks for Warp {
    fn size(&self) -> UVec2 {
        Warp::size(self)
    }

    fn sources(&self) -> &[UVec2] {
        &self.sources
    }

    fn place(&self, camera: usize, at: usize) -> Vec2 {
        Vec2::from(self.source(camera, at))
    }

    fn counts(&self, camera: usize, at: usize) -> Option<f32> {
        Warp::counts(self, camera, at)
    }
}

/// The cameras of a geometry.
struct Cameras {
    size: UVec2,
    sources: Vec<UVec2>,
    /// Of each camera columns, rows and weights.
    planes: Vec<[Vec<f32>; 3]>,
}

impl Cameras {
    #[track_caller]
    fn render(stream: &Stream, geometry: &Geometry) -> Result<Self, MeshError> {
        let Geometry { canvas, cameras } = geometry;
        if !(2..=MAX_CAMERAS).contains(&cameras.len()) {
            return Err(MeshError::Cameras(cameras.len()));
        }
        let sources: Vec<_> = cameras.iter().map(|camera| camera.size).collect();
        let mut planes = Vec::with_capacity(cameras.len());
        for two in cameras.chunks(2) {
            let two = [two[0], two[two.len() - 1]];
            check_sizes(canvas.size, two.map(|camera| camera.size)).map_err(RenderError::from)?;
            let warp = DeviceWarp::margins(stream, canvas.size, two.map(|c| (*canvas, c)))?;
            let plane = |plane| warp.plane(plane).download(stream);
            planes.push([plane(Plane::LeftX)?, plane(Plane::LeftY)?, plane(Plane::WeightLeft)?]);
            if planes.len() < cameras.len() {
                planes.push([
                    plane(Plane::RightX)?,
                    plane(Plane::RightY)?,
                    plane(Plane::WeightRight)?,
                ]);
            }
        }
        for at in 0..canvas.size.element_product() as usize {
            let whole: f32 = planes.iter().map(|[.., margin]| margin[at]).sum();
            for [.., weight] in &mut planes {
                weight[at] = if whole > 0.0 { weight[at] / whole } else { 0.0 };
            }
        }
        Ok(Self { size: canvas.size, sources, planes })
    }
}

impl Looks for Cameras {
    fn size(&self) -> UVec2 {
        self.size
    }

    fn sources(&self) -> &[UVec2] {
        &self.sources
    }

    fn place(&self, camera: usize, at: usize) -> Vec2 {
        let [x, y, _] = &self.planes[camera];
        Vec2::new(x[at], y[at])
    }

    fn counts(&self, camera: usize, at: usize) -> Option<f32> {
        let weight = self.planes[camera][2][at];
        counting(self.place(camera, at), weight, self.sources[camera])
    }
}

/// A tile of a panorama.
struct Tile<'a, L> {
    looks: &'a L,
    corner: UVec2,
    /// Columns and rows of it that are in the panorama.
    size: UVec2,
}

impl<'a, L: Looks> Tile<'a, L> {
    fn new(looks: &'a L, corner: UVec2) -> Self {
        Self { looks, corner, size: (looks.size() - corner).min(UVec2::splat(TILE)) }
    }

    /// Its pixels as elements of the planes, also those that are beyond the panorama.
    fn whole(&self) -> impl Iterator<Item = Option<usize>> + use<'_, L> {
        (0..TILE)
            .flat_map(move |y| (0..TILE).map(move |x| UVec2::new(x, y)))
            .map(|pixel| pixel.cmplt(self.size).all().then(|| self.element(pixel)))
    }

    /// Those within.
    fn pixels(&self) -> impl Iterator<Item = usize> + use<'_, L> {
        self.whole().flatten()
    }

    fn element(&self, pixel: UVec2) -> usize {
        let UVec2 { x, y } = self.corner + pixel;
        y as usize * self.looks.size().x as usize + x as usize
    }

    fn place(&self, camera: usize, at: usize) -> Vec2 {
        self.looks.place(camera, at)
    }

    fn weight(&self, camera: usize, at: usize) -> f64 {
        self.looks.counts(camera, at).map_or(0.0, f64::from)
    }

    /// A camera's share of the weights of those that count.
    fn share(&self, camera: usize, at: usize) -> f64 {
        let whole: f64 =
            (0..self.looks.sources().len()).map(|camera| self.weight(camera, at)).sum();
        if whole > 0.0 { self.weight(camera, at) / whole } else { 0.0 }
    }

    /// The quadratic map that is nearest to a camera's places in a cell, if it is near enough where the camera counts.
    fn patch(&self, camera: usize, corner: UVec2, cell: u32, error: f32) -> Option<Patch> {
        let end = (corner + cell).min(self.size);
        if corner.cmpge(end).any() {
            return Some(Patch::default());
        }
        let (columns, rows) = (corner.x..end.x, corner.y..end.y);
        let pixels = || rows.clone().flat_map(|y| columns.clone().map(move |x| UVec2::new(x, y)));
        let counts = |pixel: &UVec2| self.weight(camera, self.element(*pixel)) > 0.0;
        if !pixels().any(|pixel| counts(&pixel)) {
            return Some(Patch::default());
        }
        let patch = fitted(columns.clone(), rows.clone(), |x, y| {
            self.place(camera, self.element(UVec2::new(x, y))).as_dvec2()
        });
        let near = |pixel: UVec2| {
            let off =
                mesh::place(&patch, pixel.x, pixel.y) - self.place(camera, self.element(pixel));
            off.abs().max_element() <= error
        };
        pixels().filter(counts).all(near).then_some(patch)
    }
}

/// The quadratic map nearest to `place`, by least squares over some columns and rows of a tile.
fn fitted(columns: Range<u32>, rows: Range<u32>, place: impl Fn(u32, u32) -> DVec2) -> Patch {
    let (along, down) = (Legendre::over(&columns), Legendre::over(&rows));
    // Of products of degree i along x and j along y.
    let mut sums = [[DVec2::ZERO; 3]; 3];
    for y in rows {
        let mut row = [DVec2::ZERO; 3];
        for x in columns.clone() {
            let place = place(x, y);
            let values = along.at(x);
            for i in 0..3 {
                row[i] += place * values[i];
            }
        }
        let values = down.at(y);
        for i in 0..3 {
            for j in 0..3 - i {
                sums[i][j] += row[i] * values[j];
            }
        }
    }
    let mut powers = [[DVec2::ZERO; 3]; 3];
    for (i, sums) in sums.into_iter().enumerate() {
        // Those of higher degree are 0.
        for (j, sum) in sums.into_iter().enumerate() {
            for (powers, x) in powers.iter_mut().zip(along.powers(i)) {
                for (power, y) in powers.iter_mut().zip(down.powers(j)) {
                    *power += sum * (x * y);
                }
            }
        }
    }
    let [[c, y, yy], [x, xy, _], [xx, ..]] = powers;
    let of = |axis: fn(DVec2) -> f64| [c, x, y, xx, xy, yy].map(|power| axis(power) as f32);
    Patch { u: of(|p| p.x), v: of(|p| p.y) }
}

/// The first three discrete Legendre polynomials over a range of pixels, of length 1: 1, t and t² − (n² − 1)/12, of how
/// far t a pixel is from the middle of n. Those that vanish on so few are left out.
struct Legendre {
    /// From the middle of the tile to that of the range.
    middle: f64,
    second: f64,
    /// 1 / length.
    scales: [f64; 3],
}

impl Legendre {
    fn over(range: &Range<u32>) -> Self {
        let n = f64::from(range.end - range.start);
        let middle = 0.5 * (f64::from(range.start) + f64::from(range.end) - f64::from(TILE));
        let squares = [n, n * (n * n - 1.0) / 12.0, n * (n * n - 1.0) * (n * n - 4.0) / 180.0];
        let scales = squares.map(|square| if square > 0.0 { 1.0 / square.sqrt() } else { 0.0 });
        Self { middle, second: (n * n - 1.0) / 12.0, scales }
    }

    /// Their values at a pixel of the tile.
    fn at(&self, pixel: u32) -> [f64; 3] {
        let t = f64::from(pixel) - 0.5 * f64::from(TILE - 1) - self.middle;
        [self.scales[0], self.scales[1] * t, self.scales[2] * (t * t - self.second)]
    }

    /// One of them as coefficients of powers of how far a pixel is from the tile's middle.
    fn powers(&self, degree: usize) -> [f64; 3] {
        let (m, scale) = (self.middle, self.scales[degree]);
        match degree {
            0 => [scale, 0.0, 0.0],
            1 => [-m * scale, scale, 0.0],
            _ => [(m * m - self.second) * scale, -2.0 * m * scale, scale],
        }
    }
}
