//! Tests of malformed warp files. Each kind of damage must give the right error.

use std::fs;
use std::ops::Range;
use std::path::PathBuf;

use panoweave::warp::{Plane, Warp, WarpError};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::malformed::{assert_says, assert_variant, refusal};
use crate::warp::file::sample;

/// Returns the header and the planes of a valid warp file, which contains the warp [`sample`].
fn valid() -> (Value, Vec<u8>) {
    parts(&sample())
}

/// Saves a warp to a file. Returns the header and the tensor data of this file.
fn parts(warp: &Warp) -> (Value, Vec<u8>) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("valid.safetensors");
    warp.save(&path).unwrap();
    let bytes = fs::read(path).unwrap();
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    (serde_json::from_slice(&bytes[8..8 + length]).unwrap(), bytes[8 + length..].to_vec())
}

fn assemble(header: &[u8], planes: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes(), header, planes].concat()
}

/// Sets the checksum in the header to the correct value for the header's metadata and the planes.
fn seal(header: &mut Value, planes: &[u8]) {
    let m = &header["__metadata__"];
    let text = ["sources", "projection", "rig"].map(|k| m[k].as_str().unwrap_or(""));
    let mut crc = crc32fast::Hasher::new();
    crc.update(planes);
    crc.update(text.join(" ").as_bytes());
    header["__metadata__"]["checksum"] = json!(format!("{:08x}", crc.finalize()));
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn error(&self, bytes: &[u8]) -> WarpError {
        let path: PathBuf = self.0.path().join("malformed.safetensors");
        fs::write(&path, bytes).unwrap();
        refusal(&path, |path| Warp::open(path))
    }

    /// Changes the header of a valid file without correcting the checksum, and opens the file. Returns the error.
    fn header_error(&self, change: impl FnOnce(&mut Value)) -> WarpError {
        let (mut header, planes) = valid();
        change(&mut header);
        self.error(&assemble(&serde_json::to_vec(&header).unwrap(), &planes))
    }

    /// Changes one element of a plane in a valid file, corrects the checksum, and opens the file. Returns the error.
    fn plane_error(&self, plane: usize, element: usize, value: f32) -> WarpError {
        let (mut header, mut planes) = valid();
        let at = 4 * (plane * 2000 + element);
        planes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        seal(&mut header, &planes);
        self.error(&assemble(&serde_json::to_vec(&header).unwrap(), &planes))
    }
}

#[test]
fn the_helpers_make_a_valid_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.safetensors");
    let (mut header, planes) = valid();
    seal(&mut header, &planes);
    fs::write(&path, assemble(&serde_json::to_vec(&header).unwrap(), &planes)).unwrap();
    assert_eq!(Warp::open(&path).unwrap(), sample());
}

#[test]
fn missing_empty_and_foreign_files() {
    let folder = Folder::new();
    let missing = refusal(&folder.0.path().join("missing.safetensors"), |p| Warp::open(p));
    assert_variant!(missing, WarpError::Unreadable { .. });
    for bytes in [&b""[..], b"short", &[0xFF; 100], b"\x89PNG\r\n\x1a\n garbage garbage"] {
        assert_says(folder.error(bytes), "not a safetensors file");
    }
    let rig = folder.error(b"# A rig\n[panorama]\n");
    assert_says(&rig, "not a safetensors file");
    assert!(rig.to_string().contains("make a warp from it"), "{rig}");
    for length in [(1 << 20) + 1, 1 << 40, u64::MAX] {
        let bytes = [&length.to_le_bytes()[..], &[b' '; 64]].concat();
        assert_says(folder.error(&bytes), "not a safetensors file");
    }
    let deep = "[".repeat(1 << 19);
    for json in
        ["", "{", "[]", "7", "{\"a\":1}", "{\"__metadata__\":{\"format\":7}}", deep.as_str()]
    {
        assert_says(folder.error(&assemble(json.as_bytes(), b"")), "corrupt header");
    }
    assert_says(folder.error(&assemble(b"{}", b"")), "not a panoweave warp");
    assert_says(folder.error(&assemble(b"\xFF\xFE", b"")), "corrupt header");
}

#[test]
fn truncated_at_any_length() {
    let folder = Folder::new();
    let (header, planes) = valid();
    let header = serde_json::to_vec(&header).unwrap();
    let whole = assemble(&header, &planes);
    let start = 8 + header.len();
    for length in (0..whole.len()).step_by(977).chain([7, 8, 9, start - 1, start, whole.len() - 1])
    {
        let error = folder.error(&whole[..length]);
        if length < 8 {
            assert_says(error, "not a safetensors file");
        } else {
            assert_says(error, &format!(" {length} bytes long, but its header states"));
        }
    }
    let longer = [&whole[..], b"x"].concat();
    assert_says(folder.error(&longer), "but its header states");
}

#[test]
fn wrong_metadata() {
    let folder = Folder::new();
    let metadata = |key: &str, value: Option<&str>| {
        folder.header_error(|header| {
            let map = header["__metadata__"].as_object_mut().unwrap();
            match value {
                Some(value) => map.insert(key.to_owned(), json!(value)),
                None => map.remove(key),
            };
        })
    };
    for format in [None, Some("pt")] {
        assert_says(metadata("format", format), "not a panoweave warp");
    }
    for version in [None, Some("0"), Some("2"), Some("1.0")] {
        assert_says(metadata("version", version), "warp file version");
    }
    assert_says(metadata("sources", None), "metadata sources is");
    for size in ["40", "40x", "-40x30", "+40x30", "40x30x3", ""] {
        for sizes in [format!("{size} 36x28"), format!("40x30 {size}")] {
            let error = metadata("sources", Some(&sizes));
            assert_says(error, "metadata sources is");
        }
    }
    for size in ["0x30", "40x99999"] {
        assert_says(metadata("sources", Some(&format!("{size} 36x28"))), "a source picture is");
    }
    for name in [None, Some("stereographic"), Some("")] {
        assert_says(metadata("projection", name), "metadata projection is");
    }
    for sum in [None, Some(""), Some("xyzxyzxy"), Some("+1234567"), Some("123")] {
        assert_says(metadata("checksum", sum), "metadata checksum is");
    }
    // After these changes, the metadata is valid but does not match the checksum, which also covers the metadata.
    for (key, value) in [("sources", "41x30 36x28"), ("projection", "planar"), ("rig", "# another")]
    {
        assert_says(metadata(key, Some(value)), "the checksum of the contents");
    }
    assert_says(metadata("rig", None), "the checksum of the contents");
}

#[test]
fn wrong_tensors() {
    let folder = Folder::new();
    let gone = folder.header_error(|h| {
        // Remove the last plane, because removing another plane would leave a gap between the offsets.
        h.as_object_mut().unwrap().remove("weight_2");
    });
    assert_says(gone, "plane weight_2 is missing");
    let renamed = folder.header_error(|h| {
        let plane = h.as_object_mut().unwrap().remove("weight_2").unwrap();
        h["mask"] = plane;
    });
    assert_says(renamed, "unexpected tensor \"mask\"");
    let dtype = folder.header_error(|h| h["lut_1_y"]["dtype"] = json!("I32"));
    assert_says(dtype, "plane lut_1_y is of type I32");
    let dtype = folder.header_error(|h| h["lut_1_y"]["dtype"] = json!("F99"));
    assert_says(dtype, "corrupt header");
    for shape in [json!([100, 20]), json!([2000]), json!([1, 20, 100]), json!([])] {
        let shaped = folder.header_error(|h| h["lut_2_x"]["shape"] = shape.clone());
        let said = shaped.to_string();
        assert!(said.contains("has shape") || said.contains("corrupt header"), "{said}");
    }
    let swapped = folder.header_error(|h| h["lut_2_x"]["shape"] = json!([100, 20]));
    assert_says(swapped, "plane lut_2_x has shape");
    for offsets in [json!([0, 8000]), json!([8004, 16004]), json!([16000, 8000]), json!([-1, 9])] {
        let overlapping = folder.header_error(|h| h["lut_1_y"]["data_offsets"] = offsets.clone());
        assert_says(overlapping, "corrupt header");
    }
    let order = folder.header_error(|h| {
        let (x, y) = (h["lut_1_x"].take(), h["lut_1_y"].take());
        h["lut_1_x"] = y;
        h["lut_1_y"] = x;
    });
    assert_says(order, "corrupt header");
}

#[test]
fn sizes_that_would_take_all_memory() {
    let folder = Folder::new();
    for (height, width) in [(0u64, 100u64), (40_000, 100), (32_768, 32_768), (1 << 40, 1)] {
        let error = folder.header_error(|h| {
            for (i, plane) in Plane::all(2).enumerate() {
                let bytes = 4 * width * height;
                let offsets = [i as u64 * bytes, (i as u64 + 1) * bytes];
                h[plane.name()] =
                    json!({ "dtype": "F32", "shape": [height, width], "data_offsets": offsets });
            }
        });
        assert_says(error, "the panorama is");
    }
    let overflow = folder.header_error(|h| h["lut_1_x"]["shape"] = json!([1u64 << 40, 1u64 << 40]));
    assert_says(overflow, "corrupt header");
}

#[test]
fn impossible_numbers() {
    let folder = Folder::new();
    for plane in Plane::all(2) {
        for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let said =
                format!("{} is {value} at column 99, row 19; it must be a finite", plane.name());
            assert_says(folder.plane_error(plane.index(2), 1999, value), &said);
        }
    }
    for value in [-1e-6f32, 1.000_001, 5.0] {
        assert_says(folder.plane_error(4, 100, value), "at column 0, row 1; it must be 0 to 1");
    }
}

/// Flips one bit of a warp file. Checks that opening the file fails, or returns a warp that equals the original. `at`
/// is the position of the changed byte as a fraction of `range`.
fn check_flip(
    mut bytes: Vec<u8>,
    range: &Range<usize>,
    at: f64,
    bit: u8,
    in_header: bool,
    original: &Warp,
) -> Result<(), TestCaseError> {
    bytes[range.start + (at * range.len() as f64) as usize] ^= 1 << bit;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("flip.safetensors");
    fs::write(&path, &bytes).unwrap();
    match Warp::open(&path) {
        // A flipped bit may be harmless, for example if it turns a hex digit of the checksum into upper case.
        Ok(warp) => {
            prop_assert!(in_header);
            prop_assert_eq!(&warp, original);
        }
        Err(error) if !in_header => {
            let is_checksum = error.to_string().contains("the checksum of the contents");
            prop_assert!(is_checksum, "{}", error);
        }
        Err(error) => prop_assert!(error.to_string().contains("flip.safetensors"), "{}", error),
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..Default::default() })]
    #[test]
    fn a_flipped_bit_is_an_error_or_changes_nothing(in_header: bool, at in 0.0..1.0f64, bit in 0..8u8) {
        let (header, planes) = valid();
        let header = serde_json::to_vec(&header).unwrap();
        let bytes = assemble(&header, &planes);
        let start = 8 + header.len();
        let range = if in_header { 0..start } else { start..bytes.len() };
        check_flip(bytes, &range, at, bit, in_header, &sample())?;
    }
}
