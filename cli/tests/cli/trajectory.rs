//! Tests `panoweave trajectory resample`. The expected results for a recorded path are from numpy. The expected results
//! for small paths are computed by hand.

use std::io::Write;
use std::process::Stdio;

use panoweave_tests::data;
use serde_json::json;

use crate::{Done, Folder};

const PATH: &str = "t,pan,tilt\n10,0,5\n11,10,5\n13,30,-5\n";

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("path.csv", PATH);
    folder.write("times.csv", "12\n9.5\n11\n14\n");
    folder
}

/// Runs the command in `line`, and writes `input` to its standard input.
fn fed(folder: &Folder, line: &str, input: &[u8]) -> Done {
    let mut command = folder.command();
    command.args(line.split(' ')).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Ignore an error of this write, because the command may end before it has read its input.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap().into()
}

/// Parses CSV text: skips the header, and returns the numbers of each row.
fn rows(text: &str) -> Vec<Vec<f64>> {
    let row = |line: &str| line.split(',').map(|word| word.trim().parse().unwrap()).collect();
    text.lines().skip(1).map(row).collect()
}

#[test]
fn a_recorded_path_is_as_numpy_has_it() {
    let Some(source) = data("traj/freiburg1_xyz-groundtruth.txt") else { return };
    let Some(golden) = data("traj/fr1_xyz_golden.csv") else { return };
    let folder = Folder::new();
    let line = ["--device", "cpu", "-o", "out.csv", "--times"].map(str::as_ref);
    let done = folder.run(
        ["trajectory".as_ref(), "resample".as_ref(), source.as_os_str()]
            .into_iter()
            .chain(line)
            .chain([golden.as_os_str()]),
    );
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{done:?}");
    let said = "out.csv: 788 rows of 7 values from 3000 input rows, 0 before the first or after the last time, on CPU\n";
    assert_eq!(done.stdout, said);
    let written = String::from_utf8(folder.read("out.csv")).unwrap();
    assert!(written.starts_with("t,tx,ty,tz,qx,qy,qz,qw\n"), "{written}");
    let (found, golden) = (rows(&written), rows(&std::fs::read_to_string(golden).unwrap()));
    assert_eq!(found.len(), golden.len());
    for (found, golden) in found.iter().zip(&golden) {
        // Times must be equal, and positions must agree with numpy's to a nanometre.
        assert_eq!(found[0], golden[0]);
        for (found, exact) in found[1..4].iter().zip(&golden[1..4]) {
            assert!((found - exact).abs() < 1e-9, "{found} should be {exact}");
        }
    }
}

/// The shell opens the input before the program starts, so standard input can be the output file.
#[test]
fn the_output_may_not_be_the_file_on_standard_input() {
    let folder = folder();
    let mut command = folder.command();
    command.args("trajectory resample - --fps 1 -o path.csv".split(' '));
    command.stdin(std::fs::File::open(folder.path("path.csv")).unwrap());
    let done: Done = command.output().unwrap().into();
    assert_eq!(done.code, Some(2), "{done:?}");
    assert!(done.stderr.contains("path.csv"), "{done:?}");
    assert_eq!(folder.read("path.csv"), PATH.as_bytes());
}

#[test]
fn standard_input_is_read_to_its_end() {
    let folder = folder();
    let line = "trajectory resample - --fps 1 --device cpu -o frames.csv";
    let done = fed(&folder, line, PATH.as_bytes());
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{done:?}");
    let written = folder.read("frames.csv");
    assert_eq!(written, b"t,pan,tilt\n10,0,5\n11,10,5\n12,20,0\n13,30,-5\n");
    let line = "trajectory resample path.csv --times - --device cpu -o at.csv";
    let done = fed(&folder, line, b"12.5\n");
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{done:?}");
    assert_eq!(folder.read("at.csv"), b"t,pan,tilt\n12.5,25,-2.5\n");
    let done = fed(&folder, "trajectory resample - --fps 1 -o at.csv", b"0,1\nx,2\n");
    assert_eq!(done.code, Some(2), "{done:?}");
    assert!(done.stderr.contains("standard input:2:"), "{done:?}");
    let done = fed(&folder, "trajectory resample - --times - -o at.csv", b"0,1\n");
    assert!(done.stderr.contains("cannot both be read from standard input"), "{done:?}");
}

#[test]
fn frames_of_a_rate() {
    let folder = folder();
    let line = "trajectory resample path.csv --fps 2 --device cpu -o";
    let said = folder.quiet(&format!("{line} frames.csv"));
    assert_eq!(
        said,
        "frames.csv: 7 rows of 2 values from 3 input rows, 0 before the first or after the last time, on CPU\n"
    );
    let expected =
        "t,pan,tilt\n10,0,5\n10.5,5,5\n11,10,5\n11.5,15,2.5\n12,20,0\n12.5,25,-2.5\n13,30,-5\n";
    assert_eq!(String::from_utf8(folder.read("frames.csv")).unwrap(), expected);
    // The output file can be resampled again. The last command replaces the existing file `frames.csv`.
    folder.quiet("trajectory resample frames.csv --fps 1/3 --device cpu -o frames.csv.2");
    assert_eq!(folder.read("frames.csv.2"), b"t,pan,tilt\n10,0,5\n13,30,-5\n");
    folder.quiet("trajectory resample path.csv --fps 1/3 --device cpu -o frames.csv");
    assert_eq!(folder.read("frames.csv"), folder.read("frames.csv.2"));
}

#[test]
fn times_of_a_file_in_any_order_and_beyond_the_ends() {
    let folder = folder();
    let line = "trajectory resample path.csv --times times.csv --device cpu";
    let done = folder.succeeds(&format!("{line} -o -"));
    assert_eq!(done.stdout, "t,pan,tilt\n12,20,0\n9.5,0,5\n11,10,5\n14,30,-5\n");
    assert!(done.stderr.contains("4 rows of 2 values from 3 input rows, 2 before"), "{done:?}");
    assert_eq!(folder.quiet(&format!("-q {line} -o -")), done.stdout);

    let json = folder.words(&format!("--json {line} -o out.csv"));
    assert_eq!((json.code, json.stderr.as_str()), (Some(0), ""), "{json:?}");
    let said = json.json();
    assert_eq!(said["clamped"], 2);
    assert_eq!(said["rows"], json!({ "read": 3, "written": 4 }));
    assert_eq!(said["columns"], json!(["pan", "tilt"]));
    assert_eq!((&said["input"], &said["output"]), (&json!("path.csv"), &json!("out.csv")));
    assert_eq!((&said["device"], &said["rate"]), (&json!("CPU"), &json!(null)));
    assert!(said["times_ms"]["resample"].is_number(), "{said}");
    assert_eq!(folder.read("out.csv"), done.stdout.as_bytes());
    let json = folder.words("--json trajectory resample path.csv --fps 29.97 -o out.csv");
    assert_eq!((&json.json()["rate"], &json.json()["clamped"]), (&json!("30000/1001"), &json!(0)));
}

#[test]
fn what_cannot_be_read_or_written_is_refused() {
    let folder = folder();
    folder.write("descends.csv", "t,x\n2,1\n1,1\n");
    folder.write("word.csv", "t,x\n2,1\n3,one\n");
    folder.write("short.txt", "0 1 2\n1 2\n");
    folder.write("nan.csv", "1\nnan\n");
    folder.write("empty.csv", "");
    folder.write("nanoseconds.csv", "t,x\n1403636579758555392,1\n1403636580763555584,2\n");
    folder.refuses("trajectory resample @", "o.csv", r#"
        missing.csv --fps 30 -o o.csv | input | missing.csv: cannot be read
        left.png --fps 30 -o o.csv | input | left.png: not UTF-8 text
        empty.csv --fps 30 -o o.csv | input | empty.csv: the file has no rows
        word.csv --fps 30 -o o.csv | input | word.csv:3: column 2: "one" is not a number
        descends.csv --fps 30 -o o.csv | input | descends.csv:3: time 1 is less than the previous time
        short.txt --fps 30 -o o.csv | input | short.txt:2: 2 fields, but the first row has 3
        nanoseconds.csv --fps 30 -o o.csv | input | check that the times are in seconds
        path.csv --times missing.csv -o o.csv | input | missing.csv: cannot be read
        path.csv --times nan.csv -o o.csv | input | nan.csv:2: column 1 is not a finite number
        path.csv --times empty.csv -o o.csv | input | empty.csv: the file has no rows
        path.csv --fps 30 -o path.csv | output | it is an input too
        path.csv --times times.csv -o times.csv | output | it is an input too
        path.csv --fps 30 -o no/o.csv | output | the folder no does not exist
        path.csv --fps 30 -o . | output | it is a folder
        path.csv --fps 30 -o - | usage | both write to standard output
        path.csv --fps 0 -o o.csv | usage | a frame rate must be a number
        path.csv --fps -1 -o o.csv | usage | a frame rate must be a number
        path.csv -o o.csv | usage | --fps
        path.csv --fps 30 --times times.csv -o o.csv | usage | cannot be used with
        path.csv --fps 30 | usage | --output
    "#);
    assert_eq!(folder.read("path.csv"), PATH.as_bytes());
    let done = folder.words("trajectory resample path.csv --fps 30 -o o.csv --device cuda:0");
    assert_eq!(done.code, Some(3), "{done:?}");
}

#[test]
fn what_a_terminal_would_obey_is_not_shown() {
    let folder = folder();
    folder.write("colour.csv", "t,x\n1,2\n\x1b[31m2,\u{9b}3\n");
    let done = folder.words("trajectory resample colour.csv --fps 30 -o o.csv");
    assert_eq!(done.code, Some(2), "{done:?}");
    assert!(done.stderr.contains("?[31m2,¿3"), "{done:?}");
    assert!(!done.stderr.contains(['\x1b', '\u{9b}']), "{done:?}");
}

#[test]
fn a_wrong_word_is_shown_in_its_line() {
    let folder = folder();
    folder.write("word.csv", "t,x\n2,1\n3,one\n");
    let done = folder.words("trajectory resample word.csv --fps 30 -o o.csv");
    insta::assert_snapshot!(done.stderr, @r#"
    error: word.csv:3: column 2: "one" is not a number; write numbers like 12, -1.5 or 2e-3
     --> word.csv:3:3
      |
    3 | 3,one
      |   ^^^ here
    "#);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let folder = Folder::new();
    // The output is larger than a pipe's buffer, so the command is still writing when the reader closes the pipe.
    folder.write("long.csv", "t,x\n0,0\n1000,1\n");
    let mut command = folder.command();
    command.args("trajectory resample long.csv --fps 100 --device cpu -o -".split(' '));
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_small_file_does_not_make_a_large_one() {
    let folder = Folder::new();
    folder.write("long.csv", "t,a,b,c\n0,0,1,2\n16000,1,2,3\n");
    let line = "trajectory resample long.csv --fps 1000 --device cpu -o out.csv";
    let done = folder.words(&format!("{line} --max-numbers 64000003"));
    assert_eq!(done.code, Some(2), "{done:?}");
    assert!(done.stderr.contains("16000001 rows of 4 numbers"), "{done:?}");
    assert!(done.stderr.contains("raise --max-numbers"), "{done:?}");
    assert!(!folder.path("out.csv").exists());
    // A file of 30 columns at 1,000 fps would have 5 GB.
    let columns = ",0".repeat(30);
    folder.write("long.csv", format!("0{columns}\n16000{columns}\n"));
    assert!(folder.words(line).stderr.contains("--max-numbers is 100000000"));
    let commas = ",".repeat(1 << 20);
    folder.write("long.csv", &commas);
    let done = folder.words(line);
    assert!(done.stderr.contains("more than 4096 value columns"), "{done:?}");
}

/// The output is written part by part: the parts have the same rows as the whole.
#[test]
fn the_parts_of_a_long_output_fit_together() {
    let folder = Folder::new();
    let names: Vec<_> = (0..600).map(|i| format!("c{i}")).collect();
    let row = |value: u32| format!(",{value}").repeat(600);
    folder.write("wide.csv", format!("t,{}\n0{}\n4096{}\n", names.join(","), row(0), row(4096)));
    folder.quiet("trajectory resample wide.csv --fps 1 --device cpu -o out.csv");
    let written = String::from_utf8(folder.read("out.csv")).unwrap();
    assert_eq!(written.lines().count(), 4098);
    for (n, line) in (0..).zip(written.lines().skip(1)) {
        assert_eq!(line, format!("{n}{}", row(n)));
    }
}
