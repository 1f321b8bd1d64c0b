//! Tests of the meshes of warps whose weights are overwritten on the device.

use panoweave::ops::colour::Colours;
use panoweave::ops::seam::{Seam, SeamOptions, seamed};
use panoweave::warp::DeviceWarp;
use panoweave_tests::panoweave_devices;

use crate::stitch::mesh::case::{Case, FORMATS, difference};

/// Checks that a stitch by mesh uses the weights of a seam that the device has written. The result must be the same as
/// with a new warp that has the same weights from the start.
#[test]
fn meshes_follow_a_seam() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let (mut seams, mut moved) = (0, 0);
        for seed in 0..12 {
            let case = Case::new(&stream, 3 * seed, FORMATS[0]);
            let warp = DeviceWarp::upload(&stream, &case.warp).unwrap();
            warp.mesh(&stream).unwrap();
            let [left, right] = case.pictures.each_ref().map(|picture| picture.upload(&stream, 0));
            let Ok((seam, _)) = seamed(
                &stream,
                &warp,
                &[(&left).into(), (&right).into()],
                Colours::IDENTITY,
                SeamOptions { feather: 4.0 },
            ) else {
                continue;
            };
            seams += 1;
            let followed = case.stitched_by(&stream, &seam, &case.options);
            let seam = seam.download(&stream).unwrap();
            let updated = DeviceWarp::upload(&stream, &seam).unwrap();
            let (worst, _) =
                difference(&followed, &case.stitched_by(&stream, &updated, &case.options));
            assert!(worst <= 1, "{device}, {seed}: {worst} levels");
            let (change, _) =
                difference(&followed, &case.stitched_by(&stream, &warp, &case.options));
            moved += u32::from(change > 1);
        }
        assert!(seams > 3 && moved > 3, "{device}: {seams} seams, {moved} that show");
    }
}

/// Checks the mesh of a warp whose weights are overwritten before the mesh is built. The mesh must be built from the
/// new weights.
#[test]
fn meshes_are_made_of_the_weights_that_there_are() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let case = Case::new(&stream, 0, FORMATS[0]);
        let warp = DeviceWarp::upload(&stream, &case.warp).unwrap();
        let [left, right] = case.pictures.each_ref().map(|picture| picture.upload(&stream, 0));
        let mut seam = Seam::new(&stream, &warp, [0, 1], SeamOptions::default()).unwrap();
        // SAFETY: no earlier submission of this seam is in flight, and all work is on this stream.
        unsafe {
            seam.submit(&stream, &warp, left.view(), right.view(), Colours::IDENTITY).unwrap()
        };
        seam.accept();
        let mut out = Seam::copy(&stream, &warp).unwrap();
        for part in [0.0, 0.5, 1.0] {
            seam.weigh(&stream, &warp, part, &mut out).unwrap();
            let found = case.stitched_by(&stream, &out, &case.options);
            let updated = DeviceWarp::upload(&stream, &out.download(&stream).unwrap()).unwrap();
            assert_eq!(
                found,
                case.stitched_by(&stream, &updated, &case.options),
                "{device}, {part}"
            );
        }
    }
}
