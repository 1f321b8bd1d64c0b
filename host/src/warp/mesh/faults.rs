//! Whether a mesh that was read is one, and that of the planes it came with.
//!
//! Kernels and [`Mesh::at`] use indices as they are, and kernels that give a mesh other weights write each tile's shares
//! from another block. So all indices must be exactly those that follow from the order of the tiles: they lie within,
//! chains end, and no two layers have anything in common. Then each pixel is held against the planes.

use glam::UVec2;
use shared_types::stitch::mesh::{CELLS, Layer, NO_CAMERA, NONE, REST, TILE, WHOLE_SHARE};

use super::Mesh;
use super::bands::{bands, each_band};
use super::fit::{Tile, corners, is_near};
use super::looks::Looks;
use super::tensors::MeshPart;

/// What can be wrong with the mesh of a file.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields of each variant are explained by its message")]
pub enum MeshFault {
    /// A layer is of no camera, or of one that may not follow the tile's last one.
    #[error(
        "layer {layer} of the mesh is of camera {found}; must be 0 or 1, and in a tile each once and in order"
    )]
    Camera { layer: usize, found: u32 },
    /// A layer's cells are of no size that there is.
    #[error(
        "layer {layer} of the mesh has cells of {found} pixels; must be one of {CELLS:?}, or 0 for places"
    )]
    Cell { layer: usize, found: u32 },
    /// An index of a layer is not that of what follows next.
    #[error(
        "layer {layer} of the mesh names {found} of {part}; by the order of the tiles it must be {expected}"
    )]
    Index { layer: usize, part: &'static str, found: u32, expected: u32 },
    /// There is more or less than the layers name.
    #[error("{part} has {found} elements; the layers of the mesh take {expected}")]
    Count { part: &'static str, found: usize, expected: usize },
    /// A number is NaN or infinite.
    #[error("{part} is {value} at number {at}; must be a finite number")]
    NotFinite { part: &'static str, at: usize, value: f32 },
    /// The mesh is not that of the planes: it shows another place.
    #[error(
        "the mesh is {off} source pixels off the planes of camera {camera} at column {x}, row {y}; states at most {error}: make the warp again"
    )]
    Place { camera: usize, x: u32, y: u32, off: f32, error: f32 },
    /// The mesh is not that of the planes: a camera counts more or less.
    #[error(
        "the mesh gives camera {camera} a share of {found} at column {x}, row {y}; by the planes it is {expected}: make the warp again"
    )]
    Share { camera: usize, x: u32, y: u32, found: f64, expected: f64 },
}

/// How much of each part the tiles so far take: what the next layer's are behind.
struct Taken {
    layers: usize,
    patches: usize,
    places: usize,
    shares: usize,
}

impl Mesh {
    /// Checks numbers, and indices before they are used.
    pub(super) fn check_parts(&self) -> Result<(), MeshFault> {
        let tiles = Self::tiles_of(self.size).element_product() as usize;
        let count = |part: MeshPart, found, expected| {
            let part = part.name();
            if found == expected { Ok(()) } else { Err(MeshFault::Count { part, found, expected }) }
        };
        if self.layers.len() < tiles {
            return count(MeshPart::Layers, self.layers.len(), tiles);
        }
        let mut taken = Taken { layers: tiles, patches: 0, places: 0, shares: 0 };
        for tile in 0..tiles {
            let mut at = tile;
            let mut least = 0;
            while let Some(next) =
                taken.check(at, &self.layers[at], &mut least, self.sources.len())?
            {
                if next >= self.layers.len() {
                    return count(MeshPart::Layers, self.layers.len(), next + 1);
                }
                at = next;
            }
        }
        count(MeshPart::Layers, self.layers.len(), taken.layers)?;
        count(MeshPart::Patches, self.patches.len(), taken.patches)?;
        count(MeshPart::Places, self.places.len(), taken.places)?;
        count(MeshPart::Shares, self.shares.len(), taken.shares)?;
        let patches: Vec<_> = self.layers.iter().map(|layer| layer.patch).collect();
        check_finite(MeshPart::LayerPatches, bytemuck::cast_slice(&patches))?;
        check_finite(MeshPart::Patches, bytemuck::cast_slice(&self.patches))?;
        check_finite(MeshPart::Places, bytemuck::cast_slice(&self.places))
    }

    /// Holds each pixel against what the mesh is to be made of: whether the same cameras count, by how much, and whether
    /// they show the same places to within its error.
    pub(in crate::warp) fn check_against(&self, looks: &Looks<'_>) -> Result<(), MeshFault> {
        let tiles = Self::tiles_of(self.size);
        let check = |x, y| {
            let first = (y * tiles.x + x) as usize;
            self.check_tile(&Tile::new(looks, UVec2::new(x, y) * TILE), first)
        };
        let of_bands = each_band(tiles.y, bands(), |mut rows| {
            rows.try_for_each(|y| (0..tiles.x).try_for_each(|x| check(x, y)))
        });
        of_bands.into_iter().collect()
    }

    fn check_tile(&self, tile: &Tile<'_>, first: usize) -> Result<(), MeshFault> {
        let mut cameras = 0..self.sources.len();
        // Most tiles are clear without a look at the weights of their pixels.
        let is_clear = match self.chain(first).next() {
            None => !cameras.any(|camera| tile.is_seen(camera)),
            Some(layer) => layer.shares == NONE && tile.is_alone(layer.camera.into()),
        };
        if !is_clear {
            tile.pixels().try_for_each(|pixel| self.check_shares(tile, first, pixel))?;
        }
        for layer in self.chain(first) {
            if let Some(pixel) = self.far(tile, layer) {
                let (camera, UVec2 { x, y }) = (layer.camera.into(), tile.corner + pixel);
                let off = self.place(layer, pixel).distance(tile.place(camera, pixel));
                return Err(MeshFault::Place { camera, x, y, off, error: self.error });
            }
        }
        Ok(())
    }

    /// Whether each camera counts at a pixel of a tile as much as its layer says, if it has one.
    fn check_shares(&self, tile: &Tile<'_>, first: usize, pixel: UVec2) -> Result<(), MeshFault> {
        for camera in 0..self.sources.len() {
            let is_this = |(layer, _): &(&Layer, u16)| usize::from(layer.camera) == camera;
            let found = self.shown(first, pixel).find(is_this).map_or(0, |(_, share)| share);
            let (found, whole) = (f64::from(found), f64::from(WHOLE_SHARE));
            let expected = tile.share(camera, pixel);
            // As near as 16 bits come; what one camera leaves is rounded twice.
            if (found - expected * whole).abs() > 0.500_001 {
                let (UVec2 { x, y }, found) = (tile.corner + pixel, found / whole);
                return Err(MeshFault::Share { camera, x, y, found, expected });
            }
        }
        Ok(())
    }

    /// The first pixel of a tile that a layer shows farther off than the mesh may be.
    fn far(&self, tile: &Tile<'_>, layer: &Layer) -> Option<UVec2> {
        let (camera, first, error) = (layer.camera.into(), layer.places as usize, self.error);
        match u32::from(layer.cell) {
            0 => tile.pixels().find(|pixel| {
                let places = [self.place(layer, *pixel), tile.place(camera, *pixel)];
                tile.weight(camera, *pixel) > 0.0 && !is_near(places[0], places[1], error)
            }),
            TILE => tile.far(camera, &layer.patch, UVec2::ZERO, TILE, error),
            cell => {
                let patches = &self.patches[first..];
                corners(cell)
                    .zip(patches)
                    .find_map(|(corner, patch)| tile.far(camera, patch, corner, cell, error))
            }
        }
    }
}

impl Taken {
    /// Checks a layer whose camera is at least `least` of `cameras`, and gives its next one.
    fn check(
        &mut self,
        at: usize,
        layer: &Layer,
        least: &mut usize,
        cameras: usize,
    ) -> Result<Option<usize>, MeshFault> {
        let (camera, black) = (usize::from(layer.camera), layer.camera == NO_CAMERA);
        // Only a tile's first layer may be black, or alone.
        let is_first = *least == 0;
        let fits = if black { is_first } else { (*least..cameras).contains(&camera) };
        if !fits {
            return Err(MeshFault::Camera { layer: at, found: layer.camera.into() });
        }
        *least = camera + 1;
        let pixels = (TILE * TILE) as usize;
        let cells = match u32::from(layer.cell) {
            0 => None,
            cell if CELLS.contains(&cell) && !(black && cell != TILE) => Some(TILE / cell),
            found => return Err(MeshFault::Cell { layer: at, found }),
        };
        let (part, taken, take) = match cells {
            None => (MeshPart::Places, &mut self.places, pixels),
            Some(1) => (MeshPart::Patches, &mut self.patches, 0),
            Some(cells) => (MeshPart::Patches, &mut self.patches, (cells * cells) as usize),
        };
        named(at, part, layer.places, taken, take)?;
        let shared = match layer.shares {
            // What the others leave; where there are none, it would be all.
            REST if !is_first => false,
            found => {
                let take = if is_first && (black || found == NONE) { 0 } else { pixels };
                named(at, MeshPart::Shares, found, &mut self.shares, take)?;
                take > 0
            }
        };
        // Where a camera is alone, or takes what is left, none comes next.
        let (next, take) = (self.layers, usize::from(shared && layer.next != NONE));
        named(at, MeshPart::Layers, layer.next, &mut self.layers, take)?;
        Ok((take > 0).then_some(next))
    }
}

/// Checks an index of a layer, and takes so many of what it names; none if it names nothing.
fn named(
    layer: usize,
    part: MeshPart,
    found: u32,
    taken: &mut usize,
    take: usize,
) -> Result<(), MeshFault> {
    // Indices are u32 in memory; what is taken fits, or the index is another.
    let expected = if take == 0 { NONE } else { *taken as u32 };
    if found != expected {
        return Err(MeshFault::Index { layer, part: part.name(), found, expected });
    }
    *taken += take;
    Ok(())
}

fn check_finite(part: MeshPart, values: &[f32]) -> Result<(), MeshFault> {
    match values.iter().position(|value| !value.is_finite()) {
        Some(at) => Err(MeshFault::NotFinite { part: part.name(), at, value: values[at] }),
        None => Ok(()),
    }
}
