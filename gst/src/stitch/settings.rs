//! The properties of the element, and the options that they select.

use std::sync::{Mutex, MutexGuard, PoisonError};

use glam::UVec2;
use gst::glib;
use panoweave::geometry::MAX_CANVAS_AREA;
use panoweave::ops::multiband::MultibandOptions;
use panoweave::ops::seam::{Blend, SeamOptions};
use panoweave::ops::stitch::Lookup;

use super::error::StitchFailure;

/// Locks a mutex whose contents stay valid if a thread panics.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The property `blend`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstPanoweaveBlend")]
#[repr(i32)]
pub(crate) enum Blending {
    #[default]
    #[enum_value(name = "Fades across the whole overlap", nick = "feather")]
    Feather,
    #[enum_value(name = "Switches cameras along a line on which the pictures agree", nick = "seam")]
    Seam,
    #[enum_value(
        name = "A seam, across which brightness fades over a longer distance than fine detail",
        nick = "multiband"
    )]
    Multiband,
}

/// The property `lookup`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstPanoweaveLookup")]
#[repr(i32)]
pub(crate) enum LookupMode {
    #[default]
    #[enum_value(name = "Coordinates from a compact mesh, within 1/32 pixel", nick = "mesh")]
    Mesh,
    #[enum_value(name = "Exact coordinates", nick = "planes")]
    Planes,
    #[enum_value(
        name = "Exact coordinates, which the texture unit reads",
        nick = "textured-planes"
    )]
    TexturedPlanes,
    #[enum_value(
        name = "Exact coordinates; the texture unit interpolates the pixels",
        nick = "hardware-bilinear"
    )]
    HardwareBilinear,
    #[enum_value(name = "Exact coordinates and a cubic filter", nick = "cubic")]
    Cubic,
}

impl From<LookupMode> for Lookup {
    fn from(mode: LookupMode) -> Self {
        match mode {
            LookupMode::Mesh => Self::Mesh,
            LookupMode::Planes => Self::Planes,
            LookupMode::TexturedPlanes => Self::TexturedPlanes,
            LookupMode::HardwareBilinear => Self::HardwareBilinear,
            LookupMode::Cubic => Self::Cubic,
        }
    }
}

/// The values of the properties. The construction of the element sets their defaults.
#[derive(Clone, Debug, Default)]
pub(super) struct Settings {
    pub(super) rig: Option<String>,
    pub(super) warp: Option<String>,
    pub(super) device: String,
    pub(super) blend: Blending,
    pub(super) feather: f32,
    pub(super) levels: u32,
    pub(super) lookup: LookupMode,
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
    pub(super) fn blend(&self) -> Blend {
        let width = |default: f32| if self.feather > 0.0 { self.feather } else { default };
        match self.blend {
            Blending::Feather => Blend::Feather,
            Blending::Seam => {
                Blend::Seam(SeamOptions { feather: width(SeamOptions::default().feather) })
            }
            Blending::Multiband => Blend::Multiband(MultibandOptions {
                levels: self.levels,
                feather: width(MultibandOptions::default().feather),
            }),
        }
    }

    /// Returns the camera that keeps its colours, if any.
    pub(super) fn anchor(&self) -> Option<usize> {
        usize::try_from(self.anchor).ok()
    }

    /// Returns the size of the view of a virtual camera, or `None` for panoramas.
    pub(super) fn view_size(&self) -> Option<UVec2> {
        self.view.as_ref().map(|_| UVec2::new(self.view_width, self.view_height))
    }

    /// Checks the area of the view.
    pub(super) fn check_view(&self) -> Result<(), StitchFailure> {
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
