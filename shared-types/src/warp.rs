//! Geometry of a warp: the mapping from panorama pixels to rays, and from rays to source pixels.
//!
//! Pixel centres are at integers; x points right, y down, z forward (OpenCV's camera frame). Angles are in radians.
//! The geometry uses f64, which costs little because it is evaluated only once per rig. In f32, the rounding error
//! would be 1e-3 px at the right edge of a 4K picture.

use bytemuck::{Pod, Zeroable};
use cuda_std::{KernelArg, View};
use glam::{DMat3, DVec2, UVec2, Vec2, vec2};

/// The mapping from panorama pixels to rays. With `p = (pixel - centre) / scale`:
///
/// | projection | ray |
/// |---|---|
/// | [`PLANAR`](Self::PLANAR) | `(p.x, p.y, 1)` |
/// | [`CYLINDRICAL`](Self::CYLINDRICAL) | `(sin p.x, p.y, cos p.x)` |
/// | [`EQUIRECTANGULAR`](Self::EQUIRECTANGULAR) | `(sin p.x · cos p.y, sin p.y, cos p.x · cos p.y)` |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub struct Projection(pub u32);

impl Projection {
    /// A flat picture plane; straight lines stay straight.
    pub const PLANAR: Self = Self(0);
    /// A cylinder, unrolled: columns are proportional to the horizontal angle. Vertical lines stay straight.
    pub const CYLINDRICAL: Self = Self(1);
    /// A sphere, unrolled: columns are proportional to the longitude, and rows to the latitude.
    pub const EQUIRECTANGULAR: Self = Self(2);
}

/// The panorama's canvas: its size, and the mapping from its pixels to rays.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct Canvas {
    /// The canvas pixel of the forward ray `(0, 0, 1)`.
    pub centre: DVec2,
    /// Pixels per radian in x and y. On an axis that the projection does not map to an angle, pixels per unit of the
    /// tangent of the angle.
    pub scale: DVec2,
    /// Width and height in pixels.
    pub size: UVec2,
    /// The mapping from canvas pixels to rays.
    pub projection: Projection,
    /// Keeps the layout free of hidden padding.
    pub reserved: u32,
}

impl Canvas {
    /// Returns a planar canvas on which the ray of a pixel is `(pixel − centre, 1)`. Use it with cameras that
    /// [`Camera::from_matrix`] creates.
    #[must_use]
    pub const fn of_pixels(centre: DVec2, size: UVec2) -> Self {
        Self { centre, scale: DVec2::ONE, size, projection: Projection::PLANAR, reserved: 0 }
    }
}

/// The lens model: the effect of the lens on a ray `(X, Y, Z)` in the camera's coordinates.
///
/// | lens | distorted point, before `focal` and `centre` are applied |
/// |---|---|
/// | [`PINHOLE`](Self::PINHOLE) | Brown–Conrady on `(X/Z, Y/Z)`, coefficients `k1 k2 p1 p2 k3` |
/// | [`FISHEYE`](Self::FISHEYE) | equidistant: `θ(1 + k1θ² + k2θ⁴ + k3θ⁶ + k4θ⁸)` along `(X, Y)`, `k1 k2 k3 k4` |
/// | [`CYLINDRICAL`](Self::CYLINDRICAL) | a panorama: the angle of `(X, Z)` from the axis, and `Y/√(X² + Z²)` |
/// | [`EQUIRECTANGULAR`](Self::EQUIRECTANGULAR) | a panorama: the same angle, and the angle below the horizon |
///
/// The first two follow OpenCV's definitions (`cv::projectPoints`, `cv::fisheye::projectPoints`). A panorama has
/// no coefficients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub struct Lens(pub u32);

impl Lens {
    /// Perspective with Brown–Conrady distortion.
    pub const PINHOLE: Self = Self(0);
    /// Equidistant fisheye.
    pub const FISHEYE: Self = Self(1);
    /// Cylindrical panorama.
    pub const CYLINDRICAL: Self = Self(2);
    /// Equirectangular panorama.
    pub const EQUIRECTANGULAR: Self = Self(3);

    /// Returns whether the pictures are panoramas, whose columns are proportional to an angle.
    #[inline(always)]
    #[must_use]
    pub fn is_panorama(self) -> bool {
        self != Self::PINHOLE && self != Self::FISHEYE
    }
}

/// One camera as the input of the warp kernel.
///
/// This type can also represent a homography from the canvas to the source picture. The canvas is then planar with a
/// `scale` of 1 ([`Canvas::of_pixels`]), and the camera is a pinhole with focal length 1, no distortion and the
/// homography's matrix in `from_ray` ([`from_matrix`](Self::from_matrix)).
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct Camera {
    /// The matrix that transforms a ray from the panorama's coordinates to the camera's.
    pub from_ray: DMat3,
    /// Focal lengths in source pixels.
    pub focal: DVec2,
    /// Principal point in source pixels.
    pub centre: DVec2,
    /// Lens coefficients in the order that [`Lens`] defines. Unused coefficients are 0.
    pub distortion: [f64; 5],
    /// The radius (tan θ for a pinhole, θ for a fisheye) up to which the lens polynomial increases. Beyond this radius,
    /// the polynomial decreases, so the panorama would repeat parts of the picture. For a panorama, the angle from its
    /// left edge to the axis: rays further to the left belong to columns at the right edge.
    pub limit: f64,
    /// Source picture size in pixels.
    pub size: UVec2,
    /// The lens model.
    pub lens: Lens,
    /// Keeps the layout free of hidden padding.
    pub reserved: u32,
}

impl Camera {
    /// Returns a camera that maps rays to source pixels with the matrix `from_ray` and a division by `z`, without lens
    /// distortion.
    #[must_use]
    pub const fn from_matrix(from_ray: DMat3, size: UVec2) -> Self {
        Self {
            from_ray,
            focal: DVec2::ONE,
            centre: DVec2::ZERO,
            distortion: [0.0; 5],
            limit: f64::INFINITY,
            size,
            lens: Lens::PINHOLE,
            reserved: 0,
        }
    }
}

/// The planes of one camera in a warp: the source coordinates and the camera's weight for each panorama pixel. All
/// planes have the same size and pitch.
#[derive(Clone, Copy, Debug, KernelArg)]
pub struct CameraPlanes {
    x: View<f32>,
    #[kernel_arg(like = x)]
    y: View<f32>,
    #[kernel_arg(like = x)]
    weight: View<f32>,
}

/// A camera of the kernel that takes absent cameras out of a warp's weights.
#[derive(Clone, Copy, Debug, KernelArg)]
pub struct FadedCamera {
    /// The source coordinates, and the weights as they were rendered.
    pub base: CameraPlanes,
    /// The size of the camera's picture in pixels.
    pub size: UVec2,
    /// The address of the plane of the weights that the kernel changes.
    pub weights: u64,
    /// The camera's presence, from 0 (its picture is missing) to 1.
    pub presence: f32,
}

#[cfg(not(target_arch = "nvptx64"))]
impl CameraPlanes {
    /// Returns row `y` of the source columns, the source rows and the weights on the CPU.
    ///
    /// # Safety
    /// `y` must be less than the height. The rows must be valid host memory that nothing writes during `'a`.
    #[must_use]
    pub unsafe fn host_rows<'a>(self, y: u32) -> [&'a [f32]; 3] {
        // SAFETY: the caller upholds this function's safety contract. All planes have the same size.
        [self.x, self.y, self.weight].map(|plane| unsafe { plane.host_row(y) })
    }
}

impl CameraPlanes {
    /// Returns the number of columns.
    #[inline(always)]
    #[must_use]
    pub fn width(&self) -> u32 {
        self.weight.width()
    }

    /// Returns the number of rows.
    #[inline(always)]
    #[must_use]
    pub fn height(&self) -> u32 {
        self.weight.height()
    }

    /// Returns whether the planes contain panorama pixel `(x, y)`.
    #[inline(always)]
    #[must_use]
    pub fn contains(&self, x: u32, y: u32) -> bool {
        self.weight.contains(x, y)
    }

    /// Returns the source coordinates of panorama pixel `(x, y)`.
    ///
    /// # Safety
    /// The caller must ensure that `x < width` and `y < height`.
    #[inline(always)]
    #[must_use]
    pub unsafe fn place(&self, x: u32, y: u32) -> Vec2 {
        // SAFETY: the caller guarantees that `(x, y)` is within the bounds of `weight`, and `x` and `y` have its size.
        unsafe { vec2(self.x.load(x, y), self.y.load(x, y)) }
    }

    /// Returns the camera's weight at panorama pixel `(x, y)`.
    ///
    /// # Safety
    /// The caller must ensure that `x < width` and `y < height`.
    #[inline(always)]
    #[must_use]
    pub unsafe fn weight(&self, x: u32, y: u32) -> f32 {
        // SAFETY: the caller guarantees that `(x, y)` is within the bounds of the plane `weight`.
        unsafe { self.weight.load(x, y) }
    }
}

/// Threads per block in x and y for the warp kernels.
pub const BLOCK: [u32; 2] = [32, 8];

/// Threads per block, for launch bounds.
pub const BLOCK_THREADS: u32 = BLOCK[0] * BLOCK[1];

/// The value of both source coordinates at a panorama pixel that the camera does not see. It is outside every picture.
pub const UNSEEN: f32 = -1.0;
