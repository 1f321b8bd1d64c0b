//! The option `--lookup`: how a stitch finds source coordinates and reads pixels.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use panoweave::ops::stitch::Lookup;

/// The option `--lookup`.
#[derive(Debug, clap::Args)]
pub(crate) struct LookupOption {
    /// How source coordinates and pixels are read. `mesh`: coordinates from a compact mesh, within 1/32 pixel.
    /// `planes`: exact coordinates from the warp's planes. `textured-planes`: the same result, with the planes read
    /// through the texture unit. `hardware-bilinear`: exact coordinates, pixels interpolated by the texture unit.
    /// Default: mesh for videos, planes for pictures.
    #[arg(long, value_name = "HOW", value_parser = by_name())]
    lookup: Option<Lookup>,
}

impl LookupOption {
    /// Returns whether the option is given.
    pub(crate) fn is_given(&self) -> bool {
        self.lookup.is_some()
    }

    /// Returns the given lookup, or else `default`.
    pub(crate) fn or(&self, default: Lookup) -> Lookup {
        self.lookup.unwrap_or(default)
    }
}

/// Parses the name of a lookup.
fn by_name() -> impl TypedValueParser<Value = Lookup> {
    let named = |name: String| Lookup::ALL.into_iter().find(|lookup| lookup.name() == name);
    PossibleValuesParser::new(Lookup::ALL.map(Lookup::name))
        .try_map(move |name| named(name).ok_or("no such lookup"))
}
