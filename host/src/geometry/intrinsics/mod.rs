//! Reads the camera matrix K and the distortion D of a camera from an OpenCV calibration file.
//!
//! The supported files are those of `cv::FileStorage`, which OpenCV's calibration and stereo samples write, and ROS
//! `camera_info` files. `opencv_yaml` parses the subset of YAML that these files use. The files do not state whether
//! the coefficients in D are for a fisheye or for a pinhole lens, so the caller must know the lens model.

mod opencv_yaml;

use std::fmt::Display;
use std::path::Path;

use glam::{DVec2, UVec2};

use crate::error::Classify;
use crate::geometry::CameraMatrix;
use crate::io::text::{TextError, read_text};
use opencv_yaml::{Node, parse};

/// The error for a calibration file that cannot be read, or that does not define the requested camera.
///
/// It quotes no text of the file: a rig can name any file, and its error may be shown to someone who must not read that
/// file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IntrinsicsError {
    /// The file could not be read as text.
    #[error(transparent)]
    Text(#[from] TextError),
    /// The file is not valid YAML, or an entry is missing or malformed. The text names the file and the entry.
    #[error("{0}")]
    Invalid(String),
}

impl Classify for IntrinsicsError {}

fn invalid(file: &Path, reason: impl Display) -> IntrinsicsError {
    IntrinsicsError::Invalid(format!("{}: {reason}", file.display()))
}

/// Names of the camera matrix K in the files of calibration tools. A stereo file appends the camera's number.
const MATRIX_NAMES: [&str; 6] =
    ["camera_matrix", "cameraMatrix", "CameraMatrix", "K", "M", "intrinsic_matrix"];
/// Names of the distortion coefficients D in the files of calibration tools. A stereo file appends the camera's number.
const DISTORTION_NAMES: [&str; 10] = [
    "dist_coeffs",
    "distortion_coefficients",
    "distCoeffs",
    "DistCoeffs",
    "distortion_coeffs",
    "dist_coefs",
    "dist_coeff",
    "distortion",
    "dist",
    "D",
];
/// Pairs of names of the picture's width and height in the files of calibration tools.
const SIZE_NAMES: [[&str; 2]; 2] = [["image_width", "image_height"], ["width", "height"]];
/// Names of a list that contains the picture's width and height, in the files of calibration tools.
const SIZE_LIST_NAMES: [&str; 3] = ["resolution", "image_size", "imageSize"];

/// The camera matrix, the distortion and the picture size of one camera.
#[derive(Clone, Debug, PartialEq)]
pub struct Intrinsics {
    /// Focal lengths `fx`, `fy` in pixels.
    pub focal: DVec2,
    /// Principal point `cx`, `cy` in pixels. Pixel centres are at integers.
    pub centre: DVec2,
    /// Distortion coefficients in OpenCV's order; empty if the file has none.
    pub distortion: Vec<f64>,
    /// Picture size in pixels, if the file contains it.
    pub size: Option<UVec2>,
}

impl Intrinsics {
    /// Reads camera number `camera` of a file, counted from 1. Looks up each entry by a name with this number, such as
    /// `M2`. If the file has no such entry, uses the entry with a plain name, such as `camera_matrix`.
    ///
    /// # Errors
    /// Returns [`IntrinsicsError`] if the file cannot be read or does not define the camera.
    pub fn open(path: impl AsRef<Path>, camera: u32) -> Result<Self, IntrinsicsError> {
        let file = path.as_ref();
        let text = read_text(file)?;
        Self::parse(&text, file, camera)
    }

    /// Reads the only camera of a file, as [`open`](Self::open) does.
    ///
    /// # Errors
    /// Returns [`IntrinsicsError`] as [`open`](Self::open) does, and if the file has the matrices of several cameras.
    pub fn open_only(path: impl AsRef<Path>) -> Result<Self, IntrinsicsError> {
        let file = path.as_ref();
        let text = read_text(file)?;
        let root = parse(&text, file)?;
        if MATRIX_NAMES.iter().any(|name| root.get(&format!("{name}2")).is_some()) {
            let reason = "the file has the matrices of several cameras; give the number of the camera, from 1";
            return Err(invalid(file, reason));
        }
        Self::of_camera(&root, file, 1)
    }

    /// Returns the camera matrix in the form that a rig stores.
    #[must_use]
    pub fn matrix(&self) -> CameraMatrix {
        let Self { focal, centre, .. } = self;
        CameraMatrix { fx: focal.x, fy: focal.y, cx: centre.x, cy: centre.y }
    }

    /// Parses the text of a calibration file as [`open`](Self::open) does. Error messages name `file`.
    ///
    /// # Errors
    /// Returns [`IntrinsicsError`] if the text does not define the camera.
    pub fn parse(text: &str, file: impl AsRef<Path>, camera: u32) -> Result<Self, IntrinsicsError> {
        let file = file.as_ref();
        Self::of_camera(&parse(text, file)?, file, camera)
    }

    /// Returns camera number `camera` of a file with these entries.
    fn of_camera(root: &Node, file: &Path, camera: u32) -> Result<Self, IntrinsicsError> {
        let Some((name, node)) = find(root, &MATRIX_NAMES, camera) else {
            let names = MATRIX_NAMES.join(", ");
            return Err(invalid(
                file,
                format!(
                    "no camera matrix for camera {camera}; expected an entry with one of the names {names}, alone or \
                     followed by {camera}"
                ),
            ));
        };
        let k = matrix(file, &name, node)?;
        let Ok([fx, skew, cx, zero, fy, cy, bottom @ ..]) = <[f64; 9]>::try_from(k.as_slice())
        else {
            return Err(invalid(file, format!("{name} has {} elements; it must be 3×3", k.len())));
        };
        let fixed = [(1, 2, skew, 0.0), (2, 1, zero, 0.0)].into_iter().chain(
            bottom.into_iter().zip([0.0, 0.0, 1.0]).enumerate().map(|(i, (v, e))| (3, i + 1, v, e)),
        );
        for (row, column, value, expected) in fixed {
            if value != expected {
                return Err(invalid(
                    file,
                    format!(
                        "{name} must be [fx 0 cx; 0 fy cy; 0 0 1], but its element in row {row}, column {column} is {value}"
                    ),
                ));
            }
        }
        let distortion = match find(root, &DISTORTION_NAMES, camera) {
            Some((name, node)) => matrix(file, &name, node)?,
            None if has_other_distortion(root) => {
                let names = DISTORTION_NAMES.join(", ");
                return Err(invalid(
                    file,
                    format!(
                        "no distortion coefficients for camera {camera} under a known name, but the file has an entry whose \
                         name suggests some; name the coefficients of this camera one of {names}, alone or followed by \
                         {camera}, or add a list of zeros if the lens has no distortion"
                    ),
                ));
            }
            None => Vec::new(),
        };
        let size = size(file, root)?;
        Ok(Self { focal: DVec2::new(fx, fy), centre: DVec2::new(cx, cy), distortion, size })
    }
}

/// Returns the first entry of the file with one of `names`, and its full name. Tries the names with the camera's number
/// before the plain names.
fn find<'n>(root: &'n Node, names: &[&str], camera: u32) -> Option<(String, &'n Node)> {
    let numbered = names.iter().map(|name| format!("{name}{camera}"));
    let plain = names.iter().map(|name| (*name).to_owned());
    numbered.chain(plain).find_map(|name| root.get(&name).map(|node| (name, node)))
}

/// Returns whether a file that has none of the [`DISTORTION_NAMES`] has a list or matrix whose name suggests distortion
/// coefficients. Without them, the lens would count as free of distortion.
fn has_other_distortion(root: &Node) -> bool {
    let Node::Map(entries) = root else { return false };
    entries.iter().any(|(name, node)| {
        // `K1` is a camera matrix.
        let is_coefficient = ["d", "kc", "k1", "k2"].contains(&name.as_str());
        let name = name.to_lowercase();
        let suggests =
            name.contains("coef") || (name.contains("dist") && !name.contains("distance"));
        is_coefficient || (suggests && !matches!(node, Node::Scalar(_)))
    })
}

/// Returns the elements of an `opencv-matrix` (`rows`, `cols`, `data`), row by row, or the elements of a plain list.
fn matrix(file: &Path, name: &str, node: &Node) -> Result<Vec<f64>, IntrinsicsError> {
    let data = node.get("data").unwrap_or(node);
    let Node::List(items) = data else {
        let reason = "has no list of numbers; it must be a matrix with rows, cols and data";
        return Err(invalid(file, format!("{name} {reason}")));
    };
    let elements: Vec<f64> =
        items.iter().map(|item| number(file, name, item)).collect::<Result<_, _>>()?;
    if let (Some(rows), Some(cols)) = (node.get("rows"), node.get("cols")) {
        let (rows, cols) = (number(file, name, rows)?, number(file, name, cols)?);
        if rows * cols != elements.len() as f64 {
            return Err(invalid(
                file,
                format!(
                    "{name} has {} elements but states {rows}×{cols}; it must be a list of rows × cols elements",
                    elements.len()
                ),
            ));
        }
    }
    Ok(elements)
}

fn size(file: &Path, root: &Node) -> Result<Option<UVec2>, IntrinsicsError> {
    let list = SIZE_LIST_NAMES.iter().find_map(|name| Some((*name, root.get(name)?)));
    let pair = SIZE_NAMES.iter().find_map(|[w, h]| Some((*w, root.get(w)?, *h, root.get(h)?)));
    let (width, height) = match (list, pair) {
        (Some((name, node)), _) => match matrix(file, name, node)?.as_slice() {
            &[width, height] => (width, height),
            other => {
                let found = other.len();
                let reason = format!("{name} has {found} elements; it must be width and height");
                return Err(invalid(file, reason));
            }
        },
        (None, Some((w, width, h, height))) => (number(file, w, width)?, number(file, h, height)?),
        (None, None) => return Ok(None),
    };
    let whole = |v: f64| v >= 1.0 && v <= f64::from(u32::MAX) && v.fract() == 0.0;
    if !whole(width) || !whole(height) {
        let reason = format!(
            "the picture size is {width} by {height}; both must be whole numbers of at least 1"
        );
        return Err(invalid(file, reason));
    }
    Ok(Some(DVec2::new(width, height).as_uvec2()))
}

fn number(file: &Path, name: &str, node: &Node) -> Result<f64, IntrinsicsError> {
    let value = match node {
        Node::Scalar(text) => text.parse::<f64>().ok().filter(|v| v.is_finite()),
        Node::List(_) | Node::Map(_) => None,
    };
    let reason =
        "has an element that is not a finite number; use a calibration file as OpenCV writes it";
    value.ok_or_else(|| invalid(file, format!("{name} {reason}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEREO: &str = "%YAML:1.0\n---\nM1: !!opencv-matrix\n   rows: 3\n   cols: 3\n   dt: d\n   \
        data: [ 500., 0., 320., 0., 501., 240., 0., 0., 1. ]\nD1: [ -0.1, 0.2, 0., 0., 0.3 ]\nM2: \
        !!opencv-matrix\n   rows: 3\n   cols: 3\n   dt: d\n   data: [ 600., 0., 321., 0., 601., 241., \
        0., 0., 1. ]\n";

    #[test]
    fn stereo_files_hold_two_cameras() {
        let one = Intrinsics::parse(STEREO, "s.yml", 1).unwrap();
        assert_eq!((one.focal, one.centre), (DVec2::new(500.0, 501.0), DVec2::new(320.0, 240.0)));
        assert_eq!(one.distortion, [-0.1, 0.2, 0.0, 0.0, 0.3]);
        let two = Intrinsics::parse(STEREO, "s.yml", 2).unwrap();
        assert_eq!(two.focal, DVec2::new(600.0, 601.0));
        assert!(two.distortion.is_empty() && two.size.is_none());
        let three = Intrinsics::parse(STEREO, "s.yml", 3).unwrap_err().to_string();
        assert!(three.starts_with("s.yml: no camera matrix for camera 3"), "{three}");
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, STEREO).unwrap();
        let several = Intrinsics::open_only(&file).unwrap_err().to_string();
        assert!(several.contains("several cameras"), "{several}");
        std::fs::write(&file, "%YAML:1.0\nM1: [1,0,1,0,1,1,0,0,1]\n").unwrap();
        assert_eq!(Intrinsics::open_only(&file).unwrap().focal, DVec2::ONE);
    }

    #[test]
    fn distortion_has_many_names() {
        for name in DISTORTION_NAMES {
            let text = format!("K: [1,0,1,0,1,1,0,0,1]\n{name}: [0.1, 0.2, 0, 0]\n");
            let found = Intrinsics::parse(&text, "x.yaml", 1).unwrap();
            assert_eq!(found.distortion, [0.1, 0.2, 0.0, 0.0], "{name}");
        }
        // A name for the model is not a list of coefficients.
        let text = "K: [1,0,1,0,1,1,0,0,1]\ndistortion_model: plumb_bob\nboard_distances: [1, 2]\n";
        assert!(Intrinsics::parse(text, "x.yaml", 1).unwrap().distortion.is_empty());
    }

    #[test]
    fn each_wrong_file_is_told() {
        let matrix = "K: [1,0,1,0,1,1,0,0,1]";
        for (text, said) in [
            ("K: [1, 2]", ": K has 2 elements; it must be 3×3"),
            ("K: 7", ": K has no list of numbers"),
            ("K: {rows: 2, cols: 3, data: [1,0,1,0,1,1,0,0,1]}", "9 elements but states 2×3"),
            ("K: [1,0,.Nan,0,1,1,0,0,1]", ": K has an element that is not a finite number"),
            ("K: [1,0,[2],0,1,1,0,0,1]", ": K has an element that is not a finite number"),
            ("K: [1,0.5,2,0,1,1,0,0,1]", "its element in row 1, column 2 is 0.5"),
            (&format!("{matrix}\nimage_width: 0\nimage_height: 4\n"), "the picture size is 0 by 4"),
            (&format!("{matrix}\nlens_distortion: [0.1, 0]"), "under a known name"),
            (&format!("{matrix}\nCoefficients: [0.1, 0]"), "under a known name"),
            (&format!("{matrix}\ndistCoeffs2: [0.1, 0]"), "under a known name"),
            (&format!("{matrix}\nkc: [0.1, 0]"), "under a known name"),
            ("a: 1", ": no camera matrix for camera 1"),
            ("a: &a [x,x]\nb: &b [*a,*a]\n", ":2: YAML aliases"),
            ("a: [1, 2", ":2:1: not valid YAML: "),
            ("", ": expected a map of names"),
            ("- 1\n- 2\n", ": expected a map of names"),
            ("%YAML:1.0", ": expected a map of names"),
        ] {
            let error = Intrinsics::parse(text, "x.yaml", 1).unwrap_err().to_string();
            assert!(error.starts_with("x.yaml:") && error.contains(said), "{text}: {error}");
        }
        let secret = Intrinsics::parse("K: [hunter2]", "x.yaml", 1).unwrap_err().to_string();
        assert!(secret.contains("K has an element") && !secret.contains("hunter2"), "{secret}");
    }
}
