//! Tests of multiband blending: panoramas against the definition in f64, and the properties that users expect.

mod exact;
mod live;
mod sixteen_bit;

use exact::View;
use glam::{IVec2, UVec2, Vec3, ivec2, uvec2};
use panoweave::device::Stream;
use panoweave::frame::{DeviceFrame, FrameFormat, FrameView, PixelFormat, YuvEncoding};
use panoweave::ops::multiband::Multiband;
use panoweave::ops::stitch::{Colours, Lookup, StitchOptions, stitch};
use panoweave::warp::{DeviceWarp, Plane, Warp};
use panoweave_tests::random::Random;
use panoweave_tests::raster::{Pixels, Raster};
use panoweave_tests::{by_planes, gpu, oracle, panoweave_devices};
use shared_types::Rgba8;
use shared_types::stitch::Colour;
use shared_types::warp::UNSEEN;

use crate::stitch::mesh::case::frame;

const RGBA: PixelFormat = PixelFormat::Rgba8;
const NV12: PixelFormat =
    PixelFormat::Nv12(YuvEncoding { matrix: MATRIX, range: panoweave::frame::Range::Full });
const MATRIX: panoweave::frame::YuvMatrix = panoweave::frame::YuvMatrix::Bt709;

/// Cameras side by side or in two rows, the warp as it was rendered, and the warp with narrow blends.
struct Scene {
    sources: Vec<Raster>,
    warp: Warp,
    weighted: Warp,
    options: StitchOptions,
    output: FrameFormat,
}

impl Scene {
    /// Creates a random scene of `cameras` cameras.
    fn random(seed: u64, cameras: usize, [input, output]: [PixelFormat; 2]) -> Self {
        let mut random = Random::new(seed);
        let r = &mut random;
        let size = uvec2(150 + r.below(90) as u32, 61 + r.below(40) as u32);
        let rows = if cameras > 3 { 2 } else { 1 };
        let columns = cameras.div_ceil(rows);
        let mut sources = Vec::new();
        let mut corners = Vec::new();
        for camera in 0..cameras {
            let (column, row) = (camera % columns, camera / columns);
            let step = uvec2(size.x / columns as u32, size.y / rows as u32);
            let source = step + uvec2(20 + r.below(30) as u32, 14 + r.below(20) as u32);
            let from = (uvec2(column as u32, row as u32) * step).as_vec2() - 6.0;
            corners.push((from + r.between(0.0, 4.0), r.between(-0.04, 0.04)));
            sources.push(picture(r, source, input));
        }
        let (warp, weighted) = warps(r, size, &sources, &corners);
        let mut colour = |_| Colour {
            gain: Vec3::new(r.between(0.7, 1.1), r.between(0.7, 1.1), r.between(0.7, 1.1)),
            gamma: r.pick(&[1.0, 0.8, 1.2]),
            shoulder: r.pick(&[0.0, 1.0]),
        };
        let options = StitchOptions {
            colours: Colours::of((0..cameras).map(&mut colour).collect::<Vec<_>>()),
            flip: seed % 4 == 1,
            // The boost makes pixels white, and white in NV12 depends on three other pixels.
            edge_boost: seed % 4 == 2 && output == RGBA,
            ..by_planes()
        };
        let output = FrameFormat { size, pixels: output };
        Self { sources, warp, weighted, options, output }
    }

    /// Stitches the scene and blends it with `levels` levels.
    fn run(&self, stream: &Stream, levels: u32) -> Raster {
        let by_mesh = self.options.lookup == Lookup::Mesh;
        let upload = |of: &Raster| if by_mesh { frame(stream, of) } else { of.upload(stream, 0) };
        let frames: Vec<_> = self.sources.iter().map(upload).collect();
        let frames: Vec<_> = frames.iter().map(DeviceFrame::view).collect();
        let mut out = DeviceFrame::new(stream.device(), self.output).unwrap();
        let warps = [&self.warp, &self.weighted].map(|w| DeviceWarp::upload(stream, w).unwrap());
        stitch(stream, &frames, &warps[1], &self.options, &mut out).unwrap();
        if levels > 0 {
            let mut multiband = Multiband::new(stream, &warps[0], levels).unwrap().unwrap();
            multiband.submit(stream, &frames, &warps[1], &self.options, &mut out).unwrap();
        }
        Raster::download(stream, &out)
    }

    /// Returns the levels of each pixel by the definition.
    fn exact(&self, levels: u32) -> Vec<Option<[f64; 3]>> {
        self.exact_of(levels, |camera, u, v| oracle::bilinear(&self.sources[camera], u, v))
    }

    /// Returns the same levels for other pictures of the same sizes. `sample` returns the levels of a camera's picture
    /// at a column and a row.
    fn exact_of(
        &self,
        levels: u32,
        sample: impl Fn(usize, f64, f64) -> [f64; 3],
    ) -> Vec<Option<[f64; 3]>> {
        let size = self.output.size;
        let pixels = size.element_product() as usize;
        let cameras = 0..self.sources.len();
        // The place in the picture and the weight of a pixel that a camera sees.
        let place = |camera: usize, at: usize| {
            let value = |plane| f64::from(self.warp.plane(plane)[at]);
            let (u, v) = (value(Plane::X(camera)), value(Plane::Y(camera)));
            let [w, h] = self.sources[camera].size.to_array().map(f64::from);
            let weight = value(Plane::Weight(camera));
            let inside = u >= 0.0 && u < w && v >= 0.0 && v < h;
            (inside && weight > f64::from(0.001_f32)).then_some((u, v, weight))
        };
        let colour = |camera: usize, u: f64, v: f64| {
            oracle::grade_pixel(&self.options.colours[camera], sample(camera, u, v), 1.0)
        };
        let weight = |camera: usize, at: usize| {
            let weight = self.weighted.plane(Plane::Weight(camera))[at];
            if weight > 0.001 { f64::from(weight) } else { 0.0 }
        };
        let boosted = |x: u32, colour: [f64; 3]| {
            let half = f64::from(size.x) / 2.0;
            let d = (f64::from(x) - half).abs() / half;
            let boosts = self.options.edge_boost && d > 0.8;
            let boost = if boosts { (1.0 + (d - 0.8) * 1.75).min(1.35) } else { 1.0 };
            colour.map(|level| (level * boost).min(255.0))
        };
        let stitched = |at: usize| {
            let seen = |camera| {
                let (u, v, _) = place(camera, at)?;
                Some((colour(camera, u, v), weight(camera, at)))
            };
            let mean = exact::mean(cameras.clone().filter_map(seen));
            mean.map(|mean| boosted(at as u32 % size.x, mean))
        };
        let stitched: Vec<_> = (0..pixels).map(stitched).collect();
        // A camera's picture is sampled once per cell, at the mean place of the pixels that the camera sees.
        let cell = |camera: usize, at: IVec2| {
            let pixels = (0..16).map(|i| (2 * at + ivec2(i % 4, i / 4) - 1, exact::tap(i)));
            let inside = pixels.filter(|(at, _)| at.as_uvec2().cmplt(size).all());
            let seen: Vec<_> = inside
                .filter_map(|(at, tap)| Some((place(camera, exact::index(size, at))?, tap)))
                .collect();
            let part = seen.iter().map(|(_, tap)| tap).sum::<f64>();
            let mean = |of: fn(&(f64, f64, f64)) -> f64| {
                seen.iter().map(|(place, tap)| tap * of(place)).sum::<f64>() / part
            };
            (part > 0.0).then(|| {
                let colour = colour(camera, mean(|place| place.0), mean(|place| place.1));
                let colour = boosted((2 * at.x).max(0) as u32, colour);
                exact::Seen { colour, part, feathered: part * mean(|place| place.2) }
            })
        };
        let view = |camera| View {
            cell: Box::new(move |at| cell(camera, at)),
            weights: (0..pixels).map(|at| weight(camera, at)).collect(),
        };
        let views: Vec<_> = cameras.clone().map(view).collect();
        let mut exact = exact::blend(size, &stitched, &views, levels);
        if self.options.flip {
            exact.reverse();
        }
        exact
    }
}

/// Returns a picture with gradients, a grid of thin lines and noise.
fn picture(random: &mut Random, size: UVec2, pixels: PixelFormat) -> Raster {
    let tint = [0; 4].map(|_| random.between(80.0, 160.0));
    let (mut at, width, area) = (0, size.x as usize, size.element_product() as usize);
    Raster::from_bytes(size, pixels, || {
        let byte = at;
        at += 1;
        let noise = random.between(-8.0, 8.0);
        if pixels != RGBA && byte >= area {
            return (128.0 + 0.2 * (tint[byte % 2] - 120.0) + noise) as u8;
        }
        let (pixel, tint) =
            if pixels == RGBA { (byte / 4, tint[byte % 4]) } else { (byte, tint[0]) };
        let (x, y) = (pixel % width, pixel / width);
        let line = if x % 17 == 0 || y % 13 == 0 { 40.0 } else { 0.0 };
        (tint + line + 0.2 * (x as f32 - y as f32) + noise) as u8
    })
}

/// Returns the warp of pictures whose top left corners and angles are `corners`, and the same warp with other weights:
/// each pixel belongs to one camera, except near irregular borders.
fn warps(
    random: &mut Random,
    size: UVec2,
    sources: &[Raster],
    corners: &[(glam::Vec2, f32)],
) -> (Warp, Warp) {
    let (pixels, cameras) = (size.element_product() as usize, sources.len());
    let mut planes: Vec<_> = Plane::all(cameras)
        .map(|plane| vec![if let Plane::Weight(_) = plane { 0.0 } else { UNSEEN }; pixels])
        .collect();
    let waves: Vec<_> = (0..cameras).map(|_| random.between(0.05, 0.2)).collect();
    let mut narrow = vec![vec![0.0; pixels]; cameras];
    for at in 0..pixels {
        let place = uvec2(at as u32 % size.x, at as u32 / size.x).as_vec2();
        let mut margins = vec![0.0; cameras];
        for camera in 0..cameras {
            let (corner, angle) = corners[camera];
            let source = glam::Mat2::from_angle(angle) * (place - corner);
            let extent = sources[camera].size.as_vec2();
            let margin = (source + 1.0).min(extent - source).min_element();
            if margin > 1.0 {
                let index = |plane: Plane| plane.index(cameras);
                planes[index(Plane::X(camera))][at] = source.x;
                planes[index(Plane::Y(camera))][at] = source.y;
                margins[camera] = margin + 6.0 * (waves[camera] * (place.x + 2.0 * place.y)).sin();
                margins[camera] = margins[camera].max(0.5);
            }
        }
        let total: f32 = margins.iter().sum();
        let most = margins.iter().copied().fold(0.0, f32::max);
        let share =
            |margin: f32| if margin > 0.0 { (1.0 + (margin - most) / 3.0).max(0.0) } else { 0.0 };
        let shares: f32 = margins.iter().map(|margin| share(*margin)).sum();
        for camera in 0..cameras {
            if total > 0.0 {
                planes[Plane::Weight(camera).index(cameras)][at] = margins[camera] / total;
                narrow[camera][at] = share(margins[camera]) / shares;
            }
        }
    }
    let sizes: Vec<_> = sources.iter().map(|source| source.size).collect();
    let warp = Warp::new(size, sizes.clone(), planes.clone()).unwrap();
    for (camera, weights) in narrow.into_iter().enumerate() {
        planes[Plane::Weight(camera).index(cameras)] = weights;
    }
    (warp, Warp::new(size, sizes, planes).unwrap())
}

/// Returns whether a colour is not near black or white.
fn is_moderate(colour: &Option<[f64; 3]>) -> bool {
    colour.is_some_and(|colour| colour.iter().all(|level| (8.0..=247.0).contains(level)))
}

/// Two cameras, levels from 1 to 6, all pairs of formats, with flip and edge boost; then three and five cameras.
#[test]
fn panoramas_follow_the_definition() {
    let formats = [[RGBA, RGBA], [NV12, NV12], [NV12, RGBA], [RGBA, NV12]];
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let mut changed = 0.0_f64;
        for seed in 0..16 {
            let cameras = [2, 2, 3, 5][seed as usize / 4];
            let scene = Scene::random(seed, cameras, formats[(seed / 2) as usize % 4]);
            let levels = 1 + (seed * 5 % 6) as u32;
            let (found, exact) = (scene.run(&stream, levels), scene.exact(levels));
            // Near black and white, NV12 is limited with the mean colour of four pixels.
            let sure: Vec<_> = exact.iter().map(is_moderate).collect();
            assert!(sure.iter().filter(|sure| **sure).count() > exact.len() / 2);
            let worst = oracle::worst_where(&found, &exact, &sure);
            let what = format!("{device}, seed {seed}: {cameras} cameras, {levels} levels");
            // The stitch and the result are rounded, each by up to half a level.
            assert!(worst < 1.1, "{what}: {worst} levels");
            changed = changed.max(oracle::worst(&scene.run(&stream, 0), &exact));
        }
        assert!(changed > 20.0, "blending changes levels only by {changed}");
    }
}

/// In a flipped NV12 panorama with an odd side, the pixels that share a chroma sample start at odd positions.
#[test]
fn flipped_nv12_panoramas_follow_the_definition() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let mut odd = [0, 0];
        for seed in 70..78 {
            let mut scene = Scene::random(seed, 2 + seed as usize % 3, [NV12, NV12]);
            scene.options.flip = true;
            odd[0] += scene.output.size.x % 2;
            odd[1] += scene.output.size.y % 2;
            let levels = 1 + seed as u32 % 4;
            let (found, exact) = (scene.run(&stream, levels), scene.exact(levels));
            let sure: Vec<_> = exact.iter().map(is_moderate).collect();
            let worst = oracle::worst_where(&found, &exact, &sure);
            assert!(worst < 1.1, "{device}, seed {seed}, {}: {worst} levels", scene.output.size);
        }
        assert!(odd.iter().all(|odd| (1..8).contains(odd)), "sizes are odd and even: {odd:?}");
    }
}

/// The weights of all levels are computed again when other weights are passed, and only then.
#[test]
fn blending_follows_the_weights() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let scene = Scene::random(80, 3, [RGBA, RGBA]);
        let frames: Vec<_> = scene.sources.iter().map(|source| source.upload(&stream, 0)).collect();
        let frames: Vec<_> = frames.iter().map(DeviceFrame::view).collect();
        let [warp, weighted] =
            [&scene.warp, &scene.weighted].map(|warp| DeviceWarp::upload(&stream, warp).unwrap());
        let blend = |multiband: &mut Multiband, weights: &DeviceWarp| {
            let mut out = DeviceFrame::new(&device, scene.output).unwrap();
            stitch(&stream, &frames, weights, &scene.options, &mut out).unwrap();
            multiband.submit(&stream, &frames, weights, &scene.options, &mut out).unwrap();
            Raster::download(&stream, &out)
        };
        let new = || Multiband::new(&stream, &warp, 4).unwrap().unwrap();
        let expected = [&warp, &weighted].map(|weights| blend(&mut new(), weights));
        assert!(expected[0].largest_difference(&expected[1]) > 5);
        let mut multiband = new();
        for i in [0, 1, 1, 0, 1] {
            let found = blend(&mut multiband, [&warp, &weighted][i]);
            assert_eq!(found, expected[i], "{device}, weights {i}");
        }
    }
}

/// The mesh samples with 8-bit weights at slightly different positions, so single pixels differ by more than a level.
#[test]
fn a_stitch_by_mesh_is_blended_like_one_by_planes() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        for (seed, formats) in [(20, [RGBA, RGBA]), (21, [NV12, NV12])] {
            let scene = |lookup| {
                let mut scene = Scene::random(seed, 3, formats);
                (scene.options.lookup, scene.options.flip) = (lookup, false);
                (0..3).for_each(|camera| scene.options.colours[camera].shoulder = 0.0);
                scene
            };
            let [planes, mesh] = [Lookup::Planes, Lookup::Mesh].map(scene);
            let difference = |levels| {
                let [a, b] = [&planes, &mesh].map(|scene| scene.run(&stream, levels));
                a.largest_difference(&b)
            };
            let (plain, blended) = (difference(0), difference(5));
            assert!(blended <= plain + 1, "{device}: {blended} levels, without blending {plain}");
        }
    }
}

/// Returns two cameras side by side in a panorama of 400×40 pixels, one of level 100 and one of level 140. They overlap
/// in columns 100 to 300. The feathered weights are linear, and the seam is at column `seam`.
fn step(seam: f32) -> Scene {
    let (size, source) = (uvec2(400, 40), uvec2(300, 40));
    let grey = |level: u8| {
        let pixels = vec![Rgba8::opaque(level, level, level); source.element_product() as usize];
        Raster { size: source, pixels: Pixels::Rgba8(pixels) }
    };
    let pixels = size.element_product() as usize;
    let mut planes: Vec<_> = Plane::all(2)
        .map(|plane| vec![if let Plane::Weight(_) = plane { 0.0 } else { UNSEEN }; pixels])
        .collect();
    let mut hard = planes.clone();
    for at in 0..pixels {
        let (x, y) = ((at as u32 % size.x) as f32, (at as u32 / size.x) as f32);
        let share = ((300.0 - x) / 201.0).clamp(0.0, 1.0);
        for (camera, from, weight, owns) in
            [(0, 0.0, share, x < seam), (1, 100.0, 1.0 - share, x >= seam)]
        {
            if x >= from && x < from + 300.0 {
                let index = |plane: Plane| plane.index(2);
                for planes in [&mut planes, &mut hard] {
                    planes[index(Plane::X(camera))][at] = x - from;
                    planes[index(Plane::Y(camera))][at] = y;
                }
                planes[index(Plane::Weight(camera))][at] = weight;
                hard[index(Plane::Weight(camera))][at] = f32::from(owns);
            }
        }
    }
    let warp = |planes| Warp::new(size, vec![source; 2], planes).unwrap();
    Scene {
        sources: vec![grey(100), grey(140)],
        warp: warp(planes),
        weighted: warp(hard),
        options: by_planes(),
        output: FrameFormat { size, pixels: RGBA },
    }
}

/// Returns a row of green levels.
fn row(scene: &Scene, stream: &Stream, levels: u32) -> Vec<u8> {
    let Pixels::Rgba8(pixels) = scene.run(stream, levels).pixels else { unreachable!() };
    let width = scene.output.size.x as usize;
    pixels[20 * width..][..width].iter().map(|pixel| pixel.g).collect()
}

/// Returns the largest difference between neighbours.
fn largest_step(row: &[u8]) -> u8 {
    row.windows(2).map(|pair| pair[0].abs_diff(pair[1])).max().unwrap()
}

/// Two cameras of different brightness: the step of 40 levels at the seam becomes a slope, and pixels beyond its reach
/// stay as they are.
#[test]
fn a_step_in_brightness_becomes_a_slope() {
    let scene = step(200.0);
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let row = |levels| row(&scene, &stream, levels);
        assert_eq!(largest_step(&row(0)), 40);
        let steps = [1, 2, 3, 4, 5].map(|levels| largest_step(&row(levels)));
        assert!(steps.is_sorted_by(|a, b| a >= b) && steps[4] <= 2, "{device}: {steps:?}");
        let row = row(3);
        assert!(row.is_sorted(), "{device}: {row:?}");
        assert!(row[..160].iter().all(|level| *level == 100), "{device}: {row:?}");
        assert!(row[240..].iter().all(|level| *level == 140), "{device}: {row:?}");
    }
}

/// A seam along the edge of a picture: the step becomes a slope on both sides, because the difference continues beyond
/// the edge.
#[test]
fn a_step_at_the_edge_of_a_picture_becomes_a_slope() {
    for seam in [100.0, 103.0, 300.0] {
        let scene = step(seam);
        for device in panoweave_devices() {
            let stream = device.stream().unwrap();
            let row = |levels| row(&scene, &stream, levels);
            let (hard, blended) = (row(0), row(5));
            let steps = [&hard, &blended].map(|row| largest_step(row));
            assert!(steps[0] == 40 && steps[1] <= 3, "{device}, {seam}: {steps:?}, {blended:?}");
            let beside = [seam as usize - 2, seam as usize + 1].map(|x| blended[x]);
            assert!(
                beside.iter().all(|level| level.abs_diff(120) <= 3),
                "{device}, {seam}: {beside:?}"
            );
        }
    }
}

/// Repeated frames give identical panoramas.
#[test]
fn results_are_repeatable() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let scene = Scene::random(33, 4, [NV12, NV12]);
        let first = scene.run(&stream, 6);
        for _ in 0..3 {
            assert_eq!(scene.run(&stream, 6), first, "{device}");
        }
    }
}

#[test]
fn the_gpu_agrees_with_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let cpu = panoweave::device::Device::simulator();
    for seed in 40..52 {
        let formats = [RGBA, NV12].map(|format| [format, format])[seed as usize % 2];
        let scene = Scene::random(seed, 2 + seed as usize % 4, formats);
        let [a, b] = [&gpu, &cpu].map(|device| scene.run(&device.stream().unwrap(), 5));
        let difference = a.largest_difference(&b);
        assert!(difference <= 1, "seed {seed}: {difference} levels");
    }
}

#[test]
fn wrong_inputs_are_errors() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let scene = Scene::random(60, 2, [RGBA, RGBA]);
        let warp = DeviceWarp::upload(&stream, &scene.warp).unwrap();
        for levels in [0, 7] {
            let error = Multiband::new(&stream, &warp, levels).unwrap_err();
            let said = format!("multiband blending is {levels}; it must be 1 to 6");
            assert!(error.to_string().contains(&said), "{error}");
        }
        let mut multiband = Multiband::new(&stream, &warp, 2).unwrap().unwrap();
        let frames: Vec<_> = scene.sources.iter().map(|source| source.upload(&stream, 0)).collect();
        let frames: Vec<_> = frames.iter().map(FrameView::from).collect();
        let mut out = DeviceFrame::new(&device, scene.output).unwrap();
        let error =
            multiband.submit(&stream, &frames[..1], &warp, &scene.options, &mut out).unwrap_err();
        assert!(error.to_string().contains("1 frames"), "{error}");
        let small = FrameFormat { size: uvec2(10, 10), pixels: RGBA };
        let mut small = DeviceFrame::new(&device, small).unwrap();
        let error =
            multiband.submit(&stream, &frames, &warp, &scene.options, &mut small).unwrap_err();
        assert!(error.to_string().contains("the output is 10×10"), "{error}");
    }
}
