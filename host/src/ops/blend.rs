//! The modes of blending where the cameras overlap.
//!
//! [`Blend`] is the list of the modes with their parameters. The live session and the stitches of stills run each mode
//! through one trait, `Blending`:
//!
//! 1. `seam` states whether the cameras are separated by seams. The caller finds these (live video as described in
//!    [`seam`](super::seam), stills by a cut) and writes their weights to a copy of the warp.
//! 2. `prepare` allocates what the mode needs for a warp.
//! 3. `submit` launches everything for one panorama of a set, whose warp has the weights.
//!
//! If no cameras overlap, there is nothing to blend, and every mode gives the same panorama. This is no error.

use std::fmt;

use shared_types::stitch::MAX_CAMERAS;
use thiserror::Error;

use super::multiband::{Multiband, MultibandOptions};
use super::seam::SeamOptions;
use super::stitch::{StitchError, StitchSet, Target};
use crate::device::Stream;
use crate::warp::DeviceWarp;

/// The kind of blending in the overlaps of cameras.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Blend {
    /// A seam where the warp allows one, otherwise feathered weights.
    Auto(SeamOptions),
    /// Fades from one camera to the other across the whole overlap, with the warp's feathered weights.
    #[default]
    Feather,
    /// Switches cameras along a line on which the pictures agree, so that near or moving objects appear only once.
    Seam(SeamOptions),
    /// A seam across which differences in brightness fade over a longer distance than fine detail.
    Multiband(MultibandOptions),
}

impl Blend {
    /// The mode `auto` with its default parameters.
    pub const AUTO: Self = Self::Auto(SeamOptions::DEFAULT);

    /// Each mode with its default parameters.
    pub const ALL: [Self; 4] = [
        Self::AUTO,
        Self::Feather,
        Self::Seam(SeamOptions::DEFAULT),
        Self::Multiband(MultibandOptions::DEFAULT),
    ];

    /// Returns the name of the mode.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto(_) => "auto",
            Self::Feather => "feather",
            Self::Seam(_) => "seam",
            Self::Multiband(_) => "multiband",
        }
    }

    /// Returns the width of the blend across a seam, in panorama pixels, if the mode has it.
    pub fn feather_mut(&mut self) -> Option<&mut f32> {
        match self {
            Self::Feather => None,
            Self::Auto(options) | Self::Seam(options) => Some(&mut options.feather),
            Self::Multiband(options) => Some(&mut options.feather),
        }
    }

    /// Returns the number of levels, if the mode has it.
    pub fn levels_mut(&mut self) -> Option<&mut u32> {
        if let Self::Multiband(options) = self { Some(&mut options.levels) } else { None }
    }

    /// Returns the mode, not yet prepared for a warp.
    pub(crate) fn mode(self) -> Box<dyn Blending> {
        match self {
            Self::Feather => Box::new(Feather),
            Self::Auto(options) | Self::Seam(options) => Box::new(options),
            Self::Multiband(options) => Box::new(Bands { options, memory: None }),
        }
    }

    /// Checks that a mode that changes finished panoramas is only used for panoramas of at most 16 cameras.
    pub(crate) fn check(self, cameras: usize, has_views: bool) -> Result<(), BlendError> {
        let needs_panorama = self.mode().needs_panorama();
        match self.name() {
            blend if needs_panorama && has_views => Err(BlendError(format!(
                "the blend `{blend}` does not support views; use the blend `seam`"
            ))),
            blend if needs_panorama && cameras > MAX_CAMERAS => Err(BlendError(format!(
                "the blend `{blend}` supports at most {MAX_CAMERAS} pictures, but there are {cameras}; use the blend `seam`"
            ))),
            _ => Ok(()),
        }
    }
}

/// The error if the requested blend cannot be had. The text states the reason and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct BlendError(pub(crate) String);

/// A mode of blending and, once it is prepared for a warp, its memory.
pub(crate) trait Blending: fmt::Debug + Send {
    /// Returns the options of the seams between the cameras, or `None` if the warp's weights apply.
    fn seam(&self) -> Option<SeamOptions> {
        None
    }

    /// Returns whether the mode changes finished panoramas, so that it needs the whole warp at once.
    fn needs_panorama(&self) -> bool {
        false
    }

    /// Returns the beginnings of the names of the mode's kernels, apart from those of stitches.
    fn kernels(&self) -> &'static [&'static str] {
        &[]
    }

    /// Allocates the memory for a warp. Waits for the device.
    #[track_caller]
    fn prepare(&mut self, _: &Stream, _: &DeviceWarp) -> Result<(), StitchError> {
        Ok(())
    }

    /// Submits all launches for the panorama of a set without waiting. The weights of the set's warp are those of the
    /// seams, if the mode has any.
    #[track_caller]
    fn submit(
        &mut self,
        stream: &Stream,
        set: &StitchSet<'_>,
        out: &mut dyn Target,
    ) -> Result<(), StitchError> {
        set.stitch(stream, out.panorama())
    }
}

/// The blend by the warp's feathered weights.
#[derive(Debug)]
struct Feather;

impl Blending for Feather {}

impl Blending for SeamOptions {
    fn seam(&self) -> Option<SeamOptions> {
        Some(*self)
    }

    fn kernels(&self) -> &'static [&'static str] {
        &["seam_"]
    }
}

/// A seam with multiband blending.
#[derive(Debug)]
struct Bands {
    options: MultibandOptions,
    /// `None` until it is prepared, and if no cameras overlap.
    memory: Option<Multiband>,
}

impl Blending for Bands {
    fn seam(&self) -> Option<SeamOptions> {
        Some(SeamOptions { feather: self.options.feather })
    }

    fn needs_panorama(&self) -> bool {
        true
    }

    fn kernels(&self) -> &'static [&'static str] {
        &["seam_", "multiband_"]
    }

    fn prepare(&mut self, stream: &Stream, warp: &DeviceWarp) -> Result<(), StitchError> {
        self.memory = Multiband::new(stream, warp, self.options.levels)?;
        Ok(())
    }

    fn submit(
        &mut self,
        stream: &Stream,
        set: &StitchSet<'_>,
        out: &mut dyn Target,
    ) -> Result<(), StitchError> {
        set.stitch(stream, out.panorama())?;
        self.memory.as_mut().map_or(Ok(()), |memory| memory.submit_set(stream, set, out.panorama()))
    }
}
