//! The camera matrix, which rigs and calibration files share.

use serde::{Deserialize, Serialize};

/// OpenCV's camera matrix K without skew. Units are pixels; pixel centres are at integers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CameraMatrix {
    /// Horizontal focal length.
    pub fx: f64,
    /// Vertical focal length.
    pub fy: f64,
    /// Column of the principal point.
    pub cx: f64,
    /// Row of the principal point.
    pub cy: f64,
}
