//! The tables as Markdown.

use std::fmt::Write as _;

use super::{COLUMNS, Column, Report, mean};
use crate::classes::CLASSES;
use crate::run::Entry;

/// Returns the report as Markdown: facts, means per class, means over equal cases, wins and losses, failures.
pub(super) fn text(report: &Report) -> String {
    let facts = &report.facts;
    let mut text = String::from("# Quality of stitchers\n\n");
    let _ = writeln!(
        text,
        "{}, {}, {} cores ({}), {:.0} s{}.\n",
        facts.date, facts.system, facts.cores, facts.processor, facts.seconds, facts.options
    );
    for version in &facts.versions {
        let _ = writeln!(text, "- {version}");
    }
    text.push_str("\n## Means per class\n\n`complete` counts the panoramas that show at least 90 % of what the cameras saw. The means are\nover all panoramas, also incomplete ones.\n\n");
    heading(&mut text, "class");
    for class in report.classes() {
        for stitcher in report.stitchers() {
            let here = |e: &&Entry| e.class == class && e.stitcher == stitcher;
            row(&mut text, class, stitcher, report.entries.iter().filter(here).collect());
        }
    }
    text.push('\n');
    let classes = CLASSES.iter().filter(|class| report.classes().contains(&class.name));
    for class in classes {
        let _ = writeln!(text, "- {}: {}", class.name, class.what);
    }
    text.push_str("\n## Means over the cases that every stitcher completed\n\n");
    heading(&mut text, "classes");
    for stitcher in report.stitchers() {
        row(&mut text, "all", stitcher, report.solved_by(&report.stitchers(), stitcher));
    }
    equal_cases(report, &mut text);
    duels(report, &mut text);
    videos(report, &mut text);
    failures(report, &mut text);
    text
}

fn heading(text: &mut String, first: &str) {
    let names: Vec<&str> = COLUMNS.iter().map(|column| column.name).collect();
    let _ = writeln!(
        text,
        "| {first} | stitcher | complete | {} | wall s | CPU s |",
        names.join(" | ")
    );
    let _ = writeln!(text, "|---|---|---|{}---:|---:|", "---:|".repeat(names.len()));
}

fn row(text: &mut String, class: &str, stitcher: &str, entries: Vec<&Entry>) {
    let solved = entries.iter().filter(|entry| entry.is_complete()).count();
    let _ = write!(text, "| {class} | {stitcher} | {solved}/{} |", entries.len());
    for column in &COLUMNS {
        let _ = write!(text, " {} |", shown(mean(entries.iter().copied(), column), column));
    }
    let average = |values: Vec<f64>| match values.len() {
        0 => "–".to_owned(),
        n => format!("{:.1}", values.iter().sum::<f64>() / n as f64),
    };
    let wall = average(entries.iter().map(|entry| entry.wall).collect());
    let cpu = average(entries.iter().filter_map(|entry| entry.cpu).collect());
    let _ = writeln!(text, " {wall} | {cpu} |");
}

/// Writes the means per class of the first stitcher and of each other one, over the cases that both completed and for
/// which both have the score.
fn equal_cases(report: &Report, text: &mut String) {
    let stitchers = report.stitchers();
    let Some((first, others)) = stitchers.split_first() else { return };
    for other in others {
        let _ = writeln!(
            text,
            "\n## Means per class over the cases that both completed: {first} / {other}\n"
        );
        let names: Vec<&str> = COLUMNS.iter().map(|column| column.name).collect();
        let _ = writeln!(text, "| class | cases | {} |", names.join(" | "));
        let _ = writeln!(text, "|---|---:|{}", "---:|".repeat(names.len()));
        for class in report.classes() {
            let all = report.solved_by(&[first, other], first).into_iter();
            let all = all.filter(|entry| entry.class == class);
            let both: Vec<[&Entry; 2]> =
                all.filter_map(|entry| Some([entry, report.rival(entry, other)?])).collect();
            let _ = write!(text, "| {class} | {} |", both.len());
            for column in &COLUMNS {
                let value = |entry: &Entry| entry.scores.as_ref().and_then(column.value);
                let scored = both.iter().filter(|pair| pair.iter().all(|e| value(e).is_some()));
                let scored: Vec<_> = scored.collect();
                let [a, b] = [0, 1]
                    .map(|side| shown(mean(scored.iter().map(|pair| pair[side]), column), column));
                let _ = write!(text, " {a} / {b} |");
            }
            text.push('\n');
        }
    }
}

/// Returns a value with the digits of its column, or a dash.
pub(super) fn shown(value: Option<f64>, column: &Column) -> String {
    value.map_or("–".to_owned(), |value| format!("{value:.*}", column.digits))
}

/// Wins, ties and losses of the first stitcher against each of the others.
fn duels(report: &Report, text: &mut String) {
    let stitchers = report.stitchers();
    let Some((first, others)) = stitchers.split_first() else { return };
    if others.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "\n## Wins – ties – losses of {first}\n\nAn incomplete panorama loses against a complete one.\n"
    );
    let _ = writeln!(text, "| score | tie up to | {} |", others.join(" | "));
    let _ = writeln!(text, "|---|---:|{}", "---:|".repeat(others.len()));
    for column in &COLUMNS {
        let _ = write!(text, "| {} | {} |", column.name, column.tie);
        for other in others {
            let duel = report.duel(first, other, column);
            let _ = write!(text, " {} – {} – {} |", duel.wins, duel.ties, duel.losses);
        }
        text.push('\n');
    }
}

/// The scores of the sequences.
fn videos(report: &Report, text: &mut String) {
    if report.videos.is_empty() {
        return;
    }
    text.push_str("\n## Sequences\n\n| seed | way | PSNR dB | flicker % | drift % | motion px | wall s | CPU s |\n");
    text.push_str("|---|---|---:|---:|---:|---:|---:|---:|\n");
    for entry in &report.videos {
        let scores = match (&entry.scores, &entry.failure) {
            (Some(s), _) => {
                format!("{:.2} | {:.2} | {:.2} | {:.3}", s.psnr, s.flicker, s.drift, s.motion)
            }
            (None, failure) => format!("{} | – | – | –", failure.as_deref().unwrap_or_default()),
        };
        let cpu = entry.cpu.map_or("–".to_owned(), |cpu| format!("{cpu:.1}"));
        let (seed, way, wall) = (entry.seed, &entry.way, entry.wall);
        let _ = writeln!(text, "| {seed} | {way} | {scores} | {wall:.1} | {cpu} |");
    }
}

fn failures(report: &Report, text: &mut String) {
    let failed: Vec<&Entry> = report.entries.iter().filter(|e| e.failure.is_some()).collect();
    if failed.is_empty() {
        return;
    }
    text.push_str("\n## Failures\n\n| case | stitcher | reason |\n|---|---|---|\n");
    for entry in failed {
        let reason = entry.failure.as_deref().unwrap_or_default().replace('|', "/");
        let _ =
            writeln!(text, "| {}-{} | {} | {reason} |", entry.class, entry.seed, entry.stitcher);
    }
}
