//! Options that `stitch`, `video` and `quality` share: gains, gammas, flip, edge boost, and `--lookup` from
//! [`lookup`](super::lookup).

use clap::ValueEnum;
use glam::Vec3;
use panoweave::ops::colour::Colour;
use panoweave::ops::stitch::{Colours, Lookup, Power, StitchOptions};

use crate::options::lookup::LookupOption;
use crate::options::values::{gain, gamma};

/// The clap IDs of the options for gains and gammas. None of them may be given together with `--match-colour`.
pub(crate) const COLOURS: [&str; 4] = ["gain_left", "gain_right", "gamma_left", "gamma_right"];

/// The options for gains, gammas, flip, edge boost and lookup.
#[derive(Debug, clap::Args)]
pub(crate) struct Stitching {
    /// Factor by which the levels of the left picture are multiplied: one number from 0 to 1000, or three such numbers
    /// for red, green and blue.
    #[arg(long, value_name = "R,G,B", value_parser = gain, default_value = "1")]
    gain_left: Vec3,
    /// Factor by which the levels of the right picture are multiplied: one number from 0 to 1000, or three such numbers
    /// for red, green and blue.
    #[arg(long, value_name = "R,G,B", value_parser = gain, default_value = "1")]
    gain_right: Vec3,
    /// Gamma of the left picture: the exponent applied to its levels, which are scaled to 0 to 1, after --gain-left. A
    /// value below 1 brightens the picture, a value above 1 darkens it. Greater than 0 and at most 100.
    #[arg(long, value_name = "G", value_parser = gamma, default_value = "1")]
    gamma_left: f32,
    /// Gamma of the right picture: the exponent applied to its levels, which are scaled to 0 to 1, after --gain-right.
    /// A value below 1 brightens the picture, a value above 1 darkens it. Greater than 0 and at most 100.
    #[arg(long, value_name = "G", value_parser = gamma, default_value = "1")]
    gamma_right: f32,
    /// Method to compute the powers for a gamma other than 1. `exact` is the reference. The result of `fast` differs
    /// from `exact` by at most one of 256 levels. `table` interpolates in a table. For gains up to 2 and gammas from
    /// 0.8 to 1.2, this adds an error of at most 0.6 levels to the result of `exact`.
    #[arg(long, value_enum, default_value = "fast")]
    power: PowerChoice,
    /// Rotates the panorama by 180°.
    #[arg(long)]
    flip: bool,
    /// Brightens the leftmost tenth and the rightmost tenth of the panorama. The factor grows to 1.35 at the left and
    /// right edges.
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
    /// Returns whether the gains and gammas of both pictures are all 1, so that the stitch does not change colours.
    pub(crate) fn leaves_colours(&self) -> bool {
        self.options(Lookup::default()).colours == Colours::IDENTITY
    }

    /// Returns whether `--lookup` is given.
    pub(crate) fn says_lookup(&self) -> bool {
        self.lookup.is_given()
    }

    /// Returns whether `--flip` is given, which rotates the panorama by 180°.
    pub(crate) fn flips(&self) -> bool {
        self.flip
    }

    /// Returns the stitch options that the command line selects. `lookup` is the default for `--lookup`.
    pub(crate) fn options(&self, lookup: Lookup) -> StitchOptions {
        StitchOptions {
            colours: Colours::of([
                Colour { gain: self.gain_left, gamma: self.gamma_left },
                Colour { gain: self.gain_right, gamma: self.gamma_right },
            ]),
            power: match self.power {
                PowerChoice::Exact => Power::Exact,
                PowerChoice::Fast => Power::Fast,
                PowerChoice::Table => Power::Table,
            },
            flip: self.flip,
            edge_boost: self.edge_boost,
            lookup: self.lookup.or(lookup),
            ..StitchOptions::default()
        }
    }
}
