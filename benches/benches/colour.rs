//! Benchmarks the kernel that adds up the colours of two pictures where they overlap: 700×1900 pixels of a 5700×1900
//! panorama, from two 3840×2160 pictures. The bench compares our kernel with a memory copy, and with the kernel of the
//! original system, reimplemented in CUDA C++ (`benches/cuda/colour_analysis.cu`), if `PANOWEAVE_REFERENCE_PTX` names a
//! folder with `colour_analysis.ptx`. It then measures our kernel with pictures from 720p to 8K.
//!
//! One panorama pixel shows one source pixel, so [`bytes_of`] returns the minimum number of bytes to move. The
//! copy reads half of this number and writes the other half.

use criterion::{Criterion, criterion_group, criterion_main};
use cuda_std::prelude::*;
use glam::{Vec2, uvec2, vec2};
use panoweave::device::{Buffer, LaunchConfig, Stream};
use panoweave::frame::{DeviceFrame, FrameFormat, FrameView, PixelFormat, YuvEncoding};
use panoweave::ops::colour::{Overlap, Overlaps, Summing};
use panoweave::warp::{DeviceWarp, Plane, Warp};
use panoweave_benches::{
    Group, OVERLAP, PANORAMA, SETS, SIZES, SOURCE, bench, bench_copy, bench_original, frame, gpu,
    overlapping_warp, overlapping_warp_for, reference,
};
use shared_types::Rgba8;
use shared_types::colour::OverlapPixel;

/// Returns a warp whose cameras have the same weight everywhere in the overlap.
fn warp() -> Warp {
    overlapping_warp(|_| [0.5; 2])
}

/// Declares the CUDA C++ kernel, whose body is in the PTX. It adds nine sums over a band of the panorama's columns to
/// `sums`. `band` is the centre and the width of the band, as fractions of the panorama's width.
///
/// # Safety
/// Blocks must have 32×32 threads, and the grid must cover the panorama. Each `lut_*` and `weight_*` plane must have
/// the size of the panorama. `sums` must have nine elements.
#[kernel(launch_bounds(1024))]
#[expect(unused_variables, reason = "the body of the kernel is in the PTX")]
unsafe fn colour_analysis(
    left: View<Rgba8>,
    right: View<Rgba8>,
    lut_left_x: View<f32>,
    lut_left_y: View<f32>,
    lut_right_x: View<f32>,
    lut_right_y: View<f32>,
    weight_left: View<f32>,
    weight_right: View<f32>,
    band: Vec2,
    sums: SliceMut<f32>,
) {
}

/// Launches [`colour_analysis`], the CUDA C++ kernel, on two RGBA frames.
fn analyse(stream: &Stream, warp: &DeviceWarp, frames: &[DeviceFrame; 2], sums: &mut Buffer<f32>) {
    let [FrameView::Rgba8(left), FrameView::Rgba8(right)] =
        frames.each_ref().map(DeviceFrame::view)
    else {
        unreachable!("the original takes RGBA")
    };
    let [first, end] = OVERLAP;
    let kernel = ColourAnalysis {
        left,
        right,
        lut_left_x: warp.plane(Plane::X(0)).view(),
        lut_left_y: warp.plane(Plane::Y(0)).view(),
        lut_right_x: warp.plane(Plane::X(1)).view(),
        lut_right_y: warp.plane(Plane::Y(1)).view(),
        weight_left: warp.plane(Plane::Weight(0)).view(),
        weight_right: warp.plane(Plane::Weight(1)).view(),
        band: vec2(0.5 * (first + end - 1.0), end - first) / PANORAMA.x as f32,
        sums: sums.view_mut(),
    };
    let config = LaunchConfig::cover(PANORAMA.x, PANORAMA.y, [32, 32]);
    // SAFETY: The blocks have 32×32 threads and cover the panorama. The planes of `warp` have the size of the panorama.
    // `sums` has nine elements.
    unsafe { stream.launch_unchecked(&config, &kernel) }.expect("an analysis");
}

fn benches(criterion: &mut Criterion) {
    let Some(device) = gpu("colour") else { return };
    let reference = reference("colour_analysis").map(|device| device.stream().expect("a stream"));
    let stream = device.stream().expect("a stream");
    let warp = DeviceWarp::upload(&stream, &warp()).expect("the warp");
    let find = || Overlaps::find(&stream, &warp).expect("an overlap");
    let found = find();
    let overlap = &found.all()[0];
    assert_eq!(overlap.place().size(), uvec2(700, 1900));
    let (rgba, nv12) = (PixelFormat::Rgba8, PixelFormat::Nv12(YuvEncoding::default()));
    for (name, pixels) in [("rgba", rgba), ("nv12", nv12)] {
        let format = FrameFormat { size: SOURCE, pixels };
        let frames: Vec<[_; 2]> = (0..SETS as u32)
            .map(|set| [0, 1].map(|i| frame(&stream, format, 2 * set + i)))
            .collect();
        // Create the same overlap several times and use the copies in turn, so that its pixel list is never in a cache.
        let overlaps: Vec<_> = (0..SETS).map(|_| find()).collect();
        let mut summing = Summing::new(&device).expect("memory for the sums");
        let bytes = bytes_of(overlap, pixels);

        let size = overlap.place().size().to_array();
        let mut group = Group::new(criterion, &device, "colour", name, size, bytes);
        bench_copy(&mut group, &stream, bytes);
        bench(&mut group, "rust", &stream, |set| {
            let frames = frames[set].each_ref().map(DeviceFrame::view);
            // SAFETY: all work that uses the frames, the overlap and the sums is on this stream.
            unsafe { overlaps[set].submit(&stream, &frames, &mut summing) }.expect("the sums");
        });
        let (Some(reference), PixelFormat::Rgba8) = (&reference, pixels) else { continue };
        let mut sums = Buffer::from_slice(reference, &[0.0_f32; 9]).expect("nine sums");
        analyse(reference, &warp, &frames[0], &mut sums);
        check(&sums.download(reference).expect("the sums"));
        bench_original(&mut group, "c++", reference, |set| {
            analyse(reference, &warp, &frames[set], &mut sums);
        });
        group.finish();
    }
}

/// Returns the minimum number of bytes that the sums read: for each pixel of the box, the entry of the overlap and one
/// pixel of each picture.
fn bytes_of(overlap: &Overlap, pixels: PixelFormat) -> u64 {
    let count = f64::from(overlap.place().size().element_product());
    (count * (size_of::<OverlapPixel>() as f64 + 2.0 * pixels.bytes_per_pixel())) as u64
}

/// Checks the nine sums of the CUDA C++ kernel. The sum of weights must be the one computed here on the host, and the
/// luma sum of each camera must match its sums of red, green and blue.
fn check(sums: &[f32]) {
    let width = f64::from(OVERLAP[1] - OVERLAP[0]);
    let share = |x: f64| 1.0 - (x - 0.5 * (width - 1.0)).abs() / (0.5 * width);
    let band: f64 = (0..width as u32).map(|x| share(f64::from(x)).powi(2)).sum();
    let weight = band * f64::from(PANORAMA.y);
    assert!((f64::from(sums[8]) / weight - 1.0).abs() < 1e-3, "{sums:?}, not {weight}");
    for camera in [&sums[..4], &sums[4..8]] {
        let luma = 0.2126 * camera[0] + 0.7152 * camera[1] + 0.0722 * camera[2];
        assert!((luma / camera[3] - 1.0).abs() < 1e-3, "{sums:?}");
    }
}

/// Measures our colour kernel with pictures from 720p to 8K.
fn sizes(criterion: &mut Criterion) {
    let Some(device) = gpu("colour, by size") else { return };
    let stream = device.stream().expect("a stream");
    for source in SIZES {
        let warp = overlapping_warp_for(source.y, |_| [0.5; 2]);
        let warp = DeviceWarp::upload(&stream, &warp).expect("the warp");
        let find = || Overlaps::find(&stream, &warp).expect("an overlap");
        let found = find();
        let overlap = &found.all()[0];
        let format = FrameFormat { size: source, pixels: PixelFormat::Rgba8 };
        let (size, bytes) = (overlap.place().size().to_array(), bytes_of(overlap, format.pixels));
        let mut group = Group::new(criterion, &device, "colour", "rgba", size, bytes).briefly();
        let set = |set| {
            let frames = [0, 1].map(|i| frame(&stream, format, 2 * set as u32 + i));
            (find(), frames)
        };
        let sets: Vec<_> = (0..group.sets()).map(set).collect();
        let mut summing = Summing::new(&device).expect("memory for the sums");
        bench_copy(&mut group, &stream, bytes);
        bench(&mut group, "rust", &stream, |set| {
            let (overlap, frames) = &sets[set];
            let frames = frames.each_ref().map(DeviceFrame::view);
            // SAFETY: all work that uses the frames, the overlap and the sums is on this stream.
            unsafe { overlap.submit(&stream, &frames, &mut summing) }.expect("the sums");
        });
        group.finish();
    }
}

criterion_group!(all, benches, sizes);
criterion_main!(all);
