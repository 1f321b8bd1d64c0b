//! A warp as a mesh: tiles of the panorama with source coordinates and weights for each camera that contributes.
//!
//! A tile has a chain of [`Layer`]s, one per camera. A layer maps the tile's pixels to source pixels with a quadratic
//! [`Patch`] for the whole tile, with a patch per cell, or with a point per pixel. The weight of the layer's camera is
//! stored in one of three ways: a 16-bit share for each pixel (65,535 is 1), 1 minus the shares of the tile's other
//! layers, or 1 for all pixels.

use bytemuck::{Pod, Zeroable};
use cuda_std::KernelArg;
use glam::{UVec2, Vec2, Vec3};

use crate::photometry::Vignette;
use crate::stitch::Colour;
use crate::warp::CameraPlanes;
use crate::yuv::{RgbToYuv, YuvToRgb};

/// The side of a tile in pixels.
pub const TILE: u32 = 32;

/// The possible sides in pixels of a cell, which is the part of a tile that one patch covers. The first is the whole
/// tile.
pub const CELLS: [u32; 3] = [TILE, TILE / 2, TILE / 4];

/// The threads per block (x, y) of the stitch kernels. A block renders a tile.
pub const BLOCK: [u32; 2] = [32, 4];

/// The total number of threads per block of the stitch kernels, for launch bounds.
pub const BLOCK_THREADS: u32 = BLOCK[0] * BLOCK[1];

/// The threads per block (x, y) of `mesh_weigh`, the kernel that rewrites shares. A block processes a tile, and each
/// warp of the block processes one row of the tile at a time.
pub const WEIGH_BLOCK: [u32; 2] = [TILE, 8];

/// A camera of a mesh as `mesh_weigh` takes it.
#[derive(Clone, Copy, Debug, KernelArg)]
pub struct WeighedCamera {
    /// The source coordinates and the new weights.
    pub planes: CameraPlanes,
    /// The size of the camera's picture in pixels.
    pub size: UVec2,
}

/// The total number of threads per block of `mesh_weigh`, for launch bounds.
pub const WEIGH_THREADS: u32 = WEIGH_BLOCK[0] * WEIGH_BLOCK[1];

/// The value of an index that refers to no element.
pub const NONE: u32 = u32::MAX;

/// The value of [`Layer::shares`] for a layer that stores no shares, because its share is 1 minus the other layers'
/// shares.
pub const REST: u32 = NONE - 1;

/// The fixed-point value of a share of 1. A share is a camera's weight divided by the sum of all cameras' weights.
pub const WHOLE_SHARE: f32 = u16::MAX as f32;

/// A quadratic map from pixels of a tile to source coordinates. The source column and the source row are polynomials of
/// the pixel's offset `(x, y)` from the tile's centre, with coefficients for 1, x, y, x², xy and y². The centre is
/// `(TILE − 1) / 2` pixels from the tile's first pixel along both axes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C, align(16))]
pub struct Patch {
    /// The coefficients of the polynomial for the source column.
    pub u: [f32; 6],
    /// The coefficients of the polynomial for the source row.
    pub v: [f32; 6],
}

/// A position in a source picture, in pixels. Pixel centres are at integers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C, align(8))]
pub struct SourcePoint(pub Vec2);

/// The contribution of one camera to a tile.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C, align(16))]
pub struct Layer {
    /// The index of the camera, or [`NO_CAMERA`] if the tile is black.
    pub camera: u16,
    /// The side in pixels of the layer's cells, each of which has a patch. It is 0 if each pixel has its own source
    /// point.
    pub cell: u16,
    /// The index of the layer's first patch, or of its first source point if `cell` is 0. The further ones follow row
    /// by row. Unused if one cell covers the whole tile.
    pub places: u32,
    /// The index of the layer's first share. The shares of the tile's other pixels follow row by row. The value is
    /// [`NONE`] if all pixels show only this camera. It is [`REST`] if this is the last layer and its share is 1 minus
    /// the other layers' shares.
    pub shares: u32,
    /// The index of the tile's next layer, or [`NONE`] if this is the last one.
    pub next: u32,
    /// The patch for the whole tile, if one cell covers it, as in nearly all tiles. It is embedded here so that one
    /// load fetches the whole layer.
    pub patch: Patch,
}

/// The value of [`Layer::camera`] in a tile that no camera sees.
pub const NO_CAMERA: u16 = u16::MAX;

impl Layer {
    /// The layer of a tile that no camera sees.
    pub const BLACK: Self = Self {
        camera: NO_CAMERA,
        cell: TILE as u16,
        places: NONE,
        shares: NONE,
        next: NONE,
        patch: Patch { u: [0.0; 6], v: [0.0; 6] },
    };
}

/// The conversion of one camera's samples to colours. It has no shoulder. A sample has three channels, which are fractions from 0 to 1:
/// R'G'B' or Y'CbCr. Its colour is `clamp(c, 0, 1)^gamma`, where
/// `c = v · (first · sample[0] + second · sample[1] + third · sample[2] + offset)`, and `v` is the factor of the vignette.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct Grading {
    /// The factors by which R' or luma is multiplied for red, green and blue.
    pub first: Vec3,
    /// The factors by which G' or Cb is multiplied for red, green and blue.
    pub second: Vec3,
    /// The factors by which B' or Cr is multiplied for red, green and blue.
    pub third: Vec3,
    /// The constant terms that are added to red, green and blue.
    pub offset: Vec3,
    /// The exponent of the power, for all three channels.
    pub gamma: f32,
    /// The vignette of the camera, whose factor multiplies `c`. Its centre is in texture coordinates: ½ more than in
    /// pixels.
    pub vignette: Vignette,
}

/// The conversions of two cameras.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct TwoGradings {
    /// The conversion of the first camera.
    pub first: Grading,
    /// The conversion of the second camera.
    pub second: Grading,
}

impl Grading {
    /// Returns the conversion of R'G'B' samples for a camera with this colour correction.
    #[must_use]
    pub const fn rgb(Colour { gain, gamma, .. }: Colour) -> Self {
        let Vec3 { x, y, z } = gain;
        Self {
            first: Vec3::new(x, 0.0, 0.0),
            second: Vec3::new(0.0, y, 0.0),
            third: Vec3::new(0.0, 0.0, z),
            offset: Vec3::ZERO,
            gamma,
            vignette: Vignette::NONE,
        }
    }

    /// Returns the conversion of Y'CbCr samples for a camera with this colour correction.
    #[must_use]
    pub fn yuv(Colour { gain, gamma, .. }: Colour, decode: &YuvToRgb) -> Self {
        let YuvToRgb { black, scale, cr_red, cb_green, cr_green, cb_blue } = *decode;
        let blue = gain * Vec3::new(0.0, cb_green, cb_blue);
        let red = gain * Vec3::new(cr_red, cr_green, 0.0);
        let luma = gain * scale;
        // Subtract the levels of black and of neutral chroma (128), as fractions of 255.
        let offset = luma * (-black / 255.0) - (blue + red) * (128.0 / 255.0);
        Self { first: luma, second: blue, third: red, offset, gamma, vignette: Vignette::NONE }
    }

    /// Returns the conversion for a camera with a vignette.
    #[must_use]
    pub fn vignetted(self, vignette: Vignette) -> Self {
        Self { vignette: Vignette { centre: vignette.centre + 0.5, ..vignette }, ..self }
    }

    /// Returns the conversion of P010 samples for a camera with this colour correction. `decode` is for quarters of a
    /// level. A texture returns a sample as a fraction of 65,535, and a quarter is 64 of these.
    #[must_use]
    pub fn p010(colour: Colour, decode: &YuvToRgb) -> Self {
        const LEVELS: f32 = 65_535.0 / 256.0 / 255.0;
        let all = Self::yuv(colour, decode);
        let (first, second, third) = (all.first * LEVELS, all.second * LEVELS, all.third * LEVELS);
        Self { first, second, third, ..all }
    }

    /// Returns the gains of red, green and blue of a conversion from R'G'B' samples.
    #[inline(always)]
    #[must_use]
    pub const fn gain(&self) -> Vec3 {
        Vec3::new(self.first.x, self.second.y, self.third.z)
    }

    /// Returns the conversion that mixes the picture with a constant colour (0 to 1). `part` is the part of the colour:
    /// 0 leaves the picture unchanged, and with 1 the camera shows only the colour. The mix is computed before the
    /// power.
    #[cfg(not(target_arch = "nvptx64"))]
    #[must_use]
    pub fn mixed(&self, colour: Vec3, part: f32) -> Self {
        let keep = 1.0 - part;
        let linear = colour.clamp(Vec3::ZERO, Vec3::ONE).powf(1.0 / self.gamma);
        Self {
            first: self.first * keep,
            second: self.second * keep,
            third: self.third * keep,
            offset: self.offset * keep + linear * part,
            gamma: self.gamma,
            vignette: self.vignette.covered(part),
        }
    }
}

/// The parameters of a stitch with a mesh, apart from the mesh and the cameras.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct MeshParams {
    /// If not 0, the panorama is rotated by 180°; see [`StitchParams::flip`](crate::stitch::StitchParams::flip).
    pub flip: u32,
    /// If not 0, the left and right ends are brightened; see
    /// [`StitchParams::edge_boost`](crate::stitch::StitchParams::edge_boost).
    pub edge_boost: u32,
    /// The conversion of R'G'B' levels to Y'CbCr; unused for an RGBA panorama.
    pub encode: RgbToYuv,
}
