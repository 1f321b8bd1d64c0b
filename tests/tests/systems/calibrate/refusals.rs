//! Tests of inputs that calibration must reject. Each kind of invalid input has its own variant of the error `Refusal`.

use glam::{DMat3, DVec2, UVec2};
use panoweave::geometry::calibrate::{
    CalibrateOptions, Correspondence, KnownLens, ModelChoice, Photo, PhotoPair, Refusal, calibrate,
};
use panoweave::geometry::rig::{CameraMatrix, LensName};
use panoweave_tests::random::Random;
use proptest::prelude::*;

use panoweave_tests::made_up::{Matcher, Pinhole, between, flat, pair, turn, unit};

const SIZE: UVec2 = UVec2::new(1200, 900);

fn pictures() -> [Photo; 2] {
    [Photo::new("left", SIZE), Photo::new("right", SIZE)]
}

fn refusal(correspondences: &[Correspondence], options: &CalibrateOptions) -> Refusal {
    let [left, right] = &pictures();
    match pair(correspondences, [left, right], options) {
        Err(refusal) => {
            let message = refusal.to_string();
            assert!(!message.contains('\n') && message.len() > 40, "{message}");
            refusal
        }
        Ok(found) => panic!("accepted: {:?}", found.quality()),
    }
}

/// Returns the map from right to left pixels for two cameras 30° apart.
fn turned() -> impl Fn(DVec2) -> Option<DVec2> {
    let left = Pinhole { size: SIZE, focal: 1100.0, k1: 0.0, to_world: DMat3::IDENTITY };
    between(left, Pinhole { to_world: turn(30.0, 2.0, 1.0), ..left })
}

fn matcher(many: usize, wrong: f64) -> Matcher {
    Matcher { many, wrong, noise: 0.8, seed: 9 }
}

proptest! {
    #![proptest_config(crate::calibrate::config(48))]

    #[test]
    fn random_correspondences_are_refused(
        seed: u64,
        many in 1_usize..1500,
        model in prop_oneof![Just(ModelChoice::Auto), Just(ModelChoice::Rotation)],
    ) {
        let nowhere = |_| None;
        let matcher = Matcher { many, wrong: 1.0, noise: 0.0, seed };
        let found = matcher.find([SIZE; 2], &nowhere);
        let refusal = refusal(&found, &CalibrateOptions { model, ..CalibrateOptions::default() });
        let expected = matches!(
            refusal,
            Refusal::TooFew { .. } | Refusal::Chance { .. } | Refusal::NotTurning { .. }
        );
        prop_assert!(expected, "{refusal}");
    }

    #[test]
    fn copies_of_a_picture_are_refused(
        many in 2_usize..5,
        seed: u32,
        noise in 0.0..0.03,
        wrong in 0.0..0.6,
        model in prop_oneof![Just(ModelChoice::Auto), Just(ModelChoice::Homography)],
    ) {
        let photos: Vec<_> = (0..many).map(|i| Photo::new(format!("copy {i}"), SIZE)).collect();
        let links = (1..many).flat_map(|right| (0..right).map(move |left| (left, right)));
        let link = |(left, right)| {
            let matcher = Matcher { many: 400, wrong, noise, seed: u64::from(seed) + 9 * right as u64 + left as u64 };
            PhotoPair { left, right, correspondences: matcher.find([SIZE; 2], &|p| Some(p)) }
        };
        let links: Vec<_> = links.map(link).collect();
        let options = CalibrateOptions { model, ..CalibrateOptions::default() };
        let refusal = calibrate(&photos, &links, &options).unwrap_err();
        prop_assert!(matches!(refusal, Refusal::SameView { .. }), "{refusal}");
        let options = CalibrateOptions { same_view: true, ..options };
        prop_assert!(calibrate(&photos, &links, &options).is_ok());
    }

    /// Checks that calibration returns a result or an error for any input, and never panics.
    #[test]
    fn nothing_panics(
        points in prop::collection::vec((0_i32..6, 0_i32..6, 0_i32..6, 0_i32..6), 0..60),
        step in prop_oneof![Just(0.01), Just(1.0), Just(150.0)],
        score in prop_oneof![Just(f64::NAN), Just(0.0), Just(f64::INFINITY)],
    ) {
        let [left, right] = &pictures();
        let at = |x: i32, y: i32| DVec2::new(f64::from(x), f64::from(y)) * step;
        let points: Vec<_> = points
            .iter()
            .map(|&(a, b, c, d)| Correspondence { left: at(a, b), right: at(c, d), score })
            .collect();
        for model in [ModelChoice::Auto, ModelChoice::Homography, ModelChoice::Rotation] {
            let options = CalibrateOptions { model, ..CalibrateOptions::default() };
            if let Ok(found) = pair(&points, [left, right], &options) {
                let found = &found.pairs[0];
                prop_assert!(found.seam_error_px.is_finite() && found.rms_px.is_finite());
            }
        }
    }
}

#[test]
fn malformed_input_names_what_is_wrong() {
    let mut found = matcher(100, 0.3).find([SIZE; 2], &turned());
    assert!(matches!(
        refusal(&found[..7], &CalibrateOptions::default()),
        Refusal::TooFew { found: 7 }
    ));
    for bad in [DVec2::new(f64::NAN, 3.0), DVec2::new(1250.0, 3.0), DVec2::new(5.0, -9.0)] {
        found[41].right = bad;
        let refusal = refusal(&found, &CalibrateOptions::default());
        let named =
            matches!(&refusal, Refusal::Correspondence { index: 41, name, .. } if name == "right");
        assert!(named, "{refusal}");
    }
    let [left, mut right] = pictures();
    right.size = UVec2::new(0, 5);
    let refusal = pair(&[], [&left, &right], &CalibrateOptions::default()).unwrap_err();
    assert!(matches!(refusal, Refusal::PictureSize { .. }), "{refusal}");
    right.size = SIZE;
    let matrix = CameraMatrix { fx: f64::NAN, fy: 1.0, cx: 0.0, cy: 0.0 };
    right.lens = Some(KnownLens { lens: LensName::Pinhole, matrix, distortion: Vec::new() });
    let refusal = pair(&[], [&left, &right], &CalibrateOptions::default()).unwrap_err();
    assert!(matches!(refusal, Refusal::Lens { field: "fx", .. }), "{refusal}");
    // The rational model of OpenCV has 8 coefficients.
    let matrix = CameraMatrix { fx: 900.0, ..matrix };
    let distortion = vec![0.1, 0.2, 0.0, 0.0, 0.0, 0.3, 0.0, 0.0];
    right.lens = Some(KnownLens { lens: LensName::Pinhole, matrix, distortion });
    let refusal = pair(&[], [&left, &right], &CalibrateOptions::default()).unwrap_err();
    assert!(matches!(refusal, Refusal::Coefficients { found: 8, most: 5, .. }), "{refusal}");
}

#[test]
fn a_mirrored_picture_is_told() {
    let truth = turned();
    let mut found = matcher(300, 0.4).find([SIZE; 2], &truth);
    for one in &mut found {
        one.right.x = f64::from(SIZE.x) - 1.0 - one.right.x;
    }
    let refusal = refusal(&found, &CalibrateOptions::default());
    assert!(matches!(refusal, Refusal::Mirrored { .. }), "{refusal}");
}

/// Two places of a wall with windows: a sixth of the windows match those of the same column, and as many match those of
/// each of five other columns.
#[test]
fn a_pattern_that_repeats_is_refused() {
    let mut random = Random::new(11);
    let mut window = |right: DVec2| {
        let left = right + DVec2::new(50.0 * (6.0 * unit(&mut random)).floor() - 100.0, 3.0);
        let noise = 0.5 * (DVec2::new(unit(&mut random), unit(&mut random)) - 0.5);
        Correspondence { left: left + noise, right, score: 1.0 }
    };
    let places = (0..700)
        .map(|i| DVec2::new(f64::from(i % 35) * 22.0 + 110.0, f64::from(i / 35) * 40.0 + 50.0));
    let found: Vec<_> = places.map(&mut window).filter(|one| one.left.x < 1199.0).collect();
    let refusal = refusal(&found, &CalibrateOptions::default());
    assert!(matches!(refusal, Refusal::Chance { .. }), "{refusal}");
}

/// Both pictures have the same status bar, and otherwise nothing in common.
#[test]
fn a_bar_that_both_pictures_have_is_refused() {
    let mut random = Random::new(7);
    let mut found = matcher(650, 1.0).find([SIZE; 2], &|_| None);
    for _ in 0..90 {
        let [x, y] = [unit(&mut random), unit(&mut random)];
        let right = DVec2::new(x * 1150.0, 800.0 + 90.0 * y);
        let noise = 0.5 * (DVec2::new(unit(&mut random), unit(&mut random)) - 0.5);
        let left = right + DVec2::new(5.0, 2.0) + noise;
        found.push(Correspondence { left, right, score: 1.0 });
    }
    let refusal = refusal(&found, &CalibrateOptions::default());
    assert!(matches!(refusal, Refusal::Chance { .. }), "{refusal}");
}

#[test]
fn what_lies_on_a_line_or_in_one_place_is_refused() {
    let truth = turned();
    let mut random = Random::new(4);
    let noise = |random: &mut Random| DVec2::new(unit(random), unit(random)) - 0.5;
    // These correspondences are on a line across the right picture.
    let line: Vec<_> = (0..200)
        .filter_map(|i| {
            let right = DVec2::new(f64::from(i) * 3.0, 300.0 + f64::from(i));
            let left = truth(right)?;
            let off = noise(&mut random);
            let inside = left.x < 1199.0 && left.y > 0.0 && left.y < 899.0;
            inside.then_some(Correspondence { left: left + off, right, score: 1.0 })
        })
        .filter(|one| one.left.x < 1199.0)
        .collect();
    let options =
        CalibrateOptions { model: ModelChoice::Homography, ..CalibrateOptions::default() };
    let on_line = refusal(&line, &options);
    let expected = matches!(
        on_line,
        Refusal::Chance { .. }
            | Refusal::Loose { .. }
            | Refusal::Clumped { .. }
            | Refusal::Implausible { .. }
            | Refusal::Overlap { .. }
            | Refusal::SameView { .. }
    );
    assert!(expected, "{on_line}");
    // The only consistent correspondences are on an object of 60×60 pixels, which is too small for a calibration.
    let mut found = matcher(150, 1.0).find([SIZE; 2], &|_| None);
    for _ in 0..80 {
        let right = DVec2::new(700.0, 500.0) + 60.0 * noise(&mut random);
        let left = right + DVec2::new(-90.0, 5.0) + noise(&mut random);
        found.push(Correspondence { left, right, score: 1.0 });
    }
    let refusal = refusal(&found, &CalibrateOptions::default());
    let expected = matches!(
        refusal,
        Refusal::Clumped { .. } | Refusal::Loose { .. } | Refusal::Implausible { .. }
    );
    assert!(expected, "{refusal}");
}

#[test]
fn too_little_overlap_and_too_much_zoom_are_refused() {
    // The overlap is a strip of 2 % of the left picture.
    let shift = DMat3::from_translation(DVec2::new(1176.0, 0.0));
    let found = matcher(200, 0.0).find([SIZE; 2], &flat(shift));
    let strip = refusal(&found, &CalibrateOptions::default());
    assert!(matches!(strip, Refusal::Overlap { .. }), "{strip}");
    // The right picture shows only a tenth of the left picture's width.
    let zoom = DMat3::from_cols_array(&[0.1, 0.0, 0.0, 0.0, 0.1, 0.0, 400.0, 300.0, 1.0]);
    let found = Matcher { noise: 0.2, ..matcher(300, 0.2) }.find([SIZE; 2], &flat(zoom));
    let refusal = refusal(&found, &CalibrateOptions::default());
    assert!(matches!(refusal, Refusal::Implausible { .. }), "{refusal}");
    // The right picture is a thumbnail, in which no point is recognised.
    let [left, mut right] = pictures();
    right.size = SIZE / 8;
    let found = matcher(200, 1.0).find([SIZE, right.size], &|_| None);
    let refusal = pair(&found, [&left, &right], &CalibrateOptions::default()).unwrap_err();
    assert!(refusal.to_string().contains("differ 8 times"), "{refusal}");
}

#[test]
fn a_plane_is_no_turning_camera() {
    // This homography is a view of a plane from the side, which no rotation of a camera can produce.
    let plane = DMat3::from_cols_array(&[0.8, 0.3, 4e-4, -0.3, 1.0, -1e-5, 150.0, -60.0, 1.0]);
    let found = matcher(400, 0.3).find([SIZE; 2], &flat(plane));
    let [left, right] = &pictures();
    let auto = pair(&found, [left, right], &CalibrateOptions::default()).unwrap();
    assert_eq!(auto.views.name(), panoweave::geometry::rig::ModelName::Homography);
    let options = CalibrateOptions { model: ModelChoice::Rotation, ..CalibrateOptions::default() };
    let refusal = refusal(&found, &options);
    assert!(matches!(refusal, Refusal::NotTurning { .. }), "{refusal}");
}
