//! The cameras of a stitch with a mesh: selects the picture of a layer, and samples it.
//!
//! There are two forms. A texture that is selected at run time must be selected by a value in a uniform register, or
//! it is read in a loop over the lanes of the warp. For up to 16 cameras, the pictures are in a [`Table`], and
//! [`warp::warp_uniform`] makes the camera's index uniform. For two cameras, the pictures are separate arguments, and
//! each one has its own branch. For two 4K cameras on an H100, that saves 0.3 % of the time in RGBA and 3.5 % in NV12,
//! because the samples do not wait for the reduction and for the entry of the table.

use crate::colour::vignette::factor;
use crate::stitch::mesh::texture::{TextureSampler, fetch_ahead};
use crate::stitch::mesh::{Colours, RUNS};
use crate::unroll::unroll;
use cuda_std::prelude::*;
use glam::{Vec2, Vec3};
use shared_types::stitch::MAX_CAMERAS;
use shared_types::stitch::mesh::{Grading, Patch, TwoGradings};

/// The pictures of all cameras, and their conversions to colours.
pub(super) trait CameraArgs {
    type Picture: TextureSampler;

    /// Whether all lanes of a warp must sample, even lanes whose pixels are outside the panorama.
    const ALL_LANES: bool;

    /// Samples a camera's picture at the texture coordinates `places`. Returns black for
    /// [`NO_CAMERA`](shared_types::stitch::mesh::NO_CAMERA). If `cell` is 2, each group of four pixels shares a chroma
    /// sample. If `ahead` contains the tile's patch, also prefetches for a later tile ([`fetch_ahead`]).
    ///
    /// # Safety
    /// All lanes of the warp must make the call with the same `camera`, or, unless [`ALL_LANES`](Self::ALL_LANES), all
    /// lanes with pixels.
    unsafe fn sample(
        &self,
        camera: u16,
        places: [[Vec2; 4]; RUNS],
        cell: u32,
        ahead: Option<&Patch>,
    ) -> Colours;
}

/// Two cameras, whose pictures are separate arguments of the kernel.
pub(super) struct TwoCameras<P> {
    pub(super) first: P,
    pub(super) second: P,
    pub(super) gradings: TwoGradings,
}

impl<P: TextureSampler> CameraArgs for TwoCameras<P> {
    type Picture = P;

    const ALL_LANES: bool = false;

    #[device]
    unsafe fn sample(
        &self,
        camera: u16,
        places: [[Vec2; 4]; RUNS],
        cell: u32,
        ahead: Option<&Patch>,
    ) -> Colours {
        // The branches are uniform. They test one bit at a time, because a switch would be a jump table.
        if camera & 2 != 0 {
            [[Vec3::ZERO; 4]; RUNS]
        } else if camera & 1 == 0 {
            sample_picture(self.first, places, &self.gradings.first, cell, ahead)
        } else {
            sample_picture(self.second, places, &self.gradings.second, cell, ahead)
        }
    }
}

/// Up to [`MAX_CAMERAS`] cameras. `gradings` must have an entry for each of the `pictures`.
pub(super) struct ManyCameras<P: TextureSampler> {
    pub(super) pictures: Table<P, MAX_CAMERAS>,
    pub(super) gradings: Table<Grading, MAX_CAMERAS>,
}

impl<P: TextureSampler> CameraArgs for ManyCameras<P> {
    type Picture = P;

    const ALL_LANES: bool = true;

    #[device]
    unsafe fn sample(
        &self,
        camera: u16,
        places: [[Vec2; 4]; RUNS],
        cell: u32,
        ahead: Option<&Patch>,
    ) -> Colours {
        // SAFETY: the caller guarantees that all lanes make the call with the same value.
        let camera = unsafe { warp::warp_uniform(camera.into()) };
        if camera >= self.pictures.len() {
            return [[Vec3::ZERO; 4]; RUNS];
        }
        // SAFETY: the picture exists, as just checked, and has an entry in `gradings`.
        let (picture, grading) =
            unsafe { (self.pictures.get_unchecked(camera), self.gradings.get_unchecked(camera)) };
        sample_picture(picture, places, &grading, cell, ahead)
    }
}

/// Samples a picture at texture coordinates `places`. All samples are in flight before the first one is used.
#[device]
fn sample_picture<P: TextureSampler>(
    picture: P,
    places: [[Vec2; 4]; RUNS],
    grading: &Grading,
    cell: u32,
    ahead: Option<&Patch>,
) -> Colours {
    let mut factors = [1.0; RUNS];
    // This branch is uniform.
    if grading.vignette.per_corner > 0.0 {
        // The factor is smooth, so four adjacent pixels share it.
        unroll!(RUNS, |run| {
            let middle = (places[run][0] + places[run][3]) * 0.5;
            factors[run] = factor(&grading.vignette, middle);
        });
    }
    // The array needs initial values. Fill it with the first four samples, which are needed in any case.
    let mut samples = [picture.take(&places[0], cell); RUNS];
    unroll!(RUNS, |run| {
        if run > 0 {
            samples[run] = picture.take(&places[run], cell);
        }
    });
    if let Some(patch) = ahead {
        fetch_ahead(picture, patch);
    }
    let mut colours = [[Vec3::ZERO; 4]; RUNS];
    unroll!(RUNS, |run| colours[run] = picture.colours(samples[run], factors[run], grading));
    colours
}
