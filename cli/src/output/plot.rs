//! Plots values over time as SVG, with one panel per quantity. Each panel marks the minimum of its values. An infinite
//! value is drawn as a dot on the panel's upper edge.
//!
//! PNG is not supported, because drawing text needs fonts: an SVG viewer has fonts, but this program does not.

use std::path::Path;

use crate::output::failure::Failure;

const WIDTH: f64 = 960.0;
const LEFT: f64 = 72.0;
const RIGHT: f64 = WIDTH - 24.0;
const TOP: f64 = 48.0;
/// Height of a panel, in SVG pixels.
const PANEL: f64 = 200.0;
/// Gap below a panel, in SVG pixels.
const GAP: f64 = 36.0;

/// A panel of the plot: one curve of values over time.
pub(crate) struct Panel {
    /// The label of the vertical axis, which names the quantity and its unit.
    pub(crate) label: &'static str,
    /// The values, one for each of the `times` of [`svg`].
    pub(crate) values: Vec<f64>,
    /// Number of decimal places in labels.
    pub(crate) digits: usize,
    pub(crate) colour: &'static str,
}

/// Rejects file names that do not end in `.svg`.
pub(crate) fn check_name(file: &Path) -> Result<(), Failure> {
    let svg = file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("svg"));
    let expected = "the name of a plot must end in .svg; `ffmpeg -i plot.svg plot.png` or a browser can convert an SVG file to PNG";
    if svg { Ok(()) } else { Err(Failure::output(file, expected)) }
}

/// Returns the text of an SVG file with the panels from top to bottom. `times` are ascending times in seconds. Every
/// panel must have one value per time.
pub(crate) fn svg(title: &str, times: &[f64], panels: &[Panel]) -> String {
    let height = TOP + panels.len() as f64 * (PANEL + GAP);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         font-family=\"sans-serif\" font-size=\"13\" fill=\"#333\">\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fff\"/>\n{}",
        text(LEFT, 28.0, "start", &escaped(title))
    );
    for (i, panel) in panels.iter().enumerate() {
        out += &drawn(panel, times, TOP + i as f64 * (PANEL + GAP));
    }
    let ([first, last], y) = (range(times), height - 14.0);
    out += &text(LEFT, y, "start", &format!("{first:.2}"));
    out += &text((LEFT + RIGHT) / 2.0, y, "middle", "time in s");
    out += &text(RIGHT, y, "end", &format!("{last:.2}"));
    out + "</svg>\n"
}

fn text(x: f64, y: f64, anchor: &str, text: &str) -> String {
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>\n")
}

/// Returns the smallest and the largest finite value, or two values with a distance if these are equal.
fn range(values: &[f64]) -> [f64; 2] {
    let finite = values.iter().copied().filter(|value| value.is_finite());
    let low = finite.clone().fold(f64::INFINITY, f64::min);
    let high = finite.fold(f64::NEG_INFINITY, f64::max);
    match () {
        () if low < high => [low, high],
        () if low == high => [low - 1.0, high],
        () => [0.0, 1.0],
    }
}

fn drawn(Panel { label, values, digits, colour }: &Panel, times: &[f64], top: f64) -> String {
    let bottom = top + PANEL;
    let ([first, last], [low, high]) = (range(times), range(values));
    let column = |time: f64| LEFT + (RIGHT - LEFT) * (time - first) / (last - first);
    let row = |value: f64| bottom - PANEL * ((value - low) / (high - low)).min(1.0);
    let mut out =
        format!("<path d=\"M{LEFT} {top}V{bottom}H{RIGHT}\" stroke=\"#333\" fill=\"none\"/>\n");
    out += &text(LEFT - 8.0, top + 4.5, "end", &format!("{high:.digits$}"));
    out += &text(LEFT - 8.0, bottom + 4.5, "end", &format!("{low:.digits$}"));
    out += &text(LEFT + 8.0, top - 8.0, "start", label);
    let (mut path, mut joined) = (String::new(), false);
    for (time, value) in times.iter().zip(values) {
        let (x, y) = (column(*time), row(*value));
        if value.is_finite() {
            path += &format!("{}{x:.1} {y:.1}", if joined { 'L' } else { 'M' });
        } else {
            out += &format!("<circle cx=\"{x:.1}\" cy=\"{top}\" r=\"2\" fill=\"{colour}\"/>\n");
        }
        joined = value.is_finite();
    }
    out +=
        &format!("<path d=\"{path}\" stroke=\"{colour}\" stroke-width=\"1.5\" fill=\"none\"/>\n");
    let worst = (0..values.len()).min_by(|a, b| values[*a].total_cmp(&values[*b]));
    let Some(worst) = worst else { return out };
    let (x, y, value) = (column(times[worst]), row(values[worst]), values[worst]);
    out +=
        &format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4.5\" fill=\"none\" stroke=\"#c22\"/>\n");
    let lowest = format!("lowest: {value:.digits$} in frame {worst}");
    let lowest = if value.is_finite() { &lowest } else { "identical" };
    out + &text(RIGHT, top - 8.0, "end", lowest)
}

/// Escapes text for XML, which also forbids most control characters.
fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace(|c| c < ' ', "\u{fffd}")
}
