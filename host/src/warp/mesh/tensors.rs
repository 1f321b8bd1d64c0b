//! Converts a mesh to and from the tensors that follow the planes in a warp file.
//!
//! The module `warp::file` describes the tensors in a table. All numbers are little-endian. The module `faults` checks
//! the contents of a mesh after it was read.

use glam::{UVec2, vec2};
use shared_types::stitch::mesh::{Layer, Patch, SourcePoint, TILE};

use super::{Mesh, MeshFault};
use crate::warp::bytes::{bytes_of, numbers_of};
use crate::warp::mesh::part::FIELDS;
use crate::warp::mesh::part::MeshPart;

impl Mesh {
    /// Returns the number of elements of each tensor, in file order.
    pub(in crate::warp) fn counts(&self) -> [usize; MeshPart::ALL.len()] {
        let (layers, in_tile) = (self.layers.len(), (TILE * TILE) as usize);
        let (places, shares) = (self.places.len() / in_tile, self.shares.len() / in_tile);
        [layers, layers, self.patches.len(), places, shares]
    }

    /// Passes the bytes of a tensor to `sink`, in pieces.
    pub(in crate::warp) fn pack<E>(
        &self,
        part: MeshPart,
        sink: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let floats = |floats: &[f32], sink| bytes_of(floats, f32::to_le_bytes, sink);
        match part {
            MeshPart::Layers => {
                let fields = |layer: &Layer| {
                    let Layer { camera, cell, places, shares, next, .. } = *layer;
                    [camera.into(), cell.into(), places, shares, next]
                };
                let fields: Vec<u32> = self.layers.iter().flat_map(fields).collect();
                bytes_of(&fields, u32::to_le_bytes, sink)
            }
            MeshPart::LayerPatches => {
                let patches: Vec<_> = self.layers.iter().map(|layer| layer.patch).collect();
                floats(bytemuck::cast_slice(&patches), sink)
            }
            MeshPart::Patches => floats(bytemuck::cast_slice(&self.patches), sink),
            MeshPart::Places => floats(bytemuck::cast_slice(&self.places), sink),
            MeshPart::Shares => bytes_of(&self.shares, u16::to_le_bytes, sink),
        }
    }
}

/// The numbers of a mesh that were read from a file and not checked yet.
#[derive(Default)]
pub(in crate::warp) struct Unpacked {
    layers: Vec<u32>,
    layer_patches: Vec<f32>,
    patches: Vec<f32>,
    places: Vec<f32>,
    shares: Vec<u16>,
}

impl Unpacked {
    /// Appends the numbers in `bytes`, a piece of the tensor `part`. The piece must not end in the middle of a number.
    pub(in crate::warp) fn take(&mut self, part: MeshPart, bytes: &[u8]) {
        let floats = match part {
            MeshPart::Layers => {
                return self.layers.extend(numbers_of(bytes, u32::from_le_bytes));
            }
            MeshPart::Shares => {
                return self.shares.extend(numbers_of(bytes, u16::from_le_bytes));
            }
            MeshPart::LayerPatches => &mut self.layer_patches,
            MeshPart::Patches => &mut self.patches,
            MeshPart::Places => &mut self.places,
        };
        floats.extend(numbers_of(bytes, f32::from_le_bytes));
    }

    /// Converts the numbers to a mesh for a panorama of `size` pixels and source pictures of `sources` pixels. Returns
    /// an error if a number or an index is invalid. Does not compare the mesh with the planes.
    pub(in crate::warp) fn checked(
        self,
        size: UVec2,
        sources: &[UVec2],
        error: f32,
    ) -> Result<Mesh, MeshFault> {
        let (layers, _) = self.layers.as_chunks::<FIELDS>();
        let layers = layers.iter().zip(patches_of(&self.layer_patches)).enumerate();
        let layer = |(at, (fields, patch)): (usize, (&[u32; FIELDS], _))| {
            let [camera, cell, places, shares, next] = *fields;
            // A number that does not fit u16 is neither a valid camera nor a valid cell size.
            let camera = u16::try_from(camera)
                .map_err(|_| MeshFault::Camera { layer: at, found: camera })?;
            let cell =
                u16::try_from(cell).map_err(|_| MeshFault::Cell { layer: at, found: cell })?;
            Ok(Layer { camera, cell, places, shares, next, patch })
        };
        let layers = layers.map(layer).collect::<Result<_, _>>()?;
        let (places, _) = self.places.as_chunks();
        let mesh = Mesh {
            size,
            sources: sources.to_vec(),
            error,
            layers,
            patches: patches_of(&self.patches).collect(),
            places: places.iter().map(|&[x, y]| SourcePoint(vec2(x, y))).collect(),
            shares: self.shares,
        };
        mesh.check_parts()?;
        Ok(mesh)
    }
}

fn patches_of(numbers: &[f32]) -> impl Iterator<Item = Patch> {
    let (axes, _) = numbers.as_chunks();
    let (patches, _) = axes.as_chunks();
    patches.iter().map(|&[u, v]| Patch { u, v })
}
