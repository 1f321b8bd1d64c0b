//! Reads a rig and its calibration files, and writes a rig as TOML.
//!
//! Widths and heights are read as `i64`, so that a negative or huge number is reported as out of range instead of as an
//! "invalid type". The module `error` checks the ranges of all other numbers after this module has read the rig.

use std::path::{Path, PathBuf};

use glam::DMat3;
use serde::{Deserialize, Serialize};

use crate::geometry::intrinsics::Intrinsics;
use crate::geometry::rig::error::check_count;
use crate::geometry::rig::{
    CalibrationFiles, CameraMatrix, CameraPose, LensName, Mount, ProjectionName, Quality, Rig,
    RigCamera, RigCanvas, RigError,
};
use crate::geometry::{MAX_CANVAS_SIDE, Vignetting};
use crate::io::picture::MAX_SIDE;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RigTable {
    panorama: PanoramaTable,
    #[serde(default)]
    camera: Vec<CameraTable>,
    calibration: Option<Quality>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PanoramaTable {
    projection: ProjectionName,
    width: i64,
    height: i64,
    fov: f64,
    fov_vertical: Option<f64>,
    #[serde(default)]
    yaw: f64,
    #[serde(default)]
    pitch: f64,
    centre: Option<[f64; 2]>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CameraTable {
    name: String,
    size: Option<Vec<i64>>,
    lens: Option<LensName>,
    matrix: Option<CameraMatrix>,
    opencv: Option<PathBuf>,
    opencv_camera: Option<u32>,
    distortion: Option<Vec<f64>>,
    yaw: Option<f64>,
    pitch: Option<f64>,
    roll: Option<f64>,
    homography: Option<Vec<f64>>,
    vignetting: Option<Vec<f64>>,
}

/// Returns the TOML of a checked rig.
pub(crate) fn write(rig: &Rig) -> Result<String, RigError> {
    let p = &rig.panorama;
    let panorama = PanoramaTable {
        projection: p.projection,
        width: p.width.into(),
        height: p.height.into(),
        fov: p.fov,
        fov_vertical: p.fov_vertical,
        yaw: p.yaw,
        pitch: p.pitch,
        centre: p.centre,
    };
    let camera = |camera: &RigCamera| {
        let (name, size) = (camera.name.clone(), Some(camera.size.map(i64::from).to_vec()));
        let vignetting =
            (camera.vignetting != Vignetting::NONE).then(|| camera.vignetting.0.to_vec());
        match &camera.view {
            CameraPose::Mount(mount) => CameraTable {
                name,
                size,
                lens: Some(mount.lens),
                matrix: Some(mount.matrix),
                distortion: Some(mount.distortion.clone()),
                yaw: Some(mount.yaw),
                pitch: Some(mount.pitch),
                roll: Some(mount.roll),
                vignetting,
                ..CameraTable::default()
            },
            CameraPose::Homography(matrix) => {
                let homography = Some(matrix.transpose().to_cols_array().to_vec());
                CameraTable { name, size, homography, vignetting, ..CameraTable::default() }
            }
        }
    };
    let camera = rig.cameras.iter().map(camera).collect();
    let table = RigTable { panorama, camera, calibration: rig.quality.clone() };
    toml::to_string(&table)
        .map_err(|error| RigError::Unwritable { file: rig.file.clone(), reason: error.to_string() })
}

/// Parses a rig and reads its calibration files. The caller must check the ranges of the numbers.
pub(crate) fn parse(text: &str, file: &Path, allowed: CalibrationFiles) -> Result<Rig, RigError> {
    let table: RigTable = toml::from_str(text).map_err(|error| {
        let before = text.get(..error.span().map_or(0, |span| span.start)).unwrap_or("");
        RigError::Syntax {
            file: file.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before.chars().rev().take_while(|&c| c != '\n').count() + 1,
            reason: error.message().replace('\n', "; "),
        }
    })?;
    let p = table.panorama;
    let side = |name: &str, value| {
        canvas_side(value).ok_or_else(|| RigError::CanvasSize {
            file: file.to_owned(),
            field: format!("panorama {name}"),
            value,
        })
    };
    let panorama = RigCanvas {
        projection: p.projection,
        width: side("width", p.width)?,
        height: side("height", p.height)?,
        fov: p.fov,
        fov_vertical: p.fov_vertical,
        yaw: p.yaw,
        pitch: p.pitch,
        centre: p.centre,
    };
    check_count(table.camera.len(), file)?;
    let calibrations = table.camera.iter().filter_map(|camera| calibration(camera, file)).collect();
    let cameras = table.camera.into_iter().map(|camera| complete(camera, file, allowed));
    let cameras = cameras.collect::<Result<_, _>>()?;
    let quality = table.calibration;
    Ok(Rig { file: file.to_owned(), panorama, cameras, quality, calibrations })
}

fn canvas_side(value: i64) -> Option<u32> {
    u32::try_from(value).ok().filter(|v| (1..=MAX_CANVAS_SIDE).contains(v))
}

/// Returns the path of a camera's calibration file, if the camera has one. The path in the table is relative to the
/// folder of the rig file.
fn calibration(camera: &CameraTable, rig: &Path) -> Option<PathBuf> {
    let path = camera.opencv.as_ref()?;
    Some(rig.parent().unwrap_or(Path::new("")).join(path))
}

/// The camera matrix and the distortion coefficients of a camera, and the picture size if a calibration file states it.
type Calibrated = (CameraMatrix, Vec<f64>, Option<[u32; 2]>);

/// The table of a camera, and the path of the rig file that contains the table.
struct Reader<'a> {
    camera: &'a CameraTable,
    rig: &'a Path,
    allowed: CalibrationFiles,
}

impl Reader<'_> {
    fn file(&self) -> PathBuf {
        self.rig.to_owned()
    }

    fn field(&self, name: &str) -> String {
        format!("{name} of camera {:?}", self.camera.name)
    }

    fn contradiction(&self, name: &str, reason: &'static str) -> RigError {
        RigError::Contradiction { file: self.file(), field: self.field(name), reason }
    }

    /// Returns the picture size, if the table states it.
    fn size(&self) -> Result<Option<[u32; 2]>, RigError> {
        let Some(sides) = &self.camera.size else { return Ok(None) };
        if sides.len() != 2 {
            return Err(self.contradiction("size", "must be two numbers, width and height"));
        }
        let mut size = [0; 2];
        for (side, &value) in size.iter_mut().zip(sides) {
            let fits = u32::try_from(value).ok().filter(|v| (1..=MAX_SIDE).contains(v));
            let (file, field) = (self.file(), self.field("size"));
            *side = fits.ok_or(RigError::PictureSize { file, field, value })?;
        }
        Ok(Some(size))
    }

    /// Returns the vignetting, which the table may omit.
    fn vignetting(&self) -> Result<Vignetting, RigError> {
        let Some(numbers) = &self.camera.vignetting else { return Ok(Vignetting::NONE) };
        let three = <[f64; 3]>::try_from(&numbers[..]);
        let reason = "must be three numbers, the coefficients of r², r⁴ and r⁶";
        three.map(Vignetting).map_err(|_| self.contradiction("vignetting", reason))
    }

    /// Returns the picture size and the pose of a camera that is described by a homography.
    fn homography(&self, numbers: &[f64]) -> Result<([u32; 2], CameraPose), RigError> {
        let camera = self.camera;
        let others = [
            ("lens", camera.lens.is_some()),
            ("matrix", camera.matrix.is_some()),
            ("opencv", camera.opencv.is_some()),
            ("opencv_camera", camera.opencv_camera.is_some()),
            ("distortion", camera.distortion.is_some()),
            ("yaw", camera.yaw.is_some()),
            ("pitch", camera.pitch.is_some()),
            ("roll", camera.roll.is_some()),
        ];
        if let Some((name, _)) = others.into_iter().find(|(_, given)| *given) {
            let reason = "cannot be combined with homography; remove it";
            return Err(self.contradiction(name, reason));
        }
        let Ok(rows) = <[f64; 9]>::try_from(numbers) else {
            return Err(self.contradiction("homography", "must be nine numbers, 3 rows of 3"));
        };
        let Some(size) = self.size()? else {
            return Err(self.contradiction("size", "is missing; give size = [width, height]"));
        };
        Ok((size, CameraPose::Homography(DMat3::from_cols_array(&rows).transpose())))
    }

    /// Returns the picture size and the pose of a camera that is described by a lens and an orientation.
    fn mount(&self) -> Result<([u32; 2], CameraPose), RigError> {
        let camera = self.camera;
        let stated = self.size()?;
        let Some(lens) = camera.lens else {
            let reason = "is missing; give \"pinhole\" or \"fisheye\"";
            return Err(self.contradiction("lens", reason));
        };
        let (matrix, distortion, calibrated) = self.matrix()?;
        let (file, field) = (self.file(), self.field("size"));
        let size = match (stated, calibrated) {
            (Some(size), Some(calibrated)) if size != calibrated => {
                return Err(RigError::SizeMismatch { file, field, size, calibrated });
            }
            (Some(size), _) | (None, Some(size)) => size,
            (None, None) => return Err(RigError::SizeMissing { file, field }),
        };
        let mount = Mount {
            lens,
            matrix,
            distortion,
            yaw: camera.yaw.unwrap_or_default(),
            pitch: camera.pitch.unwrap_or_default(),
            roll: camera.roll.unwrap_or_default(),
        };
        Ok((size, CameraPose::Mount(mount)))
    }

    /// Returns the camera matrix and the distortion from the table, or from the calibration file that the table names.
    fn matrix(&self) -> Result<Calibrated, RigError> {
        let camera = self.camera;
        match (camera.matrix, calibration(camera, self.rig)) {
            (Some(_), None) if camera.opencv_camera.is_some() => {
                Err(self.contradiction("opencv_camera", "is only allowed with opencv; remove it"))
            }
            (Some(matrix), None) => {
                Ok((matrix, camera.distortion.clone().unwrap_or_default(), None))
            }
            (None, Some(_)) if camera.distortion.is_some() => {
                let reason = "cannot be combined with opencv; remove it";
                Err(self.contradiction("distortion", reason))
            }
            (None, Some(path)) => {
                if !self.allowed.contain(&path, self.rig) {
                    let (file, field) = (self.file(), self.field("opencv"));
                    let allowed = self.allowed.describe();
                    return Err(RigError::CalibrationPath { file, field, allowed });
                }
                let found = match camera.opencv_camera {
                    Some(number) => Intrinsics::open(path, number),
                    None => Intrinsics::open_only(path),
                };
                let found = found.map_err(|source| RigError::Calibration {
                    file: self.file(),
                    field: self.field("opencv"),
                    source: Box::new(source),
                })?;
                Ok((found.matrix(), found.distortion, found.size.map(<[u32; 2]>::from)))
            }
            (given, _) => {
                let found = if given.is_some() { "both" } else { "neither" };
                let field = format!("camera {:?}", camera.name);
                Err(RigError::MatrixSource { file: self.file(), field, found })
            }
        }
    }
}

/// Converts a table to a camera. Reads the calibration file that the table names.
fn complete(
    camera: CameraTable,
    rig: &Path,
    allowed: CalibrationFiles,
) -> Result<RigCamera, RigError> {
    let reader = Reader { camera: &camera, rig, allowed };
    let (size, view) = match &camera.homography {
        Some(numbers) => reader.homography(numbers)?,
        None => reader.mount()?,
    };
    let vignetting = reader.vignetting()?;
    Ok(RigCamera { name: camera.name, size, view, vignetting })
}
