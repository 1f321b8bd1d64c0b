//! The errors of a rig, and the checks of its names and numbers.
//!
//! A message about a wrong number names the file, the field, the value and the allowed range. The ranges are much wider
//! than those of real cameras. They catch extra digits, wrong units, and a matrix for another resolution.

use std::path::{Path, PathBuf};

use crate::geometry::homography::is_singular;
use crate::geometry::intrinsics::IntrinsicsError;
use crate::geometry::rig::{
    CameraPose, MAX_CAMERAS, ProjectionName, Quality, Rig, RigCamera, RigCanvas,
};
use crate::geometry::{MAX_CANVAS_AREA, MAX_CANVAS_SIDE};
use crate::io::picture::MAX_SIDE;
use crate::io::text::TextError;

/// The error for a rig that cannot be read, used or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields of each variant are explained by its message")]
pub enum RigError {
    /// The file could not be read as text.
    #[error(transparent)]
    Text(#[from] TextError),
    /// The text is not valid TOML, or does not describe a rig.
    #[error("{}:{line}:{column}: {reason}", file.display())]
    Syntax { file: PathBuf, line: usize, column: usize, reason: String },
    /// A calibration file of the rig cannot be read or is invalid.
    #[error("{}: {field}: {source}", file.display())]
    Calibration { file: PathBuf, field: String, source: Box<IntrinsicsError> },
    /// A calibration file is not one of the allowed files.
    #[error("{}: {field} must be {allowed}", file.display())]
    CalibrationPath { file: PathBuf, field: String, allowed: &'static str },
    /// A camera has neither `matrix` nor `opencv`, or both.
    #[error("{}: {field} has {found} of matrix and opencv; give exactly one", file.display())]
    MatrixSource { file: PathBuf, field: String, found: &'static str },
    /// A field of a camera is missing or malformed, or must not be combined with another field.
    #[error("{}: {field} {reason}", file.display())]
    Contradiction { file: PathBuf, field: String, reason: &'static str },
    /// Neither the rig nor the camera's calibration file states the size of the pictures.
    #[error("{}: {field} is missing; give size = [width, height], or a calibration file that contains the size", file.display())]
    SizeMissing { file: PathBuf, field: String },
    /// The calibration is for another picture size.
    #[error("{}: {field} is {}×{}, but its calibration file is for {}×{} pixels; use a calibration for the size of the pictures", file.display(), size[0], size[1], calibrated[0], calibrated[1])]
    SizeMismatch { file: PathBuf, field: String, size: [u32; 2], calibrated: [u32; 2] },
    /// There are too few cameras, or too many.
    #[error("{}: the rig has {value} cameras; give 2 to {MAX_CAMERAS} [[camera]] tables", file.display())]
    CameraCount { file: PathBuf, value: usize },
    /// A camera's name is empty or used twice.
    #[error("{}: {field} is {value:?}; each camera must have its own name, which must not be empty", file.display())]
    CameraName { file: PathBuf, field: String, value: String },
    /// A number is NaN or infinite.
    #[error("{}: {field} is {value}; it must be a finite number", file.display())]
    NotFinite { file: PathBuf, field: String, value: f64 },
    /// The width or the height of a camera's pictures is out of range.
    #[error("{}: {field} is {value}; it must be 1 to {MAX_SIDE} pixels", file.display())]
    PictureSize { file: PathBuf, field: String, value: i64 },
    /// The width or the height of the panorama is out of range.
    #[error("{}: {field} is {value}; it must be 1 to {MAX_CANVAS_SIDE} pixels", file.display())]
    CanvasSize { file: PathBuf, field: String, value: i64 },
    /// The panorama has too many pixels.
    #[error("{}: {field} is {value} pixels; it must be at most {MAX_CANVAS_AREA}", file.display())]
    CanvasArea { file: PathBuf, field: String, value: u64 },
    /// A field of view is out of range for its projection.
    #[error("{}: {field} is {value}°; for a {} panorama, it must be 0.01° to {most}°", file.display(), projection.as_str())]
    Fov { file: PathBuf, field: String, value: f64, projection: ProjectionName, most: f64 },
    /// An equirectangular panorama extends beyond the poles.
    #[error("{}: {field} is {value} pixels, which is {degrees:.1}° with square pixels; it must be at most 180°: reduce the height or give fov_vertical", file.display())]
    BeyondPoles { file: PathBuf, field: String, value: u32, degrees: f64 },
    /// An angle is less than -360 degrees or more than 360 degrees.
    #[error("{}: {field} is {value}; it must be -360 to 360 degrees", file.display())]
    Angle { file: PathBuf, field: String, value: f64 },
    /// A focal length is out of range.
    #[error("{}: {field} is {value}; it must be 1 to 1e6 pixels", file.display())]
    Focal { file: PathBuf, field: String, value: f64 },
    /// A principal point is more than one picture size outside the picture.
    #[error("{}: {field} is {value}; it must be {least} to {most} pixels, which is at most one picture size outside the picture", file.display())]
    PrincipalPoint { file: PathBuf, field: String, value: f64, least: f64, most: f64 },
    /// A distortion coefficient is out of range.
    #[error("{}: {field} is {value}; it must be -1e6 to 1e6", file.display())]
    Distortion { file: PathBuf, field: String, value: f64 },
    /// The light at some distance from the middle of the picture is out of range.
    #[error("{}: {field} keeps less than 0.05 or more than 4 times the light of the middle; the light at the distance r from the middle is 1 + a·r² + b·r⁴ + c·r⁶, where r is 1 at the corners", file.display())]
    Vignetting { file: PathBuf, field: String },
    /// There are more distortion coefficients than the lens model has.
    #[error("{}: {field} has {value} coefficients, but the lens model uses {most}; remove the others or set them to 0", file.display())]
    DistortionCount { file: PathBuf, field: String, value: usize, most: usize },
    /// The canvas pixel that shows the viewing direction is out of range.
    #[error("{}: {field} is {value}; it must be -{MAX_CANVAS_SIDE} to {MAX_CANVAS_SIDE} pixels", file.display())]
    Centre { file: PathBuf, field: String, value: f64 },
    /// A homography is singular, or has an invalid number.
    #[error("{}: {field} {reason}", file.display())]
    Homography { file: PathBuf, field: String, reason: &'static str },
    /// A number in the `[calibration]` table is out of range.
    #[error("{}: {field} is {value}; it must be {allowed}", file.display())]
    Quality { file: PathBuf, field: String, value: f64, allowed: &'static str },
    /// The file cannot be written.
    #[error("cannot write {}: {source}", file.display())]
    Unsaved { file: PathBuf, source: std::io::Error },
    /// The rig cannot be written as TOML.
    #[error("cannot write {} as TOML: {reason}", file.display())]
    Unwritable { file: PathBuf, reason: String },
}

/// Checks that the number of cameras is 2 to [`MAX_CAMERAS`].
pub(super) fn check_count(value: usize, file: &Path) -> Result<(), RigError> {
    if (2..=MAX_CAMERAS).contains(&value) {
        return Ok(());
    }
    Err(RigError::CameraCount { file: file.to_owned(), value })
}

impl Rig {
    /// Checks all numbers and names of the rig.
    pub(crate) fn check(&self) -> Result<(), RigError> {
        let file = || self.file.clone();
        self.check_panorama(&self.panorama)?;
        check_count(self.cameras.len(), &self.file)?;
        for (i, camera) in self.cameras.iter().enumerate() {
            let name = &camera.name;
            if name.is_empty() || self.cameras[..i].iter().any(|c| c.name == *name) {
                let field = format!("name of camera {}", i + 1);
                return Err(RigError::CameraName { file: file(), field, value: name.clone() });
            }
            self.check_camera(camera)?;
        }
        self.quality.as_ref().map_or(Ok(()), |quality| self.check_quality(quality))
    }

    fn check_quality(&self, quality: &Quality) -> Result<(), RigError> {
        let shares = [("overlap", quality.overlap), ("coverage", quality.coverage)];
        let pixels = [("rms_px", quality.rms_px), ("seam_error_px", quality.seam_error_px)];
        let wrong = |field: &str, value, allowed| {
            let field = format!("calibration {field}");
            Err(RigError::Quality { file: self.file.clone(), field, value, allowed })
        };
        for (field, value) in shares {
            if !(0.0..=1.0).contains(&value) {
                return wrong(field, value, "0 to 1");
            }
        }
        for (field, value) in pixels {
            if !(0.0..=1e6).contains(&value) {
                return wrong(field, value, "0 to 1e6 pixels");
            }
        }
        if quality.inliers > quality.matches {
            return wrong("inliers", quality.inliers.into(), "at most the number of matches");
        }
        Ok(())
    }

    fn check_panorama(&self, panorama: &RigCanvas) -> Result<(), RigError> {
        let file = || self.file.clone();
        for (side, value) in [("width", panorama.width), ("height", panorama.height)] {
            if !(1..=MAX_CANVAS_SIDE).contains(&value) {
                let field = format!("panorama {side}");
                return Err(RigError::CanvasSize { file: file(), field, value: value.into() });
            }
        }
        let area = u64::from(panorama.width) * u64::from(panorama.height);
        if area > MAX_CANVAS_AREA {
            let field = "panorama area".to_owned();
            return Err(RigError::CanvasArea { file: file(), field, value: area });
        }
        let projection = panorama.projection;
        let most = |straight, whole| if straight { 179.0 } else { whole };
        let horizontal = most(projection.straight_columns(), 360.0);
        let vertical = most(projection.straight_rows(), 180.0);
        let fovs = [
            ("panorama fov", Some(panorama.fov), horizontal),
            ("panorama fov_vertical", panorama.fov_vertical, vertical),
        ];
        for (field, value, most) in fovs {
            let Some(value) = value else { continue };
            self.finite(field, value)?;
            if !(0.01..=most).contains(&value) {
                let field = field.to_owned();
                return Err(RigError::Fov { file: file(), field, value, projection, most });
            }
        }
        // The angle is too large only if `fov_vertical` is missing, because the loop above has checked `fov_vertical`.
        let degrees = (f64::from(panorama.height) / panorama.scale().y).to_degrees();
        if !projection.straight_rows() && degrees > 180.0 + 1e-9 {
            let field = "panorama height".to_owned();
            let value = panorama.height;
            return Err(RigError::BeyondPoles { file: file(), field, value, degrees });
        }
        for (side, value) in ["x", "y"].into_iter().zip(panorama.centre.unwrap_or_default()) {
            let field = format!("panorama centre {side}");
            self.finite(&field, value)?;
            if value.abs() > f64::from(MAX_CANVAS_SIDE) {
                return Err(RigError::Centre { file: file(), field, value });
            }
        }
        self.angle("panorama yaw", panorama.yaw)?;
        self.angle("panorama pitch", panorama.pitch)
    }

    fn check_camera(&self, camera: &RigCamera) -> Result<(), RigError> {
        let file = || self.file.clone();
        let field = |name: &str| format!("{name} of camera {:?}", camera.name);
        for value in camera.size {
            if !(1..=MAX_SIDE).contains(&value) {
                let field = field("size");
                return Err(RigError::PictureSize { file: file(), field, value: value.into() });
            }
        }
        for (i, &value) in camera.vignetting.0.iter().enumerate() {
            self.finite(&field(&format!("vignetting[{i}]")), value)?;
        }
        if !camera.vignetting.is_valid() {
            return Err(RigError::Vignetting { file: file(), field: field("vignetting") });
        }
        let mount = match &camera.view {
            CameraPose::Mount(mount) => mount,
            CameraPose::Homography(matrix) => {
                let wrong =
                    if matrix.to_cols_array().iter().any(|n| !n.is_finite() || n.abs() > 1e100) {
                        Some("must be nine finite numbers with magnitudes of at most 1e100")
                    } else if is_singular(matrix) {
                        Some("is singular: it maps the picture to a line or a point; correct it")
                    } else {
                        None
                    };
                let field = field("homography");
                return wrong.map_or(Ok(()), |reason| {
                    Err(RigError::Homography { file: file(), field, reason })
                });
            }
        };
        let m = mount.matrix;
        for (name, value) in [("fx", m.fx), ("fy", m.fy)] {
            self.finite(&field(name), value)?;
            if !(1.0..=1e6).contains(&value) {
                return Err(RigError::Focal { file: file(), field: field(name), value });
            }
        }
        for (name, value, size) in [("cx", m.cx, camera.size[0]), ("cy", m.cy, camera.size[1])] {
            self.finite(&field(name), value)?;
            let (least, most) = (-f64::from(size), 2.0 * f64::from(size));
            if !(least..=most).contains(&value) {
                let field = field(name);
                return Err(RigError::PrincipalPoint { file: file(), field, value, least, most });
            }
        }
        let most = mount.lens.coefficients();
        for (i, &value) in mount.distortion.iter().enumerate() {
            let name = field(&format!("distortion[{i}]"));
            self.finite(&name, value)?;
            if i >= most && value != 0.0 {
                let (field, value) = (field("distortion"), mount.distortion.len());
                return Err(RigError::DistortionCount { file: file(), field, value, most });
            }
            if value.abs() > 1e6 {
                return Err(RigError::Distortion { file: file(), field: name, value });
            }
        }
        self.angle(&field("yaw"), mount.yaw)?;
        self.angle(&field("pitch"), mount.pitch)?;
        self.angle(&field("roll"), mount.roll)
    }

    fn finite(&self, field: &str, value: f64) -> Result<(), RigError> {
        if value.is_finite() {
            return Ok(());
        }
        Err(RigError::NotFinite { file: self.file.clone(), field: field.to_owned(), value })
    }

    fn angle(&self, field: &str, value: f64) -> Result<(), RigError> {
        self.finite(field, value)?;
        if value.abs() <= 360.0 {
            return Ok(());
        }
        Err(RigError::Angle { file: self.file.clone(), field: field.to_owned(), value })
    }
}
