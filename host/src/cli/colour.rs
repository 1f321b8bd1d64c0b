//! How colours were corrected, for readers and for scripts.

use panoweave::colour::Colours;
use serde_json::{Value, json};
use shared_types::stitch::Colour;

/// As JSON: gains and gamma of either camera, as the options take them.
pub(super) fn describe(Colours { left, right }: &Colours) -> Value {
    let colour =
        |Colour { gain, gamma }: &Colour| json!({ "gain": gain.to_array(), "gamma": gamma });
    json!({ "left": colour(left), "right": colour(right) })
}

/// As the options that would do the same, in a line.
pub(super) fn text(Colours { left, right }: &Colours) -> String {
    let gain =
        |Colour { gain, .. }: &Colour| gain.to_array().map(|gain| format!("{gain:.3}")).join(",");
    format!(
        "colours: --gain-left {} --gain-right {} --gamma-left {:.3} --gamma-right {:.3}\n",
        gain(left),
        gain(right),
        left.gamma,
        right.gamma
    )
}
