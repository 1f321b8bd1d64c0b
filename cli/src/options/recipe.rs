//! Computes a warp from a rig or a homography. A file of this warp also stores the text of the rig (TOML) or of the
//! homography as metadata.

use std::path::Path;

use glam::UVec2;
use panoweave::device::Stream;
use panoweave::geometry::Geometry;
use panoweave::geometry::homography::Homography;
use panoweave::geometry::rig::{ProjectionName, Rig, RigCamera};
use panoweave::io::picture::{Picture, Pixel};
use panoweave::ops::photometry::{PictureCorrection, Vignette};
use panoweave::ops::stitch::Vignettes;
use panoweave::warp::{DeviceWarp, Warp};

use crate::options::max_pixels::MaxPixels;
use crate::output;
use crate::output::failure::Failure;

/// A rig or a homography from which a warp can be rendered.
pub(crate) struct Recipe {
    geometry: Geometry,
    projection: ProjectionName,
    text: String,
    is_rig: bool,
    vignettes: Vec<Vignette>,
}

impl Recipe {
    /// Reads a rig, and scales its panorama to `size` pixels if `size` is given. Otherwise, checks its size.
    ///
    /// Fails if `output` is a lens calibration file to which the rig refers, because the output would overwrite it.
    pub(crate) fn from_rig(
        file: &Path,
        size: Option<UVec2>,
        limit: MaxPixels,
        output: &Path,
    ) -> Result<Self, Failure> {
        let mut rig = Rig::open(file)?;
        if rig.calibrations.iter().any(|calibration| output::same(output, calibration)) {
            return Err(Failure::output_is_input(output));
        }
        match size {
            Some(size) => rig.panorama = rig.panorama.resized(size),
            None => limit.check(file, UVec2::new(rig.panorama.width, rig.panorama.height))?,
        }
        Self::new(&rig)
    }

    /// Creates the recipe from which a rig's warp is rendered.
    pub(crate) fn new(rig: &Rig) -> Result<Self, Failure> {
        let geometry = rig.geometry()?;
        Ok(Self {
            geometry,
            projection: rig.panorama.projection,
            text: rig.to_toml()?,
            is_rig: true,
            vignettes: rig.cameras.iter().map(RigCamera::vignette).collect(),
        })
    }

    /// Reads a homography, which maps pixels of the second picture to pixels of the first picture. `sources` are the
    /// sizes of the two pictures.
    pub(crate) fn from_homography(
        file: &Path,
        sources: [UVec2; 2],
        limit: MaxPixels,
    ) -> Result<Self, Failure> {
        let homography = Homography::open(file)?;
        let geometry = homography.geometry(sources[0], sources[1])?;
        limit.check(file, geometry.canvas.size)?;
        let (projection, text) = (ProjectionName::Planar, homography.to_text());
        let vignettes = Vec::new();
        Ok(Self { geometry, projection, text, is_rig: false, vignettes })
    }

    /// Crops the panorama to the largest rectangle that the cameras cover completely. Returns whether there is one. The
    /// stored text still describes the whole panorama.
    pub(crate) fn crop(&mut self) -> bool {
        let cropped = self.geometry.cropped();
        cropped.map(|cropped| self.geometry = cropped).is_some()
    }

    /// Returns the geometry of the panorama and the cameras.
    pub(crate) fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Returns copies of the pictures without vignetting.
    pub(crate) fn without_vignetting<P: Pixel>(
        &self,
        stream: &Stream,
        pictures: &[Picture<P>],
    ) -> Result<Vec<Picture<P>>, Failure> {
        let corrected = |(i, picture): (usize, &Picture<P>)| {
            let vignette = self.vignettes.get(i).copied().unwrap_or_default();
            Ok(PictureCorrection::of_vignette(vignette).corrected(stream, picture)?)
        };
        pictures.iter().enumerate().map(corrected).collect()
    }

    /// Returns the vignettes of the first 16 cameras.
    pub(crate) fn vignettes(&self) -> Vignettes {
        Vignettes::of(&self.vignettes)
    }

    /// Returns whether the recipe is a rig and not a homography. The geometry of a rig maps world directions to camera
    /// pixels. The geometry of a homography has no world directions: it maps pixels of the first picture.
    pub(crate) fn is_rig(&self) -> bool {
        self.is_rig
    }

    /// Returns the picture sizes that the warp expects.
    pub(crate) fn sources(&self) -> Vec<UVec2> {
        self.geometry.cameras.iter().map(|camera| camera.size).collect()
    }

    /// Renders the warp on the device and downloads it, so that it can be written to a warp file.
    pub(crate) fn render(self, stream: &Stream) -> Result<Warp, Failure> {
        let warp = DeviceWarp::render(stream, &self.geometry)?.download(stream)?;
        Ok(warp.made_from(Some(self.projection), Some(self.text)))
    }
}
