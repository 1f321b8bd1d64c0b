//! Errors of warps.

use crate::warp::plane_error::PlaneError;
use std::io;

use std::path::PathBuf;

use glam::UVec2;

use crate::warp::{MeshFault, Plane};

/// A warp could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields of each variant are explained by its message")]
pub enum WarpError {
    /// The file is missing, unreadable, or not a regular file.
    #[error("{}: cannot be read: {source}", file.display())]
    Unreadable { file: PathBuf, source: io::Error },
    /// The path is a folder of raw planes, which do not store their size.
    #[error("{}: is a directory; raw planes do not store their size: import them with the sizes of the panorama and its sources", file.display())]
    Directory { file: PathBuf },
    /// One of the six raw files is missing.
    #[error("{}: the file is missing; a warp of raw planes has six files, lut_left_x.bin to weight_right.bin", file.display())]
    RawMissing { file: PathBuf },
    /// The length of a raw file is not one f32 per pixel.
    #[error("{}: {found} bytes; {}×{} pixels need {expected}{hint}", file.display(), size.x, size.y)]
    RawLength { file: PathBuf, found: u64, expected: u64, size: UVec2, hint: String },
    /// The file is too short for a safetensors header, or states an impossible length of its header.
    #[error("{}: not a safetensors file: {reason}", file.display())]
    NotSafetensors { file: PathBuf, reason: String },
    /// The safetensors header is invalid.
    #[error("{}: corrupt header: {reason}", file.display())]
    Header { file: PathBuf, reason: String },
    /// The safetensors file contains something else.
    #[error("{}: a safetensors file, but not a panoweave warp (its metadata has no format = \"panoweave-warp\")", file.display())]
    NotAWarp { file: PathBuf },
    /// Another version of the program wrote the file.
    #[error("{}: warp file version {found:?}; this program reads versions {expected}: make the warp again with this program", file.display())]
    Version { file: PathBuf, found: String, expected: &'static str },
    /// An entry of the metadata is missing or invalid.
    #[error("{}: metadata {key} is {found}; it must be {expected}", file.display())]
    Metadata { file: PathBuf, key: &'static str, found: String, expected: &'static str },
    /// A plane is missing.
    #[error("{}: plane {} is missing", file.display(), plane.name())]
    PlaneMissing { file: PathBuf, plane: Plane },
    /// A tensor of the mesh is missing.
    #[error("{}: tensor {name} is missing; a warp file of version 2 has a mesh, mesh_layers to mesh_shares", file.display())]
    MeshMissing { file: PathBuf, name: &'static str },
    /// A tensor is neither a plane nor a part of a mesh.
    #[error("{}: unexpected tensor {name:?}; a warp has six planes, lut_left_x to weight_right, and in version 2 a mesh, mesh_layers to mesh_shares", file.display())]
    UnexpectedTensor { file: PathBuf, name: String },
    /// A plane's numbers are not f32.
    #[error("{}: plane {} is of type {found}; it must be F32", file.display(), plane.name())]
    Dtype { file: PathBuf, plane: Plane, found: String },
    /// A plane is not two-dimensional, or has another size than the others.
    #[error("{}: plane {} has shape {found:?}; it must be {expected}", file.display(), plane.name())]
    Shape { file: PathBuf, plane: Plane, found: Vec<usize>, expected: String },
    /// A tensor of the mesh has another type.
    #[error("{}: tensor {name} is of type {found}; it must be {expected}", file.display())]
    MeshDtype { file: PathBuf, name: &'static str, found: String, expected: String },
    /// A tensor of the mesh has a shape that is impossible for this panorama.
    #[error("{}: tensor {name} has shape {found:?}; it must be {expected}", file.display())]
    MeshShape { file: PathBuf, name: &'static str, found: Vec<usize>, expected: String },
    /// The file is shorter or longer than its header states.
    #[error("{}: {found} bytes long, but its header states {expected}; the file is truncated or damaged", file.display())]
    Length { file: PathBuf, found: u64, expected: u64 },
    /// The checksum differs.
    #[error("{}: checksum is {found:08x}, but the file states {expected:08x}; it is damaged", file.display())]
    Checksum { file: PathBuf, found: u32, expected: u32 },
    /// A size or a number in the planes is invalid.
    #[error("{}: {error}", file.display())]
    Plane { file: PathBuf, error: PlaneError },
    /// The mesh is invalid, or does not belong to the planes.
    #[error("{}: {error}", file.display())]
    Mesh { file: PathBuf, error: MeshFault },
    /// The file cannot be written.
    #[error("{}: cannot be written: {source}", file.display())]
    Unwritable { file: PathBuf, source: io::Error },
}
