//! Benchmarks the separable convolution of a 3840×2160 picture of f32 with 7, 15 and 31 taps along each axis. The bench
//! compares our kernel with a copy of the picture, and with the kernels of the original
//! system, reimplemented in CUDA C++ (`benches/cuda/convolve.cu`), if `PANOWEAVE_REFERENCE_PTX` names a folder with
//! `convolve.ptx`. It then measures both gradients of a picture, and the convolution in one launch from 720p to 8K.
//!
//! The copy reads as many bytes as the input picture has, and writes as many as the result has. The tile sizes and the
//! number of results per thread are constants in `shared-types/src/convolve.rs`.

use criterion::{Criterion, criterion_group, criterion_main};
use cuda_std::constant;
use cuda_std::prelude::*;
use glam::{UVec2, uvec2};
use panoweave::device::{Device, Image, LaunchConfig, Stream};
use panoweave::ops::convolve::{GradientFilter, SeparableFilter, Taps};
use panoweave_benches::{Group, SETS, SIZES, bench, bench_copy, bench_original, gpu, reference};

const SIZE: UVec2 = uvec2(3840, 2160);

/// The block shape of the CUDA C++ kernels: columns and rows.
const BLOCK: [u32; 2] = [32, 8];

constant! {
    /// The taps that the CUDA C++ kernels use. The host sets them before it launches the kernels.
    static original_taps: [f32; 64];
}

/// Declares the CUDA C++ kernel for the pass along rows, whose body is in the PTX.
///
/// # Safety
/// Blocks must have the shape [`BLOCK`] and cover the picture. The dynamic shared memory must be large enough for the
/// input rows of a block, including the halo: the pixels beyond the block that its taps read.
#[kernel(launch_bounds(256))]
#[expect(unused_variables, reason = "the body of the kernel is in the PTX")]
unsafe fn original_rows(input: View<f32>, width: u32, out: ViewMut<f32>) {}

/// Declares the CUDA C++ kernel for the pass along columns, whose body is in the PTX.
///
/// # Safety
/// The preconditions of [`original_rows`] apply, with columns instead of rows.
#[kernel(launch_bounds(256))]
#[expect(unused_variables, reason = "the body of the kernel is in the PTX")]
unsafe fn original_columns(input: View<f32>, width: u32, out: ViewMut<f32>) {}

/// Launches the CUDA C++ kernels of both passes.
fn original(
    stream: &Stream,
    width: u32,
    input: &Image<f32>,
    between: &mut Image<f32>,
    out: &mut Image<f32>,
) {
    let [columns, rows] = BLOCK;
    let halo = width / 2 * 2;
    let config = LaunchConfig::cover(SIZE.x, SIZE.y, BLOCK);
    let along_rows = config.with_dynamic_shared(4 * rows * (columns + halo));
    let along_columns = config.with_dynamic_shared(4 * columns * (rows + halo));
    // SAFETY: The blocks have the shape `BLOCK` and cover the picture. The shared memory has space for the halo.
    unsafe {
        let kernel = OriginalRows { input: input.view(), width, out: between.view_mut() };
        stream.launch_unchecked(&along_rows, &kernel).expect("the pass along rows");
        let kernel = OriginalColumns { input: between.view(), width, out: out.view_mut() };
        stream.launch_unchecked(&along_columns, &kernel).expect("the pass along columns");
    }
}

/// Creates a picture of pseudorandom values from 0 to 255.
fn picture(stream: &Stream, size: UVec2, seed: u32) -> Image<f32> {
    let mut state = seed.wrapping_mul(2_654_435_761) | 1;
    let mut noise = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        (state >> 8) as f32 * (255.0 / (1 << 24) as f32)
    };
    let pixels: Vec<_> = (0..size.element_product()).map(|_| noise()).collect();
    Image::from_slice(stream, size.x, size.y, &pixels).expect("a picture")
}

fn image(device: &Device, size: UVec2) -> Image<f32> {
    Image::new(device, size.x, size.y).expect("memory for a picture")
}

/// Checks that corresponding pixels of two pictures differ by at most 0.01, a tolerance for rounding.
fn check(found: &[f32], expected: &[f32]) {
    let far = |(a, b): (&f32, &f32)| (a - b).abs() > 1e-2;
    let wrong = found.iter().zip(expected).filter(|&pair| far(pair)).count();
    assert!(wrong == 0, "{wrong} pixels of the original differ");
}

fn benches(criterion: &mut Criterion) {
    let Some(device) = gpu("convolve") else { return };
    let reference = reference("convolve").map(|device| device.stream().expect("a stream"));
    let stream = device.stream().expect("a stream");
    let inputs: Vec<_> = (0..SETS as u32).map(|set| picture(&stream, SIZE, set)).collect();
    let mut outputs: Vec<_> = (0..SETS).map(|_| image(&device, SIZE)).collect();
    let mut others: Vec<_> = (0..SETS).map(|_| image(&device, SIZE)).collect();
    let bytes = 2 * 4 * u64::from(SIZE.element_product());

    for width in [7, 15, 31] {
        // Choose the largest σ whose Gaussian has this number of taps.
        let taps = Taps::gaussian(width as f32 / 6.2).expect("a Gaussian");
        assert_eq!(taps.width(), width);
        let mut filter = SeparableFilter::new(&stream, &taps, &taps).expect("a filter");

        let of = format!("{width} taps");
        let mut group = Group::new(criterion, &device, "convolve", &of, SIZE.to_array(), bytes);
        bench_copy(&mut group, &stream, bytes);
        bench(&mut group, "one launch", &stream, |set| {
            filter
                .convolve(&stream, inputs[set].view(), outputs[set].view_mut())
                .expect("a convolution");
        });
        let Some(reference) = &reference else { continue };
        let set = reference.device().set_constant::<original_taps>(taps.as_slice());
        set.expect("the original's taps; compile it with -rdc=true");
        let (input, between, out) = (&inputs[0], &mut others[0], &mut outputs[0]);
        original(reference, width, input, between, out);
        let original_result = out.download(reference).expect("the original's result");
        filter.convolve(&stream, input.view(), out.view_mut()).expect("a convolution");
        check(&original_result, &out.download(&stream).expect("a result"));
        bench_original(&mut group, "c++", reference, |set| {
            original(reference, width, &inputs[set], &mut others[set], &mut outputs[set]);
        });
        group.finish();
    }

    let mut gradients = GradientFilter::new(&stream, 1.0).expect("a filter");
    let [smooth, derive] = [Taps::gaussian(1.0), Taps::gaussian_derivative(1.0)];
    let [smooth, derive] = [smooth, derive].map(|taps| taps.expect("taps"));
    let mut alone = [(&derive, &smooth), (&smooth, &derive)].map(|(horizontal, vertical)| {
        SeparableFilter::new(&stream, horizontal, vertical).expect("a filter")
    });
    let bytes = bytes / 2 * 3;
    let mut group = Group::new(criterion, &device, "convolve", "gradients", SIZE.to_array(), bytes);
    bench_copy(&mut group, &stream, bytes);
    bench(&mut group, "one launch", &stream, |set| {
        let (x, y) = (outputs[set].view_mut(), others[set].view_mut());
        gradients.convolve(&stream, inputs[set].view(), x, y).expect("gradients");
    });
    bench(&mut group, "two launches", &stream, |set| {
        for (filter, out) in alone.iter_mut().zip([&mut outputs, &mut others]) {
            let out = out[set].view_mut();
            filter.convolve(&stream, inputs[set].view(), out).expect("a gradient");
        }
    });
    group.finish();
}

/// Measures the convolution in one launch with pictures from 720p to 8K.
fn sizes(criterion: &mut Criterion) {
    let Some(device) = gpu("convolve, by size") else { return };
    let stream = device.stream().expect("a stream");
    for size in SIZES {
        let bytes = 2 * 4 * u64::from(size.element_product());
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        for width in [7, 15, 31] {
            let taps = Taps::gaussian(width as f32 / 6.2).expect("a Gaussian");
            let mut filter = SeparableFilter::new(&stream, &taps, &taps).expect("a filter");
            let of = format!("{width} taps");
            let mut group =
                Group::new(criterion, &device, "convolve", &of, size.to_array(), bytes).briefly();
            for set in inputs.len()..group.sets() {
                inputs.push(picture(&stream, size, set as u32));
                outputs.push(image(&device, size));
            }
            bench_copy(&mut group, &stream, bytes);
            bench(&mut group, "one launch", &stream, |set| {
                let (input, out) = (inputs[set].view(), outputs[set].view_mut());
                filter.convolve(&stream, input, out).expect("a convolution");
            });
            group.finish();
        }
    }
}

criterion_group!(all, benches, sizes);
criterion_main!(all);
