//! A valid warp file with a mesh, and functions that change its parts, for tests of malformed files.

use std::ops::Range;
use std::sync::LazyLock;

use panoweave::warp::{MeshFault, WarpError};
use serde_json::{Value, json};

use crate::warp::malformed::{Folder, assemble, parts, seal};
use crate::warp::mesh::meshed;

pub(crate) const PARTS: [&str; 5] =
    ["mesh_layers", "mesh_layer_patches", "mesh_patches", "mesh_places", "mesh_shares"];

pub(crate) const NONE: u32 = u32::MAX;
pub(crate) const REST: u32 = NONE - 1;

/// The header and the tensor data of a warp file.
#[derive(Clone)]
pub(crate) struct Parts {
    pub(crate) header: Value,
    pub(crate) data: Vec<u8>,
}

/// The parts of a valid warp file, which contains the warp [`meshed`].
pub(crate) static VALID: LazyLock<Parts> = LazyLock::new(|| {
    let (header, data) = parts(&meshed());
    Parts { header, data }
});

/// The fields of a mesh layer, in the order in which the file stores them.
#[derive(Clone, Copy)]
pub(crate) enum Field {
    Camera,
    Cell,
    Places,
    Shares,
    Next,
}

impl Parts {
    pub(crate) fn range(&self, name: &str) -> Range<usize> {
        let offsets = &self.header[name]["data_offsets"];
        let offset = |i: usize| offsets[i].as_u64().unwrap() as usize;
        offset(0)..offset(1)
    }

    pub(crate) fn count(&self, name: &str) -> usize {
        self.header[name]["shape"][0].as_u64().unwrap() as usize
    }

    pub(crate) fn field(&self, layer: usize, field: Field) -> Range<usize> {
        let at = self.range("mesh_layers").start + 4 * (5 * layer + field as usize);
        at..at + 4
    }

    pub(crate) fn get(&self, layer: usize, field: Field) -> u32 {
        u32::from_le_bytes(self.data[self.field(layer, field)].try_into().unwrap())
    }

    pub(crate) fn set(&mut self, layer: usize, field: Field, value: u32) {
        let range = self.field(layer, field);
        self.data[range].copy_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn layers(&self) -> usize {
        self.count("mesh_layers")
    }

    /// Returns the index of the first layer for which `does` returns true. Panics if there is no such layer.
    pub(crate) fn find(&self, does: impl Fn(&Self, usize) -> bool) -> usize {
        (0..self.layers()).find(|layer| does(self, *layer)).unwrap()
    }

    /// Replaces the content of the tensor `name` with `bytes`, which contain `count` elements. Adjusts the tensor's
    /// size in the header and the offsets of the tensors after it.
    pub(crate) fn replace(&mut self, name: &str, count: usize, bytes: Vec<u8>) {
        let range = self.range(name);
        let grown = bytes.len() as i64 - range.len() as i64;
        self.header[name]["shape"][0] = json!(count);
        self.header[name]["data_offsets"][1] = json!(range.start + bytes.len());
        let behind = PARTS.iter().skip_while(|part| **part != name).skip(1);
        for part in behind {
            for i in 0..2 {
                let offset = &mut self.header[part]["data_offsets"][i];
                *offset = json!(offset.as_i64().unwrap() + grown);
            }
        }
        self.data.splice(range, bytes);
    }

    /// Changes the number of elements of a tensor by one. If `more` is true, appends a copy of the first element,
    /// otherwise removes the last element.
    pub(crate) fn resize(&mut self, name: &str, more: bool) {
        let (count, mut bytes) = (self.count(name), self.data[self.range(name)].to_vec());
        let element = bytes.len() / count;
        let count = if more {
            bytes.extend_from_within(..element);
            count + 1
        } else {
            bytes.truncate(bytes.len() - element);
            count - 1
        };
        self.replace(name, count, bytes);
    }

    pub(crate) fn sealed(mut self) -> Vec<u8> {
        seal(&mut self.header, &self.data);
        self.bytes()
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        assemble(&serde_json::to_vec(&self.header).unwrap(), &self.data)
    }
}

/// Changes a copy of the valid file [`VALID`], corrects its checksum, and opens it. Returns the error.
pub(crate) fn error(folder: &Folder, change: impl FnOnce(&mut Parts)) -> WarpError {
    let mut parts = VALID.clone();
    change(&mut parts);
    folder.error(&parts.sealed())
}

/// Changes a copy of the valid file [`VALID`], corrects its checksum, and opens it. Returns the error in the mesh.
pub(crate) fn fault(folder: &Folder, change: impl FnOnce(&mut Parts)) -> MeshFault {
    match error(folder, change) {
        WarpError::Mesh { error, .. } => error,
        other => panic!("{other:?} is not a mesh error"),
    }
}
