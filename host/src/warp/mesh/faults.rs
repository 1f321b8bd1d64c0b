//! Checks that a mesh from a file is valid and agrees with the planes in the file.
//!
//! Wrong indices would be dangerous:
//! - Kernels use the indices without checks, so they would access memory out of bounds.
//! - [`Mesh::at`] would panic or loop forever.
//! - The kernel that rewrites shares uses one block per tile, so two blocks would write the same share.
//!
//! Therefore each index must have the one value that follows from the order of the tiles. Then all indices are in
//! range, the chains of layers end, and no two layers use the same element. After this check, the mesh is compared with
//! the planes at each pixel. Where a camera has no weight, its coordinates are not compared, because no panorama
//! uses them: seams and fades give a camera no pixel in which it has no weight.

use glam::UVec2;
use shared_types::stitch::mesh::{CELLS, Layer, NO_CAMERA, NONE, REST, TILE, WHOLE_SHARE};

use super::Mesh;
use super::bands::{bands, each_band};
use super::fit::{Tile, corners, is_near};
use super::looks::Looks;
use crate::warp::mesh::part::MeshPart;

/// A mesh from a file is invalid, or does not agree with its planes.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields of each variant are explained by its message")]
pub enum MeshFault {
    /// A layer refers to an invalid camera, or the cameras of a tile are not in ascending order.
    #[error(
        "layer {layer} of the mesh has camera {found}; it must be a camera of the warp (from 0), and cameras must be in ascending order within a tile: make the warp again"
    )]
    Camera { layer: usize, found: u32 },
    /// A layer's cell size is invalid.
    #[error(
        "layer {layer} of the mesh has cells of {found} pixels; the size must be {}, {} or {}, or 0 for places: make the warp again",
        CELLS[0], CELLS[1], CELLS[2]
    )]
    Cell { layer: usize, found: u32 },
    /// A layer refers to a different element than the order of the elements requires.
    #[error(
        "layer {layer} of the mesh refers to element {found} of {part}, but must refer to {expected} ({NONE} means no element); make the warp again"
    )]
    Index { layer: usize, part: &'static str, found: u32, expected: u32 },
    /// A tensor of the mesh has more or fewer elements than the layers use.
    #[error(
        "tensor {part} has {found} elements, but the layers of the mesh need {expected}; make the warp again"
    )]
    Count { part: &'static str, found: usize, expected: usize },
    /// A coefficient or a source coordinate of the mesh is NaN or infinite.
    #[error("number {at} of tensor {part} is {value}; it must be finite: make the warp again")]
    NotFinite { part: &'static str, at: usize, value: f32 },
    /// The source coordinates of the mesh differ from the planes by more than the error that the mesh states.
    #[error(
        "the source coordinates of camera {camera} at column {x}, row {y} differ by {off} pixels between mesh and planes, but the mesh states an error of at most {error} pixels; make the warp again"
    )]
    Place { camera: usize, x: u32, y: u32, off: f32, error: f32 },
    /// A camera's share in the mesh differs from its share according to the weight planes.
    #[error(
        "at column {x}, row {y}, the share of camera {camera} is {found} in the mesh, but {expected} according to the weight planes; make the warp again"
    )]
    Share { camera: usize, x: u32, y: u32, found: f64, expected: f64 },
}

/// The number of elements of each mesh array that the layers checked so far refer to.
struct Taken {
    layers: usize,
    patches: usize,
    places: usize,
    shares: usize,
}

impl Mesh {
    /// Checks all numbers and indices of a mesh from a file. The indices must not be used before this check.
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

    /// Compares the mesh with the coordinates and weights in `looks` at each pixel. The contributing cameras and their
    /// rounded shares must be the same, and the source coordinates must agree within the error that the mesh states.
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
        // In most tiles, one camera alone contributes to all pixels, or no camera contributes. These tiles have no
        // shares in the mesh, so they need no check per pixel.
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

    /// Checks the share of each camera at a pixel of a tile. A camera without a layer must have a share of 0.
    fn check_shares(&self, tile: &Tile<'_>, first: usize, pixel: UVec2) -> Result<(), MeshFault> {
        for camera in 0..self.sources.len() {
            let is_this =
                |(_, (layer, _)): &(usize, (&Layer, u16))| usize::from(layer.camera) == camera;
            // The mesh rounds a share to 16 bits, so it differs from the exact value by at most 0.5. The last layer has
            // the rest, which contains the errors of all layers before it.
            let (found, rounded) = match self.shown(first, pixel).enumerate().find(is_this) {
                Some((before, (layer, share))) if layer.shares == REST => (share, before.max(1)),
                Some((_, (_, share))) => (share, 1),
                None => (0, 1),
            };
            let (found, whole) = (f64::from(found), f64::from(WHOLE_SHARE));
            let expected = tile.share(camera, pixel);
            // The extra 0.000001 allows for rounding errors in f64.
            if (found - expected * whole).abs() > 0.5 * rounded as f64 + 0.000_001 {
                let (UVec2 { x, y }, found) = (tile.corner + pixel, found / whole);
                return Err(MeshFault::Share { camera, x, y, found, expected });
            }
        }
        Ok(())
    }

    /// Returns the first pixel of a tile at which a layer's source coordinates deviate from the planes by more than the
    /// error that the mesh states. Returns `None` if there is no such pixel.
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
    /// Checks the layer with the index `at`, and returns the index of the tile's next layer, if any. The camera of the
    /// layer must be at least `least` and less than `cameras`. Sets `least` to the lowest camera that the next layer
    /// may have.
    fn check(
        &mut self,
        at: usize,
        layer: &Layer,
        least: &mut usize,
        cameras: usize,
    ) -> Result<Option<usize>, MeshFault> {
        let (camera, black) = (usize::from(layer.camera), layer.camera == NO_CAMERA);
        // Only a tile's first layer may be black.
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
            // `REST`: the layer's share is 1 minus the shares of the tile's earlier layers. So it is invalid in the
            // first layer.
            REST if !is_first => false,
            found => {
                let take = if is_first && (black || found == NONE) { 0 } else { pixels };
                named(at, MeshPart::Shares, found, &mut self.shares, take)?;
                take > 0
            }
        };
        // A layer that stores no shares must be the last one of its tile.
        let (next, take) = (self.layers, usize::from(shared && layer.next != NONE));
        named(at, MeshPart::Layers, layer.next, &mut self.layers, take)?;
        Ok((take > 0).then_some(next))
    }
}

/// Checks that the index `found` in a layer is the only valid one. `taken` is the number of elements that earlier
/// layers use, and `take` is the number that this layer uses. So `found` must be `taken`, or [`NONE`] if `take` is 0.
/// Adds `take` to `taken`.
fn named(
    layer: usize,
    part: MeshPart,
    found: u32,
    taken: &mut usize,
    take: usize,
) -> Result<(), MeshFault> {
    // This cast is exact: even the mesh of the largest allowed panorama has fewer than 2³² elements.
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

#[cfg(test)]
mod tests {
    use glam::{DMat3, DVec2, uvec2};

    use crate::device::Device;
    use crate::geometry::{Camera, Canvas, Geometry};
    use crate::warp::{DeviceWarp, MESH_ERROR, Mesh};

    /// Up to 16 cameras share pixels unequally, so the share of the last layer contains many rounding errors.
    #[test]
    fn meshes_of_shared_pixels_match_their_planes() {
        let stream = Device::cpu().stream().unwrap();
        for count in [2, 3, 4, 7, 16] {
            let camera = |i| {
                let place = DVec2::new(-7.3 * f64::from(i), -3.1 * f64::from(i));
                Camera::from_matrix(DMat3::from_translation(place), uvec2(200, 150))
            };
            let cameras = (0..count).map(camera).collect();
            let canvas = Canvas::of_pixels(DVec2::ZERO, uvec2(330, 210));
            let warp = DeviceWarp::render(&stream, &Geometry { canvas, cameras }).unwrap();
            let warp = warp.download(&stream).unwrap();
            let mesh = Mesh::new(&warp, MESH_ERROR).unwrap();
            mesh.check_parts().unwrap();
            mesh.check_against(&(&warp).into()).unwrap();
        }
    }
}
