//! The errors of reading an OpenCV calibration file. They quote no text of the file: a rig can name any file, and its
//! error may be shown to someone who must not read that file.

use std::path::PathBuf;

use crate::geometry::intrinsics::opencv_yaml::YamlError;
use crate::geometry::intrinsics::{DISTORTION_NAMES, MATRIX_NAMES};

/// The error for a calibration file that cannot be read, or that does not define the requested camera.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IntrinsicsError {
    /// The file cannot be read, or is not valid YAML.
    #[error(transparent)]
    Yaml(#[from] YamlError),
    /// The file has no matrix for the requested camera.
    #[error("{}: no camera matrix for camera {camera}; expected an entry with one of the names {}, alone or followed by {camera}", file.display(), MATRIX_NAMES.join(", "))]
    NoMatrix {
        /// The calibration file.
        file: PathBuf,
        /// Number of the camera in the file, from 1.
        camera: u32,
    },
    /// The file has the matrices of several cameras, but no camera number was given.
    #[error("{}: the file has the matrices of several cameras; give the number of the camera, from 1", file.display())]
    Several {
        /// The calibration file.
        file: PathBuf,
    },
    /// The file has no distortion coefficients with a known name for the requested camera, but an entry whose name
    /// suggests some.
    #[error("{}: no distortion coefficients for camera {camera} under a known name, but the file has an entry whose name suggests some; name the coefficients of this camera one of {}, alone or followed by {camera}, or add a list of zeros if the lens has no distortion", file.display(), DISTORTION_NAMES.join(", "))]
    OtherDistortion {
        /// The calibration file.
        file: PathBuf,
        /// Number of the camera in the file, from 1.
        camera: u32,
    },
    /// A matrix has the wrong shape.
    #[error("{}: {name} has {found}; it must be {expected}", file.display())]
    Shape {
        /// The calibration file.
        file: PathBuf,
        /// Name of the matrix.
        name: String,
        /// The shape in the file, in words.
        found: String,
        /// The required shape, in words.
        expected: &'static str,
    },
    /// An element is not a finite number.
    #[error("{}: {name} has an element that is not a finite number; use a calibration file as OpenCV writes it", file.display())]
    NotANumber {
        /// The calibration file.
        file: PathBuf,
        /// Name of the matrix or value.
        name: String,
    },
    /// The camera matrix has a skew or is not `fx 0 cx; 0 fy cy; 0 0 1`.
    #[error("{}: {name} must be [fx 0 cx; 0 fy cy; 0 0 1], but its element in row {row}, column {column} is {value}", file.display())]
    NotACamera {
        /// The calibration file.
        file: PathBuf,
        /// Name of the matrix.
        name: String,
        /// Row, from 1.
        row: usize,
        /// Column, from 1.
        column: usize,
        /// The element at this row and column.
        value: f64,
    },
    /// The width or the height of the picture is not a whole number of at least 1.
    #[error("{}: the picture size is {width} by {height}; both must be whole numbers of at least 1", file.display())]
    Size {
        /// The calibration file.
        file: PathBuf,
        /// The picture width that the file states.
        width: f64,
        /// The picture height that the file states.
        height: f64,
    },
}
