//! Options that `stitch`, `video` and `quality` share: gains, gammas, flip, edge boost, and `--lookup` from
//! [`lookup`](super::lookup).

use clap::ValueEnum;
use glam::Vec3;
use panoweave::ops::colour::Colour;
use panoweave::ops::stitch::{Lookup, Power, StitchOptions};

use crate::options::lookup::LookupOption;
use crate::options::values::{gain, gamma};

/// The clap IDs of the options for gains and gammas, with which `--match-colour` conflicts.
pub(crate) const COLOURS: [&str; 4] = ["gain_left", "gain_right", "gamma_left", "gamma_right"];

/// The options for gains, gammas, flip, edge boost and lookup.
#[derive(Debug, clap::Args)]
pub(crate) struct Stitching {
    /// Factor by which the levels of the left picture are multiplied: one number from 0 to 1000, or three for red,
    /// green and blue.
    #[arg(long, value_name = "R,G,B", value_parser = gain, default_value = "1")]
    gain_left: Vec3,
    /// Factor by which the levels of the right picture are multiplied: one number from 0 to 1000, or three for red,
    /// green and blue.
    #[arg(long, value_name = "R,G,B", value_parser = gain, default_value = "1")]
    gain_right: Vec3,
    /// Exponent applied to the levels of the left picture, scaled to 0 to 1, after its gain. A gamma below 1 brightens,
    /// above 1 darkens. It must be greater than 0 and at most 100.
    #[arg(long, value_name = "G", value_parser = gamma, default_value = "1")]
    gamma_left: f32,
    /// Exponent applied to the levels of the right picture, scaled to 0 to 1, after its gain. A gamma below 1
    /// brightens, above 1 darkens. It must be greater than 0 and at most 100.
    #[arg(long, value_name = "G", value_parser = gamma, default_value = "1")]
    gamma_right: f32,
    /// Method to compute a gamma other than 1. `exact` is the reference. `fast` differs from it by at most one of 256
    /// levels. `table` interpolates a table and adds an error of at most 0.6 levels for gains up to 2 and gammas from
    /// 0.8 to 1.2.
    #[arg(long, value_enum, default_value = "fast")]
    power: PowerChoice,
    /// Rotates the panorama by 180°.
    #[arg(long)]
    flip: bool,
    /// Brightens the leftmost and the rightmost tenth of the panorama, gradually up to a factor of 1.35 at both ends.
    #[arg(long)]
    edge_boost: bool,
    #[command(flatten)]
    lookup: LookupOption,
}

/// The values of `--power`.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum PowerChoice {
    Exact,
    Fast,
    Table,
}

impl Stitching {
    /// Returns whether gains and gammas are all 1.
    pub(crate) fn leaves_colours(&self) -> bool {
        let StitchOptions { left, right, .. } = self.options(Lookup::default());
        [left, right] == [Colour::IDENTITY; 2]
    }

    /// Returns whether `--lookup` is given.
    pub(crate) fn says_lookup(&self) -> bool {
        self.lookup.is_given()
    }

    /// Returns whether `--flip` is given, which rotates the panorama by 180°.
    pub(crate) fn flips(&self) -> bool {
        self.flip
    }

    /// Returns the stitch options. `lookup` applies if `--lookup` is not given.
    pub(crate) fn options(&self, lookup: Lookup) -> StitchOptions {
        StitchOptions {
            left: Colour { gain: self.gain_left, gamma: self.gamma_left },
            right: Colour { gain: self.gain_right, gamma: self.gamma_right },
            power: match self.power {
                PowerChoice::Exact => Power::Exact,
                PowerChoice::Fast => Power::Fast,
                PowerChoice::Table => Power::Table,
            },
            flip: self.flip,
            edge_boost: self.edge_boost,
            lookup: self.lookup.or(lookup),
        }
    }
}
