//! Tests `panoweave calibrate` on overlapping pictures of a generated scene, for which the true shift or angle between
//! the pictures is known. Also tests pictures that `panoweave calibrate` must reject.

use panoweave::frame::Rgba8;
use panoweave::io::picture::Picture;
use panoweave_tests::made_up::{Pinhole, turn};
use panoweave_tests::random::Random;

use crate::Folder;

pub(crate) const SIZE: [u32; 2] = [320, 240];
/// The distance between the left edges of consecutive pictures, in scene pixels.
pub(crate) const SHIFT: u32 = 200;

/// Draws a scene that is wide enough for `pictures` pictures: rectangles of random sizes and colours, whose corners
/// are distinctive.
pub(crate) fn scene(pictures: u32) -> Picture {
    let [width, height] = [SIZE[0] + (pictures - 1) * SHIFT, SIZE[1]];
    let mut picture = Picture::filled(width, height, Rgba8::opaque(90, 100, 110));
    let mut random = Random::new(3);
    for _ in 0..200 * pictures {
        let [x, y] = [width, height].map(|side| random.below(side as usize) as u32);
        let [w, h] = [0, 1].map(|_| 4 + random.below(30) as u32);
        let [r, g, b] = [0, 1, 2].map(|_| random.below(256) as u8);
        for row in y..(y + h).min(height) {
            let first = (row * width + x) as usize;
            let end = (row * width + (x + w).min(width)) as usize;
            picture.pixels_mut()[first..end].fill(Rgba8::opaque(r, g, b));
        }
    }
    picture
}

pub(crate) fn part(scene: &Picture, first: u32) -> Picture {
    let rows = scene.pixels().chunks_exact(scene.width() as usize);
    let pixels = rows.flat_map(|row| &row[first as usize..][..SIZE[0] as usize]).copied();
    Picture::from_pixels(SIZE[0], SIZE[1], pixels.collect()).unwrap()
}

pub(crate) fn folder() -> Folder {
    let folder = Folder::new();
    let scene = scene(2);
    part(&scene, 0).save(folder.path("left.png")).unwrap();
    part(&scene, SHIFT).save(folder.path("right.png")).unwrap();
    folder
}

#[test]
fn a_shifted_scene_gives_its_shift_a_rig_and_a_preview() {
    let folder = folder();
    let text = folder.quiet(
        "calibrate left.png right.png -o made.toml --preview seen.png --model homography --device cpu --json",
    );
    let found: serde_json::Value = serde_json::from_str(&text).unwrap();
    let pair = &found["pairs"][0];
    assert_eq!(pair["cameras"], serde_json::json!([1, 2]));
    let matrix: Vec<f64> = serde_json::from_value(pair["homography"].clone()).unwrap();
    let expected = [1.0, 0.0, f64::from(SHIFT), 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    for (i, (found, expected)) in matrix.iter().zip(expected).enumerate() {
        let allowed = [0.01, 0.01, 1.5, 0.01, 0.01, 1.5, 1e-4, 1e-4, 0.0][i];
        assert!((found - expected).abs() <= allowed, "{matrix:?}");
    }
    assert_eq!(found["model"], "homography");
    assert!(pair["inliers"].as_u64() > Some(20), "{found}");
    assert!(pair["rms_px"].as_f64().unwrap() < 1.0, "{found}");
    let preview = Picture::open(folder.path("seen.png")).unwrap();
    assert_eq!(preview.width(), 2 * SIZE[0]);

    folder.quiet("stitch left.png right.png --rig made.toml --device cpu -o panorama.png");
    let panorama = Picture::open(folder.path("panorama.png")).unwrap();
    assert!(panorama.width().abs_diff(SIZE[0] + SHIFT) <= 4, "{}", panorama.width());
    let fits = folder.quiet("calibrate left.png right.png --check made.toml --device cpu");
    assert!(fits.contains("made.toml: fits"), "{fits}");
    // Move the right camera by 12 scene pixels. `calibrate --check` must detect this drift.
    part(&scene(2), SHIFT - 12).save(folder.path("moved.png")).unwrap();
    let drifted = folder.words("-q calibrate left.png moved.png --check made.toml --device cpu");
    assert!(drifted.stdout.contains("made.toml: drifted"), "{drifted:?}");
    assert_eq!(drifted.code, Some(5), "{drifted:?}");
}

#[test]
fn pictures_that_do_not_fit_are_refused_with_the_reason() {
    let folder = folder();
    Picture::filled(SIZE[0], SIZE[1], Rgba8::opaque(120, 120, 120))
        .save(folder.path("blank.png"))
        .unwrap();
    let mut noise = Picture::filled(SIZE[0], SIZE[1], Rgba8::BLACK);
    let mut random = Random::new(9);
    for pixel in noise.pixels_mut() {
        let [r, g, b] = [0, 1, 2].map(|_| random.below(256) as u8);
        *pixel = Rgba8::opaque(r, g, b);
    }
    noise.save(folder.path("noise.png")).unwrap();
    for (pictures, reason) in [
        ("left.png blank.png", "correspondences between the pictures"),
        ("left.png left.png", "are the same view"),
        ("left.png noise.png", "correspondences between the pictures"),
    ] {
        let line = format!("calibrate {pictures} -o made.toml --device cpu");
        folder.fails(&line, reason);
        assert!(!folder.path("made.toml").exists());
    }
}

/// Returns the mean difference in levels between a panorama and the scene. Tries shifts of up to 8 pixels in each
/// direction, and returns the smallest difference.
fn difference(panorama: &Picture, scene: &Picture) -> f64 {
    let width = panorama.width().min(scene.width()) - 16;
    let height = panorama.height().min(scene.height()) - 16;
    let at = |picture: &Picture, x: u32, y: u32| {
        let Rgba8 { r, g, b, .. } = picture.pixels()[(y * picture.width() + x) as usize];
        [r, g, b].map(f64::from)
    };
    let moved = |dx: u32, dy: u32| {
        let mut sum = 0.0;
        for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
            let (a, b) = (at(panorama, x + dx, y + dy), at(scene, x + 8, y + 8));
            sum += (0..3).map(|c| (a[c] - b[c]).abs()).sum::<f64>();
        }
        sum / (3.0 * f64::from(width) * f64::from(height))
    };
    (0..16).flat_map(|dy| (0..16).map(move |dx| moved(dx, dy))).fold(f64::INFINITY, f64::min)
}

#[test]
fn pictures_without_a_map_are_calibrated_first() {
    let folder = folder();
    let text = folder.quiet("stitch left.png right.png -o made.png --device cpu --json");
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(json["calibration"]["pairs"][0]["inliers"].as_u64() > Some(20), "{json}");
    let panorama = Picture::open(folder.path("made.png")).unwrap();
    assert_eq!(json["size"], serde_json::json!([panorama.width(), panorama.height()]));
    let off = difference(&panorama, &scene(2));
    assert!(off < 4.0, "{off} levels");
    let said = folder.quiet("stitch left.png right.png -o made.png --device cpu --blend feather");
    assert!(said.contains("calibrated: ") && said.contains("made.png: "), "{said}");
    folder.fails("stitch left.png left.png -o none.png --device cpu", "are the same view");
    assert!(!folder.path("none.png").exists());
}

#[test]
fn three_pictures_make_a_rig_a_preview_and_a_panorama() {
    let folder = Folder::new();
    let scene = scene(3);
    for (i, name) in ["a.png", "b.png", "c.png"].into_iter().enumerate() {
        part(&scene, i as u32 * SHIFT).save(folder.path(name)).unwrap();
    }
    let text = folder.quiet(
        "calibrate c.png a.png b.png -o made.toml --preview seen.png --model homography --device cpu --json",
    );
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    // The pictures `a` and `c` do not overlap, so there are only two pairs: `a` with `b`, and `b` with `c`.
    assert_eq!(json["pairs"].as_array().map(Vec::len), Some(2), "{json}");
    let preview = Picture::open(folder.path("seen.png")).unwrap();
    assert_eq!(preview.width(), 3 * SIZE[0]);

    for how in ["--rig made.toml", "--rig made.toml --match-colour --blend seam", ""] {
        let line = format!("stitch c.png a.png b.png {how} -o made.png --device cpu --json");
        let json = folder.quiet_json(&line);
        assert_eq!(json["cameras"].as_array().map(Vec::len), Some(3), "{json}");
        let panorama = Picture::open(folder.path("made.png")).unwrap();
        let off = difference(&panorama, &scene);
        assert!(off < 5.0, "{how}: {off} levels");
        folder.quiet(&format!("stitch c.png a.png b.png {how} --flip -o flipped.png --device cpu"));
        let flipped = Picture::open(folder.path("flipped.png")).unwrap();
        let turned: Vec<Rgba8> = flipped.pixels().iter().rev().copied().collect();
        assert!(turned == panorama.pixels(), "{how}");
    }
    let fits = folder.quiet("calibrate c.png a.png b.png --check made.toml --device cpu");
    assert!(fits.contains("made.toml: fits"), "{fits}");
    // The first camera is covered, so it cannot be checked, although the others fit.
    let black = Picture::filled(SIZE[0], SIZE[1], Rgba8::BLACK);
    black.save(folder.path("black.png")).unwrap();
    let line = "-q calibrate black.png a.png b.png --check made.toml --device cpu";
    folder.fails(line, "black.png and b.png: ");
    for name in ["a", "b"] {
        std::fs::copy(folder.path(format!("{name}.png")), folder.path(format!("{name}1.png")))
            .unwrap();
    }
    for (line, said) in [
        ("stitch a.png b.png --rig made.toml", "made.toml: it is for 3 pictures, but 2 are given"),
        ("stitch a.png", "cannot calibrate 1 pictures; 2 to 64 are allowed"),
        ("stitch a.png b.png c.png --gain 2", "given 1 time for 3 cameras"),
        (
            "stitch a.png b.png c.png --rig made.toml --lookup gamma-table",
            "the lookup `gamma-table` does not support frames and panoramas other than two RGBA",
        ),
        (
            "calibrate a.png b.png --check made.toml",
            "made.toml: it is for 3 pictures, but 2 are given",
        ),
        (
            "video a%d.png b%d.png --rig made.toml",
            "made.toml: it is for 3 pictures, but 2 are given",
        ),
    ] {
        let out = if line.contains("--check") { "" } else { "-o p.png" };
        let out = if line.starts_with("video") { "-o p_%d.png --fps 25" } else { out };
        folder.fails(&format!("{line} {out} --device cpu"), said);
    }
}

#[test]
fn outputs_do_not_overwrite_each_other() {
    let folder = folder();
    for preview in ["made.png", "./made.png"] {
        let line = format!("calibrate left.png right.png -o made.png --preview {preview}");
        folder.fails(&format!("{line} --device cpu"), "two outputs have this name");
    }
    folder.fails(
        "stitch left.png right.png --size 10x10 -o p.png --device cpu",
        "give their folder as `warp`",
    );
}

/// Returns two views of a panoramic scene from the same position. Both lenses have a focal length of `focal` pixels and
/// the radial distortion `k1`. The viewing directions are `yaw` degrees apart.
fn views(focal: f64, k1: f64, yaw: f64) -> [Picture; 2] {
    let size = glam::UVec2::from(SIZE);
    let scene = scene(3);
    [-0.5, 0.5].map(|side| {
        let camera = Pinhole { size, focal, k1, to_world: turn(side * yaw, 0.0, 0.0) };
        let pixels = (0..size.element_product()).map(|i| {
            let pixel = glam::UVec2::new(i % size.x, i / size.x).as_dvec2();
            let ray = camera.ray(pixel).unwrap();
            // The scene is on a cylinder around the camera: its columns are azimuths, and its rows are heights.
            let x = ray.x.atan2(ray.z).to_degrees() * 7.0 + f64::from(scene.width()) / 2.0;
            let y = ray.y / ray.x.hypot(ray.z) * focal + f64::from(scene.height()) / 2.0;
            let [x, y] = [(x, scene.width()), (y, scene.height())]
                .map(|(at, side)| at.clamp(0.0, f64::from(side - 1)) as u32);
            scene.pixels()[(y * scene.width() + x) as usize]
        });
        Picture::from_pixels(size.x, size.y, pixels.collect()).unwrap()
    })
}

#[test]
fn lenses_that_are_known_stay_as_they_are() {
    let folder = Folder::new();
    let (focal, k1, yaw) = (300.0, -0.15, 28.0);
    for (picture, name) in views(focal, k1, yaw).iter().zip(["left.png", "right.png"]) {
        picture.save(folder.path(name)).unwrap();
    }
    let matrix = |name: &str, rows: u32, columns: u32, data: &str| {
        format!(
            "{name}: !!opencv-matrix\n   rows: {rows}\n   cols: {columns}\n   dt: d\n   data: [ {data} ]\n"
        )
    };
    let camera = matrix("camera_matrix", 3, 3, "300., 0., 159.5, 0., 300., 119.5, 0., 0., 1.");
    let lens = matrix("distortion_coefficients", 5, 1, "-0.15, 0., 0., 0., 0.");
    let yaml = |size: &str| format!("%YAML:1.0\n---\n{size}{camera}{lens}");
    folder.write("lens.yaml", yaml("image_width: 320\nimage_height: 240\n"));
    folder.write("other.yaml", yaml("image_width: 640\nimage_height: 480\n"));
    let line = "calibrate left.png right.png --device cpu";
    folder.quiet(&format!("{line} -o made.toml --lens lens.yaml --model rotation"));
    let rig = panoweave::geometry::rig::Rig::open(folder.path("made.toml")).unwrap();
    let mounts: Vec<_> = rig.cameras.iter().map(|camera| camera.mount().unwrap()).collect();
    for mount in &mounts {
        assert_eq!((mount.matrix.fx, mount.matrix.cy), (focal, 119.5));
        assert_eq!(mount.distortion[0], k1);
    }
    let found = mounts[1].yaw - mounts[0].yaw;
    assert!((found - yaw).abs() < 0.2, "turned by {found}°");
    let done = folder.succeeds(&format!("{line} -o flat.toml --lens lens.yaml --model homography"));
    assert!(done.stderr.contains("the lenses are not used"), "{done:?}");
    // The file of a stereo calibration has the lens of each picture.
    let right = 340.0;
    views(right, k1, yaw)[1].save(folder.path("right.png")).unwrap();
    let lens = |number: u32, focal: f64| {
        let camera = format!("{focal}, 0., 159.5, 0., {focal}, 119.5, 0., 0., 1.");
        let distortion = format!("{k1}, 0., 0., 0., 0.");
        matrix(&format!("M{number}"), 3, 3, &camera)
            + &matrix(&format!("D{number}"), 5, 1, &distortion)
    };
    folder.write("stereo.yaml", format!("%YAML:1.0\n---\n{}{}", lens(1, focal), lens(2, right)));
    folder.quiet(&format!("{line} -o made.toml --lens stereo.yaml --model rotation"));
    let rig = panoweave::geometry::rig::Rig::open(folder.path("made.toml")).unwrap();
    let found = [0, 1].map(|camera: usize| rig.cameras[camera].mount().unwrap().matrix.fx);
    assert_eq!(found, [focal, right]);
    for (options, said) in [
        ("--lens lens.yaml --lens lens.yaml --lens lens.yaml", "once for each picture"),
        (
            "--lens other.yaml",
            "left.png: 320×240 pixels, but other.yaml is for pictures of 640×480",
        ),
        ("--lens none.yaml", "none.yaml"),
        ("--lens lens.yaml -o lens.yaml", "it is an input too"),
        ("--fisheye", "`fisheye` requires `lens`"),
    ] {
        let output = if options.contains("-o") { "" } else { "-o made.toml" };
        folder.fails(&format!("{line} {options} {output}"), said);
    }
}

/// A picture of another scene is named and left out, by `stitch` and by `calibrate`.
#[test]
fn a_foreign_picture_is_left_out_by_name() {
    let folder = folder();
    let mut foreign = scene(2);
    // Shuffle the rows, so that no corner of the scene is left.
    let rows: Vec<Rgba8> = foreign.pixels().to_vec();
    let width = foreign.width() as usize;
    for (i, pixel) in foreign.pixels_mut().iter_mut().enumerate() {
        let (x, y) = (i % width, i / width);
        *pixel = rows[(y * 89 + 41) % SIZE[1] as usize * width + (x * 5 + y * 31) % width];
    }
    part(&foreign, 100).save(folder.path("foreign.png")).unwrap();
    for command in ["stitch", "calibrate"] {
        let output = if command == "stitch" { "made.png" } else { "made.toml" };
        let line = format!("{command} left.png foreign.png right.png -o {output} --device cpu");
        let done = folder.succeeds(&format!("{line} --json"));
        assert!(done.stderr.contains("foreign.png is left out: no other picture"), "{done:?}");
        let json = done.json();
        let found = if command == "stitch" { &json["calibration"] } else { &json };
        assert_eq!(found["cameras"][1]["file"], "foreign.png", "{json}");
        let is_out = [0, 1, 2].map(|i| found["cameras"][i]["left_out"].is_string());
        assert_eq!(is_out, [false, true, false], "{json}");
        assert_eq!(found["pairs"][0]["cameras"], serde_json::json!([1, 3]), "{json}");
        assert!(found["warnings"][0].as_str().unwrap().contains("foreign.png"), "{json}");
    }
    let panorama = Picture::open(folder.path("made.png")).unwrap();
    assert!(difference(&panorama, &scene(2)) < 4.0);
    // The anchor is the number of a picture in the command, also behind one that is left out.
    let stitch = "stitch left.png foreign.png right.png -o made.png --device cpu --json --anchor";
    let gain = |anchor: usize| {
        let json = folder.words(&format!("{stitch} {anchor}")).json();
        // Each input has an element, also the one that is left out.
        let cameras = &json["cameras"];
        assert!(cameras.as_array().unwrap().len() == 3 && cameras[1].is_null(), "{json}");
        cameras[anchor - 1]["colour"]["gain"][0].as_f64()
    };
    assert_eq!(gain(3), Some(1.0));
    // The printed options apply to the same inputs.
    let stitch = "stitch left.png foreign.png right.png -o made.png --device cpu";
    let done = folder.words(&format!("{stitch} --anchor 1"));
    let options = done.stdout.lines().find_map(|line| line.strip_prefix("colours: ")).unwrap();
    let unchanged = "--gain 1.000,1.000,1.000 --gain 1.000,1.000,1.000 --gain ";
    assert!(options.starts_with(unchanged), "{options}");
    folder.succeeds(&format!("{stitch} {options}"));
    let stitch = format!("{stitch} --json --anchor");
    folder.fails(&format!("{stitch} 2"), "`anchor` names a picture that was left out");
}
