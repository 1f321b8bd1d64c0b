//! Tests `panoweave quality` on panoramas whose brightness step, colour difference or flicker is known. Also tests
//! `--fail-below` and rejected inputs.

use panoweave::frame::Rgba8;
use panoweave::io::picture::Picture;
use panoweave::quality::owners_of_warp;
use panoweave::warp::Warp;
use panoweave_tests::data;
use serde_json::{Value, json};

use crate::Folder;
use crate::video::{flat, y4m};

/// A homography from pixels of the right picture to pixels of the left picture: it adds 120 columns, so pictures with
/// 160 columns overlap by a quarter.
const SHIFT: &str = "1 0 120  0 1 0  0 0 1\n";
const MAP: &str = "--homography shift120.txt --device cpu";

/// Returns the gray level of a pixel of the scene. The scene is 280 columns wide, and each camera sees 160 columns.
fn scene(x: u32, y: u32) -> u8 {
    (90 + (x * 5 + y * 11) % 23 + x / 4) as u8
}

/// Returns the levels of a 160×120 picture that begins at scene column `first` and is brighter by `more` levels.
fn camera(first: u32, more: i32) -> Vec<u8> {
    let level = |i: u32| (i32::from(scene(first + i % 160, i / 160)) + more) as u8;
    (0..160 * 120).map(level).collect()
}

fn picture(width: u32, levels: &[u8]) -> Picture {
    let pixels = levels.iter().map(|&level| Rgba8::opaque(level, level, level)).collect();
    Picture::from_pixels(width, levels.len() as u32 / width, pixels).unwrap()
}

/// Creates a folder with the pictures of two cameras, `l.png` and `r.png`. The right picture is `brighter` levels
/// brighter than the scene.
fn folder(brighter: i32) -> Folder {
    let folder = Folder::new();
    folder.write("shift120.txt", SHIFT);
    picture(160, &camera(0, 0)).save(folder.path("l.png")).unwrap();
    picture(160, &camera(120, brighter)).save(folder.path("r.png")).unwrap();
    folder
}

fn measured(folder: &Folder, line: &str) -> Value {
    folder.quiet_json(&format!("quality {line} {MAP} --json"))
}

fn ratio(json: &Value) -> f64 {
    json["seam"]["ratio"]["most"]["value"].as_f64().unwrap()
}

#[test]
fn pictures_are_stitched_and_measured() {
    let folder = folder(0);
    let json = measured(&folder, "l.png r.png");
    assert!((ratio(&json) - 1.0).abs() < 0.25, "{json}");
    assert_eq!(json["colour"]["after"]["most"]["value"], 0.0);
    assert_eq!(json["scores"]["colour"], 1.0);
    assert!((json["overlap"].as_f64().unwrap() - 1.0 / 7.0).abs() < 0.03, "{json}");
    assert_eq!((&json["kind"], &json["flicker"]), (&json!("pictures"), &Value::Null));

    let folder = self::folder(20);
    let left_alone = measured(&folder, "l.png r.png --no-colour --blend seam --feather 1");
    let before = left_alone["colour"]["before"]["most"]["value"].as_f64().unwrap();
    assert!((before - 20.0).abs() < 1e-4, "{left_alone}");
    assert_eq!(left_alone["colour"]["after"], left_alone["colour"]["before"]);
    assert!((left_alone["scores"]["colour"].as_f64().unwrap() - 1.0 / 3.0).abs() < 1e-4);
    assert!(ratio(&left_alone) > 1.7, "{left_alone}");
    let matched = measured(&folder, "l.png r.png --blend seam --feather 1");
    assert!(matched["scores"]["colour"].as_f64().unwrap() > 0.9, "{matched}");
    assert!(ratio(&matched) < ratio(&left_alone) - 0.3, "{matched}");
    // The seam of a panorama that is flipped with `--flip` must be equally visible.
    let turned = measured(&folder, "l.png r.png --no-colour --blend seam --feather 1 --flip");
    assert_eq!(ratio(&turned), ratio(&left_alone));
}

/// The stitch ignores transparent pixels, so their colours do not count.
#[test]
fn transparent_pixels_are_not_measured() {
    let folder = folder(0);
    let mut right = folder.picture("r.png");
    let hidden = |i: usize, rows: usize| i % 160 < 60 && i / 160 < rows;
    let mut hide = |rows| {
        for (i, pixel) in right.pixels_mut().iter_mut().enumerate() {
            if hidden(i, rows) {
                *pixel = Rgba8 { r: 0, g: 0, b: 255, a: 0 };
            }
        }
        right.save(folder.path("r.png")).unwrap();
    };
    let overlap = |found: &Value| found["overlap"].as_f64().unwrap();
    let whole = measured(&folder, "l.png r.png --no-colour");
    // The upper half of the overlap is transparent.
    hide(60);
    for line in ["l.png r.png --no-colour", "l.png r.png", "p.png --cameras l.png r.png"] {
        folder.quiet(&format!("stitch l.png r.png {MAP} -o p.png"));
        let found = measured(&folder, line);
        assert!(found["colour"]["before"]["mean"].as_f64().unwrap() < 0.01, "{line}: {found}");
        assert!((overlap(&found) / overlap(&whole) - 0.5).abs() < 0.05, "{line}: {found}");
    }
    hide(120);
    let none = folder.words(&format!("quality l.png r.png --no-colour {MAP} --json")).json();
    assert!(none["colour"].is_null() && none["overlap"].is_null(), "{none}");
}

#[test]
fn a_panorama_alone_is_measured_where_the_map_hands_over() {
    let folder = folder(0);
    let stitch = "stitch l.png r.png --homography shift120.txt --device cpu -o p.png";
    folder.quiet(stitch);
    folder.quiet(
        "warp --homography shift120.txt --left l.png --right r.png --device cpu -o map.st -q",
    );
    let alone = |file: &str| {
        folder.quiet_json(&format!("quality {file} --warp map.st --device cpu --json"))
    };
    let found = alone("p.png");
    assert!(ratio(&found) < 1.3, "{found}");
    assert_eq!((&found["colour"], &found["scores"]["colour"]), (&Value::Null, &Value::Null));
    // Brighten the right camera's part of the panorama by 30 levels, which makes a step at the border between the
    // cameras.
    let owners = owners_of_warp(&Warp::open(folder.path("map.st")).unwrap());
    let mut stepped = folder.picture("p.png");
    for (pixel, owner) in stepped.pixels_mut().iter_mut().zip(owners) {
        if owner == 1 {
            *pixel = Rgba8::opaque(pixel.r + 30, pixel.g + 30, pixel.b + 30);
        }
    }
    stepped.save(folder.path("stepped.png")).unwrap();
    let bad = alone("stepped.png");
    assert!(ratio(&bad) > ratio(&found) + 1.0, "{bad}");
    let spans = bad["seam"]["frames"][0]["spans"].as_array().unwrap();
    assert_eq!(spans.len(), 3);
    for span in spans {
        assert!((span["step"].as_f64().unwrap() - 30.0).abs() < 8.0, "{span}");
    }
    // If `--cameras` names the cameras' pictures, their overlap and their colour difference are also measured.
    let more = measured(&folder, "p.png --cameras l.png r.png --reference p.png");
    assert_eq!(more["seam"], found["seam"]);
    assert!(more["colour"]["after"].is_null() && more["overlap"].is_number(), "{more}");
    assert_eq!(more["colour"]["before"]["mean"], 0.0);
    assert_eq!(more["scores"]["ssim"], 1.0);
    assert!(more["similarity"]["psnr_gray"].is_null(), "{more}");
    // A panorama that was stitched with `--flip` must be measured with `--flip`, so that the seam is found.
    folder.quiet(&format!("{stitch} --flip"));
    assert!(ratio(&measured(&folder, "p.png --cameras l.png r.png --flip")) < 1.3);
}

#[test]
fn gates_name_what_is_below() {
    let folder = folder(20);
    let line = format!("quality l.png r.png --no-colour {MAP}");
    for (gates, code, says) in [
        ("--fail-below 0.3", 0, ""),
        ("--fail-below 0.9", 5, "failed: colour is 0.333333, below 0.9\n"),
        ("--fail-below colour=0.3", 0, ""),
        (
            "--fail-below colour=0.34 --fail-below seam=0.1",
            5,
            "failed: colour is 0.333333, below 0.34\n",
        ),
    ] {
        let done = folder.words(&format!("{line} {gates}"));
        assert_eq!((done.code, done.stderr.as_str()), (Some(code), ""), "{gates}: {done:?}");
        assert!(done.stdout.ends_with(says) && done.stdout.contains("seam "), "{gates}: {done:?}");
        assert_eq!(done.stdout.contains("failed"), code == 5, "{done:?}");
        let json = folder.words(&format!("{line} {gates} --json")).json();
        assert_eq!(json["failed"].as_array().unwrap().len(), usize::from(code == 5), "{json}");
    }
    // `--fail-below` with a score that could not be measured, such as the flicker of a picture, is an error.
    folder.fails(&format!("{line} --fail-below flicker=0.5"), "no value was measured for flicker");
}

/// Writes videos of both cameras, `l.y4m` and `r.y4m`. Frame `t` of both is `light(t)` levels brighter than the scene.
fn videos(folder: &Folder, light: impl Fn(u32) -> i32, frames: u32) {
    for (name, first) in [("l.y4m", 0), ("r.y4m", 120)] {
        let frames: Vec<_> = (0..frames).map(|t| camera(first, light(t))).collect();
        folder.write(name, y4m(160, 120, "30:1", &frames));
    }
}

#[test]
fn videos_are_stitched_and_measured() {
    let folder = folder(0);
    videos(&folder, |_| 0, 24);
    let json = measured(&folder, "l.y4m r.y4m --every 8");
    assert_eq!((&json["kind"], &json["flicker"]["frames"]), (&json!("videos"), &json!(24)));
    assert!(json["scores"]["flicker"].as_f64().unwrap() > 0.99, "{json}");
    assert!(json["scores"]["colour"].as_f64().unwrap() > 0.99, "{json}");
    let frames = |json: &Value| -> Vec<u64> {
        let frames = json["seam"]["frames"].as_array().unwrap().iter();
        frames.map(|frame| frame["frame"].as_u64().unwrap()).collect()
    };
    assert_eq!(frames(&json), [0, 8, 16]);
    assert!((ratio(&json) - 1.0).abs() < 0.25, "{json}");

    videos(&folder, |t| if t % 2 == 0 { 3 } else { -3 }, 12);
    let json = measured(&folder, "l.y4m r.y4m --no-colour --every 5 --frames 11");
    let mean = json["flicker"]["mean"].as_f64().unwrap();
    // The brightness alternates between 3 levels above and 3 levels below its mean, so the flicker is 3.
    assert!((mean - 3.0).abs() < 0.5, "{json}");
    assert_eq!((json["flicker"]["frames"].as_u64(), frames(&json)), (Some(11), vec![0, 5, 10]));
    let table = folder.quiet(&format!("quality l.y4m r.y4m --no-colour {MAP}"));
    assert!(
        table.contains("flicker   0.7")
            && table.contains("  poor    mean 3.")
            && table.contains("12 frames"),
        "{table}"
    );
}

/// Measures videos whose right camera is brighter by 30 levels. `quality` must find this step at the seam that the
/// stitcher chose for the frame. In a feathered panorama, it must find no step.
#[test]
fn a_video_is_measured_at_the_stitchers_seam() {
    let folder = folder(0);
    for (name, first, more) in [("l.y4m", 0, 0), ("r.y4m", 120, 30)] {
        let frames: Vec<_> = (0..31).map(|_| camera(first, more)).collect();
        folder.write(name, y4m(160, 120, "30:1", &frames));
    }
    let line = "l.y4m r.y4m --no-colour --every 30";
    let feather = measured(&folder, line);
    let seam = measured(&folder, &format!("{line} --blend seam --feather 1"));
    // `step` returns the level difference in frame 30 between the two sides of the seam, at pixels that are 5 pixels
    // apart. By frame 30, the stitcher has completely faded from the feathered blend to the seam.
    let step = |json: &Value| json["seam"]["frames"][1]["spans"][1]["step"].as_f64().unwrap();
    assert!(step(&feather) < 3.0, "{feather}");
    assert!(step(&seam) > 25.0, "{}", seam["seam"]["frames"]);
}

#[test]
fn a_video_of_panoramas_is_measured() {
    let folder = folder(0);
    videos(&folder, |t| if t % 2 == 0 { 3 } else { -3 }, 10);
    folder.quiet(&format!("video l.y4m r.y4m {MAP} --no-colour -o p.y4m -q"));
    let live = measured(&folder, "l.y4m r.y4m --no-colour --every 4");
    let file = measured(&folder, "p.y4m --cameras l.y4m r.y4m --every 4");
    assert_eq!(file["flicker"]["frames"], 10);
    assert_eq!(file["colour"]["before"], live["colour"]["before"]);
    assert!(file["colour"]["after"].is_null());
    let [a, b] = [&live, &file].map(|json| json["flicker"]["mean"].as_f64().unwrap());
    // The Y4M file stores luma with 219 levels (limited range) instead of 255, so its flicker has fewer levels.
    assert!((a - b * 255.0 / 219.0).abs() < 0.3, "{a}, {b}");
    folder.quiet(
        "warp --homography shift120.txt --left l.png --right r.png --device cpu -o map.st -q",
    );
    let done = folder.words("quality p.y4m --warp map.st --device cpu --json --every 4");
    assert_eq!(done.json()["seam"], file["seam"], "{done:?}");
    let done = folder.words("quality p.y4m --warp map.st --device cpu --fail-below flicker=0.9");
    assert_eq!(done.code, Some(5), "{done:?}");
    assert!(done.stdout.contains("failed: flicker is 0.7"), "{done:?}");
}

#[test]
fn photographs() {
    let Some(table) = data("stitch_ref/pairs.csv") else { return };
    let (Some(left), Some(right)) =
        (data("scenes/weir/weir_1.jpg"), data("scenes/weir/weir_2.jpg"))
    else {
        return;
    };
    let folder = Folder::new();
    let table = std::fs::read_to_string(table).unwrap();
    let row = table.lines().find(|line| line.starts_with("weir,weir_1.jpg,")).unwrap();
    folder.write("h.txt", row.split(',').nth(9).unwrap());
    let measure = |options: &str| {
        let line = format!("quality --homography h.txt --device cpu --json {options}");
        let done = folder.run(
            line.split_whitespace()
                .map(std::ffi::OsStr::new)
                .chain([left.as_os_str(), right.as_os_str()]),
        );
        assert_eq!(done.code, Some(0), "{done:?}");
        done.json()
    };
    let apart = measure("--no-colour --blend seam --feather 1");
    let matched = measure("--blend seam --feather 1");
    let colour = |json: &Value| json["colour"]["after"]["most"]["value"].as_f64().unwrap();
    // What is burnt in one picture only stays white, so a part of the difference remains.
    assert!(colour(&matched) < 0.5 * colour(&apart), "{} of {}", colour(&matched), colour(&apart));
    let step = |json: &Value| {
        let spans = json["seam"]["frames"][0]["spans"].as_array().unwrap().iter();
        spans.map(|span| span["step"].as_f64().unwrap()).fold(0.0, f64::max)
    };
    assert!(step(&matched) < 0.5 * step(&apart), "{} of {}", step(&matched), step(&apart));
}

#[test]
fn what_cannot_be_measured() {
    let folder = folder(0);
    folder.write("a.y4m", flat("30:1", 0..3));
    folder.quiet("stitch l.png r.png --homography shift120.txt --device cpu -o p.png");
    folder.quiet(
        "warp --homography shift120.txt --left l.png --right r.png --device cpu -o map.st -q",
    );
    folder.quiet("warp --rig rig.toml --device cpu -o rig.st -q");
    folder.export_planes("rig.st");
    folder.write(
        "three.toml",
        format!(
            "{}{}",
            crate::RIG,
            &crate::RIG[crate::RIG.find("[[camera]]").unwrap()..]
                .replace("\"left\"", "\"l2\"")
                .replace("\"right\"", "\"r2\"")
        ),
    );
    Picture::filled(1, 1, Rgba8::BLACK).save(folder.path("one.png")).unwrap();
    Picture::filled(11, 11, Rgba8::BLACK).save(folder.path("eleven.png")).unwrap();
    folder.refuses("quality @ --device cpu", "",r"
        p.png | usage | --warp <PATH>|--rig <FILE>|--homography <FILE>
        --warp map.st | usage | PANORAMA | CAMERA CAMERA
        l.png r.png l.png --warp map.st | input | 3 pictures
        p.png --homography shift120.txt | usage | give the pictures or videos of the cameras
        p.png --warp planes --size 64x32 | usage | give the pictures or videos of the cameras
        l.png r.png --cameras l.png r.png --warp map.st | usage | several files are stitched first
        p.png --cameras l.png --warp map.st | input | map.st: it is for 2 pictures, but 1
        p.png --warp map.st --fail-below beauty=1 | usage | there is no score beauty; choose one of: seam, colour
        p.png --warp map.st --every 0 | usage | --every
        a.y4m --rig rig.toml --reference p.png | usage | --reference requires pictures
        - - --rig rig.toml | usage | only one of the videos
        p.png --warp map.st --feather 3 | usage | set `blend` to seam, too
        p.png --warp map.st --blend seam | usage | only if the panorama is stitched first
        p.png --warp map.st --gain 2 | usage | only if the panorama is stitched first
        p.png --warp map.st --no-colour | usage | only if the panorama is stitched first
        p.png --warp map.st --fps 10 | usage | do not apply to pictures
        missing.png --warp map.st | input | missing.png: cannot be read
        p.png --warp missing | input | missing: cannot be read
        p.png --warp l.png | input | not a safetensors file
        one.png --warp map.st | input | one.png: the size is 1×1 pixels, but map.st describes a panorama of 280×120 pixels
        eleven.png --warp map.st | input | eleven.png: the size is 11×11 pixels
        p.png --rig three.toml | input | three.toml describes a panorama of 64×32
        a.y4m --warp map.st | input | a.y4m: the size is 40×30 pixels
        l.png a.y4m --warp map.st | input | l.png: it is a picture, but a.y4m is a video
        p.png --cameras a.y4m a.y4m --warp map.st | input | p.png: it is a picture, but a.y4m is a video
        l.png one.png --warp map.st | input | one.png: 1×1 pixels, but map.st is for pictures of camera 2
        p.png --warp map.st --reference eleven.png | input | eleven.png and p.png: ssim: the second
        missing.y4m a.y4m --rig rig.toml | input | missing.y4m: cannot be read
    ");
    // The areas of the cameras do not touch, so there is neither a seam nor an overlap to measure. This is no error.
    folder.write("apart.txt", "1 0 500  0 1 0  0 0 1\n");
    let done = folder.succeeds("quality l.png r.png --homography apart.txt --device cpu");
    assert!(done.stderr.contains("nothing could be measured"), "{done:?}");
}
