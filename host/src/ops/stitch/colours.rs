//! The colour corrections of all cameras. The type is `Copy`, so that options and results that contain it are, too.

use std::ops::{Index, IndexMut};

use shared_types::stitch::{Colour, MAX_CAMERAS};

/// The colour correction of each camera, in the order of the cameras. Cameras that do not exist have the identity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Colours([Colour; MAX_CAMERAS]);

impl Colours {
    /// The corrections that leave all pictures unchanged.
    pub const IDENTITY: Self = Self([Colour::IDENTITY; MAX_CAMERAS]);

    /// Returns the given corrections, one for each camera from the first on. All further cameras get the identity.
    /// Corrections beyond [`MAX_CAMERAS`] are ignored.
    #[must_use]
    pub fn of(colours: impl AsRef<[Colour]>) -> Self {
        let mut all = Self::IDENTITY;
        for (to, from) in all.0.iter_mut().zip(colours.as_ref()) {
            *to = *from;
        }
        all
    }

    /// Yields the corrections of all [`MAX_CAMERAS`] cameras.
    pub fn iter(&self) -> impl Iterator<Item = &Colour> {
        self.0.iter()
    }
}

impl Default for Colours {
    fn default() -> Self {
        Self::IDENTITY
    }
}

impl Index<usize> for Colours {
    type Output = Colour;

    /// Returns the correction of a camera.
    ///
    /// # Panics
    /// Panics if `camera` is not less than [`MAX_CAMERAS`].
    fn index(&self, camera: usize) -> &Colour {
        &self.0[camera]
    }
}

impl IndexMut<usize> for Colours {
    fn index_mut(&mut self, camera: usize) -> &mut Colour {
        &mut self.0[camera]
    }
}
