//! Plots as inline SVG: points over two logarithmic axes, or horizontal bars. The plots need no scripts: browsers show
//! the `<title>` of a point as a tooltip.

use std::fmt::{self, Write as _};

use crate::facts::digits;

/// The colours of plotted series. The first six are from Okabe and Ito's palette, which colour-blind readers can
/// distinguish.
pub(crate) const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5195", "#8c6d31"];

/// The colour of a series that measures memory copies, to which other series are compared.
pub(crate) const GREY: &str = "#8a8f98";

const INK: &str = "#2b2f36";
const FAINT: &str = "#6b7280";

/// The style in which a plot shows the points of a series.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// Discs at the points, joined by a line.
    Line,
    /// Small discs at the points, joined by a dashed line.
    Dashes,
    /// Discs without a line.
    Discs,
    /// Rings without a line.
    Rings,
}

/// A series of points in one colour.
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) colour: &'static str,
    pub(crate) mark: Mark,
    /// The x and y coordinates, which must be above 0, and the tooltip of each point.
    pub(crate) points: Vec<(f64, f64, String)>,
}

/// A plot with two logarithmic axes.
pub(crate) struct Plot {
    pub(crate) title: String,
    /// The quantity and unit of each axis.
    pub(crate) labels: [&'static str; 2],
    pub(crate) series: Vec<Series>,
}

/// Returns the plot as SVG, or `None` if there are no points.
pub(crate) fn log_log(plot: &Plot) -> Option<String> {
    let points = || plot.series.iter().flat_map(|series| &series.points);
    let axes = [Axis::around(points().map(|at| at.0))?, Axis::around(points().map(|at| at.1))?];
    let mut out = String::new();
    // Ignore the result, because writing to a string cannot fail.
    let _ = draw_log_log(&mut out, plot, &axes);
    Some(out)
}

/// A horizontal bar of a bar plot, with the name to its left and the text to its right.
pub(crate) struct Bar {
    pub(crate) name: String,
    pub(crate) value: f64,
    pub(crate) text: String,
    pub(crate) colour: &'static str,
}

/// Returns an SVG with horizontal bars that start at 0.
pub(crate) fn bars(title: &str, label: &str, bars: &[Bar]) -> String {
    let mut out = String::new();
    // Ignore the result, because writing to a string cannot fail.
    let _ = draw_bars(&mut out, title, label, bars);
    out
}

/// A logarithmic axis between two round numbers.
struct Axis {
    from: f64,
    to: f64,
    marks: Vec<f64>,
}

impl Axis {
    /// Creates an axis around values above 0, or returns `None` if there are no values.
    fn around(values: impl Iterator<Item = f64> + Clone) -> Option<Self> {
        let low = values.clone().fold(f64::INFINITY, f64::min);
        let high = values.fold(0.0, f64::max);
        if low > high {
            return None;
        }
        let decades = (low.log10().floor() as i32 - 1)..=(high.log10().ceil() as i32 + 1);
        let steps = |steps: &'static [f64]| {
            let of = move |decade| steps.iter().map(move |step| step * 10.0_f64.powi(decade));
            decades.clone().flat_map(of).collect::<Vec<_>>()
        };
        let all = steps(&[1.0, 2.0, 5.0]);
        // Leave a margin of at least 3 % between the values and the ends of the axis.
        let from = all.iter().rev().find(|mark| **mark < 0.97 * low).copied()?;
        let to = all.iter().find(|mark| **mark > 1.03 * high).copied()?;
        let many = if (to / from).log10() > 3.2 { steps(&[1.0]) } else { all };
        let inside = |mark: &f64| (from * 0.999..=to * 1.001).contains(mark);
        Some(Self { from, to, marks: many.into_iter().filter(inside).collect() })
    }

    fn share(&self, value: f64) -> f64 {
        (value / self.from).ln() / (self.to / self.from).ln()
    }
}

fn draw_log_log(out: &mut String, plot: &Plot, [x, y]: &[Axis; 2]) -> fmt::Result {
    const SIZE: [f64; 2] = [900.0, 400.0];
    const LEFT: f64 = 74.0;
    const RIGHT: f64 = 640.0;
    const TOP: f64 = 46.0;
    const BOTTOM: f64 = 342.0;
    let column = |value| LEFT + (RIGHT - LEFT) * x.share(value);
    let row = |value| BOTTOM - (BOTTOM - TOP) * y.share(value);
    begin(out, SIZE, &plot.title)?;
    for mark in &x.marks {
        let (at, under) = (column(*mark), BOTTOM + 19.0);
        writeln!(out, "<path d=\"M{at:.1} {TOP}V{BOTTOM}\" stroke=\"#e8eaed\"/>")?;
        let text = plain(*mark);
        writeln!(out, "<text x=\"{at:.1}\" y=\"{under}\" text-anchor=\"middle\">{text}</text>")?;
    }
    for mark in &y.marks {
        let (at, before) = (row(*mark), LEFT - 9.0);
        writeln!(out, "<path d=\"M{LEFT} {at:.1}H{RIGHT}\" stroke=\"#e8eaed\"/>")?;
        let (text, base) = (plain(*mark), at + 4.5);
        writeln!(out, "<text x=\"{before}\" y=\"{base:.1}\" text-anchor=\"end\">{text}</text>")?;
    }
    writeln!(out, "<path d=\"M{LEFT} {TOP}V{BOTTOM}H{RIGHT}\" stroke=\"{INK}\" fill=\"none\"/>")?;
    let [across, up] = plot.labels.map(escaped);
    let (middle, under) = (f64::midpoint(LEFT, RIGHT), BOTTOM + 44.0);
    writeln!(out, "<text x=\"{middle}\" y=\"{under}\" text-anchor=\"middle\">{across}</text>")?;
    let centre = f64::midpoint(TOP, BOTTOM);
    writeln!(
        out,
        "<text x=\"18\" y=\"{centre}\" text-anchor=\"middle\" transform=\"rotate(-90 18 {centre})\">{up}</text>"
    )?;
    for series in &plot.series {
        let at = |(x, y, _): &(f64, f64, String)| format!("{:.1} {:.1}", column(*x), row(*y));
        draw_series(out, series, &at)?;
    }
    let step = (296.0 / plot.series.len() as f64).min(20.0);
    for (i, Series { name, colour, mark, .. }) in plot.series.iter().enumerate() {
        let at = TOP + 8.0 + step * i as f64;
        let base = at + 4.5;
        draw_mark(out, *mark, colour, at)?;
        writeln!(out, "<text x=\"696\" y=\"{base:.1}\">{}</text>", escaped(name))?;
    }
    writeln!(out, "</svg>")
}

/// Draws the legend entry of a series.
fn draw_mark(out: &mut String, mark: Mark, colour: &str, at: f64) -> fmt::Result {
    let dash = if mark == Mark::Dashes { " stroke-dasharray=\"5 4\"" } else { "" };
    if matches!(mark, Mark::Line | Mark::Dashes) {
        writeln!(
            out,
            "<path d=\"M662 {at:.1}H686\" stroke=\"{colour}\" stroke-width=\"2\"{dash}/>"
        )?;
    }
    let fill = if mark == Mark::Rings { "#fff" } else { colour };
    if mark != Mark::Dashes {
        writeln!(
            out,
            "<circle cx=\"674\" cy=\"{at:.1}\" r=\"4\" fill=\"{fill}\" stroke=\"{colour}\" stroke-width=\"2\"/>"
        )?;
    }
    Ok(())
}

fn draw_series(
    out: &mut String,
    Series { name, colour, mark, points }: &Series,
    at: &impl Fn(&(f64, f64, String)) -> String,
) -> fmt::Result {
    if matches!(mark, Mark::Line | Mark::Dashes) {
        let path = points.iter().map(at).collect::<Vec<_>>().join("L");
        let dash = if *mark == Mark::Dashes { " stroke-dasharray=\"5 4\"" } else { "" };
        writeln!(
            out,
            "<path d=\"M{path}\" stroke=\"{colour}\" stroke-width=\"2\" stroke-linejoin=\"round\" fill=\"none\"{dash}/>"
        )?;
    }
    let (radius, fill) = match mark {
        Mark::Dashes => (2.0, *colour),
        Mark::Line | Mark::Discs => (4.0, *colour),
        Mark::Rings => (4.0, "#fff"),
    };
    for point in points {
        let place = at(point);
        let (x, y) = place.split_once(' ').unwrap_or_default();
        writeln!(
            out,
            "<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" fill=\"{fill}\" stroke=\"{colour}\" stroke-width=\"1.5\">\
             <title>{}: {}</title></circle>",
            escaped(name),
            escaped(&point.2)
        )?;
    }
    Ok(())
}

fn draw_bars(out: &mut String, title: &str, label: &str, bars: &[Bar]) -> fmt::Result {
    const STEP: f64 = 25.0;
    const LEFT: f64 = 172.0;
    const RIGHT: f64 = 400.0;
    const TOP: f64 = 42.0;
    let bottom = TOP + STEP * bars.len() as f64;
    let most = bars.iter().map(|bar| bar.value).fold(f64::MIN_POSITIVE, f64::max);
    let column = |value: f64| LEFT + (RIGHT - LEFT) * value / most;
    begin(out, [560.0, bottom + 48.0], title)?;
    let step = step(most / 4.0);
    for mark in (0..).map(|i| f64::from(i) * step).take_while(|mark| *mark <= most) {
        let (at, under) = (column(mark), bottom + 18.0);
        writeln!(out, "<path d=\"M{at:.1} {TOP}V{bottom}\" stroke=\"#e8eaed\"/>")?;
        let text = plain(mark);
        writeln!(out, "<text x=\"{at:.1}\" y=\"{under}\" text-anchor=\"middle\">{text}</text>")?;
    }
    for (i, Bar { name, value, text, colour }) in bars.iter().enumerate() {
        let top = TOP + STEP * i as f64;
        let (width, base) = (column(*value) - LEFT, top + STEP / 2.0 + 4.5);
        let (before, after, top) = (LEFT - 8.0, LEFT + width + 8.0, top + 4.0);
        let (name, text, high) = (escaped(name), escaped(text), STEP - 8.0);
        writeln!(out, "<text x=\"{before}\" y=\"{base}\" text-anchor=\"end\">{name}</text>")?;
        writeln!(
            out,
            "<rect x=\"{LEFT}\" y=\"{top}\" width=\"{width:.1}\" height=\"{high}\" fill=\"{colour}\" rx=\"2\"/>"
        )?;
        // A white outline keeps the text legible over the grid lines.
        writeln!(
            out,
            "<text x=\"{after:.1}\" y=\"{base}\" stroke=\"#fff\" stroke-width=\"4\" paint-order=\"stroke\">{text}</text>"
        )?;
    }
    writeln!(out, "<path d=\"M{LEFT} {TOP}V{bottom}\" stroke=\"{INK}\"/>")?;
    let (middle, under) = (f64::midpoint(LEFT, RIGHT), bottom + 38.0);
    writeln!(
        out,
        "<text x=\"{middle}\" y=\"{under}\" text-anchor=\"middle\">{}</text>",
        escaped(label)
    )?;
    writeln!(out, "</svg>")
}

fn begin(out: &mut String, [width, height]: [f64; 2], title: &str) -> fmt::Result {
    let title = escaped(title);
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         role=\"img\" aria-label=\"{title}\" font-family=\"system-ui, sans-serif\" font-size=\"12.5\" fill=\"{FAINT}\">\n\
         <text x=\"8\" y=\"22\" font-size=\"15\" font-weight=\"600\" fill=\"{INK}\">{title}</text>"
    )
}

/// Returns the smallest number, at least `least`, that is 1, 2 or 5 times a power of ten.
fn step(least: f64) -> f64 {
    let power = 10.0_f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0].into_iter().map(|n| n * power).find(|n| *n >= least).unwrap_or(10.0 * power)
}

/// Formats a round number without trailing zeros.
fn plain(value: f64) -> String {
    // Four decimals hide floating-point errors: 3 · 0.1 is 0.30000000000000004.
    let text = format!("{value:.4}");
    let text = text.trim_end_matches('0').trim_end_matches('.').to_owned();
    if text.is_empty() || text == "0" && value != 0.0 { digits(value) } else { text }
}

/// Escapes text for XML, including attributes.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // XML forbids most control characters, so replace all of them.
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
    fn axes_hold_the_values_between_round_marks() {
        for values in
            [vec![3.0], vec![0.92, 33.2], vec![1.1, 2_980.0], vec![2e-3, 5e6], vec![1.0, 10.0]]
        {
            let axis = Axis::around(values.iter().copied()).expect("values");
            assert!((2..=11).contains(&axis.marks.len()), "{values:?}: {:?}", axis.marks);
            for value in &values {
                let share = axis.share(*value);
                assert!(share > 0.0 && share < 1.0, "{values:?}: {value} at {share}");
            }
            for mark in &axis.marks {
                let mantissa = mark / 10.0_f64.powf((mark.log10() + 1e-9).floor());
                let round = [1.0, 2.0, 5.0, 10.0].iter().any(|n| (mantissa - n).abs() < 1e-6);
                assert!(round, "{mark}");
            }
        }
        assert!(Axis::around(std::iter::empty()).is_none());
    }

    #[test]
    fn a_decade_up_is_as_far_as_the_one_before() {
        let axis = Axis::around([1.5, 700.0].into_iter()).expect("values");
        let [one, ten, hundred] = [2.0, 20.0, 200.0].map(|value| axis.share(value));
        assert!((hundred - ten - (ten - one)).abs() < 1e-12);
    }

    #[test]
    fn round_numbers_are_short() {
        let expected = ["0", "0.2", "50", "1000", "0.005"];
        assert_eq!([0.0, 0.2, 50.0, 1000.0, 0.005].map(plain), expected);
        assert_eq!(plain(3.0 * 0.1), "0.3");
    }

    #[test]
    fn bars_are_as_long_as_their_values() {
        let bar = |name: &str, value| Bar {
            name: name.to_owned(),
            value,
            text: format!("{value} µs"),
            colour: GREY,
        };
        let svg = bars("a < b", "time in µs", &[bar("half", 20.0), bar("whole", 40.0)]);
        let widths: Vec<f64> = svg
            .split("<rect ")
            .skip(1)
            .filter_map(|rect| rect.split_once("width=\"")?.1.split_once('"')?.0.parse().ok())
            .collect();
        assert_eq!(widths, [114.0, 228.0]);
        assert!(svg.contains("a &lt; b") && svg.contains("time in µs") && svg.contains("20 µs"));
    }
}
