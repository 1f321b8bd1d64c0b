//! Benchmarks a seam through an overlap of 700×1900 pixels, in a panorama of 5700×1900 from two 3840×2160 pictures. The
//! bench measures the search for a seam on a pair of frames (differences, costs and path), and the computation of the
//! weights while one seam fades into the next. The bench compares each of them with a copy of the same size, which
//! reads half of the bytes and writes the other half. The path search is limited by latency, because each row depends
//! on the row before.

use criterion::{Criterion, criterion_group, criterion_main};
use panoweave::frame::{DeviceFrame, FrameFormat, PixelFormat, YuvEncoding};
use panoweave::ops::colour::Colours;
use panoweave::ops::seam::{Seam, SeamOptions};
use panoweave::warp::{DeviceWarp, Warp};
use panoweave_benches::{
    Group, OVERLAP, SETS, SOURCE, bench, bench_copy, frame, gpu, overlapping_warp,
};

/// Returns a warp whose weights fade linearly across the whole overlap.
fn warp() -> Warp {
    let [first, end] = OVERLAP;
    overlapping_warp(|x| [(end - x) / (end - first), (x - first + 1.0) / (end - first)])
}

fn benches(criterion: &mut Criterion) {
    let Some(device) = gpu("seam") else { return };
    let stream = device.stream().expect("a stream");
    let warp = DeviceWarp::upload(&stream, &warp()).expect("the warp");
    let seam = || Seam::new(&stream, &warp, [0, 1], SeamOptions::default()).expect("a seam");
    let (rgba, nv12) = (PixelFormat::Rgba8, PixelFormat::Nv12(YuvEncoding::default()));
    for (name, pixels) in [("rgba", rgba), ("nv12", nv12)] {
        let format = FrameFormat { size: SOURCE, pixels };
        let frames: Vec<[_; 2]> = (0..SETS as u32)
            .map(|set| [0, 1].map(|i| frame(&stream, format, 2 * set + i)))
            .collect();
        let mut seam = seam();
        let bytes = seam.bytes(pixels);
        let size = (seam.grid().max - seam.grid().min).to_array();
        let mut group = Group::new(criterion, &device, "seam", name, size, bytes);
        bench_copy(&mut group, &stream, bytes);
        bench(&mut group, "look", &stream, |set| {
            let [left, right] = frames[set].each_ref().map(DeviceFrame::view);
            // SAFETY: All work that uses `seam`, `warp` and the frames is submitted to this stream.
            unsafe { seam.submit(&stream, &warp, left, right, Colours::IDENTITY) }.expect("a look");
        });
        group.finish();
    }

    let mut seam = seam();
    let frames = [0, 1].map(|i| frame(&stream, FrameFormat { size: SOURCE, pixels: rgba }, i));
    let [left, right] = frames.each_ref().map(DeviceFrame::view);
    for _ in 0..2 {
        seam.look(&stream, &warp, left, right, Colours::IDENTITY).expect("a look");
        seam.accept();
    }
    let mut outs: Vec<_> =
        (0..SETS).map(|_| Seam::copy(&stream, &warp).expect("a copy of the warp")).collect();
    let size = seam.grid().max - seam.grid().min;
    // The kernel reads six planes of f32 and writes two: 32 bytes per pixel.
    let bytes = 32 * u64::from(size.x) * u64::from(size.y);
    let mut group = Group::new(criterion, &device, "seam", "weights", size.to_array(), bytes);
    bench_copy(&mut group, &stream, bytes);
    bench(&mut group, "rust", &stream, |set| {
        seam.weigh(&stream, &warp, 0.5, &mut outs[set]).expect("weights");
    });
    group.finish();
}

criterion_group!(all, benches);
criterion_main!(all);
