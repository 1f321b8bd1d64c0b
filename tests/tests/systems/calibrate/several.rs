//! Tests of the calibration of more than two pictures. They cover simulated cameras in a ring, pictures of a plane,
//! pictures that overlap no other picture, and pairs whose correspondences agree but are wrong ("false pairs").

use glam::{DMat3, DVec2, UVec2};
use panoweave::geometry::calibrate::{
    CalibrateOptions, Calibration, ModelChoice, Photo, PhotoPair, Refusal, RigOptions, Views,
    calibrate,
};
use panoweave::geometry::rig::{ModelName, ProjectionName, Rig};
use proptest::prelude::*;

use panoweave_tests::made_up::{Matcher, Pinhole, between, flat, grid_distance, pair, turn};

const SIZE: UVec2 = UVec2::new(1200, 900);

/// Returns cameras in a horizontal ring, `step` degrees apart. The yaw, pitch and roll of each camera deviate by up to
/// 1° from this ring.
fn ring(many: usize, step: f64, focal: f64, k1: f64) -> Vec<Pinhole> {
    let camera = |i: usize| {
        let off = |n: usize| ((i * 7 + n * 5) % 11) as f64 / 5.0 - 1.0;
        let to_world = turn(i as f64 * step + off(0), off(1), off(2));
        Pinhole { size: SIZE, focal, k1, to_world }
    };
    (0..many).map(camera).collect()
}

fn pictures(many: usize) -> Vec<Photo> {
    (0..many).map(|i| Photo::new(format!("camera {i}"), SIZE)).collect()
}

/// Returns all pairs of cameras with simulated correspondences. If a pair does not overlap, all its correspondences are
/// wrong.
fn pairs(cameras: &[Pinhole], matcher: Matcher) -> Vec<PhotoPair> {
    let mut pairs = Vec::new();
    for left in 0..cameras.len() {
        for right in left + 1..cameras.len() {
            let truth = between(cameras[left], cameras[right]);
            let (_, seen) = grid_distance([SIZE; 2], &truth, &truth);
            let wrong = if seen > 200 { matcher.wrong } else { 1.0 };
            let seed = matcher.seed + (left * 31 + right) as u64;
            let matcher = Matcher { wrong, seed, ..matcher };
            let correspondences = matcher.find([SIZE; 2], &truth);
            pairs.push(PhotoPair { left, right, correspondences });
        }
    }
    pairs
}

/// Returns the largest error over all pairs of overlapping cameras. The error of a pair is the mean distance in pixels
/// between the mapped and the true positions of grid points.
fn worst(found: &Calibration, cameras: &[Pinhole]) -> f64 {
    let off = |left: usize, right: usize| {
        let truth = between(cameras[left], cameras[right]);
        let map = |p| found.views.map(left, right, p);
        let (off, seen) = grid_distance([SIZE; 2], &truth, &map);
        if seen > 200 { off } else { 0.0 }
    };
    let pairs = (0..cameras.len()).flat_map(|l| (l + 1..cameras.len()).map(move |r| (l, r)));
    pairs.map(|(l, r)| off(l, r)).fold(0.0, f64::max)
}

proptest! {
    #![proptest_config(crate::calibrate::config(8))]

    #[test]
    fn a_part_of_a_ring_is_found(
        many in 3_usize..6,
        step in 18.0..32.0,
        focal in 900.0..1500.0,
        k1 in prop_oneof![Just(0.0), -0.1..0.05],
        wrong in 0.0..0.6,
        noise in 0.2..1.2,
        seed in 0_u64..1 << 40,
    ) {
        let cameras = ring(many, step, focal, k1);
        let pairs = pairs(&cameras, Matcher { many: 300, wrong, noise, seed });
        let found = calibrate(&pictures(many), &pairs, &CalibrateOptions::default());
        let found = found.map_err(|refusal| TestCaseError::fail(refusal.to_string()))?;
        prop_assert_eq!(found.views.name(), ModelName::Rotation);
        let off = worst(&found, &cameras);
        // The bound is wide, because `off` is the largest of up to ten mean errors, and some pairs overlap by only an
        // eighth of a picture. In one of eighty cases, the error exceeds 1.6 times the noise.
        prop_assert!(off < 0.5 + 2.5 * noise, "off by {} px", off);
        let again = calibrate(&pictures(many), &pairs, &CalibrateOptions::default()).unwrap();
        prop_assert_eq!(&again, &found);

        let rig = found.rig(&RigOptions::default()).unwrap();
        prop_assert_eq!(rig.cameras.len(), many);
        let same = Rig::parse(&rig.to_toml().unwrap(), &rig.file).unwrap();
        prop_assert_eq!(&same, &rig);
        let whole = (many - 1) as f64 * step;
        prop_assert!(rig.panorama.fov > whole && rig.panorama.fov < whole + 90.0);
    }
}

#[test]
fn the_focal_length_is_that_of_the_ring() {
    let cameras = ring(6, 25.0, 1200.0, 0.0);
    let found = calibrate(
        &pictures(6),
        &pairs(&cameras, Matcher { many: 300, wrong: 0.4, noise: 0.7, seed: 3 }),
        &CalibrateOptions::default(),
    )
    .unwrap();
    let Views::Rotation(views) = &found.views else { panic!() };
    for view in views {
        assert!((view.focal.x / 1200.0 - 1.0).abs() < 0.01, "{}", view.focal);
    }
    let rig = found.rig(&RigOptions::default()).unwrap();
    assert_eq!(rig.panorama.projection, ProjectionName::Cylindrical);
    // The pitch and roll of each camera must be under 3°. The yaw of the first and the last camera must be opposite, so
    // that the middle of the ring is straight ahead.
    let mounts: Vec<_> = rig.cameras.iter().map(|camera| camera.mount().unwrap()).collect();
    for mount in &mounts {
        assert!(mount.pitch.abs() < 3.0 && mount.roll.abs() < 3.0, "{mount:?}");
    }
    assert!((mounts[0].yaw + mounts[5].yaw).abs() < 5.0);
    assert!((mounts[5].yaw - mounts[0].yaw - 125.0).abs() < 3.0);
}

#[test]
fn a_wall_in_five_photographs_is_chained() {
    // Five pictures show one plane, each from another position. `plane` returns the matrix that maps picture `i` to the
    // first picture.
    let plane = |i: usize| {
        let t = i as f64;
        let bent = if i.is_multiple_of(2) { 1.0 } else { -1.0 };
        DMat3::from_cols_array(&[
            1.0 + 0.02 * bent,
            0.03 * bent,
            6e-5 * bent,
            -0.04,
            0.97,
            4e-5,
            420.0 * t,
            15.0 * bent,
            1.0,
        ])
    };
    let plane = |i: usize| if i == 0 { DMat3::IDENTITY } else { plane(i) };
    let mut pairs = Vec::new();
    for right in 1..5 {
        let truth = plane(right - 1).inverse() * plane(right);
        let matcher = Matcher { many: 250, wrong: 0.5, noise: 0.8, seed: right as u64 };
        let correspondences = matcher.find([SIZE; 2], &flat(truth));
        pairs.push(PhotoPair { left: right - 1, right, correspondences });
    }
    let found = calibrate(&pictures(5), &pairs, &CalibrateOptions::default()).unwrap();
    assert_eq!(found.views.name(), ModelName::Homography);
    for right in 1..5 {
        let truth = plane(right - 1).inverse() * plane(right);
        let map = |p| found.views.map(right - 1, right, p);
        let (off, _) = grid_distance([SIZE; 2], &flat(truth), &map);
        assert!(off < 1.0, "{right}: off by {off} px");
    }
    let rig = found.rig(&RigOptions { crop: true, ..RigOptions::default() }).unwrap();
    let same = Rig::parse(&rig.to_toml().unwrap(), &rig.file).unwrap();
    assert_eq!(same, rig);
    assert!(rig.panorama.width > 2000 && rig.panorama.height > 500, "{:?}", rig.panorama);
}

#[test]
fn pictures_that_nothing_connects_are_named() {
    let mut cameras = ring(4, 25.0, 1200.0, 0.0);
    cameras[2].to_world = turn(180.0, 0.0, 0.0);
    let pairs = pairs(&cameras, Matcher { many: 250, wrong: 0.3, noise: 0.7, seed: 8 });
    let found = calibrate(&pictures(4), &pairs, &CalibrateOptions::default()).unwrap();
    // Camera 2 points backwards, so it overlaps no other camera. Therefore, camera 3 is also disconnected: it is 50°
    // from camera 1 and 75° from camera 0, so it does not overlap these cameras enough.
    assert_eq!(found.indices, [0, 1]);
    let names: Vec<&str> = found.pictures.iter().map(|picture| picture.name.as_str()).collect();
    assert_eq!(names, ["camera 0", "camera 1"]);
    let told: Vec<(usize, &str)> =
        found.left_out.iter().map(|one| (one.index, one.name.as_str())).collect();
    assert_eq!(told, [(2, "camera 2"), (3, "camera 3")]);
    for one in &found.left_out {
        assert!(one.reason.contains("by chance"), "{one:?}");
    }
    assert_eq!(found.rig(&RigOptions::default()).unwrap().cameras.len(), 2);
    assert!(worst(&found, &cameras[..2]) < 1.5);
    // If no two pictures fit together, nothing is left, and the error has the reasons.
    let apart: Vec<PhotoPair> =
        pairs.iter().filter(|pair| pair.left == 2 || pair.right == 2).cloned().collect();
    let refusal = calibrate(&pictures(4), &apart, &CalibrateOptions::default()).unwrap_err();
    let message = refusal.to_string();
    let Refusal::Disconnected { pictures: 4, reasons } = refusal else { panic!("{message}") };
    // Each reason must name two pictures.
    assert!(!reasons.is_empty() && reasons.len() <= 3, "{reasons:?}");
    assert!(
        reasons.iter().all(|r| r.starts_with("camera ") && r.contains("chance")),
        "{reasons:?}"
    );
    assert!(message.contains(&reasons[0]) && !message.contains('\n'), "{message}");
    let link = PhotoPair { left: 1, right: 1, correspondences: Vec::new() };
    let refusal = calibrate(&pictures(4), &[link], &CalibrateOptions::default()).unwrap_err();
    assert!(matches!(refusal, Refusal::Link { left: 1, right: 1, pictures: 4 }), "{refusal}");
    let refusal = calibrate(&pictures(1), &[], &CalibrateOptions::default()).unwrap_err();
    assert!(matches!(refusal, Refusal::Pictures { found: 1 }), "{refusal}");
}

/// Returns the correspondences of a false pair: the pictures do not overlap, but each shows a copy of the same poster,
/// 350 pixels wide. The correspondences have noise, and 40 % of them are not even on the poster.
fn poster(left: usize, right: usize, many: usize) -> PhotoPair {
    let shift = DVec2::new(-420.0, 35.0);
    let seen = |p: DVec2| {
        let on = p.cmpge(DVec2::new(600.0, 250.0)).all() && p.cmple(DVec2::new(950.0, 600.0)).all();
        on.then_some(p + shift)
    };
    let matcher = Matcher { many, wrong: 0.4, noise: 0.7, seed: 99 };
    PhotoPair { left, right, correspondences: matcher.find([SIZE; 2], &seen) }
}

/// Checks the calibration of four overlapping pictures, of which the first and the last also show copies of the same
/// poster. The false pair of these two pictures must be rejected, no matter whether it has fewer or more
/// correspondences than the other pairs.
#[test]
fn a_poster_on_two_walls_does_not_spoil_the_rest() {
    for (step, many_poster) in [(30.0, 120), (18.0, 900)] {
        let cameras = ring(4, step, 1200.0, 0.0);
        let matcher = Matcher { many: 300, wrong: 0.3, noise: 0.7, seed: 3 };
        let mut pairs = pairs(&cameras, matcher);
        let last = pairs.iter().position(|pair| (pair.left, pair.right) == (0, 3)).unwrap();
        pairs[last] = poster(0, 3, many_poster);
        let both = [&pictures(4)[0], &pictures(4)[3]];
        let alone = pair(&pairs[last].correspondences, both, &CalibrateOptions::default());
        assert!(alone.is_ok(), "the false pair is refused: {}", alone.unwrap_err());
        let found = calibrate(&pictures(4), &pairs, &CalibrateOptions::default())
            .unwrap_or_else(|refusal| panic!("{step}°: {refusal}"));
        let off = worst(&found, &cameras[..]);
        assert!(off < 1.5, "{step}°: off by {off} px");
        assert!(found.pairs.iter().all(|pair| (pair.left, pair.right) != (0, 3)));
        let [ignored] = &found.false_pairs[..] else { panic!("{:?}", found.false_pairs) };
        assert!(ignored.certain && ignored.names == ["camera 0", "camera 3"], "{ignored}");
        assert_eq!(found.pairs.len(), if step < 20.0 { 5 } else { 3 });
    }
}

/// Checks two groups of pictures without a common view: the larger group is calibrated, and each picture of the other
/// one is named with a picture that it overlaps.
#[test]
fn the_largest_group_is_kept() {
    let mut cameras = ring(5, 25.0, 1200.0, 0.0);
    cameras[1].to_world = turn(180.0, 0.0, 0.0);
    cameras[4].to_world = turn(200.0, 0.0, 0.0);
    cameras[0].to_world = turn(75.0, 0.0, 0.0);
    let pairs = pairs(&cameras, Matcher { many: 250, wrong: 0.3, noise: 0.7, seed: 8 });
    let found = calibrate(&pictures(5), &pairs, &CalibrateOptions::default()).unwrap();
    assert_eq!(found.indices, [0, 2, 3]);
    for (one, [name, other]) in
        found.left_out.iter().zip([["camera 1", "camera 4"], ["camera 4", "camera 1"]])
    {
        assert_eq!(one.name, name);
        let group = format!("it overlaps {other}, but its group of 2 pictures");
        assert!(one.reason.starts_with(&group), "{one:?}");
        assert!(one.reason.ends_with("the group of 3 with camera 0, which is larger"), "{one:?}");
    }
    let kept = [cameras[0], cameras[2], cameras[3]];
    assert!(worst(&found, &kept) < 1.5);
    // Without one of the three, the groups are equally large.
    let pairs = self::pairs(&cameras[1..], Matcher { many: 250, wrong: 0.3, noise: 0.7, seed: 8 });
    let found = calibrate(&pictures(4), &pairs, &CalibrateOptions::default()).unwrap();
    let first = &found.pictures[0].name;
    let group = format!(
        "its group of 2 pictures is not connected to the group of 2 with {first}, which is equally large"
    );
    assert!(
        found.left_out.len() == 2 && found.left_out.iter().all(|one| one.reason.contains(&group)),
        "{:?}",
        found.left_out
    );
}

/// Checks the calibration of four pictures whose four pairs form a ring. One pair is false, but any three of the pairs
/// are consistent, so the false pair cannot be identified. `calibrate` must ignore one pair, and state its doubt.
#[test]
fn where_it_is_not_clear_which_pair_is_false_it_is_told() {
    let cameras = ring(4, 30.0, 1200.0, 0.0);
    let matcher = Matcher { many: 300, wrong: 0.4, noise: 0.7, seed: 3 };
    let mut pairs = pairs(&cameras, matcher);
    let last = pairs.iter().position(|pair| (pair.left, pair.right) == (0, 3)).unwrap();
    pairs[last] = poster(0, 3, 300);
    let found = calibrate(&pictures(4), &pairs, &CalibrateOptions::default()).unwrap();
    assert_eq!((found.indices.len(), found.pairs.len()), (4, 3));
    let [ignored] = &found.false_pairs[..] else { panic!("{:?}", found.false_pairs) };
    assert!(!ignored.certain, "{ignored}");
    let [left, right] = &ignored.names;
    assert!(left.starts_with("camera ") && right.starts_with("camera ") && left != right);
    assert!(ignored.to_string().contains("not clear"), "{ignored}");
}

/// Checks that nine cameras with a field of view of 60°, placed 40° apart, give a panorama of exactly 360°.
#[test]
fn a_closed_ring_is_a_whole_turn() {
    let cameras = ring(9, 40.0, 600.0 / f64::tan(30.0_f64.to_radians()), 0.0);
    let matcher = Matcher { many: 300, wrong: 0.3, noise: 0.4, seed: 6 };
    let found =
        calibrate(&pictures(9), &pairs(&cameras, matcher), &CalibrateOptions::default()).unwrap();
    assert_eq!(found.pairs.len(), 9);
    let rig = found.rig(&RigOptions::default()).unwrap();
    assert_eq!(rig.panorama.projection, ProjectionName::Cylindrical);
    assert!((rig.panorama.fov - 360.0).abs() < 1e-9, "{:?}", rig.panorama);
    let canvas = rig.geometry().unwrap().canvas;
    let turn = std::f64::consts::TAU * canvas.scale.x;
    assert!((turn - f64::from(canvas.size.x)).abs() < 1e-6, "{turn} {}", canvas.size);
    // The forward direction is at most half a pixel from the middle of the canvas. It can differ, because rounding may
    // add one pixel to the canvas.
    let middle = canvas.centre.x - (f64::from(canvas.size.x) - 1.0) / 2.0;
    assert!(middle.abs() <= 0.5, "{middle}");
    let mount = rig.cameras[found.reference].mount().unwrap();
    assert!(mount.yaw.abs() < 0.1, "{mount:?}");
    // Without one camera, the ring has a gap of 20°.
    let open = ring(8, 40.0, cameras[0].focal, 0.0);
    let found =
        calibrate(&pictures(8), &pairs(&open, matcher), &CalibrateOptions::default()).unwrap();
    let rig = found.rig(&RigOptions::default()).unwrap();
    assert!((rig.panorama.fov - 340.0).abs() < 4.0, "{:?}", rig.panorama);
}

/// Checks that the majority of the cameras determines which direction is up in the rig. The reference camera is rolled
/// by 90° or 180° relative to the other two cameras.
#[test]
fn most_cameras_say_what_is_up() {
    for rolls in [[0.0, 90.0, 0.0], [0.0, -90.0, 0.0], [0.0, 180.0, 0.0], [90.0, 0.0, 90.0]] {
        let mut cameras = ring(3, 28.0, 1200.0, 0.0);
        for (camera, roll) in cameras.iter_mut().zip(rolls) {
            camera.to_world *= turn(0.0, 0.0, roll);
        }
        let matcher = Matcher { many: 300, wrong: 0.3, noise: 0.7, seed: 3 };
        let found =
            calibrate(&pictures(3), &pairs(&cameras, matcher), &CalibrateOptions::default())
                .unwrap();
        assert_eq!(found.reference, 1);
        let rig = found.rig(&RigOptions::default()).unwrap();
        let mounts: Vec<_> = rig.cameras.iter().map(|camera| camera.mount().unwrap()).collect();
        // Cameras 0 and 2 are the majority, so the rig shows them upright.
        for mount in [mounts[0], mounts[2]] {
            assert!(mount.roll.abs() < 5.0, "{rolls:?}: {mount:?}");
        }
        let panorama = rig.panorama;
        assert!(rolls[0] != 0.0 || panorama.width > panorama.height, "{rolls:?}: {panorama:?}");
    }
}

/// Checks the homographies of several pictures. They map each picture to the reference picture, so the matrix of the
/// reference picture is the identity. The sign of each matrix must give all points of the overlap a positive third
/// coordinate, even if the picture's top-left pixel is behind the reference camera.
#[test]
fn planes_of_several_pictures_lead_to_the_reference() {
    // The cameras have a field of view of 90° and are 45° apart, so the top-left pixel of the third picture is behind
    // the first camera.
    let cameras = ring(3, 45.0, 600.0, 0.0);
    let matcher = Matcher { many: 300, wrong: 0.3, noise: 0.5, seed: 3 };
    let options =
        CalibrateOptions { model: ModelChoice::Homography, ..CalibrateOptions::default() };
    let found = calibrate(&pictures(3), &pairs(&cameras, matcher), &options).unwrap();
    let Views::Planes(matrices) = &found.views else { panic!("cameras") };
    assert!(matrices[found.reference].abs_diff_eq(DMat3::IDENTITY, 1e-12), "{matrices:?}");
    for matrix in matrices {
        assert!((matrix.z_axis.z.abs() - 1.0).abs() < 1e-12, "{matrices:?}");
    }
    let off = worst(&found, &cameras);
    assert!(off < 3.0, "off by {off} px");
}
