//! Tests of rigs created from the calibration of two simulated cameras, and of `check`, which reports whether a rig
//! still matches the pictures of its cameras.

use glam::{DMat3, DVec2, DVec3, UVec2};
use panoweave::geometry::Geometry;
use panoweave::geometry::calibrate::{
    CalibrateOptions, Calibration, Photo, PhotoPair, Refusal, RigOptions, Views, calibrate, check,
    check_rig,
};
use panoweave::geometry::rig::{CameraPose, ModelName, ProjectionName, Rig};
use proptest::prelude::*;
use shared_types::warp::{Camera, Projection};

use panoweave_tests::made_up::{Matcher, Pinhole, between, flat, inside, pair, turn};

const SIZE: UVec2 = UVec2::new(1200, 900);

fn calibrated(left: Pinhole, right: Pinhole, matcher: Matcher) -> Result<Calibration, Refusal> {
    let found = matcher.find([left.size, right.size], &between(left, right));
    let pictures = [Photo::new("left", left.size), Photo::new("right", right.size)];
    pair(&found, [&pictures[0], &pictures[1]], &CalibrateOptions::default())
}

/// Returns the pixel of a camera at which a canvas ray appears, computed with the documented formulas. The cameras of
/// these tests have no distortion except k1.
fn pixel(camera: &Camera, ray: DVec3) -> Option<DVec2> {
    let p = camera.from_ray * ray;
    if p.z <= 0.0 {
        return None;
    }
    let at = p.truncate() / p.z;
    let r2 = at.length_squared();
    (r2 < camera.limit * camera.limit)
        .then(|| at * (1.0 + camera.distortion[0] * r2) * camera.focal + camera.centre)
}

/// Returns whether the stitch can sample a picture at position `pixel`. Both coordinates must be at least 0, the centre
/// of the first pixel, and less than the picture's size.
fn stitched(pixel: DVec2, size: UVec2) -> bool {
    pixel.cmpge(DVec2::ZERO).all() && pixel.cmplt(size.as_dvec2()).all()
}

fn ray(geometry: &Geometry, at: DVec2) -> DVec3 {
    let canvas = &geometry.canvas;
    let p = (at - canvas.centre) / canvas.scale;
    match canvas.projection {
        Projection::PLANAR => p.extend(1.0),
        Projection::CYLINDRICAL => DVec3::new(p.x.sin(), p.y, p.x.cos()),
        _ => DVec3::new(p.x.sin() * p.y.cos(), p.y.sin(), p.x.cos() * p.y.cos()),
    }
}

/// Samples the canvas of a rig at 500 × 300 positions. Returns the fractions of the left and the right picture that the
/// canvas shows. Also returns the alignment error: the mean distance in pixels between the position in the left picture
/// according to the rig and according to `map`.
fn shown(rig: &Rig, map: &dyn Fn(DVec2) -> Option<DVec2>) -> ([f64; 2], f64) {
    let geometry = rig.geometry().unwrap();
    let size = geometry.canvas.size;
    let mut hit = [vec![false; 24 * 24], vec![false; 24 * 24]];
    let (mut sum, mut many) = (0.0, 0);
    for i in 0..500 * 300 {
        let share = DVec2::new(f64::from(i % 500), f64::from(i / 500)) / DVec2::new(499.0, 299.0);
        let ray = ray(&geometry, share * (size.as_dvec2() - 1.0));
        let at = [0, 1].map(|camera| {
            let picture = UVec2::from(rig.cameras[camera].size);
            let at = pixel(&geometry.cameras[camera], ray).filter(|at| inside(*at, picture))?;
            let cell = (at / picture.as_dvec2() * 24.0).as_uvec2().min(UVec2::splat(23));
            hit[camera][(cell.y * 24 + cell.x) as usize] = true;
            Some(at)
        });
        if let [Some(left), Some(right)] = at
            && let Some(truth) = map(right)
        {
            sum += (truth - left).length();
            many += 1;
        }
    }
    let share = |hit: &Vec<bool>| hit.iter().filter(|hit| **hit).count() as f64 / 576.0;
    ([share(&hit[0]), share(&hit[1])], sum / f64::from(many.max(1)))
}

proptest! {
    #![proptest_config(crate::calibrate::config(16))]

    /// Checks the rig of two cameras with a random rotation. The rig must show both pictures completely, align them
    /// like the true cameras, and stay the same when it is written to text and read back.
    #[test]
    fn a_rig_shows_both_pictures(
        yaw in 12.0..38.0,
        pitch in -15.0..15.0,
        roll in prop_oneof![-5.0..5.0, Just(90.0), Just(180.0), Just(-90.0)],
        focal in 800.0..2000.0,
        k1 in prop_oneof![Just(0.0), -0.15..0.05],
        seed: u64,
    ) {
        let left = Pinhole { size: SIZE, focal, k1, to_world: DMat3::IDENTITY };
        let right = Pinhole { to_world: turn(yaw * 900.0 / focal, pitch, roll), ..left };
        let matcher = Matcher { many: 500, wrong: 0.4, noise: 0.6, seed };
        let found = calibrated(left, right, matcher);
        let found = found.map_err(|refusal| TestCaseError::fail(refusal.to_string()))?;
        let rig = found.rig(&RigOptions::default()).unwrap();
        let (shares, off) = shown(&rig, &between(left, right));
        prop_assert!(shares[0] > 0.999 && shares[1] > 0.999, "{:?} {:?}", shares, rig.panorama);
        prop_assert!(off < 1.0, "off by {} px", off);
        let text = rig.to_toml().unwrap();
        prop_assert_eq!(&Rig::parse(&text, &rig.file).unwrap(), &rig);
        let quality = rig.quality.as_ref().unwrap();
        prop_assert_eq!(quality.inliers as usize, found.pairs[0].inliers.len());
        // The left camera is upright even if the right camera is rolled.
        if let CameraPose::Mount(mount) = &rig.cameras[0].view {
            prop_assert!(mount.roll.abs() < 25.0, "{:?}", mount);
        }
    }
}

#[test]
fn a_narrow_view_is_planar_and_a_wide_one_cylindrical() {
    let matcher = Matcher { many: 600, wrong: 0.3, noise: 0.5, seed: 1 };
    let left = Pinhole { size: SIZE, focal: 1800.0, k1: 0.0, to_world: DMat3::IDENTITY };
    let right = Pinhole { to_world: turn(20.0, 1.0, 0.0), ..left };
    let narrow = calibrated(left, right, matcher).unwrap().rig(&RigOptions::default()).unwrap();
    assert_eq!(narrow.panorama.projection, ProjectionName::Planar);
    let left = Pinhole { focal: 800.0, ..left };
    let right = Pinhole { to_world: turn(45.0, 1.0, 0.0), ..left };
    let wide = calibrated(left, right, matcher).unwrap();
    let rig = wide.rig(&RigOptions::default()).unwrap();
    assert_eq!(rig.panorama.projection, ProjectionName::Cylindrical);
    // The field of view is 45° + 2·atan(600/800). In the middle, a canvas pixel is as large as a source pixel.
    let expected = 45.0 + 2.0 * (600.0_f64 / 800.0).atan().to_degrees();
    assert!((rig.panorama.fov - expected).abs() < 1.5, "{:?}", rig.panorama);
    let scale = rig.geometry().unwrap().canvas.scale.x;
    assert!((scale / 800.0 - 1.0).abs() < 0.02, "{scale}");
    let asked =
        RigOptions { projection: Some(ProjectionName::Equirectangular), ..RigOptions::default() };
    let asked = wide.rig(&asked).unwrap();
    assert_eq!(asked.panorama.projection, ProjectionName::Equirectangular);
    assert!(shown(&asked, &between(left, right)).0[1] > 0.999);
}

#[test]
fn a_cropped_panorama_has_no_black_edges() {
    let matcher = Matcher { many: 600, wrong: 0.3, noise: 0.5, seed: 1 };
    let left = Pinhole { size: SIZE, focal: 1000.0, k1: -0.05, to_world: DMat3::IDENTITY };
    let right = Pinhole { to_world: turn(35.0, 4.0, 3.0), ..left };
    let found = calibrated(left, right, matcher).unwrap();
    let plane = DMat3::from_cols_array(&[0.9, 0.02, -6e-5, -0.03, 0.95, 2e-5, 500.0, 30.0, 1.0]);
    let matches = matcher.find([SIZE; 2], &flat(plane));
    let pictures = [Photo::new("left", SIZE), Photo::new("right", SIZE)];
    let flat = pair(&matches, [&pictures[0], &pictures[1]], &CalibrateOptions::default()).unwrap();
    for found in [found, flat] {
        let whole = found.rig(&RigOptions::default()).unwrap();
        let crop = found.rig(&RigOptions { crop: true, ..RigOptions::default() }).unwrap();
        let area = |rig: &Rig| f64::from(rig.panorama.width) * f64::from(rig.panorama.height);
        assert!(area(&crop) > 0.55 * area(&whole), "{:?} of {:?}", crop.panorama, whole.panorama);
        let geometry = crop.geometry().unwrap();
        let size = geometry.canvas.size;
        for (x, y) in (0..size.x).flat_map(|x| (0..size.y).map(move |y| (x, y))) {
            // Check all pixels of the canvas's border, and only one in seven of the other pixels.
            let border = x == 0 || y == 0 || x + 1 == size.x || y + 1 == size.y;
            if !border && !(x + y).is_multiple_of(7) {
                continue;
            }
            let ray = ray(&geometry, UVec2::new(x, y).as_dvec2());
            let seen = geometry
                .cameras
                .iter()
                .any(|camera| pixel(camera, ray).is_some_and(|at| stitched(at, SIZE)));
            assert!(seen, "({x}, {y}) of {size} is black");
        }
        assert_eq!(Rig::parse(&crop.to_toml().unwrap(), &crop.file).unwrap(), crop);
    }
}

#[test]
fn a_rig_that_fits_is_fine_and_a_moved_camera_is_found() {
    let matcher = Matcher { many: 500, wrong: 0.5, noise: 0.6, seed: 1 };
    let left = Pinhole { size: SIZE, focal: 1000.0, k1: -0.05, to_world: DMat3::IDENTITY };
    let right = Pinhole { to_world: turn(30.0, 2.0, 1.0), ..left };
    let rig = calibrated(left, right, matcher).unwrap().rig(&RigOptions::default()).unwrap();
    let held = |right: Pinhole| {
        let fresh = Matcher { seed: 77, wrong: 0.6, ..matcher };
        let fresh = fresh.find([SIZE; 2], &between(left, right));
        check(&rig, [0, 1], &fresh, &CalibrateOptions::default())
    };
    let fine = held(right).unwrap();
    assert!(!fine.drifted && fine.median_px < 1.5 && fine.agreeing > 0.8, "{fine:?}");
    // At this focal length, half a degree corresponds to 9 pixels.
    let moved = held(Pinhole { to_world: turn(30.5, 2.0, 1.0), ..left }).unwrap();
    assert!(moved.drifted && moved.agreeing < 0.1, "{moved:?}");
    assert!((moved.median_px - 9.0).abs() < 4.0, "{moved:?}");
    // If a lens is covered, there are no correct correspondences. `check` must return an error, because it cannot judge
    // the rig.
    let covered = Matcher { wrong: 1.0, ..matcher }.find([SIZE; 2], &|_| None);
    let refusal = check(&rig, [0, 1], &covered, &CalibrateOptions::default()).unwrap_err();
    assert!(matches!(refusal, Refusal::Chance { .. }), "{refusal}");
    let refusal = check(&rig, [0, 2], &covered, &CalibrateOptions::default()).unwrap_err();
    assert!(matches!(refusal, Refusal::NoSuchCamera { cameras: 2, .. }), "{refusal}");
}

#[test]
fn the_moved_camera_and_another_order_are_named() {
    let first = Pinhole { size: SIZE, focal: 1000.0, k1: -0.05, to_world: DMat3::IDENTITY };
    let at = |degrees: f64| Pinhole { to_world: turn(degrees, 1.0, 0.5), ..first };
    let row = [first, at(28.0), at(55.0)];
    let links = |cameras: [Pinhole; 3], seed: u64| {
        [[0, 1], [0, 2], [1, 2]].map(|[left, right]| {
            let matcher = Matcher { many: 400, wrong: 0.5, noise: 0.6, seed };
            let correspondences = matcher.find([SIZE; 2], &between(cameras[left], cameras[right]));
            PhotoPair { left, right, correspondences }
        })
    };
    let options = CalibrateOptions::default();
    let photos = ["a", "b", "c"].map(|name| Photo::new(name, SIZE));
    let rig = calibrate(&photos, &links(row, 1), &options).unwrap();
    let rig = rig.rig(&RigOptions::default()).unwrap();
    let found = |cameras: [Pinhole; 3]| {
        let found = check_rig(&rig, &links(cameras, 9), &options).unwrap();
        (found.moved, found.order)
    };
    let [a, b, c] = row;
    assert_eq!(found(row), (vec![], None));
    assert_eq!(found([a, at(28.5), c]), (vec![1], None));
    assert_eq!(found([a, b, at(56.0)]), (vec![2], None));
    for order in [[1, 0, 2], [2, 1, 0], [1, 2, 0]] {
        assert_eq!(found(order.map(|i| row[i])).1, Some(order.to_vec()), "{order:?}");
    }
    // Nothing in common, as if all lenses were covered.
    let covered = links(row, 9).map(|link| {
        let wrong = Matcher { many: 400, wrong: 1.0, noise: 0.6, seed: 5 };
        PhotoPair { correspondences: wrong.find([SIZE; 2], &|_| None), ..link }
    });
    let covered = check_rig(&rig, &covered, &options).unwrap();
    assert!(covered.worst.is_none() && covered.order.is_none() && covered.fits_nothing());
    assert!(matches!(covered.unchecked, Some(([0, 1], Refusal::Chance { .. }))), "{covered:?}");
}

#[test]
fn a_rig_of_a_plane_can_be_checked() {
    let plane = DMat3::from_cols_array(&[0.9, 0.02, -6e-5, -0.03, 0.95, 2e-5, 500.0, 30.0, 1.0]);
    let matcher = Matcher { many: 500, wrong: 0.5, noise: 0.6, seed: 1 };
    let pictures = [Photo::new("left", SIZE), Photo::new("right", SIZE)];
    let found = pair(
        &matcher.find([SIZE; 2], &flat(plane)),
        [&pictures[0], &pictures[1]],
        &CalibrateOptions::default(),
    )
    .unwrap();
    assert_eq!(found.views.name(), ModelName::Homography);
    let rig = found.rig(&RigOptions::default()).unwrap();
    let (shares, off) = shown(&rig, &flat(plane));
    assert!(shares[0] > 0.999 && shares[1] > 0.999 && off < 0.5, "{shares:?} {off}");
    // The left picture is not resampled: each canvas pixel in it is exactly one pixel of the picture.
    let geometry = rig.geometry().unwrap();
    let at = |x: f64| pixel(&geometry.cameras[0], ray(&geometry, DVec2::new(x, 300.0))).unwrap();
    assert!((at(201.0) - at(200.0) - DVec2::X).length() < 1e-9);
    assert!((at(200.0) - at(200.0).round()).length() < 1e-9);
    let fresh = |matrix: DMat3| {
        let fresh = Matcher { seed: 5, ..matcher }.find([SIZE; 2], &flat(matrix));
        check(&rig, [0, 1], &fresh, &CalibrateOptions::default()).unwrap()
    };
    assert!(!fresh(plane).drifted);
    let moved = fresh(DMat3::from_translation(DVec2::new(6.0, 0.0)) * plane);
    assert!(moved.drifted && (moved.median_px - 6.0).abs() < 1.0, "{moved:?}");
}

/// Cameras side by side, so that the middle of the view is straight ahead between them.
#[test]
fn a_panorama_is_turned_by_hand_and_has_even_sides() {
    let matcher = Matcher { many: 500, wrong: 0.3, noise: 0.4, seed: 3 };
    let left = Pinhole { size: SIZE, focal: 1000.0, k1: 0.0, to_world: turn(-14.0, 0.0, 0.0) };
    let found = calibrated(left, Pinhole { to_world: turn(14.0, 0.0, 0.0), ..left }, matcher);
    let found = found.unwrap();
    let forward = |options: RigOptions| {
        let options = RigOptions { projection: Some(ProjectionName::Cylindrical), ..options };
        let rig = found.rig(&options).unwrap();
        assert_eq!([rig.panorama.width % 2, rig.panorama.height % 2], [0, 0], "{options:?}");
        let geometry = rig.geometry().unwrap();
        [0, 1].map(|i| geometry.cameras[i].from_ray.transpose().z_axis)
    };
    let level = forward(RigOptions::default());
    let rolled = forward(RigOptions { roll: 5.0, ..RigOptions::default() });
    let raised = forward(RigOptions { pitch: 5.0, ..RigOptions::default() });
    // y points down: a clockwise turn lowers the right camera, and raising lifts both.
    let (sin, x) = (5_f64.to_radians().sin(), level[1].x);
    for (turned, expected) in [(rolled, [-sin * x, sin * x]), (raised, [-sin * level[0].z; 2])] {
        for i in 0..2 {
            let found = turned[i].y - level[i].y;
            assert!((found - expected[i]).abs() < 0.01, "{i}: {found} {expected:?}");
        }
    }
}

/// Checks that a requested projection that cannot show the field of view is an error, and is not silently replaced by
/// another projection. The error must state the angle of the field of view and a suitable projection.
#[test]
fn a_projection_that_cannot_show_the_view_is_refused() {
    let matcher = Matcher { many: 600, wrong: 0.3, noise: 0.5, seed: 1 };
    let left = Pinhole { size: SIZE, focal: 500.0, k1: 0.0, to_world: DMat3::IDENTITY };
    let right = Pinhole { to_world: turn(60.0, 1.0, 0.0), ..left };
    // The field of view is 60° + 2·atan(600/500) = 160°.
    let wide = calibrated(left, right, matcher).unwrap();
    let asked = |projection| RigOptions { projection: Some(projection), ..RigOptions::default() };
    let refusal = wide.rig(&asked(ProjectionName::Planar)).unwrap_err();
    let message = refusal.to_string();
    let Refusal::Projection { projection: "planar", degrees, most, suits: "cylindrical" } = refusal
    else {
        panic!("{message}")
    };
    assert!((degrees - 160.0).abs() < 3.0 && most == 150.0, "{message}");
    assert!(message.contains("160°") || message.contains(&format!("{degrees:.0}°")), "{message}");
    let fine = wide.rig(&asked(ProjectionName::Cylindrical)).unwrap();
    assert_eq!(fine.panorama.projection, ProjectionName::Cylindrical);
    // The second camera is pitched up so far that it sees the pole, which a cylinder cannot show.
    let up = Pinhole { to_world: turn(0.0, 50.0, 0.0), ..left };
    let high = calibrated(left, up, matcher).unwrap();
    let refusal = high.rig(&asked(ProjectionName::Cylindrical)).unwrap_err();
    let fits = matches!(refusal, Refusal::Projection { suits: "equirectangular", most: 160.0, .. });
    assert!(fits, "{refusal}");

    let plane = DMat3::from_cols_array(&[0.9, 0.02, -6e-5, -0.03, 0.95, 2e-5, 500.0, 30.0, 1.0]);
    let matches = matcher.find([SIZE; 2], &flat(plane));
    let pictures = [Photo::new("left", SIZE), Photo::new("right", SIZE)];
    let flat = pair(&matches, [&pictures[0], &pictures[1]], &CalibrateOptions::default()).unwrap();
    let refusal = flat.rig(&asked(ProjectionName::Cylindrical)).unwrap_err();
    assert!(
        matches!(refusal, Refusal::ProjectionOfPlane { projection: "cylindrical" }),
        "{refusal}"
    );
    assert!(flat.rig(&asked(ProjectionName::Planar)).is_ok());
}

/// Checks that cropping a panorama that is one pixel wide is an error, because the cropped panorama would be empty.
#[test]
fn a_crop_to_nothing_is_refused() {
    let matcher = Matcher { many: 300, wrong: 0.3, noise: 0.5, seed: 1 };
    let left = Pinhole { size: SIZE, focal: 1000.0, k1: 0.0, to_world: DMat3::IDENTITY };
    let found = calibrated(left, Pinhole { to_world: turn(30.0, 1.0, 0.0), ..left }, matcher);
    let line = UVec2::new(1, 900);
    let pictures = ["left", "right"].map(|name| Photo::new(name, line)).to_vec();
    let views = Views::Planes(vec![DMat3::IDENTITY; 2]);
    let thin = Calibration { pictures, views, ..found.unwrap() };
    assert_eq!(thin.rig(&RigOptions::default()).unwrap().panorama.width, 1);
    let refusal = thin.rig(&RigOptions { crop: true, ..RigOptions::default() }).unwrap_err();
    assert!(matches!(refusal, Refusal::Crop), "{refusal}");
}
