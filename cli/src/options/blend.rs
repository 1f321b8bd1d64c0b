//! The options `--blend`, `--feather`, `--levels` and `--refine`: blending where the pictures overlap.

use panoweave::ops::blend::Blend;
use panoweave::ops::multiband::MAX_LEVELS;
use panoweave::ops::refine::RefineOptions;

use crate::options::values::{by_name, displacement, feather};
use crate::output::failure::Failure;

/// The options `--blend`, `--feather`, `--levels` and `--refine`.
#[derive(Debug, clap::Args)]
pub(crate) struct Blending {
    /// Blending where the pictures overlap. `feather` fades from one camera to the other across the whole overlap.
    /// `seam` switches cameras along a line on which the pictures agree, so that near or moving objects appear only
    /// once. `multiband` is a seam across which differences in brightness fade over a longer distance than fine detail.
    /// Default: seam for `stitch`, otherwise feather.
    #[arg(long, value_parser = by_name(Blend::ALL.map(|it| (it.name(), it))))]
    blend: Option<Blend>,
    /// Width in panorama pixels, from 1 to 1000, of the fade from one camera to the other across a seam. Default: 16,
    /// and 4 with `--blend multiband`. Not allowed with `--blend feather`.
    #[arg(long, value_name = "PIXELS", value_parser = feather, allow_negative_numbers = true)]
    feather: Option<f32>,
    /// Number of levels of multiband blending, from 1 to 6. With each level, differences fade over twice the distance.
    /// Default: 5. Only with `--blend multiband`.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MAX_LEVELS.into()))]
    levels: Option<u32>,
    /// Moves the pictures in their overlaps so that near objects fit together, by up to PIXELS panorama pixels against
    /// each other (1 to 256, default: 24). In videos, they follow the objects once per second, in small steps.
    #[arg(long, value_name = "PIXELS", num_args = 0..=1, require_equals = true, default_missing_value = "24", value_parser = displacement)]
    pub(crate) refine: Option<RefineOptions>,
}

impl Blending {
    /// Returns whether none of the options is given.
    pub(crate) fn is_default(&self) -> bool {
        self.blend.is_none()
            && self.feather.is_none()
            && self.levels.is_none()
            && self.refine.is_none()
    }

    /// Returns the blending that the options select, or `otherwise` if `--blend` is not given. Fails if `--feather` is
    /// given but the result has no seam, or if `--levels` is given without multiband blending.
    pub(crate) fn blend(&self, otherwise: Blend) -> Result<Blend, Failure> {
        let mut blend = self.blend.unwrap_or(otherwise);
        if let Some(width) = self.feather {
            *blend.feather_mut().ok_or(Failure::usage(
                "--feather sets the width of a seam and requires one; give --blend seam too",
            ))? = width;
        }
        if let Some(number) = self.levels {
            *blend.levels_mut().ok_or(Failure::usage(
                "--levels sets the levels of multiband blending; give --blend multiband too",
            ))? = number;
        }
        Ok(blend)
    }
}
