//! Compares a report of synthetic records with numbers computed by hand.

use std::fs;

use panoweave_bench_report::{Line, Role, Row, Run, read, write};

fn run(device: &str, clock: &str) -> Line {
    let facts = vec![("SM clock".to_owned(), clock.to_owned())];
    Line::Run(Run { device: device.to_owned(), commit: "0123abcd".to_owned(), facts })
}

fn row(variant: &str, role: Role, median_us: f64, by_clock: bool) -> Line {
    Line::Row(Row {
        system: "stitch".to_owned(),
        work: "rgba".to_owned(),
        size: "5700×1900".to_owned(),
        bytes: 109_700_000,
        variant: variant.to_owned(),
        role,
        by_clock,
        median_us,
        min_us: median_us,
        max_us: median_us,
        samples: 20,
    })
}

#[test]
fn the_report_compares_the_rows_of_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let record = |name: &str, lines: &[Line]| {
        let lines = lines.iter().map(|line| serde_json::to_string(line).unwrap() + "\n");
        fs::write(at(name), lines.collect::<String>()).unwrap();
        at(name)
    };
    let gpu = record(
        "gpu.jsonl",
        &[
            run("NVIDIA H100", "1965 MHz"),
            row("copy", Role::Copy, 40.0, false),
            row("fast/c++", Role::Original, 150.0, false),
            row("fast/mesh", Role::Ours, 50.0, false),
            row("table/planes", Role::Ours, 160.0, false),
            row("serial", Role::Ours, 800.0, true),
            // In this run, there is no yardstick.
            run("NVIDIA H100", "1980 MHz"),
            row("serial", Role::Ours, 900.0, true),
        ],
    );
    let cpu = record("cpu.jsonl", &[run("CPU", "–"), row("linear/opencv", Role::Peer, 2e5, true)]);
    let head = "\
        | system | work | size | variant | commit | µs | MB | GB/s | share of copy | original µs | ratio | target |\n\
        |---|---|---|---|---|--:|--:|--:|--:|--:|--:|---|\n";
    let same = "| stitch | rgba | 5700×1900 |";
    let expected = format!(
        "## NVIDIA H100\n\n- SM clock: 1965 MHz, 1980 MHz\n\n{head}\
         {same} fast/mesh | 0123abcd | 50.0 | 110 | 2194 | 80 % | 150 | 3.00× | ≤ 46 µs: missed |\n\
         {same} table/planes | 0123abcd | 160 | 110 | 686 | 25 % | – | – | – |\n\
         {same} serial | 0123abcd | 900\\* | 110 | 122 | – | – | – | – |\n\n\
         ## CPU\n\n- SM clock: –\n\n{head}\
         {same} linear/opencv | 0123abcd | 200000\\* | 110 | 0.548 | – | – | – | – |\n"
    );
    let sections = read(&[&gpu, &cpu]).unwrap();
    write(&sections, &at("out")).unwrap();
    assert_eq!(fs::read_to_string(at("out/report.md")).unwrap(), expected);
    let json = fs::read_to_string(at("out/report.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let figure = &json[0]["figures"][2];
    assert_eq!(figure["variant"], "fast/mesh");
    assert_eq!(figure["ratio"], 3.0);
}

#[test]
fn errors_name_the_file_and_the_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("record.jsonl");
    let text = |line: Line| serde_json::to_string(&line).unwrap();
    let (run, row) = (text(run("GPU", "")), text(row("a", Role::Ours, 1.0, false)));
    for (content, expected) in [
        (format!("{run}\n{}", &row[..40]), "record.jsonl:2 is not a line"),
        (row, "record.jsonl:1 is not a line of a bench record: no run"),
        (run, "no measurements"),
    ] {
        fs::write(&file, content).unwrap();
        let error = read(&[&file]).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
