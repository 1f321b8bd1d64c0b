//! Benchmarks the rendering of a 5700×1900 warp of the home rig, including the allocation of the warp's planes. A
//! program spends this time whenever the rig changes. The bench uses the host's clock, because allocation takes host
//! time.

use std::time::Instant;

use criterion::{Criterion, criterion_group, criterion_main};
use panoweave::warp::DeviceWarp;
use panoweave_benches::{Group, bench_by_clock, gpu, home_geometry};

fn bench(criterion: &mut Criterion) {
    let Some(device) = gpu("warp") else { return };
    let stream = device.stream().expect("a stream");
    let geometry = home_geometry().expect("the home rig");
    let size = geometry.canvas.size;
    // The kernel writes six planes of f32: 24 bytes per pixel.
    let bytes = 24 * u64::from(size.element_product());
    let mut group = Group::new(criterion, &device, "warp", "planes", size.to_array(), bytes);
    bench_by_clock(&mut group, "rendered", |warps| {
        let start = Instant::now();
        for _ in 0..warps {
            let warp = DeviceWarp::render(&stream, &geometry).expect("a warp");
            stream.synchronize().expect("the warp");
            drop(warp);
        }
        start.elapsed()
    });
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
