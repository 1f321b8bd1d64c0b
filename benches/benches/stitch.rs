//! Stitch at home size: every power of the `planes` variant and, where `PANOWEAVE_REFERENCE_PTX` names
//! them, the same kernels compiled from CUDA C++.
//!
//! Without a GPU the CPU is timed, which is no measure of one.

use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use panoweave::device::{Arch, Device, Image, PtxImage, Stream};
use panoweave::stitch::{Power, StitchOptions, stitch};
use panoweave::warp::DeviceWarp;
use panoweave_benches::{SETS, home_geometry, picture, time};
use shared_types::stitch::Colour;

/// The Rust kernels, and the CUDA C++ ones if given.
fn devices() -> Vec<(&'static str, Device)> {
    let mut devices = vec![("rust", Device::auto())];
    if let (Some(path), Some(_)) =
        (std::env::var_os("PANOWEAVE_REFERENCE_PTX"), devices[0].1.cuda_info())
    {
        let text = std::fs::read_to_string(&path).expect("the reference PTX").leak();
        let image = PtxImage { arch: Arch { major: 8, minor: 0 }, text };
        devices.push(("c++", Device::cuda_with(0, &[image]).expect("the reference's kernels")));
    }
    devices
}

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

fn bench(criterion: &mut Criterion) {
    let devices = devices();
    let (_, device) = &devices[0];
    let stream = device.stream().expect("a stream");
    let geometry = home_geometry().expect("the home rig");
    let warp = DeviceWarp::render(&stream, &geometry).expect("the warp");
    let sources = warp.sources();
    let size = warp.size();
    let frames: Vec<[_; 2]> = (0..SETS as u32)
        .map(|set| [0, 1].map(|i| picture(&stream, sources[i].x, sources[i].y, 2 * set + i as u32)))
        .collect();
    let mut outputs: Vec<Image<_>> =
        (0..SETS).map(|_| Image::new(device, size.x, size.y).expect("an output")).collect();

    let mut group = criterion.benchmark_group(format!("stitch_planes/{device}"));
    group.throughput(Throughput::Elements(u64::from(size.element_product())));
    group.sample_size(20).measurement_time(Duration::from_secs(2));
    for (power, label) in
        [(None, "linear"), (Some(Power::Exact), "exact"), (Some(Power::Fast), "fast")]
    {
        for (language, device) in &devices {
            let stream: Stream = device.stream().expect("a stream");
            let options = options(power);
            group.bench_function(format!("{label}/{language}"), |bencher| {
                bencher.iter_custom(|launches| {
                    time(device, &stream, launches, |set| {
                        let [left, right] = &frames[set];
                        stitch(&stream, left, right, &warp, &options, &mut outputs[set])
                            .expect("a stitch");
                    })
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
