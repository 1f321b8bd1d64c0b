//! The options that say how a panorama looks: colour, and which way up.

use clap::ValueEnum;
use glam::Vec3;
use panoweave::stitch::{Power, StitchOptions};
use shared_types::stitch::Colour;

use super::values::{gain, gamma};

/// Options that say a colour, by their names here.
pub(crate) const COLOURS: [&str; 4] = ["gain_left", "gain_right", "gamma_left", "gamma_right"];

/// Colour and turning.
#[derive(Debug, clap::Args)]
pub(crate) struct Look {
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
    /// How gamma is computed; the results differ by one level at most.
    #[arg(long, value_enum, default_value = "fast")]
    power: PowerChoice,
    /// Turns the panorama by 180°.
    #[arg(long)]
    flip: bool,
    /// Brightens both ends of the panorama.
    #[arg(long)]
    edge_boost: bool,
}

/// How gamma is computed.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum PowerChoice {
    Exact,
    Fast,
}

impl Look {
    /// Whether gains and gammas change nothing.
    pub(crate) fn leaves_colours(&self) -> bool {
        let StitchOptions { left, right, .. } = self.options();
        [left, right] == [Colour::IDENTITY; 2]
    }

    pub(crate) fn options(&self) -> StitchOptions {
        StitchOptions {
            left: Colour { gain: self.gain_left, gamma: self.gamma_left },
            right: Colour { gain: self.gain_right, gamma: self.gamma_right },
            power: match self.power {
                PowerChoice::Exact => Power::Exact,
                PowerChoice::Fast => Power::Fast,
            },
            flip: self.flip,
            edge_boost: self.edge_boost,
        }
    }
}
