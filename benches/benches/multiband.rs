//! Benchmarks multiband blending of a 5700×1900 panorama from two 3840×2160 pictures, with 1 to 6 levels. The bench
//! compares the stitch with blending, with the stitch alone and with a copy of as many bytes as the pictures and the
//! panorama have. It then measures a row of four 1920×1080 cameras with 5 levels.

use criterion::{Criterion, criterion_group, criterion_main};
use panoweave::device::Stream;
use panoweave::frame::{DeviceFrame, FrameFormat, FrameView, PixelFormat, YuvEncoding};
use panoweave::geometry::Geometry;
use panoweave::ops::colour::Colours;
use panoweave::ops::multiband::{Multiband, MultibandOptions};
use panoweave::ops::seam::{SeamOptions, seamed};
use panoweave::ops::stitch::{StitchOptions, stitch};
use panoweave::warp::DeviceWarp;
use panoweave_benches::{Group, SETS, bench, bench_copy, camera_row, frame, gpu, home_geometry};
use shared_types::multiband::MAX_LEVELS;

/// Measures the stitch of a geometry with the given numbers of levels.
fn measure(
    criterion: &mut Criterion,
    stream: &Stream,
    name: &str,
    geometry: &Geometry,
    pixels: PixelFormat,
    levels: &[u32],
) {
    let warp = DeviceWarp::render(stream, geometry).expect("the warp");
    let format = |size| FrameFormat { size, pixels };
    let inputs: Vec<_> = warp.sources().iter().map(|size| format(*size)).collect();
    let output = format(warp.size());
    let set = |set: usize| {
        let number = |camera| (inputs.len() * set + camera) as u32;
        let frame = |(camera, format): (usize, &_)| frame(stream, *format, number(camera));
        inputs.iter().enumerate().map(frame).collect::<Vec<DeviceFrame>>()
    };
    let frames: Vec<_> = (0..SETS).map(set).collect();
    let views: Vec<Vec<FrameView<'_>>> =
        frames.iter().map(|set| set.iter().map(DeviceFrame::view).collect()).collect();
    let mut outputs: Vec<_> =
        (0..SETS).map(|_| DeviceFrame::new(stream.device(), output).expect("an output")).collect();
    // The seam copies the mesh, so compute the mesh first.
    warp.mesh(stream).expect("the mesh");
    let MultibandOptions { feather, .. } = MultibandOptions::default();
    let options = SeamOptions { feather };
    let (narrow, _) =
        seamed(stream, &warp, &views[0], Colours::IDENTITY, options).expect("the seams");
    let bytes = inputs.iter().map(|input| input.bytes()).sum::<usize>() + output.bytes();
    let size = warp.size().to_array();
    let mut group = Group::new(criterion, stream.device(), "multiband", name, size, bytes as u64);
    bench_copy(&mut group, stream, bytes as u64);
    let options = StitchOptions::default();
    bench(&mut group, "stitch", stream, |set| {
        stitch(stream, &views[set], &warp, &options, &mut outputs[set]).expect("a stitch");
    });
    for &levels in levels {
        let mut multiband =
            Multiband::new(stream, &warp, levels).expect("the memory").expect("an overlap");
        bench(&mut group, &format!("{levels} levels"), stream, |set| {
            let out = &mut outputs[set];
            stitch(stream, &views[set], &narrow, &options, &mut *out).expect("a stitch");
            multiband.submit(stream, &views[set], &narrow, &options, out).expect("a blend");
        });
    }
    group.finish();
}

fn benches(criterion: &mut Criterion) {
    let Some(device) = gpu("multiband") else { return };
    let stream = device.stream().expect("a stream");
    let home = home_geometry().expect("the home rig");
    let four_cameras = camera_row(4).expect("a row of cameras");
    let levels: Vec<_> = (1..=MAX_LEVELS).collect();
    for (name, pixels) in
        [("rgba", PixelFormat::Rgba8), ("nv12", PixelFormat::Nv12(YuvEncoding::default()))]
    {
        measure(criterion, &stream, name, &home, pixels, &levels);
        let four = format!("{name}, four cameras");
        measure(
            criterion,
            &stream,
            &four,
            &four_cameras,
            pixels,
            &[MultibandOptions::default().levels],
        );
    }
}

criterion_group!(all, benches);
criterion_main!(all);
