//! The options that say how the overlap is shown.

use clap::ValueEnum;
use panoweave::seam::{Blend, SeamOptions};

use super::failure::Failure;
use super::values::feather;

/// Feathering or a seam.
#[derive(Debug, clap::Args)]
pub(crate) struct Blending {
    /// How the overlap is shown: both cameras blended from edge to edge, or divided along a line where
    /// they agree, so that nothing near or moving is seen twice.
    #[arg(long, value_enum, default_value = "feather")]
    blend: Choice,
    /// Width in pixels over which a seam fades from one camera to the other; 16 if not given.
    #[arg(long, value_name = "PIXELS", value_parser = feather)]
    feather: Option<f32>,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Choice {
    Feather,
    Seam,
}

impl Blending {
    /// What the options ask for.
    pub(crate) fn blend(&self) -> Result<Blend, Failure> {
        match (self.blend, self.feather) {
            (Choice::Feather, None) => Ok(Blend::Feather),
            (Choice::Feather, Some(_)) => {
                Err(Failure::Usage("--feather is the width of a seam; give --blend seam too"))
            }
            (Choice::Seam, None) => Ok(Blend::Seam(SeamOptions::default())),
            (Choice::Seam, Some(feather)) => Ok(Blend::Seam(SeamOptions { feather })),
        }
    }
}
