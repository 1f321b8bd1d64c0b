//! Tests invalid options and files. For each of them, the program must print one message that names the cause, and exit
//! with code 2.

use std::time::{Duration, Instant};

use crate::{Done, Folder};

/// Runs a command twice, without and with `--json`. Both runs must fail with exit code 2, without a panic, and the
/// first run must take less than 2 s. Returns the kind and the message of the JSON error.
fn refused(folder: &Folder, line: &str) -> String {
    let start = Instant::now();
    let done = folder.words(line);
    assert!(start.elapsed() < Duration::from_secs(2), "{line} took {:?}", start.elapsed());
    check(&done, line);
    let json = folder.words(&format!("--json {line}"));
    check(&json, line);
    let error = &json.json()["error"];
    assert_eq!(error["exit_code"], 2, "{line}");
    let kind = error["kind"].as_str().unwrap();
    assert!(["usage", "input", "output"].contains(&kind), "{line}: {kind}");
    let message = error["message"].as_str().unwrap();
    assert!(!message.is_empty() && !message.contains('\n'), "{line}: {message:?}");
    format!("{kind}: {message}")
}

/// Checks the rows of a table, `command | part`: each command must be refused with an error of this kind that contains
/// this part.
fn refused_rows(folder: &Folder, kind: &str, table: &str) {
    for row in crate::rows(table) {
        let (line, part) = row.split_once(" | ").unwrap();
        let message = refused(folder, line);
        assert!(message.starts_with(kind) && message.contains(part), "{line}: {message}");
    }
}

fn check(done: &Done, line: &str) {
    assert_eq!(done.code, Some(2), "{line}: {done:?}");
    assert!(!done.stderr.contains("panicked"), "{line}: {done:?}");
    assert!(done.stderr.contains("error: "), "{line}: {done:?}");
}

#[test]
fn option_values() {
    let folder = Folder::new();
    let stitch = "stitch left.png right.png -o o.png --device cpu";
    let warp = "warp -o o.safetensors --device cpu";
    let table = format!(
        r"
        {stitch} --warp planes --size 0x0 | 1 to 32768 pixels
        {stitch} --warp planes --size 99999999x1 | 1 to 32768 pixels
        {stitch} --warp planes --size 99999999999999999999x1 | 1 to 32768 pixels
        {stitch} --warp planes --size 32768x32768 | at most 67108864
        {stitch} --warp planes --size 64 | such as 3840x2160
        {stitch} --warp planes --size x | such as 3840x2160
        {stitch} --warp planes --size 64x | such as 3840x2160
        {stitch} --warp planes --size +6x4 | such as 3840x2160
        {stitch} --warp planes --size=-6x4 | such as 3840x2160
        {stitch} --warp planes --size 6.5x4 | such as 3840x2160
        {stitch} --warp planes --size 6x4x2 | such as 3840x2160
        {warp} --homography shift.txt --left-size 0x5 --right-size 5x5 | 1 to 32768
        {warp} --homography shift.txt --left-size 5x5 --right-size 5x32769 | 1 to 32768
        {stitch} --rig rig.toml --gain nan | from 0 to 1000
        {stitch} --rig rig.toml --gain inf | from 0 to 1000
        {stitch} --rig rig.toml --gain=-1 | from 0 to 1000
        {stitch} --rig rig.toml --gain 1,2 | three numbers as R,G,B
        {stitch} --rig rig.toml --gain 1,2,3,4 | three numbers as R,G,B
        {stitch} --rig rig.toml --gain 1,,3 | from 0 to 1000
        {stitch} --rig rig.toml --gain 1,1,1e9 | from 0 to 1000
        {stitch} --rig rig.toml --gamma 0 | a number from 0.000001 to 100
        {stitch} --rig rig.toml --gamma NaN | a number from 0.000001 to 100
        {stitch} --rig rig.toml --gamma x | a number from 0.000001 to 100
        {stitch} --rig rig.toml --refine=257 | from 1 to 256
        {stitch} --rig rig.toml --refine=nan | from 1 to 256
        {stitch} --rig rig.toml --refine=x | from 1 to 256
        {stitch} --rig rig.toml --match-colour --anchor 3 | `anchor` is 3, but there are only 2 cameras; give a number from 1 to 2
        {stitch} --rig rig.toml --anchor 0 | a whole number from 1 to 64
        features left.png --window 6 | odd number of pixels from 3 to 31
        features left.png --window 33 | odd number of pixels from 3 to 31
        features left.png --window=-7 | odd number of pixels from 3 to 31
        features left.png --count x | --count
        features left.png --count=-1 | --count
        features left.png --mindist 1.5 | --mindist
        features left.png --border=-1 | --border
        features left.png --min-eigenvalue nan | a number that is at least 0
        features left.png --min-eigenvalue=-1 | a number that is at least 0
        features left.png --gradient-sigma 0 | from 0.1 to 32
        features left.png --gradient-sigma nan | from 0.1 to 32
        features left.png --device gpu | auto, cpu, simulator or cuda:N
        stitch a b --rig r -o o.png --device gpu | auto, cpu, simulator or cuda:N
        stitch a b --rig r -o o.png --device cuda: | auto, cpu, simulator or cuda:N
        stitch a b --rig r -o o.png --device cuda:-1 | auto, cpu, simulator or cuda:N
        stitch a b --rig r -o o.png --device cuda:99999999999 | auto, cpu, simulator or cuda:N
    "
    );
    refused_rows(&folder, "usage", &table);
}

#[test]
fn option_combinations() {
    let folder = Folder::new();
    folder.quiet("warp --device cpu --rig rig.toml -o rig.safetensors");
    folder.export_planes("rig.safetensors");
    let stitch = "stitch left.png right.png -o o.png --device cpu";
    let warp = "warp -o o.safetensors --device cpu";
    let done = folder.words("");
    assert!(done.code == Some(2) && done.stderr.lines().count() <= 12, "{done:?}");
    assert!(done.stderr.contains("\n  panoweave video a.mp4 b.mp4 -o match.mp4\n"), "{done:?}");
    assert!(refused(&folder, "-v").contains("requires a subcommand"));
    let table = format!(
        r"
        sew | unrecognized subcommand
        video -o o.mp4 | <VIDEO>
        stitch --rig rig.toml -o o.png | <PICTURE>
        stitch left.png right.png --rig rig.toml | --output
        {stitch} --rig rig.toml --homography shift.txt | cannot be used with
        {stitch} --rig rig.toml --size 64x32 | size of raw planes
        {stitch} --warp planes | give `size`
        {stitch} --warp rig.safetensors --size 64x32 | stores its own size
        {stitch} --rig rig.toml -v -q | cannot be used with
        {warp} | --rig <FILE>|--homography <FILE>|--import <DIR>
        warp --rig rig.toml | --output
        {warp} --rig rig.toml --left left.png | cannot be used with
        {warp} --rig rig.toml --right-size 4x4 | cannot be used with
        {warp} --homography shift.txt --size 4x4 | cannot be used with
        {warp} --homography shift.txt --left left.png | --right-size WxH
        {warp} --homography shift.txt --right-size 4x4 | --left-size WxH
        {warp} --import planes --left left.png --right right.png | give --size WxH
        {warp} --import planes --size 64x32 --left left.png | --right-size WxH
        warp --rig rig.toml inspect rig.safetensors | cannot be used with
        warp inspect | <FILE>
    "
    );
    refused_rows(&folder, "usage", &table);
}

#[test]
fn files_that_cannot_be_read() {
    let folder = Folder::new();
    folder.quiet("warp --device cpu --rig rig.toml -o rig.safetensors");
    folder.export_planes("rig.safetensors");
    folder.write("empty", "");
    folder.write("bad.toml", "[panorama]\nwidth = \n");
    folder.write("bad.txt", "1 0 0\n0 one 0\n0 0 1\n");
    folder.write("nan.txt", "1 0 0 0 nan 0 0 0 1");
    folder.write("flat.txt", "1 1 0 1 1 0 0 0 1");
    let two = "left.png right.png -o o.png --device cpu";
    let warp = "warp -o o.safetensors --device cpu";
    let table = format!(
        r#"
        stitch none.png right.png --rig rig.toml -o o.png | none.png: cannot be read
        stitch left.png planes --rig rig.toml -o o.png | planes: cannot be read: not a regular
        stitch left.png empty --rig rig.toml -o o.png | empty: not a picture
        stitch left.png rig.toml --rig rig.toml -o o.png | rig.toml: not a picture
        stitch {two} --rig none.toml | none.toml: cannot be read
        stitch {two} --rig planes | planes: cannot be read: not a regular
        stitch {two} --rig left.png | left.png: not UTF-8
        stitch {two} --rig empty | empty:1:1: missing field `panorama`
        stitch {two} --rig bad.toml | bad.toml:2:
        stitch {two} --homography bad.txt | bad.txt:2: "one" is not a number
        stitch {two} --homography nan.txt | number in row 2, column 2 is NaN
        stitch {two} --homography flat.txt | flat.txt: the matrix is singular
        stitch {two} --homography empty | empty: found 0 numbers
        stitch {two} --warp none | none: cannot be read
        stitch {two} --warp empty | empty: not a safetensors file
        stitch {two} --warp left.png | left.png: not a safetensors file
        stitch {two} --warp planes --size 64x33 | lut_left_x.bin: the file has 8192 bytes, but a plane of 64×33 pixels needs 8448
        stitch {two} --warp . --size 64x32 | lut_left_x.bin: the file is missing
        {warp} --import none --size 4x4 --left-size 4x4 --right-size 4x4 | missing
        {warp} --import left.png --size 4x4 --left-size 4x4 --right-size 4x4 | cannot be read
        {warp} --homography shift.txt --left empty --right-size 4x4 | empty: not a picture
        warp inspect none | none: cannot be read
        warp inspect planes | planes: is a directory
        warp inspect rig.toml | rig.toml: not a safetensors file
    "#
    );
    refused_rows(&folder, "input", &table);
}

#[test]
fn pictures_of_another_size_than_the_warp() {
    let folder = Folder::new();
    panoweave::io::picture::Picture::filled(9, 9, panoweave::frame::Rgba8::BLACK)
        .save(folder.path("small.png"))
        .unwrap();
    let message =
        refused(&folder, "stitch left.png small.png --rig rig.toml -o o.png --device cpu");
    insta::assert_snapshot!(message, @"input: small.png: 9×9 pixels, but rig.toml is for pictures of camera 2 of 40×30 pixels; give files of matching sizes");
}

#[test]
fn files_that_cannot_be_written() {
    let folder = Folder::new();
    folder.quiet("warp --device cpu --rig rig.toml -o rig.safetensors");
    folder.export_planes("rig.safetensors");
    std::fs::create_dir(folder.path("folder.png")).unwrap();
    let stitch = "stitch left.png right.png --rig rig.toml --device cpu -o";
    let warp = "warp --rig rig.toml --device cpu -o";
    let before = folder.read("left.png");
    let table = format!(
        r"
        {stitch} pano | the name must end in .png, .jpg or .jpeg
        {stitch} pano.tiff | the name must end in
        {stitch} none/pano.png | the folder none does not exist
        {stitch} left.png/pano.png | the folder left.png does not exist
        {stitch} folder.png | it is a folder
        {stitch} ./left.png | it is an input too
        {stitch} planes/../right.png | it is an input too
        {stitch} rig.toml | it is an input too
        {warp} rig.toml | it is an input too
        {warp} none/o | the folder none does not exist
        {warp} planes | it is a folder
        {warp} /dev/null | it is not a regular file
        stitch left.png right.png --warp planes --size 64x32 --device cpu -o planes/weight_left.bin | it is an input too
        warp inspect rig.safetensors --preview look.gif | the name must end in
        warp inspect rig.safetensors --preview none/look.png | does not exist
        warp inspect rig.safetensors --preview rig.safetensors | it is an input too
    "
    );
    refused_rows(&folder, "output", &table);
    assert_eq!(folder.read("left.png"), before);
}

#[test]
fn an_error_in_a_text_file_is_shown_in_its_place() {
    let folder = Folder::new();
    folder.write("bad.txt", "1 0 0\n0 one 0\n0 0 1\n");
    let done = folder.words("stitch left.png right.png --homography bad.txt -o o.png");
    insta::assert_snapshot!(done.stderr, @r#"
    error: bad.txt:2: "one" is not a number
     --> bad.txt:2:3
      |
    2 | 0 one 0
      |   ^^^ here
    "#);
    folder.write("bad.toml", "[panorama]\nprojection = \"round\"\n");
    let done = folder.words("warp --rig bad.toml -o o.safetensors");
    insta::assert_snapshot!(done.stderr, @r#"
    error: bad.toml:2:14: unknown variant `round`, expected one of `planar`, `cylindrical`, `equirectangular`
     --> bad.toml:2:14
      |
    2 | projection = "round"
      |              ^^^^^^^ here
    "#);
}

/// Text from a file must not control the terminal.
#[test]
fn control_characters_of_files_are_escaped() {
    let folder = Folder::new();
    let named = crate::RIG.replace("\"left\"", r#""\u001b[31mred\u202e""#);
    folder.write("named.toml", named);
    let text = folder.quiet("rig named.toml");
    assert!(text.contains(r"1 \u{1b}[31mred\u{202e} "), "{text}");
    folder.write("round.toml", crate::RIG.replace("cylindrical", r"\u001b[31mround"));
    folder.write("a.y4m", "YUV4MPEG2 W40 H30 F30:1 C\u{1b}[31m\n");
    for line in [
        "warp --rig round.toml -o o.safetensors --device cpu",
        "video a.y4m a.y4m --homography shift.txt --device cpu -o o.y4m",
    ] {
        let done = folder.words(line);
        check(&done, line);
        assert!(done.stderr.contains(r"\u{1b}[31m"), "{line}: {done:?}");
        assert!(!done.stderr.contains('\u{1b}'), "{line}: {done:?}");
    }
    // A shell pattern can supply the name of a file as an argument that does not belong there.
    let done = folder.run(["compare", "a.png", "b.png", "\u{1b}]0;title\u{7}.png"]);
    assert!(done.code == Some(2) && done.stderr.contains(r"\u{1b}]0;title\u{7}.png"), "{done:?}");
}

#[test]
fn inputs_are_never_outputs() {
    let folder = Folder::new();
    folder.quiet("warp --rig rig.toml -o w.safetensors --device cpu -q");
    folder.export_planes("w.safetensors");
    let plane = folder.read("planes/lut_left_x.bin");
    let sizes = "--size 64x32 --left-size 40x30 --right-size 40x30";
    let said = refused(&folder, &format!("warp --import planes {sizes} -o planes/lut_left_x.bin"));
    assert!(said.contains("it is an input too"), "{said}");
    assert_eq!(folder.read("planes/lut_left_x.bin"), plane);

    let yaml = "%YAML:1.0\n---\ncamera_matrix: !!opencv-matrix\n   rows: 3\n   cols: 3\n   dt: d\n   data: [ 30., 0., 19.5, 0., 30., 14.5, 0., 0., 1. ]\ndistortion_coefficients: !!opencv-matrix\n   rows: 4\n   cols: 1\n   dt: d\n   data: [ 0., 0., 0., 0. ]\n";
    folder.write("left.yaml", yaml);
    let matrix = "matrix = { fx = 30.0, fy = 30.0, cx = 19.5, cy = 14.5 }";
    folder.write("y.toml", crate::RIG.replacen(matrix, "opencv = \"left.yaml\"", 1));
    folder.quiet("warp --rig y.toml -o y.safetensors --device cpu -q");
    let said = refused(&folder, "warp --rig y.toml -o left.yaml --device cpu");
    assert!(said.contains("it is an input too"), "{said}");
    assert_eq!(folder.read("left.yaml"), yaml.as_bytes());
}

#[test]
fn a_line_too_long_to_show_is_still_an_error() {
    let folder = Folder::new();
    folder.write("long.txt", format!("{}x", " ".repeat(70_000)));
    refused(&folder, "stitch left.png right.png --homography long.txt -o o.png --device cpu");
    folder.write("long.toml", format!("{}x", " ".repeat(70_000)));
    refused(&folder, "warp --rig long.toml -o o.safetensors --device cpu");
}
