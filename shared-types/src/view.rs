//! A perspective view as kernel arguments: rays that are linear in the view's pixels, in f32.
//!
//! The ray of the pixel at offset `(x, y)` from the view's centre is `middle + x·along + y·down`, in the frame of a
//! camera or a panorama. The host computes rotations in f64, once per frame.

use bytemuck::{Pod, Zeroable};
use cuda_std::KernelArg;
use glam::{DMat3, DVec3, UVec2, Vec2, Vec3};

use crate::stitch::Colour;
use crate::warp::{Camera, Canvas, Lens, Projection};
use crate::yuv::{RgbToYuv, YuvToRgb};

/// Threads per block in x and y.
pub const BLOCK: [u32; 2] = [32, 4];

/// Threads per block, for launch bounds.
pub const BLOCK_THREADS: u32 = BLOCK[0] * BLOCK[1];

/// The number of pixels that a thread computes.
pub const RUN: u32 = 8;

/// Returns the columns and rows of a block's tile in pixels. `cell` is the side in pixels of the square that shares a
/// chroma sample: 2 for NV12, and 1 for RGBA.
#[must_use]
pub const fn tile(cell: u32) -> UVec2 {
    UVec2::new(BLOCK[0] * cell, BLOCK[1] * RUN / cell)
}

/// The rays of a view's pixels.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
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

/// A camera whose picture a view shows: its projection from rays to source pixels, and its colour correction.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct ViewCamera {
    /// Rays in the camera's frame.
    pub rays: Rays,
    /// Focal lengths in source pixels.
    pub focal: Vec2,
    /// Principal point in source pixels.
    pub centre: Vec2,
    /// See [`Camera::distortion`].
    pub distortion: [f32; 5],
    /// See [`Camera::limit`].
    pub limit: f32,
    /// The lens.
    pub lens: Lens,
    /// The reciprocal of the shorter side of the source picture in pixels.
    pub per_side: f32,
    /// Colour correction.
    pub colour: Colour,
    /// Half-planes `(a, b, c)`. The camera sees no pixel of a block if `a·x + b·y + c < 0` for one of them, where
    /// `(x, y)` is the offset of the block's centre from the view's centre.
    pub bounds: [Vec3; 4],
}

impl ViewCamera {
    /// Converts a warp's camera for a view. `turn` rotates the view's rays into the panorama's frame, and `focal` is
    /// the view's focal length in pixels. A ray in the camera's frame is invisible if its dot product with one of
    /// `normals` is negative. [`tile`] explains `cell`.
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
            // the centre to that corner.
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
    /// Rays in the panorama's frame.
    pub rays: Rays,
    /// See [`Canvas::scale`].
    pub scale: Vec2,
    /// See [`Canvas::centre`].
    pub centre: Vec2,
    /// Width and height in pixels.
    pub size: UVec2,
    /// The projection from rays to pixels.
    pub projection: Projection,
}

impl ViewCanvas {
    /// Converts a warp's canvas for a view. [`ViewCamera::new`] explains `turn` and `focal`.
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

/// The view's centre and its colour conversions.
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
