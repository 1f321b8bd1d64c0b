//! Formats colour corrections as text and as JSON.

use panoweave::geometry::Vignetting;
use panoweave::ops::colour::Colour;
use panoweave::ops::photometry::{GainField, Photometry, Response, Vignette};
use panoweave::warp::MAX_CAMERAS;
use serde_json::{Value, json};

/// Returns a camera's gains and gamma as JSON. The numbers can be passed to `--gain` and `--gamma`.
pub(crate) fn describe(Colour { gain, gamma, .. }: &Colour) -> Value {
    json!({ "gain": gain.to_array(), "gamma": gamma })
}

/// Formats what a correction contains besides gains as one line, or returns `None` if it contains nothing else.
pub(crate) fn photometry(found: &Photometry) -> Option<String> {
    let percent = |part: f64| format!("{:.0} %", 100.0 * part);
    let mut parts = Vec::new();
    if found.vignetting.iter().any(|of| *of != Vignetting::NONE) {
        let corners: Vec<_> = found.vignetting.iter().map(|of| percent(of.light(1.0))).collect();
        parts.push(format!("vignetting: corners keep {} of the light", corners.join(", ")));
    }
    if found.response != Response::default() {
        parts.push(format!("response {:.2}, {:.2}", found.response.a, found.response.b));
    }
    let fields = found.fields.iter().filter(|field| !field.is_uniform()).map(GainField::limits);
    let limits = fields.reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])]);
    if let Some(limits) = limits {
        let [least, most] = limits;
        parts.push(format!("gain fields: factors of levels from {least:.2} to {most:.2}"));
    }
    (!parts.is_empty()).then(|| format!("also corrected: {}\n", parts.join("; ")))
}

/// Formats the colour corrections as one line. If `complete`, it contains the options `--gain` and `--gamma` for this
/// correction. Otherwise, or for more pictures than these options support, it contains only the gains.
pub(crate) fn text(colours: &[Colour], complete: bool) -> String {
    let gain = |Colour { gain, .. }: &Colour| gain.to_array().map(|g| format!("{g:.3}")).join(",");
    let keep = if colours.iter().any(|of| of.has_shoulder(&Vignette::NONE)) {
        " --keep-highlights"
    } else {
        ""
    };
    if !complete || colours.len() > MAX_CAMERAS {
        return format!(
            "colours: gains {}\n",
            colours.iter().map(gain).collect::<Vec<_>>().join(" and ")
        );
    }
    let mut options: Vec<_> = colours.iter().map(|of| format!("--gain {}", gain(of))).collect();
    if colours.iter().any(|of| of.gamma != 1.0) {
        options.extend(colours.iter().map(|of| format!("--gamma {:.3}", of.gamma)));
    }
    format!("colours: {}{keep}\n", options.join(" "))
}
