//! A perspective view as its kernels see it: rays that are linear in the view's pixels, in f32.
//!
//! The ray of the pixel `(x, y)` away from the view's middle is `middle + x·along + y·down`, in a camera's
//! frame or a panorama's. What turns there is worked out on the host in f64, once a frame.

use bytemuck::{Pod, Zeroable};
use cuda_std::KernelArg;
use glam::{DMat3, DVec3, UVec2, Vec2, Vec3};

use crate::stitch::Colour;
use crate::warp::{Camera, Canvas, Lens, Projection};
use crate::yuv::{RgbToYuv, YuvToRgb};

/// Threads of a block in x and y.
pub const BLOCK: [u32; 2] = [32, 4];

/// Threads of a block, for launch bounds.
pub const BLOCK_THREADS: u32 = BLOCK[0] * BLOCK[1];

/// Pixels that a thread makes.
pub const RUN: u32 = 8;

/// Columns and rows of pixels that a block makes: of a view whose chroma, if it has any, is of `cell` by `cell` pixels.
#[must_use]
pub const fn tile(cell: u32) -> UVec2 {
    UVec2::new(BLOCK[0] * cell, BLOCK[1] * RUN / cell)
}

/// The rays of a view's pixels.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Rays {
    /// The ray of the view's middle.
    pub middle: Vec3,
    /// What a pixel to the right adds.
    pub along: Vec3,
    /// What a pixel down adds.
    pub down: Vec3,
}

impl Rays {
    /// Rays `turn · (x, y, focal)`, divided by `focal`, a length in pixels of the view.
    #[must_use]
    pub fn new(turn: DMat3, focal: f64) -> Self {
        Self {
            middle: turn.z_axis.as_vec3(),
            along: (turn.x_axis / focal).as_vec3(),
            down: (turn.y_axis / focal).as_vec3(),
        }
    }
}

/// A camera that a view looks through: where its picture shows a ray, and how its colours are corrected.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct ViewCamera {
    /// Rays in the camera's frame.
    pub rays: Rays,
    /// Focal lengths in source pixels.
    pub focal: Vec2,
    /// Principal point in source pixels.
    pub centre: Vec2,
    /// As [`Camera::distortion`].
    pub distortion: [f32; 5],
    /// As [`Camera::limit`].
    pub limit: f32,
    /// The lens.
    pub lens: Lens,
    /// 1 / the shorter side of the source picture.
    pub per_side: f32,
    /// Gain and gamma.
    pub colour: Colour,
    /// `(a, b, c)` each: the camera sees nothing of what a block makes where `a·x + b·y + c < 0`, of the middle of
    /// its pixels, counted from the view's.
    pub bounds: [Vec3; 4],
}

impl ViewCamera {
    /// A camera as warps have it, for a view whose rays `turn` takes into the panorama's frame, `focal` pixels
    /// away. Of a ray in the camera's frame it sees nothing where its product with one of `normals` is negative.
    /// The view's cells are of `cell` by `cell` pixels.
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
            // What is linear is largest at a corner.
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

/// A panorama's canvas that a view looks at: where it shows a ray.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct ViewCanvas {
    /// Rays in the panorama's frame.
    pub rays: Rays,
    /// As [`Canvas::scale`].
    pub scale: Vec2,
    /// As [`Canvas::centre`].
    pub centre: Vec2,
    /// Width and height in pixels.
    pub size: UVec2,
    /// How a ray becomes a pixel.
    pub projection: Projection,
}

impl ViewCanvas {
    /// A canvas as warps have it; the rest as in [`ViewCamera::new`].
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

/// The cameras that a view looks through.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct ViewCameras {
    /// The left camera.
    pub left: ViewCamera,
    /// The right camera.
    pub right: ViewCamera,
}

/// A view's own frame, and what its pixels are.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct ViewFrame {
    /// The view's middle in its own pixels.
    pub middle: Vec2,
    /// How pictures in NV12 are read.
    pub decode: YuvToRgb,
    /// How a view in NV12 is written.
    pub encode: RgbToYuv,
}
