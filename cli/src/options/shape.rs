//! The options `--model`, `--projection` and `--crop`: the geometric model of a calibration, and the shape of its
//! panorama.

use clap::ValueEnum;
use panoweave::geometry::calibrate::{CalibrateOptions, ModelChoice, RigOptions};
use panoweave::geometry::rig::ProjectionName;

use crate::options::values::by_name;

/// The options `--model`, `--projection` and `--crop`.
#[derive(Debug, clap::Args)]
pub(crate) struct Shape {
    /// Geometric model that maps the pixels of one picture to those of another.
    #[arg(long, value_enum, default_value = "auto")]
    model: Model,
    /// Projection of the panorama. By default, the field of view determines the projection: planar below 80°,
    /// cylindrical for wider views, equirectangular for views that reach 50° above or below the horizon. With a
    /// homography, the projection must be planar.
    #[arg(long, value_parser = by_name(ProjectionName::ALL.map(|it| (it.as_str(), it))))]
    projection: Option<ProjectionName>,
    /// Crops the panorama to the largest rectangle that the cameras cover completely, without black edges.
    #[arg(long)]
    crop: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Model {
    /// Cameras at one position if they explain nearly as many matches as a homography, otherwise a homography.
    Auto,
    /// A homography, for a planar scene or a scene far from the cameras.
    Homography,
    /// Cameras at one position that look in different directions: a pure rotation between the pictures.
    Rotation,
}

impl Shape {
    /// Returns the options of the calibration.
    pub(crate) fn calibration(&self) -> CalibrateOptions {
        CalibrateOptions { model: self.model.into(), ..CalibrateOptions::default() }
    }

    /// Returns the options of the panorama.
    pub(crate) fn rig(&self) -> RigOptions {
        RigOptions { projection: self.projection, crop: self.crop }
    }

    /// Returns whether `--crop` is given.
    pub(crate) fn crops(&self) -> bool {
        self.crop
    }

    /// Returns whether `--model` or `--projection` is given, which require a calibration.
    pub(crate) fn needs_calibration(&self) -> bool {
        self.model != Model::Auto || self.projection.is_some()
    }
}

impl From<Model> for ModelChoice {
    fn from(model: Model) -> Self {
        match model {
            Model::Auto => Self::Auto,
            Model::Homography => Self::Homography,
            Model::Rotation => Self::Rotation,
        }
    }
}
