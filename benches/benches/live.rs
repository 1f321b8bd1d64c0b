//! The live stitcher with two 4K cameras in NV12 and a panorama in NV12: time a pair, against what the
//! copies over the bus alone take, and against its own three steps one after the other.
//!
//! Frames are filled in place and never again, so host memory is not what is timed. Where `live` is near
//! `copies`, upload, stitch and download run side by side; `serial` is what they would take if not.

use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use cust::sys;
use glam::UVec2;
use panoweave::device::{Device, Pinned, Stream};
use panoweave::frame::{DeviceFrame, Frame, FrameFormat, Matrix, PixelFormat, Range, YuvEncoding};
use panoweave::live::{Camera, ColourOptions, FrameBuffer, LiveOptions, Pace, Stitcher};
use panoweave::stitch::{StitchOptions, stitch};
use panoweave::warp::DeviceWarp;
use panoweave_benches::{Group, SETS, bench_by_clock, bench_copies_by_clock, gpu, home_geometry};

fn nv12(size: UVec2) -> FrameFormat {
    FrameFormat { size, pixels: PIXELS }
}

const PIXELS: PixelFormat =
    PixelFormat::Nv12(YuvEncoding { matrix: Matrix::Bt709, range: Range::Limited });

fn warp(device: &Device) -> DeviceWarp {
    let stream = device.stream().expect("a stream");
    let warp = DeviceWarp::render(&stream, &home_geometry().expect("the home rig"));
    stream.synchronize().expect("the warp");
    warp.expect("the warp")
}

/// A pair of filled frames.
fn filled(stitcher: &Stitcher) -> Option<[FrameBuffer; 2]> {
    let buffer = |camera| stitcher.buffer(camera).expect("a running stitcher");
    Some([buffer(Camera::Left)?, buffer(Camera::Right)?])
}

/// Wall time of `pairs` pairs through a stitcher.
fn live(device: &Device, slots: usize, colour: bool, pairs: u64) -> Duration {
    let options = LiveOptions {
        input: PIXELS,
        output: PIXELS,
        pace: Pace::Wait,
        slots,
        colour: ColourOptions { follow: colour, ..ColourOptions::default() },
        ..LiveOptions::default()
    };
    let stitcher = Stitcher::new(device, warp(device), options).expect("a stitcher");
    let panoramas = stitcher.panoramas();
    std::thread::scope(|scope| {
        let reader = scope.spawn(move || panoramas.count());
        let submit = |pairs: u64| {
            for i in 0..pairs {
                let [left, right] = filled(&stitcher).expect("pace is to wait");
                let time = Duration::from_millis(i);
                stitcher.submit_filled(left, right, time).expect("a running stitcher");
            }
        };
        // Until buffers go round.
        submit(2 * slots as u64);
        let start = Instant::now();
        submit(pairs);
        stitcher.close();
        assert_eq!(reader.join().expect("a reader"), pairs as usize + 2 * slots);
        start.elapsed()
    })
}

/// Host and device memory of one pair and its panorama.
struct Set {
    host: [Pinned<u8>; 3],
    frames: [DeviceFrame; 3],
}

/// What the bus takes: uploads of pairs on one stream, downloads of panoramas on another, nothing else.
struct Copies {
    stream: [sys::CUstream; 2],
    device: [u64; 3],
}

fn check(result: sys::CUresult) {
    result.to_result().expect("the driver");
}

impl Copies {
    fn new(sets: &[Set]) -> Self {
        let mut copies = Self { stream: [std::ptr::null_mut(); 2], device: [0; 3] };
        for stream in &mut copies.stream {
            // SAFETY: the handle is written; the context of the device is current.
            check(unsafe { sys::cuStreamCreateWithPriority(stream, 1, 0) });
        }
        for (address, host) in copies.device.iter_mut().zip(&sets[0].host) {
            // SAFETY: the address is written.
            check(unsafe { sys::cuMemAlloc_v2(address, host.len()) });
        }
        copies
    }

    fn run(&self, sets: &mut [Set], pairs: u64) -> Duration {
        let start = Instant::now();
        for i in 0..pairs {
            let set = &mut sets[i as usize % SETS];
            let [left, right, out] = &mut set.host;
            // SAFETY: the device's memory is as large as the host's, and both live until the streams
            // are done, which is waited for below.
            unsafe {
                for (host, device) in [left, right].into_iter().zip(self.device) {
                    let (host, bytes) = (host.as_ptr().cast(), host.len());
                    check(sys::cuMemcpyHtoDAsync_v2(device, host, bytes, self.stream[0]));
                }
                let (host, bytes) = (out.as_mut_ptr().cast(), out.len());
                check(sys::cuMemcpyDtoHAsync_v2(host, self.device[2], bytes, self.stream[1]));
            }
        }
        for stream in self.stream {
            // SAFETY: the stream is alive.
            check(unsafe { sys::cuStreamSynchronize(stream) });
        }
        start.elapsed()
    }
}

impl Drop for Copies {
    fn drop(&mut self) {
        for stream in self.stream {
            // SAFETY: created here.
            check(unsafe { sys::cuStreamDestroy_v2(stream) });
        }
        for address in self.device {
            // SAFETY: allocated here.
            check(unsafe { sys::cuMemFree_v2(address) });
        }
    }
}

/// Upload, stitch and download one after the other.
fn serial(stream: &Stream, warp: &DeviceWarp, sets: &mut [Set], pairs: u64) -> Duration {
    let start = Instant::now();
    for i in 0..pairs {
        let Set { host, frames: [left, right, out] } = &mut sets[i as usize % SETS];
        for (frame, host) in [&mut *left, &mut *right].into_iter().zip(&*host) {
            let bytes = Frame::tight(frame.format(), host).expect("a whole frame");
            frame.upload(stream, &bytes).expect("an upload");
        }
        stitch(stream, &*left, &*right, warp, &StitchOptions::default(), &mut *out)
            .expect("a stitch");
        out.download(stream, &mut host[2]).expect("a download");
    }
    start.elapsed()
}

fn bench(criterion: &mut Criterion) {
    let Some(device) = gpu("live") else { return };
    let stream = device.stream().expect("a stream");
    let warp = warp(&device);
    let [left, right] = warp.sources().map(nv12);
    let formats = [left, right, nv12(warp.size())];
    let mut sets: Vec<_> = (0..SETS)
        .map(|_| Set {
            host: formats.map(|f| Pinned::new(&device, f.bytes()).expect("pinned memory")),
            frames: formats.map(|f| DeviceFrame::new(&device, f).expect("device memory")),
        })
        .collect();
    let bytes: usize = formats.iter().map(|format| format.bytes()).sum();
    let size = warp.size().to_array();
    let mut group = Group::new(criterion, &device, "live", "nv12", size, bytes as u64);
    // Each begins with a stitcher of its own.
    group.samples(10);
    let gpu = cust::device::Device::get_device(0).expect("the GPU");
    let context = cust::context::Context::new(gpu).expect("its context");
    // SAFETY: the context is alive until the end of this function.
    check(unsafe { sys::cuCtxSetCurrent(context.as_raw()) });
    let copies = Copies::new(&sets);
    bench_copies_by_clock(&mut group, "copies", |pairs| copies.run(&mut sets, pairs));
    drop(copies);
    bench_by_clock(&mut group, "serial", |pairs| serial(&stream, &warp, &mut sets, pairs));
    drop(sets);
    for (slots, colour) in [(3, false), (4, false), (4, true), (8, true)] {
        let name = format!("{slots} slots{}", if colour { ", colour" } else { "" });
        bench_by_clock(&mut group, &name, |pairs| {
            // Enough that those in flight at the start make no difference.
            let many = pairs.max(400);
            live(&device, slots, colour, many).mul_f64(pairs as f64 / many as f64)
        });
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
