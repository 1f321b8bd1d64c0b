//! The options that say how the overlap is shown.

use clap::ValueEnum;
use panoweave::ops::seam::{Blend, SeamOptions};

use crate::options::values::feather;
use crate::output::failure::Failure;

/// Feathering or a seam.
#[derive(Debug, clap::Args)]
pub(crate) struct Blending {
    /// How the overlap is shown: both cameras blended from edge to edge, or divided along a line where
    /// they agree, so that nothing near or moving is seen twice. Feather if not given, but a seam where
    /// the pictures were calibrated just now.
    #[arg(long, value_enum)]
    blend: Option<Choice>,
    /// Width in pixels over which a seam fades from one camera to the other; 16 if not given.
    #[arg(long, value_name = "PIXELS", value_parser = feather, allow_negative_numbers = true)]
    feather: Option<f32>,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Choice {
    Feather,
    Seam,
}

impl Blending {
    /// Whether the options ask for nothing.
    pub(crate) fn is_default(&self) -> bool {
        self.blend.is_none() && self.feather.is_none()
    }

    /// What the options ask for, `otherwise` if they ask for nothing.
    pub(crate) fn blend(&self, otherwise: Blend) -> Result<Blend, Failure> {
        let blend = match self.blend {
            Some(Choice::Feather) => Blend::Feather,
            Some(Choice::Seam) => Blend::Seam(SeamOptions::default()),
            None => otherwise,
        };
        match (blend, self.feather) {
            (blend, None) => Ok(blend),
            (Blend::Seam(_), Some(feather)) => Ok(Blend::Seam(SeamOptions { feather })),
            (Blend::Feather, Some(_)) => {
                Err(Failure::Usage("--feather is the width of a seam; give --blend seam too"))
            }
        }
    }
}
