//! Tests of the calibration of two pictures from simulated correspondences. The calibrated model must be close to the
//! simulated cameras.

use glam::{DMat3, DVec2, UVec2};
use panoweave::geometry::calibrate::{
    CalibrateOptions, Correspondence, Grade, KnownLens, ModelChoice, Photo, RigOptions, Views,
};
use panoweave::geometry::rig::{CameraMatrix, LensName, ModelName};
use proptest::prelude::*;

use panoweave_tests::made_up::{
    Matcher, Pinhole, between, flat, grid_distance, inside, pair, turn,
};

const SIZE: UVec2 = UVec2::new(1600, 1200);

/// Returns the maximum error of a calibration: the mean distance in pixels between the calibrated and the true
/// positions in the overlap. `noise` is the noise of the correspondences in pixels, and `right` is the number of
/// correct correspondences. The bound leaves room for rare large errors, and for a distortion too small to be detected.
fn allowed(noise: f64, right: f64) -> f64 {
    0.3 + 12.0 * noise / right.sqrt()
}

/// Both pictures have the same status bar, with as many correspondences as the scene. The bar is ignored.
#[test]
fn an_overlay_does_not_hide_the_scene() {
    let left = Pinhole { size: SIZE, focal: 1500.0, k1: 0.0, to_world: DMat3::IDENTITY };
    let right = Pinhole { to_world: turn(30.0, 2.0, 1.0), ..left };
    let matcher = Matcher { many: 600, wrong: 0.5, noise: 0.8, seed: 9 };
    let mut found = matcher.find([SIZE; 2], &between(left, right));
    let scene = found.len();
    for i in 0..600 {
        let place = DVec2::new(2.5 * f64::from(i), 1060.0 + f64::from(i * 37 % 120));
        let moved = place + DVec2::new(0.3, -0.2);
        found.push(Correspondence { left: place, right: moved, score: 2.0 });
    }
    let [a, b] = [Photo::new("left", SIZE), Photo::new("right", SIZE)];
    let fit = pair(&found, [&a, &b], &CalibrateOptions::default()).unwrap();
    let inliers = &fit.pairs[0].inliers;
    assert!(inliers.len() > 200 && inliers.iter().all(|&i| i < scene), "{inliers:?}");
}

/// Checks the word for the quality of a pair, and the figure that it names.
#[test]
fn the_verdict_names_the_figure_that_limits() {
    let left = Pinhole { size: SIZE, focal: 1500.0, k1: 0.0, to_world: DMat3::IDENTITY };
    let plain = Matcher { many: 400, wrong: 0.3, noise: 0.5, seed: 2 };
    for (yaw, matcher, grade, figure) in [
        (30.0, plain, Grade::Good, ""),
        (52.0, plain, Grade::Usable, "the overlap of left and right is only 8 %"),
        (30.0, Matcher { many: 60, ..plain }, Grade::Usable, "matches of left and right agree"),
        (
            10.0,
            Matcher { many: 600, wrong: 0.8, ..plain },
            Grade::Poor,
            "% of the matches in the overlap of left and right agree",
        ),
    ] {
        let truth = between(left, Pinhole { to_world: turn(yaw, 1.0, 0.5), ..left });
        let [a, b] = [Photo::new("left", SIZE), Photo::new("right", SIZE)];
        let found = pair(&matcher.find([SIZE; 2], &truth), [&a, &b], &CalibrateOptions::default());
        let verdict = found.unwrap().verdict();
        assert_eq!(verdict.grade, grade, "{yaw}°: {verdict}");
        assert!(verdict.to_string().contains(figure), "{yaw}°: {verdict}");
    }
}

proptest! {
    #![proptest_config(crate::calibrate::config(64))]

    /// Checks that calibration finds the rotation between two cameras. The right camera may be rolled by any angle,
    /// even upside down. Focal length and distortion vary, and up to 70 % of the correspondences are wrong.
    #[test]
    fn a_turn_is_found(
        // The yaw is a fraction of the field of view, so the overlap is 20 to 70 %.
        yaw in 0.3..0.8,
        pitch in -0.2..0.2,
        roll in prop_oneof![-10.0..10.0, Just(90.0), Just(180.0), -180.0..180.0],
        focal in 0.5..2.5,
        k1 in prop_oneof![Just(0.0), -0.2..0.1],
        noise in 0.1..1.5,
        wrong in 0.0..0.7,
        many in 200_usize..1200,
        seed: u64,
    ) {
        let fov = 2.0 * f64::atan(0.5 / focal).to_degrees();
        let left = Pinhole { size: SIZE, focal: 1600.0 * focal, k1, to_world: DMat3::IDENTITY };
        let right = Pinhole { to_world: turn(yaw * fov, pitch * fov, roll), ..left };
        let truth = between(left, right);
        let (_, seen) = grid_distance([SIZE; 2], &truth, &truth);
        // Skip cases in which no ray maps to the corners of the picture, because of the lens distortion.
        let whole = left.ray(DVec2::splat(-0.5)).is_some();
        prop_assume!(seen > 200 && whole);
        let matcher = Matcher { many, wrong, noise, seed };
        let found = matcher.find([SIZE; 2], &truth);
        let pictures = [Photo::new("left", SIZE), Photo::new("right", SIZE)];
        let calibration = pair(&found, [&pictures[0], &pictures[1]], &CalibrateOptions::default());
        let calibration =
            calibration.map_err(|refusal| TestCaseError::fail(refusal.to_string()))?;
        let map = |p| calibration.views.map(0, 1, p);
        let (off, _) = grid_distance([SIZE; 2], &truth, &map);
        let most = allowed(noise, many as f64 * (1.0 - wrong));
        prop_assert!(off < most, "off by {} of {} px, {:?}", off, most, calibration.views);
        let share = seen as f64 / 1600.0;
        prop_assert!((calibration.pairs[0].overlap[1] - share).abs() < 0.05);
        // The number of inliers is close to the number of correct correspondences.
        let right_ones = many as f64 * (1.0 - wrong);
        let agree = calibration.pairs[0].inliers.len() as f64;
        prop_assert!(agree > 0.7 * right_ones - 10.0 && agree < 1.15 * right_ones + 10.0);
        // A second calibration from the same input must give a bit-identical result.
        let again = pair(&found, [&pictures[0], &pictures[1]], &CalibrateOptions::default()).unwrap();
        prop_assert_eq!(again, calibration);
    }

    #[test]
    fn a_plane_is_found(
        numbers in prop::array::uniform8(-1.0..1.0),
        noise in 0.1..1.5,
        wrong in 0.0..0.7,
        many in 200_usize..1200,
        seed: u64,
    ) {
        let [a, b, c, d, e, f, g, h] = numbers;
        let truth = DMat3::from_cols_array(&[
            1.0 + 0.2 * a, 0.2 * b, 1.5e-4 * c,
            0.2 * d, 1.0 + 0.2 * e, 1.5e-4 * f,
            500.0 + 200.0 * g, 150.0 * h, 1.0,
        ]);
        let truth = flat(truth);
        let (_, seen) = grid_distance([SIZE; 2], &truth, &truth);
        prop_assume!(seen > 300);
        let found = Matcher { many, wrong, noise, seed }.find([SIZE; 2], &truth);
        let pictures = [Photo::new("left", SIZE), Photo::new("right", SIZE)];
        let options = CalibrateOptions { model: ModelChoice::Homography, ..CalibrateOptions::default() };
        for options in [options, CalibrateOptions::default()] {
            let calibration = pair(&found, [&pictures[0], &pictures[1]], &options);
            let calibration =
                calibration.map_err(|refusal| TestCaseError::fail(refusal.to_string()))?;
            let map = |p| calibration.views.map(0, 1, p);
            let (off, _) = grid_distance([SIZE; 2], &truth, &map);
            // The bound is wider than for a rotation, because a homography has twice as many parameters and is less
            // certain in areas without correspondences. If the calibration chooses a rotation instead of a homography,
            // the fitted lens may add an error of 1 px.
            let lens = if calibration.views.name() == ModelName::Rotation { 1.0 } else { 0.0 };
            let most = lens + 0.2 + 16.0 * noise / (many as f64 * (1.0 - wrong)).sqrt();
            prop_assert!(off < most, "off by {} of {} px", off, most);
        }
    }

    /// Checks that calibration finds a rotation even if only 20 % of the correspondences are correct, provided that the
    /// lenses are known.
    #[test]
    fn a_turn_of_known_lenses_is_found(
        yaw in 10.0..35.0,
        roll in -180.0..180.0,
        k1 in -0.2..0.05,
        noise in 0.1..1.5,
        wrong in 0.5..0.8,
        seed: u64,
    ) {
        let left = Pinhole { size: SIZE, focal: 1300.0, k1, to_world: DMat3::IDENTITY };
        let right = Pinhole { to_world: turn(yaw, 3.0, roll), ..left };
        let truth = between(left, right);
        let found = Matcher { many: 300, wrong, noise, seed }.find([SIZE; 2], &truth);
        let matrix = CameraMatrix { fx: 1300.0, fy: 1300.0, cx: 799.5, cy: 599.5 };
        let lens = Some(KnownLens { lens: LensName::Pinhole, matrix, distortion: vec![k1] });
        let picture = Photo { lens, ..Photo::new("either", SIZE) };
        let calibration = pair(&found, [&picture, &picture], &CalibrateOptions::default())
            .map_err(|refusal| TestCaseError::fail(refusal.to_string()))?;
        let map = |p| calibration.views.map(0, 1, p);
        let (off, _) = grid_distance([SIZE; 2], &truth, &map);
        let most = 0.1 + 8.0 * noise / (300.0 * (1.0 - wrong)).sqrt();
        prop_assert!(off < most, "off by {} of {} px", off, most);
        let Views::Rotation(cameras) = &calibration.views else { panic!("a plane") };
        prop_assert_eq!(cameras[1].distortion[0], k1);
    }
}

/// Checks that calibration finds a rotation although 90 % of the correspondences are wrong. It succeeds because wrong
/// correspondences have lower scores on average.
#[test]
fn one_right_in_ten_is_enough() {
    let left = Pinhole { size: SIZE, focal: 1400.0, k1: -0.05, to_world: DMat3::IDENTITY };
    let right = Pinhole { to_world: turn(25.0, 2.0, 1.0), ..left };
    let truth = between(left, right);
    for seed in 0..10 {
        let found = Matcher { many: 1500, wrong: 0.9, noise: 0.8, seed }.find([SIZE; 2], &truth);
        let picture = Photo::new("either", SIZE);
        let calibration = pair(&found, [&picture, &picture], &CalibrateOptions::default()).unwrap();
        let map = |p| calibration.views.map(0, 1, p);
        let (off, _) = grid_distance([SIZE; 2], &truth, &map);
        assert!(off < 1.0, "seed {seed}: off by {off} px");
    }
}

/// Checks that calibration finds the rotation of 70° between two equidistant fisheye cameras, although no homography
/// maps one picture to the other.
#[test]
fn known_fisheyes_are_found() {
    let (focal, centre) = (500.0, DVec2::new(799.5, 599.5));
    let to_world = turn(70.0, 4.0, -3.0);
    // Maps a right to a left pixel with the equidistant projection r = f·θ, where θ is the angle to the optical axis.
    let truth = |right: DVec2| {
        let at = (right - centre) / focal;
        let theta = at.length();
        let ray = (at / theta * theta.sin()).extend(theta.cos());
        let seen = to_world * ray;
        let flat = seen.truncate();
        Some(flat / flat.length() * flat.length().atan2(seen.z) * focal + centre)
    };
    let matrix = CameraMatrix { fx: focal, fy: focal, cx: centre.x, cy: centre.y };
    let lens = Some(KnownLens { lens: LensName::Fisheye, matrix, distortion: Vec::new() });
    let left = Photo { lens, ..Photo::new("left", SIZE) };
    let right = Photo { name: "right".to_owned(), ..left.clone() };
    let found = Matcher { many: 400, wrong: 0.6, noise: 0.7, seed: 4 }.find([SIZE; 2], &truth);
    let calibration = pair(&found, [&left, &right], &CalibrateOptions::default()).unwrap();
    assert_eq!(calibration.views.name(), ModelName::Rotation);
    let map = |p| calibration.views.map(0, 1, p);
    let (off, _) = grid_distance([SIZE; 2], &truth, &map);
    assert!(off < 0.5, "off by {off} px");
    let rig = calibration.rig(&RigOptions::default()).unwrap();
    assert_eq!(rig.cameras[1].mount().unwrap().lens, LensName::Fisheye);
    assert!(rig.panorama.fov > 200.0, "{:?}", rig.panorama);
}

/// Checks that calibration finds both focal lengths of two cameras. The focal lengths differ by a factor of 1.6, and
/// the picture sizes differ, too.
#[test]
fn a_zoomed_camera_keeps_its_own_focal_length() {
    let left = Pinhole { size: SIZE, focal: 1300.0, k1: 0.0, to_world: DMat3::IDENTITY };
    let (size, focal, to_world) = (UVec2::new(1280, 960), 2080.0, turn(15.0, 3.0, 5.0));
    let right = Pinhole { size, focal, to_world, k1: 0.0 };
    let truth = between(left, right);
    let matcher = Matcher { many: 800, wrong: 0.4, noise: 0.5, seed: 3 };
    let found = matcher.find([SIZE, size], &truth);
    let pictures = [Photo::new("left", SIZE), Photo::new("right", size)];
    let options = CalibrateOptions { model: ModelChoice::Rotation, ..CalibrateOptions::default() };
    let calibration = pair(&found, [&pictures[0], &pictures[1]], &options).unwrap();
    let Views::Rotation(cameras) = &calibration.views else { panic!("a plane") };
    let [a, b] = [cameras[0].focal.x / 1300.0, cameras[1].focal.x / 2080.0];
    assert!((a - 1.0).abs() < 0.05 && (b - 1.0).abs() < 0.05, "{a} {b}");
    let map = |p: DVec2| calibration.views.map(0, 1, p);
    assert!(grid_distance([SIZE, size], &truth, &map).0 < 0.4);
}

/// Checks that calibration reports the homography with the least error if the lenses distort, because no homography is
/// exact for such lenses. Increasing or decreasing any matrix element must increase the error.
#[test]
fn the_homography_of_lenses_that_distort_is_the_nearest() {
    let left = Pinhole { size: SIZE, focal: 1500.0, k1: -0.12, to_world: DMat3::IDENTITY };
    let right = Pinhole { to_world: turn(28.0, 2.0, 3.0), ..left };
    let truth = between(left, right);
    let found = Matcher { many: 800, wrong: 0.2, noise: 0.1, seed: 3 }.find([SIZE; 2], &truth);
    let pictures = [Photo::new("left", SIZE), Photo::new("right", SIZE)];
    let found = pair(&found, [&pictures[0], &pictures[1]], &CalibrateOptions::default()).unwrap();
    assert_eq!(found.views.name(), ModelName::Rotation);
    // Both pictures have noise, and the homography also scales the noise of the right picture. Therefore, an error has
    // less weight where the homography magnifies the right picture.
    let cost = |matrix: DMat3| {
        let map = flat(matrix);
        let (mut sum, mut many) = (0.0, 0.0);
        for i in 0..60 * 60 {
            let right = DVec2::new(f64::from(i % 60), f64::from(i / 60)) / 59.0 * SIZE.as_dvec2();
            let seen = truth(right).filter(|left| inside(*left, SIZE)).zip(map(right));
            let Some((left, at)) = seen else { continue };
            let area =
                (map(right + DVec2::X).unwrap() - at).perp_dot(map(right + DVec2::Y).unwrap() - at);
            sum += (at - left).length_squared() / (1.0 + area.abs());
            many += 1.0;
        }
        sum / many
    };
    let homography = found.views.homography(0, 1);
    let least = cost(homography);
    println!("{:.2} px", least.sqrt());
    for (i, scale) in [1.0, 1.0, 1e-3, 1.0, 1.0, 1e-3, 1e3, 1e3].into_iter().enumerate() {
        for step in [-2e-3, 2e-3] {
            let mut numbers = homography.to_cols_array();
            numbers[i] += step * scale;
            let aside = cost(DMat3::from_cols_array(&numbers));
            assert!(aside > least, "number {i}: {aside} {least}");
        }
    }
}

/// Checks the sign of the homography matrix: it must give all points of the overlap a positive third coordinate, even
/// though the top-left pixel of the right picture is behind the left camera.
#[test]
fn a_homography_has_in_front_what_both_see() {
    let left = Pinhole { size: SIZE, focal: 800.0, k1: 0.0, to_world: DMat3::IDENTITY };
    let right = Pinhole { to_world: turn(-50.0, 1.0, 2.0), ..left };
    let truth = between(left, right);
    let found = Matcher { many: 600, wrong: 0.3, noise: 0.4, seed: 3 }.find([SIZE; 2], &truth);
    let pictures = [Photo::new("left", SIZE), Photo::new("right", SIZE)];
    for model in [ModelChoice::Homography, ModelChoice::Rotation] {
        let options = CalibrateOptions { model, ..CalibrateOptions::default() };
        let found = pair(&found, [&pictures[0], &pictures[1]], &options).unwrap();
        let (off, seen) = grid_distance([SIZE; 2], &truth, &|p| found.views.map(0, 1, p));
        assert!(seen > 200 && off < 1.0, "{model:?}: off by {off} px at {seen} places");
        let matrix = found.views.homography(0, 1);
        let (off, _) = grid_distance([SIZE; 2], &truth, &flat(matrix));
        assert!(off < 1.0, "{model:?}: off by {off} px, {matrix}");
        assert!((matrix.z_axis.z - -1.0).abs() < 1e-9, "{matrix}");
        let Views::Planes(matrices) = &found.views else { continue };
        assert_eq!(matrices[0], DMat3::IDENTITY);
    }
}
