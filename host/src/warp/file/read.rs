//! Reads the panoweave warp file. The module `file` describes the format.
//!
//! The file may be damaged or malicious. The length of the header is limited, and the sizes in the header are compared
//! with the length of the file before memory is allocated. The tensors are read twice: first in pieces of 1 MiB to
//! check them, and then to store them. So rejecting a damaged file of any size takes the time of one pass and a few
//! megabytes of memory.

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
use crate::warp::error::Fault;
use crate::warp::file::{FORMAT, HEADER_LIMIT, VERSION, sealed_text, sources_text};
use crate::warp::{Plane, Warp, WarpError, check_sizes};

/// The contents of a valid header.
struct Header {
    size: UVec2,
    description: Description,
    /// The offset of the first tensor in the file, in bytes.
    start: u64,
}

/// The metadata of a file.
struct Description {
    sources: Vec<UVec2>,
    projection: Option<ProjectionName>,
    rig: Option<String>,
    checksum: u32,
}

impl Warp {
    /// Reads a panoweave warp file.
    ///
    /// # Errors
    /// Returns [`WarpError`] if the file cannot be read or is invalid.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, WarpError> {
        let path = path.as_ref();
        read(path).map_err(|fault| fault.in_file(path))
    }
}

fn read(path: &Path) -> Result<Warp, Fault> {
    if path.is_dir() {
        return Err(Fault::Invalid(
            "is a directory; to import raw planes from it, also give the sizes of the panorama and of both sources, \
             because raw planes do not store their size"
                .to_owned(),
        ));
    }
    let (mut file, length) = open_regular(path)?;
    let header = read_header(&mut file, length)?;
    read_tensors(&mut file, &header, |_, _| ())?;
    let Header { size, description: Description { sources, projection, rig, .. }, .. } = &header;
    let (area, cameras) = (size.x as usize * size.y as usize, sources.len());
    let mut planes: Vec<_> = Plane::all(cameras).map(|_| Vec::with_capacity(area)).collect();
    read_tensors(&mut file, &header, |plane, values| {
        planes[plane.index(cameras)].extend_from_slice(values);
    })?;
    Ok(Warp::new(*size, sources.clone(), planes)?.made_from(*projection, rig.clone()))
}

/// Reads and checks the header. Allocates at most [`HEADER_LIMIT`] bytes for its text, plus the memory for the parsed
/// JSON.
fn read_header(file: &mut File, length: u64) -> Result<Header, Fault> {
    let foreign = |reason: String| Fault::Invalid(format!("not a safetensors file: {reason}"));
    if length < 8 {
        return Err(foreign(format!("it is {length} bytes long, which is too short")));
    }
    let mut eight = [0; 8];
    file.read_exact(&mut eight)?;
    let json_length = u64::from_le_bytes(eight);
    if eight.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace()) {
        let reason = "it begins with text; if it is a rig, make a warp from it first";
        return Err(foreign(reason.to_owned()));
    }
    if json_length > HEADER_LIMIT {
        return Err(foreign(format!(
            "it states a header of {json_length} bytes; a warp has at most {HEADER_LIMIT}"
        )));
    }
    let start = 8 + json_length;
    check_length(length, |length| start <= length, start)?;
    let mut json = vec![0; json_length as usize];
    file.read_exact(&mut json)?;
    let layout: Metadata =
        serde_json::from_slice(&json).map_err(|error| format!("corrupt header: {error}"))?;
    let none = HashMap::new();
    let description = read_metadata(layout.metadata().as_ref().unwrap_or(&none))?;
    let (size, end) = read_layout(&layout, description.sources.len())?;
    check_sizes(size, &description.sources)?;
    // This sum cannot overflow, because the size of the panorama was checked against limits.
    let expected = start + end as u64;
    check_length(length, |length| length == expected, expected)?;
    Ok(Header { size, description, start })
}

/// Checks the length of the file in bytes.
fn check_length(found: u64, fits: impl Fn(u64) -> bool, expected: u64) -> Result<(), Fault> {
    if fits(found) {
        return Ok(());
    }
    Err(Fault::Invalid(format!(
        "{found} bytes long, but its header states {expected} bytes; the file is truncated or damaged: copy it again"
    )))
}

fn read_metadata(metadata: &HashMap<String, String>) -> Result<Description, Fault> {
    let text = |key: &str| metadata.get(key).map_or("", String::as_str);
    if text("format") != FORMAT {
        return Err(Fault::Invalid(format!(
            "a safetensors file, but not a panoweave warp (its metadata has no format = {FORMAT:?})"
        )));
    }
    if text("version") != VERSION {
        return Err(Fault::Invalid(format!(
            "warp file version {:?}; this program reads version {VERSION}: make the warp again with this program",
            text("version")
        )));
    }
    let wrong = |key: &str, expected: &str| {
        let found = metadata.get(key).map_or("missing".to_owned(), |v| format!("{v:?}"));
        Fault::Invalid(format!("metadata {key} is {found}; it must be {expected}"))
    };
    let size_of = |text: &str| {
        let (width, height) = text.split_once('x')?;
        Some(UVec2::new(width.parse().ok()?, height.parse().ok()?))
    };
    // Accept only text that `sources_text` could have written. For example, reject "+5x05 5x5".
    let valid = |sizes: &Vec<_>| {
        (1..=MAX_CAMERAS).contains(&sizes.len()) && sources_text(sizes) == text("sources")
    };
    let sources: Option<Vec<_>> = text("sources").split(' ').map(size_of).collect();
    let sources = sources
        .filter(valid)
        .ok_or_else(|| wrong("sources", "1 to 16 sizes, such as 3840x2160 1920x1080"))?;
    let projection = match text("projection") {
        "planar" => Some(ProjectionName::Planar),
        "cylindrical" => Some(ProjectionName::Cylindrical),
        "equirectangular" => Some(ProjectionName::Equirectangular),
        "unknown" => None,
        _ => return Err(wrong("projection", "planar, cylindrical, equirectangular or unknown")),
    };
    let digits = Some(text("checksum")).filter(|t| t.len() == 8 && !t.starts_with('+'));
    let checksum = digits.and_then(|text| u32::from_str_radix(text, 16).ok());
    let checksum = checksum.ok_or_else(|| wrong("checksum", "eight hex digits"))?;
    Ok(Description { sources, projection, rig: metadata.get("rig").cloned(), checksum })
}

/// Checks that the tensors are the planes of `cameras` cameras in order. Returns the size of the panorama in pixels, and
/// the number of bytes of all planes together.
///
/// The parser of the header has already checked that the offsets have no gaps and fit the shapes.
fn read_layout(layout: &Metadata, cameras: usize) -> Result<(UVec2, usize), Fault> {
    let known = |name: &str| Plane::all(cameras).any(|plane| plane.name() == name);
    if let Some(name) = layout.offset_keys().iter().find(|name| !known(name)) {
        return Err(Fault::Invalid(format!(
            "unexpected tensor {name:?}; a warp file has only three planes per camera, such as lut_1_x, lut_1_y and \
             weight_1: make the warp again"
        )));
    }
    let (mut shape, mut bytes): (Option<&[usize]>, _) = (None, 0);
    for (i, plane) in Plane::all(cameras).map(Plane::name).enumerate() {
        let Some(info) = layout.info(&plane) else {
            return Err(Fault::Invalid(format!("plane {plane} is missing; make the warp again")));
        };
        if info.dtype != Dtype::F32 {
            return Err(Fault::Invalid(format!(
                "plane {plane} is of type {}; it must be F32",
                info.dtype
            )));
        }
        if info.shape.len() != 2 || shape.is_some_and(|shape| shape != info.shape) {
            let expected = match shape {
                Some(shape) => format!("{shape:?}, like the first plane"),
                None => "[height, width]".to_owned(),
            };
            return Err(Fault::Invalid(format!(
                "plane {plane} has shape {:?}; it must be {expected}",
                info.shape
            )));
        }
        let (begin, end) = info.data_offsets;
        if begin != i * (end - begin) {
            return Err(Fault::Invalid(format!(
                "corrupt header: plane {plane} is not tensor number {} of the file",
                i + 1
            )));
        }
        shape = Some(&info.shape);
        bytes = end;
    }
    // Replace a width or height that does not fit u32 by `u32::MAX`, which `check_sizes` rejects.
    let side = |at: usize| shape.map_or(0, |shape| u32::try_from(shape[at]).unwrap_or(u32::MAX));
    Ok((UVec2::new(side(1), side(0)), bytes))
}

/// Reads all planes in pieces, and checks their numbers and the checksum. Passes the plane and the numbers of each piece
/// to `keep`.
fn read_tensors(
    file: &mut File,
    header: &Header,
    mut keep: impl FnMut(Plane, &[f32]),
) -> Result<(), Fault> {
    let Description { sources, projection, rig, checksum: expected } = &header.description;
    file.seek(SeekFrom::Start(header.start))?;
    let length = header.size.x as usize * header.size.y as usize * 4;
    let mut bytes = vec![0; CHUNK];
    let mut values = Vec::with_capacity(CHUNK / 4);
    let mut crc = crc32fast::Hasher::new();
    let mut bad = None;
    for plane in Plane::all(sources.len()) {
        for at in (0..length).step_by(CHUNK) {
            let bytes = &mut bytes[..CHUNK.min(length - at)];
            file.read_exact(bytes)?;
            crc.update(bytes);
            values.clear();
            values.extend(numbers_of(bytes, f32::from_le_bytes));
            bad = bad.or_else(|| plane.check(&values, at / 4, header.size.x).err());
            keep(plane, &values);
        }
    }
    let projection = projection.map_or("unknown", ProjectionName::as_str);
    crc.update(sealed_text(&sources_text(sources), projection, rig.as_deref()).as_bytes());
    // If the checksum is wrong, report it rather than an invalid number: the number is probably invalid because the
    // file is damaged.
    let found = crc.finalize();
    if found != *expected {
        return Err(Fault::Invalid(format!(
            "the checksum of the contents is {found:08x}, but the file states {expected:08x}; the file is damaged: copy \
             it again"
        )));
    }
    bad.map_or(Ok(()), |error| Err(error.into()))
}
