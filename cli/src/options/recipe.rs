//! From a rig or a homography to a warp, with the text that the warp file will carry.

use std::path::Path;

use glam::UVec2;
use panoweave::device::Stream;
use panoweave::geometry::Geometry;
use panoweave::geometry::homography::Homography;
use panoweave::geometry::rig::{ProjectionName, Rig};
use panoweave::warp::{DeviceWarp, Warp};

use crate::output;
use crate::output::failure::Failure;

/// What a warp is made from.
pub(crate) struct Recipe {
    geometry: Geometry,
    projection: ProjectionName,
    text: String,
    is_rig: bool,
}

impl Recipe {
    /// A rig, on a canvas of another size if one is given.
    ///
    /// `output` must be none of the calibration files that the rig names.
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

    /// A rig.
    pub(crate) fn new(rig: &Rig) -> Result<Self, Failure> {
        let geometry = rig.geometry()?;
        Ok(Self {
            geometry,
            projection: rig.panorama.projection,
            text: rig.to_toml()?,
            is_rig: true,
        })
    }

    /// A homography between pictures of these sizes (left, right).
    pub(crate) fn from_homography(file: &Path, sources: [UVec2; 2]) -> Result<Self, Failure> {
        let homography = Homography::open(file)?;
        let geometry = homography.geometry(sources[0], sources[1])?;
        let (projection, text) = (ProjectionName::Planar, homography.to_text());
        Ok(Self { geometry, projection, text, is_rig: false })
    }

    /// Where the cameras are.
    pub(crate) fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Whether its rays are those of the world, and not a picture's pixels.
    pub(crate) fn is_rig(&self) -> bool {
        self.is_rig
    }

    /// Sizes of the pictures that it is for.
    pub(crate) fn sources(&self) -> Vec<UVec2> {
        self.geometry.cameras.iter().map(|camera| camera.size).collect()
    }

    /// The warp of two pictures, for a file.
    pub(crate) fn render(self, stream: &Stream) -> Result<Warp, Failure> {
        if self.geometry.cameras.len() != 2 {
            return Err(Failure::Usage(
                "a warp is of two cameras, and this rig has more; `stitch` takes it as it is",
            ));
        }
        let warp = DeviceWarp::render(stream, &self.geometry)?.download(stream)?;
        Ok(warp.made_from(Some(self.projection), Some(self.text)))
    }
}
