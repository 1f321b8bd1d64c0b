//! The option `--refine`: moves pictures in their overlaps so that near objects fit together.

use std::ffi::OsString;
use std::path::Path;

use panoweave::ops::refine::RefineOptions;

use crate::options::values::displacement;
use crate::output::failure::Failure;

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
        value_parser = displacement
    )]
    refine: Option<Option<f32>>,
}

impl Refining {
    /// Returns the options of the refinement, or `None` if the option is not given.
    pub(crate) fn options(&self) -> Option<RefineOptions> {
        let options = |limit: Option<f32>| match limit {
            Some(limit) => RefineOptions { limit },
            None => RefineOptions::default(),
        };
        self.refine.map(options)
    }
}

/// Rejects `--refine 24`: the option takes its value after an equals sign, so the number would be an input file. Call
/// this before the arguments are parsed, because clap reports only that files are missing.
pub(crate) fn check(arguments: &[OsString]) -> Result<(), Failure> {
    let options = arguments.iter().take_while(|argument| *argument != "--");
    let values = options.zip(arguments.iter().skip(1)).filter(|(option, _)| *option == "--refine");
    for value in values.filter_map(|(_, value)| value.to_str()) {
        if displacement(value).is_ok() && !Path::new(value).exists() {
            return Err(Failure::RefineValue { value: value.to_owned() });
        }
    }
    Ok(())
}
