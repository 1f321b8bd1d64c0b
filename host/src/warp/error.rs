//! What can be wrong with a warp.

use std::io;
use std::path::PathBuf;

use glam::UVec2;

use crate::geometry::{MAX_CANVAS_AREA, MAX_CANVAS_SIDE};
use crate::io::picture::MAX_SIDE;
use crate::warp::{MeshFault, Plane};

/// What can be wrong with the numbers of a warp, wherever they come from.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields of each variant are explained by its message")]
pub enum PlaneError {
    /// The panorama has no pixels or too many.
    #[error("the panorama is {}×{} pixels; allowed are 1 to {MAX_CANVAS_SIDE} a side and {MAX_CANVAS_AREA} in all", size.x, size.y)]
    Size { size: UVec2 },
    /// A source has no pixels or too many.
    #[error("a source is {}×{} pixels; allowed are 1 to {MAX_SIDE} a side", size.x, size.y)]
    SourceSize { size: UVec2 },
    /// A plane has not one number for each pixel.
    #[error("{} has {found} numbers; {expected} expected", plane.name())]
    Length { plane: Plane, found: usize, expected: usize },
    /// A number is NaN or infinite.
    #[error("{} is {value} at column {x}, row {y}; must be a finite number", plane.name())]
    NotFinite { plane: Plane, x: usize, y: usize, value: f32 },
    /// A weight is out of range.
    #[error("{} is {value} at column {x}, row {y}; must be 0 to 1", plane.name())]
    Weight { plane: Plane, x: usize, y: usize, value: f32 },
}

/// Why a warp could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields of each variant are explained by its message")]
pub enum WarpError {
    /// The file is not there, may not be read, or is no regular file.
    #[error("{}: cannot be read: {source}", file.display())]
    Unreadable { file: PathBuf, source: io::Error },
    /// The path is a directory: raw planes do not say their size.
    #[error("{}: a directory; raw planes do not say their size: import them with the panorama's and the sources' sizes", file.display())]
    Directory { file: PathBuf },
    /// One of the six raw files is missing.
    #[error("{}: missing; a warp of raw planes has six files, lut_left_x.bin to weight_right.bin", file.display())]
    RawMissing { file: PathBuf },
    /// A raw file has not one f32 for each pixel.
    #[error("{}: {found} bytes; {}×{} pixels take {expected}{hint}", file.display(), size.x, size.y)]
    RawLength { file: PathBuf, found: u64, expected: u64, size: UVec2, hint: String },
    /// The file is too short for, or states an impossible length of, a safetensors header.
    #[error("{}: not a safetensors file: {reason}", file.display())]
    NotSafetensors { file: PathBuf, reason: String },
    /// The header is no valid safetensors header.
    #[error("{}: corrupt header: {reason}", file.display())]
    Header { file: PathBuf, reason: String },
    /// The file is a safetensors file of something else.
    #[error("{}: a safetensors file, but not a panoweave warp (its metadata has no format = \"panoweave-warp\")", file.display())]
    NotAWarp { file: PathBuf },
    /// The file was written by an older or newer program.
    #[error("{}: warp file version {found:?}; this program reads versions {expected}: make the warp again with this program", file.display())]
    Version { file: PathBuf, found: String, expected: &'static str },
    /// An entry of the metadata is missing or wrong.
    #[error("{}: metadata {key} is {found}; must be {expected}", file.display())]
    Metadata { file: PathBuf, key: &'static str, found: String, expected: &'static str },
    /// A plane is missing.
    #[error("{}: plane {} is missing", file.display(), plane.name())]
    PlaneMissing { file: PathBuf, plane: Plane },
    /// A tensor of the mesh is missing.
    #[error("{}: tensor {name} is missing; a warp file of version 2 has a mesh, mesh_layers to mesh_shares", file.display())]
    MeshMissing { file: PathBuf, name: &'static str },
    /// There is a tensor that is no plane, and none of a mesh.
    #[error("{}: unexpected tensor {name:?}; a warp has six planes, lut_left_x to weight_right, and in version 2 a mesh, mesh_layers to mesh_shares", file.display())]
    UnexpectedTensor { file: PathBuf, name: String },
    /// A plane is not of f32 numbers.
    #[error("{}: plane {} is of type {found}; must be F32", file.display(), plane.name())]
    Dtype { file: PathBuf, plane: Plane, found: String },
    /// A plane is not two-dimensional, or not of the size of the others.
    #[error("{}: plane {} has shape {found:?}; must be {expected}", file.display(), plane.name())]
    Shape { file: PathBuf, plane: Plane, found: Vec<usize>, expected: String },
    /// A tensor of the mesh is of another type.
    #[error("{}: tensor {name} is of type {found}; must be {expected}", file.display())]
    MeshDtype { file: PathBuf, name: &'static str, found: String, expected: String },
    /// A tensor of the mesh is of a shape that no mesh of this panorama has.
    #[error("{}: tensor {name} has shape {found:?}; must be {expected}", file.display())]
    MeshShape { file: PathBuf, name: &'static str, found: Vec<usize>, expected: String },
    /// The file is shorter or longer than its header states.
    #[error("{}: {found} bytes long, but its header states {expected}; truncated or overwritten?", file.display())]
    Length { file: PathBuf, found: u64, expected: u64 },
    /// The content is not what was written.
    #[error("{}: checksum is {found:08x}, but {expected:08x} was written; the file is damaged", file.display())]
    Checksum { file: PathBuf, found: u32, expected: u32 },
    /// A size or a number in the planes is impossible.
    #[error("{}: {error}", file.display())]
    Plane { file: PathBuf, error: PlaneError },
    /// The mesh is none, or not that of the planes.
    #[error("{}: {error}", file.display())]
    Mesh { file: PathBuf, error: MeshFault },
    /// The operating system refused to write.
    #[error("{}: cannot be written: {source}", file.display())]
    Unwritable { file: PathBuf, source: io::Error },
}
