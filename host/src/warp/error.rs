//! The errors of reading and writing warps.

use crate::warp::plane_error::PlaneError;
use std::io;

use std::path::PathBuf;

use glam::UVec2;

use crate::warp::MeshFault;

/// A warp could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields of each variant are explained by its message")]
pub enum WarpError {
    /// The file is missing, unreadable, or not a regular file.
    #[error("{}: cannot be read: {source}", file.display())]
    Unreadable { file: PathBuf, source: io::Error },
    /// The path is a folder of raw planes, which do not store their size.
    #[error("{}: is a directory; to import raw planes from it, also give the sizes of the panorama and of both sources, because raw planes do not store their size", file.display())]
    Directory { file: PathBuf },
    /// One of the six raw plane files is missing.
    #[error("{}: the file is missing; a warp of raw planes has six files, lut_left_x.bin to weight_right.bin", file.display())]
    RawMissing { file: PathBuf },
    /// A warp with more than two cameras cannot be written as raw planes.
    #[error("{}: a warp of {found} cameras cannot be written as raw planes, which are for two cameras; write a warp file", file.display())]
    RawCameras { file: PathBuf, found: usize },
    /// The length of a raw plane file does not match the size of the panorama, which needs one f32 per pixel.
    #[error("{}: the file has {found} bytes, but a plane of {}×{} pixels needs {expected} bytes{hint}", file.display(), size.x, size.y)]
    RawLength { file: PathBuf, found: u64, expected: u64, size: UVec2, hint: String },
    /// The file is too short for a safetensors header, or the header length that it states is impossible.
    #[error("{}: not a safetensors file: {reason}", file.display())]
    NotSafetensors { file: PathBuf, reason: String },
    /// The safetensors header is invalid.
    #[error("{}: corrupt header: {reason}", file.display())]
    Header { file: PathBuf, reason: String },
    /// The file is a safetensors file, but does not contain a warp.
    #[error("{}: a safetensors file, but not a panoweave warp (its metadata has no format = \"panoweave-warp\")", file.display())]
    NotAWarp { file: PathBuf },
    /// The version of the file format is not supported.
    #[error("{}: warp file version {found:?}; this program reads version {expected}: make the warp again with this program", file.display())]
    Version { file: PathBuf, found: String, expected: &'static str },
    /// An entry of the metadata is missing or invalid.
    #[error("{}: metadata {key} is {found}; it must be {expected}", file.display())]
    Metadata { file: PathBuf, key: &'static str, found: String, expected: &'static str },
    /// A plane is missing.
    #[error("{}: plane {plane} is missing; make the warp again", file.display())]
    PlaneMissing { file: PathBuf, plane: String },
    /// A tensor of the mesh is missing.
    #[error("{}: tensor {name} is missing; a warp file with a mesh has five mesh tensors, mesh_layers to mesh_shares: make the warp again", file.display())]
    MeshMissing { file: PathBuf, name: &'static str },
    /// A tensor is neither a plane nor a part of a mesh.
    #[error("{}: unexpected tensor {name:?}; a warp file has only three planes per camera, lut_left_x to weight_right for two cameras, and with a mesh five tensors, mesh_layers to mesh_shares", file.display())]
    UnexpectedTensor { file: PathBuf, name: String },
    /// The numbers of a plane are not f32.
    #[error("{}: plane {plane} is of type {found}; it must be F32", file.display())]
    Dtype { file: PathBuf, plane: String, found: String },
    /// A plane is not two-dimensional, or its size differs from the size of the other planes.
    #[error("{}: plane {plane} has shape {found:?}; it must be {expected}", file.display())]
    Shape { file: PathBuf, plane: String, found: Vec<usize>, expected: String },
    /// The numbers of a mesh tensor have the wrong type.
    #[error("{}: tensor {name} is of type {found}; it must be {expected}", file.display())]
    MeshDtype { file: PathBuf, name: &'static str, found: String, expected: String },
    /// The shape of a mesh tensor is impossible for the size of the panorama.
    #[error("{}: tensor {name} has shape {found:?}; it must be {expected}", file.display())]
    MeshShape { file: PathBuf, name: &'static str, found: Vec<usize>, expected: String },
    /// The file is shorter or longer than its header states.
    #[error("{}: {found} bytes long, but its header states {expected} bytes; the file is truncated or damaged: copy it again", file.display())]
    Length { file: PathBuf, found: u64, expected: u64 },
    /// The checksum in the file does not match the contents of the file.
    #[error("{}: the checksum of the contents is {found:08x}, but the file states {expected:08x}; the file is damaged: copy it again", file.display())]
    Checksum { file: PathBuf, found: u32, expected: u32 },
    /// The size of the panorama or of a source is invalid, or a plane contains an invalid number.
    #[error("{}: {error}", file.display())]
    Plane { file: PathBuf, error: PlaneError },
    /// The mesh in the file is invalid, or does not agree with the planes in the file.
    #[error("{}: {error}", file.display())]
    Mesh { file: PathBuf, error: MeshFault },
    /// The file cannot be written.
    #[error("{}: cannot be written: {source}", file.display())]
    Unwritable { file: PathBuf, source: io::Error },
}
