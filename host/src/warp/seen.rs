//! Copies the visible parts of a warp's planes to the host in pieces, so that a mesh can be computed while live video
//! runs.
//!
//! A copy to pageable memory delays the copies of other streams until it is done. On an H100, such copies of the planes
//! of six 4K cameras (2.2 GB) delayed panoramas by 1.5 s. Therefore the planes are copied in pieces through page-locked
//! memory. For each camera, only the mesh tiles in the bounding box of its visible pixels are copied.

use bytemuck::cast_slice_mut;
use shared_types::colour::OverlapBox;
use shared_types::stitch::mesh::TILE;

use super::bounds::visible_box;
use super::{DeviceWarp, Plane, RenderError, Warp};
use crate::device::{Image, Pinned, RowsMut, Stream};

/// The number of elements of a piece: 4 MiB, which a PCIe bus of the fourth generation copies in 0.2 ms.
const PIECE: usize = 1 << 20;

impl DeviceWarp {
    /// Copies the planes of the warp to the host, in pieces, and waits for them. Tiles in which a camera sees nothing
    /// contain zeros, so a mesh computed from the result is equal to that of all planes.
    #[track_caller]
    pub(super) fn download_seen(&self, stream: &Stream) -> Result<Warp, RenderError> {
        self.await_ready(stream)?;
        let (size, sources) = (self.size(), self.sources());
        let mut areas = Vec::with_capacity(sources.len());
        for (camera, source) in sources.iter().enumerate() {
            let OverlapBox { min, max } = visible_box(stream, size, self.planes(camera)?, *source)?;
            let tiles_end = max.map(|side| side.next_multiple_of(TILE)).min(size);
            areas.push(OverlapBox { min: min / TILE * TILE, max: tiles_end });
        }
        // A piece has room for a row, because no panorama is as wide as `PIECE`.
        let pixels = size.element_product() as usize;
        let mut piece = Pinned::new(stream.device(), PIECE.min(pixels))?;
        let plane = |plane| {
            let (Plane::X(camera) | Plane::Y(camera) | Plane::Weight(camera)) = plane;
            let mut elements = vec![0.0; pixels];
            let area = areas[camera];
            if !area.is_empty() {
                copy(stream, self.plane(plane), area, &mut elements, &mut piece)?;
            }
            Ok(elements)
        };
        let planes =
            Plane::all(sources.len()).map(plane).collect::<Result<Vec<_>, RenderError>>()?;
        Ok(Warp::new(size, sources.to_vec(), planes)?)
    }
}

/// Copies the elements of `plane` in an area to the same places in `elements`. The area must not be empty and must be
/// in the plane, and `piece` must have room for one of its rows.
#[track_caller]
fn copy(
    stream: &Stream,
    plane: &Image<f32>,
    OverlapBox { min: from, max: to }: OverlapBox,
    elements: &mut [f32],
    piece: &mut Pinned<f32>,
) -> Result<(), RenderError> {
    let width = (to.x - from.x) as usize;
    let at_once = (piece.len() / width) as u32;
    for first in (from.y..to.y).step_by(at_once as usize) {
        let rows = at_once.min(to.y - first) as usize;
        let bytes = cast_slice_mut(&mut piece[..width * rows]);
        let (part, pitch) = (plane.rows_from(from.x, first), width * size_of::<f32>());
        // SAFETY: both sides have `rows` rows of `width` elements, because the area is in the plane.
        unsafe { stream.copy_rows_now(part, RowsMut::Host { bytes, pitch }, pitch, rows) }?;
        let starts =
            (first..to.y).map(|row| row as usize * plane.width() as usize + from.x as usize);
        for (row, start) in piece[..width * rows].chunks_exact(width).zip(starts) {
            elements[start..][..width].copy_from_slice(row);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use glam::{DMat3, DVec2, uvec2};

    use super::*;
    use crate::device::Device;
    use crate::geometry::{Camera, Canvas, Geometry};
    use crate::warp::{MESH_ERROR, Mesh};

    /// Cameras at three places of a panorama whose sides are not multiples of a tile: at the left edge, in the middle,
    /// and outside.
    #[test]
    fn a_mesh_of_the_seen_tiles_is_the_mesh_of_all_planes() {
        let camera = |left: f64, top: f64| {
            let place = DMat3::from_translation(DVec2::new(-left, -top));
            let turn = DMat3::from_angle(0.1);
            Camera::from_matrix(turn * place, uvec2(300, 200))
        };
        let cameras = vec![camera(-10.0, 5.0), camera(250.0, 20.0), camera(5000.0, 0.0)];
        let canvas = Canvas::of_pixels(DVec2::ZERO, uvec2(1417, 211));
        let stream = Device::cpu().stream().unwrap();
        let warp = DeviceWarp::render(&stream, &Geometry { canvas, cameras }).unwrap();
        let [all, seen] = [warp.download(&stream).unwrap(), warp.download_seen(&stream).unwrap()];
        assert!(seen.plane(Plane::X(0)) != all.plane(Plane::X(0)), "some tiles are left out");
        assert!(seen.plane(Plane::X(2)).iter().all(|x| *x == 0.0));
        let mesh = |warp| Mesh::new(warp, MESH_ERROR);
        assert!(mesh(&seen) == mesh(&all));
    }
}
