//! SSIM and PSNR of two 3840×2160 pictures: the fused kernels, the floor under them, and the original design in two
//! passes, in Rust and in CUDA C++ (`benches/cuda/ssim.cu`, where `PANOWEAVE_REFERENCE_PTX` names a folder
//! with `ssim.ptx`).
//!
//! The floor is a copy that moves as many bytes as both pictures have. Arithmetic is a higher one: about 130
//! operations a pixel.

use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use glam::{UVec2, uvec2};
use kernels_gpu::ssim::{SsimColumns, SsimRowsU8};
use panoweave::device::{Buffer, Image, LaunchConfig, Stream};
use panoweave::ssim::{Compared, Comparer};
use panoweave_benches::{SETS, bench, bench_copy, gpu, reference};
use shared_types::Rgba8;
use shared_types::ssim::{MARGIN, ONE, SUMS, SsimParams, TWO_PASS_BLOCK};

const SIZE: UVec2 = uvec2(3840, 2160);

/// Two pictures that differ by noise.
fn pair<T: bytemuck::Pod>(stream: &Stream, seed: u32, of: impl Fn(u8) -> T) -> [Image<T>; 2] {
    let mut state = seed.wrapping_mul(2_654_435_761) | 1;
    let mut noise = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        (state >> 28) as u8
    };
    [0, 1].map(|_| {
        let pixels = (0..SIZE.element_product()).map(|i| of((i % SIZE.x / 20) as u8 + noise()));
        let pixels: Vec<T> = pixels.collect();
        Image::from_slice(stream, SIZE.x, SIZE.y, &pixels).expect("a picture")
    })
}

/// The five planes between the passes.
struct TwoPass {
    planes: [Image<f32>; 5],
    sums: Buffer<u64>,
}

impl TwoPass {
    fn new(stream: &Stream) -> Self {
        let plane = || Image::new(stream.device(), SIZE.x - MARGIN, SIZE.y).expect("a plane");
        let sums = Buffer::from_slice(stream, &[0; SUMS as usize]).expect("the sums");
        Self { planes: [plane(), plane(), plane(), plane(), plane()], sums }
    }

    fn submit(&mut self, stream: &Stream, [a, b]: &[Image<u8>; 2]) {
        let config = LaunchConfig::cover(SIZE.x, SIZE.y, TWO_PASS_BLOCK);
        let (a, b, sums) = (a.view(), b.view(), self.sums.view_mut());
        let [mean_a, mean_b, square_a, square_b, product] =
            self.planes.each_mut().map(Image::view_mut);
        let rows = SsimRowsU8 { a, b, mean_a, mean_b, square_a, square_b, product, sums };
        stream.launch(&config, &rows).expect("the rows");
        let [mean_a, mean_b, square_a, square_b, product] = self.planes.each_ref().map(Image::view);
        let (params, sums) = (SsimParams::new(8, 1), self.sums.view_mut());
        let columns = SsimColumns { mean_a, mean_b, square_a, square_b, product, params, sums };
        stream.launch(&config, &columns).expect("the columns");
    }

    fn ssim(&self, stream: &Stream) -> f64 {
        let sums = self.sums.download(stream).expect("the sums");
        let pixels = f64::from((SIZE - MARGIN).element_product());
        sums[0] as i64 as f64 / f64::from(ONE) / pixels
    }
}

fn benches(criterion: &mut Criterion) {
    let Some(device) = gpu("ssim") else { return };
    let stream = device.stream().expect("a stream");
    let pairs: Vec<_> = (0..SETS as u32).map(|set| pair(&stream, set, |level| level)).collect();
    let bytes = 2 * u64::from(SIZE.element_product());
    let mut comparer = Comparer::new(&device, SIZE, 1024).expect("a comparer");

    let mut group = criterion.benchmark_group(format!("ssim/{device}"));
    group.throughput(Throughput::Bytes(bytes)).sample_size(20);
    group.warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(1));
    let floor = bench_copy(&mut group, "floor", &stream, bytes);
    let mut submit = |pair: Compared<'_>| {
        while let Err(panoweave::ssim::SsimError::Full) = comparer.submit(&stream, pair, None) {
            while comparer.take().expect("a result").is_some() {}
        }
    };
    let fused = bench(&mut group, "fused", &stream, |set| {
        let [a, b] = &pairs[set];
        submit(Compared::Luma8(a.view(), b.view()));
    });
    let wide: Vec<_> = (0..SETS as u32).map(|set| pair(&stream, set, u16::from)).collect();
    bench(&mut group, "fused/10 bits", &stream, |set| {
        let [a, b] = &wide[set];
        submit(Compared::Luma16 { a: a.view(), b: b.view(), bits: 10 });
    });
    let colour: Vec<_> =
        (0..SETS as u32).map(|set| pair(&stream, set, |v| Rgba8::opaque(v, v, v))).collect();
    bench(&mut group, "fused/rgba", &stream, |set| {
        let [a, b] = &colour[set];
        submit(Compared::Rgba8(a.view(), b.view()));
    });
    while comparer.take().expect("a result").is_some() {}
    let [a, b] = &pairs[0];
    comparer.submit(&stream, Compared::Luma8(a.view(), b.view()), None).expect("a pair");
    let found = comparer.take().expect("a result").expect("a result").ssim;

    let mut run = |name: &str, stream: &Stream| {
        let mut passes = TwoPass::new(stream);
        passes.submit(stream, &pairs[0]);
        let ssim = passes.ssim(stream);
        assert!((ssim - found).abs() < 5e-5, "{name}: {ssim}, and fused {found}");
        let time = bench(&mut group, name, stream, |set| passes.submit(stream, &pairs[set]));
        if let (Some(time), Some(fused)) = (time, fused) {
            println!("{name}: {time:.1} µs, {:.1} times the fused kernel", time / fused);
        }
    };
    run("two passes", &stream);
    if let Some(reference) = reference("ssim") {
        run("c++", &reference.stream().expect("a stream"));
    }
    group.finish();
    if let (Some(fused), Some(floor)) = (fused, floor) {
        println!("fused: {fused:.1} µs, {:.1} times the floor", fused / floor);
    }
}

criterion_group!(all, benches);
criterion_main!(all);
