//! Benchmarks SSIM and PSNR of two 3840×2160 pictures. The bench compares our fused kernels with a copy, and with the
//! two kernels of the original system, one for rows and one for columns, reimplemented in CUDA C++
//! (`benches/cuda/ssim.cu`), if `PANOWEAVE_REFERENCE_PTX` names a folder with `ssim.ptx`. It then measures the fused
//! kernels on 10-bit and colour pictures, and at sizes from 720p to 8K.
//!
//! The copy moves as many bytes as both pictures have. The fused kernels are limited by arithmetic: about 120
//! instructions per pixel.

use criterion::{Criterion, criterion_group, criterion_main};
use cuda_std::prelude::*;
use glam::{UVec2, uvec2};
use panoweave::device::{Buffer, Image, LaunchConfig, Stream};
use panoweave::ops::ssim::{Compared, Comparer};
use panoweave_benches::{Group, SETS, SIZES, bench, bench_copy, bench_original, gpu, reference};
use shared_types::Rgba8;
use shared_types::ssim::{MARGIN, ONE, SUMS, SsimParams};

const SIZE: UVec2 = uvec2(3840, 2160);

/// Creates two pictures that differ by noise of 0 to 15 levels. `of` converts a level to a pixel.
fn pair<T: bytemuck::Pod>(
    stream: &Stream,
    size: UVec2,
    seed: u32,
    of: impl Fn(u8) -> T,
) -> [Image<T>; 2] {
    let mut state = seed.wrapping_mul(2_654_435_761) | 1;
    let mut noise = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        (state >> 28) as u8
    };
    [0, 1].map(|_| {
        let pixels =
            (0..size.element_product()).map(|i| of((i % size.x / (size.x / 192)) as u8 + noise()));
        let pixels: Vec<T> = pixels.collect();
        Image::from_slice(stream, size.x, size.y, &pixels).expect("a picture")
    })
}

/// Declares the CUDA C++ kernel of the first pass, whose body is in the PTX. It filters a, b, a², b² and ab along the rows
/// into five planes, and adds up the squared differences.
///
/// # Safety
/// Blocks must have 16×8 threads, and the grid must cover the pictures, which have one size. The planes must have as
/// many rows, and [`MARGIN`] columns less. `sums` must have [`SUMS`] elements.
#[kernel(launch_bounds(128))]
#[expect(unused_variables, reason = "the body of the kernel is in the PTX")]
unsafe fn ssim_rows_u8(
    a: View<u8>,
    b: View<u8>,
    mean_a: ViewMut<f32>,
    mean_b: ViewMut<f32>,
    square_a: ViewMut<f32>,
    square_b: ViewMut<f32>,
    product: ViewMut<f32>,
    sums: SliceMut<u64>,
) {
}

/// Declares the CUDA C++ kernel of the second pass, whose body is in the PTX. It filters the five planes along the
/// columns and adds up the SSIM.
///
/// # Safety
/// Blocks must have 16×8 threads, and the grid must cover the planes, which have one size. `sums` must have [`SUMS`]
/// elements.
#[kernel(launch_bounds(128))]
#[expect(unused_variables, reason = "the body of the kernel is in the PTX")]
unsafe fn ssim_columns(
    mean_a: View<f32>,
    mean_b: View<f32>,
    square_a: View<f32>,
    square_b: View<f32>,
    product: View<f32>,
    params: SsimParams,
    sums: SliceMut<u64>,
) {
}

/// Device memory for the original system's SSIM in two passes: five planes that the pass along rows writes and the
/// pass along columns reads, and the sums.
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
        let config = LaunchConfig::cover(SIZE.x, SIZE.y, [16, 8]);
        let (a, b, sums) = (a.view(), b.view(), self.sums.view_mut());
        let [mean_a, mean_b, square_a, square_b, product] =
            self.planes.each_mut().map(Image::view_mut);
        let rows = SsimRowsU8 { a, b, mean_a, mean_b, square_a, square_b, product, sums };
        // SAFETY: the blocks have 16×8 threads and cover the pictures. All pictures have the size `SIZE`, the planes fit
        // it, and there are `SUMS` sums.
        unsafe { stream.launch_unchecked(&config, &rows) }.expect("the rows");
        let [mean_a, mean_b, square_a, square_b, product] = self.planes.each_ref().map(Image::view);
        let (params, sums) = (SsimParams::new(255.0, 1), self.sums.view_mut());
        let columns = SsimColumns { mean_a, mean_b, square_a, square_b, product, params, sums };
        // SAFETY: as for the rows.
        unsafe { stream.launch_unchecked(&config, &columns) }.expect("the columns");
    }

    fn ssim(&self, stream: &Stream) -> f64 {
        let sums = self.sums.download(stream).expect("the sums");
        let pixels = f64::from((SIZE - MARGIN).element_product());
        sums[0] as i64 as f64 / f64::from(ONE) / pixels
    }
}

fn submit(comparer: &mut Comparer, stream: &Stream, pair: Compared<'_>) {
    comparer.submit(stream, pair, None).expect("a pair");
}

fn benches(criterion: &mut Criterion) {
    let Some(device) = gpu("ssim") else { return };
    let stream = device.stream().expect("a stream");
    let pairs: Vec<_> =
        (0..SETS as u32).map(|set| pair(&stream, SIZE, set, |level| level)).collect();
    let bytes = 2 * u64::from(SIZE.element_product());
    let mut comparer = Comparer::new(&stream, SIZE).expect("a comparer");

    let mut group = Group::new(criterion, &device, "ssim", "8 bits", SIZE.to_array(), bytes);
    bench_copy(&mut group, &stream, bytes);
    bench(&mut group, "fused", &stream, |set| {
        let [a, b] = &pairs[set];
        submit(&mut comparer, &stream, Compared::Luma8(a.view(), b.view()));
    });
    let [a, b] = &pairs[0];
    submit(&mut comparer, &stream, Compared::Luma8(a.view(), b.view()));
    let found = comparer.result(&stream).expect("a result").ssim;
    if let Some(reference) = reference("ssim") {
        let stream = reference.stream().expect("a stream");
        let mut passes = TwoPass::new(&stream);
        passes.submit(&stream, &pairs[0]);
        let ssim = passes.ssim(&stream);
        assert!((ssim - found).abs() < 5e-5, "c++: {ssim}, and fused {found}");
        let launch = |set: usize| passes.submit(&stream, &pairs[set]);
        bench_original(&mut group, "c++", &stream, launch);
    }
    group.finish();

    let mut group = Group::new(criterion, &device, "ssim", "10 bits", SIZE.to_array(), 2 * bytes);
    bench_copy(&mut group, &stream, 2 * bytes);
    let wide: Vec<_> = (0..SETS as u32).map(|set| pair(&stream, SIZE, set, u16::from)).collect();
    bench(&mut group, "fused", &stream, |set| {
        let [a, b] = &wide[set];
        let pair = Compared::Luma16 { a: a.view(), b: b.view(), bits: 10 };
        submit(&mut comparer, &stream, pair);
    });
    group.finish();
    drop(wide);

    let mut group = Group::new(criterion, &device, "ssim", "rgba", SIZE.to_array(), 4 * bytes);
    bench_copy(&mut group, &stream, 4 * bytes);
    let colour: Vec<_> =
        (0..SETS as u32).map(|set| pair(&stream, SIZE, set, |v| Rgba8::opaque(v, v, v))).collect();
    bench(&mut group, "fused", &stream, |set| {
        let [a, b] = &colour[set];
        submit(&mut comparer, &stream, Compared::Rgba8(a.view(), b.view()));
    });
    group.finish();
}

/// Measures the fused kernels with pictures from 720p to 8K.
fn sizes(criterion: &mut Criterion) {
    let Some(device) = gpu("ssim, by size") else { return };
    let stream = device.stream().expect("a stream");
    for size in SIZES {
        let bytes = 2 * u64::from(size.element_product());
        let mut group =
            Group::new(criterion, &device, "ssim", "8 bits", size.to_array(), bytes).briefly();
        let pairs: Vec<_> =
            (0..group.sets() as u32).map(|set| pair(&stream, size, set, |level| level)).collect();
        let mut comparer = Comparer::new(&stream, size).expect("a comparer");
        bench_copy(&mut group, &stream, bytes);
        bench(&mut group, "fused", &stream, |set| {
            let [a, b] = &pairs[set];
            submit(&mut comparer, &stream, Compared::Luma8(a.view(), b.view()));
        });
        group.finish();
    }
}

criterion_group!(all, benches, sizes);
criterion_main!(all);
