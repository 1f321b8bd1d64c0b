//! Compares the warp kernels with independent camera models in f64, and the GPU with the CPU.

use panoweave::device::{Device, Image};
use panoweave::geometry::Geometry;
use panoweave::geometry::homography::Homography;
use panoweave::geometry::rig::{LensName, ProjectionName, Rig, RigCamera};
use panoweave::warp::{DeviceWarp, Plane, Warp};
use panoweave_tests::random::random_rig;
use panoweave_tests::{gpu, panoweave_devices};
use shared_types::warp::DeviceCameraPlanes;

fn render(device: &Device, geometry: &Geometry) -> Warp {
    let stream = device.stream().unwrap();
    DeviceWarp::render(&stream, geometry).unwrap().download(&stream).unwrap()
}

/// Rotates `v` right-handed about an axis (0 for x, 1 for y, 2 for z) by an angle in degrees.
fn turn(axis: usize, degrees: f64, v: [f64; 3]) -> [f64; 3] {
    let (s, c) = degrees.to_radians().sin_cos();
    let (a, b) = ((axis + 1) % 3, (axis + 2) % 3);
    let mut out = v;
    out[a] = c * v[a] - s * v[b];
    out[b] = s * v[a] + c * v[b];
    out
}

/// Returns the world ray of a panorama pixel. A positive yaw turns right, which is a right-handed rotation about y,
/// because y points down. A positive pitch turns up.
fn world_ray(rig: &Rig, x: f64, y: f64) -> [f64; 3] {
    let p = &rig.panorama;
    let (w, h) = (f64::from(p.width), f64::from(p.height));
    let half = p.fov.to_radians() / 2.0;
    let scale = match p.projection {
        ProjectionName::Planar => w / 2.0 / half.tan(),
        _ => w / 2.0 / half,
    };
    let (a, b) = ((x - (w - 1.0) / 2.0) / scale, (y - (h - 1.0) / 2.0) / scale);
    let ray = match p.projection {
        ProjectionName::Planar => [a, b, 1.0],
        ProjectionName::Cylindrical => [a.sin(), b, a.cos()],
        ProjectionName::Equirectangular => [a.sin() * b.cos(), b.sin(), a.cos() * b.cos()],
    };
    turn(1, p.yaw, turn(0, p.pitch, ray))
}

/// Returns the source pixel of a world ray, and the ray's angle to the camera's axis.
fn project(camera: &RigCamera, ray: [f64; 3]) -> ([f64; 2], f64) {
    let camera = camera.mount().unwrap();
    let v = turn(2, -camera.roll, turn(0, -camera.pitch, turn(1, -camera.yaw, ray)));
    let k = |i: usize| camera.distortion.get(i).copied().unwrap_or(0.0);
    let r = v[0].hypot(v[1]);
    let theta = r.atan2(v[2]);
    let [x, y] = match camera.lens {
        LensName::Pinhole => {
            let (x, y) = (v[0] / v[2], v[1] / v[2]);
            let r2 = x * x + y * y;
            let radial = 1.0 + k(0) * r2 + k(1) * r2.powi(2) + k(4) * r2.powi(3);
            [
                x * radial + 2.0 * k(2) * x * y + k(3) * (r2 + 2.0 * x * x),
                y * radial + k(2) * (r2 + 2.0 * y * y) + 2.0 * k(3) * x * y,
            ]
        }
        LensName::Fisheye => {
            let t2 = theta * theta;
            let d = theta
                * (1.0 + k(0) * t2 + k(1) * t2.powi(2) + k(2) * t2.powi(3) + k(3) * t2.powi(4));
            if r > 0.0 { [v[0] / r * d, v[1] / r * d] } else { [0.0, 0.0] }
        }
        lens => unreachable!("other tests are for {lens:?}"),
    };
    let m = camera.matrix;
    ([x * m.fx + m.cx, y * m.fy + m.cy], theta)
}

fn is_fisheye(camera: &RigCamera) -> bool {
    camera.mount().unwrap().lens == LensName::Fisheye
}

#[test]
fn coordinates_and_weights_follow_the_camera_models() {
    let device = Device::simulator();
    let mut seen = [0_usize; 2];
    let mut overlap = 0_usize;
    for seed in 0..300 {
        let rig = random_rig(seed);
        let warp = render(&device, &rig.geometry().unwrap());
        let width = rig.panorama.width as usize;
        for at in 0..warp.plane(Plane::X(0)).len() {
            let (x, y) = (at % width, at / width);
            let ray = world_ray(&rig, x as f64, y as f64);
            let mut margins = [0.0; 2];
            for (i, camera) in rig.cameras.iter().enumerate() {
                let (u, v) = (warp.planes()[2 * i][at], warp.planes()[2 * i + 1][at]);
                let [w, h] = camera.size.map(|n| n as f32);
                let (exact, theta) = project(camera, ray);
                let inside = u >= 0.0 && u < w && v >= 0.0 && v < h;
                if inside {
                    let error = (f64::from(u) - exact[0]).hypot(f64::from(v) - exact[1]);
                    assert!(error < 2e-5, "seed {seed} camera {i} ({x},{y}): off by {error} px");
                    let front = is_fisheye(camera) || theta < 90_f64.to_radians();
                    assert!(front, "seed {seed} camera {i} ({x},{y}) looks behind itself");
                    let edge = (u + 1.0).min(w - u).min(v + 1.0).min(h - v) / w.min(h);
                    margins[i] = f64::from(edge);
                    seen[i] += 1;
                }
            }
            overlap += usize::from(margins[0] > 0.0 && margins[1] > 0.0);
            let sum = margins[0] + margins[1];
            for (i, margin) in margins.into_iter().enumerate() {
                let expected = if sum > 0.0 { margin / sum } else { 0.0 };
                let weight = f64::from(warp.planes()[4 + i][at]);
                assert!((weight - expected).abs() < 1e-6, "seed {seed} camera {i} ({x},{y})");
            }
        }
    }
    // The random rigs must cover enough pixels for the test to be meaningful.
    assert!(seen.iter().all(|&n| n > 50_000) && overlap > 10_000, "{seen:?}, {overlap}");
}

/// The functions for the CPU do the arithmetic of the kernels.
#[test]
fn the_cpu_renders_the_planes_of_the_simulator() {
    for seed in 0..200 {
        let geometry = random_rig(seed).geometry().unwrap();
        let [cpu, simulator] =
            [Device::cpu(), Device::simulator()].map(|device| render(&device, &geometry));
        for (cpu, simulator) in cpu.planes().iter().zip(simulator.planes()) {
            let same = cpu.iter().zip(simulator).all(|(a, b)| a.to_bits() == b.to_bits());
            assert!(same, "seed {seed}");
        }
    }
}

#[test]
fn what_the_lens_can_see_inside_its_picture_is_seen() {
    for seed in 0..100 {
        let rig = random_rig(seed);
        let geometry = rig.geometry().unwrap();
        let warp = render(&Device::simulator(), &geometry);
        let width = rig.panorama.width as usize;
        for (i, camera) in rig.cameras.iter().enumerate() {
            for at in 0..warp.plane(Plane::X(0)).len() {
                let ray = world_ray(&rig, (at % width) as f64, (at / width) as f64);
                let ([u, v], theta) = project(camera, ray);
                let [w, h] = camera.size.map(f64::from);
                let radius = if is_fisheye(camera) { theta } else { theta.tan() };
                let front = theta < 1.5;
                let well_inside = u > 0.01 && u < w - 0.01 && v > 0.01 && v < h - 0.01;
                if front && well_inside && radius < 0.999 * geometry.cameras[i].limit {
                    let weight = warp.planes()[4 + i][at];
                    assert!(weight > 0.0, "seed {seed} camera {i} element {at} is not seen");
                }
            }
        }
    }
}

#[test]
fn a_lens_that_folds_back_shows_its_picture_once() {
    // With this barrel distortion, the distorted radius is largest at tan θ = 0.91, and decreases to 0 at tan θ = 1.58.
    let camera = |name: &str, yaw: f64| {
        format!(
            "[[camera]]\nname = \"{name}\"\nsize = [200, 200]\nlens = \"pinhole\"\nmatrix = {{ fx = 100.0, fy = 100.0, cx = 100.0, cy = 100.0 }}\ndistortion = [-0.4]\nyaw = {yaw}\n"
        )
    };
    let text = format!(
        "[panorama]\nprojection = \"planar\"\nwidth = 401\nheight = 3\nfov = 150.0\n{}{}",
        camera("left", 0.0),
        camera("right", 170.0)
    );
    let warp = render(
        &Device::simulator(),
        &Rig::parse(&text, "a folding lens").unwrap().geometry().unwrap(),
    );
    let row = &warp.plane(Plane::X(0))[401..802];
    let weights = &warp.plane(Plane::Weight(0))[401..802];
    let seen: Vec<_> =
        row.iter().zip(weights).filter(|(_, w)| **w > 0.0).map(|(u, _)| *u).collect();
    assert!(seen.len() > 50, "only {} pixels are seen", seen.len());
    assert!(seen.windows(2).all(|pair| pair[0] < pair[1]), "the picture folds back: {seen:?}");
}

#[test]
fn a_homography_maps_both_pictures() {
    let text = "0.8 0.02 30.5\n-0.05 0.9 7.25\n-0.0002 0.0001 1\n";
    let homography = Homography::parse(text, "H.txt").unwrap();
    let (left, right) = (glam::uvec2(97, 61), glam::uvec2(103, 55));
    let geometry = homography.geometry(left, right).unwrap();
    let warp = render(&Device::simulator(), &geometry);
    let origin = geometry.canvas.centre;
    let width = warp.size().x as usize;
    let mut overlap = 0;
    for at in 0..warp.plane(Plane::X(0)).len() {
        let (x, y) = ((at % width) as f64 - origin.x, (at / width) as f64 - origin.y);
        let [lx, ly, rx, ry, wl, wr] = [0, 1, 2, 3, 4, 5].map(|i| f64::from(warp.planes()[i][at]));
        if wl > 0.0 {
            assert!((lx - x).abs() < 1e-4 && (ly - y).abs() < 1e-4);
        }
        if wr > 0.0 {
            // Map the position in the right picture back to the left picture with the homography.
            let w = -0.0002 * rx + 0.0001 * ry + 1.0;
            let back = [(0.8 * rx + 0.02 * ry + 30.5) / w, (-0.05 * rx + 0.9 * ry + 7.25) / w];
            assert!((back[0] - x).abs() < 1e-3 && (back[1] - y).abs() < 1e-3, "{back:?} ({x},{y})");
        }
        overlap += usize::from(wl > 0.0 && wr > 0.0);
    }
    assert!(overlap > 1000, "{overlap}");
}

#[test]
fn gpu_and_cpu_make_the_same_warp() {
    let [cpu, gpus @ ..] = &panoweave_devices()[..] else { unreachable!("the CPU is a device") };
    for gpu in gpus {
        for seed in 0..200 {
            let geometry = random_rig(seed).geometry().unwrap();
            let (a, b) = (render(cpu, &geometry), render(gpu, &geometry));
            for plane in Plane::all(2) {
                let bits =
                    |warp: &Warp| warp.plane(plane).iter().map(|v| v.to_bits()).collect::<Vec<_>>();
                assert!(bits(&a) == bits(&b), "seed {seed}: {} differs on {gpu}", plane.name());
            }
        }
    }
}

#[test]
fn a_cameras_planes_are_alike_or_no_argument() {
    let of = |device: &Device, width, height, pitch| {
        Image::<f32>::with_pitch(device, width, height, pitch).unwrap()
    };
    let are_taken = |images: [&Image<f32>; 3]| {
        let [x, y, weight] = images.map(Image::view);
        DeviceCameraPlanes::new(x, y, weight).is_some()
    };
    let cpu = Device::simulator();
    let plane = of(&cpu, 9, 5, 64);
    assert!(are_taken([&plane, &of(&cpu, 9, 5, 64), &of(&cpu, 9, 5, 64)]));
    let mut others = vec![of(&cpu, 8, 5, 64), of(&cpu, 9, 6, 64), of(&cpu, 9, 5, 68)];
    others.extend(gpu().map(|gpu| of(&gpu, 9, 5, 64)));
    for other in &others {
        for images in [[other, &plane, &plane], [&plane, other, &plane], [&plane, &plane, other]] {
            assert!(!are_taken(images), "{}×{}", other.width(), other.height());
        }
    }
}
