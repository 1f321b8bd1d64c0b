//! Writes the panoweave warp file, a safetensors file that contains a warp and its description. `read` reads the file.
//!
//! The file has three tensors per camera for the planes, of type F32 and shape `[height, width]`: `lut_left_x` to
//! `weight_right` for two cameras, `lut_first_x`, `lut_first_y`, `lut_second_x` and so on for more. They have the order
//! of [`Plane::all`] and no gaps. All numbers are little-endian. If the warp has a mesh, five more tensors follow:
//!
//! | tensor | type | shape | element |
//! |---|---|---|---|
//! | `mesh_layers` | U32 | `[layers, 5]` | a layer without its patch: camera (65535: none), cell, places, shares, next; see [`Layer`](shared_types::stitch::mesh::Layer) |
//! | `mesh_layer_patches` | F32 | `[layers, 2, 6]` | a layer's patch for the whole tile: the coefficients of 1, x, y, x², xy, y² for the source column, then for the row |
//! | `mesh_patches` | F32 | `[patches, 2, 6]` | the patch of a cell |
//! | `mesh_places` | F32 | `[tiles, 32, 32, 2]` | source column and row of each pixel of a tile for which patches are too inaccurate |
//! | `mesh_shares` | U16 | `[tiles, 32, 32]` | a layer's share at each pixel of a tile; 65535 is 1 |
//!
//! In `mesh_layers`, the first layers of all tiles come first, tile by tile in rows. All other elements are in the
//! order of the tiles, and within a tile in the order of its cameras. So every index in a layer follows from this
//! order. The indices are stored nevertheless, because they allow random access to a tile. The value 4294967295 means
//! no index:
//! - `places` is the index of the layer's first element in `mesh_patches`, or of its first point in `mesh_places`,
//!   which has 1024 points per element.
//! - `shares` is the index of the layer's first number in `mesh_shares`, which has 1024 numbers per element. In the
//!   last of several layers of a tile, `shares` may be 4294967294. Then the layer's share at each pixel is 1 minus the
//!   shares of the tile's other layers.
//! - `next` is the index of the tile's next layer.
//!
//! The header's `__metadata__` contains these strings:
//!
//! | key | value |
//! |---|---|
//! | `format` | `panoweave-warp` |
//! | `version` | `1` |
//! | `sources` | width and height of each source picture in pixels, such as `3840x2160 1920x1080` |
//! | `projection` | `planar`, `cylindrical`, `equirectangular` or `unknown` |
//! | `rig` | optional: the text of the rig or homography from which the warp was made |
//! | `mesh_error` | with a mesh: its maximum deviation along either axis in source pixels, such as `0.03125` |
//! | `checksum` | eight hex digits: CRC-32 of all tensors' bytes in order, then of the text `{sources} {projection} {rig}`, or with a mesh `{sources} {projection} {mesh_error} {rig}` |

mod read;

use std::collections::HashMap;
use std::convert::Infallible;
use std::io::Write;
use std::path::Path;

use glam::UVec2;
use safetensors::tensor::{Dtype, Metadata, TensorInfo};

use crate::geometry::rig::ProjectionName;
use crate::io::replace;
use crate::warp::bytes::bytes_of;
use crate::warp::mesh::MeshPart;
use crate::warp::{Plane, Warp, WarpError};

/// The value of the metadata key `format`.
pub(crate) const FORMAT: &str = "panoweave-warp";
/// The value of the metadata key `version`.
pub(crate) const VERSION: &str = "1";

/// The maximum length of the header's JSON in bytes. Its largest part is the text of the rig, which has a few
/// kilobytes.
pub(crate) const HEADER_LIMIT: u64 = 1 << 20;

impl Warp {
    /// Writes the warp to a panoweave warp file, and replaces the file atomically. The usual extension is
    /// `.safetensors`.
    ///
    /// # Errors
    /// Returns [`Header`](WarpError::Header) if the text of the rig is too long, or
    /// [`Unwritable`](WarpError::Unwritable) if the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), WarpError> {
        let file = path.as_ref();
        let header =
            self.header().map_err(|reason| WarpError::Header { file: file.to_owned(), reason })?;
        replace(file, |out| {
            out.write_all(&(header.len() as u64).to_le_bytes())?;
            out.write_all(&header)?;
            self.tensors(|bytes| out.write_all(bytes))
        })
        .map_err(|source| WarpError::Unwritable { file: file.to_owned(), source })
    }

    /// Passes the bytes of all tensors to `sink`, in file order and in pieces.
    fn tensors<E>(&self, mut sink: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        for plane in self.planes() {
            bytes_of(plane, f32::to_le_bytes, &mut sink)?;
        }
        let Some(mesh) = self.mesh() else { return Ok(()) };
        MeshPart::ALL.into_iter().try_for_each(|part| mesh.pack(part, &mut sink))
    }

    /// Returns the header as JSON. It is padded with spaces to a multiple of 8 bytes, so that the planes in the file
    /// are 8-byte aligned. Returns the reason as an error if the header would be too long.
    fn header(&self) -> Result<Vec<u8>, String> {
        let mut crc = crc32fast::Hasher::new();
        let done: Result<(), Infallible> = self.tensors(|bytes| {
            crc.update(bytes);
            Ok(())
        });
        let Ok(()) = done;
        let sources = sources_text(self.sources());
        let projection = self.projection().map_or("unknown", ProjectionName::as_str);
        let error = self.mesh().map(|mesh| mesh.error().to_string());
        crc.update(sealed_text(&sources, projection, error.as_deref(), self.rig()).as_bytes());
        let mut metadata = HashMap::from(
            [
                ("format", FORMAT),
                ("version", VERSION),
                ("sources", &sources),
                ("projection", projection),
                ("checksum", &format!("{:08x}", crc.finalize())),
            ]
            .map(|(key, value)| (key.to_owned(), value.to_owned())),
        );
        if let Some(error) = error {
            metadata.insert("mesh_error".to_owned(), error);
        }
        if let Some(rig) = self.rig() {
            metadata.insert("rig".to_owned(), rig.to_owned());
        }
        let mut end = 0;
        let mut tensor = |name: &str, dtype: Dtype, shape: Vec<usize>| {
            let begin = end;
            end += shape.iter().product::<usize>() * dtype.bitsize() / 8;
            (name.to_owned(), TensorInfo { dtype, shape, data_offsets: (begin, end) })
        };
        let UVec2 { x, y } = self.size();
        let shape = vec![y as usize, x as usize];
        let cameras = self.sources().len();
        let mut tensors: Vec<_> = Plane::all(cameras)
            .map(|plane| tensor(&plane.name(cameras), Dtype::F32, shape.clone()))
            .collect();
        if let Some(mesh) = self.mesh() {
            tensors.extend(MeshPart::ALL.into_iter().zip(mesh.counts()).map(|(part, count)| {
                tensor(part.name(), part.dtype(), [&[count], part.element()].concat())
            }));
        }
        let layout = Metadata::new(Some(metadata), tensors).map_err(|error| error.to_string())?;
        // Convert to a `Value` first, because it sorts the keys. So equal warps are saved to identical files.
        let mut json = serde_json::to_value(&layout)
            .and_then(|value| serde_json::to_vec(&value))
            .map_err(|error| error.to_string())?;
        json.resize(json.len().next_multiple_of(8), b' ');
        if json.len() as u64 > HEADER_LIMIT {
            let length = json.len();
            return Err(format!(
                "it is {length} bytes long but must be at most {HEADER_LIMIT}; shorten the rig"
            ));
        }
        Ok(json)
    }
}

/// Returns sizes as text for the metadata, such as `3840x2160 1920x1080`.
pub(crate) fn sources_text(sizes: &[UVec2]) -> String {
    sizes.iter().map(|size| format!("{}x{}", size.x, size.y)).collect::<Vec<_>>().join(" ")
}

/// Returns the text that the checksum covers in addition to the tensors.
pub(crate) fn sealed_text(
    sources: &str,
    projection: &str,
    mesh_error: Option<&str>,
    rig: Option<&str>,
) -> String {
    let error = mesh_error.map_or(String::new(), |error| format!("{error} "));
    format!("{sources} {projection} {error}{}", rig.unwrap_or(""))
}
