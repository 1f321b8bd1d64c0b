//! The option `--lookup`: the method by which a stitch finds the source coordinates of a panorama pixel and samples the
//! pictures there.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use panoweave::ops::stitch::Lookup;

/// The option `--lookup`.
#[derive(Debug, clap::Args)]
pub(crate) struct LookupOption {
    /// Method to find the source coordinates of each panorama pixel, to sample the pictures there and to compute
    /// gammas. `mesh`: coordinates from a compact mesh, with an error of at most 1/32 pixel, and fast powers; fastest on
    /// GPUs. `planes`: exact coordinates from the warp's planes, and exact powers. `cubic`: the same with a cubic filter,
    /// which gives sharper panoramas; slowest. `textured-planes`, `hardware-bilinear` and `gamma-table`: variants of
    /// `planes` for two RGBA pictures, for comparison. Default: mesh for videos, cubic for `stitch`, planes for
    /// `quality`.
    #[arg(long, value_name = "HOW", value_parser = by_name())]
    lookup: Option<Lookup>,
}

impl LookupOption {
    /// Returns whether the option is given.
    pub(crate) fn is_given(&self) -> bool {
        self.lookup.is_some()
    }

    /// Returns the lookup that `--lookup` selects, or `default` if `--lookup` is not given.
    pub(crate) fn or(&self, default: Lookup) -> Lookup {
        self.lookup.unwrap_or(default)
    }
}

/// Returns a clap parser that converts the name of a lookup, such as `mesh`, to a [`Lookup`].
fn by_name() -> impl TypedValueParser<Value = Lookup> {
    let named = |name: String| Lookup::ALL.into_iter().find(|lookup| lookup.name() == name);
    PossibleValuesParser::new(Lookup::ALL.map(Lookup::name)).try_map(move |name| {
        named(name).ok_or("unknown lookup; see --help for the possible values")
    })
}
