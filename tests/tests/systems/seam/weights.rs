//! Checks the blending weights of a seam. The weights of both cameras must sum to 1, have no steps, be 0 outside the
//! cameras' pictures, and follow the path of the seam.

use panoweave::device::Stream;
use panoweave::ops::colour::Colours;
use panoweave::ops::seam::{Seam, SeamOptions};
use panoweave::warp::{DeviceWarp, Warp};
use panoweave_tests::panoweave_devices;

use crate::seam::{BESIDE, Scene, background, seen};

/// Finds a seam with a feather of `feather` pixels. Returns the warp with the seam's weights, and the seam.
pub(crate) fn with_seam(stream: &Stream, scene: &Scene, feather: f32) -> (DeviceWarp, Seam) {
    let [left, right] = scene.images(stream);
    let mut seam = Seam::new(stream, &scene.warp, [0, 1], SeamOptions { feather }).unwrap();
    seam.look(stream, &scene.warp, &left, &right, Colours::IDENTITY).unwrap();
    seam.accept();
    let mut out = Seam::copy(stream, &scene.warp).unwrap();
    seam.weigh(stream, &scene.warp, 1.0, &mut out).unwrap();
    (out, seam)
}

/// Checks that the weight of a camera is 0 at pixels outside the camera's picture. Returns the number of steps in the
/// weights: pairs of neighbouring pixels whose weights differ by more than 0.13 plus 16 times their difference in
/// `former`. A feather of 16 pixels changes a weight by only 1/16 per pixel, which is not a step.
pub(crate) fn check(former: &Warp, warp: &Warp) -> usize {
    assert_eq!(former.planes()[..4], warp.planes()[..4], "only weights change");
    let [left, right] = [4, 5].map(|plane| &warp.planes()[plane]);
    let seen = seen(former);
    for (at, seen) in seen.iter().enumerate() {
        let (l, r) = (left[at], right[at]);
        match seen {
            [true, true] => assert!((l + r - 1.0).abs() < 1e-6, "{l} + {r}"),
            [true, false] => assert!(l > 0.0 && r == 0.0, "{l}, {r} at {at}"),
            [false, true] => assert!(l == 0.0 && r > 0.0, "{l}, {r} at {at}"),
            [false, false] => assert_eq!([l, r], [0.0, 0.0], "at {at}"),
        }
    }
    let width = warp.size().x as usize;
    let share = |of: &Warp, at: usize| {
        let [left, right] = [4, 5].map(|plane| of.planes()[plane][at]);
        seen[at].contains(&true).then(|| left / (left + right))
    };
    let differ = |of: &Warp, a: usize, b: usize| Some((share(of, a)? - share(of, b)?).abs());
    let steps = |other: usize| {
        (0..left.len() - other)
            .filter(|at| other > 1 || (at + 1) % width > 0)
            .filter_map(|at| Some((differ(warp, at, at + other)?, differ(former, at, at + other)?)))
            .filter(|(found, former)| *found > 16.0 * former + 0.13)
            .count()
    };
    steps(1) + steps(width)
}

#[test]
fn a_straight_path_is_a_ramp_of_the_feather() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        // All paths through this uniform scene have the same cost, so the search returns a straight path.
        let scene = Scene::new(&stream, BESIDE, [&|_, _| [99.0; 3], &|_, _| [99.0; 3]]);
        for feather in [1.0, 4.0, 16.0] {
            let (warp, seam) = with_seam(&stream, &scene, feather);
            let path = seam.path(&stream).unwrap().unwrap();
            let first = path[0];
            assert!(path.iter().all(|place| *place == first), "{path:?}");
            let grid = seam.grid();
            assert_eq!([grid.cell, grid.transposed, grid.swapped], [1, 0, 0]);
            let warp = warp.download(&stream).unwrap();
            for (at, left) in warp.planes()[4].iter().enumerate() {
                let x = (at % 240) as f32 + 0.5 - grid.min.x as f32;
                let ramp = ((first as f32 - x) / feather + 0.5).clamp(0.0, 1.0);
                assert!((left - ramp).abs() < 1e-5, "{left} is not {ramp} on {device}");
            }
        }
    }
}

#[test]
fn a_fade_goes_from_the_former_weights_to_the_new_ones() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let scene = Scene::new(&stream, BESIDE, [&background, &background]);
        let (full, seam) = with_seam(&stream, &scene, 16.0);
        let (from, to) = (scene.warp.download(&stream).unwrap(), full.download(&stream).unwrap());
        let mut out = Seam::copy(&stream, &scene.warp).unwrap();
        for part in [0.0, 0.25, 1.0] {
            seam.weigh(&stream, &scene.warp, part, &mut out).unwrap();
            let found = out.download(&stream).unwrap();
            for plane in 4..6 {
                let [from, to, found] = [&from, &to, &found].map(|warp| &warp.planes()[plane]);
                for ((from, to), found) in from.iter().zip(to).zip(found) {
                    let exact = from + part * (to - from);
                    assert!((found - exact).abs() < 1e-5, "{found} is not {exact} at {part}");
                }
            }
        }
    }
}
