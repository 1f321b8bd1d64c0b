//! A rig describes a set of cameras and their panorama: the lens and orientation of each camera, and the canvas.
//!
//! # Conventions
//! A camera's frame is OpenCV's: x points right, y down, and z forward. Angles are in degrees.
//! - A positive `yaw` turns the camera to the right, about the world's y axis.
//! - A positive `pitch` turns the camera up, about its x axis.
//! - A positive `roll` turns the camera clockwise as seen along the viewing direction, about its z axis.
//!
//! `R = Ry(yaw) · Rx(pitch) · Rz(roll)` rotates a vector from the camera's frame to the world's. The panorama has a
//! frame like a camera's. Its `yaw` and `pitch` define its viewing direction, which is in the middle of the canvas
//! unless `centre` moves it. All cameras share one position; parallax is not modelled.
//!
//! # File
//! ```toml
//! [panorama]
//! projection = "cylindrical"    # planar, cylindrical or equirectangular
//! width = 5700                  # pixels
//! height = 1900
//! fov = 150.0                   # horizontal field of view in degrees
//! # fov_vertical = 50.0         # default: square pixels in the middle
//! # yaw = 0.0
//! # pitch = 0.0
//! # centre = [2849.5, 700.0]    # pixel of the viewing direction; default: the middle of the canvas
//!
//! [[camera]]                    # one for each camera
//! name = "left"
//! size = [3840, 2160]
//! lens = "pinhole"              # or "fisheye"; of a panorama: "cylindrical" or "equirectangular"
//! matrix = { fx = 2100.0, fy = 2100.0, cx = 1919.5, cy = 1079.5 }
//! distortion = [-0.05, 0.01, 0.0, 0.0, 0.0]    # OpenCV's order; missing ones are 0
//! yaw = -35.0
//! # vignetting = [-0.3, 0.0, 0.0]    # light at r is 1 + a·r² + b·r⁴ + c·r⁶; r is 1 at the corners
//!
//! [[camera]]
//! name = "right"
//! lens = "pinhole"
//! opencv = "calibration.yaml"   # file with K, D and perhaps the size; relative to this file
//! # opencv_camera = 2           # camera number, required for a stereo file with M1, D1, M2, D2
//! yaw = 35.0
//!
//! # [calibration]               # quality of a calibration from pictures
//! # model = "rotation"          # or "homography"
//! # matches = 800
//! # inliers = 640
//! # rms_px = 0.7
//! # overlap = 0.3
//! # coverage = 0.8
//! # seam_error_px = 0.4
//! ```
//! If only a homography of a camera is known, for instance for a flat scene seen from several positions, the camera has
//! the field `homography` instead of lens, matrix, distortion and angles. The field contains a matrix as nine numbers,
//! row by row. The matrix maps a ray of the world to a vector `(x, y, z)`, whose pixel in the picture is `(x/z, y/z)`.
//! For a camera without distortion, this matrix is `K·Rᵀ`, so a rig may contain both kinds of cameras. Across a planar
//! canvas with `fov = 90`, the rays' `x/z` is from −1 to 1.
//!
//! A ready panorama is a camera, too, for instance to make views of it. Its focal lengths are pixels per radian.
//! Without `matrix`, it is a full circle with square pixels, whose axis is in the middle.
//!
//! `vignetting` is the light that a lens keeps, in linear light, as a fraction of that in the middle; see
//! [`Vignetting`]. A stitch undoes it for levels that encode light with a gamma of 2.2.
//!
//! Unknown keys are errors. [`Rig::to_toml`] writes this format without `opencv`, so the file needs no calibration
//! file.

mod error;
mod file;
mod lens_limit;
mod names;

use std::path::{Path, PathBuf};

use glam::{DMat3, DVec2, UVec2};
use serde::{Deserialize, Serialize};
use shared_types::photometry::Vignette;
use shared_types::warp::{Camera, Canvas};

pub use crate::geometry::CameraMatrix;
use crate::geometry::{Geometry, Vignetting};
pub use error::RigError;
pub(crate) use lens_limit::radial_limit;
pub use names::{LensName, ModelName, ProjectionName};

/// Maximum number of cameras of a rig.
pub const MAX_RIG_CAMERAS: usize = 64;

/// The projection, the size and the field of view of the panorama.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RigCanvas {
    /// Projection of the panorama.
    pub projection: ProjectionName,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// Horizontal field of view in degrees, which defines the horizontal scale. The full width spans this angle if the
    /// viewing direction is in the middle of the canvas.
    pub fov: f64,
    /// Vertical field of view in degrees, which defines the vertical scale in the same way. `None` means square pixels.
    pub fov_vertical: Option<f64>,
    /// Angle of the viewing direction to the right, in degrees.
    #[serde(default)]
    pub yaw: f64,
    /// Angle of the viewing direction upwards, in degrees.
    #[serde(default)]
    pub pitch: f64,
    /// Column and row of the canvas pixel that shows the viewing direction. `None` means the middle of the canvas.
    /// Cropping a panorama sets this field.
    pub centre: Option<[f64; 2]>,
}

/// One camera of a rig.
#[derive(Clone, Debug, PartialEq)]
pub struct RigCamera {
    /// Name of the camera. It must be unique within the rig. Error messages use it.
    pub name: String,
    /// Width and height of the camera's pictures in pixels.
    pub size: [u32; 2],
    /// The map from rays of the world to pixels of the camera's pictures.
    pub view: CameraPose,
    /// The vignetting of the lens.
    pub vignetting: Vignetting,
}

/// The map from rays of the world to pixels of a camera's picture.
#[derive(Clone, Debug, PartialEq)]
pub enum CameraPose {
    /// A lens and an orientation.
    Mount(Mount),
    /// A matrix that maps a ray of the world to `(x, y, z)`. The pixel is `(x/z, y/z)` if `z` is positive; other rays
    /// are not visible.
    Homography(DMat3),
}

/// A camera's lens and orientation.
#[derive(Clone, Debug, PartialEq)]
pub struct Mount {
    /// Lens model, or the projection of a camera whose pictures are panoramas.
    pub lens: LensName,
    /// Camera matrix: focal lengths and principal point in pixels.
    pub matrix: CameraMatrix,
    /// Distortion coefficients in OpenCV's order; missing coefficients are 0.
    pub distortion: Vec<f64>,
    /// Angle of the viewing direction to the right, in degrees.
    pub yaw: f64,
    /// Angle of the viewing direction upwards, in degrees.
    pub pitch: f64,
    /// Clockwise rotation about the viewing direction, as seen along this direction, in degrees.
    pub roll: f64,
}

/// The quality figures of a calibration from pictures. With several pairs of cameras, `matches` and `inliers` are sums
/// over all pairs. Each other number is the worst value of any pair.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quality {
    /// The kind of model that was fitted: a homography or rotating cameras.
    pub model: ModelName,
    /// The number of distinct correspondences.
    pub matches: u32,
    /// The number of inliers: correspondences that agree with the model.
    pub inliers: u32,
    /// Root mean square distance of the inliers from the model, in pixels of the left picture of the pair.
    pub rms_px: f64,
    /// Overlap of a pair, from 0 to 1: the fraction of one picture that the other one also shows. The larger of the two
    /// pictures' fractions counts.
    pub overlap: f64,
    /// Fraction of the overlap that has inliers, counted in square cells, from 0 to 1.
    pub coverage: f64,
    /// Expected misalignment in the overlap, in pixels of the left picture of the pair.
    pub seam_error_px: f64,
}

/// A set of cameras, and the layout of their panorama.
#[derive(Clone, Debug, PartialEq)]
pub struct Rig {
    /// The path of the rig file. Error messages name it.
    pub file: PathBuf,
    /// The layout of the panorama.
    pub panorama: RigCanvas,
    /// The cameras. Two cameras are in the order left, right.
    pub cameras: Vec<RigCamera>,
    /// Quality of the calibration, if the rig was calibrated from pictures.
    pub quality: Option<Quality>,
    /// The calibration files from which camera matrices and distortions were read.
    pub calibrations: Vec<PathBuf>,
}

impl Rig {
    /// Reads a rig file and its calibration files, whose paths are relative to the folder of the rig file. A rig may name
    /// any file that the process can read, so pass a stranger's rig to [`parse`](Self::parse) instead.
    ///
    /// # Errors
    /// Returns [`RigError`] if the rig or a calibration file cannot be read or is invalid.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, RigError> {
        let file = path.as_ref();
        let folder = file.parent().unwrap_or(Path::new(""));
        let rig = file::parse(&crate::io::text::read_text(file)?, file, Some(folder))?;
        rig.check()?;
        Ok(rig)
    }

    /// Parses the text of a rig file, such as that of [`to_toml`](Self::to_toml). Reads no files: a camera with the field
    /// `opencv` is an error. Error messages name `file`.
    ///
    /// # Errors
    /// Returns [`RigError`] if the rig is invalid or names a calibration file.
    pub fn parse(text: &str, file: impl AsRef<Path>) -> Result<Self, RigError> {
        let rig = file::parse(text, file.as_ref(), None)?;
        rig.check()?;
        Ok(rig)
    }

    /// Returns the rig as TOML that needs no calibration files. [`parse`](Self::parse) reads the same cameras and
    /// panorama from this TOML.
    ///
    /// # Errors
    /// Returns [`RigError`] if a number is out of range, a name is empty or not unique, or the conversion fails.
    pub fn to_toml(&self) -> Result<String, RigError> {
        self.check()?;
        file::write(self)
    }

    /// Writes the rig to a file. The file is replaced as a whole or not at all.
    ///
    /// # Errors
    /// Returns the errors of [`to_toml`](Self::to_toml), or [`RigError::Unsaved`] if the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), RigError> {
        let (file, text) = (path.as_ref(), self.to_toml()?);
        crate::io::text::replace_text(file, &text)
            .map_err(|error| RigError::Unsaved { file: file.to_owned(), reason: error.to_string() })
    }

    /// Returns the canvas and the cameras in the types that the warp kernel takes.
    ///
    /// # Errors
    /// Returns [`RigError`] if the rig is invalid. A rig that was read and not changed is always valid.
    pub fn geometry(&self) -> Result<Geometry, RigError> {
        self.check()?;
        let panorama = &self.panorama;
        let to_world = rotation(panorama.yaw, panorama.pitch, 0.0);
        Ok(Geometry {
            canvas: panorama.canvas(),
            cameras: self.cameras.iter().map(|camera| camera.camera(to_world)).collect(),
        })
    }
}

impl RigCanvas {
    /// Returns the same layout on a canvas of another size, in pixels. Both fields of view stay the same, so square
    /// pixels become oblong if the aspect ratio changes.
    #[must_use]
    pub fn resized(&self, size: UVec2) -> Self {
        let same_aspect =
            u64::from(size.x) * u64::from(self.height) == u64::from(size.y) * u64::from(self.width);
        let fov_vertical = match self.fov_vertical {
            None if !same_aspect => {
                let half = f64::from(self.height) / 2.0 / self.scale().y;
                let half = if self.projection.straight_rows() { libm::atan(half) } else { half };
                Some(2.0 * half.to_degrees())
            }
            given => given,
        };
        let from = UVec2::new(self.width, self.height).as_dvec2();
        let moved = |centre| (DVec2::from(centre) + 0.5) * size.as_dvec2() / from - 0.5;
        let centre = self.centre.map(|centre| moved(centre).into());
        Self { width: size.x, height: size.y, fov_vertical, centre, ..self.clone() }
    }

    /// Returns the same panorama, scaled so that it just fits into `size`. Both sides are even unless they are 1.
    #[must_use]
    pub fn fitted(&self, size: UVec2) -> Self {
        let own = UVec2::new(self.width, self.height);
        let scale = (size.as_dvec2() / own.as_dvec2()).min_element();
        let scaled = (own.as_dvec2() * scale + 0.5).as_uvec2().clamp(UVec2::ONE, size);
        self.resized((scaled & !UVec2::ONE).max(UVec2::ONE))
    }

    /// Returns the horizontal and the vertical scale. The unit is pixels per radian, or pixels per unit of the tangent
    /// for an axis on which positions are proportional to tangents.
    pub(crate) fn scale(&self) -> DVec2 {
        let along = |pixels: u32, fov: f64, straight: bool| {
            let half = fov.to_radians() / 2.0;
            f64::from(pixels) / 2.0 / if straight { libm::tan(half) } else { half }
        };
        let x = along(self.width, self.fov, self.projection.straight_columns());
        let y = self
            .fov_vertical
            .map_or(x, |fov| along(self.height, fov, self.projection.straight_rows()));
        DVec2::new(x, y)
    }

    pub(crate) fn canvas(&self) -> Canvas {
        let size = UVec2::new(self.width, self.height);
        Canvas {
            centre: self.centre.map_or((size.as_dvec2() - 1.0) / 2.0, DVec2::from),
            scale: self.scale(),
            size,
            projection: self.projection.projection(),
            reserved: 0,
        }
    }
}

impl RigCamera {
    /// Returns the vignette of the camera's pictures.
    /// [`Vignettes::of_rig`](crate::ops::stitch::Vignettes::of_rig) returns those of all cameras.
    #[must_use]
    pub fn vignette(&self) -> Vignette {
        self.vignetting.vignette(self.size.into())
    }

    fn camera(&self, panorama_to_world: DMat3) -> Camera {
        let size = UVec2::from(self.size);
        match &self.view {
            CameraPose::Mount(mount) => {
                let to_world = rotation(mount.yaw, mount.pitch, mount.roll);
                // The transpose of a rotation is its inverse, here from the world to the camera.
                lens_camera(
                    to_world.transpose() * panorama_to_world,
                    size,
                    mount.lens,
                    &mount.matrix,
                    &mount.distortion,
                )
            }
            CameraPose::Homography(matrix) => {
                Camera::from_matrix(*matrix * panorama_to_world, size)
            }
        }
    }

    /// Returns the lens and the orientation, or `None` if the camera is described by a homography.
    #[must_use]
    pub fn mount(&self) -> Option<&Mount> {
        match &self.view {
            CameraPose::Mount(mount) => Some(mount),
            CameraPose::Homography(_) => None,
        }
    }

    /// Returns a mutable reference to the lens and the orientation, or `None` if the camera is described by a
    /// homography.
    #[must_use]
    pub fn mount_mut(&mut self) -> Option<&mut Mount> {
        match &mut self.view {
            CameraPose::Mount(mount) => Some(mount),
            CameraPose::Homography(_) => None,
        }
    }
}

/// Returns a camera with a lens, in the type that the warp kernel takes. `from_ray` rotates a ray into the camera's
/// frame. Missing `coefficients` of the distortion are 0.
pub(crate) fn lens_camera(
    from_ray: DMat3,
    size: UVec2,
    lens: LensName,
    matrix: &CameraMatrix,
    coefficients: &[f64],
) -> Camera {
    let CameraMatrix { fx, fy, cx, cy } = *matrix;
    let mut distortion = [0.0; 5];
    for (slot, k) in distortion.iter_mut().zip(coefficients) {
        *slot = *k;
    }
    let lens = lens.lens();
    let limit = if lens.is_panorama() { (cx + 0.5) / fx } else { radial_limit(lens, &distortion) };
    Camera {
        from_ray,
        focal: DVec2::new(fx, fy),
        centre: DVec2::new(cx, cy),
        distortion,
        limit,
        size,
        lens,
        reserved: 0,
    }
}

/// Returns `Ry(yaw) · Rx(pitch) · Rz(roll)` for angles in degrees.
///
/// With y down and z forward, the standard rotation matrices match the conventions of this module: Ry(90°) rotates the
/// forward axis to the right, Rx(90°) rotates the forward axis up, and Rz(90°) rotates the right axis down.
pub(crate) fn rotation(yaw: f64, pitch: f64, roll: f64) -> DMat3 {
    DMat3::from_rotation_y(yaw.to_radians())
        * DMat3::from_rotation_x(pitch.to_radians())
        * DMat3::from_rotation_z(roll.to_radians())
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use super::*;

    fn close(a: DVec3, b: DVec3) {
        assert!((a - b).length() < 1e-12, "{a} is not {b}");
    }

    #[test]
    fn axes_turn_as_documented() {
        let (right, down, forward) = (DVec3::X, DVec3::Y, DVec3::Z);
        close(rotation(90.0, 0.0, 0.0) * forward, right);
        close(rotation(0.0, 90.0, 0.0) * forward, -down);
        close(rotation(0.0, 0.0, 90.0) * right, down);
        // A camera with positive yaw and pitch looks to the right of the world's z axis, and up.
        let seen = rotation(30.0, 20.0, 0.0) * forward;
        let (yaw, pitch) = (30.0f64.to_radians(), 20.0f64.to_radians());
        close(seen, DVec3::new(yaw.sin() * pitch.cos(), -pitch.sin(), yaw.cos() * pitch.cos()));
        // Roll is applied first, so it does not change the viewing direction.
        close(rotation(30.0, 20.0, 45.0) * forward, seen);
    }

    #[test]
    fn another_size_keeps_both_fields_of_view() {
        for projection in
            [ProjectionName::Planar, ProjectionName::Cylindrical, ProjectionName::Equirectangular]
        {
            let (width, height, fov_vertical) = (200, 100, None);
            let (fov, yaw, pitch) = (90.0, 5.0, -3.0);
            let whole = RigCanvas {
                projection,
                width,
                height,
                fov,
                fov_vertical,
                yaw,
                pitch,
                centre: None,
            };
            let half = whole.resized(UVec2::new(100, 50));
            assert_eq!(half.fov_vertical, None);
            assert!((half.scale() * 2.0 - whole.scale()).length() < 1e-12);
            let narrow = whole.resized(UVec2::new(100, 100));
            assert!((narrow.scale() * DVec2::new(2.0, 1.0) - whole.scale()).length() < 1e-12);
        }
    }

    #[test]
    fn a_full_width_spans_the_field_of_view() {
        let panorama = |projection, fov_vertical| RigCanvas {
            projection,
            width: 200,
            height: 100,
            fov: 90.0,
            fov_vertical,
            yaw: 0.0,
            pitch: 0.0,
            centre: None,
        };
        let planar = panorama(ProjectionName::Planar, None).canvas();
        assert!((planar.scale - DVec2::splat(100.0)).length() < 1e-12);
        assert_eq!(planar.centre, DVec2::new(99.5, 49.5));
        let quarter = std::f64::consts::FRAC_PI_2;
        let cylinder = panorama(ProjectionName::Cylindrical, Some(90.0)).scale();
        assert!((cylinder - DVec2::new(200.0 / quarter, 50.0)).length() < 1e-12);
        let sphere = panorama(ProjectionName::Equirectangular, Some(90.0)).scale();
        assert!((sphere - DVec2::new(200.0 / quarter, 100.0 / quarter)).length() < 1e-12);
    }
}
