//! Tests of meshes, which approximate the planes of a warp. They compare meshes with planes, and stitches by mesh with
//! stitches by planes.

mod cameras;
pub(crate) mod case;
mod stitch;
mod weights;

use glam::{UVec2, uvec2};
use panoweave::device::Device;
use panoweave::geometry::rig::Rig;
use panoweave::warp::{DeviceWarp, MESH_ERROR, Mesh, Plane, Warp};
use panoweave_tests::random::{Random, random_rig, random_warp};
use shared_types::stitch::MIN_WEIGHT;
use shared_types::stitch::mesh::{CELLS, TILE};

fn render(rig: &Rig) -> Warp {
    let stream = Device::simulator().stream().unwrap();
    let geometry = rig.geometry().unwrap();
    DeviceWarp::render(&stream, &geometry).unwrap().download(&stream).unwrap()
}

/// Returns the cameras that contribute to a pixel according to the warp's planes, each with its source position and its
/// normalised weight.
fn by_planes(warp: &Warp, pixel: UVec2) -> Vec<(usize, [f32; 2], f64)> {
    let at = (pixel.y * warp.size().x + pixel.x) as usize;
    let of = |plane| warp.plane(plane)[at];
    let planes = [
        (Plane::X(0), Plane::Y(0), Plane::Weight(0)),
        (Plane::X(1), Plane::Y(1), Plane::Weight(1)),
    ];
    let seen: Vec<_> = (0..2)
        .filter_map(|camera| {
            let (x, y, weight) = planes[camera];
            let (place, size) = ([of(x), of(y)], warp.sources()[camera].as_vec2());
            let inside =
                place[0] >= 0.0 && place[0] < size.x && place[1] >= 0.0 && place[1] < size.y;
            (inside && of(weight) > MIN_WEIGHT).then_some((camera, place, f64::from(of(weight))))
        })
        .collect();
    let whole: f64 = seen.iter().map(|(.., weight)| weight).sum();
    seen.into_iter().map(|(camera, place, weight)| (camera, place, weight / whole)).collect()
}

/// Compares every pixel of a mesh with the planes of the warp, and checks that the source positions differ by at most
/// `error` pixels. Returns the largest error of a position and the largest error of a normalised weight.
fn check(warp: &Warp, mesh: &Mesh, error: f32) -> (f32, f64) {
    let mut worst = (0.0_f32, 0.0_f64);
    for pixel in (0..warp.size().y).flat_map(|y| (0..warp.size().x).map(move |x| uvec2(x, y))) {
        let (found, exact) = (mesh.at(pixel).collect::<Vec<_>>(), by_planes(warp, pixel));
        assert_eq!(found.len(), exact.len(), "at {pixel}: {found:?}, {exact:?}");
        for ((camera, place, share), (exact_camera, exact_place, exact_share)) in
            found.into_iter().zip(exact)
        {
            assert_eq!(camera, exact_camera, "at {pixel}");
            let off = (place.x - exact_place[0]).abs().max((place.y - exact_place[1]).abs());
            assert!(off <= error, "at {pixel}: {place} is {exact_place:?}, {off} off");
            let share_off = (f64::from(share) - exact_share).abs();
            assert!(share_off <= 1.0 / 131_070.0 + 1e-7, "at {pixel}: {share} is {exact_share}");
            worst = (worst.0.max(off), worst.1.max(share_off));
        }
    }
    worst
}

#[test]
fn places_are_as_near_as_asked_and_shares_are_kept() {
    let mut worst = [0.0_f32; 3];
    for seed in 0..60 {
        let warp = render(&random_rig(seed));
        for (error, worst) in [MESH_ERROR, 1e-3, 1e-6].into_iter().zip(&mut worst) {
            let mesh = Mesh::new(&warp, error);
            assert_eq!((mesh.size(), mesh.sources()), (warp.size(), warp.sources()));
            *worst = worst.max(check(&warp, &mesh, error).0);
        }
    }
    assert!(worst[0] > 0.5 * MESH_ERROR, "the bound is not used: {worst:?}");
    eprintln!("off by at most {worst:?} pixels");
}

#[test]
fn what_no_mesh_can_hold_keeps_its_places() {
    let mut random = Random::new(3);
    for size in [uvec2(1, 1), uvec2(33, 2), uvec2(70, 67)] {
        let warp = random_warp(&mut random, size);
        let mesh = Mesh::new(&warp, MESH_ERROR);
        check(&warp, &mesh, MESH_ERROR);
        if size.element_product() > 100 {
            assert!(mesh.divisions()[CELLS.len()] > 0, "{:?}", mesh.divisions());
        }
    }
}

/// Checks that a tile of a quadratic warp needs only one patch per camera, because a patch represents a quadratic map
/// except for rounding errors. The two cameras are side by side, so most tiles show one camera.
#[test]
fn a_quadratic_warp_takes_one_patch_a_tile() {
    let size = uvec2(200, 100);
    let plane = |at: &dyn Fn(f64, f64) -> f64| {
        let pixels = (0..size.y).flat_map(|y| (0..size.x).map(move |x| (x, y)));
        pixels.map(|(x, y)| at(f64::from(x), f64::from(y)) as f32).collect::<Vec<_>>()
    };
    let planes = [
        plane(&|x, y| 0.9 * x + 0.001 * x * x - 0.002 * x * y + 3.0),
        plane(&|x, y| 1.1 * y - 0.0005 * x * x + 2.0),
        plane(&|x, y| 0.8 * x + 0.001 * y * y + 1.0),
        plane(&|x, y| y + 0.0004 * x * y + 5.0),
        plane(&|x, _| if x < 100.0 { 1.0 } else { 0.0 }),
        plane(&|x, _| if x < 100.0 { 0.0 } else { 1.0 }),
    ];
    let warp = Warp::new(size, [uvec2(300, 300); 2], planes).unwrap();
    let mesh = Mesh::new(&warp, 1e-3);
    let (off, _) = check(&warp, &mesh, 1e-4);
    assert!(off > 0.0, "exact to the bit?");
    // One column of tiles is on the border between the cameras. Each tile of this column has two layers, one per
    // camera.
    let tiles = size.x.div_ceil(TILE) * size.y.div_ceil(TILE);
    let meeting = size.y.div_ceil(TILE);
    assert_eq!(mesh.divisions(), [(tiles + meeting) as usize, 0, 0, 0]);
}

#[test]
fn a_mesh_is_a_small_part_of_the_planes() {
    let home = include_str!("../../../../../rigs/home.toml")
        .replace("5700", "1900")
        .replace("= 1900\nfov", "= 633\nfov");
    let warp = render(&Rig::parse(&home, "rigs/home.toml").unwrap());
    let mesh = Mesh::new(&warp, MESH_ERROR);
    let (worst, _) = check(&warp, &mesh, MESH_ERROR);
    let planes = 24 * u64::from(warp.size().element_product());
    eprintln!("{:?}, {} of {planes} bytes, {worst} pixels off", mesh.divisions(), mesh.bytes());
    assert!(mesh.bytes() < planes / 30, "{} of {planes} bytes", mesh.bytes());
    assert!(mesh.divisions()[0] * 10 > mesh.divisions().iter().sum::<usize>() * 9);
}
