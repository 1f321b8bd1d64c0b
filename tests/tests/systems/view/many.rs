//! Compares views of 1 to 16 cameras, whose pictures may differ in format, with results of the camera models in f64.

use glam::{DVec2, UVec2, Vec3, uvec2};
use panoweave::device::Stream;
use panoweave::frame::{DeviceFrame, FrameFormat, PixelFormat, Range, YuvEncoding, YuvMatrix};
use panoweave::geometry::rig::Rig;
use panoweave::ops::stitch::{Colours, StitchOptions, Vignettes};
use panoweave::ops::view::{ViewPose, Viewer};
use panoweave::warp::{DeviceWarp, Plane, Warp};
use panoweave_tests::oracle::{self, mix};
use panoweave_tests::panoweave_devices;
use panoweave_tests::random::Random;
use panoweave_tests::raster::Raster;
use shared_types::stitch::{Colour, MAX_CAMERAS};

use crate::view::exact::{Exact, ExactCameras, on_canvas};
use crate::view::{TEXTURED, shown, smooth};

/// Returns a rig of cameras side by side with random lenses, sizes, pitches and rolls. Some overlap several others, and
/// there may be gaps. The cylindrical canvas of `canvas` pixels spans 200°.
fn rig(r: &mut Random, cameras: usize, canvas: UVec2) -> Rig {
    let mut text = format!(
        "[panorama]\nprojection = \"cylindrical\"\nwidth = {}\nheight = {}\nfov = 200.0\nyaw = {}\npitch = {}\n",
        canvas.x,
        canvas.y,
        r.between(-30.0, 30.0),
        r.between(-10.0, 10.0),
    );
    let apart = r.between(8.0, 30.0);
    for i in 0..cameras {
        let (w, h) = (30 + r.below(200), 30 + r.below(160));
        let fisheye = r.below(3) == 0;
        let distortion: Vec<f32> =
            (0..if fisheye { 4 } else { 5 }).map(|_| r.between(-0.04, 0.04)).collect();
        let yaw = (i as f32 - (cameras - 1) as f32 / 2.0) * apart + r.between(-6.0, 6.0);
        text += &format!(
            "[[camera]]\nname = \"{i}\"\nsize = [{w}, {h}]\nlens = \"{}\"\nmatrix = {{ fx = {}, fy = {}, cx = {}, cy = {} }}\ndistortion = {distortion:?}\nyaw = {yaw}\npitch = {}\nroll = {}\n",
            if fisheye { "fisheye" } else { "pinhole" },
            w as f32 * r.between(0.5, 1.5),
            w as f32 * r.between(0.5, 1.5),
            w as f32 * r.between(0.45, 0.55),
            h as f32 * r.between(0.45, 0.55),
            r.between(-25.0, 25.0),
            r.between(-180.0, 180.0),
        );
    }
    Rig::parse(&text, "a random rig").unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn nv12(r: &mut Random) -> PixelFormat {
    let matrix = r.pick(&[YuvMatrix::Bt601, YuvMatrix::Bt709]);
    let range = r.pick(&[Range::Limited, Range::Full]);
    PixelFormat::Nv12(YuvEncoding { matrix, range })
}

/// The inputs of a random view.
struct Case {
    rig: Rig,
    flip: bool,
    pictures: Vec<Raster>,
    view: ViewPose,
    options: StitchOptions,
    format: FrameFormat,
}

impl Case {
    /// Creates a random case with 1 to 16 cameras. Two cameras always differ in format.
    fn random(seed: u64) -> Self {
        let mut random = Random::new(seed ^ 0x00c0_ffee);
        let r = &mut random;
        let cameras = if seed % 20 == 7 { 1 } else { 2 + seed as usize % (MAX_CAMERAS - 1) };
        let rig = rig(r, cameras, uvec2(300, 160));
        let nv12_of = |r: &mut Random, i: usize| match seed % 3 {
            0 => cameras == 2 && i == 0,
            1 => cameras > 2 || i == 0,
            _ => {
                if cameras == 2 {
                    i == 1
                } else {
                    r.below(2) == 0
                }
            }
        };
        let mut pictures = Vec::new();
        for (i, camera) in rig.cameras.iter().enumerate() {
            let format = if nv12_of(r, i) { nv12(r) } else { PixelFormat::Rgba8 };
            pictures.push(smooth(r, camera.size.into(), format));
        }
        let most = 8.0 * cameras as f32;
        let angle = |r: &mut Random, most: f32| f64::from(r.between(-most, most));
        let view = ViewPose {
            pan: angle(r, most),
            tilt: angle(r, 20.0),
            roll: angle(r, 180.0),
            fov: f64::from(r.between(15.0, 140.0)),
        };
        let mut colour = |_| Colour {
            gain: Vec3::new(r.between(0.7, 1.4), r.between(0.7, 1.4), 1.0),
            gamma: r.pick(&[1.0, 0.8, 1.25]),
            shoulder: r.pick(&[0.0, 1.0]),
        };
        let colours: Vec<_> = (0..cameras).map(&mut colour).collect();
        let vignettes = match seed % 3 {
            0 => Vignettes::NONE,
            _ => {
                let sizes = rig.cameras.iter().map(|camera| camera.size.into());
                Vignettes::of(sizes.map(|size| r.vignette(size, 0.6)).collect::<Vec<_>>())
            }
        };
        let colours = Colours::of(colours);
        let options = StitchOptions { colours, vignettes, ..StitchOptions::default() };
        let pixels = if (seed / 3).is_multiple_of(2) { PixelFormat::Rgba8 } else { nv12(r) };
        let size = uvec2(1 + r.below(150) as u32, 1 + r.below(90) as u32);
        let format = FrameFormat { size, pixels };
        Self { rig, flip: r.below(3) == 0, pictures, view, options, format }
    }

    fn pictures(&self) -> Vec<&Raster> {
        self.pictures.iter().collect()
    }

    fn cameras(&self) -> ExactCameras<'_> {
        let mut cameras = ExactCameras::new(&self.rig, self.pictures(), &self.options);
        cameras.least = 0.0;
        cameras
    }

    fn viewed(&self, stream: &Stream, warp: Option<&DeviceWarp>) -> Raster {
        let viewer = Viewer::new(&self.rig.geometry().unwrap(), self.flip).unwrap();
        let Self { view, options, format, .. } = self;
        shown(stream, &viewer, self.pictures(), warp, view, options, *format)
    }
}

#[test]
fn many_cameras_are_shown_as_their_models_say() {
    let devices = panoweave_devices();
    let (mut seen, mut all, mut unsure, mut worst) = (0, 0, 0, 0.0_f64);
    for seed in 0..120 {
        let case = Case::random(seed);
        let cameras = case.cameras();
        let colour = |ray| cameras.show(ray, |_, margins| margins.to_vec());
        let exact = Exact::new(&case.view, case.flip, case.format.size, colour);
        seen += exact.seen();
        all += exact.sure.len();
        unsure += exact.sure.iter().filter(|sure| !**sure).count();
        for device in &devices {
            let found = case.viewed(&device.stream().unwrap(), None);
            let off = oracle::worst_where(&found, &exact.colours, &exact.sure);
            assert!(off <= TEXTURED, "seed {seed}: {off} levels, {} on {device}", case.view);
            worst = worst.max(off);
        }
    }
    eprintln!("at most {worst} levels; {seen} of {all} pixels seen, {unsure} left out");
    assert!(
        seen > all / 3 && seen < all * 19 / 20 && unsure < all / 500,
        "{seen}, {unsure}, {all}"
    );
}

/// Returns a warp of the rig with other weights: random waves, cut off below 0. In some parts of the canvas, all are 0.
fn waves(r: &mut Random, stream: &Stream, rig: &Rig) -> Warp {
    let warp = DeviceWarp::render(stream, &rig.geometry().unwrap()).unwrap();
    let warp = warp.download(stream).unwrap();
    let (size, cameras) = (warp.size(), warp.sources().len());
    let mut planes = warp.planes().to_vec();
    for camera in 0..cameras {
        let [a, b, phase] = [0.15, 0.15, 3.0].map(|most| r.between(-most, most));
        let index = Plane::all(cameras).position(|plane| plane == Plane::Weight(camera)).unwrap();
        for (at, weight) in (0_u32..).zip(&mut planes[index]) {
            let (x, y) = ((at % size.x) as f32, (at / size.x) as f32);
            let hole = (40.0..60.0).contains(&x) || (200.0..215.0).contains(&x);
            *weight = if hole { 0.0 } else { a.mul_add(x, b.mul_add(y, phase)).sin().max(0.0) };
        }
    }
    Warp::new(size, warp.sources().to_vec(), planes).unwrap()
}

/// The change of a colour in levels, caused by the allowed error of a position on the canvas, up to which the colour must
/// match. Where all weights are small, such an error can replace one camera's colour with that of another one.
const DRIFT: f64 = 0.1;

/// Checks that the weights of a warp blend the cameras that see a pixel, and that the cameras are feathered where these
/// weights are 0.
#[test]
fn many_cameras_are_blended_by_the_weights_of_a_warp() {
    let devices = panoweave_devices();
    // The numbers of positions with several cameras, five per pixel: blended by weights, and feathered.
    let (mut weighed, mut feathered, mut worst) = (0, 0, 0.0_f64);
    let (mut all, mut unsure) = (0, 0);
    for seed in 0..45 {
        let case = Case::random(1000 + seed);
        let geometry = case.rig.geometry().unwrap();
        let canvas = geometry.canvas;
        for device in &devices {
            let stream = device.stream().unwrap();
            let warp = waves(&mut Random::new(seed), &stream, &case.rig);
            let cameras = case.cameras();
            let count = std::cell::Cell::new((0, 0));
            let weigh = |ray, margins: &[f64], shift: DVec2| {
                let at = on_canvas(&canvas, ray).0.map(|at| at + shift);
                let several = margins.iter().filter(|margin| **margin > 0.0).count() > 1;
                let weight = |(camera, margin): (usize, &f64)| {
                    let Some(at) = at.filter(|_| *margin > 0.0) else { return 0.0 };
                    let DVec2 { x, y } = at.clamp(DVec2::ZERO, canvas.size.as_dvec2() - 1.0);
                    let plane = warp.plane(Plane::Weight(camera));
                    let [w, h] = [canvas.size.x, canvas.size.y].map(|side| side as usize);
                    let [weight] = mix(w, h, x, y, |i| [f64::from(plane[i])]);
                    weight
                };
                let weights: Vec<f64> = margins.iter().enumerate().map(weight).collect();
                let (by_weights, others) = count.get();
                if weights.iter().sum::<f64>() > 0.0 {
                    count.set((by_weights + u32::from(several), others));
                } else {
                    count.set((by_weights, others + u32::from(several)));
                }
                // A millionth of the feathering decides where all weights are 0, and changes nothing elsewhere.
                weights.iter().zip(margins).map(|(w, margin)| w + 1e-6 * margin).collect()
            };
            let colour = |ray| {
                let shown = |x, y| {
                    cameras.show(ray, |ray, margins| weigh(ray, margins, DVec2::new(x, y) / 256.0))
                };
                let (colour, sure) = shown(0.0, 0.0);
                let corners = [(-1.0, -1.0), (1.0, -1.0), (-1.0, 1.0), (1.0, 1.0)];
                let steady = corners.into_iter().all(|(x, y)| {
                    let pair = colour.zip(shown(x, y).0);
                    pair.is_none_or(|(a, b)| (0..3).all(|c| (a[c] - b[c]).abs() <= DRIFT))
                });
                (colour, sure && steady && on_canvas(&canvas, ray).1)
            };
            let exact = Exact::new(&case.view, case.flip, case.format.size, colour);
            let warp = DeviceWarp::upload(&stream, &warp).unwrap();
            let found = case.viewed(&stream, Some(&warp));
            let off = oracle::worst_where(&found, &exact.colours, &exact.sure);
            assert!(off <= TEXTURED, "seed {seed}: {off} levels, {} on {device}", case.view);
            worst = worst.max(off);
            all += exact.sure.len();
            unsure += exact.sure.iter().filter(|sure| !**sure).count();
            weighed += count.get().0;
            feathered += count.get().1;
        }
    }
    eprintln!(
        "at most {worst} levels; {weighed} weighed, {feathered} feathered; {unsure} of {all} left out"
    );
    assert!(weighed > 50_000 && feathered > 5000 && unsure < all / 50, "{weighed}, {feathered}");
}

#[test]
fn frames_that_textures_cannot_read_are_refused() {
    let case = Case::random(4);
    let viewer = Viewer::new(&case.rig.geometry().unwrap(), false).unwrap();
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        // Padding of 4 bytes keeps the rows of picture 1 from being aligned.
        let frames = case.pictures.iter().enumerate();
        let frames: Vec<_> = frames
            .map(|(i, picture)| match i {
                1 => picture.upload(&stream, 4),
                _ => super::aligned(&stream, picture),
            })
            .collect();
        let frames: Vec<_> = frames.iter().map(DeviceFrame::view).collect();
        let mut out = DeviceFrame::new(&device, case.format).unwrap();
        let submitted = viewer.submit(&stream, &frames, None, &case.view, &case.options, &mut out);
        let error = submitted.unwrap_err();
        let said = error.to_string();
        assert!(said.contains("camera 2") && said.contains("copy it to a `DeviceFrame`"), "{said}");
        let submitted =
            viewer.submit(&stream, &frames[1..], None, &case.view, &case.options, &mut out);
        let error = submitted.unwrap_err();
        assert!(error.to_string().contains("frames or colours were passed"), "{error}");
    }
}
