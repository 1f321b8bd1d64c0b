//! Tests `--gain` and `--gamma` of `stitch`, `video` and `quality`, which are given once per camera.

use panoweave::frame::Rgba8;
use panoweave::io::picture::Picture;
use serde_json::Value;

use crate::{Folder, RIG};

/// The cameras' levels of red, green and blue.
const LEVELS: [[u8; 3]; 3] = [[200, 150, 100], [90, 120, 60], [40, 80, 240]];
/// The gains that [`OPTIONS`] contains.
const GAINS: [[f64; 3]; 3] = [[0.5, 0.5, 0.5], [1.2, 1.0, 0.8], [2.0, 2.0, 0.5]];
/// The gammas that [`OPTIONS`] contains.
const GAMMAS: [f64; 3] = [1.0, 0.8, 1.25];
const OPTIONS: &str =
    "--gain 0.5 --gain 1.2,1,0.8 --gain 2,2,0.5 --gamma 1 --gamma 0.8 --gamma 1.25";
const STITCH: &str = "stitch a.png b.png c.png --rig rig.toml --device cpu -o p.png";
const VIDEO: &str =
    "video a.rgba b.rgba c.rgba --input-size 40x30 --fps 30 --rig rig.toml --device cpu";

/// Returns a folder with a rig of three cameras whose angles are 40° apart, on a panorama with a pixel per degree, and
/// a picture and a video of two frames for each camera. All pixels of a camera are equal.
fn folder() -> Folder {
    let folder = Folder::new();
    let (panorama, cameras) = RIG.split_once("[[camera]]").unwrap();
    let (first, last) = cameras.split_once("[[camera]]").unwrap();
    let panorama = panorama.replace("100.0", "180.0").replace("width = 64", "width = 180");
    let first = first.replace("-20.0", "-40.0");
    let middle = last.replace("right", "middle").replace("20.0", "0.0");
    let last = last.replace("20.0", "40.0");
    let rig = format!("{panorama}[[camera]]{first}[[camera]]{middle}[[camera]]{last}");
    folder.write("rig.toml", rig);
    for (name, [r, g, b]) in ["a", "b", "c"].into_iter().zip(LEVELS) {
        folder.write(&format!("{name}.rgba"), [r, g, b, 255].repeat(2400));
        Picture::filled(40, 30, Rgba8::opaque(r, g, b))
            .save(folder.path(format!("{name}.png")))
            .unwrap();
    }
    folder
}

/// Checks the pixels in the middle of each camera of a panorama against a formula in f64.
fn check(pixels: &[Rgba8], tolerance: f64) {
    for camera in 0..3 {
        let Rgba8 { r, g, b, .. } = pixels[16 * 180 + 50 + 40 * camera];
        for (c, found) in [r, g, b].into_iter().enumerate() {
            let level = f64::from(LEVELS[camera][c]) * GAINS[camera][c] / 255.0;
            let exact = 255.0 * level.clamp(0.0, 1.0).powf(GAMMAS[camera]);
            assert!(
                (f64::from(found) - exact).abs() <= tolerance,
                "{camera}, {c}: {found} is not {exact}"
            );
        }
    }
}

/// Returns the gains and the gamma of a camera in the JSON of a command.
fn described(colour: &Value) -> ([f64; 3], f64) {
    let rounded = |value: &Value| (1e4 * value.as_f64().unwrap()).round() / 1e4;
    let gain = &colour["gain"];
    ([0, 1, 2].map(|c| rounded(&gain[c])), rounded(&colour["gamma"]))
}

#[test]
fn each_camera_has_its_gain_and_gamma() {
    let folder = folder();
    for blend in ["", "--blend seam"] {
        let done = folder.succeeds(&format!("{STITCH} {OPTIONS} {blend} --json"));
        // The panorama so far is rounded before the next camera is added along a seam.
        check(folder.picture("p.png").pixels(), if blend.is_empty() { 0.51 } else { 1.0 });
        let json = done.json();
        for camera in 0..3 {
            let found = described(&json["cameras"][camera]["colour"]);
            assert_eq!(found, (GAINS[camera], GAMMAS[camera]));
        }
    }
    for lookup in ["mesh", "planes"] {
        let line = format!("{VIDEO} {OPTIONS} --lookup {lookup} -o p.rgba --json");
        let json: Value = serde_json::from_str(&folder.quiet(&line)).unwrap();
        let bytes = folder.read("p.rgba");
        let pixels: &[Rgba8] = bytemuck::cast_slice(&bytes);
        assert_eq!(pixels.len(), 2 * 180 * 32);
        check(&pixels[180 * 32..], 1.0);
        for camera in 0..3 {
            let found = described(&json["cameras"][camera]["colour"]);
            assert_eq!(found, (GAINS[camera], GAMMAS[camera]));
        }
    }
    folder.quiet(&format!("quality a.png b.png c.png --rig rig.toml --device cpu {OPTIONS}"));
}

/// With `--keep-highlights`, white stays white although its gain is below 1, and of two levels above white, the
/// brighter one stays brighter.
#[test]
fn highlights_are_kept() {
    let folder = folder();
    for (name, level) in [("a", 255), ("b", 150), ("c", 180)] {
        let level = Rgba8::opaque(level, level, level);
        Picture::filled(40, 30, level).save(folder.path(format!("{name}.png"))).unwrap();
    }
    let levels = |option: &str| {
        folder.quiet(&format!("{STITCH} --gain 0.8 --gain 2 --gain 2 {option}"));
        let panorama = folder.picture("p.png");
        [0, 1, 2].map(|camera| panorama.pixels()[16 * 180 + 50 + 40 * camera].r)
    };
    assert_eq!(levels(""), [204, 255, 255]);
    let [white, bright, brighter] = levels("--keep-highlights");
    assert_eq!(white, 255);
    assert!(bright > 230 && brighter > bright && brighter < 255, "{bright}, {brighter}");
}

/// The vignetting of a rig is undone for any number of cameras.
#[test]
fn more_cameras_than_the_options_hold_have_no_vignetting() {
    let folder = Folder::new();
    Picture::filled(40, 30, Rgba8::opaque(100, 100, 100)).save(folder.path("gray.png")).unwrap();
    let (panorama, cameras) = RIG.split_once("[[camera]]").unwrap();
    let camera = cameras.split_once("[[camera]]").unwrap().0;
    let brightest = |many: usize, vignetting: &str| {
        let camera = |i: usize| {
            let camera = camera.replace("left", &format!("camera {i}"));
            format!("[[camera]]{camera}{vignetting}\n")
        };
        folder.write("rig.toml", panorama.to_owned() + &(0..many).map(camera).collect::<String>());
        let files = "gray.png ".repeat(many);
        folder.quiet(&format!("stitch {files} --rig rig.toml --device cpu -o p.png"));
        folder.picture("p.png").pixels().iter().map(|pixel| pixel.g).max().unwrap()
    };
    assert_eq!(brightest(17, ""), 100);
    let [few, many] = [16, 17].map(|many| brightest(many, "vignetting = [-0.4, 0.0, 0.0]"));
    // More than 16 pictures are corrected before they are sampled, also beyond the centres of the last pixels.
    assert!(few > 120 && few.abs_diff(many) <= 3, "{few} and {many}");
}

/// Colour matching begins with the vignetting of the rig for any number of cameras. The lens keeps 40 % of the light in
/// the corners, and the scene is gray.
#[test]
fn the_colours_of_more_cameras_than_the_options_hold_are_matched() {
    let folder = Folder::new();
    let pixel = |i: u32| {
        let (x, y) = (f64::from(i % 40) - 19.5, f64::from(i / 40) - 14.5);
        let q = (x * x + y * y) / (19.5 * 19.5 + 14.5 * 14.5);
        let level = (150.0 * (1.0 - 0.6 * q.powi(3)).powf(1.0 / 2.2)).round() as u8;
        Rgba8::opaque(level, level, level)
    };
    let picture = Picture::from_pixels(40, 30, (0..1200).map(pixel).collect()).unwrap();
    picture.save(folder.path("gray.png")).unwrap();
    for many in [16, 18] {
        let camera = |i: usize| {
            let yaw = 18 * i as i32 - 153;
            format!(
                "[[camera]]\nname = \"{i}\"\nsize = [40, 30]\nlens = \"pinhole\"\nyaw = {yaw}.0\n\
                 matrix = {{ fx = 60.0, fy = 60.0, cx = 19.5, cy = 14.5 }}\n\
                 vignetting = [0.0, 0.0, -0.6]\n"
            )
        };
        let canvas =
            "[panorama]\nprojection = \"cylindrical\"\nwidth = 360\nheight = 26\nfov = 335.0\n";
        folder.write("rig.toml", canvas.to_owned() + &(0..many).map(camera).collect::<String>());
        let files = "gray.png ".repeat(many);
        folder
            .quiet(&format!("stitch {files} --rig rig.toml --match-colour --device cpu -o p.png"));
        let seen = folder.picture("p.png");
        let levels =
            seen.pixels().iter().filter(|pixel| pixel.a > 0 && pixel.g > 0).map(|pixel| pixel.g);
        let (least, most) = levels.fold((255, 0), |(a, b), level| (level.min(a), level.max(b)));
        assert!(least >= 146 && most <= 154, "{many} cameras: {least} to {most}");
    }
}

#[test]
fn printed_colours_can_be_given_again() {
    let folder = folder();
    let said = folder.quiet(&format!("{STITCH} --match-colour"));
    let matched = folder.picture("p.png");
    let options = said.lines().find_map(|line| line.strip_prefix("colours: ")).unwrap();
    assert_eq!(options.matches("--gain ").count(), 3, "{said}");
    folder.quiet(&format!("{STITCH} {options}"));
    let given = folder.picture("p.png");
    for (a, b) in matched.pixels().iter().zip(given.pixels()) {
        // The gains are printed with three decimals.
        assert!([(a.r, b.r), (a.g, b.g), (a.b, b.b)].iter().all(|(a, b)| a.abs_diff(*b) <= 1));
    }
}

#[test]
fn gains_for_another_number_of_cameras_are_rejected() {
    let folder = folder();
    let quality = "quality a.png b.png c.png --rig rig.toml --device cpu";
    let video = format!("{VIDEO} -o p.rgba");
    for line in [STITCH, &video, quality] {
        for (options, said) in [
            ("--gain 2", "`gain`: given 1 time for 3 cameras; give one per camera"),
            ("--gain 1 --gain 1 --gain 1 --gain 1", "`gain`: given 4 times for 3 cameras"),
            ("--gamma 2 --gamma 1", "`gamma`: given 2 times for 3 cameras"),
            ("--gain 1,2 --gain 1 --gain 1", "three numbers as R,G,B"),
            ("--gain 1 --gain 1 --gain 1001", "from 0 to 1000"),
            ("--gamma 1 --gamma 0 --gamma 1", "a number from 0.000001 to 100"),
        ] {
            folder.fails(&format!("{line} {options}"), said);
        }
    }
    folder.fails(&format!("{STITCH} --match-colour {OPTIONS}"), "cannot be used with");
    assert!(!folder.path("p.png").exists() && !folder.path("p.rgba").exists());
}
