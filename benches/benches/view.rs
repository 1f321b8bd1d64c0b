//! Benchmarks the virtual camera: a view of 1920×1080 pixels from two frames of 3840×2160. The bench measures views
//! across the overlap and within one camera, in every pair of formats. It then measures views of other sizes.
//!
//! The alternative to a view is a stitch with a planar warp of the view's size. If the view moves, this warp must be
//! rendered again for every frame. The bench compares the view and the stitch with a copy of as many bytes as the view
//! and the visible parts of the frames have, where an area that both cameras see counts twice. With the home rig, the
//! copy has 25.4 MB, of which 17.1 MB are read from the frames. The counters of an H100 measure 17.2 MB of reads.

use criterion::{Criterion, criterion_group, criterion_main};
use glam::{DMat3, DVec2, DVec3, UVec2, dvec2, dvec3, uvec2};
use panoweave::device::{Device, Stream};
use panoweave::frame::{DeviceFrame, FrameFormat, FrameView, PixelFormat, YuvEncoding};
use panoweave::geometry::rig::{CameraMatrix, ProjectionName, Rig, RigCamera, RigCanvas};
use panoweave::ops::stitch::{Colours, Lookup, StitchOptions, stitch};
use panoweave::ops::view::{ViewPose, Viewer};
use panoweave::warp::DeviceWarp;
use panoweave_benches::{Group, HOME_RIG, SETS, SIZES, SOURCE, bench, bench_copy, frame, gpu};
use shared_types::stitch::Colour;

const SIZE: UVec2 = uvec2(1920, 1080);

/// The name of our main variant, which renders the view through the lenses of both cameras.
const LENSES: &str = "lenses";

/// A view whose left third shows one camera, whose right third shows the other, and whose middle third shows the
/// overlap. On average, a view pixel covers 2.1 source pixels, counting those of both cameras.
const ACROSS: ViewPose = ViewPose { pan: 0.0, tilt: 0.0, roll: 0.0, fov: 40.0 };

/// A view as wide as one camera's field of view. On average, a view pixel covers 3.9 source pixels, counting those of
/// both cameras.
const WIDE: ViewPose = ViewPose { fov: 60.0, ..ACROSS };

/// A view of the left camera only.
const WITHIN: ViewPose = ViewPose { pan: -32.0, ..ACROSS };

/// Returns the number of source pixels that a view reads. `area` maps the ray of a view pixel to the number of source
/// pixels that this view pixel covers. Counts at most four source pixels per view pixel, because a bilinear sample
/// reads four.
fn shown(size: UVec2, view: &ViewPose, area: impl Fn(DVec3) -> f64) -> f64 {
    /// The distance along x and y between the view pixels for which `area` is called.
    const STEP: u32 = 8;
    let own = f64::from(size.x) / 2.0 / (view.fov.to_radians() / 2.0).tan();
    let along = |length: u32| (0..length).step_by(STEP as usize);
    let from_middle = |at: u32, length: u32| f64::from(at + STEP / 2) - f64::from(length) / 2.0;
    let each = along(size.y)
        .flat_map(|y| along(size.x).map(move |x| (x, y)))
        .map(|(x, y)| area(dvec3(from_middle(x, size.x), from_middle(y, size.y), own)).min(4.0));
    each.sum::<f64>() * f64::from(STEP * STEP)
}

/// Returns the number of source pixels that a view reads from the cameras of a rig. Areas that both cameras see count
/// twice. The tilt and roll of the view, and the pitch and roll of the cameras, must be 0. Ignores the small distortion
/// of the lenses.
fn shown_of_cameras(rig: &Rig, size: UVec2, view: &ViewPose) -> f64 {
    let of = |camera: &RigCamera| {
        let mount = camera.mount().expect("a camera with a lens");
        let CameraMatrix { fx, fy, cx, cy } = mount.matrix;
        let turn = DMat3::from_rotation_y((view.pan - mount.yaw).to_radians());
        shown(size, view, |ray| {
            let DVec3 { x, y, z } = turn * ray;
            let place = dvec2(cx + fx * x / z, cy + fy * y / z);
            let inside = z > 0.0
                && place.cmpge(DVec2::ZERO).all()
                && place.cmplt(UVec2::from(camera.size).as_dvec2()).all();
            if inside { fx * fy * ray.z / z.powi(3) } else { 0.0 }
        })
    };
    rig.cameras.iter().map(of).sum()
}

/// Returns the minimum number of bytes to move for a view: the pixels of the view itself, and `shown` source pixels.
fn bytes(size: UVec2, shown: f64, [input, output]: [PixelFormat; 2]) -> u64 {
    let of = |pixels: f64, format: PixelFormat| pixels * format.bytes_per_pixel();
    (of(shown, input) + of(f64::from(size.element_product()), output)) as u64
}

const RGBA: PixelFormat = PixelFormat::Rgba8;

fn nv12() -> PixelFormat {
    PixelFormat::Nv12(YuvEncoding::default())
}

/// Creates [`SETS`] pairs of frames with the pixel format `pixels`.
fn pairs(stream: &Stream, pixels: PixelFormat) -> Vec<[DeviceFrame; 2]> {
    let side = |seed| frame(stream, FrameFormat { size: SOURCE, pixels }, seed);
    (0..SETS as u32).map(|set| [side(2 * set), side(2 * set + 1)]).collect()
}

fn views(device: &Device, size: UVec2, pixels: PixelFormat, count: usize) -> Vec<DeviceFrame> {
    let view = |_| DeviceFrame::new(device, FrameFormat { size, pixels }).expect("a view");
    (0..count).map(view).collect()
}

fn gains() -> StitchOptions {
    let colour = |gain| Colour { gain: glam::Vec3::splat(gain), gamma: 1.0, ..Colour::IDENTITY };
    // This option is for the stitch that the view is compared with. The viewer ignores it.
    let lookup = Lookup::Planes;
    StitchOptions {
        colours: Colours::of([colour(1.1), colour(0.9)]),
        lookup,
        ..StitchOptions::default()
    }
}

fn home_rig() -> Rig {
    Rig::parse(HOME_RIG, "rigs/home.toml").expect("a rig")
}

fn benches(criterion: &mut Criterion) {
    let Some(device) = gpu("view") else { return };
    let stream = device.stream().expect("a stream");
    let rig = home_rig();
    let geometry = rig.geometry().expect("a geometry");
    let viewer = Viewer::new(&geometry, false).expect("two cameras");
    let gains = gains();
    let sets = pairs(&stream, RGBA);
    let mut outs = views(&device, SIZE, RGBA, SETS);

    let rgba = bytes(SIZE, shown_of_cameras(&rig, SIZE, &ACROSS), [RGBA; 2]);
    let mut group = Group::new(criterion, &device, "view", "rgba to rgba", SIZE.to_array(), rgba);
    bench_copy(&mut group, &stream, rgba);
    let gamma = StitchOptions {
        colours: Colours::of([Colour { gamma: 0.9, ..gains.colours[0] }, Colour::IDENTITY]),
        ..gains
    };
    let shoulders = [0, 1].map(|camera| gains.colours[camera].with_shoulder());
    let shoulders = StitchOptions { colours: Colours::of(shoulders), ..gains };
    for (name, options) in [(LENSES, &gains), ("gamma", &gamma), ("shoulders", &shoulders)] {
        bench(&mut group, name, &stream, |set| {
            let frames = sets[set].each_ref().map(FrameView::from);
            viewer
                .submit(&stream, &frames, None, &ACROSS, options, &mut outs[set])
                .expect("a view");
        });
    }
    let warp = DeviceWarp::render(&stream, &geometry).expect("a warp");
    bench(&mut group, "weights of a warp", &stream, |set| {
        let frames = sets[set].each_ref().map(FrameView::from);
        let out = &mut outs[set];
        viewer.submit(&stream, &frames, Some(&warp), &ACROSS, &gains, out).expect("a view");
    });
    drop(warp);

    let panorama = RigCanvas {
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
    bench(&mut group, "over planes", &stream, |set| {
        let [l, r] = &sets[set];
        stitch(&stream, &[l.into(), r.into()], &warp, &gains, &mut outs[set]).expect("a stitch");
    });
    bench(&mut group, "over planes, rebuilt", &stream, |set| {
        let warp = DeviceWarp::render(&stream, &planar).expect("a warp");
        let [l, r] = &sets[set];
        stitch(&stream, &[l.into(), r.into()], &warp, &gains, &mut outs[set]).expect("a stitch");
    });
    group.finish();

    for (of, view) in [("wide", &WIDE), ("within a camera", &WITHIN)] {
        let bytes = bytes(SIZE, shown_of_cameras(&rig, SIZE, view), [RGBA; 2]);
        let mut group = Group::new(criterion, &device, "view", of, SIZE.to_array(), bytes);
        measure(&mut group, &stream, (&viewer, view), &sets, &mut outs, bytes);
        group.finish();
    }
}

/// Measures a copy of `bytes`, and a view. If there are more sets of views than of frames, the frames are used again: the
/// frames and views of [`SETS`] sets exceed the cache of any GPU.
fn measure(
    group: &mut Group<'_>,
    stream: &Stream,
    (viewer, view): (&Viewer, &ViewPose),
    sets: &[impl AsRef<[DeviceFrame]>],
    outs: &mut [DeviceFrame],
    bytes: u64,
) {
    let gains = gains();
    bench_copy(group, stream, bytes);
    let views = outs.len();
    bench(group, LENSES, stream, |set| {
        let frames: Vec<_> = sets[set % SETS].as_ref().iter().map(FrameView::from).collect();
        let out = &mut outs[set % views];
        viewer.submit(stream, &frames, None, view, &gains, out).expect("a view");
    });
}

/// Measures views in every pair of input and output formats that contains NV12.
fn formats(criterion: &mut Criterion) {
    let Some(device) = gpu("view, by formats") else { return };
    let stream = device.stream().expect("a stream");
    let rig = home_rig();
    let viewer = Viewer::new(&rig.geometry().expect("a geometry"), false).expect("two cameras");
    for (of, formats) in [
        ("rgba to nv12", [RGBA, nv12()]),
        ("nv12 to rgba", [nv12(), RGBA]),
        ("nv12 to nv12", [nv12(); 2]),
    ] {
        let sets = pairs(&stream, formats[0]);
        let mut outs = views(&device, SIZE, formats[1], SETS);
        let bytes = bytes(SIZE, shown_of_cameras(&rig, SIZE, &ACROSS), formats);
        let mut group = Group::new(criterion, &device, "view", of, SIZE.to_array(), bytes);
        measure(&mut group, &stream, (&viewer, &ACROSS), &sets, &mut outs, bytes);
        group.finish();
    }
}

/// Measures views from 720p to 8K, all rendered from the same frames.
fn sizes(criterion: &mut Criterion) {
    let Some(device) = gpu("view, by size") else { return };
    let stream = device.stream().expect("a stream");
    let rig = home_rig();
    let viewer = Viewer::new(&rig.geometry().expect("a geometry"), false).expect("two cameras");
    let sets = pairs(&stream, RGBA);
    for size in SIZES.map(|size| if size == SIZE { SOURCE } else { size }) {
        let bytes = bytes(size, shown_of_cameras(&rig, size, &ACROSS), [RGBA; 2]);
        let mut group =
            Group::new(criterion, &device, "view", "rgba to rgba", size.to_array(), bytes)
                .briefly();
        let mut outs = views(&device, size, RGBA, group.sets());
        measure(&mut group, &stream, (&viewer, &ACROSS), &sets, &mut outs, bytes);
        group.finish();
    }
}

/// Returns a rig of `count` cameras like the left one of `rig`, side by side and as far apart as its two cameras.
fn row(rig: &Rig, count: usize) -> Rig {
    let [left, right] = [0, 1].map(|i| rig.cameras[i].mount().expect("a camera with a lens").yaw);
    let camera = |i: usize| {
        let mut camera = rig.cameras[0].clone();
        camera.name = format!("{i}");
        let mount = camera.mount_mut().expect("a camera with a lens");
        mount.yaw = (right - left) * (i as f64 - (count - 1) as f64 / 2.0);
        camera
    };
    Rig { cameras: (0..count).map(camera).collect(), ..rig.clone() }
}

/// Measures views of two cameras with frames in different formats, and of four and six cameras. A view across shows the
/// overlap of two of them; a wide one shows up to four cameras.
fn many(criterion: &mut Criterion) {
    let Some(device) = gpu("view, many cameras") else { return };
    let stream = device.stream().expect("a stream");
    let wide = ViewPose { fov: 120.0, ..ACROSS };
    for (count, mixed) in [(2, true), (4, false), (4, true), (6, false)] {
        let rig = row(&home_rig(), count);
        let viewer = Viewer::new(&rig.geometry().expect("a geometry"), false).expect("cameras");
        let pixels = |camera: usize| if mixed && camera % 2 == 1 { nv12() } else { RGBA };
        let set = |set: usize| {
            let format = |camera| FrameFormat { size: SOURCE, pixels: pixels(camera) };
            let seed = |camera| (set * count + camera) as u32;
            (0..count).map(|i| frame(&stream, format(i), seed(i))).collect::<Vec<_>>()
        };
        let sets: Vec<_> = (0..SETS).map(set).collect();
        let mut outs = views(&device, SIZE, RGBA, SETS);
        let middle = rig.cameras[count / 2].mount().expect("a camera with a lens").yaw;
        let within = ViewPose { pan: middle, fov: 35.0, ..ACROSS };
        for (name, view) in [("across", &ACROSS), ("wide", &wide), ("within a camera", &within)] {
            let of = format!("{count} cameras, {}{name}", if mixed { "mixed, " } else { "" });
            // Half of the cameras with mixed formats are NV12.
            let of_format =
                |format| bytes(SIZE, shown_of_cameras(&rig, SIZE, view), [format, RGBA]);
            let bytes = u64::midpoint(of_format(RGBA), of_format(pixels(1)));
            let mut group =
                Group::new(criterion, &device, "view", &of, SIZE.to_array(), bytes).briefly();
            measure(&mut group, &stream, (&viewer, view), &sets, &mut outs, bytes);
            group.finish();
        }
    }
}

criterion_group!(all, benches, formats, sizes, many);
criterion_main!(all);
