//! Two simulated cameras look at a scene that is defined by a formula; panoweave stitches their pictures.
//!
//! `demo FOLDER [--device auto|cpu|cuda:N]` writes `left.png`, `right.png`, `rig.toml` and `panorama.png`, and prints
//! the device, the times, and the PSNR of the panorama against the scene rendered directly. The cameras have lens
//! distortion and different exposures, which the stitch corrects.

use std::error::Error;
use std::f64::consts::{PI, TAU};
use std::path::PathBuf;
use std::time::Instant;

use glam::{DVec2, DVec3, Vec3, dvec2, dvec3};
use panoweave::device::{Device, DeviceName, Event, Image};
use panoweave::frame::Rgba8;
use panoweave::geometry::rig::Rig;
use panoweave::io::picture::Picture;
use panoweave::ops::stitch::{Colours, StitchOptions, stitch};
use panoweave::warp::{DeviceWarp, Plane, Warp};
use shared_types::stitch::{Colour, MIN_WEIGHT};
use shared_types::warp::{Camera, Canvas};

/// Two cameras 50° apart, each with barrel distortion.
const RIG: &str = r#"
[panorama]
projection = "cylindrical"
width = 1900
height = 640
fov = 115.0

[[camera]]
name = "left"
size = [1280, 720]
lens = "pinhole"
matrix = { fx = 950.0, fy = 950.0, cx = 639.5, cy = 359.5 }
distortion = [-0.12, 0.02, 0.0005, -0.0003, 0.0]
yaw = -25.0
pitch = 1.0
roll = 1.5

[[camera]]
name = "right"
size = [1280, 720]
lens = "pinhole"
matrix = { fx = 950.0, fy = 950.0, cx = 639.5, cy = 359.5 }
distortion = [-0.10, 0.015, -0.0004, 0.0002, 0.0]
yaw = 25.0
pitch = -1.0
roll = -1.0
"#;

/// The exposure of each camera, as a factor on the levels of the scene.
const EXPOSURE: [f32; 2] = [1.0, 0.72];

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let folder = PathBuf::from(arguments.next().ok_or("usage: demo FOLDER [--device DEVICE]")?);
    let device = match (arguments.next(), arguments.next()) {
        (None, _) => Device::auto(),
        (Some(flag), Some(name)) if flag == "--device" => {
            name.to_string_lossy().parse::<DeviceName>()?.open()?
        }
        _ => return Err("usage: demo FOLDER [--device DEVICE]".into()),
    };
    std::fs::create_dir_all(&folder)?;

    let geometry = Rig::parse(RIG, "the demo's rig")?.geometry()?;
    let pictures = [0, 1].map(|i| photograph(&geometry.cameras[i], EXPOSURE[i]));
    pictures[0].save(folder.join("left.png"))?;
    pictures[1].save(folder.join("right.png"))?;
    std::fs::write(folder.join("rig.toml"), RIG.trim_start())?;

    let stream = device.stream()?;
    let upload = |p: &Picture| Image::from_slice(&stream, p.width(), p.height(), p.pixels());
    let (left, right) = (upload(&pictures[0])?, upload(&pictures[1])?);
    let started = Instant::now();
    let warp = DeviceWarp::render(&stream, &geometry)?;
    stream.synchronize()?;
    let warp_time = started.elapsed();

    let undo = |exposure: f32| Colour {
        gain: Vec3::splat(1.0 / exposure),
        gamma: 1.0,
        ..Colour::IDENTITY
    };
    let options = StitchOptions {
        colours: Colours::of([undo(EXPOSURE[0]), undo(EXPOSURE[1])]),
        ..StitchOptions::default()
    };
    let mut out = Image::new(&device, warp.size().x, warp.size().y)?;
    let (start, end) = (Event::new(&device)?, Event::new(&device)?);
    // The first stitch also loads the kernels. The events of the second stitch replace those of the first, so only the
    // second is timed.
    for _ in 0..2 {
        start.record(&stream)?;
        let frames = [(&left).into(), (&right).into()];
        stitch(&stream, &frames, &warp, &options, &mut out)?;
        end.record(&stream)?;
    }
    end.synchronize()?;
    let mut panorama = Picture::filled(out.width(), out.height(), Rgba8::BLACK);
    out.download_to(&stream, panorama.pixels_mut())?;
    let path = folder.join("panorama.png");
    panorama.save(&path)?;

    let psnr = psnr(&panorama, &geometry.canvas, &warp.download(&stream)?);
    println!("device    {device}");
    println!("warp      {:.3} ms, from the rig", warp_time.as_secs_f64() * 1e3);
    println!(
        "stitch    {:.3} ms, {}x{}",
        end.since(&start)?.as_secs_f64() * 1e3,
        out.width(),
        out.height()
    );
    println!("PSNR      {psnr:.2} dB against the scene itself");
    println!("panorama  {}", path.display());
    // Each level is sampled and rounded twice, in the camera picture and in the panorama. That leaves the PSNR well
    // above 35 dB. A wrong warp lowers it far below 35 dB.
    if psnr < 35.0 {
        return Err(format!("the panorama differs from the scene: the PSNR is {psnr:.2} dB; it must be at least 35 dB").into());
    }
    Ok(())
}

/// Renders a camera's picture: computes the undistorted ray of each pixel and evaluates the scene along it.
fn photograph(camera: &Camera, exposure: f32) -> Picture {
    let to_world = camera.from_ray.transpose();
    render(camera.size.x, camera.size.y, |pixel| {
        let distorted = (pixel - camera.centre) / camera.focal;
        let straight = undistort(distorted, &camera.distortion);
        scene(to_world * straight.extend(1.0)) * exposure
    })
}

/// Inverts the Brown–Conrady distortion by fixed-point iteration, which converges for the moderate distortion in
/// [`RIG`].
fn undistort(distorted: DVec2, [k1, k2, p1, p2, k3]: &[f64; 5]) -> DVec2 {
    let mut p = distorted;
    for _ in 0..50 {
        let r2 = p.length_squared();
        let radial = 1.0 + r2 * (k1 + r2 * (k2 + r2 * k3));
        let tangential = dvec2(
            2.0 * p1 * p.x * p.y + p2 * (r2 + 2.0 * p.x * p.x),
            p1 * (r2 + 2.0 * p.y * p.y) + 2.0 * p2 * p.x * p.y,
        );
        p = (distorted - tangential) / radial;
    }
    p
}

/// Returns the PSNR in dB between the panorama and the scene rendered directly to the cylindrical canvas. Compares only
/// the pixels that at least one camera sees.
fn psnr(panorama: &Picture, canvas: &Canvas, warp: &Warp) -> f64 {
    let truth = render(canvas.size.x, canvas.size.y, |pixel| {
        let p = (pixel - canvas.centre) / canvas.scale;
        scene(dvec3(p.x.sin(), p.y, p.x.cos()))
    });
    let [left, right] = [0, 1].map(|camera| warp.plane(Plane::Weight(camera)));
    let mut squares = 0.0;
    let mut samples = 0.0;
    let seen = left.iter().zip(right).map(|(l, r)| l.max(*r) > MIN_WEIGHT);
    for ((a, b), seen) in panorama.pixels().iter().zip(truth.pixels()).zip(seen) {
        if seen {
            for (a, b) in [(a.r, b.r), (a.g, b.g), (a.b, b.b)] {
                squares += f64::from(a.abs_diff(b)).powi(2);
                samples += 1.0;
            }
        }
    }
    10.0 * (255.0 * 255.0 * samples / squares).log10()
}

/// Renders a picture whose pixels are the mean of four samples each.
fn render(width: u32, height: u32, colour: impl Fn(DVec2) -> Vec3) -> Picture {
    let mut picture = Picture::filled(width, height, Rgba8::BLACK);
    for (i, pixel) in picture.pixels_mut().iter_mut().enumerate() {
        let at = dvec2((i as u32 % width).into(), (i as u32 / width).into());
        let offsets = [(-0.25, -0.25), (0.25, -0.25), (-0.25, 0.25), (0.25, 0.25)];
        let sum: Vec3 = offsets.iter().map(|&(x, y)| colour(at + dvec2(x, y))).sum();
        let level = (sum * 0.25).clamp(Vec3::ZERO, Vec3::splat(255.0)).round();
        *pixel = Rgba8::opaque(level.x as u8, level.y as u8, level.z as u8);
    }
    picture
}

/// Returns the colour levels of the scene in the direction `ray`: two ridges and a lake at dusk, with a low sun, and a
/// post half a degree wide every 15°.
fn scene(ray: DVec3) -> Vec3 {
    let azimuth = ray.x.atan2(ray.z);
    let elevation = (-ray.y).atan2(ray.x.hypot(ray.z));
    let blend = |a: Vec3, b: Vec3, t: f64| a.lerp(b, t.clamp(0.0, 1.0) as f32);
    let ridge = |base: f64, terms: &[(f64, f64, f64)]| {
        base + terms.iter().map(|(a, f, p)| a * (f * azimuth + p).sin()).sum::<f64>()
    };
    // Edges are soft and about one pixel wide, so that sampling loses no detail.
    let edge = |distance: f64| distance / 0.002 + 0.5;

    let sky = |elevation: f64| {
        let up =
            blend(Vec3::new(232.0, 150.0, 96.0), Vec3::new(58.0, 92.0, 156.0), elevation / 0.42);
        let sun = (azimuth - 0.12).hypot(elevation - 0.115);
        let glow = up + Vec3::new(70.0, 55.0, 20.0) * (-sun * sun / 0.012).exp() as f32;
        let streaks =
            ((azimuth * 9.0 + (elevation * 31.0).sin()).sin() * (elevation * 54.0).sin()).max(0.0);
        let cloud =
            blend(glow, Vec3::new(240.0, 196.0, 170.0), 0.35 * streaks * (1.0 - elevation * 1.6));
        blend(cloud, Vec3::new(252.0, 236.0, 190.0), edge(0.045 - sun))
    };
    let far = ridge(0.055, &[(0.030, 3.1, 0.4), (0.014, 9.7, 1.1), (0.006, 23.0, 2.0)]);
    let near = ridge(0.012, &[(0.034, 2.2, 2.6), (0.012, 13.0, 0.3), (0.004, 41.0, 1.7)]);
    let shore = -0.035;

    let mut land = sky(elevation);
    land = blend(land, Vec3::new(108.0, 96.0, 128.0), edge(far - elevation));
    let trees = 6.0 * (azimuth * 300.0).sin() as f32;
    land = blend(land, Vec3::new(44.0, 58.0 + trees, 62.0), edge(near - elevation));
    // The lake mirrors the sky, broken by waves that flatten towards the shore.
    let depth = (shore - elevation).max(0.0);
    let wave = (azimuth * 60.0 + (depth * 90.0).sin() * 2.0).sin() * (depth * 420.0).sin();
    let mirrored = sky((depth * 1.3 + 0.02 * wave * depth.sqrt()).abs()) * 0.62;
    let mut colour = blend(land, mirrored, edge(shore - elevation));
    // The posts make bent lines and double images visible in the panorama.
    let spacing = TAU / 24.0;
    let nearest = (azimuth / spacing).round() * spacing;
    let post = (azimuth - nearest).abs() - PI / 720.0;
    let height = (elevation - 0.02).abs() - 0.075;
    colour = blend(colour, Vec3::new(28.0, 26.0, 30.0), edge(-post.max(height)));
    colour
}
