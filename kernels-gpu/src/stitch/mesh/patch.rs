//! Source coordinates from a patch, a quadratic polynomial over a tile or a cell.

use crate::io::Target;
use crate::warp::patch::{Line, fused};
use cuda_std::device;
use glam::{UVec2, Vec2, vec2};
use shared_types::stitch::mesh::{Patch, TILE};

/// Returns the texture coordinates of four pixels, the first one at `first`. In RGBA, the other three are below the
/// first. In NV12, the four pixels are the 2×2 pixels that share a chroma sample.
#[device]
pub(super) fn four_places<O: Target>(patch: &Patch, first: UVec2) -> [Vec2; 4] {
    let (x, y) = (offset_from_centre(first.x), offset_from_centre(first.y));
    let centred = |line: Line| Line { start: line.start + 0.5, ..line };
    if O::FOUR.x == 1 {
        let column = centred(column(patch, x));
        [column.at(y), column.at(y + 1.0), column.at(y + 2.0), column.at(y + 3.0)]
    } else {
        let (top, bottom) = (centred(row(patch, y)), centred(row(patch, y + 1.0)));
        [top.at(x), top.at(x + 1.0), bottom.at(x), bottom.at(x + 1.0)]
    }
}

/// Returns the source coordinates of pixel `(x, y)` of the tile. Pixel centres are at integers.
#[device]
#[must_use]
pub fn place(patch: &Patch, x: u32, y: u32) -> Vec2 {
    column(patch, offset_from_centre(x)).at(offset_from_centre(y))
}

/// Returns the source coordinates along column `x` of a patch's tile, as a quadratic function of the row. `x` and the
/// row are offsets from the tile's centre.
#[device]
pub(super) fn column(patch: &Patch, x: f32) -> Line {
    let [c, cx, cy, cxx, cxy, cyy] = coefficients(patch);
    Line { start: fused(fused(cxx, x, cx), x, c), slope: fused(cxy, x, cy), bend: cyy }
}

/// Returns the source coordinates along row `y` of a patch's tile, as a quadratic function of the column. `y` and the
/// column are offsets from the tile's centre.
#[device]
pub(super) fn row(patch: &Patch, y: f32) -> Line {
    let [c, cx, cy, cxx, cxy, cyy] = coefficients(patch);
    Line { start: fused(fused(cyy, y, cy), y, c), slope: fused(cxy, y, cx), bend: cxx }
}

/// Returns the patch's coefficients as pairs: the one for the source column, and the one for the source row.
#[device]
pub(super) fn coefficients(Patch { u, v }: &Patch) -> [Vec2; 6] {
    core::array::from_fn(|i| vec2(u[i], v[i]))
}

/// Returns the offset of a column or row of a tile from the tile's centre.
#[device]
pub(super) fn offset_from_centre(pixel: u32) -> f32 {
    pixel as f32 - 0.5 * (TILE - 1) as f32
}
