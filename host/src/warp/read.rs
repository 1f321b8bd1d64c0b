//! Reading the panoweave warp file; the format is described in `file`.
//!
//! A reader may be handed anything. The header is bounded and its sizes are compared with the file's
//! length before memory is taken for them. The planes are read twice: once in small pieces to check
//! them, then to keep them. So a damaged file costs time for one pass and a megabyte, however large.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use glam::UVec2;
use safetensors::tensor::{Dtype, Metadata};

use crate::rig::ProjectionName;
use crate::text_file::open_regular;
use crate::warp::file::{FORMAT, HEADER_LIMIT, VERSION, sealed_text, size_text};
use crate::warp::raw::{CHUNK, floats_of};
use crate::warp::{Plane, Warp, WarpError, check_sizes};

/// What a valid header says.
struct Header {
    size: UVec2,
    sources: [UVec2; 2],
    projection: Option<ProjectionName>,
    rig: Option<String>,
    checksum: u32,
    /// Where the planes begin in the file.
    start: u64,
}

impl Warp {
    /// Reads a panoweave warp file.
    ///
    /// # Errors
    /// [`WarpError`], each naming the file. Nothing of a file that fails is kept.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, WarpError> {
        let path = path.as_ref();
        if path.is_dir() {
            return Err(WarpError::Directory { file: path.to_owned() });
        }
        let unreadable = |source| WarpError::Unreadable { file: path.to_owned(), source };
        let (mut file, length) = open_regular(path).map_err(unreadable)?;
        let header = read_header(path, &mut file, length)?;
        read_planes(path, &mut file, &header, |_, _| ())?;
        let area = header.size.x as usize * header.size.y as usize;
        let mut planes = [(); 6].map(|()| Vec::with_capacity(area));
        read_planes(path, &mut file, &header, |plane, values| {
            planes[plane as usize].extend_from_slice(values);
        })?;
        let warp = Self::new(header.size, header.sources, planes)
            .map_err(|error| WarpError::Plane { file: path.to_owned(), error })?;
        Ok(warp.made_from(header.projection, header.rig))
    }
}

/// Reads and checks everything before the planes; takes at most [`HEADER_LIMIT`] and its parse.
fn read_header(path: &Path, file: &mut File, length: u64) -> Result<Header, WarpError> {
    let unreadable = |source| WarpError::Unreadable { file: path.to_owned(), source };
    let foreign = |reason| WarpError::NotSafetensors { file: path.to_owned(), reason };
    if length < 8 {
        return Err(foreign(format!("{length} bytes long, shorter than any")));
    }
    let mut eight = [0; 8];
    file.read_exact(&mut eight).map_err(unreadable)?;
    let json_length = u64::from_le_bytes(eight);
    if json_length > HEADER_LIMIT {
        return Err(foreign(format!(
            "it states a header of {json_length} bytes; a warp's has at most {HEADER_LIMIT}"
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
    let (sources, projection, checksum) = read_metadata(path, metadata)?;
    let size = read_layout(path, &layout)?;
    check_sizes(size, sources)
        .map_err(|error| WarpError::Plane { file: path.to_owned(), error })?;
    let expected = start + u64::from(size.x) * u64::from(size.y) * 24;
    if length != expected {
        return Err(WarpError::Length { file: path.to_owned(), found: length, expected });
    }
    Ok(Header { size, sources, projection, rig: metadata.get("rig").cloned(), checksum, start })
}

type Description = ([UVec2; 2], Option<ProjectionName>, u32);

fn read_metadata(
    path: &Path,
    metadata: &HashMap<String, String>,
) -> Result<Description, WarpError> {
    if metadata.get("format").map(String::as_str) != Some(FORMAT) {
        return Err(WarpError::NotAWarp { file: path.to_owned() });
    }
    let version = metadata.get("version").map_or("", String::as_str);
    if version != VERSION {
        let found = version.to_owned();
        return Err(WarpError::Version { file: path.to_owned(), found, expected: VERSION });
    }
    let wrong = |key: &'static str, expected| WarpError::Metadata {
        file: path.to_owned(),
        key,
        found: metadata.get(key).map_or("missing".to_owned(), |v| format!("{v:?}")),
        expected,
    };
    let source = |key| {
        let text = metadata.get(key).map_or("", String::as_str);
        let sides =
            text.split_once('x').and_then(|(w, h)| Some((w.parse().ok()?, h.parse().ok()?)));
        // Compared with its own text: "+5x05" and "5x5" must not both be valid.
        let size = sides.map(UVec2::from).filter(|size| size_text(*size) == text);
        size.ok_or_else(|| wrong(key, "a size such as 3840x2160"))
    };
    let sources = [source("left")?, source("right")?];
    let projection = match metadata.get("projection").map(String::as_str) {
        Some("planar") => Some(ProjectionName::Planar),
        Some("cylindrical") => Some(ProjectionName::Cylindrical),
        Some("equirectangular") => Some(ProjectionName::Equirectangular),
        Some("unknown") => None,
        _ => {
            return Err(wrong("projection", "planar, cylindrical, equirectangular or unknown"));
        }
    };
    let digits = metadata.get("checksum").filter(|t| t.len() == 8 && !t.starts_with('+'));
    let checksum = digits.and_then(|text| u32::from_str_radix(text, 16).ok());
    let checksum = checksum.ok_or_else(|| wrong("checksum", "eight hex digits"))?;
    Ok((sources, projection, checksum))
}

/// Checks that the tensors are the six planes, in order, and returns their size. That offsets are
/// without gaps and fit the shapes was checked when the header was parsed.
fn read_layout(path: &Path, layout: &Metadata) -> Result<UVec2, WarpError> {
    let file = || path.to_owned();
    let names = layout.offset_keys();
    if let Some(name) = names.iter().find(|name| Plane::ALL.iter().all(|p| p.name() != **name)) {
        return Err(WarpError::UnexpectedTensor { file: file(), name: name.clone() });
    }
    let mut shape: Option<&[usize]> = None;
    for (i, plane) in Plane::ALL.into_iter().enumerate() {
        let Some(info) = layout.info(plane.name()) else {
            return Err(WarpError::PlaneMissing { file: file(), plane });
        };
        if info.dtype != Dtype::F32 {
            let found = info.dtype.to_string();
            return Err(WarpError::Dtype { file: file(), plane, found });
        }
        if info.shape.len() != 2 || shape.is_some_and(|shape| shape != info.shape) {
            let expected = match shape {
                Some(shape) => format!("{shape:?} as the first plane"),
                None => "[height, width]".to_owned(),
            };
            let found = info.shape.clone();
            return Err(WarpError::Shape { file: file(), plane, found, expected });
        }
        let (begin, end) = info.data_offsets;
        if begin != i * (end - begin) {
            let reason = format!("plane {} is not number {} in the file", plane.name(), i + 1);
            return Err(WarpError::Header { file: file(), reason });
        }
        shape = Some(&info.shape);
    }
    // An impossible side becomes one that the size check refuses by name.
    let side = |at: usize| shape.map_or(0, |shape| u32::try_from(shape[at]).unwrap_or(u32::MAX));
    Ok(UVec2::new(side(1), side(0)))
}

/// Reads all planes in pieces, checks values and checksum, and hands the pieces to `keep`.
fn read_planes(
    path: &Path,
    file: &mut File,
    header: &Header,
    mut keep: impl FnMut(Plane, &[f32]),
) -> Result<(), WarpError> {
    let unreadable = |source| WarpError::Unreadable { file: path.to_owned(), source };
    file.seek(SeekFrom::Start(header.start)).map_err(unreadable)?;
    let area = header.size.x as usize * header.size.y as usize;
    let mut bytes = vec![0; CHUNK.min(area * 4)];
    let mut values = Vec::with_capacity(bytes.len() / 4);
    let mut crc = crc32fast::Hasher::new();
    let mut bad = None;
    for plane in Plane::ALL {
        let mut at = 0;
        while at < area {
            let bytes = &mut bytes[..CHUNK.min((area - at) * 4)];
            file.read_exact(bytes).map_err(unreadable)?;
            crc.update(bytes);
            values.clear();
            values.extend(floats_of(bytes));
            bad = bad.or_else(|| plane.check(&values, at, header.size.x).err());
            keep(plane, &values);
            at += values.len();
        }
    }
    let [left, right] = header.sources.map(size_text);
    let projection = header.projection.map_or("unknown", ProjectionName::as_str);
    crc.update(sealed_text(&left, &right, projection, header.rig.as_deref()).as_bytes());
    // The checksum comes first: in a damaged file an odd number is a symptom.
    let (found, expected) = (crc.finalize(), header.checksum);
    if found != expected {
        return Err(WarpError::Checksum { file: path.to_owned(), found, expected });
    }
    bad.map_or(Ok(()), |error| Err(WarpError::Plane { file: path.to_owned(), error }))
}
