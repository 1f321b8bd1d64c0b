//! Benchmarks the resampling of 256 and 8192 batches. Each batch has 500 source and 250 target times, with 32 values
//! per time, in bf16, f32 and f16. The bench compares our kernels with a copy, and with the kernels of the original
//! system, reimplemented in CUDA C++ (`benches/cuda/resample.cu`), if `PANOWEAVE_REFERENCE_PTX` names a folder with
//! `resample.ptx`. It then measures bf16 in 32 to 2048 batches.
//!
//! Evenly spaced targets need the values of every source time, so the kernel must read all values once. Targets at
//! arbitrary positions, in random or ascending order, need about 63 % of the values. The copy reads half of the needed
//! bytes and writes the other half. The data of 8192 batches exceeds any cache, so all launches reuse one buffer set.

use criterion::{Criterion, criterion_group, criterion_main};
use cuda_std::prelude::*;
use half::{bf16, f16};
use panoweave::device::{Buffer, Device, Image, LaunchConfig, Stream};
use panoweave::ops::resample::{Resampler, Resampling, Sampled};
use panoweave_benches::{Group, SETS, Size, bench, bench_copy, bench_original, gpu, reference};
use panoweave_tests::number::Number;
use shared_types::resample::{BLOCK_THREADS, FINE};

/// The number of source times per batch.
const SOURCES: u32 = 500;
/// The number of target times per batch.
const TARGETS: u32 = 250;
/// The number of values per source time.
const WIDTH: u32 = 32;
/// The number of blocks of the original system per multiprocessor: as many as its 2048 threads allow.
const RESIDENT: u32 = 2048 / BLOCK_THREADS;

/// Declares a CUDA C++ kernel, whose body is in the PTX.
macro_rules! original {
    ($name:ident, $value:ty) => {
        /// Resamples with one thread per target time. A block copies the source times of its batch to shared memory.
        /// Does not detect invalid times.
        ///
        /// # Safety
        /// `times`, `values`, `targets` and `out` must have the sizes that [`Resampling`] documents. The dynamic shared
        /// memory must be large enough for the source times of a batch.
        #[kernel(launch_bounds(256))]
        #[expect(unused_variables, reason = "the body of the kernel is in the PTX")]
        unsafe fn $name(
            times: View<f32>,
            values: View<$value>,
            targets: View<f32>,
            out: ViewMut<$value>,
            fault: SliceMut<u64>,
        ) {
        }
    };
}
original!(original_resample_bf16, bf16);
original!(original_resample_f32, f32);
original!(original_resample_f16, f16);

/// A function that launches a kernel of the original system.
type Launch<V> = fn(&Stream, &LaunchConfig, Resampling<'_, V>, &mut Buffer<u64>);

macro_rules! launch {
    ($kernel:ident) => {
        |stream, config, Resampling { times, values, targets, out }, fault| {
            let (times, values, targets) = (times.view(), values.view(), targets.view());
            let (out, fault) = (out.view_mut(), fault.view_mut());
            let kernel = $kernel { times, values, targets, out, fault };
            // SAFETY: The images come from one `Resampling`, so their sizes match. The dynamic shared memory of
            // `config` is large enough for the source times of a batch.
            unsafe { stream.launch_unchecked(config, &kernel) }.expect("a resampling");
        }
    };
}

/// Allocates rows of values without padding. With the default pitch, padding would take most of the memory.
fn tight<V: bytemuck::Pod>(stream: &Stream, rows: u32) -> Image<V> {
    let pitch = u64::from(WIDTH) * size_of::<V>() as u64;
    Image::with_pitch(stream.device(), WIDTH, rows, pitch).expect("memory for values")
}

/// The positions of a batch's target times relative to its source times.
#[derive(Clone, Copy)]
enum Targets {
    /// One target between every second source time and its successor.
    Even,
    /// Arbitrary positions in random order.
    Random,
    /// Arbitrary positions in ascending order, like frame times at which a track of keyframes is sampled.
    Ascending,
}

impl Targets {
    const ALL: [Self; 3] = [Self::Even, Self::Random, Self::Ascending];

    fn name(self) -> &'static str {
        match self {
            Self::Even => "even",
            Self::Random => "random",
            Self::Ascending => "ascending",
        }
    }
}

/// The input and output images of one resampling.
struct Set<V: Number + Sampled<Time = f32>> {
    times: Image<f32>,
    values: Image<V>,
    targets: Image<f32>,
    out: Image<V>,
}

impl<V: Number + Sampled<Time = f32>> Set<V> {
    /// Creates unevenly spaced source times, targets at the positions that `placed` selects, and random values.
    fn new(stream: &Stream, batches: u32, placed: Targets, seed: u32) -> Self {
        let mut state = seed.wrapping_mul(2_654_435_761) | 1;
        let mut noise = || {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            f64::from(state) / f64::from(u32::MAX)
        };
        let mut make = |count: u32, place: &dyn Fn(u32, f64) -> f64| -> Vec<f32> {
            (0..batches * count).map(|i| (0.01 * place(i % count, noise())) as f32).collect()
        };
        let times = make(SOURCES, &|i, noise| f64::from(i) + 0.4 * noise);
        let between = |i, noise| 0.5 + f64::from(SOURCES / TARGETS * i) + 0.4 * noise;
        let anywhere = |_, noise| f64::from(SOURCES - 1) * noise;
        let targets = match placed {
            Targets::Even => make(TARGETS, &between),
            Targets::Random => make(TARGETS, &anywhere),
            Targets::Ascending => {
                let mut targets = make(TARGETS, &anywhere);
                for batch in targets.chunks_mut(TARGETS as usize) {
                    batch.sort_by(f32::total_cmp);
                }
                targets
            }
        };
        let image = |of: &[f32], count| Image::from_slice(stream, count, batches, of);
        let times = image(&times, SOURCES).expect("times");
        let targets = image(&targets, TARGETS).expect("targets");
        let rows = batches * SOURCES;
        let values: Vec<_> = (0..rows * WIDTH).map(|_| V::from_f64(2.0 * noise() - 1.0)).collect();
        let mut source = tight(stream, rows);
        source.upload(stream, &values).expect("values");
        Self { times, values: source, targets, out: tight(stream, batches * TARGETS) }
    }

    fn resampling(&mut self) -> Resampling<'_, V> {
        let Self { times, values, targets, out } = self;
        Resampling { times, values, targets, out }
    }

    /// Returns the minimum number of bytes to move: all source and target times, all results, and only those source
    /// values whose time is directly before or after a target time.
    fn bytes(&self, stream: &Stream) -> u64 {
        let [times, targets] =
            [&self.times, &self.targets].map(|times| times.download(stream).expect("times"));
        let mut rows = vec![false; times.len()];
        let batches = times.chunks(SOURCES as usize).zip(targets.chunks(TARGETS as usize));
        for ((times, targets), rows) in batches.zip(rows.chunks_mut(SOURCES as usize)) {
            for target in targets {
                let next = times.partition_point(|time| time <= target);
                rows[next.saturating_sub(1)] = true;
                rows[next.min(times.len() - 1)] = true;
            }
        }
        let rows = rows.iter().filter(|needed| **needed).count() + targets.len();
        let of_times = (times.len() + targets.len()) * size_of::<f32>();
        (of_times + rows * WIDTH as usize * size_of::<V>()) as u64
    }

    fn result(&self, stream: &Stream) -> Vec<V> {
        self.out.download(stream).expect("a result")
    }
}

/// Checks that corresponding values of two results differ by at most 0.01, a tolerance for rounding.
fn check<V: Number>(name: &str, found: &[V], expected: &[V]) {
    let far = |(a, b): (&V, &V)| (a.to_f64() - b.to_f64()).abs() > 0.01;
    let wrong = found.iter().zip(expected).filter(|&pair| far(pair)).count();
    assert!(wrong == 0, "{wrong} values of {name} differ");
}

/// The state of the bench: criterion, the device for our kernels, and the device for the CUDA C++ kernels if they are
/// available.
struct Bench<'a> {
    criterion: &'a mut Criterion,
    device: &'a Device,
    reference: Option<&'a Device>,
}

impl Bench<'_> {
    fn values<V: Number + Sampled<Time = f32>>(&mut self, of: &str, original: Launch<V>) {
        for placed in Targets::ALL {
            for (batches, sets) in [(256, SETS), (8192, 1)] {
                self.batches(of, placed, batches, sets, original);
            }
        }
    }

    fn batches<V: Number + Sampled<Time = f32>>(
        &mut self,
        of: &str,
        placed: Targets,
        batches: u32,
        sets: usize,
        original: Launch<V>,
    ) {
        let device = self.device;
        let stream = device.stream().expect("a stream");
        let set = |seed| Set::<V>::new(&stream, batches, placed, seed as u32);
        let mut sets: Vec<_> = (0..sets).map(set).collect();
        let count = sets.len();
        let bytes = sets[0].bytes(&stream);
        let of = format!("{of}, {}", placed.name());

        let size = Size(format!("{batches} batches"));
        let mut group = Group::new(self.criterion, device, "resample", &of, size, bytes);
        bench_copy(&mut group, &stream, bytes);
        let mut resampler = Resampler::new(&stream).expect("a resampler");
        resampler.submit(&stream, sets[0].resampling()).expect("a resampling");
        let expected = sets[0].result(&stream);
        bench(&mut group, "rust", &stream, |set| {
            resampler.submit(&stream, sets[set % count].resampling()).expect("a resampling");
        });
        resampler.check(&stream).expect("times that ascend");
        if let Some(device) = self.reference {
            let resident = device.cuda_info().map_or(1, |info| info.multiprocessors) * RESIDENT;
            let blocks = batches.min(resident);
            let config = LaunchConfig::cover(blocks * BLOCK_THREADS, 1, [BLOCK_THREADS, 1])
                .with_dynamic_shared(SOURCES * size_of::<f32>() as u32);
            let stream = device.stream().expect("a stream");
            let mut fault = Buffer::from_slice(&stream, &[FINE]).expect("a fault");
            original(&stream, &config, sets[0].resampling(), &mut fault);
            check("c++", &sets[0].result(&stream), &expected);
            bench_original(&mut group, "c++", &stream, |set| {
                original(&stream, &config, sets[set % count].resampling(), &mut fault);
            });
        }
        group.finish();
    }
}

fn benches(criterion: &mut Criterion) {
    let Some(device) = gpu("resample") else { return };
    let reference = reference("resample");
    let mut bench = Bench { criterion, device: &device, reference: reference.as_ref() };
    bench.values::<bf16>("bf16", launch!(OriginalResampleBf16));
    bench.values::<f32>("f32", launch!(OriginalResampleF32));
    bench.values::<f16>("f16", launch!(OriginalResampleF16));
}

/// Measures our resampling kernel with 32 to 2048 batches.
fn sizes(criterion: &mut Criterion) {
    let Some(device) = gpu("resample, by batches") else { return };
    let stream = device.stream().expect("a stream");
    let mut resampler = Resampler::new(&stream).expect("a resampler");
    for batches in [32, 64, 512, 2048] {
        let first = Set::<bf16>::new(&stream, batches, Targets::Even, 0);
        let (size, bytes) = (Size(format!("{batches} batches")), first.bytes(&stream));
        let mut group =
            Group::new(criterion, &device, "resample", "bf16, even", size, bytes).briefly();
        let others = 1..group.sets() as u32;
        let others = others.map(|seed| Set::new(&stream, batches, Targets::Even, seed));
        let mut sets: Vec<_> = std::iter::once(first).chain(others).collect();
        bench_copy(&mut group, &stream, bytes);
        bench(&mut group, "rust", &stream, |set| {
            resampler.submit(&stream, sets[set].resampling()).expect("a resampling");
        });
        resampler.check(&stream).expect("times that ascend");
        group.finish();
    }
}

criterion_group!(all, benches, sizes);
criterion_main!(all);
