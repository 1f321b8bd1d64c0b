//! Panoramas and views of cameras that fail, with every lookup: each pixel during the fades against a formula in f64.

use std::time::Duration;

use glam::{DMat3, DVec2, UVec2, dvec2, uvec2};
use panoweave::device::Device;
use panoweave::frame::{Frame, FrameFormat, PixelFormat, YuvEncoding};
use panoweave::geometry::{Camera, Canvas, Geometry};
use panoweave::live::{
    CameraHealth, CameraState, FailureOptions, LiveError, LiveOptions, Output, Session,
    StitchedFrames,
};
use panoweave::ops::blend::Blend;
use panoweave::ops::colour::{Colour, Colours};
use panoweave::ops::seam::SeamOptions;
use panoweave::ops::stitch::{Lookup, LookupError, StitchOptions};
use panoweave::ops::view::{ViewPose, Viewer};
use panoweave::warp::{DeviceWarp, Plane, Warp};
use panoweave_tests::live::{FRAME, STILL};
use panoweave_tests::oracle;
use panoweave_tests::panoweave_devices;
use shared_types::Rgba8;
use shared_types::stitch::MIN_WEIGHT;
use shared_types::warp::Projection;

const SOURCE: UVec2 = uvec2(48, 40);
/// The distance in pixels from one camera to the next.
const STEP: u32 = 30;
/// The camera that fails. It has neighbours on both sides, or on the left side if it is the last.
const LOST: usize = 1;
const COLOUR: Rgba8 = Rgba8::opaque(200, 30, 90);
const POSE: ViewPose = ViewPose { pan: 0.0, tilt: 0.0, roll: 0.0, fov: 60.0 };

/// The way in which the session is used.
#[derive(Clone, Copy, Debug)]
struct Case {
    cameras: usize,
    lookup: Lookup,
    blend: Blend,
    nv12: bool,
    view: bool,
    /// Whether the last frame is held. If not, the colour covers it from the first panorama after the failure.
    holds: bool,
}

impl Case {
    fn canvas(&self) -> UVec2 {
        SOURCE + uvec2(STEP * (self.cameras as u32 - 1), 0)
    }

    /// Returns cameras in a row on a planar canvas. Each sees an upright rectangle of the canvas, pixel by pixel. So
    /// does a virtual camera with the pose [`POSE`] and the size of the canvas.
    fn geometry(&self) -> Geometry {
        let size = self.canvas();
        let focal = DVec2::splat(f64::from(size.x) / 2.0 / (POSE.fov.to_radians() / 2.0).tan());
        let centre = (size.as_dvec2() - 1.0) / 2.0;
        let projection = Projection::PLANAR;
        let camera = |camera| Camera {
            focal,
            centre: centre - dvec2(f64::from(STEP) * camera as f64, 0.0),
            ..Camera::from_matrix(DMat3::IDENTITY, SOURCE)
        };
        Geometry {
            canvas: Canvas { centre, scale: focal, size, projection, reserved: 0 },
            cameras: (0..self.cameras).map(camera).collect(),
        }
    }

    fn pixels(&self) -> PixelFormat {
        if self.nv12 { PixelFormat::Nv12(YuvEncoding::default()) } else { PixelFormat::Rgba8 }
    }

    fn options(&self) -> LiveOptions {
        let failure = FailureOptions {
            gone: 10_000,
            frozen: 10_000,
            black: 10_000,
            settle: 2,
            fade: 5,
            hold: if self.holds { 10_000 } else { 0 },
            colour: COLOUR,
            ..FailureOptions::default()
        };
        let stitch = StitchOptions {
            lookup: self.lookup,
            colours: self.colours(),
            ..StitchOptions::default()
        };
        LiveOptions {
            input: self.pixels().into(),
            stitch,
            colour: STILL,
            blend: self.blend,
            failure: Some(failure),
            ..LiveOptions::default()
        }
    }

    fn colours(&self) -> Colours {
        let colour = |camera: usize| Colour {
            gain: [1.0 + 0.1 * camera as f32, 0.9, 1.1 - 0.1 * camera as f32].into(),
            gamma: 1.0 - 0.1 * camera as f32,
            ..Colour::IDENTITY
        };
        Colours::of((0..self.cameras).map(colour).collect::<Vec<_>>())
    }

    /// Returns the frame of a camera: its levels rise slowly from left to right.
    fn frame(&self, camera: usize) -> Vec<u8> {
        let level = |x: u32| level(camera, x) as u8;
        let pixels = SOURCE.element_product() as usize;
        if self.nv12 {
            let mut bytes: Vec<_> = (0..pixels).map(|at| level(at as u32 % SOURCE.x)).collect();
            bytes.resize(pixels + pixels / 2, 128);
            return bytes;
        }
        (0..pixels)
            .flat_map(|at| {
                let level = level(at as u32 % SOURCE.x);
                [level, level, level, 255]
            })
            .collect()
    }

    /// Returns the level of each channel of a pixel in column `x` of a camera, after colour correction and cover.
    fn graded(&self, camera: usize, x: u32, cover: f64) -> [f64; 3] {
        let levels = match self.pixels() {
            PixelFormat::Rgba8 => [level(camera, x); 3],
            PixelFormat::Nv12(encoding) => oracle::to_rgb(encoding, level(camera, x), [128.0; 2]),
            other => unreachable!("other modules test {other}"),
        };
        let Colour { gain, gamma, .. } = self.colours()[camera];
        let (gamma, constant) = (f64::from(gamma), [COLOUR.r, COLOUR.g, COLOUR.b]);
        [0, 1, 2].map(|c| {
            let picture = f64::from(gain.to_array()[c]) * levels[c] / 255.0;
            let constant = (f64::from(constant[c]) / 255.0).powf(1.0 / gamma);
            255.0 * (picture + (constant - picture) * cover).clamp(0.0, 1.0).powf(gamma)
        })
    }

    /// Returns whether rounding cannot change which cameras see a pixel. A view computes positions in f32, so that the
    /// first column and the first row of a camera may be just outside its picture.
    fn is_sure(&self, at: usize) -> bool {
        let (x, y) = (at as u32 % self.canvas().x, at as u32 / self.canvas().x);
        !self.view || (x % STEP != 0 && y != 0)
    }

    /// Returns the exact levels of a pixel from the weights of the warp. Returns `None` where no camera contributes.
    fn exact(&self, warp: &Warp, at: usize, health: &[CameraHealth]) -> Option<[f64; 3]> {
        let weight = |camera| warp.plane(Plane::Weight(camera))[at];
        let seeing: Vec<_> = (0..self.cameras).filter(|&c| weight(c) > MIN_WEIGHT).collect();
        let presence = |camera: usize| f64::from(health[camera].presence);
        let whole: f64 = seeing.iter().map(|&c| f64::from(weight(c))).sum();
        let present: f64 = seeing.iter().map(|&c| presence(c) * f64::from(weight(c))).sum();
        if seeing.is_empty() {
            return None;
        }
        let mut sum = [0.0; 3];
        for camera in seeing {
            // The present cameras share the weights of the others. If there are none, all cameras keep theirs.
            let share = match present {
                0.0 => f64::from(weight(camera)) / whole,
                _ => presence(camera) * f64::from(weight(camera)) / present,
            };
            let x = (at as u32 % self.canvas().x) - STEP * camera as u32;
            let levels = self.graded(camera, x, health[camera].cover.into());
            sum = [0, 1, 2].map(|c| sum[c] + share * levels[c]);
        }
        Some(sum)
    }
}

fn level(camera: usize, x: u32) -> f64 {
    f64::from(150 - 40 * camera as u32 + x / 4)
}

/// A session whose frames are pushed one by one, and its warp.
struct Test {
    case: Case,
    session: Session,
    panoramas: StitchedFrames,
    warp: Warp,
    time: Duration,
}

impl Test {
    fn new(device: &Device, case: Case) -> Self {
        let (geometry, stream) = (case.geometry(), device.stream().unwrap());
        let rendered = DeviceWarp::render(&stream, &geometry).unwrap();
        let warp = rendered.download(&stream).unwrap();
        let session = if case.view {
            let viewer = Viewer::new(&geometry, false).unwrap();
            let view = Output::view(PixelFormat::Rgba8, case.canvas(), POSE);
            Session::new(device, (rendered, viewer), &[view], case.options())
        } else {
            Session::new(device, rendered, &[Output::default()], case.options())
        };
        let session = session.unwrap();
        Self { panoramas: session.panoramas(), session, case, warp, time: Duration::ZERO }
    }

    /// Pushes a frame of each camera, or of each but [`LOST`]. Returns all panoramas that this completes.
    fn push(&mut self, all: bool) -> Vec<Vec<u8>> {
        self.time += FRAME;
        let before = self.session.counters().sets;
        for camera in (0..self.case.cameras).filter(|&camera| all || camera != LOST) {
            let bytes = self.case.frame(camera);
            let format = FrameFormat { size: SOURCE, pixels: self.case.pixels() };
            let frame = Frame::tight(format, &bytes).unwrap();
            self.session.push(camera, frame, self.time).unwrap();
        }
        let completed = self.session.counters().sets - before;
        self.panoramas.by_ref().take(completed as usize).map(|it| it.bytes().to_vec()).collect()
    }

    /// Returns the largest difference in levels between the newest panorama and the formula.
    fn off(&self, panorama: &[u8]) -> f64 {
        let (health, mut worst) = (self.session.cameras(), 0.0_f64);
        for (at, pixel) in panorama.chunks_exact(4).enumerate() {
            if self.case.is_sure(at) {
                let exact = self.case.exact(&self.warp, at, &health).unwrap_or_default();
                for (found, exact) in pixel.iter().zip(exact) {
                    worst = worst.max((f64::from(*found) - exact).abs());
                }
            }
        }
        worst
    }

    /// Pushes frames until the presence and the cover of [`LOST`] are final. Compares each panorama with the formula.
    /// Returns the largest difference in levels, and the last panorama.
    fn fade(&mut self, all: bool, compares: bool) -> (f64, Vec<u8>) {
        let (mut worst, mut last) = (0.0_f64, Vec::new());
        let cover = if all || self.case.holds { 0.0 } else { 1.0 };
        let finals = if all { (1.0, cover) } else { (0.0, cover) };
        // A camera that returns counts as live only after a few frames.
        for _ in 0..60 {
            let mut panoramas = self.push(all);
            // If one push completes several panoramas, only the presences of the last are known.
            if let Some(panorama) = panoramas.pop() {
                if compares {
                    worst = worst.max(self.off(&panorama));
                }
                last = panorama;
            }
            let LostHealth { presence, cover } = LostHealth::of(&self.session.cameras());
            if (presence, cover) == finals {
                break;
            }
        }
        let LostHealth { presence, cover } = LostHealth::of(&self.session.cameras());
        assert_eq!((presence, cover), finals, "{:?}", self.case);
        (worst, last)
    }
}

/// The presence and the cover of the camera that fails.
struct LostHealth {
    presence: f32,
    cover: f32,
}

impl LostHealth {
    fn of(health: &[CameraHealth]) -> Self {
        let CameraHealth { presence, cover, .. } = health[LOST];
        Self { presence, cover }
    }
}

/// Lets a camera fail and return, and compares each panorama or view with the formula. Returns those without the
/// camera, one per device.
fn check(case: Case, bound: f64) -> Vec<Vec<u8>> {
    let run = |device: &Device| {
        let mut test = Test::new(device, case);
        let (first, before) = test.fade(true, true);
        test.session.set_present(LOST, false).unwrap();
        let (lost, without) = test.fade(false, true);
        assert_eq!(test.session.cameras()[LOST].state, CameraState::Gone);
        assert!(without != before, "{device}, {case:?}");
        test.session.set_present(LOST, true).unwrap();
        let (returned, after) = test.fade(true, true);
        let worst = first.max(lost).max(returned);
        assert!(worst <= bound, "{device}, {case:?}: {first}, {lost}, {returned} levels");
        assert!(before == after, "{device}, {case:?}");
        without
    };
    panoweave_devices().iter().map(run).collect()
}

const THREE: Case = Case {
    cameras: 3,
    lookup: Lookup::Planes,
    blend: Blend::Feather,
    nv12: false,
    view: false,
    holds: false,
};

#[test]
fn planes_follow_cameras_that_fail() {
    for cameras in [2, 3] {
        for (nv12, holds) in [(false, false), (false, true), (true, false), (true, true)] {
            let case = Case { cameras, nv12, holds, ..THREE };
            let planes = check(case, 0.6);
            let mesh = check(Case { lookup: Lookup::Mesh, ..case }, 1.5);
            let lengths =
                |panoramas: &[Vec<u8>]| panoramas.iter().map(Vec::len).collect::<Vec<_>>();
            assert_eq!(lengths(&planes), lengths(&mesh), "{case:?}");
            for (planes, mesh) in planes.iter().flatten().zip(mesh.iter().flatten()) {
                assert!(planes.abs_diff(*mesh) <= 1, "{case:?}: {planes}, {mesh}");
            }
        }
    }
}

#[test]
fn all_lookups_follow_cameras_that_fail() {
    for cameras in [2, 3] {
        for lookup in [Lookup::Auto, Lookup::Mesh, Lookup::Planes, Lookup::Cubic] {
            check(Case { cameras, lookup, ..THREE }, 1.5);
        }
    }
    // No colour can cover a camera that fails.
    let case = Case { lookup: Lookup::GammaTable, cameras: 2, ..THREE };
    let (device, geometry) = (Device::cpu(), case.geometry());
    let warp = || DeviceWarp::render(&device.stream().unwrap(), &geometry).unwrap();
    let is_refused =
        |error: &LookupError| error.lookup == case.lookup && error.reason.contains("cover");
    let new = |case: Case| Session::new(&device, warp(), &[Output::default()], case.options());
    let made = new(case);
    assert!(matches!(made, Err(LiveError::Lookup(ref error)) if is_refused(error)));
    let session = new(Case { lookup: Lookup::Auto, ..case }).unwrap();
    let set = session.set_options(case.options().stitch);
    assert!(matches!(set, Err(LiveError::Lookup(ref error)) if is_refused(error)));
}

#[test]
fn views_follow_cameras_that_fail() {
    for cameras in [2, 3] {
        for (nv12, holds) in [(false, false), (true, false), (false, true)] {
            check(Case { cameras, nv12, holds, view: true, ..THREE }, 1.5);
        }
    }
}

/// The lookup changes when a camera fails or returns, or after its fade. The mesh and the boxes of the planes then know
/// which cameras see a pixel, even if they are computed while one is absent.
#[test]
fn lookups_can_change_while_a_camera_is_absent() {
    for device in panoweave_devices() {
        for (starts, late) in [
            (Lookup::Planes, false),
            (Lookup::Planes, true),
            (Lookup::Mesh, false),
            (Lookup::Mesh, true),
        ] {
            for blend in [Blend::Feather, Blend::Seam(SeamOptions::default())] {
                let case = Case { lookup: starts, blend, ..THREE };
                let compares = blend == Blend::Feather;
                let mut test = Test::new(&device, case);
                let mut worst = test.fade(true, compares).0;
                for lookup in [Lookup::Mesh, Lookup::Planes] {
                    for all in [false, true] {
                        let stitch = StitchOptions { lookup, ..case.options().stitch };
                        test.session.set_present(LOST, all).unwrap();
                        if late {
                            worst = worst.max(test.fade(all, compares).0);
                        }
                        test.session.set_options(stitch).unwrap();
                        let (off, last) = test.fade(all, compares);
                        // Without the camera, the seams do not matter, because its neighbours do not overlap.
                        worst = worst.max(if all { off } else { off.max(test.off(&last)) });
                    }
                }
                assert!(worst <= 1.5, "{device}, {starts:?}, {late}, {blend:?}: {worst} levels");
            }
        }
    }
}

/// The seams give the lost camera and its neighbours other weights than the warp. Without the camera, the neighbours
/// fill what they see, and the seam between them does not matter, because they do not overlap.
#[test]
fn neighbours_fill_cameras_behind_seams() {
    for device in panoweave_devices() {
        for view in [false, true] {
            let feathered = Case { view, ..THREE };
            let case = Case { blend: Blend::Seam(SeamOptions::default()), ..feathered };
            let [mut feathered, mut test] = [feathered, case].map(|case| Test::new(&device, case));
            for test in [&mut feathered, &mut test] {
                for _ in 0..20 {
                    test.push(true);
                }
                test.session.set_present(LOST, false).unwrap();
            }
            let (_, exact) = feathered.fade(false, false);
            let (_, found) = test.fade(false, false);
            let off = |(a, b): (&u8, &u8)| a.abs_diff(*b);
            assert_eq!(exact.len(), found.len());
            let worst = exact.iter().zip(&found).map(off).max();
            assert!(worst <= Some(1), "{device}, {view}: {worst:?} levels");
            test.session.set_present(LOST, true).unwrap();
            let (_, after) = test.fade(true, false);
            assert!(after != found, "{device}, {view}");
        }
    }
}
