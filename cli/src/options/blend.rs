//! The options `--blend` and `--feather`: blending where the pictures overlap.

use clap::ValueEnum;
use panoweave::ops::seam::{Blend, SeamOptions};

use crate::options::values::feather;
use crate::output::failure::Failure;

/// The options `--blend` and `--feather`.
#[derive(Debug, clap::Args)]
pub(crate) struct Blending {
    /// Blending where the pictures overlap. `feather` fades from one camera to the other across the whole overlap.
    /// `seam` switches cameras along a line on which the pictures agree, so that near or moving objects appear only
    /// once. Default: seam for `stitch`, otherwise feather.
    #[arg(long, value_enum)]
    blend: Option<Choice>,
    /// Width in panorama pixels, from 1 to 1000, of the fade from one camera to the other across a seam. Default: 16.
    /// Not allowed with `--blend feather`.
    #[arg(long, value_name = "PIXELS", value_parser = feather, allow_negative_numbers = true)]
    feather: Option<f32>,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Choice {
    Feather,
    Seam,
}

impl Blending {
    /// Returns whether neither `--blend` nor `--feather` is given.
    pub(crate) fn is_default(&self) -> bool {
        self.blend.is_none() && self.feather.is_none()
    }

    /// Returns the blending that the options select, or `otherwise` if `--blend` is not given. Fails if `--feather` is
    /// given but the result is not a seam.
    pub(crate) fn blend(&self, otherwise: Blend) -> Result<Blend, Failure> {
        let blend = match self.blend {
            Some(Choice::Feather) => Blend::Feather,
            Some(Choice::Seam) => Blend::Seam(SeamOptions::default()),
            None => otherwise,
        };
        match (blend, self.feather) {
            (blend, None) => Ok(blend),
            (Blend::Seam(_), Some(feather)) => Ok(Blend::Seam(SeamOptions { feather })),
            (Blend::Feather, Some(_)) => Err(Failure::Usage(
                "--feather sets the width of a seam and requires one; give --blend seam too",
            )),
        }
    }
}
