//! Tests that read OpenCV calibration files: published files, and malformed files that must be rejected.

use std::fs;

use glam::{DVec2, UVec2};
use panoweave::geometry::intrinsics::{Intrinsics, IntrinsicsError};
use panoweave::io::text::TextError;
use panoweave_tests::data;
use proptest::prelude::*;

use crate::malformed::{assert_says, assert_variant, refusal};

#[test]
fn a_fisheye_camera_of_opencv() {
    let Some(path) = data("rigs/surround/front.yaml") else {
        return;
    };
    let front = Intrinsics::open(path, 1).unwrap();
    assert_eq!(front.focal, DVec2::new(302.453059832293, 320.74618594392325));
    assert_eq!(front.centre, DVec2::new(496.6400146316346, 331.1998098436165));
    assert_eq!(front.distortion.len(), 4);
    assert_eq!(front.distortion[3], 0.008412312660570232);
    assert_eq!(front.size, Some(UVec2::new(960, 640)));
}

#[test]
fn a_pinhole_camera_of_opencv() {
    let Some(path) = data("rigs/opencv_stereo/left_intrinsics.yml") else {
        return;
    };
    let left = Intrinsics::open(path, 1).unwrap();
    assert_eq!(left.focal, DVec2::splat(535.915733961632));
    assert_eq!(left.distortion.len(), 5);
    assert_eq!(left.distortion[4], 0.23839153080878486);
    assert_eq!(left.size, Some(UVec2::new(640, 480)));
}

#[test]
fn files_of_other_programs_are_named() {
    let Some(path) = data("rigs/bumblebee2_chess/stereo.yaml") else {
        return;
    };
    let error = refusal(&path, |path| Intrinsics::open(path, 1));
    assert_says(error, "no camera matrix for camera 1");
}

#[test]
fn malformed_files() {
    let dir = tempfile::tempdir().unwrap();
    let error = |name: &str, content: &[u8]| {
        let path = dir.path().join(name);
        fs::write(&path, content).unwrap();
        refusal(&path, |path| Intrinsics::open(path, 1))
    };
    let long = vec![b'#'; (1 << 20) + 1];
    assert_variant!(error("long", &long), IntrinsicsError::Text(TextError::TooLong { .. }));
    let text = error("binary", b"K: \xFF\xFE");
    assert_variant!(text, IntrinsicsError::Text(TextError::NotText { offset: 3, .. }));
    let deep = "- ".repeat(20_000);
    assert_says(error("deep", deep.as_bytes()), "nested more than 16 levels deep");
    let mut bomb = "a0: &a0 [x, x, x, x]\n".to_owned();
    for i in 1..30 {
        let p = i - 1;
        bomb += &format!("a{i}: &a{i} [*a{p}, *a{p}, *a{p}, *a{p}]\n");
    }
    assert_says(error("bomb", bomb.as_bytes()), "bomb:2: YAML aliases");
    // Files of the maximum size, filled with syntax that may be slow to parse, must be rejected quickly.
    for unit in
        ["[", "{", "? ", "a: ", "- ", "&a ", "!!a ", "'", "|\n", "a: b\n", "[a],\n", "\t", "%"]
    {
        let many = unit.repeat((1 << 20) / unit.len());
        error("many", many.as_bytes());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..Default::default() })]
    #[test]
    fn garbage_never_panics(text in "(?s)(%YAML:1.0\n---\n)?([KD]: ?|!!opencv-matrix|[-\\[\\]{}:,&*#'\"|>?% \n\ta-z0-9.]){0,60}") {
        if let Err(error) = Intrinsics::parse(&text, "garbage.yaml", 1) {
            prop_assert!(error.to_string().starts_with("garbage.yaml"));
        }
    }
}
