//! Compares the weights of a warp and the shares of its mesh after a fade of cameras with a formula in f64.

use glam::{UVec2, uvec2};
use panoweave_tests::random::Random;
use shared_types::stitch::MIN_WEIGHT;
use shared_types::stitch::mesh::{Layer, NONE, REST, TILE, WHOLE_SHARE};

use super::*;
use crate::device::Device;
use crate::geometry::Geometry;
use crate::geometry::rig::Rig;

const SIZE: UVec2 = uvec2(70, 50);
const SOURCE: UVec2 = uvec2(200, 150);

/// Returns the coordinates of a camera that sees a random rectangle of the panorama, and a random positive weight at
/// each pixel of the rectangle.
fn camera(random: &mut Random) -> [Vec<f32>; 3] {
    let low = uvec2(random.below(40) as u32, random.below(25) as u32);
    let high = low + uvec2(20 + random.below(60) as u32, 15 + random.below(40) as u32);
    let mut planes = [const { Vec::new() }; 3];
    for (x, y) in (0..SIZE.y).flat_map(|y| (0..SIZE.x).map(move |x| (x, y))) {
        let seen = x >= low.x && x < high.x && y >= low.y && y < high.y;
        let weight = random.between(0.05, 1.0);
        let pixel = if seen { [x as f32 + 3.0, y as f32 + 5.0, weight] } else { [-1.0, -1.0, 0.0] };
        for (plane, value) in planes.iter_mut().zip(pixel) {
            plane.push(value);
        }
    }
    planes
}

/// Returns new weights for all cameras. At half of the pixels, a seam gives one of the cameras that see the pixel the
/// weight 1 and the others 0.
fn new_weights(random: &mut Random, cameras: &[[Vec<f32>; 3]]) -> Vec<Vec<f32>> {
    let mut weights: Vec<_> = cameras.iter().map(|[.., weight]| weight.clone()).collect();
    for at in 0..SIZE.element_product() as usize {
        let seeing: Vec<_> =
            (0..weights.len()).filter(|camera| weights[*camera][at] > 0.0).collect();
        if seeing.is_empty() {
            continue;
        }
        let winner = random.below(2).eq(&0).then(|| random.pick(&seeing));
        for camera in seeing {
            weights[camera][at] = match winner {
                Some(winner) => f32::from(camera == winner),
                None => random.between(0.05, 1.0),
            };
        }
    }
    weights
}

/// Returns the share of each camera at a pixel, as the stitch kernels compute it from layers and shares. Checks that
/// only the first layer of a tile may be black, and that layers with the full share store no shares.
fn shown(layers: &[Layer], shares: &[u16], cameras: usize, pixel: UVec2) -> Vec<u16> {
    let (tile, UVec2 { x, y }) = (pixel / TILE, pixel % TILE);
    let mut next = tile.y * Mesh::tiles_of(SIZE).x + tile.x;
    let (mut found, mut left) = (vec![0; cameras], u16::MAX);
    while next != NONE {
        let layer = layers[next as usize];
        if layer == Layer::BLACK {
            break;
        }
        let share = match layer.shares {
            NONE | REST => left,
            first => shares[(first + y * TILE + x) as usize].min(left),
        };
        assert!(layer.shares != NONE || layer.next == NONE, "{layer:?}");
        left -= share;
        found[usize::from(layer.camera)] = share;
        next = layer.next;
    }
    found
}

/// Returns the exact share of each camera: `p · s` and a part of the rest in proportion to `p · b`, where `s` are the
/// normalised weights, `b` the weights before they changed, and `p` the presences.
fn exact(weights: &[f64], base: &[f64], presences: &[f32]) -> Vec<f64> {
    let whole: f64 = weights.iter().sum();
    let presence = |camera: usize| presences.get(camera).map_or(1.0, |p| f64::from(*p));
    let cameras = 0..weights.len();
    let part = |camera: usize| if whole > 0.0 { weights[camera] / whole } else { 0.0 };
    let kept: f64 = cameras.clone().map(|camera| presence(camera) * part(camera)).sum();
    let claims: f64 = cameras.clone().map(|camera| presence(camera) * base[camera]).sum();
    let share = |camera| {
        if whole > 0.0 && claims > 0.0 {
            presence(camera) * (part(camera) + (1.0 - kept) * base[camera] / claims)
        } else {
            part(camera)
        }
    };
    cameras.map(share).collect()
}

#[test]
fn shares_follow_weights_and_presences() {
    let stream = Device::cpu().stream().unwrap();
    let (mut filled, mut stays) = (0, 0);
    for seed in 0..20 {
        let random = &mut Random::new(seed);
        let count = 2 + seed as usize % 15;
        let cameras: Vec<_> = (0..count).map(|_| camera(random)).collect();
        let planes: Vec<_> = Plane::all(count)
            .map(|plane| match plane {
                Plane::X(camera) => cameras[camera][0].clone(),
                Plane::Y(camera) => cameras[camera][1].clone(),
                Plane::Weight(camera) => cameras[camera][2].clone(),
            })
            .collect();
        let warp = Warp::new(SIZE, vec![SOURCE; count], planes).unwrap();
        let base = DeviceWarp::upload(&stream, &warp).unwrap();
        base.mesh(&stream).unwrap();
        let weights = new_weights(random, &cameras);
        // In a third of the cases, all cameras are present.
        let presences: Vec<_> = (0..if seed % 3 == 0 { 0 } else { count })
            .map(|_| [0.0, 1.0, random.between(0.0, 1.0)][random.below(3)])
            .collect();
        let mut copy = base.reweighted(&stream).unwrap();
        for (to, from) in copy.weights_mut().iter_mut().zip(&weights) {
            to.upload(&stream, from).unwrap();
        }
        copy.fade(&stream, &base, &presences).unwrap();
        let faded: Vec<_> = (0..count)
            .map(|camera| copy.plane(Plane::Weight(camera)).download(&stream).unwrap())
            .collect();
        let (layers, _, _, shares) = copy.mesh(&stream).unwrap().buffers();
        let (layers, shares) =
            (layers.download(&stream).unwrap(), shares.download(&stream).unwrap());
        for at in 0..SIZE.element_product() as usize {
            let pixel = uvec2(at as u32 % SIZE.x, at as u32 / SIZE.x);
            let at_pixel = |plane: &Vec<f32>| f64::from(plane[at]);
            let base: Vec<_> = cameras.iter().map(|[.., weight]| at_pixel(weight)).collect();
            let of: Vec<_> = weights.iter().map(at_pixel).collect();
            let whole: f64 = of.iter().sum();
            let found = shown(&layers, &shares, count, pixel);
            let exact = exact(&of, &base, &presences);
            // Weights of at most `MIN_WEIGHT` are ignored.
            let small = exact.iter().filter(|share| *share * whole <= MIN_WEIGHT.into());
            let small: f64 = small.sum::<f64>() * f64::from(WHOLE_SHARE);
            for (camera, exact) in exact.into_iter().enumerate() {
                let weight = at_pixel(&faded[camera]);
                assert!((weight - exact * whole).abs() < 1e-5, "{seed}, {pixel}, {camera}");
                let off = (f64::from(found[camera]) - exact * f64::from(WHOLE_SHARE)).abs();
                // Each of the other shares is rounded, which changes the rest by half a unit.
                let bound = 0.6 + 0.5 * count as f64 + small;
                assert!(off < bound, "{seed}, {pixel}, {camera}: {} is {exact}", found[camera]);
                filled += u32::from(of[camera] == 0.0 && found[camera] > 0);
                let absent = presences.get(camera) == Some(&0.0);
                stays += u32::from(absent && found[camera] > 0);
            }
        }
    }
    assert!(filled > 1000 && stays > 100, "{filled}, {stays}");
}

/// Returns the geometry of cameras in a row, each of which overlaps the next one.
fn row(cameras: usize) -> Geometry {
    let camera = |i: usize| {
        let yaw = 50.0 * (i as f64 - 0.5 * (cameras as f64 - 1.0));
        format!(
            "[[camera]]\nname = \"{i}\"\nsize = [120, 68]\nlens = \"pinhole\"\n\
             matrix = {{ fx = 94.0, fy = 94.0, cx = 59.5, cy = 33.5 }}\nyaw = {yaw}\n"
        )
    };
    let fov = 15 + 50 * cameras;
    let panorama = "[panorama]\nprojection = \"cylindrical\"\nwidth = 240\nheight = 60\n";
    let text = format!("{panorama}fov = {fov}\n{}", (0..cameras).map(camera).collect::<String>());
    Rig::parse(&text, "row").unwrap().geometry().unwrap()
}

/// The sum of rounded parts can exceed 1 in the last bits, which a warp in host memory may not.
#[test]
fn a_faded_warp_can_be_downloaded() {
    let stream = Device::cpu().stream().unwrap();
    for cameras in 2..=4 {
        let warp = DeviceWarp::render(&stream, &row(cameras)).unwrap();
        let mut faded = warp.reweighted(&stream).unwrap();
        for (camera, part) in (0..cameras).flat_map(|camera| (0..=20).map(move |p| (camera, p))) {
            let mut presences = vec![1.0; cameras];
            presences[camera] = part as f32 / 20.0;
            faded.set_presences(&stream, &warp, &presences).unwrap();
            faded.download(&stream).unwrap_or_else(|error| panic!("{presences:?}: {error}"));
        }
        faded.set_presences(&stream, &warp, &[f32::NAN]).unwrap();
        let absent = faded.download(&stream).unwrap();
        faded.set_presences(&stream, &warp, &[0.0]).unwrap();
        let expected = faded.download(&stream).unwrap();
        assert!(absent.plane(Plane::Weight(0)) == expected.plane(Plane::Weight(0)));
    }
}

#[test]
fn a_camera_that_a_warp_lacks_is_an_error() {
    let stream = Device::cpu().stream().unwrap();
    let warp = DeviceWarp::render(&stream, &row(2)).unwrap();
    let error = warp.planes(7).unwrap_err().to_string();
    assert!(error.contains("2 cameras") && error.contains("index 7"), "{error}");
}
