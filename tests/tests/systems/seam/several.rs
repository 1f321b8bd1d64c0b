//! Checks the blending weights of the seams between more than two cameras: against an f64 computation from the paths,
//! and for steps where several overlaps meet.

use glam::{DMat3, DVec2, UVec2, dvec2, uvec2};
use panoweave::device::{Image, Stream};
use panoweave::frame::FrameView;
use panoweave::geometry::{Camera, Canvas, Geometry};
use panoweave::ops::colour::Colours;
use panoweave::ops::seam::{Seam, SeamOptions, Seams, seamed};
use panoweave::warp::{DeviceWarp, Plane, Warp};
use panoweave_tests::panoweave_devices;
use panoweave_tests::random::Random;
use shared_types::Rgba8;
use shared_types::seam::{FREEDOM, SeamGrid};
use shared_types::stitch::MIN_WEIGHT;

use crate::seam::background;

const FEATHER: f32 = 12.0;

/// Cameras whose pictures are upright rectangles of the panorama. Each position is that of a picture's top left pixel.
struct Mosaic {
    geometry: Geometry,
    corners: Vec<DVec2>,
}

impl Mosaic {
    fn new(size: UVec2, source: UVec2, corners: Vec<DVec2>) -> Self {
        let camera =
            |corner: &DVec2| Camera::from_matrix(DMat3::from_translation(-*corner), source);
        let cameras = corners.iter().map(camera).collect();
        let canvas = Canvas::of_pixels(DVec2::ZERO, size);
        Self { geometry: Geometry { canvas, cameras }, corners }
    }

    /// Returns a row of three, a row of five, or four pictures around a point, with jittered positions.
    fn random(random: &mut Random, kind: usize) -> Self {
        let mut near = |x: f32, y: f32| {
            dvec2((x + random.between(-6.0, 6.0)).into(), (y + random.between(-6.0, 6.0)).into())
        };
        match kind {
            0 => {
                let corners = (0..3).map(|i| near(8.0 + 60.0 * i as f32, 8.0)).collect();
                Self::new(uvec2(240, 110), uvec2(100, 90), corners)
            }
            1 => {
                // Each picture overlaps the next two, so that three pictures overlap in most places.
                let corners = (0..5).map(|i| near(8.0 + 36.0 * i as f32, 8.0)).collect();
                Self::new(uvec2(260, 110), uvec2(100, 90), corners)
            }
            _ => {
                let corners = [(8.0, 8.0), (68.0, 8.0), (8.0, 60.0), (68.0, 60.0)];
                let corners = corners.map(|(x, y)| near(x, y)).into();
                Self::new(uvec2(184, 168), uvec2(100, 90), corners)
            }
        }
    }

    /// Draws the pictures. Each camera sees the background with spots of its own, so that paths bend.
    fn images(&self, stream: &Stream, random: &mut Random) -> Vec<Image<Rgba8>> {
        let size = self.geometry.cameras[0].size;
        let picture = |corner: &DVec2| {
            let spots: Vec<_> = (0..6)
                .map(|_| {
                    dvec2(random.between(0.0, 260.0).into(), random.between(0.0, 170.0).into())
                })
                .collect();
            let pixel = |at: u32| {
                let place = dvec2((at % size.x).into(), (at / size.x).into()) + *corner;
                let spot = spots.iter().any(|spot| spot.distance(place) < 7.0);
                let [r, g, b] = background(place.x, place.y).map(|level| level.round() as u8);
                if spot { Rgba8::opaque(230, 20, b) } else { Rgba8::opaque(r, g, b) }
            };
            let pixels: Vec<_> = (0..size.element_product()).map(pixel).collect();
            Image::from_slice(stream, size.x, size.y, &pixels).unwrap()
        };
        self.corners.iter().map(picture).collect()
    }
}

/// Returns the weight of a camera if it contributes to the pixel `at`.
fn counts(warp: &Warp, camera: usize, at: usize) -> Option<f64> {
    let [x, y, weight] = [Plane::X(camera), Plane::Y(camera), Plane::Weight(camera)]
        .map(|plane| warp.plane(plane)[at]);
    let size = warp.sources()[camera].as_vec2();
    let inside = x >= 0.0 && x < size.x && y >= 0.0 && y < size.y;
    (inside && weight > MIN_WEIGHT).then_some(weight.into())
}

/// Returns the distance of a camera's source pixel from the edge of its picture, as a fraction of the shorter side.
fn distance(warp: &Warp, camera: usize, at: usize) -> f64 {
    let [u, v] = [Plane::X(camera), Plane::Y(camera)].map(|p| f64::from(warp.plane(p)[at]));
    let size = warp.sources()[camera].as_dvec2();
    (u + 1.0).min(size.x - u).min(v + 1.0).min(size.y - v) / size.min_element()
}

/// Returns the share of the left camera of a pair at a pixel that both see, as `kernels_gpu::seam` defines it.
fn left_share(warp: &Warp, [i, j]: [usize; 2], at: usize, grid: &SeamGrid, path: &[u32]) -> f64 {
    let [(l, r), (dl, dr)] = [
        (counts(warp, i, at).unwrap(), counts(warp, j, at).unwrap()),
        (distance(warp, i, at), distance(warp, j, at)),
    ];
    let free = |weight: f64, distance: f64| {
        let share = (weight / (l + r)).min(distance / (dl + dr));
        (f64::from(FREEDOM) * share).min(1.0)
    };
    let (left, right) = (free(l, dl), free(r, dr));
    let width = warp.size().x as usize;
    let pixel = dvec2((at % width) as f64, (at / width) as f64);
    let cell = f64::from(grid.cell);
    let place = (pixel - grid.min.as_dvec2() + 0.5) / cell;
    let (across, along) =
        if grid.transposed != 0 { (place.y, place.x) } else { (place.x, place.y) };
    let feather = f64::from(FEATHER) / cell;
    let near: f64 = (-4..=4)
        .map(|tap: i32| {
            let row =
                (f64::from(tap) * feather / 8.0 + along - 0.5).clamp(0.0, (path.len() - 1) as f64);
            let first = row.floor() as usize;
            let [a, b] = [first, (first + 1).min(path.len() - 1)].map(|i| f64::from(path[i]));
            let crossing = a + (b - a) * (row - row.floor());
            let weight = f64::from(5 - tap.abs()) / 25.0;
            weight * ((crossing - across) / feather + 0.5).clamp(0.0, 1.0)
        })
        .sum();
    let share = if grid.swapped != 0 { 1.0 - near } else { near };
    if left + right < 1.0 { left / (left + right) } else { share.max(1.0 - right).min(left) }
}

/// Computes the weights of all cameras from the paths in f64: each camera is laid over those before it.
fn exact(warp: &Warp, pairs: &[([usize; 2], SeamGrid, Vec<u32>)]) -> Vec<Vec<f64>> {
    let (cameras, pixels) = (warp.sources().len(), warp.plane(Plane::X(0)).len());
    let mut weights = vec![vec![0.0; pixels]; cameras];
    #[expect(clippy::needless_range_loop, reason = "`at` is a pixel of all planes")]
    for at in 0..pixels {
        let seen: Vec<_> = (0..cameras).map(|camera| counts(warp, camera, at).is_some()).collect();
        let mut rest = 1.0;
        for camera in (0..cameras).rev().filter(|camera| seen[*camera]) {
            let of_pair = |(pair, grid, path): &([usize; 2], SeamGrid, Vec<u32>)| {
                let both = pair[1] == camera && seen[pair[0]];
                both.then(|| 1.0 - left_share(warp, *pair, at, grid, path))
            };
            let cover = pairs.iter().filter_map(of_pair).fold(1.0, f64::min);
            weights[camera][at] = rest * cover;
            rest *= 1.0 - cover;
        }
    }
    weights
}

#[test]
fn weights_follow_from_the_paths_of_all_pairs() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let mut bent = 0;
        for seed in 0..6 {
            let mut random = Random::new(seed);
            let mosaic = Mosaic::random(&mut random, seed as usize % 3);
            let images = mosaic.images(&stream, &mut random);
            let frames: Vec<_> = images.iter().map(FrameView::from).collect();
            let warp = DeviceWarp::render(&stream, &mosaic.geometry).unwrap();
            let options = SeamOptions { feather: FEATHER };
            let (mut seams, reasons) = Seams::new(&stream, &warp, options).unwrap();
            assert!(reasons.is_empty(), "{seed}: {reasons:?}");
            let mut pairs = Vec::new();
            for seam in seams.pairs_mut() {
                let [left, right] = seam.cameras().map(|camera| frames[camera]);
                seam.look(&stream, &warp, left, right, Colours::IDENTITY).unwrap();
                seam.accept();
                let path = seam.path(&stream).unwrap().unwrap();
                bent += usize::from(path.iter().any(|place| *place != path[0]));
                pairs.push((seam.cameras(), seam.grid(), path));
            }
            let mut out = Seam::copy(&stream, &warp).unwrap();
            seams.weigh(&stream, &warp, &vec![1.0; pairs.len()], &mut out).unwrap();
            let (former, found) = (warp.download(&stream).unwrap(), out.download(&stream).unwrap());
            let exact = exact(&former, &pairs);
            let width = former.size().x as usize;
            for (camera, exact) in exact.iter().enumerate() {
                let found = found.plane(Plane::Weight(camera));
                for (at, (found, exact)) in found.iter().zip(exact).enumerate() {
                    assert!(
                        (f64::from(*found) - exact).abs() < 1e-4,
                        "{device}, {seed}: camera {camera} at {}, {}: {found} is not {exact}",
                        at % width,
                        at / width
                    );
                }
            }
            check_sums_and_steps(&former, &found, &format!("{device}, {seed}"));
        }
        assert!(bent > 5, "only {bent} paths avoid a spot");
    }
}

/// Checks that the weights sum to 1 at each pixel that a camera sees, and change gradually: a feather of 12 pixels
/// changes a weight by 1/12 per pixel, and up to three seams may meet. Edges of pictures narrower than the feather
/// allow steeper changes, in proportion to those of the feathered weights.
fn check_sums_and_steps(former: &Warp, warp: &Warp, what: &str) {
    let (cameras, width) = (warp.sources().len(), warp.size().x as usize);
    let pixels = warp.plane(Plane::X(0)).len();
    let of = |warp: &Warp, camera: usize, at: usize| warp.plane(Plane::Weight(camera))[at];
    let seen = |at: usize| (0..cameras).filter(move |camera| counts(former, *camera, at).is_some());
    let mut steps = 0;
    for at in 0..pixels {
        let sum: f32 = (0..cameras).map(|camera| of(warp, camera, at)).sum();
        let whole = if seen(at).next().is_some() { 1.0 } else { 0.0 };
        assert!((sum - whole).abs() < 1e-5, "{what}: weights sum to {sum} at pixel {at}");
        for other in [at + 1, at + width] {
            let beside = other < pixels && (other != at + 1 || other % width > 0);
            if !beside || seen(at).next().is_none() || seen(other).next().is_none() {
                continue;
            }
            for camera in 0..cameras {
                let change = (of(warp, camera, at) - of(warp, camera, other)).abs();
                let before = (of(former, camera, at) - of(former, camera, other)).abs();
                steps += usize::from(change > 16.0 * before + 0.3);
            }
        }
    }
    assert_eq!(steps, 0, "{what}");
}

/// Two cameras get the same weights from [`Seams`] as from their [`Seam`].
#[test]
fn two_cameras_are_weighed_as_before() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let mut random = Random::new(9);
        let corners = vec![dvec2(4.0, 9.0), dvec2(70.0, 4.0)];
        let mosaic = Mosaic::new(uvec2(180, 110), uvec2(100, 90), corners);
        let images = mosaic.images(&stream, &mut random);
        let warp = DeviceWarp::render(&stream, &mosaic.geometry).unwrap();
        let options = SeamOptions { feather: FEATHER };
        let weights = |out: &DeviceWarp| {
            let out = out.download(&stream).unwrap();
            [0, 1].map(|camera| out.plane(Plane::Weight(camera)).to_vec())
        };
        let mut seam = Seam::new(&stream, &warp, [0, 1], options).unwrap();
        seam.look(&stream, &warp, &images[0], &images[1], Colours::IDENTITY).unwrap();
        seam.accept();
        let mut out = Seam::copy(&stream, &warp).unwrap();
        seam.weigh(&stream, &warp, 1.0, &mut out).unwrap();
        let frames: Vec<_> = images.iter().map(FrameView::from).collect();
        let other = seamed(&stream, &warp, &frames, Colours::IDENTITY, options);
        assert!(weights(&out) == weights(&other.unwrap().0), "{device}");
    }
}

/// The third camera covers the same area as the second one. Their overlap keeps the feathered weights, and the reason
/// names both cameras.
#[test]
fn the_reasons_name_the_cameras_without_a_seam() {
    let corners = vec![dvec2(8.0, 8.0), dvec2(68.0, 8.0), dvec2(68.0, 8.0)];
    let mosaic = Mosaic::new(uvec2(184, 110), uvec2(100, 90), corners);
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let images = mosaic.images(&stream, &mut Random::new(1));
        let frames: Vec<_> = images.iter().map(FrameView::from).collect();
        let warp = DeviceWarp::render(&stream, &mosaic.geometry).unwrap();
        let options = SeamOptions { feather: FEATHER };
        let (with_seams, reasons) =
            seamed(&stream, &warp, &frames, Colours::IDENTITY, options).unwrap();
        let reasons: Vec<_> = reasons.iter().map(ToString::to_string).collect();
        assert_eq!(reasons.len(), 1, "{device}: {reasons:?}");
        let start = "seam: camera 3 covers the whole area of camera 2,";
        assert!(reasons[0].starts_with(start), "{device}: {reasons:?}");
        let out = with_seams.download(&stream).unwrap();
        // In the area of the second and third camera alone, both have half of the weight.
        let at = 50 * 184 + 150;
        let weights = [1, 2].map(|camera| out.plane(Plane::Weight(camera))[at]);
        assert!(weights.iter().all(|weight| (weight - 0.5).abs() < 1e-4), "{device}: {weights:?}");
        // There are two seams, and one of the parts is missing.
        let (mut seams, _) = Seams::new(&stream, &warp, options).unwrap();
        let mut out = Seam::copy(&stream, &warp).unwrap();
        assert!(seams.weigh(&stream, &warp, &[1.0], &mut out).is_err(), "{device}");
    }
}

#[test]
fn a_seam_refuses_a_warp_of_another_size() {
    let mosaic = |width| {
        let corners = vec![dvec2(4.0, 9.0), dvec2(70.0, 4.0)];
        Mosaic::new(uvec2(width, 110), uvec2(100, 90), corners)
    };
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let (own, wide) = (mosaic(180), mosaic(184));
        let images = own.images(&stream, &mut Random::new(9));
        let [warp, other] =
            [&own, &wide].map(|mosaic| DeviceWarp::render(&stream, &mosaic.geometry).unwrap());
        let options = SeamOptions { feather: FEATHER };
        let mut seam = Seam::new(&stream, &warp, [0, 1], options).unwrap();
        let mut look = |warp| seam.look(&stream, warp, &images[0], &images[1], Colours::IDENTITY);
        look(&warp).unwrap();
        let error = look(&other).unwrap_err().to_string();
        assert!(
            error.contains("184 × 110 pixels, but the seam was created for 180 × 110"),
            "{error}"
        );
        seam.accept();
        let mut out = Seam::copy(&stream, &other).unwrap();
        assert!(seam.weigh(&stream, &other, 1.0, &mut out).is_err(), "{device}");
    }
}

/// Neither a warp of another size nor one with another number of cameras has these seams.
#[test]
fn seams_of_three_cameras_refuse_another_warp() {
    let mosaic = |width, cameras: u32| {
        let corners = (0..cameras).map(|i| dvec2(8.0 + 60.0 * f64::from(i), 8.0)).collect();
        Mosaic::new(uvec2(width, 110), uvec2(100, 90), corners)
    };
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let warp = |mosaic: Mosaic| DeviceWarp::render(&stream, &mosaic.geometry).unwrap();
        let own = warp(mosaic(300, 3));
        let options = SeamOptions { feather: FEATHER };
        let (mut seams, _) = Seams::new(&stream, &own, options).unwrap();
        let parts = vec![1.0; seams.pairs().len()];
        let mut weigh = |warp: &DeviceWarp| {
            let mut out = Seam::copy(&stream, warp).unwrap();
            seams.weigh(&stream, warp, &parts, &mut out).map_err(|error| error.to_string())
        };
        weigh(&own).unwrap();
        for (other, reason) in [
            (mosaic(304, 3), "304 × 110 pixels, but the seam was created for 300 × 110"),
            (mosaic(300, 4), "cameras of the warp"),
        ] {
            let error = weigh(&warp(other)).unwrap_err();
            assert!(error.contains(reason), "{device}: {error}");
        }
    }
}

/// The cameras of a seam may be given in any order.
#[test]
fn swapped_cameras_have_the_same_seam() {
    let corners = vec![dvec2(4.0, 9.0), dvec2(70.0, 4.0)];
    let mosaic = Mosaic::new(uvec2(180, 110), uvec2(100, 90), corners);
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let images = mosaic.images(&stream, &mut Random::new(9));
        let warp = DeviceWarp::render(&stream, &mosaic.geometry).unwrap();
        let options = SeamOptions { feather: FEATHER };
        let [ascending, descending] = [[0, 1], [1, 0]].map(|cameras| {
            let mut seam = Seam::new(&stream, &warp, cameras, options).unwrap();
            let [left, right] = cameras.map(|camera| &images[camera]);
            seam.look(&stream, &warp, left, right, Colours::IDENTITY).unwrap();
            seam.accept();
            let mut out = Seam::copy(&stream, &warp).unwrap();
            seam.weigh(&stream, &warp, 1.0, &mut out).unwrap();
            out.download(&stream).unwrap()
        });
        let weights = |warp: &Warp| [0, 1].map(|camera| warp.plane(Plane::Weight(camera)).to_vec());
        let (expected, found) = (weights(&ascending), weights(&descending));
        let differ = |camera: usize| {
            let pairs = expected[camera].iter().zip(&found[camera]);
            pairs.filter(|(a, b)| (*a - *b).abs() > 0.01).count()
        };
        assert!(differ(0) + differ(1) < 100, "{device}: {} {}", differ(0), differ(1));
    }
}
