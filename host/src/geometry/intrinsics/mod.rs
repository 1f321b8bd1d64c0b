//! Reads the camera matrix K and the distortion D of a camera from an OpenCV calibration file.
//!
//! The supported files are those of `cv::FileStorage`, which OpenCV's calibration and stereo samples write, and ROS
//! `camera_info` files. `opencv_yaml` parses the subset of YAML that these files use. The files do not state whether
//! the coefficients in D are for a fisheye or for a pinhole lens, so the caller must know the lens model.

mod error;
mod opencv_yaml;

use std::path::Path;

use glam::{DVec2, UVec2};

use crate::geometry::CameraMatrix;
use crate::io::text::read_text;
pub use error::IntrinsicsError;
pub use opencv_yaml::YamlError;
use opencv_yaml::{Node, parse};

/// Names of the camera matrix K in the files of calibration tools. A stereo file appends the camera's number.
pub(crate) const MATRIX_NAMES: [&str; 6] =
    ["camera_matrix", "cameraMatrix", "CameraMatrix", "K", "M", "intrinsic_matrix"];
/// Names of the distortion coefficients D in the files of calibration tools. A stereo file appends the camera's number.
pub(crate) const DISTORTION_NAMES: [&str; 10] = [
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
        let text = read_text(file).map_err(YamlError::from)?;
        Self::parse(&text, file, camera)
    }

    /// Reads the only camera of a file, as [`open`](Self::open) does.
    ///
    /// # Errors
    /// Returns [`IntrinsicsError::Several`] if the file has the matrices of several cameras, and other errors as
    /// [`open`](Self::open) does.
    pub fn open_only(path: impl AsRef<Path>) -> Result<Self, IntrinsicsError> {
        let file = path.as_ref();
        let text = read_text(file).map_err(YamlError::from)?;
        let root = parse(&text, file)?;
        if MATRIX_NAMES.iter().any(|name| root.get(&format!("{name}2")).is_some()) {
            return Err(IntrinsicsError::Several { file: file.to_owned() });
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
            return Err(IntrinsicsError::NoMatrix { file: file.to_owned(), camera });
        };
        let k = matrix(file, &name, node)?;
        let Ok([fx, skew, cx, zero, fy, cy, bottom @ ..]) = <[f64; 9]>::try_from(k.as_slice())
        else {
            return Err(shape(file, name, format!("{} elements", k.len()), "3×3"));
        };
        let fixed = [(1, 2, skew, 0.0), (2, 1, zero, 0.0)].into_iter().chain(
            bottom.into_iter().zip([0.0, 0.0, 1.0]).enumerate().map(|(i, (v, e))| (3, i + 1, v, e)),
        );
        for (row, column, value, expected) in fixed {
            if value != expected {
                let file = file.to_owned();
                return Err(IntrinsicsError::NotACamera { file, name, row, column, value });
            }
        }
        let distortion = match find(root, &DISTORTION_NAMES, camera) {
            Some((name, node)) => matrix(file, &name, node)?,
            None if has_other_distortion(root) => {
                return Err(IntrinsicsError::OtherDistortion { file: file.to_owned(), camera });
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
        let expected = "a matrix with rows, cols and data";
        return Err(shape(file, name.to_owned(), "no list of numbers".to_owned(), expected));
    };
    let elements: Vec<f64> =
        items.iter().map(|item| number(file, name, item)).collect::<Result<_, _>>()?;
    if let (Some(rows), Some(cols)) = (node.get("rows"), node.get("cols")) {
        let (rows, cols) = (number(file, name, rows)?, number(file, name, cols)?);
        if rows * cols != elements.len() as f64 {
            let found = format!("{} elements", elements.len());
            let found = format!("{found} but states {rows}×{cols}");
            return Err(shape(file, name.to_owned(), found, "a list of rows × cols elements"));
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
                let found = format!("{} elements", other.len());
                return Err(shape(file, name.to_owned(), found, "width and height"));
            }
        },
        (None, Some((w, width, h, height))) => (number(file, w, width)?, number(file, h, height)?),
        (None, None) => return Ok(None),
    };
    let whole = |v: f64| v >= 1.0 && v <= f64::from(u32::MAX) && v.fract() == 0.0;
    if !whole(width) || !whole(height) {
        return Err(IntrinsicsError::Size { file: file.to_owned(), width, height });
    }
    Ok(Some(DVec2::new(width, height).as_uvec2()))
}

fn number(file: &Path, name: &str, node: &Node) -> Result<f64, IntrinsicsError> {
    let value = match node {
        Node::Scalar(text) => text.parse::<f64>().ok().filter(|v| v.is_finite()),
        Node::List(_) | Node::Map(_) => None,
    };
    let not_a_number =
        || IntrinsicsError::NotANumber { file: file.to_owned(), name: name.to_owned() };
    value.ok_or_else(not_a_number)
}

fn shape(file: &Path, name: String, found: String, expected: &'static str) -> IntrinsicsError {
    IntrinsicsError::Shape { file: file.to_owned(), name, found, expected }
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
        let three = Intrinsics::parse(STEREO, "s.yml", 3);
        assert!(matches!(three, Err(IntrinsicsError::NoMatrix { camera: 3, .. })));
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, STEREO).unwrap();
        let several = Intrinsics::open_only(&file);
        assert!(matches!(several, Err(IntrinsicsError::Several { .. })), "{several:?}");
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
    fn each_wrong_matrix_has_its_error() {
        let parse = |text: &str| Intrinsics::parse(text, "x.yaml", 1).unwrap_err();
        assert!(matches!(parse("K: [1, 2]"), IntrinsicsError::Shape { .. }));
        assert!(matches!(parse("K: 7"), IntrinsicsError::Shape { .. }));
        assert!(matches!(
            parse("K: {rows: 2, cols: 3, data: [1,0,1,0,1,1,0,0,1]}"),
            IntrinsicsError::Shape { .. }
        ));
        assert!(matches!(parse("K: [1,0,.Nan,0,1,1,0,0,1]"), IntrinsicsError::NotANumber { .. }));
        assert!(matches!(parse("K: [1,0,[2],0,1,1,0,0,1]"), IntrinsicsError::NotANumber { .. }));
        assert!(matches!(
            parse("K: [1,0.5,2,0,1,1,0,0,1]"),
            IntrinsicsError::NotACamera { row: 1, column: 2, .. }
        ));
        let sized = "K: [1,0,1,0,1,1,0,0,1]\nimage_width: 0\nimage_height: 4\n";
        assert!(matches!(parse(sized), IntrinsicsError::Size { .. }));
        for name in ["lens_distortion", "Coefficients", "distCoeffs2", "kc"] {
            let other = parse(&format!("K: [1,0,1,0,1,1,0,0,1]\n{name}: [0.1, 0.2, 0, 0]\n"));
            assert!(matches!(other, IntrinsicsError::OtherDistortion { camera: 1, .. }), "{name}");
        }
        let secret = parse("K: [hunter2]").to_string();
        assert!(secret.contains("K has an element") && !secret.contains("hunter2"), "{secret}");
        let message = parse("a: 1").to_string();
        assert!(message.starts_with("x.yaml: no camera matrix"), "{message}");
    }
}
