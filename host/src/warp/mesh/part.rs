//! The names, types and shapes of the tensors that store a mesh in a warp file.

use safetensors::tensor::Dtype;
use shared_types::stitch::mesh::{CELLS, TILE};
use std::ops::RangeInclusive;

/// The number of fields of a stored layer, not counting its patch: camera, cell, places, shares, next.
pub(super) const FIELDS: usize = 5;

/// A tensor that stores a part of a mesh in a warp file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::warp) enum MeshPart {
    Layers,
    LayerPatches,
    Patches,
    Places,
    Shares,
}

impl MeshPart {
    /// All tensors in file order.
    pub(in crate::warp) const ALL: [Self; 5] =
        [Self::Layers, Self::LayerPatches, Self::Patches, Self::Places, Self::Shares];

    /// Returns the name of the tensor in warp files.
    pub(in crate::warp) const fn name(self) -> &'static str {
        match self {
            Self::Layers => "mesh_layers",
            Self::LayerPatches => "mesh_layer_patches",
            Self::Patches => "mesh_patches",
            Self::Places => "mesh_places",
            Self::Shares => "mesh_shares",
        }
    }

    pub(in crate::warp) const fn dtype(self) -> Dtype {
        match self {
            Self::Layers => Dtype::U32,
            Self::LayerPatches | Self::Patches | Self::Places => Dtype::F32,
            Self::Shares => Dtype::U16,
        }
    }

    /// Returns the shape of one element of the tensor, which is the shape of the tensor without its first dimension.
    pub(in crate::warp) const fn element(self) -> &'static [usize] {
        const SIDE: usize = TILE as usize;
        match self {
            Self::Layers => &[FIELDS],
            Self::LayerPatches | Self::Patches => &[2, 6],
            Self::Places => &[SIDE, SIDE, 2],
            Self::Shares => &[SIDE, SIDE],
        }
    }

    /// Returns the allowed number of elements in this tensor for a mesh of `cameras` cameras with `tiles` tiles and
    /// `layers` layers. A tile has a layer for each camera that it shows, and at least one. A layer has at most one
    /// patch for each of the smallest cells.
    pub(in crate::warp) fn allowed(
        self,
        (tiles, cameras): (usize, usize),
        layers: usize,
    ) -> RangeInclusive<usize> {
        const CELLS_OF_TILE: usize = (TILE / CELLS[CELLS.len() - 1]).pow(2) as usize;
        match self {
            Self::Layers => tiles..=cameras * tiles,
            Self::LayerPatches => layers..=layers,
            Self::Patches => 0..=layers * CELLS_OF_TILE,
            Self::Places | Self::Shares => 0..=layers,
        }
    }

    /// Returns the size of an element in bytes.
    pub(in crate::warp) fn element_bytes(self) -> usize {
        self.element().iter().product::<usize>() * self.dtype().bitsize() / 8
    }
}
