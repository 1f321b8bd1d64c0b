//! Stitch, the variants that read planes: make a panorama from two pictures and the six planes of a warp.
//!
//! One thread computes one output pixel, or the four pixels of an NV12 chroma sample. For each contributing camera
//! (weight above [`MIN_WEIGHT`], coordinates inside its picture), it samples bilinearly, applies the camera's colour
//! correction and adds to a weighted mean, which is rounded once. `planes` is the reference for the faster variants, and
//! the fallback for inputs that they reject. The other variants exist for RGBA only, and none of them is faster:
//!
//! - `textured planes` reads the same planes through the texture unit, with the same result.
//! - `hardware bilinear` samples pictures in textures, whose filter weights have 8 bits.
//! - `gamma table` interpolates in a table of corrected levels instead of computing powers.
//!
//! [`mesh`](crate::stitch::mesh) is the variant without planes. [`sum`](crate::stitch::sum) reads the planes of any number
//! of cameras.
//!
//! Cost: 24 bytes of warp planes per panorama pixel, which is more than the picture data. The coordinates of a camera
//! are read only where its weight is large enough.

use crate::colour::grade::{Grade, Mixed, Table};
use crate::colour::vignette::factor;
use crate::io::{Sampler2d, Target};
#[cfg(not(target_arch = "nvptx64"))]
use crate::stitch::cpu;
use crate::stitch::edge_boost;
use crate::warp::camera::{Planes, SourceLookup};
use cuda_std::prelude::*;
use glam::Vec3;
use shared_types::Rgba8;
use shared_types::colour::{TABLE_LEN, TableEntry};
use shared_types::nv12::{Nv12, Nv12Mut};
use shared_types::photometry::Vignette;
use shared_types::stitch::{BLOCK_THREADS, MIN_WEIGHT, StitchParams};
use shared_types::texture::{Rgba8Texture, TexturedCameraPlanes};
use shared_types::warp::CameraPlanes;
use shared_types::yuv::YuvToRgb;

/// Defines a kernel for a type of pictures, of the panorama and of planes.
macro_rules! stitch_planes {
    ($title:literal, $name:ident, $picture:ty => $panorama:ty, $planes:ty $(, $cpu:path)?) => {
        #[doc = concat!("Stitches ", $title, ".")]
        ///
        /// `out` and the planes should have the size of the panorama. If planes are smaller, pixels outside them have
        /// weight 0. Pixels that no camera sees become opaque black. Nothing is written if the chroma plane of an NV12
        /// picture is not half the size of its luma plane.
        #[kernel(launch_bounds(BLOCK_THREADS, 4) $(, cpu($cpu))?)]
        pub fn $name(
            left: $picture,
            right: $picture,
            planes_left: $planes,
            planes_right: $planes,
            params: StitchParams,
            out: $panorama,
        ) {
            let left = CameraSource { picture: left, planes: planes_left, vignette: params.left_vignette };
            let right = CameraSource { picture: right, planes: planes_right, vignette: params.right_vignette };
            let exact = params.exact != 0;
            let grade = |colour| Mixed { colour, offset: Vec3::ZERO, exact };
            stitch(left, right, &[grade(params.left), grade(params.right)], &params, out);
        }
    };
}

stitch_planes!(
    "RGBA to RGBA", stitch_planes_rgba8, View<Rgba8> => ViewMut<Rgba8>, CameraPlanes, cpu::planes
);

stitch_planes!("NV12 to NV12", stitch_planes_nv12, Nv12 => Nv12Mut, CameraPlanes, cpu::planes);

stitch_planes!(
    "NV12 to RGBA", stitch_planes_nv12_rgba8, Nv12 => ViewMut<Rgba8>, CameraPlanes, cpu::planes
);

stitch_planes!(
    "RGBA to NV12", stitch_planes_rgba8_nv12, View<Rgba8> => Nv12Mut, CameraPlanes, cpu::planes
);

stitch_planes!(
    "RGBA to RGBA from planes in textures",
    stitch_textured_planes, View<Rgba8> => ViewMut<Rgba8>, TexturedCameraPlanes
);

stitch_planes!(
    "RGBA to RGBA from pictures in textures",
    stitch_hardware_bilinear, Rgba8Texture => ViewMut<Rgba8>, CameraPlanes, cpu::planes
);

/// Stitches RGBA to RGBA with the gains and gammas in `table`, which replaces those in `params`.
///
/// Nothing is written if `table` has fewer than [`TABLE_LEN`] entries. The other conditions are those of
/// [`stitch_planes_rgba8`].
#[kernel(launch_bounds(BLOCK_THREADS, 4), barriers(1))]
pub fn stitch_gamma_table(
    left: View<Rgba8>,
    right: View<Rgba8>,
    planes_left: CameraPlanes,
    planes_right: CameraPlanes,
    table: Slice<TableEntry>,
    params: StitchParams,
    out: ViewMut<Rgba8>,
) {
    if table.len() < TABLE_LEN {
        return;
    }
    // SAFETY: all threads of the block reach this call. The length of `table` was just checked.
    let grades = unsafe { Table::load(table) };
    let left = CameraSource { picture: left, planes: planes_left, vignette: params.left_vignette };
    let right =
        CameraSource { picture: right, planes: planes_right, vignette: params.right_vignette };
    stitch(left, right, &grades, &params, out);
}

/// The body of every stitch kernel on planes. One thread computes one cell of the panorama ([`Target::CELL`]).
#[device]
fn stitch<P: Sampler2d, M: Planes, G: Grade, O: Target>(
    left: CameraSource<P, M>,
    right: CameraSource<P, M>,
    grades: &[G; 2],
    params: &StitchParams,
    out: O,
) {
    let (width, height) = (out.width(), out.height());
    let cell = thread::index_2d();
    let inside = cell.x < width.div_ceil(O::CELL) && cell.y < height.div_ceil(O::CELL);
    if !(inside && left.picture.is_whole() && right.picture.is_whole() && out.is_whole()) {
        return;
    }
    let colour = |x: u32, y: u32| {
        // A flip does not change the cell that a thread writes, only the panorama position that it computes for this
        // cell.
        let (x, y) = if params.flip != 0 { (width - 1 - x, height - 1 - y) } else { (x, y) };
        let mut sum = WeightedSum::default();
        left.add(x, y, &grades[0], &params.decode, &mut sum);
        right.add(x, y, &grades[1], &params.decode, &mut sum);
        let boost = if params.edge_boost != 0 { edge_boost(x, width) } else { 1.0 };
        sum.levels(boost)
    };
    let cell = cell * O::CELL;
    // SAFETY: the panorama is whole and contains the cell's first pixel, as checked above. No other thread writes the
    // cell.
    unsafe { out.store(cell.x, cell.y, colour, &params.encode) };
}

/// One camera: its picture, the planes with its source coordinates and weights, and its vignette.
struct CameraSource<P, M> {
    picture: P,
    planes: M,
    vignette: Vignette,
}

impl<P: Sampler2d, M: Planes> CameraSource<P, M> {
    /// Adds the camera's colour at panorama pixel `(x, y)` to `sum`, if the camera contributes to this pixel.
    #[device]
    fn add<G: Grade>(&self, x: u32, y: u32, grade: &G, decode: &YuvToRgb, sum: &mut WeightedSum) {
        let camera = SourceLookup { planes: self.planes, size: self.picture.size() };
        if let Some((place, weight)) = camera.source(x, y, MIN_WEIGHT) {
            // SAFETY: `place` is inside the picture. The kernel has checked that its planes have matching sizes.
            let levels = unsafe { self.picture.sample(place.x, place.y, decode) };
            let factor = factor(&self.vignette, place);
            sum.add(weight, grade.apply(levels * (255.0 / P::WHITE * factor), factor));
        }
    }
}

/// The sum of all weights, and the sum of the colours (0 to 1) times their weights.
#[derive(Default)]
pub(crate) struct WeightedSum {
    pub(crate) colour: Vec3,
    pub(crate) weight: f32,
}

impl WeightedSum {
    #[device]
    pub(crate) fn add(&mut self, weight: f32, colour: Vec3) {
        self.colour += weight * colour;
        self.weight += weight;
    }

    /// Returns the weighted mean colour times `boost`, in levels (0 to 255), or black if nothing was added.
    #[device]
    pub(crate) fn levels(&self, boost: f32) -> Vec3 {
        if self.weight > 0.0 { self.colour * (255.0 * boost / self.weight) } else { Vec3::ZERO }
    }
}
