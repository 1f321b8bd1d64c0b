//! The errors of a rig, and the checks of its names and numbers.
//!
//! A message about a wrong number names the file, the field, the value and the allowed range. The ranges are much wider
//! than those of real cameras. They catch extra digits, wrong units, and a matrix for another resolution.

use std::f64::consts::TAU;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use crate::error::{Classify, Kind, TextPlace};
use crate::geometry::homography::is_singular;
use crate::geometry::rig::{CameraPose, LensName, MAX_RIG_CAMERAS, Quality, Rig, RigCamera};
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
    /// A field is missing, contradicts another one or is out of range, or a calibration file is invalid.
    #[error("{}: {reason}", file.display())]
    Invalid { file: PathBuf, reason: String },
    /// The file cannot be written.
    #[error("cannot write {}: {reason}", file.display())]
    Unsaved { file: PathBuf, reason: String },
}

impl Classify for RigError {
    fn kind(&self) -> Kind {
        if matches!(self, Self::Unsaved { .. }) { Kind::Output } else { Kind::Input }
    }

    fn place(&self) -> Option<TextPlace<'_>> {
        let Self::Syntax { file, line, column, .. } = self else { return None };
        Some(TextPlace { file, line: *line, column: *column, word: "" })
    }
}

impl Rig {
    /// Checks all numbers and names of the rig.
    pub(crate) fn check(&self) -> Result<(), RigError> {
        self.check_panorama()?;
        let count = self.cameras.len();
        self.require((1..=MAX_RIG_CAMERAS).contains(&count), || {
            format!("the rig has {count} cameras; give 1 to {MAX_RIG_CAMERAS} [[camera]] tables")
        })?;
        for (i, camera) in self.cameras.iter().enumerate() {
            let name = &camera.name;
            let is_new = self.cameras[..i].iter().all(|other| other.name != *name);
            self.require(is_new && !name.is_empty(), || {
                format!(
                    "name of camera {} is {name:?}; each camera must have its own name, which must not be empty",
                    i + 1
                )
            })?;
            self.check_camera(camera)?;
        }
        self.quality.as_ref().map_or(Ok(()), |quality| self.check_quality(quality))
    }

    fn check_quality(&self, quality: &Quality) -> Result<(), RigError> {
        for (field, value, most, unit) in [
            ("overlap", quality.overlap, 1.0, ""),
            ("coverage", quality.coverage, 1.0, ""),
            ("rms_px", quality.rms_px, 1e6, " pixels"),
            ("seam_error_px", quality.seam_error_px, 1e6, " pixels"),
        ] {
            self.range(&format!("calibration {field}"), value, 0.0..=most, unit)?;
        }
        let (inliers, matches) = (quality.inliers, quality.matches);
        self.require(inliers <= matches, || {
            format!("calibration inliers is {inliers}; it must be at most the number of matches")
        })
    }

    fn check_panorama(&self) -> Result<(), RigError> {
        let panorama = &self.panorama;
        let (width, height) = (panorama.width, panorama.height);
        let most = f64::from(MAX_CANVAS_SIDE);
        self.range("panorama width", width.into(), 1.0..=most, " pixels")?;
        self.range("panorama height", height.into(), 1.0..=most, " pixels")?;
        let area = u64::from(width) * u64::from(height);
        self.require(area <= MAX_CANVAS_AREA, || {
            format!("panorama area is {area} pixels; it must be at most {MAX_CANVAS_AREA}")
        })?;
        let projection = panorama.projection;
        let most_fov = |straight, whole| if straight { 179.0 } else { whole };
        let fovs = [
            ("fov", Some(panorama.fov), most_fov(projection.straight_columns(), 360.0)),
            ("fov_vertical", panorama.fov_vertical, most_fov(projection.straight_rows(), 180.0)),
        ];
        for (field, value, most) in fovs {
            let Some(value) = value else { continue };
            self.require((0.01..=most).contains(&value), || {
                let projection = projection.as_str();
                format!(
                    "panorama {field} is {value}°; for a {projection} panorama, it must be 0.01° to {most}°"
                )
            })?;
        }
        // The angle is too large only if `fov_vertical` is missing, because the loop above has checked `fov_vertical`.
        let degrees = (f64::from(height) / panorama.scale().y).to_degrees();
        self.require(projection.straight_rows() || degrees <= 180.0 + 1e-9, || {
            format!(
                "panorama height is {height} pixels, which is {degrees:.1}° with square pixels; it must be at most \
                 180°: reduce the height or give fov_vertical"
            )
        })?;
        for (side, value) in ["x", "y"].into_iter().zip(panorama.centre.unwrap_or_default()) {
            self.range(&format!("panorama centre {side}"), value, -most..=most, " pixels")?;
        }
        self.angle("panorama yaw", panorama.yaw)?;
        self.angle("panorama pitch", panorama.pitch)
    }

    fn check_camera(&self, camera: &RigCamera) -> Result<(), RigError> {
        let field = |name: &str| format!("{name} of camera {:?}", camera.name);
        for value in camera.size {
            self.range(&field("size"), value.into(), 1.0..=f64::from(MAX_SIDE), " pixels")?;
        }
        self.require(camera.vignetting.is_valid(), || {
            format!(
                "{} keeps less than 0.05 or more than 4 times the light of the middle; the light at the distance r from \
                 the middle is 1 + a·r² + b·r⁴ + c·r⁶, where r is 1 at the corners",
                field("vignetting")
            )
        })?;
        let mount = match &camera.view {
            CameraPose::Mount(mount) => mount,
            CameraPose::Homography(matrix) => {
                let are_fine = matrix.to_cols_array().iter().all(|n| n.abs() <= 1e100);
                self.require(are_fine, || {
                    format!(
                        "{} must be nine finite numbers with magnitudes of at most 1e100",
                        field("homography")
                    )
                })?;
                return self.require(!is_singular(matrix), || {
                    format!(
                        "{} is singular: it maps the picture to a line or a point; correct it",
                        field("homography")
                    )
                });
            }
        };
        let m = mount.matrix;
        for (name, value) in [("fx", m.fx), ("fy", m.fy)] {
            self.range(&field(name), value, 1.0..=1e6, " pixels")?;
        }
        let turns = match mount.lens {
            LensName::Cylindrical => [1.0, f64::INFINITY],
            LensName::Equirectangular => [1.0, 0.5],
            _ => [f64::INFINITY; 2],
        };
        let spans =
            [("fx", m.fx, camera.size[0], turns[0]), ("fy", m.fy, camera.size[1], turns[1])];
        for (name, focal, side, turns) in spans {
            // Numbers in files are rounded.
            self.require(f64::from(side) <= TAU * turns * focal * (1.0 + 1e-6), || {
                let (field, most) = (field(name), 360.0 * turns);
                format!(
                    "{field} is {focal} pixels per radian, so a side of {side} pixels spans more than {most}°; give \
                     the width of the whole circle in pixels, divided by 2π"
                )
            })?;
        }
        for (name, value, size) in [("cx", m.cx, camera.size[0]), ("cy", m.cy, camera.size[1])] {
            let size = f64::from(size);
            let unit = " pixels, which is at most one picture size outside the picture";
            self.range(&field(name), value, -size..=2.0 * size, unit)?;
        }
        let most = mount.lens.coefficients();
        for (i, &value) in mount.distortion.iter().enumerate() {
            self.range(&field(&format!("distortion[{i}]")), value, -1e6..=1e6, "")?;
            self.require(i < most || value == 0.0, || {
                let (field, found) = (field("distortion"), mount.distortion.len());
                format!(
                    "{field} has {found} coefficients, but the lens model uses {most}; remove the others or set them to 0"
                )
            })?;
        }
        self.angle(&field("yaw"), mount.yaw)?;
        self.angle(&field("pitch"), mount.pitch)?;
        self.angle(&field("roll"), mount.roll)
    }

    fn angle(&self, field: &str, value: f64) -> Result<(), RigError> {
        self.range(field, value, -360.0..=360.0, " degrees")
    }

    /// Requires a number in a range, which NaN is not.
    fn range(
        &self,
        field: &str,
        value: f64,
        allowed: RangeInclusive<f64>,
        unit: &str,
    ) -> Result<(), RigError> {
        self.require(allowed.contains(&value), || {
            let (least, most) = allowed.into_inner();
            format!("{field} is {value}; it must be {least} to {most}{unit}")
        })
    }

    fn require(&self, holds: bool, reason: impl FnOnce() -> String) -> Result<(), RigError> {
        if holds {
            return Ok(());
        }
        Err(RigError::Invalid { file: self.file.clone(), reason: reason() })
    }
}
