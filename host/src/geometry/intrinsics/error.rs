//! The error of a calibration file.

use std::path::PathBuf;

use crate::geometry::intrinsics::MATRIX_NAMES;
use crate::geometry::intrinsics::opencv_yaml::YamlError;

/// A calibration file does not define a camera.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IntrinsicsError {
    /// The file is not valid YAML.
    #[error(transparent)]
    Yaml(#[from] YamlError),
    /// There is no camera matrix.
    #[error("{}: no camera matrix for camera {camera}; expected one of {}, alone or followed by {camera}", file.display(), MATRIX_NAMES.join(", "))]
    NoMatrix {
        /// The file.
        file: PathBuf,
        /// Number of the camera in the file, from 1.
        camera: u32,
    },
    /// A matrix has the wrong shape.
    #[error("{}: {name} has {found}; it must be {expected}", file.display())]
    Shape {
        /// The file.
        file: PathBuf,
        /// Name of the matrix.
        name: String,
        /// The shape found.
        found: String,
        /// The required shape.
        expected: &'static str,
    },
    /// An element is not a finite number.
    #[error("{}: {name}: {text:?} is not a finite number", file.display())]
    NotANumber {
        /// The file.
        file: PathBuf,
        /// Name of the matrix or value.
        name: String,
        /// The element, shortened.
        text: String,
    },
    /// The camera matrix has a skew or is not `fx 0 cx; 0 fy cy; 0 0 1`.
    #[error("{}: {name} must be [fx 0 cx; 0 fy cy; 0 0 1] but element {row},{column} is {value}", file.display())]
    NotACamera {
        /// The file.
        file: PathBuf,
        /// Name of the matrix.
        name: String,
        /// Row, from 1.
        row: usize,
        /// Column, from 1.
        column: usize,
        /// The element.
        value: f64,
    },
    /// The picture size is not two whole numbers of at least 1.
    #[error("{}: the picture size is {width} by {height}; both must be whole numbers of at least 1", file.display())]
    Size {
        /// The file.
        file: PathBuf,
        /// Width as read.
        width: f64,
        /// Height as read.
        height: f64,
    },
}
