//! The page with pictures: for each case the truth, and for each stitcher the panorama and its difference from the
//! truth. A static file beside the folder `cases`.

use std::fmt::Write as _;

use super::markdown::shown;
use super::{COLUMNS, Report};
use crate::run::Entry;

const HEAD: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Quality of stitchers</title>
<style>
body { font: 14px sans-serif; margin: 1em; background: #222; color: #ddd }
table { border-collapse: collapse } td, th { padding: 2px 8px; text-align: right; border-bottom: 1px solid #444 }
figure { display: inline-block; margin: 4px; vertical-align: top; width: 32% } img { width: 100% }
a { color: #8cf } .best { color: #8f8 }
</style>
<h1>Quality of stitchers</h1>
<p>Each panorama is drawn on the canvas of the truth, with the truth's tone. The difference is four times as strong;
grey is no difference. <a href=\"report.md\">Tables</a>, <a href=\"report.json\">all numbers</a>.</p>
";

/// Returns the page.
pub(super) fn html(report: &Report) -> String {
    let mut page = HEAD.to_owned();
    let facts = &report.facts;
    let versions = facts.versions.join("; ");
    let _ = writeln!(
        page,
        "<p>{} – {}{}</p>",
        escaped(&facts.date),
        escaped(&versions),
        escaped(&facts.options)
    );
    let stitchers = report.stitchers();
    let first = stitchers.first().copied().unwrap_or_default();
    for case in report.entries.iter().filter(|entry| entry.stitcher == first) {
        let all: Vec<&Entry> = stitchers.iter().filter_map(|s| report.rival(case, s)).collect();
        section(&mut page, &format!("{}-{}", case.class, case.seed), &all);
    }
    page
}

fn section(page: &mut String, name: &str, entries: &[&Entry]) {
    let name = escaped(name);
    let _ = writeln!(page, "<h2 id=\"{name}\">{name}</h2><table><tr><th>stitcher");
    for column in &COLUMNS {
        let _ = write!(page, "<th>{}", column.name);
    }
    for entry in entries {
        let _ = write!(page, "<tr><td>{}", escaped(&entry.stitcher));
        for column in &COLUMNS {
            let value = |entry: &Entry| entry.scores.as_ref().and_then(column.value);
            let sign = if column.more { 1.0 } else { -1.0 };
            let best =
                entries.iter().filter_map(|e| value(e)).map(|v| v * sign).fold(f64::MIN, f64::max);
            let is_best = value(entry).is_some_and(|v| v * sign >= best - column.tie);
            let class = if is_best { " class=\"best\"" } else { "" };
            let _ = write!(page, "<td{class}>{}", shown(value(entry), column));
        }
        if let Some(failure) = &entry.failure {
            let _ = write!(page, "<td>{}", escaped(failure));
        }
    }
    page.push_str("</table>\n");
    let mut figure = |file: &str, caption: &str| {
        let path = format!("cases/{name}/{file}.jpg");
        let _ = writeln!(
            page,
            "<figure><a href=\"{path}\"><img loading=\"lazy\" src=\"{path}\"></a><figcaption>{caption}</figcaption></figure>"
        );
    };
    figure("truth", "truth");
    for entry in entries.iter().filter(|entry| entry.scores.is_some()) {
        let name = escaped(&entry.stitcher);
        figure(&name, &name);
        figure(&format!("{name}_difference"), &format!("{name}: difference"));
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
