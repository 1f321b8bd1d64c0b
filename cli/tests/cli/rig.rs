//! Tests `panoweave rig`, which measures and draws the areas and overlaps of a rig's cameras.

use panoweave::frame::Rgba8;
use panoweave::io::picture::Picture;
use serde_json::{Value, json};

use crate::Folder;

const ROW: &str = include_str!("../../../rigs/row.toml");
const RING: &str = include_str!("../../../rigs/ring.toml");

/// Returns a rig of cameras with 400×300 pixels and a focal length of 300, which look in the directions `yaws`, on a
/// cylinder of 1200 columns and 300°.
fn rig(yaws: &[f64]) -> String {
    let mut text =
        "[panorama]\nprojection = \"cylindrical\"\nwidth = 1200\nheight = 150\nfov = 300.0\n"
            .to_owned();
    for (i, yaw) in yaws.iter().enumerate() {
        text += &format!(
            "[[camera]]\nname = \"c{i}\"\nsize = [400, 300]\nlens = \"pinhole\"\n\
             matrix = {{ fx = 300.0, fy = 300.0, cx = 200.0, cy = 150.0 }}\nyaw = {yaw:.1}\n"
        );
    }
    text
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn a_row_of_four_cameras() {
    let folder = Folder::new();
    folder.write("row.toml", ROW);
    let text = folder.quiet("rig row.toml");
    insta::assert_snapshot!(text, @"
    row.toml
    panorama  5620×930 pixels, cylindrical, 4 cameras, 0.0 % uncovered

    camera            picture  of canvas  of picture used  area
    1 left          1920×1080     30.8 %           89.3 %  1729×930 pixels at column 0, row 0
    2 centre left   1920×1080     31.1 %           90.6 %  1748×930 pixels at column 1284, row 0
    3 centre right  1920×1080     31.1 %           90.6 %  1751×930 pixels at column 2588, row 0
    4 right         1920×1080     30.8 %           89.3 %  1729×930 pixels at column 3891, row 0

    overlap                         of smaller     of pictures  area
    1 left – 2 centre left              25.7 %  25.3 %, 25.4 %  445×930 pixels at column 1284, row 0
    2 centre left – 3 centre right      25.4 %  25.3 %, 25.4 %  445×930 pixels at column 2588, row 0
    3 centre right – 4 right            25.7 %  25.3 %, 25.4 %  447×930 pixels at column 3891, row 0
    ");
}

#[test]
fn a_ring_of_six_cameras_overlaps_across_the_edge() {
    let folder = Folder::new();
    folder.write("ring.toml", RING);
    let done = folder.words("rig ring.toml --json --preview ring.png");
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
    let found = done.json();
    assert_eq!((&found["rig"], &found["preview"]), (&json!("ring.toml"), &json!("ring.png")));
    assert_eq!(found["panorama"], json!({ "projection": "cylindrical", "size": [7860, 930] }));
    let pairs = found["pairs"].as_array().unwrap();
    let cameras: Vec<&Value> = pairs.iter().map(|pair| &pair["cameras"]).collect();
    assert_eq!(json!(cameras), json!([[1, 2], [1, 6], [2, 3], [3, 4], [4, 5], [5, 6]]));
    // Half the angle of a picture, at the radius where 1251·r·(1 − 0.02 r² + 0.004 r⁴) is half the width.
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..50 {
        let r: f64 = (low + high) / 2.0;
        if 1251.0 * r * (1.0 - 0.02 * r * r + 0.004 * r.powi(4)) < 960.0 {
            low = r
        } else {
            high = r
        }
    }
    let overlap = 2.0 * f64::atan(low).to_degrees() - 60.0;
    for pair in pairs {
        let width = number(&pair["bounds"]["width"]) * 360.0 / 7860.0;
        // The box is wider than the overlap on the horizon, because distortion bends the edges of the pictures.
        assert!((width - overlap).abs() < 0.05 * overlap, "{width}° {overlap}°");
        let shares = [&pair["smaller"], &pair["pictures"][0], &pair["pictures"][1]].map(number);
        assert!(shares.iter().all(|share| (0.15..0.3).contains(share)), "{pair}");
    }
    // Cameras 3 and 4 look to 120° and 180°. The middle of their overlap is 150° to the right of the middle of the
    // canvas.
    let bounds = &pairs[3]["bounds"];
    let middle = number(&bounds["x"]) + number(&bounds["width"]) / 2.0;
    assert!((middle - 7860.0 * (0.5 + 150.0 / 360.0)).abs() < 5.0, "{bounds}");
    // The area of the fourth camera continues at the left edge.
    let back = &found["cameras"][3];
    assert_eq!((&back["name"], &back["size"]), (&json!("back"), &json!([1920, 1080])));
    let (x, width) = (number(&back["bounds"]["x"]), number(&back["bounds"]["width"]));
    assert!(x < 7860.0 && x + width > 7860.0 && width < 2000.0, "{back}");
    assert_eq!(found["groups"], json!([[1, 2, 3, 4, 5, 6]]));
    assert_eq!(found["meetings"], json!([]));
    assert!(number(&found["uncovered"]) < 0.001, "{found}");

    let picture = folder.picture("ring.png");
    assert_eq!((picture.width(), picture.height()), (1600, 189));
    // The first and the last column show the same camera, whose colour the camera in the middle does not have.
    let at = |x: u32| picture.pixels()[(40 * 1600 + x) as usize];
    assert_eq!(at(2), at(1597));
    assert_ne!(at(2), at(840));
}

#[test]
fn three_cameras_in_two_parts() {
    let folder = Folder::new();
    folder.write("parts.toml", rig(&[-100.0, -60.0, 60.0]));
    let done = folder.succeeds("rig parts.toml");
    assert!(done.stderr.contains("no overlap connects the cameras 1 and 2 | 3;"), "{done:?}");
    assert!(!done.stdout.contains("three or more"), "{done:?}");
    let found = folder.words("-q --json rig parts.toml").json();
    assert_eq!(found["groups"], json!([[1, 2], [3]]));
    // Each picture covers 2·atan(2/3) of the 300° and all rows, and the pictures overlap by all but 40° of it.
    let whole = 2.0 * f64::atan(2.0 / 3.0).to_degrees();
    let close = |found: &Value, exact: f64| {
        assert!((number(found) - exact).abs() < 0.01 * exact, "{found} is not {exact}");
    };
    found["cameras"]
        .as_array()
        .unwrap()
        .iter()
        .for_each(|camera| close(&camera["canvas"], whole / 300.0));
    let [pair] = &found["pairs"].as_array().unwrap()[..] else { panic!("{found}") };
    close(&pair["smaller"], (whole - 40.0) / whole);
    close(&pair["canvas"], (whole - 40.0) / 300.0);
    close(&pair["bounds"]["width"], (whole - 40.0) * 4.0);
    close(&pair["bounds"]["height"], 150.0);
    close(&found["uncovered"], 1.0 - (2.0 * whole + 40.0) / 300.0);

    // With 30° between them, all three meet.
    folder.write("near.toml", rig(&[-30.0, 0.0, 30.0]));
    let text = folder.quiet("rig near.toml");
    assert!(text.contains("three or more") && text.contains("\n1, 2 and 3  "), "{text}");
    let half = folder.words("rig near.toml --size 600x75 --json").json();
    let [meeting] = &half["meetings"].as_array().unwrap()[..] else { panic!("{half}") };
    assert_eq!(meeting["cameras"], json!([1, 2, 3]));
    close(&meeting["canvas"], (whole - 60.0) / 300.0);
    assert_eq!(half["panorama"]["size"], json!([600, 75]));

    folder.write("none.toml", rig(&[-100.0, 0.0]));
    let done = folder.words("rig none.toml");
    assert!(done.stdout.contains("no cameras overlap"), "{done:?}");
}

#[test]
fn the_preview_shows_the_pictures() {
    let folder = Folder::new();
    folder.write("rig.toml", rig(&[-60.0, 0.0, 60.0]));
    for (name, level) in [("a.png", 0), ("b.png", 128), ("c.png", 255)] {
        let colour = Rgba8::opaque(level, level, level);
        Picture::filled(400, 300, colour).save(folder.path(name)).unwrap();
    }
    folder.quiet("rig rig.toml --preview plain.png");
    folder.quiet("rig rig.toml --preview filled.png --pictures a.png b.png c.png");
    let (plain, filled) = (folder.picture("plain.png"), folder.picture("filled.png"));
    assert_eq!((plain.size(), filled.size()), ((1200, 150).into(), (1200, 150).into()));
    // Near the middle of each picture, but beside its number. A column is 0.25°.
    let level = |picture: &Picture, x: u32| {
        let pixel = picture.pixels()[(30 * 1200 + x) as usize];
        u32::from(pixel.r) + u32::from(pixel.g) + u32::from(pixel.b)
    };
    let levels = [360, 600, 840].map(|x| level(&filled, x));
    assert!(levels[0] + 200 < levels[1] && levels[1] + 200 < levels[2], "{levels:?}");
    assert!(level(&filled, 360) < level(&plain, 360) && level(&filled, 840) > level(&plain, 840));
}

#[test]
fn wrong_input() {
    let folder = Folder::new();
    folder.write("three.toml", rig(&[-60.0, 0.0, 60.0]));
    folder.write("many.toml", rig(&[0.0; 65]));
    folder.write("text.toml", "no rig");
    Picture::filled(400, 300, Rgba8::BLACK).save(folder.path("fits.png")).unwrap();
    let table = r"
        rig | required arguments
        rig none.toml | none.toml: cannot be read
        rig text.toml | text.toml
        rig many.toml | many.toml
        rig left.png | left.png
        rig three.toml --size 0x5 | 1 to 32768 pixels
        rig three.toml --pictures fits.png | --preview
        rig three.toml --preview three.toml | it is an input
        rig three.toml --preview o.gif | must end in .png
        rig three.toml --preview no/o.png | does not exist
        rig three.toml --preview o.png --pictures fits.png fits.png | is for 3 pictures, but 2 are given
        rig three.toml --preview o.png --pictures fits.png left.png fits.png | left.png: 40×30 pixels
        rig three.toml --preview fits.png --pictures fits.png fits.png fits.png | it is an input
    ";
    for row in crate::rows(table) {
        let (line, words) = row.split_once(" | ").unwrap();
        let done = folder.words(line);
        assert!(done.code == Some(2) && done.stderr.contains(words), "{line}: {done:?}");
        assert!(!done.stderr.contains("panicked") && done.stdout.is_empty(), "{line}: {done:?}");
        assert!(!folder.path("o.png").exists(), "{line}");
    }
}

/// A short rig must not take gigabytes, so the panorama has a limit that the user can raise.
#[test]
fn a_large_panorama_needs_a_higher_limit() {
    let folder = Folder::new();
    let large =
        rig(&[-40.0, 40.0]).replace("width = 1200\nheight = 150", "width = 8192\nheight = 8192");
    folder.write("large.toml", &large);
    Picture::filled(400, 300, Rgba8::opaque(1, 2, 3)).save(folder.path("a.png")).unwrap();
    folder.write("far.txt", "1 0 30000 0 1 1500 0 0 1");
    for line in [
        "stitch a.png a.png --rig large.toml -o p.png",
        "warp --rig large.toml -o w.safetensors",
        "stitch a.png a.png --homography far.txt -o p.png",
    ] {
        folder.fails(&format!("{line} --device cpu"), "but `max-pixels` is 33554432");
    }
    let small = rig(&[-25.0, 25.0]);
    folder.write("small.toml", &small);
    let line = "stitch a.png a.png --rig small.toml --device cpu -o p.png --max-pixels";
    let done = folder.words(&format!("{line} 179999"));
    assert!(done.stderr.contains("1200×150 pixels, but `max-pixels` is 179999"), "{done:?}");
    folder.quiet(&format!("{line} 180000"));
}

/// A rig can name any file, so no error may show text of a file that is no calibration.
#[test]
fn an_error_shows_no_text_of_another_file() {
    let folder = Folder::new();
    for secret in [
        "K: [hunter2]\n",
        "hunter2\n",
        "K: @hunter2\n",
        "- hunter2: {\n",
        "camera_matrix: hunter2\n",
    ] {
        folder.write("secret", secret);
        let matrix = "matrix = { fx = 300.0, fy = 300.0, cx = 200.0, cy = 150.0 }";
        folder.write("r.toml", rig(&[-40.0, 40.0]).replacen(matrix, "opencv = \"secret\"", 1));
        let done = folder.words("rig r.toml");
        assert_eq!(done.code, Some(2), "{done:?}");
        assert!(done.stderr.contains("secret") && !done.stderr.contains("hunter"), "{done:?}");
    }
}
