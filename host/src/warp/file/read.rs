//! Reads the panoweave warp file. The module `file` describes the format.
//!
//! The file may be damaged or malicious. The length of the header is limited, and the sizes in the header are compared
//! with the length of the file before memory is allocated. The tensors are read twice: first in pieces of 1 MiB to
//! check them, and then to store them. So rejecting a damaged file of any size takes the time of one pass and a few
//! megabytes of memory.
//!
//! A mesh is checked after it is read: first each index, then each pixel against the planes, on several threads. So the
//! mesh of an accepted file agrees with its planes within its stated error.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use glam::UVec2;
use safetensors::tensor::{Dtype, Metadata};
use shared_types::stitch::MAX_CAMERAS;

use crate::geometry::rig::ProjectionName;
use crate::io::text::open_regular;
use crate::warp::bytes::{CHUNK, numbers_of};
use crate::warp::file::{FORMAT, HEADER_LIMIT, VERSION, sealed_text, sources_text};
use crate::warp::mesh::{MeshPart, Unpacked, is_length};
use crate::warp::{Mesh, Plane, Warp, WarpError, check_sizes};

/// The contents of a valid header.
struct Header {
    size: UVec2,
    sources: Vec<UVec2>,
    projection: Option<ProjectionName>,
    rig: Option<String>,
    checksum: u32,
    mesh: Option<MeshHeader>,
    /// The offset of the first tensor in the file, in bytes.
    start: u64,
}

/// The properties of the mesh that the header states.
struct MeshHeader {
    /// The maximum deviation from the planes along either axis, in source pixels.
    error: f32,
    /// The number of elements of each mesh tensor, in file order.
    counts: [usize; MeshPart::ALL.len()],
}

/// One of the tensors in a warp file: a plane, or a part of the mesh.
#[derive(Clone, Copy)]
enum Tensor {
    Plane(Plane),
    Mesh(MeshPart),
}

impl Warp {
    /// Reads a panoweave warp file.
    ///
    /// # Errors
    /// Returns [`WarpError`] if the file cannot be read or is invalid.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, WarpError> {
        let path = path.as_ref();
        if path.is_dir() {
            return Err(WarpError::Directory { file: path.to_owned() });
        }
        let unreadable = |source| WarpError::Unreadable { file: path.to_owned(), source };
        let (mut file, length) = open_regular(path).map_err(unreadable)?;
        let header = read_header(path, &mut file, length)?;
        read_tensors(path, &mut file, &header, |_, _, _| ())?;
        let area = header.size.x as usize * header.size.y as usize;
        let cameras = header.sources.len();
        let mut planes: Vec<_> = Plane::all(cameras).map(|_| Vec::with_capacity(area)).collect();
        let mut unpacked = Unpacked::default();
        read_tensors(path, &mut file, &header, |tensor, bytes, values| match tensor {
            Tensor::Plane(plane) => planes[plane.index(cameras)].extend_from_slice(values),
            Tensor::Mesh(part) => unpacked.take(part, bytes),
        })?;
        let mut warp = Self::new(header.size, header.sources.clone(), planes)
            .map_err(|error| WarpError::Plane { file: path.to_owned(), error })?;
        if let Some(MeshHeader { error, .. }) = header.mesh {
            let mesh = unpacked.checked(header.size, &header.sources, error);
            let mesh = mesh.and_then(|mesh| mesh.check_against(&(&warp).into()).map(|()| mesh));
            let mesh = mesh.map_err(|error| WarpError::Mesh { file: path.to_owned(), error })?;
            warp.mesh = Some(mesh.into());
        }
        Ok(warp.made_from(header.projection, header.rig))
    }
}

/// Reads and checks the header. Allocates at most [`HEADER_LIMIT`] bytes for its text, plus the memory for the parsed
/// JSON.
fn read_header(path: &Path, file: &mut File, length: u64) -> Result<Header, WarpError> {
    let unreadable = |source| WarpError::Unreadable { file: path.to_owned(), source };
    let foreign = |reason| WarpError::NotSafetensors { file: path.to_owned(), reason };
    if length < 8 {
        return Err(foreign(format!("it is {length} bytes long, which is too short")));
    }
    let mut eight = [0; 8];
    file.read_exact(&mut eight).map_err(unreadable)?;
    let json_length = u64::from_le_bytes(eight);
    let is_text = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    if eight.iter().all(is_text) {
        let reason =
            "it begins with text; if it is a rig, make a warp from it with `panoweave warp --rig`";
        return Err(foreign(reason.to_owned()));
    }
    if json_length > HEADER_LIMIT {
        return Err(foreign(format!(
            "it states a header of {json_length} bytes; a warp has at most {HEADER_LIMIT}"
        )));
    }
    let start = 8 + json_length;
    if start > length {
        return Err(WarpError::Length { file: path.to_owned(), found: length, expected: start });
    }
    let mut json = vec![0; json_length as usize];
    file.read_exact(&mut json).map_err(unreadable)?;
    let layout: Metadata = serde_json::from_slice(&json)
        .map_err(|error| WarpError::Header { file: path.to_owned(), reason: error.to_string() })?;

    let none = HashMap::new();
    let metadata = layout.metadata().as_ref().unwrap_or(&none);
    let (sources, projection, mesh_error, checksum) = read_metadata(path, metadata)?;
    let (size, mut end) = read_layout(path, &layout, sources.len(), mesh_error.is_some())?;
    check_sizes(size, &sources)
        .map_err(|error| WarpError::Plane { file: path.to_owned(), error })?;
    let mesh = match mesh_error {
        None => None,
        Some(error) => Some(MeshHeader {
            error,
            counts: read_mesh_layout(path, &layout, (size, sources.len()), &mut end)?,
        }),
    };
    // This sum cannot overflow, because the size of the panorama and the element counts were checked against limits.
    let expected = start + end as u64;
    if length != expected {
        return Err(WarpError::Length { file: path.to_owned(), found: length, expected });
    }
    let rig = metadata.get("rig").cloned();
    Ok(Header { size, sources, projection, rig, checksum, mesh, start })
}

/// The parsed metadata: the sizes of the sources, the projection, the error of the mesh (if there is one), and the
/// checksum.
type Description = (Vec<UVec2>, Option<ProjectionName>, Option<f32>, u32);

fn read_metadata(
    path: &Path,
    metadata: &HashMap<String, String>,
) -> Result<Description, WarpError> {
    if metadata.get("format").map(String::as_str) != Some(FORMAT) {
        return Err(WarpError::NotAWarp { file: path.to_owned() });
    }
    let version = metadata.get("version").map_or("", String::as_str);
    if version != VERSION {
        let (file, found) = (path.to_owned(), version.to_owned());
        return Err(WarpError::Version { file, found, expected: VERSION });
    }
    let wrong = |key: &'static str, expected| WarpError::Metadata {
        file: path.to_owned(),
        key,
        found: metadata.get(key).map_or("missing".to_owned(), |v| format!("{v:?}")),
        expected,
    };
    let size_of = |text: &str| {
        let (width, height) = text.split_once('x')?;
        Some(UVec2::new(width.parse().ok()?, height.parse().ok()?))
    };
    let text = metadata.get("sources").map_or("", String::as_str);
    // Accept only text that `sources_text` could have written. For example, reject "+5x05 5x5".
    let valid =
        |sizes: &Vec<_>| (2..=MAX_CAMERAS).contains(&sizes.len()) && sources_text(sizes) == text;
    let sources: Option<Vec<_>> = text.split(' ').map(size_of).collect();
    let sources = sources
        .filter(valid)
        .ok_or_else(|| wrong("sources", "2 to 16 sizes, such as 3840x2160 1920x1080"))?;
    let projection = match metadata.get("projection").map(String::as_str) {
        Some("planar") => Some(ProjectionName::Planar),
        Some("cylindrical") => Some(ProjectionName::Cylindrical),
        Some("equirectangular") => Some(ProjectionName::Equirectangular),
        Some("unknown") => None,
        _ => {
            return Err(wrong("projection", "planar, cylindrical, equirectangular or unknown"));
        }
    };
    let mesh_error = match metadata.get("mesh_error") {
        None => None,
        Some(text) => {
            // Accept only a text that `save` could have written, as for the sizes.
            let error = text.parse().ok().filter(|e: &f32| e.to_string() == *text);
            let error = error.filter(|error| is_length(*error));
            Some(error.ok_or_else(|| wrong("mesh_error", "a positive number, such as 0.03125"))?)
        }
    };
    let digits = metadata.get("checksum").filter(|t| t.len() == 8 && !t.starts_with('+'));
    let checksum = digits.and_then(|text| u32::from_str_radix(text, 16).ok());
    let checksum = checksum.ok_or_else(|| wrong("checksum", "eight hex digits"))?;
    Ok((sources, projection, mesh_error, checksum))
}

/// Checks that the tensors start with the planes of `cameras` cameras in order. There must be no other tensors, except
/// those of a mesh if `mesh` is true. Returns the size of the panorama in pixels, and the number of bytes of all planes
/// together.
///
/// The parser of the header has already checked that the offsets have no gaps and fit the shapes.
fn read_layout(
    path: &Path,
    layout: &Metadata,
    cameras: usize,
    mesh: bool,
) -> Result<(UVec2, usize), WarpError> {
    let file = || path.to_owned();
    let known = |name: &str| {
        Plane::all(cameras).any(|plane| plane.name(cameras) == name)
            || mesh && MeshPart::ALL.iter().any(|part| part.name() == name)
    };
    let names = layout.offset_keys();
    if let Some(name) = names.iter().find(|name| !known(name)) {
        return Err(WarpError::UnexpectedTensor { file: file(), name: name.clone() });
    }
    let (mut shape, mut bytes): (Option<&[usize]>, _) = (None, 0);
    for (i, plane) in Plane::all(cameras).map(|plane| plane.name(cameras)).enumerate() {
        let Some(info) = layout.info(&plane) else {
            return Err(WarpError::PlaneMissing { file: file(), plane });
        };
        if info.dtype != Dtype::F32 {
            let found = info.dtype.to_string();
            return Err(WarpError::Dtype { file: file(), plane, found });
        }
        if info.shape.len() != 2 || shape.is_some_and(|shape| shape != info.shape) {
            let expected = match shape {
                Some(shape) => format!("{shape:?}, like the first plane"),
                None => "[height, width]".to_owned(),
            };
            let found = info.shape.clone();
            return Err(WarpError::Shape { file: file(), plane, found, expected });
        }
        let (begin, end) = info.data_offsets;
        if begin != i * (end - begin) {
            let reason = format!("plane {plane} is not tensor number {} of the file", i + 1);
            return Err(WarpError::Header { file: file(), reason });
        }
        shape = Some(&info.shape);
        bytes = end;
    }
    // Replace a width or height that does not fit u32 by `u32::MAX`, which `check_sizes` rejects.
    let side = |at: usize| shape.map_or(0, |shape| u32::try_from(shape[at]).unwrap_or(u32::MAX));
    Ok((UVec2::new(side(1), side(0)), bytes))
}

/// Checks that the mesh tensors follow the planes, whose data ends at byte `end`, that they have the right order, and
/// that their sizes are possible for a panorama of `size` pixels. Returns the number of elements of each tensor, and
/// sets `end` to the end of the last one.
fn read_mesh_layout(
    path: &Path,
    layout: &Metadata,
    (size, cameras): (UVec2, usize),
    end: &mut usize,
) -> Result<[usize; MeshPart::ALL.len()], WarpError> {
    let mut counts = [0; MeshPart::ALL.len()];
    let tiles = Mesh::tiles_of(size).element_product() as usize;
    for (i, part) in MeshPart::ALL.into_iter().enumerate() {
        let (file, name) = (path.to_owned(), part.name());
        let Some(info) = layout.info(name) else {
            return Err(WarpError::MeshMissing { file, name });
        };
        if info.dtype != part.dtype() {
            let (found, expected) = (info.dtype.to_string(), part.dtype().to_string());
            return Err(WarpError::MeshDtype { file, name, found, expected });
        }
        let allowed = part.allowed((tiles, cameras), counts[0]);
        match info.shape[..] {
            [count, ref element @ ..] if element == part.element() && allowed.contains(&count) => {
                counts[i] = count;
            }
            _ => {
                let (found, element) = (info.shape.clone(), part.element());
                let (least, most) = (allowed.start(), allowed.end());
                let expected = format!("{least} to {most} elements of shape {element:?}");
                return Err(WarpError::MeshShape { file, name, found, expected });
            }
        }
        if info.data_offsets.0 != *end {
            let reason =
                format!("tensor {name} is not tensor number {} of the file", 3 * cameras + i + 1);
            return Err(WarpError::Header { file, reason });
        }
        *end = info.data_offsets.1;
    }
    Ok(counts)
}

/// Reads all tensors in pieces, and checks the numbers in the planes and the checksum. Passes three values of each
/// piece to `keep`: the tensor to which it belongs, its bytes, and its numbers (empty unless the tensor is a plane).
fn read_tensors(
    path: &Path,
    file: &mut File,
    header: &Header,
    mut keep: impl FnMut(Tensor, &[u8], &[f32]),
) -> Result<(), WarpError> {
    let unreadable = |source| WarpError::Unreadable { file: path.to_owned(), source };
    file.seek(SeekFrom::Start(header.start)).map_err(unreadable)?;
    let area = header.size.x as usize * header.size.y as usize;
    let cameras = header.sources.len();
    let planes = Plane::all(cameras).map(|plane| (Tensor::Plane(plane), area * 4));
    let counts = header.mesh.iter().flat_map(|mesh| MeshPart::ALL.into_iter().zip(mesh.counts));
    let parts = counts.map(|(part, count)| (Tensor::Mesh(part), count * part.element_bytes()));
    let mut bytes = vec![0; CHUNK];
    let mut values = Vec::with_capacity(CHUNK / 4);
    let mut crc = crc32fast::Hasher::new();
    let mut bad = None;
    for (tensor, length) in planes.chain(parts) {
        let mut at = 0;
        while at < length {
            let bytes = &mut bytes[..CHUNK.min(length - at)];
            file.read_exact(bytes).map_err(unreadable)?;
            crc.update(bytes);
            values.clear();
            if let Tensor::Plane(plane) = tensor {
                values.extend(numbers_of(bytes, f32::from_le_bytes));
                bad = bad.or_else(|| plane.check(cameras, &values, at / 4, header.size.x).err());
            }
            keep(tensor, bytes, &values);
            at += bytes.len();
        }
    }
    let sources = sources_text(&header.sources);
    let projection = header.projection.map_or("unknown", ProjectionName::as_str);
    let error = header.mesh.as_ref().map(|mesh| mesh.error.to_string());
    let sealed = sealed_text(&sources, projection, error.as_deref(), header.rig.as_deref());
    crc.update(sealed.as_bytes());
    // If the checksum is wrong, report it rather than an invalid number: the number is probably invalid because the
    // file is damaged.
    let (found, expected) = (crc.finalize(), header.checksum);
    if found != expected {
        return Err(WarpError::Checksum { file: path.to_owned(), found, expected });
    }
    bad.map_or(Ok(()), |error| Err(WarpError::Plane { file: path.to_owned(), error }))
}
