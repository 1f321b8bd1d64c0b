//! Rig to warp at home size: what a changed rig costs, allocation of the planes included.
//!
//! By the clock, since allocating is the host's time. Without a GPU the CPU is timed, which is no measure
//! of one.

use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use panoweave::device::Device;
use panoweave::warp::DeviceWarp;
use panoweave_benches::home_geometry;

fn bench(criterion: &mut Criterion) {
    let device = Device::auto();
    let stream = device.stream().expect("a stream");
    let geometry = home_geometry().expect("the home rig");
    let mut group = criterion.benchmark_group(format!("warp/{device}"));
    group.sample_size(10).measurement_time(Duration::from_secs(1));
    group.bench_function("render", |bencher| {
        bencher.iter(|| {
            let warp = DeviceWarp::render(&stream, &geometry).expect("a warp");
            stream.synchronize().expect("the warp");
            warp
        });
    });
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
