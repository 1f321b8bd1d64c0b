//! The rig or the warp file: the sizes of the cameras' pictures and of the panorama, and the warp.

use std::path::Path;

use glam::UVec2;
use panoweave::device::Stream;
use panoweave::geometry::Geometry;
use panoweave::geometry::rig::Rig;
use panoweave::ops::stitch::Vignettes;
use panoweave::warp::{DeviceWarp, Warp};

use super::error::StitchFailure;
use super::settings::Settings;

/// A rig or a warp file.
#[derive(Debug)]
pub(super) struct Map {
    name: String,
    source: MapData,
    vignettes: Vignettes,
}

#[derive(Debug)]
enum MapData {
    Rig(Geometry),
    Warp(Warp),
}

/// Returns the error of an element without a map.
pub(super) fn no_map() -> StitchFailure {
    StitchFailure::settings("no rig: set the property `rig` or `warp` to a file")
}

impl Map {
    /// Reads the file that the properties select.
    pub(super) fn open(settings: &Settings) -> Result<Self, StitchFailure> {
        settings.check()?;
        match (&settings.rig, &settings.warp) {
            (None, None) => Err(no_map()),
            (Some(_), Some(_)) => {
                Err(StitchFailure::settings("both `rig` and `warp` are set; set only one of them"))
            }
            (Some(rig), None) => Self::of_rig(rig),
            (None, Some(warp)) => Self::of_warp(warp),
        }
    }

    fn of_rig(file: &str) -> Result<Self, StitchFailure> {
        let rig = Rig::open(Path::new(file))?;
        Ok(Self {
            name: file.to_owned(),
            source: MapData::Rig(rig.geometry()?),
            vignettes: Vignettes::of_rig(&rig),
        })
    }

    fn of_warp(file: &str) -> Result<Self, StitchFailure> {
        let warp = Warp::open(Path::new(file))?;
        // A warp file may embed its rig.
        let rig = warp.rig().and_then(|text| Rig::parse(text, file).ok());
        Ok(Self {
            name: file.to_owned(),
            source: MapData::Warp(warp),
            vignettes: rig.as_ref().map(Vignettes::of_rig).unwrap_or_default(),
        })
    }

    /// Returns the path of the file.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the size of the panorama in pixels.
    pub(super) fn size(&self) -> UVec2 {
        match &self.source {
            MapData::Rig(geometry) => geometry.canvas.size,
            MapData::Warp(warp) => warp.size(),
        }
    }

    /// Returns the sizes of the cameras' pictures in pixels.
    pub(super) fn sources(&self) -> Vec<UVec2> {
        match &self.source {
            MapData::Rig(geometry) => geometry.cameras.iter().map(|camera| camera.size).collect(),
            MapData::Warp(warp) => warp.sources().to_vec(),
        }
    }

    /// Returns the geometry of a rig, or `None` for a warp file.
    pub(super) fn geometry(&self) -> Option<&Geometry> {
        match &self.source {
            MapData::Rig(geometry) => Some(geometry),
            MapData::Warp(_) => None,
        }
    }

    pub(super) fn vignettes(&self) -> Vignettes {
        self.vignettes
    }

    /// Renders or uploads the warp.
    pub(super) fn prepare(&self, stream: &Stream) -> Result<DeviceWarp, StitchFailure> {
        let warp = match &self.source {
            MapData::Rig(geometry) => DeviceWarp::render(stream, geometry)?,
            MapData::Warp(warp) => DeviceWarp::upload(stream, warp)?,
        };
        stream.synchronize()?;
        Ok(warp)
    }
}
