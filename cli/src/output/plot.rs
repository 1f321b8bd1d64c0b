//! Plots values over time as SVG. The plot has one panel per quantity. All panels share the time axis. Each panel marks
//! the minimum of its values. An infinite value is drawn as a dot on the panel's upper edge.
//!
//! PNG is not supported, because drawing text needs fonts: an SVG viewer has fonts, but this program does not.

use std::fmt::{self, Write as _};
use std::path::Path;

use crate::output::failure::Failure;

const WIDTH: f64 = 960.0;
/// Height of a panel, in SVG pixels.
const PANEL: f64 = 200.0;
/// Gap between two panels, in SVG pixels.
const GAP: f64 = 36.0;
const LEFT: f64 = 72.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 48.0;
const BOTTOM: f64 = 52.0;

/// Approximate maximum number of points of a curve. If there are more values, they are divided into groups of
/// consecutive values, and only the minimum and the maximum of each group are drawn.
const MAX_POINTS: usize = 2000;

/// A panel of the plot: one curve of values over time.
pub(crate) struct Panel {
    /// The label of the vertical axis, which names the quantity and its unit.
    pub(crate) label: &'static str,
    /// The values, one for each of the `times` of [`svg`].
    pub(crate) values: Vec<f64>,
    /// The largest possible value, at which the vertical axis ends. `None` if the values have no upper bound; the axis
    /// then ends above the largest finite value.
    pub(crate) most: Option<f64>,
    /// Number of decimal places in the label of the minimum.
    pub(crate) digits: usize,
    pub(crate) colour: &'static str,
}

/// Rejects file names that do not end in `.svg`.
pub(crate) fn check_name(file: &Path) -> Result<(), Failure> {
    let svg = file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("svg"));
    let expected = "the name of a plot must end in .svg; `ffmpeg -i plot.svg plot.png` or a browser can convert an SVG file to PNG";
    if svg { Ok(()) } else { Err(Failure::OutputName { file: file.to_owned(), expected }) }
}

/// Returns the text of an SVG file with the panels from top to bottom. `times` are ascending times in seconds. Every
/// panel must have one value per time.
pub(crate) fn svg(title: &str, times: &[f64], panels: &[Panel]) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = draw(&mut out, title, times, panels);
    out
}

/// An axis from `from` to `to`, with tick marks at multiples of `step`, which is a round number.
struct Axis {
    from: f64,
    to: f64,
    step: f64,
}

impl Axis {
    /// Creates an axis that covers the finite values and begins and ends at tick marks. If `most`, the largest possible
    /// value, is given, the axis covers the range up to `most`. `marks` is the approximate number of tick marks.
    fn around(values: impl Iterator<Item = f64> + Clone, most: Option<f64>, marks: f64) -> Self {
        let finite = values.filter(|value| value.is_finite());
        let low = finite.clone().fold(f64::INFINITY, f64::min);
        let high = most.unwrap_or_else(|| finite.fold(f64::NEG_INFINITY, f64::max));
        // If there are no finite values, the axis is from 0 to 1. If all values are nearly equal, extend the axis
        // downwards to a minimum length.
        let (low, high) = if low > high { (0.0, 1.0) } else { (low, high) };
        let least = (1e-3 * high.abs()).max(1e-4);
        let (low, high) = if high - low < least { (high - least, high) } else { (low, high) };
        let step = round((high - low) / marks);
        let (from, to) = ((low / step).floor() * step, (high / step).ceil() * step);
        Self { from, to: most.unwrap_or(to), step }
    }

    /// Creates the time axis, from the first time to the last.
    fn of_times(times: &[f64]) -> Self {
        let (from, last) = (times.first().copied().unwrap_or(0.0), times.last().copied());
        let to = last.filter(|to| *to > from).unwrap_or(from + 1.0);
        Self { from, to, step: round((to - from) / 10.0) }
    }

    fn share(&self, value: f64) -> f64 {
        ((value - self.from) / (self.to - self.from)).clamp(0.0, 1.0)
    }

    /// Yields the value and the label of each tick mark.
    fn marks(&self) -> impl Iterator<Item = (f64, String)> {
        let digits = (-self.step.log10().floor()).max(0.0) as usize;
        let first = (self.from / self.step - 1e-6).ceil();
        let many = ((self.to / self.step + 1e-6).floor() - first) as u32;
        let at = move |i: u32| (first + f64::from(i)) * self.step;
        (0..=many).map(move |i| (at(i), format!("{:.digits$}", at(i))))
    }
}

/// Rounds the distance between tick marks up to 1, 2 or 5 times a power of ten.
fn round(step: f64) -> f64 {
    let power = 10.0_f64.powf(step.log10().floor());
    [1.0, 2.0, 5.0].into_iter().map(|n| n * power).find(|n| *n >= step).unwrap_or(10.0 * power)
}

fn draw(out: &mut String, title: &str, times: &[f64], panels: &[Panel]) -> fmt::Result {
    let height = TOP + BOTTOM + panels.len() as f64 * (PANEL + GAP) - GAP;
    let (axis, width) = (Axis::of_times(times), WIDTH - LEFT - RIGHT);
    let column = |time: f64| LEFT + width * axis.share(time);
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"sans-serif\" font-size=\"13\" fill=\"#333\">\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fff\"/>\n\
         <text x=\"{LEFT}\" y=\"28\" font-size=\"16\">{}</text>",
        escaped(title)
    )?;
    for (i, panel) in panels.iter().enumerate() {
        let top = TOP + i as f64 * (PANEL + GAP);
        draw_panel(out, panel, times, top, &axis, &column)?;
        if i + 1 == panels.len() {
            let bottom = top + PANEL;
            for (time, text) in axis.marks() {
                let (x, y) = (column(time), bottom + 18.0);
                writeln!(out, "<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{text}</text>")?;
            }
            let (x, y) = (LEFT + width / 2.0, bottom + 40.0);
            writeln!(out, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">time in s</text>")?;
        }
    }
    writeln!(out, "</svg>")
}

fn draw_panel(
    out: &mut String,
    Panel { label, values, most, digits, colour }: &Panel,
    times: &[f64],
    top: f64,
    time: &Axis,
    column: &impl Fn(f64) -> f64,
) -> fmt::Result {
    let (right, bottom) = (WIDTH - RIGHT, top + PANEL);
    let axis = Axis::around(values.iter().copied(), *most, 5.0);
    let row = |value: f64| bottom - PANEL * axis.share(value);
    for (value, text) in axis.marks() {
        let y = row(value);
        writeln!(out, "<path d=\"M{LEFT} {y:.1}H{right}\" stroke=\"#ddd\"/>")?;
        let (x, y) = (LEFT - 8.0, y + 4.5);
        writeln!(out, "<text x=\"{x}\" y=\"{y:.1}\" text-anchor=\"end\">{text}</text>")?;
    }
    for (at, _) in time.marks() {
        writeln!(out, "<path d=\"M{:.1} {top}V{bottom}\" stroke=\"#eee\"/>", column(at))?;
    }
    writeln!(out, "<path d=\"M{LEFT} {top}V{bottom}H{right}\" stroke=\"#333\" fill=\"none\"/>")?;
    let (x, y) = (18.0, (top + bottom) / 2.0);
    writeln!(
        out,
        "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\" transform=\"rotate(-90 {x} {y})\">{label}</text>"
    )?;
    let mut path = String::new();
    let mut joined = false;
    for i in thinned(values) {
        let (x, y) = (column(times[i]), row(values[i]));
        if values[i].is_finite() {
            write!(path, "{}{x:.1} {y:.1}", if joined { 'L' } else { 'M' })?;
        } else {
            writeln!(out, "<circle cx=\"{x:.1}\" cy=\"{top}\" r=\"2\" fill=\"{colour}\"/>")?;
        }
        joined = values[i].is_finite();
    }
    writeln!(
        out,
        "<path d=\"{path}\" stroke=\"{colour}\" stroke-width=\"1.5\" stroke-linejoin=\"round\" \
         stroke-linecap=\"round\" fill=\"none\"/>"
    )?;
    let Some(worst) = (0..values.len()).min_by(|a, b| values[*a].total_cmp(&values[*b])) else {
        return Ok(());
    };
    let value = values[worst];
    let text = if value.is_finite() {
        format!("lowest: {value:.digits$} in frame {worst}")
    } else {
        "identical".to_owned()
    };
    let (x, y) = (column(times[worst]), row(value));
    // Place the label below the minimum, because the curve is never there. If there is no space below the minimum,
    // place the label above it.
    let (anchor, dx) = if x > (LEFT + right) / 2.0 { ("end", -10.0) } else { ("start", 10.0) };
    let line = if y + 18.0 < bottom { y + 16.0 } else { (y - 8.0).max(top + 14.0) };
    writeln!(
        out,
        "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4.5\" fill=\"none\" stroke=\"#c22\" stroke-width=\"2\"/>\n\
         <text x=\"{:.1}\" y=\"{line:.1}\" text-anchor=\"{anchor}\" fill=\"#c22\" stroke=\"#fff\" stroke-width=\"4\" \
         paint-order=\"stroke\">{text}</text>",
        x + dx
    )
}

/// Returns the ascending indices of the values to draw. These are all values or, if there are more than `MAX_POINTS`
/// values, the lowest and the highest value of each group of consecutive values.
fn thinned(values: &[f64]) -> Vec<usize> {
    let group = (2 * values.len()).div_ceil(MAX_POINTS).max(1);
    if group <= 2 {
        return (0..values.len()).collect();
    }
    let mut drawn = Vec::with_capacity(MAX_POINTS + 2);
    for first in (0..values.len()).step_by(group) {
        let of = first..(first + group).min(values.len());
        let low = of.clone().min_by(|a, b| values[*a].total_cmp(&values[*b])).unwrap_or(first);
        let high = of.max_by(|a, b| values[*a].total_cmp(&values[*b])).unwrap_or(first);
        drawn.extend([low.min(high), low.max(high)]);
    }
    drawn.dedup();
    drawn
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            // XML forbids most control characters, so replace them all.
            c if c < ' ' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_hold_the_values_with_round_marks() {
        for (values, most) in [
            (vec![0.912, 0.99], Some(1.0)),
            (vec![31.2, 44.9, f64::INFINITY], None),
            (vec![f64::INFINITY; 3], None),
            (vec![1.0; 2], Some(1.0)),
            (vec![-0.3, 0.4], Some(1.0)),
            (vec![], None),
        ] {
            let axis = Axis::around(values.iter().copied(), most, 5.0);
            let marks: Vec<_> = axis.marks().collect();
            assert!((2..=12).contains(&marks.len()), "{values:?}: {marks:?}");
            for value in values.iter().filter(|value| value.is_finite()) {
                assert!(axis.from <= *value && *value <= axis.to, "{values:?}: {}", axis.from);
            }
            let texts: std::collections::HashSet<_> = marks.iter().map(|(_, text)| text).collect();
            assert_eq!(texts.len(), marks.len(), "{marks:?}");
        }
    }

    #[test]
    fn long_curves_keep_their_lowest_and_highest() {
        let mut values = vec![0.5; 100_001];
        (values[77_777], values[3]) = (0.1, 0.9);
        let drawn = thinned(&values);
        assert!(drawn.len() <= MAX_POINTS + 2 && drawn.is_sorted());
        assert!(drawn.contains(&77_777) && drawn.contains(&3));
        assert_eq!(thinned(&values[..1000]).len(), 1000);
    }
}
