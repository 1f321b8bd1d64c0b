//! Targets of warp files and raw planes.

use std::fs;

use glam::UVec2;
use panoweave::warp::{Plane, Warp};
use serde_json::{Map, Value};

use crate::file::with_files;

/// A warp file. If the first byte is odd, the file's checksum is corrected first, so that inputs reach the code behind
/// this check. A valid warp survives writing and reading.
pub(crate) fn warp(data: &[u8]) {
    let Some((&kind, file)) = data.split_first() else { return };
    let sealed = (kind % 2 == 1).then(|| seal(file)).flatten();
    let file = sealed.as_deref().unwrap_or(file);
    with_files(&[("warp.safetensors", file)], |folder| {
        let path = folder.join("warp.safetensors");
        let Ok(warp) = Warp::open(&path) else { return };
        warp.save(&path).expect("a written warp");
        assert_eq!(Warp::open(&path).expect("a warp that was written"), warp);
    });
}

/// Returns the file with the checksum of its contents, or `None` if its header cannot be parsed.
fn seal(file: &[u8]) -> Option<Vec<u8>> {
    let (length, rest) = file.split_first_chunk()?;
    let (json, tensors) =
        rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    let mut header: Map<String, Value> = serde_json::from_slice(json).ok()?;
    let metadata = header.get_mut("__metadata__")?.as_object_mut()?;
    let text = |key: &str| metadata.get(key).and_then(Value::as_str);
    let rig = text("rig").unwrap_or_default();
    let sealed = format!("{} {} {rig}", text("sources")?, text("projection")?);
    let mut sum = crc32fast::Hasher::new();
    sum.update(tensors);
    sum.update(sealed.as_bytes());
    metadata.insert("checksum".to_owned(), Value::String(format!("{:08x}", sum.finalize())));
    let json = serde_json::to_vec(&header).ok()?;
    Some([&(json.len() as u64).to_le_bytes(), &*json, tensors].concat())
}

/// A folder of raw planes. The first six bytes are the sizes of the panorama and of its sources, and the rest is
/// divided among the planes. A valid warp survives writing and reading.
pub(crate) fn raw_planes(data: &[u8]) {
    let Some((&sizes, rest)) = data.split_first_chunk::<6>() else { return };
    let [width, height, sources @ ..] = sizes.map(u32::from);
    let size = UVec2::new(width % 64, height % 64);
    let sources = [UVec2::new(sources[0], sources[1]), UVec2::new(sources[2], sources[3])];
    let bytes = size.element_product() as usize * 4;
    let names = Plane::all(2).map(|plane| plane.raw_file("".as_ref()));
    let names: Vec<_> = names.filter_map(|name| name.into_os_string().into_string().ok()).collect();
    let parts = names.iter().enumerate().map(|(i, name)| {
        let part = rest.get(i * bytes..).unwrap_or_default();
        (name.as_str(), part.get(..bytes).unwrap_or(part))
    });
    with_files(&parts.collect::<Vec<_>>(), |folder| {
        let Ok(warp) = Warp::import_raw(folder, size, sources) else { return };
        for plane in Plane::all(2) {
            let numbers = warp.plane(plane).iter().flat_map(|number| number.to_le_bytes());
            assert!(numbers.eq(fs::read(plane.raw_file(folder)).expect("a file")));
        }
    });
}
