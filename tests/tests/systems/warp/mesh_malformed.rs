//! Tests of warp files whose mesh is malformed or belongs to another warp. Each fault must give the right error.

use std::fs;

use glam::UVec2;
use panoweave::warp::{MESH_ERROR, MeshFault, Plane, Warp, WarpError};
use proptest::prelude::*;
use serde_json::json;

use crate::malformed::assert_variant;
use crate::warp::file::sample;
use crate::warp::malformed::{Folder, check_flip};
use crate::warp::mesh::{SIZE, bent, meshed};
use crate::warp::mesh_parts::{Field, NONE, PARTS, Parts, REST, VALID, error, fault};

#[test]
fn the_helpers_make_a_valid_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.safetensors");
    let mut parts = VALID.clone();
    for part in PARTS {
        parts.resize(part, true);
        parts.resize(part, false);
    }
    fs::write(&path, parts.sealed()).unwrap();
    assert_eq!(Warp::open(&path).unwrap(), meshed());
}

#[test]
fn wrong_metadata() {
    let folder = Folder::new();
    let texts = ["", "0", "-0.03125", "+0.03125", "0.031250", "3.125e-2", "NaN", "inf", "1/32"];
    for text in texts {
        let error =
            error(&folder, |parts| parts.header["__metadata__"]["mesh_error"] = json!(text));
        assert_variant!(error, WarpError::Metadata { key: "mesh_error", .. });
    }
    // The checksum covers the mesh's error bound, so changing only the bound is an error.
    let mut parts = VALID.clone();
    parts.header["__metadata__"]["mesh_error"] = json!("0.5");
    assert_variant!(folder.error(&parts.bytes()), WarpError::Checksum { .. });
    // A file has a mesh if and only if it states the mesh's error bound.
    let unstated = error(&folder, |parts| {
        parts.header["__metadata__"].as_object_mut().unwrap().remove("mesh_error");
    });
    assert_variant!(unstated, WarpError::UnexpectedTensor { .. });
    let (mut header, data) = crate::warp::malformed::parts(&sample());
    header["__metadata__"]["mesh_error"] = json!("0.5");
    let without = folder.error(&Parts { header, data }.sealed());
    assert_variant!(without, WarpError::MeshMissing { name: "mesh_layers", .. });
}

#[test]
fn wrong_tensors() {
    let folder = Folder::new();
    for name in PARTS {
        let gone = error(&folder, |parts| {
            // Empty the tensor before removing it, so that its removal leaves no gap between the offsets.
            parts.replace(name, 0, Vec::new());
            parts.header.as_object_mut().unwrap().remove(name);
        });
        assert_variant!(gone, WarpError::MeshMissing { name: found, .. } if found == name);
        let renamed = error(&folder, |parts| {
            let tensor = parts.header.as_object_mut().unwrap().remove(name).unwrap();
            parts.header["mesh"] = tensor;
        });
        assert_variant!(renamed, WarpError::UnexpectedTensor { name, .. } if name == "mesh");
        let other = if name == "mesh_shares" { "I16" } else { "I32" };
        let dtype = error(&folder, |parts| parts.header[name]["dtype"] = json!(other));
        assert_variant!(dtype, WarpError::MeshDtype { name: found, .. } if found == name);
        let flat = error(&folder, |parts| {
            let shape = parts.header[name]["shape"].as_array().unwrap();
            let product: u64 = shape.iter().map(|side| side.as_u64().unwrap()).product();
            parts.header[name]["shape"] = json!([product]);
        });
        assert_variant!(flat, WarpError::MeshShape { name: found, .. } if found == name);
        let turned = error(&folder, |parts| {
            let shape = parts.header[name]["shape"].as_array_mut().unwrap();
            shape.rotate_left(1);
        });
        assert_variant!(turned, WarpError::MeshShape { name: found, .. } if found == name);
        let none = error(&folder, |parts| parts.header[name]["shape"] = json!([]));
        assert_variant!(none, WarpError::Header { .. });
        for offsets in [json!([0, 8]), json!([u64::MAX, 8]), json!([-1, 9])] {
            let moved = error(&folder, |parts| parts.header[name]["data_offsets"] = offsets);
            assert_variant!(moved, WarpError::Header { .. });
        }
    }
    // Swap the order of two tensors in the file, and adjust their offsets.
    let order = error(&folder, |parts| {
        let (patches, places) = (parts.range("mesh_patches"), parts.range("mesh_places"));
        let split = patches.start + places.len();
        parts.header["mesh_places"]["data_offsets"] = json!([patches.start, split]);
        parts.header["mesh_patches"]["data_offsets"] = json!([split, places.end]);
        parts.data[patches.start..places.end].rotate_left(patches.len());
    });
    assert_variant!(order, WarpError::Header { .. });
    let first = error(&folder, |parts| {
        // Move the mesh's layers before a plane and adjust the offsets.
        let (plane, layers) = (parts.range("weight_right"), parts.range("mesh_layers"));
        let split = plane.start + layers.len();
        parts.header["mesh_layers"]["data_offsets"] = json!([plane.start, split]);
        parts.header["weight_right"]["data_offsets"] = json!([split, layers.end]);
        parts.data[plane.start..layers.end].rotate_left(plane.len());
    });
    assert_variant!(first, WarpError::Header { .. });
}

#[test]
fn sizes_that_no_mesh_of_the_panorama_has() {
    let folder = Folder::new();
    let tiles = (SIZE.x.div_ceil(32) * SIZE.y.div_ceil(32)) as usize;
    for (name, element, most) in [
        ("mesh_layers", 20, 2 * tiles),
        ("mesh_layer_patches", 48, VALID.layers()),
        ("mesh_patches", 48, 16 * VALID.layers()),
        ("mesh_places", 8192, VALID.layers()),
        ("mesh_shares", 2048, VALID.layers()),
    ] {
        // The header states these sizes, but the file does not contain the data. The reader must reject the sizes
        // before it allocates memory for them.
        for count in [most + 1, 1 << 40] {
            let claimed = error(&folder, |parts| {
                let before = parts.range(name);
                parts.header[name]["shape"][0] = json!(count);
                parts.header[name]["data_offsets"][1] = json!(before.start + count * element);
                let grown = count * element - before.len();
                for part in PARTS.iter().skip_while(|part| **part != name).skip(1) {
                    let range = parts.range(part);
                    parts.header[part]["data_offsets"] =
                        json!([range.start + grown, range.end + grown]);
                }
            });
            assert_variant!(claimed, WarpError::MeshShape { name: found, .. } if found == name);
        }
        let overflow = error(&folder, |parts| parts.header[name]["shape"][0] = json!(u64::MAX / 2));
        assert_variant!(overflow, WarpError::Header { .. });
        let length = error(&folder, |parts| {
            parts.resize(name, name != "mesh_layer_patches");
            parts.data.pop();
        });
        assert_variant!(length, WarpError::Length { .. } | WarpError::MeshShape { .. });
    }
    let few = error(&folder, |parts| parts.replace("mesh_layers", 1, vec![0; 20]));
    assert_variant!(few, WarpError::MeshShape { name: "mesh_layers", .. });
}

#[test]
fn truncated_at_any_length() {
    let folder = Folder::new();
    let whole = VALID.bytes();
    let start = whole.len() - VALID.data.len();
    let ends = PARTS.map(|name| start + VALID.range(name).end);
    for length in (start..whole.len()).step_by(49_999).chain(ends).filter(|at| *at < whole.len()) {
        let error = folder.error(&whole[..length]);
        assert_variant!(error, WarpError::Length { found, .. } if found == length as u64);
    }
    let longer = [&whole[..], b"x"].concat();
    assert_variant!(folder.error(&longer), WarpError::Length { .. });
}

#[test]
fn wrong_cameras_and_cells() {
    let folder = Folder::new();
    let black = VALID.find(|parts, layer| parts.get(layer, Field::Camera) == 65_535);
    let one = VALID.find(|parts, layer| parts.get(layer, Field::Camera) == 0);
    for camera in [2, 3, 65_534, 65_536, 70_000, NONE] {
        for layer in [one, black, VALID.layers() - 1] {
            assert_variant!(
                fault(&folder, |parts| parts.set(layer, Field::Camera, camera)),
                MeshFault::Camera { layer: l, found } if (l, found) == (layer, camera)
            );
        }
    }
    // The layers of a tile must not have the same camera twice or cameras in the wrong order. A layer without a camera
    // (a black layer) must not follow another layer.
    let last = VALID.layers() - 1;
    for camera in [0, 65_535] {
        let found = fault(&folder, |parts| parts.set(last, Field::Camera, camera));
        assert_variant!(found, MeshFault::Camera { layer, .. } if layer == last);
    }
    let first = VALID.find(|parts, layer| parts.get(layer, Field::Next) != NONE);
    let next = VALID.get(first, Field::Next) as usize;
    let found = fault(&folder, |parts| {
        parts.set(first, Field::Camera, 1);
        parts.set(next, Field::Camera, 0);
    });
    assert_variant!(found, MeshFault::Camera { layer, found: 0 } if layer == next);
    for cell in [1, 4, 7, 64, 65_535, 65_536 + 32, NONE] {
        for layer in [one, black] {
            assert_variant!(
                fault(&folder, |parts| parts.set(layer, Field::Cell, cell)),
                MeshFault::Cell { layer: l, found } if (l, found) == (layer, cell)
            );
        }
    }
    // In the layer of a tile that no camera covers (a black tile), the other fields must have fixed values.
    for cell in [8, 16, 0] {
        let found = fault(&folder, |parts| parts.set(black, Field::Cell, cell));
        assert_variant!(found, MeshFault::Cell { .. } | MeshFault::Index { .. });
    }
    for field in [Field::Places, Field::Shares, Field::Next] {
        let found = fault(&folder, |parts| parts.set(black, field, 0));
        assert_variant!(found, MeshFault::Index { layer, expected: NONE, .. } if layer == black);
    }
}

#[test]
fn wrong_indices() {
    let folder = Folder::new();
    let with =
        |field, value: fn(u32) -> bool| move |parts: &Parts, layer| value(parts.get(layer, field));
    for (field, part, cell) in [
        (Field::Places, "mesh_patches", 32),
        (Field::Places, "mesh_patches", 16),
        (Field::Places, "mesh_patches", 8),
        (Field::Places, "mesh_places", 0),
        (Field::Shares, "mesh_shares", 32),
        (Field::Next, "mesh_layers", 32),
    ] {
        let is_index = with(field, |index| index < REST);
        let layer = VALID.find(|parts, layer| {
            let whole = matches!(field, Field::Places) && cell == 32;
            parts.get(layer, Field::Cell) == cell && is_index(parts, layer) != whole
        });
        let right = VALID.get(layer, field);
        for wrong in [0, 1, right.wrapping_add(1), right.wrapping_sub(1), 1 << 31, NONE - 1, NONE] {
            if wrong == right {
                continue;
            }
            let found = fault(&folder, |parts| parts.set(layer, field, wrong));
            if wrong == NONE && !matches!(field, Field::Places) {
                // The value `NONE` is valid in this field, so the reader finds the error later: in the index of another
                // layer, or in the number of elements.
                assert_variant!(found, MeshFault::Index { .. } | MeshFault::Count { .. });
                continue;
            }
            assert_variant!(
                found,
                MeshFault::Index { layer: l, part: p, found: f, expected: e }
                    if (l, p, f, e) == (layer, part, wrong, right)
            );
        }
    }
    // Let two layers refer to the same element of a table. If the reader accepted this, two thread blocks would write
    // to the same memory.
    for field in [Field::Places, Field::Shares, Field::Next] {
        let parts = &*VALID;
        let named: Vec<_> = (0..parts.layers())
            .filter(|layer| parts.get(*layer, field) < REST)
            .map(|layer| (layer, parts.get(layer, field)))
            .collect();
        let [(_, one), .., (last, _)] = named[..] else { panic!() };
        let found = fault(&folder, |parts| parts.set(last, field, one));
        assert_variant!(found, MeshFault::Index { layer, found, .. } if (layer, found) == (last, one));
    }
    // Layers refer to their stored weights, or to `REST` or `NONE`. `REST` means that the weights are 1 minus those of
    // the other layers, and is valid only in the last of several layers of a tile. `NONE` means that all pixels show
    // this camera alone, and is valid only in a tile with a single layer.
    let shared = VALID.find(|parts, layer| parts.get(layer, Field::Shares) < REST);
    let alone = VALID.find(|parts, layer| {
        parts.get(layer, Field::Shares) == NONE && parts.get(layer, Field::Camera) < 2
    });
    let last = VALID.find(|parts, layer| parts.get(layer, Field::Shares) == REST);
    for (layer, wrong) in [(shared, REST), (alone, REST), (last, NONE)] {
        let found = fault(&folder, |parts| parts.set(layer, Field::Shares, wrong));
        assert_variant!(found, MeshFault::Index { layer: l, part: "mesh_shares", found, .. } if (l, found) == (layer, wrong));
    }
    let found = fault(&folder, |parts| parts.set(last, Field::Next, last as u32 + 1));
    assert_variant!(found, MeshFault::Index { layer, part: "mesh_layers", expected: NONE, .. } if layer == last);
    // Change the chain of a tile's layers so that it has no end, or so that it continues with a layer of another tile.
    let first = VALID.find(|parts, layer| parts.get(layer, Field::Next) != NONE);
    let next = VALID.get(first, Field::Next);
    for target in [first as u32, next, 0] {
        let found = fault(&folder, |parts| parts.set(next as usize, Field::Next, target));
        assert_variant!(found, MeshFault::Index { layer, .. } | MeshFault::Camera { layer, .. } if layer == next as usize || layer == next as usize + 1);
    }
}

#[test]
fn more_or_less_than_the_layers_name() {
    let folder = Folder::new();
    for name in ["mesh_patches", "mesh_places", "mesh_shares"] {
        for more in [true, false] {
            let found = fault(&folder, |parts| parts.resize(name, more));
            assert_variant!(found, MeshFault::Count { part, .. } if part == name);
        }
    }
    for more in [true, false] {
        let found = fault(&folder, |parts| {
            parts.resize("mesh_layers", more);
            parts.resize("mesh_layer_patches", more);
        });
        assert_variant!(found, MeshFault::Count { part: "mesh_layers", .. });
    }
}

#[test]
fn impossible_numbers() {
    let folder = Folder::new();
    for name in ["mesh_layer_patches", "mesh_patches", "mesh_places"] {
        for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let found = fault(&folder, |parts| {
                let at = parts.range(name).start + 4 * 17;
                parts.data[at..at + 4].copy_from_slice(&value.to_le_bytes());
            });
            assert_variant!(found, MeshFault::NotFinite { part, at: 17, .. } if part == name);
        }
    }
}

#[test]
fn meshes_of_other_planes() {
    let folder = Folder::new();
    let other = |change: &dyn Fn(&mut [Vec<f32>])| {
        let warp = bent();
        let mut planes = warp.planes().to_vec();
        change(&mut planes);
        let changed = Warp::new(warp.size(), warp.sources(), planes).unwrap();
        let (_, data) = crate::warp::malformed::parts(&changed);
        // Combine the planes of the changed warp with the mesh of the original warp.
        fault(&folder, |parts| parts.data[..data.len()].copy_from_slice(&data))
    };
    for (plane, camera) in [(Plane::X(0), 0), (Plane::Y(0), 0), (Plane::X(1), 1), (Plane::Y(1), 1)]
    {
        // Change the source position of one pixel, then that of all pixels.
        let found = other(&|planes| planes[plane.index(2)][100 * 170 + 70] += 0.07);
        assert_variant!(found, MeshFault::Place { camera: c, x: 70, y: 100, .. } if c == camera);
        let found = other(&|planes| planes[plane.index(2)].iter_mut().for_each(|v| *v += 0.1));
        assert_variant!(found, MeshFault::Place { camera: c, .. } if c == camera);
    }
    let found = other(&|planes| planes[4][100 * 170 + 70] += 0.001);
    assert_variant!(found, MeshFault::Share { camera: 0, x: 70, y: 100, .. });
    let found = other(&|planes| planes[4][135] = 1.0);
    assert_variant!(found, MeshFault::Share { camera: 0, x: 135, y: 0, .. });
    let found = other(&|planes| planes[5][40] = 1.0);
    assert_variant!(found, MeshFault::Share { camera: 0 | 1, x: 40, y: 0, .. });
    // State an error bound that is smaller than the real error.
    let found = fault(&folder, |parts| {
        parts.header["__metadata__"]["mesh_error"] = json!("0.0001");
    });
    assert_variant!(found, MeshFault::Place { .. });
    // Change one stored weight. After that, change a patch so that its positions overflow.
    let found = fault(&folder, |parts| {
        let at = parts.range("mesh_shares").start;
        parts.data[at + 2 * 20 * 32] ^= 1;
    });
    assert_variant!(found, MeshFault::Share { .. });
    let found = fault(&folder, |parts| {
        let at = parts.range("mesh_layer_patches").start;
        for i in [3, 4] {
            parts.data[at + 4 * i..][..4].copy_from_slice(&f32::MAX.to_le_bytes());
        }
    });
    assert_variant!(found, MeshFault::Place { x: 0, y: 0, camera: 0, .. });
}

/// Checks that every pixel of a mesh from a file can be queried, and that its source positions match the warp's planes.
fn check_opened(warp: &Warp) {
    let mesh = warp.mesh().unwrap();
    for at in 0..SIZE.element_product() {
        let pixel = UVec2::new(at % SIZE.x, at / SIZE.x);
        for (camera, place, share) in mesh.at(pixel) {
            let plane = |axis: usize| warp.planes()[2 * camera + axis][at as usize];
            let off = (place.x - plane(0)).abs().max((place.y - plane(1)).abs());
            assert!(off <= MESH_ERROR && share > 0.0 && share <= 1.0, "{pixel}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..Default::default() })]
    #[test]
    fn a_flipped_bit_is_an_error_or_changes_nothing(in_header: bool, at in 0.0..1.0f64, bit in 0..8u8) {
        let bytes = VALID.bytes();
        let data = bytes.len() - VALID.data.len();
        let range = if in_header { 0..data } else { data + VALID.range("mesh_layers").start..bytes.len() };
        check_flip(bytes, &range, at, bit, in_header, &meshed())?;
    }

    /// Checks a file in which one number of the mesh is changed and the checksum is correct. Opening it must fail, or
    /// return a mesh whose source positions match the warp's planes.
    #[test]
    fn a_changed_number_is_an_error_or_harmless(
        part in 0..5usize,
        at in 0.0..1.0f64,
        value in prop_oneof![any::<u32>(), 0..40u32, Just(65_535), Just(NONE)],
        flip: bool,
    ) {
        let mut parts = VALID.clone();
        let range = parts.range(PARTS[part]);
        let index = range.start + (at * (range.len() / 4) as f64) as usize * 4;
        let number: &mut [u8; 4] = (&mut parts.data[index..index + 4]).try_into().unwrap();
        let before = u32::from_le_bytes(*number);
        *number = if flip { before ^ 1 << (value % 32) } else { value }.to_le_bytes();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.safetensors");
        fs::write(&path, parts.sealed()).unwrap();
        match Warp::open(&path) {
            Ok(warp) => check_opened(&warp),
            Err(error) => prop_assert!(matches!(error, WarpError::Mesh { .. }), "{error}"),
        }
    }
}
