//! Formats colour corrections as text and as JSON.

use panoweave::ops::colour::Colour;
use panoweave::ops::photometry::{Photometry, Vignette};
use panoweave::warp::MAX_CAMERAS;
use serde_json::{Value, json};

/// Returns the vignetting of each picture as in a rig, and the coefficients of the response, as JSON.
pub(crate) fn photometry(Photometry { vignetting, response, .. }: &Photometry) -> Value {
    json!({ "vignetting": vignetting, "response": [response.a, response.b] })
}

/// Returns a camera's gains and gamma as JSON. The numbers can be passed to `--gain` and `--gamma`.
pub(crate) fn describe(Colour { gain, gamma, .. }: &Colour) -> Value {
    json!({ "gain": gain.to_array(), "gamma": gamma })
}

/// Formats the colour corrections as one line with the command line options for the nearest correction, such as
/// `--gain-left` or, for more than two pictures, `--gain`. It omits vignetting and the response. For more pictures than
/// these options support, the line contains only the gains.
pub(crate) fn text(colours: &[Colour]) -> String {
    let gain = |Colour { gain, .. }: &Colour| gain.to_array().map(|g| format!("{g:.3}")).join(",");
    let keep = if colours.iter().any(|of| of.has_shoulder(&Vignette::NONE)) {
        " --keep-highlights"
    } else {
        ""
    };
    if let [left, right] = colours {
        return format!(
            "colours: --gain-left {} --gain-right {} --gamma-left {:.3} --gamma-right {:.3}{keep}\n",
            gain(left),
            gain(right),
            left.gamma,
            right.gamma
        );
    }
    if colours.len() <= MAX_CAMERAS {
        let mut options: Vec<_> = colours.iter().map(|of| format!("--gain {}", gain(of))).collect();
        if colours.iter().any(|of| of.gamma != 1.0) {
            options.extend(colours.iter().map(|of| format!("--gamma {:.3}", of.gamma)));
        }
        return format!("colours: {}{keep}\n", options.join(" "));
    }
    format!("colours: gains {}\n", colours.iter().map(gain).collect::<Vec<_>>().join(" and "))
}
