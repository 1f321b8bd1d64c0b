//! The option `--refine`: moves pictures in their overlaps so that near objects fit together.

use panoweave::ops::refine::RefineOptions;

use crate::options::values::displacement;

/// The option `--refine`.
#[derive(Debug, clap::Args)]
pub(crate) struct Refining {
    /// Moves the pictures in their overlaps so that near objects fit together, by up to PIXELS panorama pixels against
    /// each other (1 to 256, default: 24). In videos, they follow the objects once per second, in small steps.
    #[arg(
        long,
        value_name = "PIXELS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "24",
        value_parser = displacement
    )]
    pub(crate) refine: Option<RefineOptions>,
}
