//! Tests of rig files. They check the documented conventions, the errors for invalid values, and that a rig stays the
//! same when it is written and read back.

use std::fs;

use glam::{DVec2, DVec3, UVec2};
use panoweave::device::Device;
use panoweave::geometry::rig::{ModelName, Rig, RigError};
use panoweave::geometry::{Geometry, Vignetting};
use panoweave::warp::DeviceWarp;
use panoweave_tests::data;
use proptest::prelude::*;
use shared_types::warp::{Camera, Lens, Projection};

use crate::malformed::{assert_says, assert_variant, refusal};

const RIG: &str = r#"
[panorama]
projection = "cylindrical"
width = 5700
height = 1900
fov = 150
yaw = 10.0

[[camera]]
name = "left"
size = [3840, 2160]
lens = "pinhole"
matrix = { fx = 2100.0, fy = 2110.0, cx = 1919.5, cy = 1079.5 }
distortion = [-0.05, 0.01]
yaw = -35
roll = 90.0

[[camera]]
name = "right"
size = [1920, 1080]
lens = "fisheye"
matrix = { fx = 800.0, fy = 800.0, cx = 960.0, cy = 540.0 }
yaw = 35.0
pitch = 5.0
"#;

/// Returns the pixel at which a camera without lens distortion sees a panorama ray.
fn seen(camera: &Camera, ray: DVec3) -> DVec2 {
    let p = camera.from_ray * ray;
    p.truncate() / p.z * camera.focal + camera.centre
}

#[test]
fn geometry_follows_the_conventions() {
    let rig = Rig::parse(RIG, "rig.toml").unwrap();
    let g = rig.geometry().unwrap();
    assert_eq!(g.canvas.projection, Projection::CYLINDRICAL);
    assert_eq!(g.canvas.centre, DVec2::new(2849.5, 949.5));
    assert!((g.canvas.scale - 5700.0 / 150f64.to_radians()).length() < 1e-9);
    let [left, right] = g.cameras.as_slice() else { panic!() };
    assert_eq!((left.lens, right.lens), (Lens::PINHOLE, Lens::FISHEYE));
    assert_eq!(left.distortion, [-0.05, 0.01, 0.0, 0.0, 0.0]);
    assert_eq!(right.limit, std::f64::consts::PI);
    assert!(left.limit.is_infinite() && left.limit > 0.0);
    // The panorama's middle is at a yaw of 10°, and the left camera's axis is at a yaw of −35°. Therefore, the axis is
    // 45° to the left of the middle.
    let (s, c) = 45f64.to_radians().sin_cos();
    let axis = DVec3::new(-s, 0.0, c);
    assert!((seen(left, axis) - left.centre).length() < 1e-9);
    // The camera is rolled clockwise by 90°, so its picture shows the world rotated counterclockwise: a point above
    // the optical axis appears to the left of the picture's centre.
    let above = seen(left, axis - DVec3::Y * 0.1);
    assert!((above - left.centre - DVec2::new(-210.0, 0.0)).length() < 1e-9, "{above}");
    // The right camera is pitched up, so a ray at the horizon appears below the centre of the camera's picture.
    let (s, c) = 25f64.to_radians().sin_cos();
    let down = right.from_ray * DVec3::new(s, 0.0, c);
    let pitch = 5f64.to_radians();
    assert!((down - DVec3::new(0.0, pitch.sin(), pitch.cos())).length() < 1e-12, "{down}");
}

#[test]
fn calibration_files_are_found_beside_the_rig() {
    let (Some(front), dir) = (data("rigs/surround/front.yaml"), tempfile::tempdir().unwrap())
    else {
        return;
    };
    fs::copy(front, dir.path().join("front.yaml")).unwrap();
    let path = dir.path().join("rig.toml");
    let camera = |name, yaw| {
        format!(
            "[[camera]]\nname = \"{name}\"\nlens = \"fisheye\"\nopencv = \"front.yaml\"\nyaw = {yaw}\n"
        )
    };
    let panorama =
        "[panorama]\nprojection = \"equirectangular\"\nwidth = 720\nheight = 360\nfov = 360\n";
    let text = format!("{panorama}{}{}", camera("a", 0), camera("b", 180));
    fs::write(&path, &text).unwrap();
    let rig = Rig::open(&path).unwrap();
    assert_eq!(rig.cameras[0].size, [960, 640]);
    let k = rig.cameras[1].mount().unwrap().distortion.clone();
    assert_eq!(k.len(), 4);
    let camera = rig.geometry().unwrap().cameras[0];
    let slope = |t: f64| {
        let s = t * t;
        1.0 + s * (3.0 * k[0] + s * (5.0 * k[1] + s * (7.0 * k[2] + s * 9.0 * k[3])))
    };
    let pi = std::f64::consts::PI;
    assert!(camera.limit == pi || slope(camera.limit).abs() < 1e-9, "{}", camera.limit);
    // A rig saved as text contains the values from the calibration files, so it can be read without them.
    let alone = Rig::parse(&rig.to_toml().unwrap(), "elsewhere/rig.toml").unwrap();
    assert_eq!(alone.cameras, rig.cameras);

    let replace = |from: &str, to: &str| {
        fs::write(&path, text.replacen(from, to, 1)).unwrap();
        refusal(&path, |path| Rig::open(path))
    };
    assert_says(replace("front.yaml", "none.yaml"), "opencv of camera \"a\": ");
    let size = replace("opencv =", "size = [1920, 1280]\nopencv =");
    assert_says(size, "is 1920×1280, but its calibration file is for 960×640 pixels");
    let twice = replace("opencv =", "distortion = [0.1]\nopencv =");
    assert_says(twice, "distortion of camera \"a\" cannot be combined with opencv");
}

/// Parsing a stranger's rig reads no files, not even one that exists.
#[test]
fn only_an_opened_rig_reads_calibration_files() {
    let folder = tempfile::tempdir().unwrap();
    let [file, calibration] = ["rig.toml", "secret.yaml"].map(|name| folder.path().join(name));
    fs::write(&calibration, "K: [800, 0, 960, 0, 800, 540, 0, 0, 1]\n").unwrap();
    let matrix = "matrix = { fx = 800.0, fy = 800.0, cx = 960.0, cy = 540.0 }";
    for name in ["secret.yaml", calibration.to_str().unwrap()] {
        let text = RIG.replacen(matrix, &format!("opencv = {name:?}"), 1);
        assert_says(Rig::parse(&text, &file).unwrap_err(), "only Rig::open reads files");
        fs::write(&file, text).unwrap();
        assert_eq!(Rig::open(&file).unwrap().cameras, Rig::parse(RIG, &file).unwrap().cameras);
    }
}

#[test]
fn every_impossible_number_has_its_error() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("rig.toml");
    let error = |changes: &[(&str, &str)]| {
        let text = changes.iter().fold(RIG.to_owned(), |text, (from, to)| {
            assert!(text.contains(from), "{from}");
            text.replacen(from, to, 1)
        });
        fs::write(&path, text).unwrap();
        refusal(&path, |path| Rig::open(path))
    };
    let matrix = "matrix = { fx = 2100.0, fy = 2110.0, cx = 1919.5, cy = 1079.5 }";
    for (from, bad, said) in [
        ("5700", &["0", "32769"][..], "panorama width is "),
        ("1900", &["0", "32769"], "panorama height is "),
        ("3840", &["0", "32769"], "size of camera \"left\" is "),
        ("5700", &["-3", "99999999999"], "expected u32"),
        ("fov = 150", &["fov = 0", "fov = -10", "fov = 360.1", "fov = nan"], "panorama fov is "),
        ("fov = 150", &["fov = 150\nfov_vertical = 180"], "panorama fov_vertical is 180°"),
        ("fov = 150", &["fov = 150\ncentre = [2000.0, nan]"], "panorama centre y is NaN"),
        ("fov = 150", &["fov = 150\ncentre = [2000.0, 40000]"], "panorama centre y is 40000"),
        ("yaw = 10.0", &["yaw = nan", "yaw = inf"], "panorama yaw is "),
        (
            "fx = 2100.0",
            &["fx = 0", "fx = 0.8", "fx = 1e7", "fx = nan"],
            "fx of camera \"left\" is ",
        ),
        ("cx = 1919.5", &["cx = 1e5", "cx = inf"], "cx of camera \"left\" is "),
        ("cy = 1079.5", &["cy = -2161"], "at most one picture size outside"),
        ("-0.05", &["1e7", "nan"], "distortion[0] of camera \"left\" is "),
        ("[-0.05, 0.01]", &["[0.1, 0, 0, 0, 0, 0.2]"], "6 coefficients, but the lens model uses 5"),
        ("yaw = -35", &["yaw = -3500"], "yaw of camera \"left\" is -3500"),
        ("roll = 90.0", &["roll = nan"], "roll of camera \"left\" is "),
        ("\"right\"", &["\"left\"", "\"\""], "name of camera 2 is "),
        ("size = [3840, 2160]", &[""], "give size = [width, height], or a calibration file"),
        ("size = [3840, 2160]", &["size = [1, 2, 3]"], "must be two numbers"),
        ("lens = \"fisheye\"", &[""], "lens of camera \"right\" is missing"),
        (matrix, &[""], "has neither of matrix and opencv"),
        (
            "lens = \"pinhole\"",
            &["lens = \"pinhole\"\nopencv = \"a\""],
            "has both of matrix and opencv",
        ),
        ("roll = 90.0", &["opencv_camera = 2"], "only allowed with opencv"),
        ("yaw = -35", &["vignetting = [-0.3]"], "must be three numbers"),
        (
            "yaw = -35",
            &["vignetting = [-0.3, 0.0, nan]", "vignetting = [-4.0, 3.5, 0.5]"],
            "keeps less than",
        ),
    ] {
        bad.iter().for_each(|bad| assert_says(error(&[(from, bad)]), said));
    }
    assert_says(error(&[("5700", "32768"), ("1900", "32768")]), "panorama area is ");
    assert_says(error(&[("cylindrical", "planar"), ("150", "180")]), "it must be 0.01° to 179°");
    assert_says(error(&[("cylindrical", "equirectangular"), ("1900", "7000")]), "at most 180°");
    Rig::parse(RIG.rsplit_once("[[camera]]").unwrap().0, "rig.toml").unwrap();
    let none = format!("camera = []\n{}", RIG.split_once("[[camera]]").unwrap().0);
    assert_says(Rig::parse(&none, "rig.toml").unwrap_err(), "the rig has 0 cameras");
    // Too many cameras are rejected before their calibration files are read, so the missing file does not matter.
    let camera = "\n[[camera]]\nname = \"n\"\nlens = \"pinhole\"\nopencv = \"missing.yaml\"\n";
    let many = format!("{RIG}{}", camera.repeat(98));
    assert_says(Rig::parse(&many, "rig.toml").unwrap_err(), "the rig has 100 cameras");
    let syntax = error(&[("fov = 150", "fov = 150\nfvo = 3")]);
    assert_variant!(syntax, RigError::Syntax { line: 7, column: 1, .. });
    assert_variant!(error(&[("\"pinhole\"", "\"pinhol\"")]), RigError::Syntax { line: 12, .. });
    assert_variant!(error(&[("[panorama]", "[panorama")]), RigError::Syntax { line: 2, .. });
    fs::write(&path, "# ".repeat(1 << 20)).unwrap();
    assert_variant!(refusal(&path, |p| Rig::open(p)), RigError::Text(_));
}

#[test]
fn nesting_and_size_are_harmless() {
    for unit in ["[", "a=[", "{", "a.", "[[a]]\n", "a={", "\"", "'''", "a=1\n"] {
        let text = unit.repeat((1 << 20) / unit.len());
        let start = std::time::Instant::now();
        assert_variant!(Rig::parse(&text, "rig.toml"), Err(RigError::Syntax { .. }));
        let took = start.elapsed();
        assert!(took.as_secs() < 2, "{unit:?} took {took:?}");
    }
}

proptest! {
    #[test]
    fn a_changed_character_never_panics(at in 0..RIG.len(), to in "[ -~\n]") {
        let mut text = RIG.to_owned();
        text.replace_range(at..at + 1, &to);
        if let Err(error) = Rig::parse(&text, "rig.toml") {
            prop_assert!(error.to_string().starts_with("rig.toml"), "{}", error);
        }
    }
}

/// Text that adds to a rig a third camera, defined by a homography, and the quality values of a calibration.
const WHOLE: &str = r#"
[[camera]]
name = "third"
size = [640, 480]
homography = [320.0, 0.0, 319.5, 0.0, 320.0, 239.5, 0.1, 0.0, 1.0]
vignetting = [-0.3, 0.0, -0.1]

[calibration]
model = "homography"
matches = 800
inliers = 640
rms_px = 0.7
overlap = 0.3
coverage = 0.8
seam_error_px = 0.4
"#;

fn whole() -> String {
    format!("{}{WHOLE}", RIG.replacen("yaw = 10.0", "yaw = 10.0\ncentre = [2000.0, 400.5]", 1))
}

#[test]
fn three_cameras_a_homography_figures_and_a_crop_come_back_unchanged() {
    let rig = Rig::parse(&whole(), "rig.toml").unwrap();
    let quality = rig.quality.as_ref().unwrap();
    assert_eq!((quality.model, quality.inliers), (ModelName::Homography, 640));
    let vignetting = [0, 1, 2].map(|i| rig.cameras[i].vignetting);
    assert_eq!(vignetting, [Vignetting::NONE, Vignetting::NONE, Vignetting([-0.3, 0.0, -0.1])]);
    let text = rig.to_toml().unwrap();
    assert_eq!(Rig::parse(&text, "rig.toml").unwrap(), rig);
    let path = tempfile::tempdir().unwrap();
    let path = path.path().join("saved.toml");
    rig.save(&path).unwrap();
    let saved = Rig::open(&path).unwrap();
    assert_eq!((saved.cameras, saved.panorama), (rig.cameras.clone(), rig.panorama.clone()));
    assert_variant!(rig.save(path.join("no/such/folder.toml")), Err(RigError::Unsaved { .. }));

    let geometry = rig.geometry().unwrap();
    assert_eq!(geometry.cameras.len(), 3);
    assert_eq!(geometry.canvas.centre, DVec2::new(2000.0, 400.5));
    // The panorama's middle is at a yaw of 10°, so the ray through it is (sin 10°, 0, cos 10°) in world coordinates.
    let (sin, cos) = 10f64.to_radians().sin_cos();
    let z = 0.1 * sin + cos;
    let expected = DVec2::new((320.0 * sin + 319.5 * cos) / z, 239.5 * cos / z);
    assert!((seen(&geometry.cameras[2], DVec3::Z) - expected).length() < 1e-9);
    // A canvas with half the width and height must show the same field of view.
    let half = rig.panorama.resized(UVec2::new(2850, 950));
    assert_eq!(half.centre, Some([999.75, 200.0]));

    let stream = Device::cpu().stream().unwrap();
    assert_eq!(DeviceWarp::render(&stream, &geometry).unwrap().sources().len(), 3);
    let cameras = vec![geometry.cameras[0]; 17];
    let error = DeviceWarp::render(&stream, &Geometry { cameras, ..geometry }).unwrap_err();
    assert!(error.to_string().contains("17"), "{error}");
}

#[test]
fn what_a_homography_camera_and_figures_may_not_be() {
    let numbers = "[320.0, 0.0, 319.5, 0.0, 320.0, 239.5, 0.1, 0.0, 1.0]";
    let with = |other: &str| format!("{numbers}\n{other}");
    for (from, to, said) in [
        (numbers, &*with("lens = \"pinhole\""), "lens of camera \"third\" cannot be combined"),
        (numbers, &with("yaw = 3.0"), "yaw of camera \"third\" cannot be combined"),
        (numbers, &with("distortion = [0.1]"), "distortion of camera \"third\" cannot be combined"),
        (numbers, "[1.0, 0.0]", "must be nine numbers"),
        (numbers, "[1.0, 2.0, 3.0, 2.0, 4.0, 6.0, 0.0, 0.0, 1.0]", "is singular"),
        ("239.5, 0.1", "239.5, nan", "must be nine finite numbers"),
        ("size = [640, 480]", "", "size of camera \"third\" is missing"),
        ("overlap = 0.3", "overlap = 1.3", "calibration overlap is 1.3; it must be 0 to 1"),
        ("rms_px = 0.7", "rms_px = nan", "calibration rms_px is NaN"),
        ("inliers = 640", "inliers = 900", "at most the number of matches"),
        ("inliers = 640", "inliers = -1", "expected u32"),
    ] {
        let text = whole();
        assert!(text.contains(from), "{from}");
        assert_says(Rig::parse(&text.replacen(from, to, 1), "rig.toml").unwrap_err(), said);
    }
}
