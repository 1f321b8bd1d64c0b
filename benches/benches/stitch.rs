//! The `planes` stitch at home size: every gamma and pair of formats, the floor under each pair, and
//! the same kernels compiled from CUDA C++ (`benches/cuda/stitch_planes.cu`) where
//! `PANOWEAVE_REFERENCE_PTX` names a folder with `stitch_planes.ptx`.
//!
//! The floor is a copy of the pictures and the panorama; this variant reads 24 bytes of planes a pixel
//! besides.

use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use panoweave::colour::GammaTable;
use panoweave::frame::{DeviceFrame, FrameFormat, PixelFormat, YuvEncoding};
use panoweave::stitch::{Power, StitchOptions, stitch, stitch_with_table};
use panoweave::warp::DeviceWarp;
use panoweave_benches::{SETS, bench, bench_copy, frame, gpu, home_geometry, reference};
use shared_types::stitch::Colour;

fn options(power: Option<Power>) -> StitchOptions {
    let colour = |gain: f32, gamma| Colour { gain: glam::Vec3::splat(gain), gamma };
    let gamma = if power.is_some() { (0.9, 1.1) } else { (1.0, 1.0) };
    StitchOptions {
        left: colour(1.1, gamma.0),
        right: colour(0.9, gamma.1),
        power: power.unwrap_or_default(),
        ..StitchOptions::default()
    }
}

fn benches(criterion: &mut Criterion) {
    let Some(device) = gpu("stitch") else { return };
    let reference = reference("stitch_planes").map(|device| device.stream().expect("a stream"));
    let stream = device.stream().expect("a stream");
    let geometry = home_geometry().expect("the home rig");
    let warp = DeviceWarp::render(&stream, &geometry).expect("the warp");
    let (rgba, nv12) = (PixelFormat::Rgba8, PixelFormat::Nv12(YuvEncoding::default()));
    let pairs = [
        ("rgba", rgba, rgba),
        ("nv12", nv12, nv12),
        ("nv12-rgba", nv12, rgba),
        ("rgba-nv12", rgba, nv12),
    ];
    for (pair, input, output) in pairs {
        let format = |size, pixels| FrameFormat { size, pixels };
        let inputs = warp.sources().map(|size| format(size, input));
        let output = format(warp.size(), output);
        let frames: Vec<[_; 2]> = (0..SETS as u32)
            .map(|set| [0, 1].map(|i| frame(&stream, inputs[i], 2 * set + i as u32)))
            .collect();
        let mut outputs: Vec<_> =
            (0..SETS).map(|_| DeviceFrame::new(&device, output).expect("an output")).collect();
        let bytes = (inputs[0].bytes() + inputs[1].bytes() + output.bytes()) as u64;

        let mut group = criterion.benchmark_group(format!("stitch_planes/{pair}/{device}"));
        group.throughput(Throughput::Bytes(bytes)).sample_size(20);
        group.warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(1));
        let floor = bench_copy(&mut group, "floor", &stream, bytes);
        for (label, power) in [
            ("linear", None),
            ("exact", Some(Power::Exact)),
            ("fast", Some(Power::Fast)),
            ("table", Some(Power::Table)),
        ] {
            let options = options(power);
            let mut table = GammaTable::new(&device).expect("a table");
            let rust = bench(&mut group, &format!("{label}/rust"), &stream, |set| {
                let ([left, right], out) = (&frames[set], &mut outputs[set]);
                match power {
                    Some(Power::Table) => {
                        let table = &mut table;
                        stitch_with_table(&stream, left, right, &warp, &options, table, out)
                    }
                    _ => stitch(&stream, left, right, &warp, &options, out),
                }
                .expect("a stitch");
            });
            if let (Some(rust), Some(floor)) = (rust, floor) {
                println!("{pair}, {label}: {rust:.1} µs, {:.2} times the floor", rust / floor);
            }
            // The C++ is RGBA without a table.
            let Some(stream) = &reference else { continue };
            if pair != "rgba" || power == Some(Power::Table) {
                continue;
            }
            let cpp = bench(&mut group, &format!("{label}/c++"), stream, |set| {
                let ([left, right], out) = (&frames[set], &mut outputs[set]);
                stitch(stream, left, right, &warp, &options, out).expect("a stitch");
            });
            if let (Some(rust), Some(cpp)) = (rust, cpp) {
                println!("{pair}, {label}: the C++ takes {cpp:.1} µs, {:.3} times", cpp / rust);
            }
        }
        group.finish();
    }
}

criterion_group!(all, benches);
criterion_main!(all);
