//! The names of projections, lenses and models in rig files, and the kernels' constants for them.

use serde::{Deserialize, Serialize};
use shared_types::warp::{Lens, Projection};

/// The projection of the panorama; see [`Projection`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProjectionName {
    /// A flat picture plane.
    Planar,
    /// Columns are angles; vertical lines stay straight.
    Cylindrical,
    /// Columns are longitudes, rows are latitudes.
    Equirectangular,
}

impl ProjectionName {
    /// Returns the name in rig files.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Planar => "planar",
            Self::Cylindrical => "cylindrical",
            Self::Equirectangular => "equirectangular",
        }
    }

    /// Returns the constant for the kernels.
    #[must_use]
    pub const fn projection(self) -> Projection {
        match self {
            Self::Planar => Projection::PLANAR,
            Self::Cylindrical => Projection::CYLINDRICAL,
            Self::Equirectangular => Projection::EQUIRECTANGULAR,
        }
    }

    /// Returns whether the row position is proportional to a tangent instead of an angle.
    pub(crate) const fn straight_rows(self) -> bool {
        !matches!(self, Self::Equirectangular)
    }

    /// Returns whether the column position is proportional to a tangent instead of an angle.
    pub(crate) const fn straight_columns(self) -> bool {
        matches!(self, Self::Planar)
    }
}

/// The lens model; see [`Lens`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LensName {
    /// Perspective with Brown–Conrady distortion `k1 k2 p1 p2 k3`.
    Pinhole,
    /// Equidistant fisheye with distortion `k1 k2 k3 k4`.
    Fisheye,
}

impl LensName {
    /// Returns the constant for the kernels.
    #[must_use]
    pub const fn lens(self) -> Lens {
        match self {
            Self::Pinhole => Lens::PINHOLE,
            Self::Fisheye => Lens::FISHEYE,
        }
    }

    /// Returns the number of coefficients of the model.
    #[must_use]
    pub const fn coefficients(self) -> usize {
        match self {
            Self::Pinhole => 5,
            Self::Fisheye => 4,
        }
    }
}

/// The geometric model that relates several pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelName {
    /// A homography between pictures: a flat scene, or cameras at one position.
    Homography,
    /// Cameras at one position that look in different directions.
    Rotation,
}

impl ModelName {
    /// Returns the name in rig files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Homography => "homography",
            Self::Rotation => "rotation",
        }
    }
}
