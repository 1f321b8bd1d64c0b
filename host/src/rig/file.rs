//! The TOML of a rig as it lies in the file, and what it refers to.
//!
//! Whole numbers are read as `i64`, so that a negative or huge one gets the message of its field and
//! not "invalid type". Ranges of the rest are checked once the rig is complete, in `error`.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::geometry::MAX_CANVAS_SIDE;
use crate::intrinsics::Intrinsics;
use crate::picture::MAX_SIDE;
use crate::rig::{LensName, Matrix, Panorama, ProjectionName, Rig, RigCamera, RigError};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RigTable {
    panorama: PanoramaTable,
    #[serde(default)]
    camera: Vec<CameraTable>,
}

#[derive(Deserialize)]
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
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CameraTable {
    name: String,
    size: Option<Vec<i64>>,
    lens: LensName,
    matrix: Option<Matrix>,
    opencv: Option<PathBuf>,
    opencv_camera: Option<u32>,
    distortion: Option<Vec<f64>>,
    #[serde(default)]
    yaw: f64,
    #[serde(default)]
    pitch: f64,
    #[serde(default)]
    roll: f64,
}

/// Parses a rig and reads the calibration files it names; numbers are not yet checked.
pub(crate) fn parse(text: &str, file: &Path) -> Result<Rig, RigError> {
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
    let panorama = Panorama {
        projection: p.projection,
        width: side("width", p.width)?,
        height: side("height", p.height)?,
        fov: p.fov,
        fov_vertical: p.fov_vertical,
        yaw: p.yaw,
        pitch: p.pitch,
    };
    if table.camera.len() != 2 {
        return Err(RigError::CameraCount { file: file.to_owned(), value: table.camera.len() });
    }
    let calibrations = table.camera.iter().filter_map(|camera| calibration(camera, file)).collect();
    let cameras =
        table.camera.into_iter().map(|camera| complete(camera, file)).collect::<Result<_, _>>()?;
    Ok(Rig { file: file.to_owned(), panorama, cameras, calibrations })
}

fn canvas_side(value: i64) -> Option<u32> {
    u32::try_from(value).ok().filter(|v| (1..=MAX_CANVAS_SIDE).contains(v))
}

/// The calibration file that a camera names, relative to the rig.
fn calibration(camera: &CameraTable, rig: &Path) -> Option<PathBuf> {
    let path = camera.opencv.as_ref()?;
    Some(rig.parent().unwrap_or(Path::new("")).join(path))
}

/// Fills in what the calibration file says.
fn complete(camera: CameraTable, rig: &Path) -> Result<RigCamera, RigError> {
    let file = || rig.to_owned();
    let field = |name: &str| format!("{name} of camera {:?}", camera.name);
    let contradiction = |name: &str, reason| {
        Err(RigError::Contradiction { file: file(), field: field(name), reason })
    };
    let stated = match &camera.size {
        None => None,
        Some(sides) if sides.len() != 2 => {
            return contradiction("size", "is two numbers, width and height");
        }
        Some(sides) => {
            let mut size = [0; 2];
            for (side, &value) in size.iter_mut().zip(sides) {
                let fits = u32::try_from(value).ok().filter(|v| (1..=MAX_SIDE).contains(v));
                *side = fits.ok_or_else(|| RigError::PictureSize {
                    file: file(),
                    field: field("size"),
                    value,
                })?;
            }
            Some(size)
        }
    };
    let (matrix, distortion, calibrated) = match (camera.matrix, calibration(&camera, rig)) {
        (Some(matrix), None) => {
            if camera.opencv_camera.is_some() {
                return contradiction("opencv_camera", "is given without opencv; remove it");
            }
            (matrix, camera.distortion.clone().unwrap_or_default(), None)
        }
        (None, Some(path)) => {
            if camera.distortion.is_some() {
                return contradiction(
                    "distortion",
                    "is given beside opencv, which has it; remove it",
                );
            }
            let number = camera.opencv_camera.unwrap_or(1);
            let found = Intrinsics::open(path, number).map_err(|source| RigError::Calibration {
                file: file(),
                field: field("opencv"),
                source: Box::new(source),
            })?;
            let matrix = Matrix {
                fx: found.focal.x,
                fy: found.focal.y,
                cx: found.centre.x,
                cy: found.centre.y,
            };
            (matrix, found.distortion, found.size.map(<[u32; 2]>::from))
        }
        (given, _) => {
            let found = if given.is_some() { "both" } else { "neither" };
            let field = format!("camera {:?}", camera.name);
            return Err(RigError::MatrixSource { file: file(), field, found });
        }
    };
    let size = match (stated, calibrated) {
        (Some(size), Some(calibrated)) if size != calibrated => {
            let field = field("size");
            return Err(RigError::SizeMismatch { file: file(), field, size, calibrated });
        }
        (Some(size), _) | (None, Some(size)) => size,
        (None, None) => {
            return Err(RigError::SizeMissing { file: file(), field: field("size") });
        }
    };
    Ok(RigCamera {
        size,
        lens: camera.lens,
        matrix,
        distortion,
        yaw: camera.yaw,
        pitch: camera.pitch,
        roll: camera.roll,
        name: camera.name,
    })
}
