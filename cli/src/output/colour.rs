//! Formats colour corrections as text and as JSON.

use panoweave::ops::colour::Colour;
use serde_json::{Value, json};

/// Returns a camera's gains and gamma as JSON. The numbers can be passed to options such as `--gain-left` and
/// `--gamma-left`.
pub(crate) fn describe(Colour { gain, gamma }: &Colour) -> Value {
    json!({ "gain": gain.to_array(), "gamma": gamma })
}

/// Formats the colour corrections as one line. For two pictures, the line contains the command line options for the
/// same correction, such as `--gain-left`. For more pictures, it contains only the gains.
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
