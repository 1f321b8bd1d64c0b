//! How colours were corrected, for readers and for scripts.

use panoweave::ops::colour::Colour;
use serde_json::{Value, json};

/// As JSON: gains and gamma, as the options take them.
pub(crate) fn describe(Colour { gain, gamma }: &Colour) -> Value {
    json!({ "gain": gain.to_array(), "gamma": gamma })
}

/// In a line: of two pictures as the options that would do the same.
pub(crate) fn text(colours: &[Colour]) -> String {
    let gain = |Colour { gain, .. }: &Colour| gain.to_array().map(|g| format!("{g:.3}")).join(",");
    if let [left, right] = colours {
        return format!(
            "colours: --gain-left {} --gain-right {} --gamma-left {:.3} --gamma-right {:.3}\n",
            gain(left),
            gain(right),
            left.gamma,
            right.gamma
        );
    }
    format!("colours: gains {}\n", colours.iter().map(gain).collect::<Vec<_>>().join(" and "))
}
