//! Options that `stitch`, `video` and `quality` share: gains, gammas, flip, edge boost and lookup.

use glam::Vec3;
use panoweave::ops::colour::Colour;
use panoweave::ops::stitch::{Colours, Lookup, StitchOptions};
use panoweave::warp::MAX_CAMERAS;

use crate::options::values::{by_name, camera_number, gain, gamma};
use crate::output::failure::Failure;

/// The options for gains, gammas, flip, edge boost and lookup.
#[derive(Debug, clap::Args)]
pub(crate) struct Stitching {
    /// Factor by which the levels of a picture are multiplied: one number from 0 to 1000, or three such numbers for
    /// red, green and blue. Repeat the option once per camera, in the order of the cameras. Default: 1.
    #[arg(long, value_name = "R,G,B", value_parser = gain)]
    gain: Vec<Vec3>,
    /// Gamma of a picture: the exponent applied to its levels, which are scaled to 0 to 1, after the gain. A value
    /// below 1 brightens the picture, a value above 1 darkens it. Greater than 0 and at most 100. Repeat the option
    /// once per camera, in the order of the cameras. Default: 1.
    #[arg(long, value_name = "G", value_parser = gamma)]
    gamma: Vec<f32>,
    /// Keeps highlights where a gain is not 1, given by --gain or found by colour matching. A gain above 1 compresses
    /// the levels above 90 % of white instead of clipping those above white, so that bright skies keep their hue and
    /// texture. With a gain below 1, pixels that are nearly white in all channels stay white. Not with the lookup
    /// `mesh`. Matching the colours of still pictures keeps highlights without this option.
    #[arg(long)]
    keep_highlights: bool,
    /// Number of the camera, from 1, that keeps its exposure and white balance when colours are matched. The other
    /// cameras are matched to it. Default: all cameras share the changes.
    #[arg(long, value_name = "N", value_parser = camera_number)]
    anchor: Option<usize>,
    /// Rotates the panorama by 180°.
    #[arg(long)]
    flip: bool,
    /// Brightens the leftmost tenth and the rightmost tenth of the panorama. The factor grows to 1.35 at the left and
    /// right edges.
    #[arg(long)]
    edge_boost: bool,
    /// Method to find the source coordinates of each panorama pixel, to sample the pictures there and to compute
    /// gammas. `auto`: `mesh` for videos where it supports them, otherwise `planes` with fast powers. `mesh`: coordinates
    /// from a compact mesh, with an error of at most 1/32 pixel, and fast powers; fastest on GPUs. `planes`: exact
    /// coordinates from the warp's planes, and exact powers. `cubic`: the same with a cubic filter, which gives sharper
    /// panoramas; slowest. `textured-planes`, `hardware-bilinear` and `gamma-table`: variants of `planes` for two RGBA
    /// pictures, for comparison. Default: auto for videos, cubic for `stitch`, planes for pictures in `quality`.
    #[arg(long, value_name = "HOW", value_parser = by_name(Lookup::ALL.map(|it| (it.name(), it))))]
    lookup: Option<Lookup>,
}

impl Stitching {
    /// Checks that gains and gammas are given once per camera, if at all. Call this before the pictures are opened.
    pub(crate) fn check(&self, cameras: usize) -> Result<(), Failure> {
        for (option, found) in [("--gain", self.gain.len()), ("--gamma", self.gamma.len())] {
            if found > 0 && found != cameras {
                let s = if found == 1 { "" } else { "s" };
                return Err(Failure::usage(format!(
                    "{option}: given {found} time{s} for {cameras} cameras; give the option once per camera, in the order of the cameras"
                )));
            }
        }
        if let Some(anchor) = self.anchor.filter(|anchor| *anchor > cameras) {
            return Err(Failure::usage(format!(
                "--anchor {anchor}: there are only {cameras} cameras; give a number from 1 to {cameras}"
            )));
        }
        if cameras > MAX_CAMERAS && !(self.gain.is_empty() && self.gamma.is_empty()) {
            return Err(Failure::usage(
                "--gain and --gamma support at most 16 cameras; remove them, or use --match-colour instead",
            ));
        }
        Ok(())
    }

    /// Returns the colour correction of each camera.
    fn colours(&self) -> Colours {
        let colour = |camera: usize| Colour {
            gain: self.gain.get(camera).copied().unwrap_or(Vec3::ONE),
            gamma: self.gamma.get(camera).copied().unwrap_or(1.0),
            ..Colour::IDENTITY
        };
        let colours = Colours::of((0..MAX_CAMERAS).map(colour).collect::<Vec<_>>());
        if self.keep_highlights { colours.with_shoulders() } else { colours }
    }

    /// Returns whether the gains and gammas of all pictures are 1, so that the stitch does not change colours.
    pub(crate) fn leaves_colours(&self) -> bool {
        self.colours() == Colours::IDENTITY
    }

    /// Returns the index of the camera that keeps its colours. Fails if one is given although colours are not
    /// `matched`.
    pub(crate) fn anchor(&self, matched: bool) -> Result<Option<usize>, Failure> {
        if self.anchor.is_some() && !matched {
            return Err(Failure::usage(
                "--anchor is for matched colours, but colours are not matched here; remove --anchor",
            ));
        }
        Ok(self.anchor.map(|number| number - 1))
    }

    /// Returns whether `--keep-highlights` is given.
    pub(crate) fn keeps_highlights(&self) -> bool {
        self.keep_highlights
    }

    /// Returns whether `--lookup` is given.
    pub(crate) fn says_lookup(&self) -> bool {
        self.lookup.is_some()
    }

    /// Returns whether `--flip` is given, which rotates the panorama by 180°.
    pub(crate) fn flips(&self) -> bool {
        self.flip
    }

    /// Returns the stitch options that the command line selects. `lookup` is the default for `--lookup`.
    pub(crate) fn options(&self, lookup: Lookup) -> StitchOptions {
        StitchOptions {
            colours: self.colours(),
            flip: self.flip,
            edge_boost: self.edge_boost,
            lookup: self.lookup.unwrap_or(lookup),
            ..StitchOptions::default()
        }
    }
}
