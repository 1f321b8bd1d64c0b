//! Benchmarks the live session with two 4K cameras, whose frames and panorama are NV12. The bench measures three times
//! per pair of frames:
//!
//! - the live session, which overlaps upload, stitch and download of consecutive pairs
//! - `copies`: only the copies over the bus
//! - `serial`: upload, stitch and download in sequence
//!
//! Frames are written to page-locked memory only once, so the bench does not measure writes by the host. With perfect
//! overlap, the live session takes no longer than `copies`.
//!
//! A panorama and three views of 1920×1080 from frames in device memory, without downloads, are measured beside the same
//! four launches in a loop.

use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use glam::UVec2;
use panoweave::device::{Device, Pinned, Stream};
use panoweave::frame::{DeviceFrame, Frame, FrameFormat, FrameView, PixelFormat};
use panoweave::io::video::HostPool;
use panoweave::live::{ColourOptions, ExternalFrame, LiveOptions, Output, Pace, Session};
use panoweave::ops::stitch::{StitchOptions, stitch};
use panoweave::ops::view::{DEFAULT_SIZE, ViewPose, Viewer};
use panoweave::warp::DeviceWarp;
use panoweave_benches::copies::Copies;
use panoweave_benches::{
    Group, NV12, SETS, bench_by_clock, bench_copies_by_clock, gpu, home_geometry,
};

fn nv12(size: UVec2) -> FrameFormat {
    FrameFormat { size, pixels: PIXELS }
}

const PIXELS: PixelFormat = PixelFormat::Nv12(NV12);

fn warp(device: &Device) -> DeviceWarp {
    let stream = device.stream().expect("a stream");
    let warp = DeviceWarp::render(&stream, &home_geometry().expect("the home rig"));
    stream.synchronize().expect("the warp");
    warp.expect("the warp")
}

/// Returns the wall time that a live session takes for `pairs` pairs of frames.
fn live(device: &Device, slots: usize, colour: bool, pairs: u64) -> Duration {
    let options = LiveOptions {
        input: PIXELS.into(),
        pace: Pace::Wait,
        slots,
        colour: ColourOptions { follow: colour, ..ColourOptions::default() },
        ..LiveOptions::default()
    };
    let session = Session::new(device, warp(device), &[Output::panorama(PIXELS)], options)
        .expect("a session");
    let panoramas = session.panoramas();
    let pool = HostPool::new(session.input_formats()[0], Some(device.clone()));
    std::thread::scope(|scope| {
        let reader = scope.spawn(move || panoramas.count());
        let submit = |pairs: u64| {
            for i in 0..pairs {
                // The content of the frames does not affect the time.
                let frames = [pool.filled(|_| ()), pool.filled(|_| ())];
                session.submit(frames, Duration::from_millis(i)).expect("a running session");
            }
        };
        // Warm up until every buffer has been used once.
        submit(2 * slots as u64);
        let start = Instant::now();
        submit(pairs);
        session.close();
        assert_eq!(reader.join().expect("a reader"), pairs as usize + 2 * slots);
        start.elapsed()
    })
}

/// Host and device memory for one pair and its panorama.
struct Set {
    host: [Pinned<u8>; 3],
    frames: [DeviceFrame; 3],
}

/// Uploads, stitches and downloads `pairs` pairs in sequence, and returns the wall time.
fn serial(stream: &Stream, warp: &DeviceWarp, sets: &mut [Set], pairs: u64) -> Duration {
    let start = Instant::now();
    for i in 0..pairs {
        let Set { host, frames: [left, right, out] } = &mut sets[i as usize % SETS];
        for (frame, host) in [&mut *left, &mut *right].into_iter().zip(&*host) {
            let bytes = Frame::tight(frame.format(), host).expect("a whole frame");
            frame.upload(stream, &bytes).expect("an upload");
        }
        stitch(
            stream,
            &[(&*left).into(), (&*right).into()],
            warp,
            &StitchOptions::default(),
            &mut *out,
        )
        .expect("a stitch");
        out.download(stream, &mut host[2]).expect("a download");
    }
    start.elapsed()
}

/// The poses of three views.
const PANS: [f64; 3] = [-25.0, 0.0, 25.0];

fn pose(pan: f64) -> ViewPose {
    ViewPose { pan, tilt: 0.0, roll: 0.0, fov: 45.0 }
}

/// Frames of two cameras in device memory, and an output buffer for each of the four launches.
struct Resident {
    frames: [DeviceFrame; 2],
    panorama: DeviceFrame,
    views: [DeviceFrame; 3],
}

impl Resident {
    fn new(device: &Device, sources: &[UVec2], size: UVec2) -> Self {
        let frame = |size| DeviceFrame::new(device, nv12(size)).expect("device memory");
        let frames = [frame(sources[0]), frame(sources[1])];
        Self { frames, panorama: frame(size), views: [(); 3].map(|()| frame(DEFAULT_SIZE)) }
    }
}

/// Launches the stitch and the views of `sets` sets, and returns the wall time.
fn launches(
    stream: &Stream,
    warp: &DeviceWarp,
    viewer: &Viewer,
    of: &mut Resident,
    sets: u64,
) -> Duration {
    let options = StitchOptions::default();
    let start = Instant::now();
    for _ in 0..sets {
        let frames = of.frames.each_ref().map(DeviceFrame::view);
        stitch(stream, &frames, warp, &options, &mut of.panorama).expect("a stitch");
        for (out, pan) in of.views.iter_mut().zip(PANS) {
            viewer.submit(stream, &frames, None, &pose(pan), &options, out).expect("a view");
        }
    }
    stream.synchronize().expect("the launches");
    start.elapsed()
}

/// Returns the wall time that a live session with four outputs takes for `sets` sets.
fn outputs(device: &Device, viewer: &Viewer, of: &Resident, sets: u64) -> Duration {
    let view = |pan| Output::view(PIXELS, DEFAULT_SIZE, pose(pan));
    let outputs: Vec<_> = [Output::panorama(PIXELS)].into_iter().chain(PANS.map(view)).collect();
    let options = LiveOptions {
        input: PIXELS.into(),
        pace: Pace::Wait,
        slots: 8,
        download: false,
        colour: ColourOptions { follow: false, ..ColourOptions::default() },
        ..LiveOptions::default()
    };
    let rig = (warp(device), viewer.clone());
    let session = Session::new(device, rig, &outputs, options).expect("a session");
    let finished = session.panoramas();
    std::thread::scope(|scope| {
        let reader = scope.spawn(move || finished.count());
        let submit = |sets: u64| {
            for i in 0..sets {
                let frames = of.frames.each_ref().map(|frame| {
                    // SAFETY: the frames live until the session, which this function drops, has ended, and nothing
                    // writes them.
                    unsafe {
                        let view =
                            std::mem::transmute::<FrameView<'_>, FrameView<'static>>(frame.view());
                        ExternalFrame::new(view, ())
                    }
                });
                session.submit(frames, Duration::from_millis(i)).expect("a running session");
            }
        };
        submit(16);
        let start = Instant::now();
        submit(sets);
        session.close();
        assert_eq!(reader.join().expect("a reader"), sets as usize + 16);
        start.elapsed()
    })
}

fn bench(criterion: &mut Criterion) {
    let Some(device) = gpu("live") else { return };
    let stream = device.stream().expect("a stream");
    let warp = warp(&device);
    let [left, right] = [0, 1].map(|camera| nv12(warp.sources()[camera]));
    let formats = [left, right, nv12(warp.size())];
    let bytes: usize = formats.iter().map(|format| format.bytes()).sum();
    let size = warp.size().to_array();
    let mut group = Group::new(criterion, &device, "live", "nv12", size, bytes as u64);
    // Each sample starts its own session.
    group.samples(10);
    let mut copies = Copies::new(&device, formats).expect("pinned memory");
    bench_copies_by_clock(&mut group, "copies", |pairs| copies.run(pairs));
    drop(copies);
    let mut sets: Vec<_> = (0..SETS)
        .map(|_| Set {
            host: formats.map(|f| Pinned::new(&device, f.bytes()).expect("pinned memory")),
            frames: formats.map(|f| DeviceFrame::new(&device, f).expect("device memory")),
        })
        .collect();
    bench_by_clock(&mut group, "serial", |pairs| serial(&stream, &warp, &mut sets, pairs));
    drop(sets);
    for (slots, colour) in [(3, false), (4, false), (4, true), (8, true)] {
        let name = format!("{slots} slots{}", if colour { ", colour" } else { "" });
        bench_by_clock(&mut group, &name, |pairs| {
            // Run at least 400 pairs, so that filling the pipeline at the start hardly affects the time per pair.
            let many = pairs.max(400);
            live(&device, slots, colour, many).mul_f64(pairs as f64 / many as f64)
        });
    }
    let geometry = home_geometry().expect("the home rig");
    let viewer = Viewer::new(&geometry, false).expect("a viewer");
    let mut of = Resident::new(&device, warp.sources(), warp.size());
    bench_by_clock(&mut group, "four launches", |sets| {
        launches(&stream, &warp, &viewer, &mut of, sets)
    });
    bench_by_clock(&mut group, "four outputs", |sets| {
        let many = sets.max(2000);
        outputs(&device, &viewer, &of, many).mul_f64(sets as f64 / many as f64)
    });
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
