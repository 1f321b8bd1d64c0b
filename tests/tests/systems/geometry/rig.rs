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

use crate::malformed::{assert_variant, refusal};

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
fn toml_comes_back_unchanged() {
    let rig = Rig::parse(RIG, "rig.toml").unwrap();
    let text = rig.to_toml().unwrap();
    assert_eq!(Rig::parse(&text, "rig.toml").unwrap(), rig);
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
    let none = replace("front.yaml", "none.yaml");
    assert_variant!(none, RigError::Calibration { .. });
    let size = replace("opencv =", "size = [1920, 1280]\nopencv =");
    assert_variant!(size, RigError::SizeMismatch { calibrated: [960, 640], .. });
    let twice = replace("opencv =", "distortion = [0.1]\nopencv =");
    assert_variant!(twice, RigError::Contradiction { .. });
}

#[test]
fn every_impossible_number_has_its_error() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("rig.toml");
    let error = |from: &str, to: &str| {
        assert!(RIG.contains(from), "{from}");
        fs::write(&path, RIG.replacen(from, to, 1)).unwrap();
        refusal(&path, |path| Rig::open(path))
    };
    for bad in ["0", "-3", "32769", "99999999999"] {
        assert_variant!(error("5700", bad), RigError::CanvasSize { .. });
        assert_variant!(error("1900", bad), RigError::CanvasSize { .. });
        assert_variant!(error("3840", bad), RigError::PictureSize { .. });
    }
    fs::write(&path, RIG.replacen("5700", "32768", 1).replacen("1900", "32768", 1)).unwrap();
    assert_variant!(refusal(&path, |p| Rig::open(p)), RigError::CanvasArea { .. });
    for bad in ["0", "-10", "360.1"] {
        assert_variant!(error("fov = 150", &format!("fov = {bad}")), RigError::Fov { .. });
    }
    let flat = RIG.replacen("cylindrical", "planar", 1).replacen("150", "180", 1);
    fs::write(&path, flat).unwrap();
    assert_variant!(refusal(&path, |p| Rig::open(p)), RigError::Fov { most: 179.0, .. });
    assert_variant!(error("fov = 150", "fov = 150\nfov_vertical = 180"), RigError::Fov { .. });
    let high = RIG.replacen("cylindrical", "equirectangular", 1).replacen("1900", "7000", 1);
    fs::write(&path, high).unwrap();
    assert_variant!(refusal(&path, |p| Rig::open(p)), RigError::BeyondPoles { value: 7000, .. });
    for bad in ["nan", "inf", "-inf"] {
        for field in ["fov = 150", "yaw = 10.0", "fx = 2100.0", "cy = 1079.5", "roll = 90.0"] {
            let name = field.split(' ').next().unwrap();
            assert_variant!(error(field, &format!("{name} = {bad}")), RigError::NotFinite { .. });
        }
        assert_variant!(error("-0.05", bad), RigError::NotFinite { .. });
    }
    for bad in ["0", "-2100", "0.8", "1e7"] {
        assert_variant!(error("fx = 2100.0", &format!("fx = {bad}")), RigError::Focal { .. });
    }
    assert_variant!(error("cx = 1919.5", "cx = 1e5"), RigError::PrincipalPoint { .. });
    assert_variant!(error("cy = 1079.5", "cy = -2161"), RigError::PrincipalPoint { .. });
    assert_variant!(error("-0.05", "1e7"), RigError::Distortion { .. });
    assert_variant!(
        error("[-0.05, 0.01]", "[0.1, 0, 0, 0, 0, 0.2]"),
        RigError::DistortionCount { most: 5, .. }
    );
    assert_variant!(error("yaw = -35", "yaw = -3500"), RigError::Angle { .. });
    assert_variant!(error("\"right\"", "\"left\""), RigError::CameraName { .. });
    assert_variant!(error("\"right\"", "\"\""), RigError::CameraName { .. });
    assert_variant!(error("size = [3840, 2160]", ""), RigError::SizeMissing { .. });
    let matrix = "matrix = { fx = 2100.0, fy = 2110.0, cx = 1919.5, cy = 1079.5 }";
    assert_variant!(error(matrix, ""), RigError::MatrixSource { found: "neither", .. });
    let both = format!("{matrix}\nopencv = \"a.yaml\"");
    assert_variant!(error(matrix, &both), RigError::MatrixSource { found: "both", .. });
    let number = format!("{matrix}\nopencv_camera = 2");
    assert_variant!(error(matrix, &number), RigError::Contradiction { .. });
    let one = RIG.rsplit_once("[[camera]]").unwrap().0;
    fs::write(&path, one).unwrap();
    assert_variant!(refusal(&path, |p| Rig::open(p)), RigError::CameraCount { value: 1, .. });
    for bad in ["nan", "40000"] {
        let centre = format!("fov = 150\ncentre = [2000.0, {bad}]");
        let error = error("fov = 150", &centre);
        assert_variant!(error, RigError::Centre { .. } | RigError::NotFinite { .. });
    }
    let syntax = error("fov = 150", "fov = 150\nfvo = 3");
    assert_variant!(syntax, RigError::Syntax { line: 7, column: 1, .. });
    assert_variant!(error("\"pinhole\"", "\"pinhol\""), RigError::Syntax { line: 12, .. });
    assert_variant!(error("[panorama]", "[panorama"), RigError::Syntax { line: 2, .. });
    fs::write(&path, "# ".repeat(1 << 20)).unwrap();
    assert_variant!(refusal(&path, |p| Rig::open(p)), RigError::Text(_));
}

#[test]
fn vignetting_is_kept_and_checked() {
    let with = |vignetting: &str| {
        let line = format!("yaw = -35\nvignetting = {vignetting}");
        Rig::parse(&RIG.replacen("yaw = -35", &line, 1), "rig.toml")
    };
    let rig = with("[-0.3, 0.0, -0.1]").unwrap();
    assert_eq!(rig.cameras[0].vignetting, Vignetting([-0.3, 0.0, -0.1]));
    assert_eq!(rig.cameras[1].vignetting, Vignetting::NONE);
    let again = Rig::parse(&rig.to_toml().unwrap(), "rig.toml").unwrap();
    assert_eq!(again.cameras, rig.cameras);
    assert_variant!(with("[-0.3]").unwrap_err(), RigError::Contradiction { .. });
    assert_variant!(with("[-0.3, 0.0, nan]").unwrap_err(), RigError::NotFinite { .. });
    // Half of the way to the corners, this lens keeps no light.
    assert_variant!(with("[-4.0, 3.5, 0.5]").unwrap_err(), RigError::Vignetting { .. });
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

#[test]
fn a_size_is_two_numbers_and_cameras_are_counted_first() {
    let three = RIG.replace("size = [1920, 1080]", "size = [1920, 1080, 7]");
    assert_variant!(Rig::parse(&three, "rig.toml").unwrap_err(), RigError::Contradiction { .. });
    // The parser rejects too many cameras before it reads their calibration files, so the missing file does not matter.
    let camera = "\n[[camera]]\nname = \"n\"\nlens = \"pinhole\"\nopencv = \"missing.yaml\"\n";
    let many = format!("{RIG}{}", camera.repeat(98));
    let error = Rig::parse(&many, "rig.toml").unwrap_err();
    assert_variant!(error, RigError::CameraCount { value: 100, .. });
}

/// Text that adds to a rig a third camera, defined by a homography, and the quality values of a calibration.
const WHOLE: &str = r#"
[[camera]]
name = "third"
size = [640, 480]
homography = [320.0, 0.0, 319.5, 0.0, 320.0, 239.5, 0.1, 0.0, 1.0]

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
    let error = |from: &str, to: &str| {
        let text = whole();
        assert!(text.contains(from), "{from}");
        Rig::parse(&text.replacen(from, to, 1), "rig.toml").unwrap_err()
    };
    let numbers = "[320.0, 0.0, 319.5, 0.0, 320.0, 239.5, 0.1, 0.0, 1.0]";
    for others in ["lens = \"pinhole\"", "yaw = 3.0", "distortion = [0.1]"] {
        let both = format!("homography = {numbers}\n{others}");
        let error = error(&format!("homography = {numbers}"), &both);
        assert_variant!(error, RigError::Contradiction { .. });
    }
    assert_variant!(error(numbers, "[1.0, 0.0]"), RigError::Contradiction { .. });
    let flat = "[1.0, 2.0, 3.0, 2.0, 4.0, 6.0, 0.0, 0.0, 1.0]";
    assert_variant!(error(numbers, flat), RigError::Homography { .. });
    assert_variant!(error("239.5, 0.1", "239.5, nan"), RigError::Homography { .. });
    assert_variant!(error("size = [640, 480]", ""), RigError::Contradiction { .. });
    assert_variant!(error("lens = \"fisheye\"", ""), RigError::Contradiction { .. });
    assert_variant!(error("overlap = 0.3", "overlap = 1.3"), RigError::Quality { .. });
    assert_variant!(error("rms_px = 0.7", "rms_px = nan"), RigError::Quality { .. });
    assert_variant!(error("inliers = 640", "inliers = 900"), RigError::Quality { .. });
    assert_variant!(error("inliers = 640", "inliers = -1"), RigError::Syntax { .. });
}
