//! Options of a stitch: colour, flip and, from [`lookup`](super::lookup), `--lookup`.

use clap::ValueEnum;
use glam::Vec3;
use panoweave::ops::colour::Colour;
use panoweave::ops::stitch::{Lookup, Power, StitchOptions};

use crate::options::lookup::LookupOption;
use crate::options::values::{gain, gamma};

/// The clap IDs of the options that set gains and gammas.
pub(crate) const COLOURS: [&str; 4] = ["gain_left", "gain_right", "gamma_left", "gamma_right"];

/// The options of a stitch.
#[derive(Debug, clap::Args)]
pub(crate) struct Stitching {
    /// Gain of the left picture: one number, or R,G,B.
    #[arg(long, value_name = "R,G,B", value_parser = gain, default_value = "1")]
    gain_left: Vec3,
    /// Gain of the right picture: one number, or R,G,B.
    #[arg(long, value_name = "R,G,B", value_parser = gain, default_value = "1")]
    gain_right: Vec3,
    /// Gamma of the left picture; below 1 brightens.
    #[arg(long, value_name = "G", value_parser = gamma, default_value = "1")]
    gamma_left: f32,
    /// Gamma of the right picture; below 1 brightens.
    #[arg(long, value_name = "G", value_parser = gamma, default_value = "1")]
    gamma_right: f32,
    /// Gamma method: `fast` differs from `exact` by at most one level; `table` interpolates a table, within
    /// 0.6 level for gains up to 2 and gammas from 0.8 to 1.2.
    #[arg(long, value_enum, default_value = "fast")]
    power: PowerChoice,
    /// Rotates the panorama by 180°.
    #[arg(long)]
    flip: bool,
    /// Brightens both ends of the panorama.
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

    /// Returns whether the panorama is rotated.
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
