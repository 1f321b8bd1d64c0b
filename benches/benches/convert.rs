//! Benchmarks the conversions of 3840×2160 frames to NV12 and back, beside copies of as many bytes. All are limited by
//! memory.

use criterion::{Criterion, criterion_group, criterion_main};
use glam::{UVec2, uvec2};
use kernels_gpu::convert::{JoinChroma, PackYuy2, SplitChroma, UnpackYuy2};
use panoweave::device::{Image, LaunchConfig, Stream};
use panoweave_benches::{Group, SETS, bench, bench_copy, gpu};
use shared_types::Chroma;
use shared_types::nv12::{DeviceNv12, DeviceNv12Mut};
use shared_types::warp::BLOCK;

const SIZE: UVec2 = uvec2(3840, 2160);

/// The planes of NV12, I420 and YUY2.
struct Planes {
    y: Image<u8>,
    uv: Image<Chroma>,
    u: Image<u8>,
    v: Image<u8>,
    pairs: Image<u32>,
}

impl Planes {
    fn new(stream: &Stream) -> Self {
        fn plane<T: bytemuck::Pod>(stream: &Stream, size: UVec2) -> Image<T> {
            Image::new(stream.device(), size.x, size.y).expect("device memory")
        }
        let half = SIZE / 2;
        Self {
            y: plane(stream, SIZE),
            uv: plane(stream, half),
            u: plane(stream, half),
            v: plane(stream, half),
            pairs: plane(stream, uvec2(half.x, SIZE.y)),
        }
    }
}

fn conversions(criterion: &mut Criterion) {
    let Some(device) = gpu("convert") else { return };
    let stream = device.stream().expect("a stream");
    let mut sets: Vec<_> = (0..SETS).map(|_| Planes::new(&stream)).collect();
    let config = LaunchConfig::cover(SIZE.x / 2, SIZE.y / 2, BLOCK);
    let area = u64::from(SIZE.element_product());
    let mut group = Group::new(criterion, &device, "convert", "I420", SIZE.to_array(), area);
    bench(&mut group, "to NV12", &stream, |set| {
        let Planes { uv, u, v, .. } = &mut sets[set];
        let kernel = JoinChroma { u: u.view(), v: v.view(), out: uv.view_mut() };
        stream.launch(&config, &kernel).expect("a launch");
    });
    bench(&mut group, "from NV12", &stream, |set| {
        let Planes { uv, u, v, .. } = &mut sets[set];
        let kernel = SplitChroma { from: uv.view(), u: u.view_mut(), v: v.view_mut() };
        stream.launch(&config, &kernel).expect("a launch");
    });
    bench_copy(&mut group, &stream, area);
    group.finish();
    // YUY2 has 2 bytes per pixel, NV12 1.5.
    let bytes = area * 7 / 2;
    let mut group = Group::new(criterion, &device, "convert", "YUY2", SIZE.to_array(), bytes);
    bench(&mut group, "to NV12", &stream, |set| {
        let Planes { y, uv, pairs, .. } = &mut sets[set];
        let out = DeviceNv12Mut { y: y.view_mut(), uv: uv.view_mut() };
        stream.launch(&config, &UnpackYuy2 { from: pairs.view(), out }).expect("a launch");
    });
    bench(&mut group, "from NV12", &stream, |set| {
        let Planes { y, uv, pairs, .. } = &mut sets[set];
        let from = DeviceNv12 { y: y.view(), uv: uv.view() };
        stream.launch(&config, &PackYuy2 { from, out: pairs.view_mut() }).expect("a launch");
    });
    bench_copy(&mut group, &stream, bytes);
    group.finish();
}

criterion_group!(benches, conversions);
criterion_main!(benches);
