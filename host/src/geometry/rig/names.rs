//! The names of projections, lens models and geometric models in rig files, and the kernels' constants for the
//! projections and lens models.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shared_types::warp::{Lens, Projection};

/// The projection of a panorama, by its name in rig files. [`Projection`] is the kernels' constant for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProjectionName {
    /// Perspective projection onto a flat plane. All straight lines stay straight.
    Planar,
    /// Projection onto a vertical cylinder. Columns are proportional to longitudes, and vertical lines stay straight.
    Cylindrical,
    /// Projection onto a sphere. Columns are proportional to longitudes, and rows to latitudes.
    Equirectangular,
}

impl ProjectionName {
    /// All projections.
    pub const ALL: [Self; 3] = [Self::Planar, Self::Cylindrical, Self::Equirectangular];

    /// Returns the name of the projection in rig files.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Planar => "planar",
            Self::Cylindrical => "cylindrical",
            Self::Equirectangular => "equirectangular",
        }
    }

    /// Returns the kernels' constant for the projection.
    #[must_use]
    pub const fn projection(self) -> Projection {
        match self {
            Self::Planar => Projection::PLANAR,
            Self::Cylindrical => Projection::CYLINDRICAL,
            Self::Equirectangular => Projection::EQUIRECTANGULAR,
        }
    }

    /// Returns whether row positions are proportional to the tangent of an angle instead of the angle itself.
    pub(crate) const fn straight_rows(self) -> bool {
        !matches!(self, Self::Equirectangular)
    }

    /// Returns whether column positions are proportional to the tangent of an angle instead of the angle itself.
    pub(crate) const fn straight_columns(self) -> bool {
        matches!(self, Self::Planar)
    }
}

/// A lens model, by its name in rig files. [`Lens`] is the kernels' constant for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LensName {
    /// Perspective with Brown–Conrady distortion `k1 k2 p1 p2 k3`.
    Pinhole,
    /// Equidistant fisheye with distortion `k1 k2 k3 k4`.
    Fisheye,
    /// A cylindrical panorama.
    Cylindrical,
    /// An equirectangular panorama.
    Equirectangular,
}

impl LensName {
    /// Returns the kernels' constant for the lens model.
    #[must_use]
    pub const fn lens(self) -> Lens {
        match self {
            Self::Pinhole => Lens::PINHOLE,
            Self::Fisheye => Lens::FISHEYE,
            Self::Cylindrical => Lens::CYLINDRICAL,
            Self::Equirectangular => Lens::EQUIRECTANGULAR,
        }
    }

    /// Returns the name of the kernels' constant.
    pub(crate) const fn of(lens: Lens) -> Self {
        match lens {
            Lens::FISHEYE => Self::Fisheye,
            Lens::CYLINDRICAL => Self::Cylindrical,
            Lens::EQUIRECTANGULAR => Self::Equirectangular,
            _ => Self::Pinhole,
        }
    }

    /// Returns the number of distortion coefficients of the lens model.
    #[must_use]
    pub const fn coefficients(self) -> usize {
        match self {
            Self::Pinhole => 5,
            Self::Fisheye => 4,
            Self::Cylindrical | Self::Equirectangular => 0,
        }
    }
}

/// The geometric model that relates several pictures, by its name in rig files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelName {
    /// A homography between pictures: a flat scene, or cameras at one position.
    Homography,
    /// Cameras at one position that look in different directions.
    Rotation,
}

impl ModelName {
    /// Returns the name of the model in rig files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Homography => "homography",
            Self::Rotation => "rotation",
        }
    }
}
