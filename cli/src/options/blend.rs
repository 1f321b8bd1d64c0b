//! Options of blending in the overlap.

use clap::ValueEnum;
use panoweave::ops::seam::{Blend, SeamOptions};

use crate::options::values::feather;
use crate::output::failure::Failure;

/// How the pictures are blended in the overlap.
#[derive(Debug, clap::Args)]
pub(crate) struct Blending {
    /// Blending in the overlap. `feather` fades from one camera to the other across the whole overlap. `seam` follows
    /// a line along which the pictures agree, so that near or moving objects appear once. Default: feather, or seam if
    /// the same command calibrates the pictures.
    #[arg(long, value_enum)]
    blend: Option<Choice>,
    /// Width in pixels over which a seam fades from one camera to the other; default 16.
    #[arg(long, value_name = "PIXELS", value_parser = feather, allow_negative_numbers = true)]
    feather: Option<f32>,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Choice {
    Feather,
    Seam,
}

impl Blending {
    /// Returns whether no option is given.
    pub(crate) fn is_default(&self) -> bool {
        self.blend.is_none() && self.feather.is_none()
    }

    /// Returns the selected blending, or `otherwise` if none is given.
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
