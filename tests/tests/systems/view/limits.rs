//! Tests of view limits, which keep a requested view inside the cameras' pictures. The limited view must show no black
//! pixel, must differ from the requested view no more than necessary, and must move at most 12 times as fast.

use glam::UVec2;
use panoweave::device::Device;
use panoweave::frame::FrameFormat;
use panoweave::geometry::rig::Rig;
use panoweave::ops::stitch::StitchOptions;
use panoweave::ops::view::{MAX_FOV, MIN_FOV, ViewLimits, ViewPose, Viewer};
use panoweave_tests::panoweave_devices;
use panoweave_tests::raster::Raster;
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use crate::view::exact::{ExactCameras, Rays};
use crate::view::{WHITE, cylinder, plain, rgba, runner, shown};

/// Generates rigs of two cameras with overlapping pictures. Each camera is a pinhole or a fisheye.
fn rigs() -> impl Strategy<Value = Rig> {
    let camera = || (-8.0..8.0, -8.0..8.0, -0.08..0.04, any::<bool>());
    (0.6..1.5_f64, 0.3..0.8, camera(), camera()).prop_map(|(focal, apart, left, right)| {
        let mut text = "[panorama]\nprojection = \"planar\"\nwidth = 64\nheight = 32\nfov = 90.0\n".to_owned();
        // Half of a picture's field of view, in degrees.
        let half = (0.5 / focal).atan().to_degrees();
        for (name, side, (pitch, roll, k1, fisheye)) in [("left", -1.0, left), ("right", 1.0, right)] {
            let (lens, f) = if fisheye { ("fisheye", 80.0 / half.to_radians()) } else { ("pinhole", 160.0 * focal) };
            let yaw = side * apart * half;
            text += &format!(
                "[[camera]]\nname = \"{name}\"\nsize = [160, 100]\nlens = \"{lens}\"\nmatrix = {{ fx = {f:?}, fy = {f:?}, cx = 79.5, cy = 49.5 }}\ndistortion = [{k1:?}]\nyaw = {yaw:?}\npitch = {pitch:?}\nroll = {roll:?}\n"
            );
        }
        Rig::parse(&text, "made up").unwrap_or_else(|error| panic!("{error}"))
    })
}

fn views() -> impl Strategy<Value = ViewPose> {
    let fov = prop_oneof![5.0..60.0, 60.0..MAX_FOV];
    let roll = prop_oneof![Just(0.0), -20.0..20.0, -180.0..180.0];
    (-180.0..180.0, -90.0..90.0, roll, fov).prop_map(|(pan, tilt, roll, fov)| ViewPose {
        pan,
        tilt,
        roll,
        fov,
    })
}

fn sizes() -> impl Strategy<Value = UVec2> {
    let sides = [(160, 90), (91, 131), (64, 64), (200, 30)];
    proptest::sample::select(sides.to_vec()).prop_map(UVec2::from)
}

fn limits(rig: &Rig, flip: bool) -> ViewLimits {
    Viewer::new(&rig.geometry().unwrap(), flip)
        .unwrap()
        .limits()
        .expect("the cameras cover something")
}

/// Returns a white picture for each camera of a rig.
fn whites(rig: &Rig) -> Vec<Raster> {
    rig.cameras.iter().map(|camera| plain(camera.size.into(), WHITE)).collect()
}

/// Returns the number of non-white pixels in a view of white pictures.
fn dark(device: &Device, rig: &Rig, flip: bool, view: &ViewPose, size: UVec2) -> usize {
    let stream = device.stream().unwrap();
    let viewer = Viewer::new(&rig.geometry().unwrap(), flip).unwrap();
    let pictures = whites(rig);
    let pictures: Vec<_> = pictures.iter().collect();
    let (options, format) = (StitchOptions::default(), FrameFormat::rgba8(size.x, size.y));
    let found = shown(&stream, &viewer, pictures, None, view, &options, format);
    rgba(&found).iter().filter(|pixel| **pixel != WHITE).count()
}

/// Returns whether every pixel along the edge of a view is covered by one of the cameras, computed in f64.
fn edge_is_seen(rig: &Rig, flip: bool, view: &ViewPose, size: UVec2) -> bool {
    let pictures = whites(rig);
    let options = StitchOptions::default();
    let cameras = ExactCameras::new(rig, pictures.iter().collect::<Vec<_>>(), &options);
    let (rays, last) = (Rays::new(view, flip, size), size - 1);
    let columns = (0..size.x).flat_map(|x| [UVec2::new(x, 0), UVec2::new(x, last.y)]);
    let rows = (0..size.y).flat_map(|y| [UVec2::new(0, y), UVec2::new(last.x, y)]);
    let shown = |at| cameras.show(rays.at(at), |_, margins| margins.to_vec()).0.is_some();
    columns.chain(rows).all(shown)
}

/// Returns the largest difference between two views in pan, tilt, roll or field of view.
fn distance(a: &ViewPose, b: &ViewPose) -> f64 {
    let of = |view: &ViewPose| [view.pan, view.tilt, view.roll, view.fov];
    of(a).iter().zip(of(b)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

fn fail(reason: String) -> TestCaseError {
    TestCaseError::fail(reason)
}

#[test]
fn a_view_that_is_kept_shows_no_black() {
    let devices = panoweave_devices();
    let asked = proptest::collection::vec((views(), sizes()), 12);
    let cases = (rigs(), any::<bool>(), asked);
    let check = |(rig, flip, asked): (Rig, bool, Vec<(ViewPose, UVec2)>)| {
        let limits = limits(&rig, flip);
        for (view, size) in asked {
            let kept = limits.keep(&view, size);
            kept.check().map_err(|error| fail(error.to_string()))?;
            prop_assert!(
                kept.roll == view.roll && kept.fov <= view.fov,
                "{} became {}",
                view,
                kept
            );
            // Check the edge of the view at 12 times the resolution. If the view shows black, it is first at its edge,
            // and the gap may be narrower than a pixel.
            prop_assert!(edge_is_seen(&rig, flip, &kept, size * 12), "{} became {}", view, kept);
            for device in &devices {
                let dark = dark(device, &rig, flip, &kept, size);
                prop_assert_eq!(dark, 0, "{} became {} of {} on {}", view, kept, size, device);
            }
        }
        Ok(())
    };
    runner(40).run(&cases, check).unwrap_or_else(|error| panic!("{error}"));
}

/// Checks that `keep` returns a view that is already inside the limits unchanged, without rounding errors. Such a view
/// is the result of an earlier call of `keep`, or a narrower view with the same centre.
#[test]
fn a_view_that_is_inside_stays_as_it_is() {
    let check = |(rig, asked, share): (Rig, Vec<(ViewPose, UVec2)>, f64)| {
        let limits = limits(&rig, false);
        for (view, size) in asked {
            let kept = limits.keep(&view, size);
            prop_assert_eq!(limits.keep(&kept, size), kept, "keeping {} twice", view);
            let inner = ViewPose { fov: (share * kept.fov).max(MIN_FOV), ..kept };
            prop_assert_eq!(limits.keep(&inner, size), inner, "of {}, kept as {}", view, kept);
        }
        Ok(())
    };
    let asked = proptest::collection::vec((views(), sizes()), 20);
    let cases = (rigs(), asked, 0.1..0.99);
    runner(30).run(&cases, check).unwrap_or_else(|error| panic!("{error}"));
}

/// Returns the pose at the fraction `share` of the way between two poses.
fn between(from: &ViewPose, to: &ViewPose, share: f64) -> ViewPose {
    let at = |from: f64, to: f64| from + (to - from) * share;
    ViewPose {
        pan: at(from.pan, to.pan),
        tilt: at(from.tilt, to.tilt),
        roll: at(from.roll, to.roll),
        fov: at(from.fov, to.fov),
    }
}

/// Checks that the limited view never jumps. While the requested view moves from one pose to another, the limited view
/// must move at most 12 times as fast. The test bisects larger steps down to 0.0001°.
#[test]
fn a_view_that_is_kept_moves_steadily() {
    const STEPS: u32 = 60;
    const FASTER: f64 = 12.0;
    let check = |(rig, ways, size): (Rig, Vec<(ViewPose, ViewPose)>, UVec2)| {
        let limits = limits(&rig, false);
        for (from, to) in ways {
            let kept = |share: f64| limits.keep(&between(&from, &to, share), size);
            let (way, mut before) = (distance(&from, &to), kept(0.0));
            for step in 0..STEPS {
                let [mut low, mut high] =
                    [step, step + 1].map(|at| f64::from(at) / f64::from(STEPS));
                let (mut a, mut b) = (before, kept(high));
                before = b;
                while distance(&a, &b) > way * (high - low) && way * (high - low) > 1e-4 {
                    let middle = f64::midpoint(low, high);
                    let half = kept(middle);
                    if distance(&a, &half) > distance(&half, &b) {
                        (high, b) = (middle, half);
                    } else {
                        (low, a) = (middle, half);
                    }
                }
                let (asked, moved) = (way * (high - low), distance(&a, &b));
                prop_assert!(
                    moved <= FASTER * asked + 1e-5,
                    "{} to {} by {} degrees, when {} were asked for on the way from {} to {} of {}",
                    a,
                    b,
                    moved,
                    asked,
                    from,
                    to,
                    size
                );
            }
        }
        Ok(())
    };
    let ways = proptest::collection::vec((views(), views()), 2);
    runner(14).run(&(rigs(), ways, sizes()), check).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn a_view_moves_no_more_than_it_must() {
    let size = UVec2::new(160, 90);
    let limits = limits(&cylinder(), false);
    let view = |pan, tilt, roll, fov| ViewPose { pan, tilt, roll, fov };
    let inside = view(0.0, 0.0, 0.0, 20.0);
    assert_eq!(limits.keep(&inside, size), inside);
    // The requested view is too far right. Its pan decreases, and nothing else changes.
    let beside = limits.keep(&view(120.0, 0.0, 0.0, 20.0), size);
    assert_eq!(beside, ViewPose { pan: beside.pan, ..inside });
    assert!((50.0..75.0).contains(&beside.pan), "{beside}");
    // The requested view is too high. Its tilt decreases, and nothing else changes.
    let above = limits.keep(&view(0.0, 70.0, 0.0, 20.0), size);
    assert_eq!(above, ViewPose { tilt: above.tilt, ..inside });
    assert!((2.0..40.0).contains(&above.tilt), "{above}");
    // Any requested view that is too wide becomes the widest possible view. A view that is slightly narrower than the
    // widest possible view is not changed.
    let widest = limits.keep(&view(0.0, 0.0, 0.0, MAX_FOV), size);
    assert!((30.0..120.0).contains(&widest.fov), "{widest}");
    let wide = limits.keep(&view(0.0, 0.0, 0.0, 0.5 * (widest.fov + MAX_FOV)), size);
    assert!(distance(&wide, &widest) < 1e-4, "{wide} and {widest}");
    let narrow = ViewPose { fov: widest.fov - 1e-3, ..widest };
    assert_eq!(limits.keep(&narrow, size).fov, narrow.fov);
    // A view rolled by 90° is higher than wide, so its field of view is limited more.
    let side = limits.keep(&view(0.0, 0.0, 90.0, MAX_FOV), size);
    assert!(side.fov < widest.fov, "{side} and {widest}");
    // A roll of 180° does not change the view's outline.
    let over = limits.keep(&view(120.0, 70.0, 180.0, 20.0), size);
    let upright = limits.keep(&view(120.0, 70.0, 0.0, 20.0), size);
    assert!(distance(&ViewPose { roll: 0.0, ..over }, &upright) < 1e-6, "{over} and {upright}");
    // A field of view that is too small becomes the smallest valid field of view.
    let nothing = limits.keep(&view(0.0, 0.0, 0.0, 1e-9), size);
    assert_eq!(nothing.fov, MIN_FOV);
}

/// Checks that the limits of a flipped panorama are flipped, too: left and right are swapped, and so are top and
/// bottom.
#[test]
fn a_panorama_that_is_turned_over_turns_its_limits() {
    let check = |(rig, asked): (Rig, Vec<(ViewPose, UVec2)>)| {
        let [upright, over] = [false, true].map(|flip| limits(&rig, flip));
        for (view, size) in asked {
            let other = ViewPose { pan: -view.pan, tilt: -view.tilt, ..view };
            let (kept, other) = (upright.keep(&view, size), over.keep(&other, size));
            let back = ViewPose { pan: -other.pan, tilt: -other.tilt, ..other };
            prop_assert!(distance(&kept, &back) < 1e-4, "{}: {} and {}", view, kept, back);
        }
        Ok(())
    };
    let asked = proptest::collection::vec((views(), sizes()), 20);
    runner(20).run(&(rigs(), asked), check).unwrap_or_else(|error| panic!("{error}"));
}

/// Checks that a viewer whose cameras point straight up has no limits, because no view is inside the cameras' pictures.
#[test]
fn cameras_that_cover_nothing_have_no_limits() {
    let mut rig = cylinder();
    for camera in &mut rig.cameras {
        camera.mount_mut().unwrap().pitch = 90.0;
        camera.mount_mut().unwrap().matrix.fx = 2000.0;
        camera.mount_mut().unwrap().matrix.fy = 2000.0;
    }
    let viewer = Viewer::new(&rig.geometry().unwrap(), false).unwrap();
    assert_eq!(viewer.limits(), None);
}

/// Returns a rig of pinhole cameras of 160×100 pixels with a field of view of 60° across, one for each yaw and pitch.
fn pinholes(directions: &[[f64; 2]]) -> Rig {
    let mut text =
        "[panorama]\nprojection = \"planar\"\nwidth = 64\nheight = 32\nfov = 90.0\n".to_owned();
    let f = 80.0 / 30_f64.to_radians().tan();
    for (i, [yaw, pitch]) in directions.iter().enumerate() {
        text += &format!(
            "[[camera]]\nname = \"{i}\"\nsize = [160, 100]\nlens = \"pinhole\"\nmatrix = {{ fx = {f:?}, fy = {f:?}, cx = 79.5, cy = 49.5 }}\nyaw = {yaw:?}\npitch = {pitch:?}\n"
        );
    }
    Rig::parse(&text, "made up").unwrap_or_else(|error| panic!("{error}"))
}

/// Generates rigs of 3 to 16 cameras in one or two rows. Neighbours may overlap several others, or leave gaps, and the
/// cameras may surround the viewer.
fn many() -> impl Strategy<Value = Rig> {
    let jitter = proptest::collection::vec([-4.0..4.0, -4.0..4.0_f64], 16);
    (3..=16_usize, 1..=2_usize, 15.0..62.0_f64, -180.0..180.0_f64, jitter).prop_map(
        |(cameras, rows, apart, start, jitter)| {
            let direction = |(i, [x, y]): (usize, [f64; 2])| {
                let (column, row) = (i / rows, i % rows);
                let pitch = if rows == 2 { 30.0 * row as f64 - 15.0 } else { 0.0 };
                let yaw = start + apart * column as f64 + x;
                [yaw - 360.0 * (yaw / 360.0).round(), pitch + y]
            };
            let jitter = jitter.into_iter().take(cameras).enumerate();
            pinholes(&jitter.map(direction).collect::<Vec<_>>())
        },
    )
}

#[test]
fn a_kept_view_of_many_cameras_shows_no_black() {
    let devices = panoweave_devices();
    let asked = proptest::collection::vec((views(), sizes()), 8);
    let check = |(rig, flip, asked): (Rig, bool, Vec<(ViewPose, UVec2)>)| {
        let limits = limits(&rig, flip);
        for (view, size) in asked {
            let kept = limits.keep(&view, size);
            // If the view shows a hole, its edge may not, so the views on the devices are checked as a whole.
            prop_assert!(edge_is_seen(&rig, flip, &kept, size * 4), "{} became {}", view, kept);
            for device in &devices {
                let dark = dark(device, &rig, flip, &kept, size);
                prop_assert_eq!(dark, 0, "{} became {} of {} on {}", view, kept, size, device);
            }
        }
        Ok(())
    };
    runner(24)
        .run(&(many(), any::<bool>(), asked), check)
        .unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn a_ring_of_cameras_does_not_limit_pan() {
    let size = UVec2::new(160, 90);
    let ring =
        |cameras: usize| (0..cameras).map(|i| [45.0 * i as f64 - 180.0, 0.0]).collect::<Vec<_>>();
    let limits_of = |directions: &[[f64; 2]]| limits(&pinholes(directions), false);
    let whole = limits_of(&ring(8));
    for pan in [-1000.0, -181.0, -180.0, -22.5, 0.0, 100.0, 179.0, 180.0, 540.0] {
        let view = ViewPose { pan, tilt: 0.0, roll: 10.0, fov: 25.0 };
        assert_eq!(whole.keep(&view, size), view);
        let high = whole.keep(&ViewPose { tilt: 50.0, ..view }, size);
        assert!(high.pan == pan && (2.0..30.0).contains(&high.tilt), "{high}");
    }
    // Without the camera at 135°, the ring has a gap from 120° to 150°. On the cylinder, the height of a picture at the
    // angle φ from its axis is proportional to cos φ. The joints at 22.5° limit the height of the rectangle. If it went
    // from there to 30°, it would lose more height than it gained width, so it ends at 112.5° and 157.5°.
    let gap = limits_of(&ring(7));
    let ahead = ViewPose { fov: 20.0, ..ViewPose::default() };
    for (pan, kept, within) in [
        (0.0, 0.0, 1e-9),
        (180.0, 180.0, 1e-9),
        (-170.0, -170.0, 1e-9),
        (124.0, 102.5, 1.5),
        (146.0, 167.5, 1.5),
    ] {
        let found = gap.keep(&ViewPose { pan, ..ahead }, size);
        let off = (found.pan - kept).rem_euclid(360.0);
        assert!(off.min(360.0 - off) < within, "{pan} became {found}");
    }
}

/// Checks that the limits of cameras that look back lie across the direction behind the panorama.
#[test]
fn cameras_that_look_back_are_not_cut_in_two() {
    let size = UVec2::new(160, 90);
    let back = limits(&pinholes(&[[150.0, 0.0], [180.0, 0.0], [-150.0, 0.0]]), false);
    let ahead = ViewPose { fov: 20.0, ..ViewPose::default() };
    for pan in [180.0, -180.0, 150.0, -150.0, 179.0] {
        let view = ViewPose { pan, ..ahead };
        let kept = back.keep(&view, size);
        let off = (kept.pan - pan).rem_euclid(360.0);
        assert!(off.min(360.0 - off) < 1e-9 && kept.fov == view.fov, "{pan} became {kept}");
    }
    let kept = back.keep(&ViewPose { pan: 20.0, ..ahead }, size);
    let off = (kept.pan - 130.0).rem_euclid(360.0);
    assert!(off.min(360.0 - off) < 1.5, "{kept}");
}
