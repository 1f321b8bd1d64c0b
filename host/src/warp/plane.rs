//! The planes of a warp: their order, their names, and the check of their numbers.

use std::path::{Path, PathBuf};

use super::PlaneError;

/// One plane of a warp. The contained number is the index of its camera.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plane {
    /// The column in the camera's source, in pixels.
    X(usize),
    /// The row in the camera's source, in pixels.
    Y(usize),
    /// The weight of the camera, from 0 to 1.
    Weight(usize),
}

impl Plane {
    /// Yields the planes of a warp in the order of [`Warp::planes`](super::Warp::planes) and of the planes in files:
    /// the columns and rows of each camera, then the weights of all cameras.
    pub fn all(cameras: usize) -> impl ExactSizeIterator<Item = Self> + Clone {
        (0..3 * cameras).map(move |at| match at.checked_sub(2 * cameras) {
            Some(camera) => Self::Weight(camera),
            None if at % 2 == 0 => Self::X(at / 2),
            None => Self::Y(at / 2),
        })
    }

    /// Returns the position of the plane in a warp of `cameras` cameras, in the order of [`all`](Self::all).
    #[must_use]
    pub const fn index(self, cameras: usize) -> usize {
        match self {
            Self::X(camera) => 2 * camera,
            Self::Y(camera) => 2 * camera + 1,
            Self::Weight(camera) => 2 * cameras + camera,
        }
    }

    /// Returns the name of the plane in warp files and errors, such as `lut_1_x` or `weight_3`. Cameras are counted
    /// from 1.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::X(camera) => format!("lut_{}_x", camera + 1),
            Self::Y(camera) => format!("lut_{}_y", camera + 1),
            Self::Weight(camera) => format!("weight_{}", camera + 1),
        }
    }

    /// Returns the path of the plane's file in a folder of raw planes of two cameras.
    #[must_use]
    pub fn raw_file(self, directory: &Path) -> PathBuf {
        let name = self.name().replace('1', "left").replace('2', "right");
        directory.join(format!("{name}.bin"))
    }

    /// Returns whether the plane contains weights rather than coordinates.
    #[must_use]
    pub const fn is_weight(self) -> bool {
        matches!(self, Self::Weight(_))
    }

    /// Checks a part of this plane: coordinates must be finite, and weights must be from 0 to 1. `values` start at
    /// element `at` of the plane, which has `width` pixels per row.
    pub(crate) fn check(self, values: &[f32], at: usize, width: u32) -> Result<(), PlaneError> {
        let weight = self.is_weight();
        // Test for valid values rather than for invalid ones, so that NaN is rejected.
        let fine = |v: &f32| {
            if weight { (0.0..=1.0).contains(v) } else { v.is_finite() }
        };
        // Test all values without an early exit, so that the compiler vectorizes the loop.
        if values.iter().fold(true, |all, v| all & fine(v)) {
            return Ok(());
        }
        let Some(bad) = values.iter().position(|v| !fine(v)) else {
            return Ok(());
        };
        let (index, value, plane) = (at + bad, values[bad], self.name());
        let (x, y) = (index % width as usize, index / width as usize);
        let allowed = if value.is_finite() { "0 to 1" } else { "a finite number" };
        Err(PlaneError(format!(
            "plane {plane} is {value} at column {x}, row {y}; it must be {allowed}"
        )))
    }
}
