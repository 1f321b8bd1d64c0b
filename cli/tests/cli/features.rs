//! Tests `panoweave features` on a picture of two squares, whose corners are the expected features.

use panoweave::frame::Rgba8;
use panoweave::io::picture::Picture;

use crate::Folder;

/// Draws a white square and a light gray square on a gray background. Their eight corners are the expected features.
fn squares() -> Picture {
    let pixel = |at: u32| {
        let (x, y) = (at % 120, at / 120);
        let white = (40..60).contains(&x) && (30..50).contains(&y);
        let light = (80..92).contains(&x) && (50..62).contains(&y);
        let level = if white {
            255
        } else if light {
            180
        } else {
            100
        };
        Rgba8::opaque(level, level, level)
    };
    Picture::from_pixels(120, 90, (0..120 * 90).map(pixel).collect()).unwrap()
}

fn folder() -> Folder {
    let folder = Folder::new();
    squares().save(folder.path("squares.png")).unwrap();
    folder
}

/// Parses the printed features: column, row and eigenvalue of each.
fn table(text: &str) -> Vec<(u32, u32, f32)> {
    let line = |line: &str| {
        let words: Vec<_> = line.split_whitespace().collect();
        let [x, y, value] = words[..] else { panic!("{line:?}") };
        (x.parse().unwrap(), y.parse().unwrap(), value.parse().unwrap())
    };
    text.lines().map(line).collect()
}

#[test]
fn features_are_the_corners_of_squares() {
    let folder = folder();
    let line = "features squares.png --device cpu --border 8 --min-eigenvalue 100";
    let found = table(&folder.quiet(line));
    assert_eq!(found.len(), 8, "{found:?}");
    assert!(found.is_sorted_by(|a, b| a.2 >= b.2), "{found:?}");
    let corners = |x: [f32; 2], y: [f32; 2]| x.map(|x| y.map(|y| (x, y))).concat();
    // The corners of the white square are stronger, so they come first.
    for (found, corners) in [
        (&found[..4], corners([39.5, 59.5], [29.5, 49.5])),
        (&found[4..], corners([79.5, 91.5], [49.5, 61.5])),
    ] {
        for (x, y) in corners {
            let near = |&&(fx, fy, _): &&(u32, u32, f32)| {
                (fx as f32 - x).abs() < 4.0 && (fy as f32 - y).abs() < 4.0
            };
            assert_eq!(found.iter().filter(near).count(), 1, "({x}, {y}): {found:?}");
        }
    }
    assert_eq!(table(&folder.quiet(&format!("{line} --count 3"))), found[..3]);
}

/// Reads a 16-bit picture with a transparent pixel. Each loss must be a warning, and an element of the JSON.
#[test]
fn losses_on_reading_are_reported() {
    let folder = folder();
    let mut deep = image::open(folder.path("squares.png")).unwrap().to_rgba16();
    deep.get_pixel_mut(3, 4).0[3] = 40_000;
    deep.save(folder.path("deep.png")).unwrap();
    let done = folder.words("--json features deep.png --device cpu");
    insta::assert_snapshot!(done.stderr, @r"
     WARN deep.png: 16-bit samples are rounded to 8 bits
     WARN deep.png: the opacity of the pixels is ignored
    ");
    let kinds = |json: &serde_json::Value| {
        let conversions = json["conversions"].as_array().unwrap();
        conversions.iter().map(|one| one["kind"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(kinds(&done.json()), ["depth", "alpha"]);
    assert_eq!(done.json()["conversions"][0]["input"], "deep.png");
    // The stitch uses opacity as a mask, so it does not lose it.
    let line = "--json stitch left.png right.png --rig rig.toml --device cpu -o out.png";
    assert!(kinds(&folder.words(line).json()).is_empty());
    for side in ["left.png", "right.png"] {
        let mut deep = image::open(folder.path(side)).unwrap().to_rgba16();
        deep.get_pixel_mut(3, 4).0[3] = 0;
        deep.save(folder.path(side)).unwrap();
    }
    assert!(kinds(&folder.words(line).json()).is_empty());
    assert_eq!(kinds(&folder.words(&format!("{line} --depth 8")).json()), ["depth", "depth"]);
}

#[test]
fn json_says_what_the_table_says() {
    let folder = folder();
    let line = "features squares.png --device cpu --border 8 --count 5";
    let json = folder.quiet_json(&format!("--json {line}"));
    assert_eq!(json["file"], "squares.png");
    assert_eq!(json["size"], serde_json::json!([120, 90]));
    assert_eq!(json["device"], "CPU");
    assert!(json["preview"].is_null() && json["times_ms"]["find"].is_number(), "{json}");
    let features = json["features"].as_array().unwrap();
    for (feature, (x, y, value)) in features.iter().zip(table(&folder.quiet(line))) {
        assert_eq!(
            (feature["x"].as_u64(), feature["y"].as_u64()),
            (Some(x.into()), Some(y.into()))
        );
        assert!((feature["value"].as_f64().unwrap() - f64::from(value)).abs() < 0.01, "{feature}");
    }
    assert_eq!(features.len(), 5);
}

#[test]
fn the_preview_has_a_mark_around_each_feature() {
    let folder = folder();
    let line = "features squares.png --device cpu --border 8 --count 4 --preview marked.png";
    let found = table(&folder.quiet(line));
    let (before, after) = (squares(), folder.picture("marked.png"));
    let yellow = Rgba8::opaque(255, 220, 0);
    let at = |x: u32, y: u32| (y * 120 + x) as usize;
    for &(x, y, _) in &found {
        assert_eq!(after.pixels()[at(x, y)], before.pixels()[at(x, y)]);
        for (x, y) in [(x - 3, y), (x + 3, y), (x, y - 3), (x, y + 3), (x + 3, y + 3)] {
            assert_eq!(after.pixels()[at(x, y)], yellow);
        }
    }
    let changed = before.pixels().iter().zip(after.pixels()).filter(|(a, b)| a != b).count();
    // Each feature is marked by two square outlines. One has 24 pixels, the other has 32 pixels.
    assert_eq!(changed, found.len() * 56);
}

#[test]
fn a_picture_without_features_is_no_error() {
    let folder = folder();
    Picture::filled(3, 2, Rgba8::opaque(1, 2, 3)).save(folder.path("tiny.png")).unwrap();
    assert_eq!(folder.quiet("features tiny.png --device cpu --border 0"), "");
    assert_eq!(folder.quiet("features squares.png --device cpu --count 0"), "");
    assert_eq!(folder.quiet("features squares.png --device cpu --border 1000"), "");
}

/// The time grows with sigma: at 1000, a picture of a camera took minutes.
#[test]
fn a_gradient_sigma_has_a_limit() {
    let folder = folder();
    folder.fails(
        "features squares.png --device cpu --gradient-sigma 33",
        "a number of pixels from 0.1 to 32",
    );
    folder.quiet("features squares.png --device cpu --gradient-sigma 32");
    assert!(folder.quiet("features --help").contains("from 0.1 to 32"));
}

#[test]
fn files_that_cannot_be_read_or_written_are_refused() {
    let folder = folder();
    folder.refuses(
        "@",
        "marked.png",
        r"
        features missing.png | input | missing.png: cannot be read
        features rig.toml | input | rig.toml: not a picture
        features squares.png --preview squares.png | output | it is an input too
        features squares.png --preview marked.gif | output | must end in .png
        features squares.png --preview no/marked.png | output | does not exist
    ",
    );
    let done = folder.words("features squares.png --device cuda:0");
    assert_eq!(done.code, Some(3), "{done:?}");
}
