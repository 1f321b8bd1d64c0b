//! The properties of the element, and the options that they select.

use std::sync::{Mutex, MutexGuard, PoisonError};

use glam::UVec2;
use panoweave::geometry::MAX_CANVAS_AREA;
use panoweave::ops::blend::Blend;
use panoweave::ops::stitch::Lookup;

use super::error::StitchFailure;

/// Locks a mutex whose contents stay valid if a thread panics.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the value with the name that a property has.
fn named<T: Copy, const N: usize>(
    property: &str,
    found: &str,
    all: [T; N],
    name: fn(T) -> &'static str,
) -> Result<T, StitchFailure> {
    all.into_iter().find(|value| name(*value) == found).ok_or_else(|| {
        let names = all.map(name).join(", ");
        StitchFailure::settings(format!("`{property}` is {found}; set it to one of {names}"))
    })
}

/// The values of the properties. The construction of the element sets their defaults.
#[derive(Clone, Debug, Default)]
pub(super) struct Settings {
    pub(super) rig: Option<String>,
    pub(super) warp: Option<String>,
    pub(super) device: String,
    pub(super) blend: String,
    pub(super) feather: f32,
    pub(super) levels: u32,
    pub(super) lookup: String,
    pub(super) match_colours: bool,
    pub(super) anchor: i32,
    pub(super) keep_highlights: bool,
    pub(super) flip: bool,
    pub(super) edge_boost: bool,
    pub(super) view: Option<String>,
    pub(super) view_width: u32,
    pub(super) view_height: u32,
    pub(super) view_smooth: f64,
    pub(super) view_free: bool,
    pub(super) camera_timeout: u64,
    pub(super) report_interval: u64,
}

impl Settings {
    /// Returns the blending that `blend`, `feather` and `levels` select.
    pub(super) fn blend(&self) -> Result<Blend, StitchFailure> {
        let mut blend = named("blend", &self.blend, Blend::ALL, Blend::name)?;
        if let Some(feather) = blend.feather_mut().filter(|_| self.feather > 0.0) {
            *feather = self.feather;
        }
        if let Some(levels) = blend.levels_mut() {
            *levels = self.levels;
        }
        Ok(blend)
    }

    /// Returns the method to find the source coordinates of a pixel.
    pub(super) fn lookup(&self) -> Result<Lookup, StitchFailure> {
        named("lookup", &self.lookup, Lookup::ALL, Lookup::name)
    }

    /// Returns the camera that keeps its colours, if any.
    pub(super) fn anchor(&self) -> Option<usize> {
        usize::try_from(self.anchor).ok()
    }

    /// Returns the size of the view of a virtual camera, or `None` for panoramas.
    pub(super) fn view_size(&self) -> Option<UVec2> {
        self.view.as_ref().map(|_| UVec2::new(self.view_width, self.view_height))
    }

    /// Checks the properties that do not depend on the cameras.
    pub(super) fn check(&self) -> Result<(), StitchFailure> {
        self.blend()?;
        self.lookup()?;
        match self.view_size() {
            Some(size) if u64::from(size.x) * u64::from(size.y) > MAX_CANVAS_AREA => {
                Err(StitchFailure::settings(format!(
                    "the view is {}×{} pixels, but its area must be at most {MAX_CANVAS_AREA} pixels; reduce `view-width` or `view-height`",
                    size.x, size.y
                )))
            }
            _ => Ok(()),
        }
    }
}
