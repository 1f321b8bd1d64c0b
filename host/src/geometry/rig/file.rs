//! Reads a rig and its calibration files, and writes a rig as TOML. The module `error` checks the ranges of the numbers.

use std::f64::consts::TAU;
use std::path::{Path, PathBuf};

use glam::DMat3;
use serde::{Deserialize, Serialize};

use crate::geometry::Vignetting;
use crate::geometry::intrinsics::Intrinsics;
use crate::geometry::rig::{
    CameraMatrix, CameraPose, LensName, MAX_RIG_CAMERAS, Mount, Quality, Rig, RigCamera, RigCanvas,
    RigError,
};
use crate::io::text::toml_place;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RigTable {
    panorama: RigCanvas,
    #[serde(default)]
    camera: Vec<CameraTable>,
    calibration: Option<Quality>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CameraTable {
    name: String,
    size: Option<Vec<u32>>,
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
    let camera = |camera: &RigCamera| {
        let table = CameraTable {
            name: camera.name.clone(),
            size: Some(camera.size.to_vec()),
            vignetting: (camera.vignetting != Vignetting::NONE)
                .then(|| camera.vignetting.0.to_vec()),
            ..CameraTable::default()
        };
        match &camera.view {
            CameraPose::Mount(mount) => CameraTable {
                lens: Some(mount.lens),
                matrix: Some(mount.matrix),
                distortion: Some(mount.distortion.clone()),
                yaw: Some(mount.yaw),
                pitch: Some(mount.pitch),
                roll: Some(mount.roll),
                ..table
            },
            CameraPose::Homography(matrix) => CameraTable {
                homography: Some(matrix.transpose().to_cols_array().to_vec()),
                ..table
            },
        }
    };
    let camera = rig.cameras.iter().map(camera).collect();
    let (panorama, calibration) = (rig.panorama.clone(), rig.quality.clone());
    toml::to_string(&RigTable { panorama, camera, calibration }).map_err(|error| {
        let reason = format!("it is no TOML: {error}");
        RigError::Unsaved { file: rig.file.clone(), reason }
    })
}

/// Parses a rig and reads its calibration files, whose paths are relative to `folder`. Without a folder, a calibration
/// file is an error. The caller must check the ranges of the numbers.
pub(crate) fn parse(text: &str, file: &Path, folder: Option<&Path>) -> Result<Rig, RigError> {
    let table: RigTable = toml::from_str(text).map_err(|error| {
        let (line, column, reason) = toml_place(text, &error);
        RigError::Syntax { file: file.to_owned(), line, column, reason }
    })?;
    let invalid = |reason| RigError::Invalid { file: file.to_owned(), reason };
    let count = table.camera.len();
    // Reject too many cameras before their calibration files are read.
    if count > MAX_RIG_CAMERAS {
        let reason =
            format!("the rig has {count} cameras; give 1 to {MAX_RIG_CAMERAS} [[camera]] tables");
        return Err(invalid(reason));
    }
    let opencv =
        table.camera.iter().filter_map(|camera| Some(folder?.join(camera.opencv.as_ref()?)));
    Ok(Rig {
        file: file.to_owned(),
        panorama: table.panorama,
        calibrations: opencv.collect(),
        cameras: table
            .camera
            .into_iter()
            .map(|camera| complete(camera, folder).map_err(invalid))
            .collect::<Result<_, _>>()?,
        quality: table.calibration,
    })
}

/// Converts a table to a camera. Reads the calibration file that the table names, relative to `folder`. An error is the
/// reason why it cannot.
fn complete(table: CameraTable, folder: Option<&Path>) -> Result<RigCamera, String> {
    let field = |name: &str, reason: &str| format!("{name} of camera {:?} {reason}", table.name);
    let stated = exactly(&table.size, || field("size", "must be two numbers, width and height"))?;
    let vignetting = exactly(&table.vignetting, || {
        field("vignetting", "must be three numbers, the coefficients of r², r⁴ and r⁶")
    })?;
    let rows =
        exactly(&table.homography, || field("homography", "must be nine numbers, 3 rows of 3"))?;
    let (size, view) = if let Some(rows) = rows {
        let others = [
            ("lens", table.lens.is_some()),
            ("matrix", table.matrix.is_some()),
            ("opencv", table.opencv.is_some()),
            ("opencv_camera", table.opencv_camera.is_some()),
            ("distortion", table.distortion.is_some()),
            ("yaw", table.yaw.is_some()),
            ("pitch", table.pitch.is_some()),
            ("roll", table.roll.is_some()),
        ];
        if let Some((name, _)) = others.into_iter().find(|(_, given)| *given) {
            return Err(field(name, "cannot be combined with homography; remove it"));
        }
        let missing = || field("size", "is missing; give size = [width, height]");
        let matrix = DMat3::from_cols_array(&rows).transpose();
        (stated.ok_or_else(missing)?, CameraPose::Homography(matrix))
    } else {
        let missing = || {
            field(
                "lens",
                "is missing; give \"pinhole\", \"fisheye\", \"cylindrical\" or \"equirectangular\"",
            )
        };
        let lens = table.lens.ok_or_else(missing)?;
        let circle = stated.filter(|_| lens.lens().is_panorama() && table.opencv.is_none());
        let (matrix, distortion, calibrated) = match (table.matrix, circle) {
            (None, Some([width, height])) => {
                let per_radian = f64::from(width) / TAU;
                let [cx, cy] = [width, height].map(|side| (f64::from(side) - 1.0) / 2.0);
                (CameraMatrix { fx: per_radian, fy: per_radian, cx, cy }, Vec::new(), None)
            }
            _ => calibration(&table, folder)?,
        };
        let size = match (stated, calibrated) {
            (Some([width, height]), Some([w, h])) if [width, height] != [w, h] => {
                return Err(field(
                    "size",
                    &format!(
                        "is {width}×{height}, but its calibration file is for {w}×{h} pixels; use a calibration for the \
                         size of the pictures"
                    ),
                ));
            }
            (size, calibrated) => size.or(calibrated).ok_or_else(|| {
                field(
                    "size",
                    "is missing; give size = [width, height], or a calibration file that contains the size",
                )
            })?,
        };
        let [yaw, pitch, roll] =
            [table.yaw, table.pitch, table.roll].map(Option::unwrap_or_default);
        (size, CameraPose::Mount(Mount { lens, matrix, distortion, yaw, pitch, roll }))
    };
    let vignetting = vignetting.map_or(Vignetting::NONE, Vignetting);
    Ok(RigCamera { name: table.name, size, view, vignetting })
}

/// Returns the numbers of a list that must have `N` of them, if it is given.
fn exactly<T: Copy, const N: usize>(
    list: &Option<Vec<T>>,
    wrong: impl Fn() -> String,
) -> Result<Option<[T; N]>, String> {
    let list = list.as_deref().map(<[T; N]>::try_from).transpose();
    list.map_err(|_| wrong())
}

/// The camera matrix and the distortion coefficients of a camera, and the picture size if a calibration file states it.
type Calibrated = (CameraMatrix, Vec<f64>, Option<[u32; 2]>);

/// Returns the camera matrix and the distortion from a table, or from the calibration file that the table names.
fn calibration(table: &CameraTable, folder: Option<&Path>) -> Result<Calibrated, String> {
    let name = &table.name;
    match (table.matrix, &table.opencv) {
        (Some(_), None) if table.opencv_camera.is_some() => {
            Err(format!("opencv_camera of camera {name:?} is only allowed with opencv; remove it"))
        }
        (Some(matrix), None) => Ok((matrix, table.distortion.clone().unwrap_or_default(), None)),
        (None, Some(_)) if table.distortion.is_some() => {
            Err(format!("distortion of camera {name:?} cannot be combined with opencv; remove it"))
        }
        (None, Some(path)) => {
            let refused = || {
                format!(
                    "opencv of camera {name:?} names a file, but only Rig::open reads files; give matrix"
                )
            };
            let path = folder.ok_or_else(refused)?.join(path);
            let found = match table.opencv_camera {
                Some(number) => Intrinsics::open(path, number),
                None => Intrinsics::open_only(path),
            };
            let found = found.map_err(|error| format!("opencv of camera {name:?}: {error}"))?;
            Ok((found.matrix(), found.distortion, found.size.map(<[u32; 2]>::from)))
        }
        (given, _) => {
            let found = if given.is_some() { "both" } else { "neither" };
            Err(format!("camera {name:?} has {found} of matrix and opencv; give exactly one"))
        }
    }
}
