//! Builds a warp from a rig or a homography. Keeps the rig's TOML or the homography's text for the warp file's
//! metadata.

use std::path::Path;

use glam::UVec2;
use panoweave::device::Stream;
use panoweave::geometry::Geometry;
use panoweave::geometry::homography::Homography;
use panoweave::geometry::rig::{ProjectionName, Rig};
use panoweave::warp::{DeviceWarp, Warp};

use crate::output;
use crate::output::failure::Failure;

/// A rig or a homography from which a warp can be rendered.
pub(crate) struct Recipe {
    geometry: Geometry,
    projection: ProjectionName,
    text: String,
    is_rig: bool,
}

impl Recipe {
    /// Reads a rig, and scales its canvas to `size` if that is given.
    ///
    /// Fails if `output` is one of the calibration files that the rig names.
    pub(crate) fn from_rig(
        file: &Path,
        size: Option<UVec2>,
        output: &Path,
    ) -> Result<Self, Failure> {
        let mut rig = Rig::open(file)?;
        if rig.calibrations.iter().any(|calibration| output::same(output, calibration)) {
            return Err(Failure::OutputIsInput { file: output.to_owned() });
        }
        if let Some(size) = size {
            rig.panorama = rig.panorama.resized(size);
        }
        Self::new(&rig)
    }

    /// Creates the recipe of a rig.
    pub(crate) fn new(rig: &Rig) -> Result<Self, Failure> {
        let geometry = rig.geometry()?;
        Ok(Self {
            geometry,
            projection: rig.panorama.projection,
            text: rig.to_toml()?,
            is_rig: true,
        })
    }

    /// Reads a homography between a left and a right picture, whose sizes are `sources`.
    pub(crate) fn from_homography(file: &Path, sources: [UVec2; 2]) -> Result<Self, Failure> {
        let homography = Homography::open(file)?;
        let geometry = homography.geometry(sources[0], sources[1])?;
        let (projection, text) = (ProjectionName::Planar, homography.to_text());
        Ok(Self { geometry, projection, text, is_rig: false })
    }

    /// Returns the canvas and the cameras.
    pub(crate) fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Returns whether the recipe is a rig. A rig's geometry is in world directions, a homography's in pixels of the
    /// left picture.
    pub(crate) fn is_rig(&self) -> bool {
        self.is_rig
    }

    /// Returns the picture sizes that the warp expects.
    pub(crate) fn sources(&self) -> Vec<UVec2> {
        self.geometry.cameras.iter().map(|camera| camera.size).collect()
    }

    /// Renders the warp for a warp file. Fails unless there are two cameras.
    pub(crate) fn render(self, stream: &Stream) -> Result<Warp, Failure> {
        if self.geometry.cameras.len() != 2 {
            return Err(Failure::Usage(
                "a warp file has two cameras, but this rig has more; use the rig with `panoweave stitch --rig`",
            ));
        }
        let warp = DeviceWarp::render(stream, &self.geometry)?.download(stream)?;
        Ok(warp.made_from(Some(self.projection), Some(self.text)))
    }
}
