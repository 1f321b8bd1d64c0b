//! The report as an HTML page: a description of each machine, plots, and every row, in one file without external
//! resources or scripts.

use std::fmt::{self, Write as _};

use crate::facts::{HEAD, WORDS, cells, digits, facts, notes};
use crate::figures::{Figure, Section};
use crate::plot::{Bar, COLOURS, GREY, Mark, Plot, Series, bars, escaped, log_log};
use crate::record::{Role, Size, Timer};
use crate::scale;

const STYLE: &str = "\
body{font:15px/1.5 system-ui,sans-serif;color:#2b2f36;background:#fafbfc;max-width:1180px;margin:0 auto;padding:24px}\
h1{font-size:26px;margin:8px 0}h2{font-size:21px;margin:40px 0 8px;border-top:1px solid #d8dbe0;padding-top:24px}\
h3{font-size:16px;margin:28px 0 8px}ul{padding-left:20px;max-width:860px}\
dl{display:grid;grid-template-columns:max-content 1fr;gap:2px 18px;margin:12px 0}dt{color:#6b7280}dd{margin:0}\
.plots{display:flex;flex-wrap:wrap;gap:14px;align-items:flex-start}\
svg{background:#fff;border:1px solid #e2e5e9;border-radius:8px;max-width:100%;height:auto}\
.table{overflow-x:auto}table{border-collapse:collapse;background:#fff;font-size:13.5px;white-space:nowrap}\
th,td{padding:4px 10px;border-bottom:1px solid #eceef1;text-align:left}th{background:#f1f3f5;font-weight:600}\
th.n,td.n{text-align:right;font-variant-numeric:tabular-nums}tr.copy{color:#6b7280}tr.original,tr.peer{color:#a34700}";

/// Returns the HTML page for all machines.
pub(crate) fn page(sections: &[Section]) -> String {
    let mut out = String::new();
    // Ignore the result, because writing to a string cannot fail.
    let _ = write(&mut out, sections);
    out
}

fn write(out: &mut String, sections: &[Section]) -> fmt::Result {
    writeln!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>panoweave: benches</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n<h1>panoweave: benches</h1>\n<ul>"
    )?;
    for note in notes() {
        writeln!(out, "<li>{}</li>", escaped(&note))?;
    }
    writeln!(out, "</ul>")?;
    for section in sections {
        writeln!(out, "<h2>{}</h2>\n<dl>", escaped(&section.device))?;
        for (name, fact) in facts(section) {
            writeln!(out, "<dt>{name}</dt><dd>{}</dd>", escaped(&fact))?;
        }
        writeln!(out, "</dl>")?;
        scales(out, section)?;
        if section.figures.is_empty() {
            continue;
        }
        writeln!(
            out,
            "<h3>Rate compared with a copy of the same size</h3>\n<div class=\"plots\">"
        )?;
        out.push_str(&roof(section).unwrap_or_default());
        writeln!(out, "</div>\n<h3>Time against size</h3>\n<div class=\"plots\">")?;
        let sized = systems(section).into_iter().filter_map(|system| by_size(section, system));
        sized.for_each(|plot| out.push_str(&plot));
        writeln!(
            out,
            "</div>\n<h3>Variants side by side</h3>\n<p>Blue: this library. \
             Orange: the original design. Grey: a copy of the same size.</p>\n<div class=\"plots\">"
        )?;
        variants(section).for_each(|plot| out.push_str(&plot));
        writeln!(out, "</div>\n<h3>Every row</h3>")?;
        table(out, section)?;
    }
    writeln!(out, "</body>\n</html>")
}

/// Writes the table that shows how many live camera pairs each machine sustains, if this was measured.
fn scales(out: &mut String, section: &Section) -> fmt::Result {
    if section.scales.is_empty() {
        return Ok(());
    }
    writeln!(out, "<h3>Live pairs at once</h3>\n<p>{}</p>", escaped(scale::NOTE))?;
    let rows = section.scales.iter().map(|scale| ("ours", scale.cells()));
    rows_of(out, &scale::HEAD, scale::WORDS, rows)
}

fn table(out: &mut String, section: &Section) -> fmt::Result {
    let rows = section.figures.iter().map(|figure| {
        let class = match figure.row.role {
            Role::Ours => "ours",
            Role::Original => "original",
            Role::Peer => "peer",
            Role::Copy => "copy",
        };
        (class, cells(section, figure))
    });
    rows_of(out, &HEAD, WORDS, rows)
}

/// Writes an HTML table. The first `words` columns are text, the others are numbers. `rows` yields the CSS class and
/// the cells of each row.
fn rows_of<const N: usize>(
    out: &mut String,
    head: &[&str; N],
    words: usize,
    rows: impl Iterator<Item = (&'static str, [String; N])>,
) -> fmt::Result {
    let class = |i: usize| if i < words { "" } else { " class=\"n\"" };
    writeln!(out, "<div class=\"table\"><table>\n<tr>")?;
    for (i, head) in head.iter().enumerate() {
        writeln!(out, "<th{}>{head}</th>", class(i))?;
    }
    writeln!(out, "</tr>")?;
    for (row, cells) in rows {
        write!(out, "<tr class=\"{row}\">")?;
        for (i, cell) in cells.iter().enumerate() {
            write!(out, "<td{}>{}</td>", class(i), escaped(cell))?;
        }
        writeln!(out, "</tr>")?;
    }
    writeln!(out, "</table></div>")
}

/// Returns the name of each measured system, such as `stitch`, once, in the order of the first row of each system.
fn systems(section: &Section) -> Vec<&str> {
    distinct(section.figures.iter().map(|figure| &*figure.row.work.system))
}

/// Returns the values without duplicates, in the order of their first occurrence.
fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    values.fold(Vec::new(), |mut seen, value| {
        if !seen.contains(&value) {
            seen.push(value);
        }
        seen
    })
}

fn colour(i: usize) -> &'static str {
    COLOURS[i % COLOURS.len()]
}

/// Returns the tooltip of a figure's point in a plot.
fn told(figure: &Figure) -> String {
    let row = &figure.row;
    let (time, rate) = (digits(row.median_us), digits(figure.gb_s));
    format!("{}, {}, {}: {time} µs, {rate} GB/s", row.work.of, row.work.size, row.variant)
}

/// Plots the memory rate against the number of bytes for all rows that were timed by device events. The rate of copies
/// is the roofline.
fn roof(section: &Section) -> Option<String> {
    let at = |figure: &Figure| (figure.row.work.bytes as f64 / 1e6, figure.gb_s, told(figure));
    let of = |role| {
        let figures = section.figures.iter();
        figures.filter(move |f| f.row.role == role && f.row.timer == Timer::Events)
    };
    let mut copies: Vec<_> = of(Role::Copy).map(at).collect();
    copies.sort_by(|a, b| a.0.total_cmp(&b.0));
    // If several copies differ in size by less than 1 %, keep only the smallest.
    copies.dedup_by(|next, kept| next.0 < 1.01 * kept.0);
    let ends = copies.first().zip(copies.last()).map(|(first, last)| [first.0, last.0]);
    let mut series = Vec::new();
    let peak = section.runs.iter().find_map(|run| run.peak_gb_s());
    if let (Some(peak), Some(ends)) = (peak, ends) {
        let points = ends.map(|bytes| (bytes, peak, format!("{peak:.0} GB/s"))).into();
        let name = "memory, from clock and bus width".to_owned();
        series.push(Series { name, colour: "#2b2f36", mark: Mark::Dashes, points });
    }
    let name = "copy of the same size".to_owned();
    series.push(Series { name, colour: GREY, mark: Mark::Line, points: copies });
    for (i, system) in systems(section).into_iter().enumerate() {
        for (role, mark, whose) in
            [(Role::Ours, Mark::Discs, ""), (Role::Original, Mark::Rings, ", original")]
        {
            let points: Vec<_> =
                of(role).filter(|figure| figure.row.work.system == system).map(at).collect();
            if !points.is_empty() {
                let name = format!("{system}{whose}");
                series.push(Series { name, colour: colour(i), mark, points });
            }
        }
    }
    series.retain(|series| !series.points.is_empty());
    log_log(&Plot {
        title: "Achieved rate and roofline".to_owned(),
        labels: ["bytes that must move, in MB", "rate in GB/s"],
        series,
    })
}

/// Plots the times of a system against the size of its work. Returns `None` if nothing was measured at several sizes.
fn by_size(section: &Section, system: &str) -> Option<String> {
    let figures = || section.figures.iter().filter(|figure| figure.row.work.system == system);
    let key = |figure: &Figure| {
        let Figure { row, .. } = figure;
        (row.work.of.clone(), row.variant.clone(), row.role)
    };
    let unit = |size: Size| size.count().1;
    let pixels = figures().any(|figure| unit(figure.row.work.size) == "pixels");
    // If any work was measured at three or more sizes, leave out all work that was measured at only two sizes: its
    // short lines would hide the longer ones.
    let points_of = |of: &_| figures().filter(|figure| key(figure) == *of).count();
    let most = figures().map(|figure| points_of(&key(figure))).max()?;
    let least = most.clamp(2, 3);
    let mut series: Vec<Series> = Vec::new();
    let mut copies = Vec::new();
    for key_of_series in distinct(figures().map(key)) {
        let mut points: Vec<_> = figures()
            .filter(|figure| key(figure) == key_of_series)
            .map(|figure| {
                let scale = if pixels { 1e-6 } else { 1.0 };
                let size = figure.row.work.size.count().0 * scale;
                (size, figure.row.median_us, told(figure), figure.row.work.bytes)
            })
            .collect();
        if points.len() < least {
            continue;
        }
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (of, variant, role) = key_of_series;
        let bytes: Vec<_> = points.iter().map(|point| (point.0.to_bits(), point.3)).collect();
        // Several operations may have a copy series with the same numbers of bytes. Draw only the first of them.
        if role == Role::Copy && copies.contains(&bytes) {
            continue;
        }
        let points = points.into_iter().map(|(size, time, told, _)| (size, time, told)).collect();
        let (name, colour, mark) = match role {
            Role::Copy => (format!("copy, {of}"), GREY, Mark::Dashes),
            Role::Ours | Role::Original | Role::Peer => {
                let drawn = series.iter().filter(|series| series.colour != GREY).count();
                (format!("{of}, {variant}"), self::colour(drawn), Mark::Line)
            }
        };
        if role == Role::Copy {
            copies.push(bytes);
        }
        series.push(Series { name, colour, mark, points });
    }
    let across = if pixels { "megapixels of the result" } else { "batches" };
    let labels = [across, "time in µs"];
    log_log(&Plot { title: format!("{system}: time against size"), labels, series })
}

/// Yields a bar plot for each work that has several variants.
fn variants(section: &Section) -> impl Iterator<Item = String> {
    let key = |figure: &Figure| {
        let work = &figure.row.work;
        (work.system.clone(), work.of.clone(), work.size)
    };
    distinct(section.figures.iter().map(key)).into_iter().filter_map(move |work| {
        let figures: Vec<_> = section.figures.iter().filter(|figure| key(figure) == work).collect();
        let ways = figures.iter().filter(|figure| figure.row.role != Role::Copy).count();
        if ways < 2 {
            return None;
        }
        let bar = |figure: &&Figure| Bar {
            name: figure.row.variant.clone(),
            value: figure.row.median_us,
            text: format!("{} µs, {} GB/s", digits(figure.row.median_us), digits(figure.gb_s)),
            colour: match figure.row.role {
                Role::Ours => COLOURS[0],
                Role::Original => COLOURS[1],
                Role::Peer => COLOURS[2],
                Role::Copy => GREY,
            },
        };
        let (system, of, size) = work;
        let title = format!("{system}: {of}, {size}");
        Some(bars(&title, "time in µs", &figures.iter().map(bar).collect::<Vec<_>>()))
    })
}
