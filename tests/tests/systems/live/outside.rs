//! Checks live colour correction with photographs from outside this project. Each photograph is the constant stream of
//! a live camera, whose exposure drifts, so that the cameras differ by the photographs' own exposures and by the drift.
//!
//! The cameras are calibrated from the photographs, as `panoweave stitch` does. The *step* of two cameras is the median
//! difference of their corrected levels over the blocks of their overlap. With a seam, only the blocks on the line
//! between the cameras count, because a step is visible only there. After 3 s, no step may exceed 3 levels, about 1 %
//! of the range. With such steps, the panoramas show no line, even in a clear sky, where the uncorrected streams show
//! one. Photographs whose exposures differ by a factor of 3 have two exceptions:
//!
//! - The correction changes by at most one level per frame, so it needs 4 s instead of 3 s.
//! - A gain matches the means, but not the shapes of the response curves. The test therefore compares the step with
//!   that of the gains that fit the current frames best.
//!
//! If the environment variable `PANOWEAVE_LOOK` names a folder, the tests write the panoramas after 0, 3 and 6 s to it,
//! corrected and uncorrected.
//!
//! The tests do not measure ghosts. They also do not measure two kinds of local steps that a gain per camera cannot
//! remove: saturated areas, and vignetting in the corners of the photographs, which the median ignores. The photographs
//! are reduced, and the streams have no noise and no motion. The tests run only on the CPU.

use std::collections::BTreeMap;
use std::f64::consts::TAU;
use std::path::PathBuf;
use std::time::Duration;

use glam::uvec2;
use panoweave::device::Device;
use panoweave::frame::{Frame, FrameFormat};
use panoweave::geometry::Geometry;
use panoweave::geometry::calibrate::{CalibrateOptions, Photo, RigOptions, calibrate};
use panoweave::io::picture::Picture;
use panoweave::live::{LiveOptions, Output, Session};
use panoweave::ops::blend::Blend;
use panoweave::ops::colour::Colours;
use panoweave::ops::matching::links;
use panoweave::ops::seam::SeamOptions;
use panoweave::ops::stitch::Vignettes;
use panoweave::quality::owners_of_weights;
use panoweave::warp::{DeviceWarp, Plane, Warp};
use panoweave_tests::oracle::grade;
use panoweave_tests::{data, matched_pictures};
use shared_types::Rgba8;
use shared_types::colour::SATURATED;
use shared_types::stitch::MIN_WEIGHT;

/// The largest side of a reduced photograph, in pixels.
const MOST_SIDE: u32 = 320;

/// The side of a block, in panorama pixels.
const BLOCK: u32 = 16;

/// The number of frames per second.
const RATE: u32 = 30;

/// The number of seconds of each stream.
const SECONDS: u32 = 6;

/// The maximum step of corrected cameras, in levels.
const LIMIT: f64 = 3.5;

/// Photographs of one scene, and the cameras that took them.
struct Scene {
    name: &'static str,
    pictures: Vec<Picture>,
    geometry: Geometry,
}

/// The steps of two cameras at one time, in levels.
#[derive(Clone, Copy, Debug)]
struct Steps {
    second: u32,
    cameras: [usize; 2],
    uncorrected: f64,
    live: f64,
    /// The step with the gains that fit the current frames best.
    best: f64,
}

/// A panorama pixel that two cameras see.
struct Shared {
    /// The indices of the nearest pixels of both cameras' frames.
    pixels: [usize; 2],
    /// The index of the panorama pixel.
    at: usize,
    block: [u32; 2],
}

/// Reduces a picture by a whole factor, so that no side exceeds [`MOST_SIDE`]. Each pixel is the mean of a square.
fn reduced(picture: &Picture) -> Picture {
    let factor = picture.size().max_element().div_ceil(MOST_SIDE);
    let (size, area) = (picture.size() / factor, factor * factor);
    let pixel = |x: u32, y: u32| {
        let mut sum = [area / 2; 3];
        for i in 0..area {
            let at = uvec2(x, y) * factor + uvec2(i % factor, i / factor);
            let Rgba8 { r, g, b, .. } = picture.pixels()[(at.y * picture.width() + at.x) as usize];
            sum.iter_mut().zip([r, g, b]).for_each(|(sum, level)| *sum += u32::from(level));
        }
        let [r, g, b] = sum.map(|sum| (sum / area) as u8);
        Rgba8::opaque(r, g, b)
    };
    let pixels = (0..size.y).flat_map(|y| (0..size.x).map(move |x| pixel(x, y)));
    Picture::from_pixels(size.x, size.y, pixels.collect()).unwrap()
}

/// Returns the index of the pixel that `camera` shows at the panorama pixel `at`, or `None` if it does not see it.
fn source(warp: &Warp, camera: usize, at: usize) -> Option<usize> {
    let [u, v, weight] = [Plane::X(camera), Plane::Y(camera), Plane::Weight(camera)]
        .map(|plane| warp.plane(plane)[at]);
    let last = warp.sources()[camera] - 1;
    let pixel = || (v.round() as u32).min(last.y) * (last.x + 1) + (u.round() as u32).min(last.x);
    (weight > MIN_WEIGHT && u >= 0.0 && v >= 0.0).then(|| pixel() as usize)
}

/// Returns the pixels that two cameras see.
fn overlap(warp: &Warp, [a, b]: [usize; 2]) -> Vec<Shared> {
    let width = warp.size().x;
    let shared = |at: usize| {
        let pixels = [source(warp, a, at)?, source(warp, b, at)?];
        Some(Shared { pixels, at, block: [at as u32 % width / BLOCK, at as u32 / width / BLOCK] })
    };
    (0..warp.size().element_product() as usize).filter_map(shared).collect()
}

/// Returns a picture as a camera with another exposure shows it. Multiplies the light by `factor`: converts the levels
/// to linear light and back with the curve of sRGB. Light over white is clipped.
fn exposed(picture: &Picture, factor: f64) -> Picture {
    let level = |level: u32| {
        let level = f64::from(level) / 255.0;
        let light =
            if level <= 0.04045 { level / 12.92 } else { ((level + 0.055) / 1.055).powf(2.4) };
        let light = (factor * light).min(1.0);
        let low = light <= 0.003_130_8;
        let level = if low { 12.92 * light } else { 1.055 * light.powf(1.0 / 2.4) - 0.055 };
        (255.0 * level).round() as u8
    };
    let table: Vec<u8> = (0..256).map(level).collect();
    let pixel = |p: &Rgba8| {
        let [r, g, b] = [p.r, p.g, p.b].map(|level| table[usize::from(level)]);
        Rgba8::opaque(r, g, b)
    };
    let pixels = picture.pixels().iter().map(pixel).collect();
    Picture::from_pixels(picture.width(), picture.height(), pixels).unwrap()
}

/// Returns the exposure of a camera: 1 ± 0.25, with a period and a phase of its own. A quarter of the periods is 5, 6.5
/// and 4 s. This is the time in which an exposure drifts from its mean to its extreme.
fn exposure(camera: usize, seconds: f64) -> f64 {
    let (period, phase) = [(20.0, 0.0), (26.0, 0.4), (16.0, 0.7)][camera];
    1.0 + 0.25 * (TAU * (seconds / period + phase)).sin()
}

fn levels(pixel: Rgba8) -> [u8; 3] {
    [pixel.r, pixel.g, pixel.b]
}

/// Returns the step of two cameras: the median over the blocks of the mean level of the first camera minus that of the
/// second one. Pixels that are clipped in a frame do not count.
fn step<'a>(
    pixels: impl IntoIterator<Item = &'a Shared>,
    frames: &[Picture],
    cameras: [usize; 2],
    colours: &Colours,
) -> f64 {
    // The level that each camera shows for each channel and level of its frame.
    let shown = cameras.map(|camera| {
        [0, 1, 2].map(|c| {
            let level = |level| grade(&colours[camera], c, f64::from(level));
            (0..256).map(level).collect::<Vec<f64>>()
        })
    });
    let mut blocks: BTreeMap<_, (f64, u32)> = BTreeMap::new();
    for shared in pixels {
        let found = [0, 1].map(|side| levels(frames[cameras[side]].pixels()[shared.pixels[side]]));
        if found.iter().flatten().any(|level| f32::from(*level) > SATURATED) {
            continue;
        }
        let mean = |side: usize| {
            (0..3).map(|c| shown[side][c][usize::from(found[side][c])]).sum::<f64>() / 3.0
        };
        let (sum, count) = blocks.entry(shared.block).or_default();
        *sum += mean(0) - mean(1);
        *count += 1;
    }
    let full = blocks.into_values().filter(|(_, count)| *count >= BLOCK * BLOCK / 4);
    let mut steps: Vec<f64> = full.map(|(sum, count)| sum / f64::from(count)).collect();
    assert!(steps.len() >= 8, "only {} blocks", steps.len());
    steps.sort_by(f64::total_cmp);
    steps[steps.len() / 2]
}

/// Blends the frames of all cameras in f64.
fn blended(warp: &Warp, weights: &[Vec<f32>], frames: &[Picture], colours: &Colours) -> Picture {
    let pixel = |at: usize| {
        let (mut sums, mut whole) = ([0.0; 3], 0.0);
        for (camera, frame) in frames.iter().enumerate() {
            let Some(pixel) = source(warp, camera, at) else { continue };
            let weight = f64::from(weights[camera][at]);
            for (c, level) in levels(frame.pixels()[pixel]).into_iter().enumerate() {
                sums[c] += weight * grade(&colours[camera], c, level.into());
            }
            whole += weight;
        }
        let [r, g, b] = sums.map(|sum| if whole > 0.0 { (sum / whole).round() as u8 } else { 0 });
        Rgba8::opaque(r, g, b)
    };
    let size = warp.size();
    let pixels = (0..size.element_product() as usize).map(pixel).collect();
    Picture::from_pixels(size.x, size.y, pixels).unwrap()
}

/// Returns the mean level of a picture.
fn mean(picture: &Picture) -> f64 {
    let sum: u64 = picture.pixels().iter().flat_map(|pixel| levels(*pixel)).map(u64::from).sum();
    sum as f64 / (3 * picture.pixels().len()) as f64
}

/// Returns the largest change of an output level between two colours.
fn change(before: &Colours, now: &Colours) -> f64 {
    let change = |(before, now), c, level: u32| {
        (grade(before, c, level.into()) - grade(now, c, level.into())).abs()
    };
    let cameras = before.iter().zip(now.iter());
    let changes = cameras.flat_map(|both| {
        (0..3).flat_map(move |c| (0..256).map(move |level| change(both, c, level)))
    });
    changes.fold(0.0, f64::max)
}

impl Scene {
    /// Reads the photographs and calibrates their cameras. Returns `None` if the test data is missing.
    fn open(name: &'static str, files: &[&str]) -> Option<Self> {
        let files = files.iter().map(|file| data(format!("scenes/{name}/{file}")));
        let files = files.collect::<Option<Vec<_>>>()?;
        let pictures: Vec<_> =
            files.iter().map(|file| reduced(&Picture::open(file).unwrap())).collect();
        let stream = Device::cpu().stream().unwrap();
        let links = links(&stream, &pictures).unwrap();
        let photo = |(i, picture): (i32, &Picture)| Photo::new(format!("{i}"), picture.size());
        let photos: Vec<_> = (0..).zip(&pictures).map(photo).collect();
        let (options, rig) = (CalibrateOptions::default(), RigOptions::default());
        let found = calibrate(&photos, &links, &options).unwrap();
        let geometry = found.rig(&rig).unwrap().geometry().unwrap();
        Some(Self { name, pictures, geometry })
    }

    /// Stitches the streams live, and returns the steps of each pair of cameras at each second. Checks that no output
    /// level changes by more than one level per frame because of the correction, and that the panoramas have the
    /// colours that the session reports.
    fn steps(&self, blend: Blend) -> Vec<Steps> {
        let device = Device::cpu();
        let stream = device.stream().unwrap();
        let warp = || DeviceWarp::render(&stream, &self.geometry).unwrap();
        let planes = warp().download(&stream).unwrap();
        let cameras = self.pictures.len();
        let pairs = (0..cameras).flat_map(|a| (a + 1..cameras).map(move |b| [a, b]));
        let overlaps: Vec<_> = pairs.map(|pair| (pair, overlap(&planes, pair))).collect();

        let options = LiveOptions { blend, ..LiveOptions::default() };
        let session = Session::new(&device, warp(), &[Output::default()], options).unwrap();
        let mut panoramas = session.panoramas();
        let mut last: Option<Colours> = None;
        let mut found = Vec::new();
        for n in 0..=RATE * SECONDS {
            let time = Duration::from_secs(1) * n / RATE;
            let frames = self.pictures.iter().enumerate();
            let frames: Vec<_> = frames
                .map(|(camera, picture)| exposed(picture, exposure(camera, time.as_secs_f64())))
                .collect();
            for (camera, picture) in frames.iter().enumerate() {
                let format = FrameFormat::rgba8(picture.width(), picture.height());
                let frame = Frame::tight(format, bytemuck::cast_slice(picture.pixels())).unwrap();
                session.push(camera, frame, time).unwrap();
            }
            let panorama = panoramas.next().unwrap();
            let colours = panorama.colours();
            let change = change(&last.replace(colours).unwrap_or(colours), &colours);
            assert!(change <= 1.0, "{}: frame {n} changes by {change} levels", self.name);
            if !n.is_multiple_of(RATE) {
                continue;
            }
            let second = n / RATE;
            let weights = session.weights().unwrap();
            let picture = panorama.to_picture().unwrap();
            let expected = blended(&planes, &weights, &frames, &colours);
            let off = (mean(&picture) - mean(&expected)).abs();
            assert!(off < 0.5, "{}: the panorama is off by {off} levels", self.name);
            self.look(blend, second, "corrected", &picture);
            let uncorrected = blended(&planes, &weights, &frames, &Colours::IDENTITY);
            self.look(blend, second, "uncorrected", &uncorrected);

            let best = matched_pictures(
                &stream,
                &frames.iter().collect::<Vec<_>>(),
                &warp(),
                &Vignettes::NONE,
            );
            let best = best.unwrap();
            let owners = owners_of_weights(&weights);
            for (cameras, overlap) in &overlaps {
                // The cameras that own pixels of each block.
                let mut owned: BTreeMap<_, [bool; 2]> = BTreeMap::new();
                for shared in overlap {
                    let owner = usize::from(owners[shared.at]);
                    let owned = owned.entry(shared.block).or_default();
                    (0..2).for_each(|side| owned[side] |= owner == cameras[side]);
                }
                let on_line = |shared: &&Shared| owned[&shared.block] == [true, true];
                let all = blend == Blend::Feather;
                let pixels = || overlap.iter().filter(|shared| all || on_line(shared));
                if pixels().count() < 12 * (BLOCK * BLOCK) as usize {
                    continue;
                }
                let step = |colours: &Colours| step(pixels(), &frames, *cameras, colours);
                let [uncorrected, live, best] = [&Colours::IDENTITY, &colours, &best].map(step);
                let steps = Steps { second, cameras: *cameras, uncorrected, live, best };
                println!("{}, {blend:?}: {steps:.1?}", self.name);
                found.push(steps);
            }
        }
        found
    }

    /// Writes a panorama to the folder that the environment variable `PANOWEAVE_LOOK` names, if it is set.
    fn look(&self, blend: Blend, second: u32, which: &str, picture: &Picture) {
        let blend = if blend == Blend::Feather { "feather" } else { "seam" };
        let name = format!("{}_{blend}_{second}s_{which}.png", self.name);
        if let (Some(folder), true) = (std::env::var_os("PANOWEAVE_LOOK"), second.is_multiple_of(3))
        {
            picture.save(PathBuf::from(folder).join(name)).unwrap();
        }
    }
}

/// Checks that the steps of a scene's streams are not visible after 3 s, and that they are without correction.
fn check(name: &'static str, files: &[&str], blends: &[Blend]) {
    let Some(scene) = Scene::open(name, files) else { return };
    for &blend in blends {
        let steps = scene.steps(blend);
        let after: Vec<_> = steps.iter().filter(|steps| steps.second >= 3).collect();
        // With a seam, the line of two cameras may be too short for a median.
        let measured = |camera| after.iter().any(|steps| steps.cameras.contains(&camera));
        assert!(blend != Blend::Feather || (0..files.len()).all(measured), "{name}: {after:?}");
        assert!(after.iter().all(|steps| steps.live.abs() <= LIMIT), "{name}: {after:.1?}");
        let most = |of: fn(&Steps) -> f64| after.iter().map(|s| of(s).abs()).fold(0.0, f64::max);
        let [live, uncorrected] = [most(|s| s.live), most(|s| s.uncorrected)];
        assert!(uncorrected > 3.0 * live, "{name}: {live} corrected, {uncorrected} uncorrected");
    }
}

/// Checks photographs whose exposures differ by a factor of 3: after 4 s, the steps are close to those of the gains
/// that fit the current frames best.
fn check_extreme(name: &'static str, files: &[&str], blend: Blend) {
    let Some(scene) = Scene::open(name, files) else { return };
    let steps = scene.steps(blend);
    let after: Vec<_> = steps.iter().filter(|steps| steps.second >= 4).collect();
    let near = |steps: &&&Steps| (steps.live - steps.best).abs() <= LIMIT;
    assert!(after.iter().all(|steps| near(&steps)), "{name}: {after:.1?}");
    let most = |of: fn(&Steps) -> f64| after.iter().map(|s| of(s).abs()).fold(0.0, f64::max);
    let [live, uncorrected] = [most(|s| s.live), most(|s| s.uncorrected)];
    assert!(uncorrected > 3.0 * live, "{name}: {live} corrected, {uncorrected} uncorrected");
}

fn seam() -> Blend {
    Blend::Seam(SeamOptions::default())
}

#[test]
fn photographs_of_a_rock_arch_stay_matched() {
    check("arches_a", &["JDW_0302.jpg", "JDW_0303.jpg", "JDW_0304.jpg"], &[Blend::Feather]);
}

#[test]
fn photographs_of_a_hill_stay_matched() {
    let files = ["JDW_9518.jpg", "JDW_9519.jpg", "JDW_9520.jpg"];
    check("arches_b", &files, &[Blend::Feather, seam()]);
}

#[test]
fn two_photographs_stay_matched() {
    check("s", &["s1.jpg", "s2.jpg"], &[Blend::Feather, seam()]);
    check("boof_cave", &["cave_01.jpg", "cave_02.jpg"], &[Blend::Feather]);
}

#[test]
fn photographs_with_extreme_exposures_are_matched_within_4_s() {
    check_extreme("weir", &["weir_1.jpg", "weir_2.jpg", "weir_3.jpg"], Blend::Feather);
    let files = ["apartment_building_01.jpg", "apartment_building_02.jpg"];
    check_extreme("boof_apartment_building", &files, Blend::Feather);
}
