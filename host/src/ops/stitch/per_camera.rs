//! A property of all cameras, such as their colour corrections. The type is `Copy`, so that options and results that
//! contain it are, too.

use std::ops::{Index, IndexMut};

use glam::Vec3;
use shared_types::photometry::Vignette;
use shared_types::stitch::{Colour, MAX_CAMERAS};

use crate::geometry::rig::{Rig, RigCamera};

/// A value for each camera, in the order of the cameras. Cameras that do not exist have the default.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PerCamera<T>([T; MAX_CAMERAS]);

/// The colour correction of each camera.
pub type Colours = PerCamera<Colour>;

/// The vignette of each camera.
pub type Vignettes = PerCamera<Vignette>;

impl Colours {
    /// The corrections that leave all pictures unchanged.
    pub const IDENTITY: Self = Self([Colour::IDENTITY; MAX_CAMERAS]);

    /// Returns these corrections with a [shoulder](Colour::shoulder) for each camera whose gain is not 1.
    #[must_use]
    pub fn with_shoulders(self) -> Self {
        let with_shoulder = |colour: Colour| match colour.gain {
            Vec3::ONE => colour,
            _ => colour.with_shoulder(),
        };
        Self(self.0.map(with_shoulder))
    }
}

impl Vignettes {
    /// The vignettes of lenses without vignetting.
    pub const NONE: Self = Self([Vignette::NONE; MAX_CAMERAS]);

    /// Returns the vignettes that a rig states for its cameras. Cameras beyond [`MAX_CAMERAS`] are left out;
    /// [`RigCamera::vignette`] returns theirs.
    #[must_use]
    pub fn of_rig(rig: &Rig) -> Self {
        Self::of(rig.cameras.iter().map(RigCamera::vignette).collect::<Vec<_>>())
    }
}

impl<T: Copy + Default> PerCamera<T> {
    /// Returns the given values, one for each camera from the first on. All further cameras get the default. Values
    /// beyond [`MAX_CAMERAS`] are ignored.
    #[must_use]
    pub fn of(values: impl AsRef<[T]>) -> Self {
        let mut all = Self::default();
        for (to, from) in all.0.iter_mut().zip(values.as_ref()) {
            *to = *from;
        }
        all
    }
}

impl<T> PerCamera<T> {
    /// Yields the values of all [`MAX_CAMERAS`] cameras.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter()
    }
}

impl<T: Copy + Default> Default for PerCamera<T> {
    fn default() -> Self {
        Self([T::default(); MAX_CAMERAS])
    }
}

impl<T> Index<usize> for PerCamera<T> {
    type Output = T;

    /// Returns the value of a camera.
    ///
    /// # Panics
    /// Panics if `camera` is not less than [`MAX_CAMERAS`].
    fn index(&self, camera: usize) -> &T {
        &self.0[camera]
    }
}

impl<T> IndexMut<usize> for PerCamera<T> {
    fn index_mut(&mut self, camera: usize) -> &mut T {
        &mut self.0[camera]
    }
}
