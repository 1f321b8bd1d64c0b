//! The rig or the warp file: the sizes of the cameras' pictures and of the panorama, and the warp.

use std::ops::Deref;

use panoweave::job;

use super::error::StitchFailure;
use super::settings::Settings;

/// A rig or a warp file.
#[derive(Debug)]
pub(super) struct Map {
    /// The path of the file.
    pub(super) name: String,
    map: job::Map,
}

/// Returns the error of an element without a map.
pub(super) fn no_map() -> StitchFailure {
    StitchFailure::settings("no rig: set the property `rig` or `warp` to a file")
}

impl Map {
    /// Reads the file that the properties select.
    pub(super) fn open(settings: &Settings) -> Result<Self, StitchFailure> {
        settings.check()?;
        let name = settings.map.path().ok_or_else(no_map)?.display().to_string();
        Ok(Self { name, map: settings.map.open_alone()? })
    }
}

impl Deref for Map {
    type Target = job::Map;

    fn deref(&self) -> &job::Map {
        &self.map
    }
}
