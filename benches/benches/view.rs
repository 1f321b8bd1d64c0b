//! The virtual camera: a view of 1920×1080 pixels from two frames of 3840×2160, across the overlap, within one
//! camera, and from a panorama; in every pair of formats, through textures and by loads.
//!
//! Beside it the way over planes: the stitch with a planar warp of the view's size, which must be made anew for
//! every frame of a view that moves. The floor is a copy of as many bytes as the view has and the part of the frames
//! that it shows.

use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use glam::{UVec2, uvec2};
use panoweave::device::{Image, Stream};
use panoweave::frame::{DeviceFrame, FrameFormat, FrameView, PixelFormat, YuvEncoding};
use panoweave::rig::{Panorama, ProjectionName, Rig};
use panoweave::stitch::{StitchOptions, stitch};
use panoweave::view::{View, Viewer, view_panorama};
use panoweave::warp::DeviceWarp;
use panoweave_benches::{HOME_RIG, SETS, bench, bench_copy, frame, gpu};
use shared_types::Rgba8;
use shared_types::stitch::Colour;

const SIZE: UVec2 = uvec2(1920, 1080);
const SOURCE: UVec2 = uvec2(3840, 2160);

/// The cameras' focal length in pixels.
const FOCAL: f64 = 3014.0;

/// Both cameras, half of the view each; 1.3 source pixels to one of the view.
const ACROSS: View = View { pan: 0.0, tilt: 0.0, roll: 0.0, fov: 40.0 };

/// As wide as one camera sees; 3.3 source pixels to one of the view.
const WIDE: View = View { fov: 60.0, ..ACROSS };

/// The left camera alone.
const WITHIN: View = View { pan: -32.0, ..ACROSS };

/// The source pixels that a view shows, about: as many as its own, scaled by both focal lengths.
fn shown(view: &View, focal: f64) -> f64 {
    let own = f64::from(SIZE.x) / 2.0 / (view.fov.to_radians() / 2.0).tan();
    f64::from(SIZE.element_product()) * (focal / own).powi(2)
}

/// A frame whose rows begin where no texture can, so that it is read by loads.
fn unaligned(stream: &Stream, frame: &DeviceFrame) -> Image<Rgba8> {
    let mut bytes = vec![0; frame.format().bytes()];
    frame.download(stream, &mut bytes).expect("a frame");
    let pitch = 4 * u64::from(SOURCE.x) + 4;
    let mut image =
        Image::with_pitch(stream.device(), SOURCE.x, SOURCE.y, pitch).expect("an image");
    image.upload(stream, bytemuck::cast_slice(&bytes)).expect("an upload");
    image
}

fn benches(criterion: &mut Criterion) {
    let Some(device) = gpu("view") else { return };
    let stream = device.stream().expect("a stream");
    let rig = Rig::parse(HOME_RIG, "rigs/home.toml").expect("a rig");
    let geometry = rig.geometry().expect("a geometry");
    let viewer = Viewer::new(&geometry, false).expect("two cameras");
    let gains = StitchOptions {
        left: Colour { gain: glam::Vec3::splat(1.1), gamma: 1.0 },
        right: Colour { gain: glam::Vec3::splat(0.9), gamma: 1.0 },
        ..StitchOptions::default()
    };
    let formats = [PixelFormat::Rgba8, PixelFormat::Nv12(YuvEncoding::default())];
    let sets = formats.map(|pixels| {
        let side = |seed| frame(&stream, FrameFormat { size: SOURCE, pixels }, seed);
        (0..SETS as u32).map(|set| [side(2 * set), side(2 * set + 1)]).collect::<Vec<_>>()
    });
    let mut outs = formats.map(|pixels| {
        let out =
            |_| DeviceFrame::new(&device, FrameFormat { size: SIZE, pixels }).expect("a view");
        (0..SETS).map(out).collect::<Vec<_>>()
    });

    let mut group = criterion.benchmark_group(format!("view/{device}"));
    let bytes = 4.0 * (f64::from(SIZE.element_product()) + shown(&ACROSS, FOCAL));
    group.throughput(Throughput::Bytes(bytes as u64)).sample_size(20);
    group.warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(1));
    let floor = bench_copy(&mut group, "floor", &stream, bytes as u64);
    let names = ["rgba", "nv12"];
    let mut first = None;
    for (i, input) in names.iter().enumerate() {
        for (o, output) in names.iter().enumerate() {
            let time = bench(&mut group, &format!("{input} to {output}"), &stream, |set| {
                let [l, r] = sets[i][set].each_ref().map(FrameView::from);
                let out = &mut outs[o][set];
                viewer.submit(&stream, [l, r], None, &ACROSS, &gains, out).expect("a view");
            });
            first = first.or(time);
        }
    }
    for (name, view, options) in [
        ("one camera", &WITHIN, &gains),
        ("wide", &WIDE, &gains),
        ("gamma", &ACROSS, &StitchOptions { left: Colour { gamma: 0.9, ..gains.left }, ..gains }),
    ] {
        bench(&mut group, name, &stream, |set| {
            let frames = sets[0][set].each_ref().map(FrameView::from);
            let out = &mut outs[0][set];
            viewer.submit(&stream, frames, None, view, options, out).expect("a view");
        });
    }
    let warp = DeviceWarp::render(&stream, &geometry).expect("a warp");
    bench(&mut group, "weights of a warp", &stream, |set| {
        let frames = sets[0][set].each_ref().map(FrameView::from);
        let out = &mut outs[0][set];
        viewer.submit(&stream, frames, Some(&warp), &ACROSS, &gains, out).expect("a view");
    });
    drop(warp);

    let loads: Vec<_> =
        sets[0].iter().map(|pair| pair.each_ref().map(|frame| unaligned(&stream, frame))).collect();
    bench(&mut group, "by loads", &stream, |set| {
        let frames = loads[set].each_ref().map(FrameView::from);
        let out = &mut outs[0][set];
        viewer.submit(&stream, frames, None, &ACROSS, &gains, out).expect("a view");
    });
    drop(loads);

    let panorama = Panorama {
        projection: ProjectionName::Planar,
        width: SIZE.x,
        height: SIZE.y,
        fov: ACROSS.fov,
        fov_vertical: None,
        centre: None,
        ..rig.panorama.clone()
    };
    let planar = Rig { panorama, ..rig.clone() }.geometry().expect("a geometry");
    let warp = DeviceWarp::render(&stream, &planar).expect("a warp");
    let planes = bench(&mut group, "over planes", &stream, |set| {
        let [l, r] = &sets[0][set];
        stitch(&stream, l, r, &warp, &gains, &mut outs[0][set]).expect("a stitch");
    });
    bench(&mut group, "over planes, made anew", &stream, |set| {
        let warp = DeviceWarp::render(&stream, &planar).expect("a warp");
        let [l, r] = &sets[0][set];
        stitch(&stream, l, r, &warp, &gains, &mut outs[0][set]).expect("a stitch");
    });
    let canvas = geometry.canvas;
    let format = FrameFormat { size: canvas.size, pixels: PixelFormat::Rgba8 };
    let panoramas: Vec<_> = (0..SETS as u32).map(|set| frame(&stream, format, 100 + set)).collect();
    bench(&mut group, "from a panorama", &stream, |set| {
        view_panorama(&stream, &panoramas[set], &canvas, &ACROSS, &mut outs[0][set])
            .expect("a view");
    });
    group.finish();
    if let (Some(time), Some(floor)) = (first, floor) {
        println!("rgba to rgba: {time:.1} µs, {:.1} times the floor", time / floor);
    }
    if let (Some(time), Some(planes)) = (first, planes) {
        println!("over planes: {planes:.1} µs, {:.1} times the view", planes / time);
    }
}

criterion_group!(all, benches);
criterion_main!(all);
