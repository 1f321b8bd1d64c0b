//! Kernel arguments for a perspective view of cameras, or of a panorama.
//!
//! The ray of the pixel at offset `(x, y)` from the view's centre is `middle + x·along + y·down`, in the coordinates of
//! a camera or of the panorama. Kernels compute rays in f32. The host computes the rotations in f64, once per frame.

use bytemuck::{Pod, Zeroable};
use cuda_std::KernelArg;
use glam::{DMat3, DVec3, UVec2, Vec2, Vec3};

use crate::photometry::Vignette;
use crate::stitch::Colour;
use crate::warp::{Camera, Canvas, Lens, Projection};
use crate::yuv::{RgbToYuv, YuvToRgb};

/// Threads per block in x and y.
pub const BLOCK: [u32; 2] = [32, 4];

/// Threads per block, for launch bounds.
pub const BLOCK_THREADS: u32 = BLOCK[0] * BLOCK[1];

/// The number of pixels of the view that a thread computes.
pub const RUN: u32 = 8;

/// Returns the width and height in pixels of the tile that a block computes. `cell` is the side in pixels of the square
/// that shares a chroma sample: 2 for NV12, and 1 for RGBA.
#[must_use]
pub const fn tile(cell: u32) -> UVec2 {
    UVec2::new(BLOCK[0] * cell, BLOCK[1] * RUN / cell)
}

/// The rays of a view's pixels. They change linearly from pixel to pixel.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct Rays {
    /// The ray at the view's centre.
    pub middle: Vec3,
    /// The change of the ray per pixel to the right.
    pub along: Vec3,
    /// The change of the ray per pixel down.
    pub down: Vec3,
}

impl Rays {
    /// Creates the rays `turn · (x, y, focal) / focal` for offsets `(x, y)` from the view's centre, where `focal` is
    /// the view's focal length in pixels.
    #[must_use]
    pub fn new(turn: DMat3, focal: f64) -> Self {
        Self {
            middle: turn.z_axis.as_vec3(),
            along: (turn.x_axis / focal).as_vec3(),
            down: (turn.y_axis / focal).as_vec3(),
        }
    }
}

/// The camera parameters that a view needs: the projection from rays to source pixels, and the colour correction.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct ViewCamera {
    /// The rays of the view's pixels, in the camera's coordinates.
    pub rays: Rays,
    /// Focal lengths in source pixels.
    pub focal: Vec2,
    /// Principal point in source pixels.
    pub centre: Vec2,
    /// The lens coefficients; see [`Camera::distortion`].
    pub distortion: [f32; 5],
    /// The largest valid radius of the lens polynomial; see [`Camera::limit`].
    pub limit: f32,
    /// The lens model.
    pub lens: Lens,
    /// The reciprocal of the shorter side of the source picture in pixels.
    pub per_side: f32,
    /// The colour correction of the camera's picture.
    pub colour: Colour,
    /// Four half-planes `(a, b, c)`. The camera sees no pixel of a block if `a·x + b·y + c < 0` for one half-plane,
    /// where `(x, y)` is the offset of the block's centre from the view's centre in pixels.
    pub bounds: [Vec3; 4],
}

impl ViewCamera {
    /// Converts a camera of a warp to a camera of a view. `turn` rotates rays from the view's coordinates to the
    /// panorama's, and `focal` is the view's focal length in pixels. The camera does not see a ray if the ray's dot
    /// product with one of `normals` is negative. [`tile`] explains `cell`.
    #[must_use]
    pub fn new(
        camera: &Camera,
        normals: &[DVec3; 4],
        (turn, focal): (DMat3, f64),
        cell: u32,
        colour: Colour,
    ) -> Self {
        let turn = camera.from_ray * turn;
        let half = (tile(cell) - 1).as_dvec2() / 2.0;
        let bound = |normal: DVec3| {
            let DVec3 { x, y, z } = turn.transpose() * normal;
            // Over a block, a linear function is largest at a corner. The last component includes the increase from
            // the block's centre to that corner, so kernels need to test only the centre.
            let (a, b) = (x / focal, y / focal);
            Vec3::new(a as f32, b as f32, (z + a.abs() * half.x + b.abs() * half.y) as f32)
        };
        Self {
            rays: Rays::new(turn, focal),
            bounds: normals.map(bound),
            focal: camera.focal.as_vec2(),
            centre: camera.centre.as_vec2(),
            distortion: camera.distortion.map(|k| k as f32),
            limit: camera.limit as f32,
            lens: camera.lens,
            per_side: 1.0 / camera.size.as_vec2().min_element(),
            colour,
        }
    }
}

/// The projection from a view's rays to the pixels of a panorama's canvas.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct ViewCanvas {
    /// The rays of the view's pixels, in the panorama's coordinates.
    pub rays: Rays,
    /// Canvas pixels per radian or per unit of tangent; see [`Canvas::scale`].
    pub scale: Vec2,
    /// The canvas pixel of the forward ray `(0, 0, 1)`.
    pub centre: Vec2,
    /// Width and height of the canvas in pixels.
    pub size: UVec2,
    /// The projection from rays to canvas pixels.
    pub projection: Projection,
}

impl ViewCanvas {
    /// Converts the canvas of a warp to the canvas of a view. `turn` rotates rays from the view's coordinates to the
    /// panorama's, and `focal` is the view's focal length in pixels.
    #[must_use]
    pub fn new(canvas: &Canvas, turn: DMat3, focal: f64) -> Self {
        Self {
            rays: Rays::new(turn, focal),
            scale: canvas.scale.as_vec2(),
            centre: canvas.centre.as_vec2(),
            size: canvas.size,
            projection: canvas.projection,
        }
    }
}

/// The two cameras whose pictures a view shows.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct ViewCameras {
    /// The left camera.
    pub left: ViewCamera,
    /// The right camera.
    pub right: ViewCamera,
}

/// A camera of a view of up to [`MAX_CAMERAS`](crate::stitch::MAX_CAMERAS) cameras, its picture in textures, and the
/// plane of its weights. The fields of [`ViewCamera`] are parameters of their own, so that a kernel loads only those
/// that it needs.
#[derive(Clone, Copy, Debug, KernelArg)]
pub struct ViewSource {
    /// The handle of the texture of RGBA pixels, or of luma. Samples are fractions from 0 to 1.
    pub texels: u64,
    /// The handle of the texture of chroma, which has half the size of luma, rounded up. 0 for an RGBA picture.
    pub chroma: u64,
    /// The address of the plane of weights. Unused if the view is feathered.
    pub weights: u64,
    /// The width and height of the picture in pixels.
    pub size: UVec2,
    /// See [`ViewCamera::rays`].
    pub rays: Rays,
    /// See [`ViewCamera::focal`].
    pub focal: Vec2,
    /// See [`ViewCamera::centre`].
    pub centre: Vec2,
    /// See [`ViewCamera::distortion`].
    pub distortion: [f32; 5],
    /// See [`ViewCamera::limit`].
    pub limit: f32,
    /// See [`ViewCamera::lens`].
    pub lens: u32,
    /// See [`ViewCamera::per_side`].
    pub per_side: f32,
    /// See [`ViewCamera::colour`]. If the picture is mixed with a constant colour, the gain already contains the
    /// factor of the picture, which is 1 minus the part of the colour.
    pub colour: Colour,
    /// The constant colour times its part, before the power. Unused if no picture is mixed with a colour or has
    /// vignetting.
    pub offset: Vec3,
    /// The vignette of the camera. Unused like `offset`.
    pub vignette: Vignette,
    /// See [`ViewCamera::bounds`].
    pub bounds: [Vec3; 4],
    /// The conversion of NV12 samples to R'G'B' levels; unused for an RGBA picture.
    pub decode: YuvToRgb,
}

impl ViewSource {
    /// Returns the camera.
    #[inline(always)]
    #[must_use]
    pub fn camera(&self) -> ViewCamera {
        let Self { rays, focal, centre, distortion, limit, lens, per_side, colour, bounds, .. } =
            *self;
        let lens = Lens(lens);
        ViewCamera { rays, focal, centre, distortion, limit, lens, per_side, colour, bounds }
    }
}

/// The view's centre, and the colour conversions for reading pictures and writing the view.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct ViewFrame {
    /// The view's centre in pixels of the view.
    pub middle: Vec2,
    /// The conversion of NV12 samples to R'G'B' levels; unused for RGBA pictures.
    pub decode: YuvToRgb,
    /// The conversion of R'G'B' levels to Y'CbCr; unused for an RGBA view.
    pub encode: RgbToYuv,
}
