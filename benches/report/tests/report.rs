//! Compares reports of synthetic records with numbers computed by hand, and tests the rejection of bad input.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use panoweave_bench_report::figures::{Figure, Section};
use panoweave_bench_report::record::{Clocks, Line, Role, Row, Run, Scale, Size, Timer, Work};
use panoweave_bench_report::{Report, ReportError};
use tempfile::TempDir;

const TEXT: &str = "# Benchmarks\n\nWritten by hand.\n\n<!-- begin: what `cargo xtask bench` measured -->\nold\n\
                    <!-- end: what `cargo xtask bench` measured -->\n\nAlso by hand.\n";

fn h100(started: u64, commit: &str) -> Line {
    Line::Run(Run {
        started,
        commit: Some(commit.to_owned()),
        device: "NVIDIA H100 80GB HBM3".to_owned(),
        threads: None,
        capability: Some("9.0".to_owned()),
        memory: Some(85_000_000_000),
        multiprocessors: Some(132),
        cuda: Some("13.0".to_owned()),
        driver: Some("580.95.05".to_owned()),
        peak: Clocks { sm_mhz: Some(1980), memory_mhz: Some(2619) },
        bus_bits: Some(5120),
        found: Clocks { sm_mhz: Some(1965), memory_mhz: Some(2619) },
        power_mode: None,
    })
}

fn orin(started: u64) -> Line {
    let Line::Run(run) = h100(started, "cafe") else { unreachable!("a run") };
    Line::Run(Run {
        device: "Orin".to_owned(),
        capability: Some("8.7".to_owned()),
        found: Clocks { sm_mhz: Some(918), memory_mhz: Some(3199) },
        power_mode: Some("MAXN (0)".to_owned()),
        driver: None,
        ..run
    })
}

fn row(of: &str, size: Size, bytes: u64, variant: &str, role: Role, median_us: f64) -> Line {
    let system = if of.ends_with("taps") { "convolve" } else { "stitch" };
    let work = Work { system: system.to_owned(), of: of.to_owned(), size, bytes };
    let (min_us, max_us) = (0.9 * median_us, 1.2 * median_us);
    let (variant, timer) = (variant.to_owned(), Timer::Events);
    Line::Row(Row { work, variant, role, timer, median_us, min_us, max_us, samples: 20 })
}

const HOME: Size = Size::Pixels(5700, 1900);
const UHD: Size = Size::Pixels(3840, 2160);

/// Returns the lines of a run for which the report can derive every value: it has rows of copies and of the original
/// system's kernels, rows with targets, and work at several sizes.
fn whole() -> Vec<Line> {
    let rgba = |variant, role, time| row("rgba", HOME, 109_700_000, variant, role, time);
    let taps = |size, bytes, variant, role, time| row("7 taps", size, bytes, variant, role, time);
    let small = Size::Pixels(1280, 720);
    vec![
        h100(1_763_740_000, "0123abcd"),
        row("rgba", HOME, 109_707_264, "copy", Role::Copy, 41.25),
        rgba("exact/rust", Role::Ours, 222.8),
        rgba("exact/c++", Role::Original, 219.9),
        rgba("fast/rust", Role::Ours, 143.3),
        rgba("fast/c++", Role::Original, 147.5),
        rgba("fast/mesh", Role::Ours, 30.5),
        rgba("table/rust", Role::Ours, 162.8),
        taps(UHD, 66_355_200, "copy", Role::Copy, 25.0),
        taps(UHD, 66_355_200, "one launch", Role::Ours, 35.1),
        taps(UHD, 66_355_200, "c++", Role::Original, 121.0),
        taps(small, 7_372_800, "copy", Role::Copy, 4.5),
        taps(small, 7_372_800, "one launch", Role::Ours, 5.5),
    ]
}

/// A temporary folder with records and a text file for the tables.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().expect("a folder"));
        fs::write(place.table(), TEXT).expect("a text");
        place
    }

    fn table(&self) -> PathBuf {
        self.0.path().join("BENCHMARKS.md")
    }

    fn out(&self) -> PathBuf {
        self.0.path().join("out")
    }

    fn record(&self, name: &str, lines: &[Line]) -> PathBuf {
        let lines = lines.iter().map(|line| serde_json::to_string(line).expect("JSON") + "\n");
        self.text(name, &lines.collect::<String>())
    }

    fn text(&self, name: &str, text: &str) -> PathBuf {
        let file = self.0.path().join(name);
        fs::write(&file, text).expect("a record");
        file
    }

    /// Writes the report of a record that contains `lines`. Returns the HTML page, the Markdown file and the JSON.
    fn report(&self, lines: &[Line]) -> (String, String, serde_json::Value) {
        let report = Report::read(&[self.record("record.jsonl", lines)]).expect("a report");
        let written = report.write(&self.out(), &self.table()).expect("files");
        assert_eq!(written.len(), 3);
        let read = |file: &Path| fs::read_to_string(file).expect("a file that was written");
        let json = serde_json::from_str(&read(&self.out().join("report.json"))).expect("JSON");
        (read(&self.out().join("index.html")), read(&self.table()), json)
    }
}

fn only(sections: &[Section]) -> &Section {
    let [section] = sections else { panic!("a machine: {sections:?}") };
    section
}

fn figure<'a>(section: &'a Section, variant: &str, size: Size) -> &'a Figure {
    let is = |figure: &&Figure| figure.row.variant == variant && figure.row.work.size == size;
    section.figures.iter().find(is).expect(variant)
}

fn near(found: f64, expected: f64) -> bool {
    (found / expected - 1.0).abs() < 1e-12
}

#[test]
fn the_tables_numbers_are_right() {
    let place = Place::new();
    let (_, text, _) = place.report(&whole());
    let table: Vec<Vec<_>> = text
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"))
        .map(|line| line.split(" | ").collect())
        .collect();
    // Expected columns, computed by hand: variant, median in µs, MB, GB/s, rate in % of the copy's rate, time of the
    // original kernel in µs, speedup over it, and time in ms at Orin's 102 GB/s.
    let expected = [
        ("exact/rust", 222.8, 109.7, 492.4, Some(18.5), Some(219.9), Some(0.987), 1.0755),
        ("fast/rust", 143.3, 109.7, 765.5, Some(28.8), Some(147.5), Some(1.029), 1.0755),
        ("fast/mesh", 30.5, 109.7, 3596.7, Some(135.2), Some(147.5), Some(4.836), 1.0755),
        ("table/rust", 162.8, 109.7, 673.8, Some(25.3), None, None, 1.0755),
        ("one launch", 35.1, 66.355, 1890.5, Some(71.2), Some(121.0), Some(3.447), 0.65054),
        ("one launch", 5.5, 7.3728, 1340.5, Some(81.8), None, None, 0.072282),
    ];
    let targets =
        ["–", "–", "≤ 46 µs, ≥ 4.5× as fast as exact (7.21×): met", "–", "≤ 35 µs: missed", "–"];
    assert_eq!(table.len(), expected.len() + 1, "{text}");
    // Cells show three significant digits, so values may differ by half a unit of the last digit.
    let shows = |cell: &str, expected: f64| {
        let number = cell.trim_end_matches(['×', '%', ' ']).parse::<f64>().expect(cell);
        let step = if cell.ends_with('%') { 0.51 / expected } else { 0.0051 };
        assert!((number / expected - 1.0).abs() <= step, "{cell}, not {expected}");
    };
    for ((row, expected), target) in table[1..].iter().zip(expected).zip(targets) {
        let (variant, time, megabytes, rate, share, original, ratio, model) = expected;
        assert_eq!(row[3], variant);
        shows(row[4], time);
        shows(row[5], megabytes);
        shows(row[6], rate);
        for (cell, value) in [(row[7], share), (row[8], original), (row[9], ratio)] {
            match value {
                Some(value) => shows(cell, value),
                None => assert_eq!(cell, "–"),
            }
        }
        assert_eq!(row[10], target);
        shows(row[11], model);
    }
    let head = table[0].join(" ");
    assert!(head.contains("Orin, model") && text.contains("a model, not a measurement"), "{text}");
    for fact in ["580.95.05", "1965 MHz", "3352 GB/s", "0123abcd", "2025-11-21", "132 multi"] {
        assert!(text.contains(fact), "{fact}: {text}");
    }
}

#[test]
fn json_has_the_figures_in_full() {
    let place = Place::new();
    let (_, _, json) = place.report(&whole());
    let report = Report::read(&[place.record("again.jsonl", &whole())]).expect("a report");
    let section = only(report.sections());
    let fast = figure(section, "fast/rust", HOME);
    assert!(near(fast.gb_s, 109_700_000.0 / 143.3e-6 / 1e9));
    // In the record from `whole`, the copy moves 7264 bytes more than the stitch.
    let copy = 109_707_264.0 / 41.25e-6 / 1e9;
    assert!(near(fast.of_copy.expect("a copy"), 109_700_000.0 / 143.3e-6 / 1e9 / copy));
    assert!(near(fast.ratio.expect("an original"), 147.5 / 143.3));
    assert!(near(fast.model_orin_ms.expect("a model"), 1e3 * 109_700_000.0 / 102e9));
    let written = &json[0]["figures"];
    assert_eq!(written.as_array().map(Vec::len), Some(12));
    for (i, figure) in section.figures.iter().enumerate() {
        assert_eq!(written[i]["row"]["variant"], figure.row.variant);
        for (key, expected) in [
            ("gb_s", Some(figure.gb_s)),
            ("of_copy", figure.of_copy),
            ("ratio", figure.ratio),
            ("model_orin_ms", figure.model_orin_ms),
        ] {
            let found = written[i][key].as_f64();
            assert_eq!(found.is_some(), expected.is_some(), "{key}");
            assert!(found.zip(expected).is_none_or(|(found, expected)| near(found, expected)));
        }
    }
    assert_eq!(json[0]["runs"][0]["found"]["sm_mhz"], 1965);
}

#[test]
fn the_page_has_every_row_and_needs_nothing_else() {
    let place = Place::new();
    let mut lines = whole();
    lines.push(row("nv12", HOME, 41_000_000, "<b>&\"", Role::Ours, 36.6));
    let (page, _, _) = place.report(&lines);
    let rows: Vec<_> = page.lines().filter(|line| line.starts_with("<tr class=")).collect();
    let expected: Vec<_> = lines
        .iter()
        .filter_map(|line| if let Line::Row(row) = line { Some(row) } else { None })
        .collect();
    assert_eq!(rows.len(), expected.len());
    for (shown, row) in rows.iter().zip(expected) {
        let variant = row.variant.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let cells = [&row.work.of, &row.work.size.to_string(), &variant.replace('"', "&quot;")]
            .map(|cell| format!("<td>{cell}</td>"));
        assert!(cells.iter().all(|cell| shown.contains(cell)), "{shown}: {cells:?}");
    }
    // The page must have four plots: the roofline, the times of `convolve` by size, and two bar plots that compare
    // variants.
    assert_eq!(page.matches("<svg ").count(), 4);
    assert_eq!(page.matches("</svg>").count(), 4);
    for label in [
        "rate in GB/s",
        "bytes that must move, in MB",
        "time in µs",
        "megapixels",
        "convolve: time against size",
    ] {
        assert!(page.contains(label), "{label}");
    }
    let fetched = ["<script", "src=", "href=", "url(", "@import", "NaN", "inf"];
    let found = fetched.iter().find(|what| page.contains(**what));
    assert!(found.is_none(), "{found:?}");
    assert!(!page.contains("<b>"));
}

#[test]
fn the_newest_of_a_row_counts() {
    let place = Place::new();
    let fast = |time| row("rgba", HOME, 109_700_000, "fast/mesh", Role::Ours, time);
    let new = place.record("new.jsonl", &[h100(2000, "new"), fast(150.0), fast(140.0)]);
    let mut old = vec![h100(1000, "old"), fast(100.0)];
    old.push(row("rgba", HOME, 109_700_000, "fast/c++", Role::Original, 147.5));
    old.push(row("rgba", HOME, 109_700_000, "copy", Role::Copy, 41.0));
    let old = place.record("old.jsonl", &old);
    for files in [[&new, &old], [&old, &new]] {
        let report = Report::read(&files).expect("a report");
        let section = only(report.sections());
        let fast = figure(section, "fast/mesh", HOME);
        assert_eq!(fast.row.median_us, 140.0);
        assert_eq!(section.runs[fast.run].commit.as_deref(), Some("new"));
        // Measurements of different runs are not compared.
        assert_eq!((fast.ratio, fast.of_copy), (None, None));
        assert_eq!(fast.target.as_ref().expect("a target").met, Some(false));
        assert_eq!(section.figures.len(), 3);
        report.write(&place.out(), &place.table()).expect("files");
        let text = fs::read_to_string(place.table()).expect("the text");
        assert!(text.contains("fast/mesh (new)") && text.contains("Commit: new, old"), "{text}");
    }
}

#[test]
fn machines_have_sections_of_their_own_and_targets_are_for_one() {
    let place = Place::new();
    let fast = |time| row("nv12", HOME, 41_000_000, "fast/mesh", Role::Ours, time);
    let record =
        [h100(1000, "a"), fast(20.0), orin(1000), fast(1900.0), h100(1001, "a"), fast(21.0)];
    let record = place.record("record.jsonl", &record);
    let report = Report::read(&[record]).expect("a report");
    let [h100, orin] = report.sections() else { panic!("two machines") };
    let met = |section: &Section| section.figures[0].target.as_ref().expect("a target").met;
    assert_eq!((met(h100), met(orin)), (Some(true), None));
    assert_eq!(h100.figures[0].row.median_us, 21.0);
    report.write(&place.out(), &place.table()).expect("files");
    let text = fs::read_to_string(place.table()).expect("the text");
    assert!(text.contains("\n## Orin\n") && text.contains("Power mode: MAXN (0)"), "{text}");
    assert!(text.contains("Driver: unknown") && text.contains("clock, measured: 3199 MHz"));
}

#[test]
fn a_processor_has_a_section_with_other_libraries_in_it() {
    let place = Place::new();
    let run = Run { device: "Some CPU".to_owned(), threads: Some(2), ..Run::default() };
    let by_clock = |variant, role, time| {
        let Line::Row(row) = row("rgba", HOME, 109_700_000, variant, role, time) else {
            unreachable!("a row")
        };
        Line::Row(Row { timer: Timer::Clock, ..row })
    };
    let (ours, peer) =
        (by_clock("fast/mesh", Role::Ours, 7e5), by_clock("linear/opencv", Role::Peer, 2e5));
    let (page, text, json) = place.report(&[Line::Run(run), ours, peer]);
    assert!(text.contains("\n## Some CPU\n") && text.contains("Some CPU, 2 threads"), "{text}");
    assert!(!text.contains("SM clock") && !text.contains("multiprocessors"), "{text}");
    assert!(text.contains("| linear/opencv | 200000\\* |"), "{text}");
    assert!(page.contains("class=\"peer\"") && page.contains("linear/opencv"));
    // Targets apply only to a GPU. The field `ratio` compares only with the original kernel, not with other libraries.
    let figures = &json[0]["figures"];
    assert!(figures[0]["target"]["met"].is_null() && figures[0]["ratio"].is_null());
}

/// Checks that the field `device` of a run may have its older name `gpu`.
#[test]
fn a_gpu_is_a_device_by_its_older_name() {
    let place = Place::new();
    let file = place.record("record.jsonl", &whole());
    let text = fs::read_to_string(&file).expect("a record");
    let older = text.replacen("\"device\":", "\"gpu\":", 1).replacen("\"threads\":null,", "", 1);
    assert_ne!(older, text);
    let older = place.text("older.jsonl", &older);
    let [one, other] = [file, older].map(|file| Report::read(&[file]).expect("a report"));
    assert_eq!(only(one.sections()).device, only(other.sections()).device);
    assert_eq!(one.sections()[0].runs, other.sections()[0].runs);
}

#[test]
fn without_the_original_a_target_with_a_ratio_is_open() {
    let place = Place::new();
    let fast = row("rgba", HOME, 109_700_000, "fast/mesh", Role::Ours, 45.0);
    // The target's ratio is relative to the original C++ kernel with the gamma method `exact`. The record has only the
    // `fast` one, which must not be used instead, so the report must not decide whether the row meets the target.
    let other = row("rgba", HOME, 109_700_000, "fast/c++", Role::Original, 147.5);
    let record = place.record("record.jsonl", &[h100(1000, "a"), fast, other]);
    let report = Report::read(&[record]).expect("a report");
    let target = only(report.sections()).figures[0].target.clone().expect("a target");
    assert_eq!((target.most_us, target.least_ratio, target.met), (46.0, Some(4.5), None));
    assert_eq!(target.ratio, None);
}

#[test]
fn times_by_the_clock_are_marked_and_have_no_model() {
    let place = Place::new();
    let Line::Row(live) = row("nv12", HOME, 41_000_000, "4 slots", Role::Ours, 487.0) else {
        unreachable!("a row")
    };
    let live = Line::Row(Row { timer: Timer::Clock, ..live });
    let copy = row("nv12", HOME, 41_000_000, "copy", Role::Copy, 17.5);
    let (page, text, json) = place.report(&[h100(1000, "a"), live, copy]);
    assert!(text.contains("| 487\\* |") && page.contains(">487*<"), "{text}");
    assert!(json[0]["figures"][0]["model_orin_ms"].is_null());
    // The copy was timed by device events, so it must not be compared with work that was timed by the host's clock.
    assert!(json[0]["figures"][0]["of_copy"].is_null());
}

/// Returns a measurement of 64 pairs on each of `gpus` GPUs.
fn scale(on: &str, gpus: u32, median_us: f64) -> Scale {
    Scale {
        on: on.to_owned(),
        gpus,
        source: UHD,
        panorama: HOME,
        feed: "in place".to_owned(),
        fps: 30.0,
        held: 64,
        broke: Some(68),
        limit: "copies over the bus 97 %".to_owned(),
        median_us,
        p99_us: 21_240.0,
        per_second: 1919.5,
        bytes: [24_883_200, 16_245_000],
        copies_us: 472.0,
        stitch_us: 153.6,
    }
}

#[test]
fn live_pairs_have_a_table_of_their_own() {
    let place = Place::new();
    let mut lines = whole();
    let none = Scale { held: 0, broke: Some(1), on: "cuda:1".to_owned(), ..scale("", 1, 0.0) };
    lines.extend([scale("cuda:0", 1, 4321.0), scale("8 GPUs", 8, 5000.0), none].map(Line::Scale));
    let (page, text, json) = place.report(&lines);
    // With 64 pairs at 30 fps, copies keep the bus busy for 91 % of the time, and stitches keep the GPU busy for 29 %.
    let row = "| cuda:0 | 3840×2160 | 5700×1900 | in place | copies over the bus 97 % | 30.0 | 64 | 68 | 4.32 | 21.2 \
               | 1920 | 91 % | 29 % |";
    assert!(text.contains(row), "{text}");
    assert!(text.contains("| 68 | 5.00 | 21.2 | 1920 | 91 % | 29 % |"), "{text}");
    assert!(text.contains("| 0 | 1 | – | – | – | – | – |"), "{text}");
    assert!(text.contains("two frame intervals") && page.contains("two frame intervals"));
    for cell in ["<td>8 GPUs</td>", "<td class=\"n\">91 %</td>", "<h3>Live pairs at once</h3>"] {
        assert!(page.contains(cell), "{cell}: {page}");
    }
    // The measurements of live pairs must not add rows to the table of times.
    let (_, without, _) = place.report(&whole());
    assert!(!without.contains("two frame intervals"));
    let figures = |text: &str| text.lines().filter(|line| line.starts_with("| stitch")).count();
    assert_eq!(figures(&text), figures(&without));
    let scales = &json[0]["scales"];
    assert_eq!(scales.as_array().map(Vec::len), Some(3));
    assert_eq!((scales[1]["gpus"].as_u64(), scales[1]["held"].as_u64()), (Some(8), Some(64)));
}

#[test]
fn live_pairs_alone_are_a_report_and_the_newest_counts() {
    let place = Place::new();
    let one = |time| Line::Scale(scale("cuda:0", 1, time));
    let new = place.record("new.jsonl", &[h100(2000, "new"), one(4000.0), orin(2000), one(9000.0)]);
    let copied = Scale { feed: "copied".to_owned(), ..scale("cuda:0", 1, 7000.0) };
    let old = [h100(1000, "old"), one(3000.0), Line::Scale(copied)];
    let old = place.record("old.jsonl", &old);
    for files in [[&new, &old], [&old, &new]] {
        let report = Report::read(&files).expect("a report");
        let medians = |section: &Section| {
            let mut medians: Vec<_> =
                section.scales.iter().map(|scale| scale.median_us as u32).collect();
            medians.sort_unstable();
            (section.device.clone(), section.runs.len(), medians)
        };
        let mut found: Vec<_> = report.sections().iter().map(medians).collect();
        found.sort();
        let h100 = ("NVIDIA H100 80GB HBM3".to_owned(), 2, vec![4000, 7000]);
        assert_eq!(found, [h100, ("Orin".to_owned(), 1, vec![9000])]);
        report.write(&place.out(), &place.table()).expect("files");
        let text = fs::read_to_string(place.table()).expect("the text");
        // No times were measured, so there is no table of times.
        assert!(!text.contains("| system |") && text.contains("| 4.00 |"), "{text}");
    }
}

#[test]
fn live_pairs_that_cannot_be_are_refused() {
    let place = Place::new();
    let good = scale("cuda:0", 1, 4000.0);
    for (bad, expected) in [
        (Scale { gpus: 0, ..good.clone() }, "GPUs is 0"),
        (Scale { fps: 0.0, ..good.clone() }, "above 0"),
        (Scale { stitch_us: -1.0, ..good.clone() }, "negative"),
        (Scale { median_us: 30_000.0, ..good.clone() }, "99th percentile"),
        (Scale { broke: Some(64), ..good.clone() }, "not above `held`"),
    ] {
        let file = place.record("bad.jsonl", &[h100(1, "a"), Line::Scale(bad)]);
        let error = Report::read(&[file]).expect_err(expected);
        assert!(matches!(error, ReportError::Value { line: 2, .. }), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    }
    let file = place.record("no-run.jsonl", &[Line::Scale(good)]);
    assert!(matches!(Report::read(&[file]), Err(ReportError::Value { line: 1, .. })));
}

#[test]
fn what_is_written_by_hand_stays() {
    let place = Place::new();
    let (_, once, _) = place.report(&whole());
    let (before, after) =
        ("# Benchmarks\n\nWritten by hand.\n\n<!-- begin", "-->\n\nAlso by hand.\n");
    assert!(once.starts_with(before) && once.ends_with(after) && !once.contains("old"), "{once}");
    let (_, twice, _) = place.report(&whole());
    assert_eq!(once, twice);
}

#[test]
fn the_projects_text_has_a_place_for_the_table() {
    let place = Place::new();
    fs::write(place.table(), include_str!("../../../BENCHMARKS.md")).expect("a text");
    let (_, text, _) = place.report(&whole());
    assert!(text.contains("| fast/mesh |"));
}

#[test]
fn a_text_without_markers_is_refused_before_anything_is_written() {
    let place = Place::new();
    fs::write(place.table(), "# Benchmarks\n").expect("a text");
    let report = Report::read(&[place.record("record.jsonl", &whole())]).expect("a report");
    let error = report.write(&place.out(), &place.table()).expect_err("no markers");
    assert!(matches!(&error, ReportError::Markers { file } if *file == place.table()), "{error}");
    assert!(!place.out().exists());
    let missing = place.0.path().join("missing.md");
    let error = report.write(&place.out(), &missing).expect_err("no text");
    assert!(matches!(&error, ReportError::Read { file, .. } if *file == missing), "{error}");
}

#[test]
fn malformed_lines_are_named() {
    let place = Place::new();
    let good: Vec<_> =
        whole().iter().map(|line| serde_json::to_string(line).expect("JSON")).collect();
    let (run, row) = (&good[0], &good[1]);
    let cut = format!("{run}\n\n{}", &row[..row.len() - 9]);
    let unknown =
        format!("{run}\n{row}\n{}", row.replacen("\"variant\"", "\"x\":1,\"variant\"", 1));
    let kind = "{\"kind\":\"other\"}".to_owned();
    for (i, (text, expected)) in [(cut, 3), (unknown, 3), (kind, 1)].into_iter().enumerate() {
        let file = place.text(&format!("{i}.jsonl"), &text);
        let error = Report::read(&[&file]).expect_err(&text);
        assert!(
            matches!(&error, ReportError::Line { file: named, line, .. } if *named == file && *line == expected),
            "{error}"
        );
        assert!(error.to_string().contains(&format!("{i}.jsonl:{expected} ")), "{error}");
    }
    for (i, (text, expected)) in [
        (row.clone(), 1),
        (format!("{run}\n{}", row.replace("\"median_us\":41.25", "\"median_us\":-1.0")), 2),
        (format!("{run}\n{}", row.replace("\"median_us\":41.25", "\"median_us\":99.0")), 2),
        (format!("{run}\n{}", row.replace("\"bytes\":109707264", "\"bytes\":0")), 2),
        (format!("{run}\n{}", row.replace("\"samples\":20", "\"samples\":0")), 2),
    ]
    .into_iter()
    .enumerate()
    {
        let file = place.text(&format!("value-{i}.jsonl"), &text);
        let error = Report::read(&[&file]).expect_err(&text);
        assert!(
            matches!(&error, ReportError::Value { file: named, line, .. } if *named == file && *line == expected),
            "{error}"
        );
    }
    let missing = place.0.path().join("missing.jsonl");
    let error = Report::read(&[&missing]).expect_err("no file");
    assert!(matches!(&error, ReportError::Read { file, .. } if *file == missing), "{error}");
}

#[test]
fn nothing_measured_is_refused() {
    let place = Place::new();
    let empty = place.text("empty.jsonl", "\n");
    let run_alone = place.record("run.jsonl", &[h100(1000, "a")]);
    let error = Report::read(&[&empty, &run_alone]).expect_err("nothing");
    assert!(matches!(&error, ReportError::Empty { files } if files.len() == 2), "{error}");
    let text = error.to_string();
    assert!(text.contains("nothing to report") && text.contains("empty.jsonl"), "{text}");
}

#[test]
fn the_program_reports_and_says_what_is_wrong() {
    let place = Place::new();
    let run = |records: &[&Path]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_panoweave-bench-report"));
        command.args(records).arg("--out").arg(place.out()).arg("--table").arg(place.table());
        let output = command.output().expect("the program");
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&text).into_owned())
    };
    let empty = place.text("empty.jsonl", "");
    let (code, text) = run(&[&empty]);
    assert_eq!(code, Some(1));
    assert!(text.starts_with("error: nothing to report"), "{text}");
    assert!(!place.out().exists());
    assert_eq!(fs::read_to_string(place.table()).expect("the text"), TEXT);
    let (code, text) = run(&[]);
    assert_eq!(code, Some(2), "{text}");
    let (code, text) = run(&[&place.record("record.jsonl", &whole()), &empty]);
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(text.lines().count(), 3);
    assert!(place.out().join("index.html").is_file());
}
