//! Measures variants of the same work side by side, with device events or the host's clock. Criterion prints the
//! times, and a record stores them.

use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, SamplingMode, Throughput};
use panoweave::device::{Device, Event, Image, Stream};
use panoweave_bench_report::{Line, Role, Row};

use crate::{SETS, record};

/// The number of samples per variant.
const SAMPLES: usize = 20;

/// The minimum total time of the launches in one sample. It is so long that the round trip to the device, which takes a
/// few µs, is negligible. Without this minimum, criterion could choose a single launch per sample: it estimates the
/// number of launches from the warm-up, in which the first launch may be slow.
const SAMPLE: Duration = Duration::from_millis(5);

/// The minimum number of bytes that launches move before they reuse a buffer set. It exceeds the cache of any GPU.
const ROUND: u64 = 192 << 20;

/// Measurements of variants of the same work.
pub struct Group<'a> {
    criterion: BenchmarkGroup<'a, WallTime>,
    device: Device,
    system: String,
    work: String,
    size: String,
    bytes: u64,
    sets: usize,
}

/// The amount of work, such as `5700×1900` or `256 batches`.
pub struct Size(pub String);

impl From<[u32; 2]> for Size {
    fn from([width, height]: [u32; 2]) -> Self {
        Self(format!("{width}×{height}"))
    }
}

impl<'a> Group<'a> {
    /// Creates a group for the operation `work` of the system `system`, such as `7 taps` of `convolve`. `bytes` is the
    /// minimum number of bytes that the operation must read and write.
    pub fn new(
        criterion: &'a mut Criterion,
        device: &Device,
        system: &str,
        work: &str,
        size: impl Into<Size>,
        bytes: u64,
    ) -> Self {
        let Size(size) = size.into();
        let name = format!("{system}/{work}/{size}/{device}");
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Bytes(bytes)).sample_size(SAMPLES).nresamples(2000);
        // All samples have the same number of launches.
        group.sampling_mode(SamplingMode::Flat);
        group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_millis(600));
        let (system, work) = (system.to_owned(), work.to_owned());
        Self { criterion: group, device: device.clone(), system, work, size, bytes, sets: SETS }
    }

    /// Shortens the measurement, for work that is measured at several sizes. Also adapts the number of buffer sets to
    /// the size of the work, so that all sets together exceed the cache of any GPU.
    #[must_use]
    pub fn briefly(mut self) -> Self {
        self.criterion
            .warm_up_time(Duration::from_millis(150))
            .measurement_time(Duration::from_millis(300));
        self.sets = ROUND.div_ceil(self.bytes.max(1)).clamp(2, 96) as usize;
        self
    }

    /// Sets the number of samples per variant.
    pub fn samples(&mut self, samples: usize) {
        self.criterion.sample_size(samples);
    }

    /// Returns the number of buffer sets that the launches use in turn. Each launch gets the index of its set.
    #[must_use]
    pub fn sets(&self) -> usize {
        self.sets
    }

    /// Finishes the benchmark group of criterion, which prints its summary.
    pub fn finish(self) {
        self.criterion.finish();
    }

    /// Measures `run`, which returns the time of a given number of repetitions, and records it.
    fn measure(
        &mut self,
        variant: &str,
        role: Role,
        by_clock: bool,
        bytes: u64,
        mut run: impl FnMut(u64) -> Duration,
    ) {
        let (mut times, mut before) = (Vec::new(), 0);
        self.criterion.bench_function(variant, |bencher| {
            bencher.iter_custom(|many| {
                let whole = run(many);
                // Criterion calls this closure for the warm-up, too, and doubles `many` with each call, until it is
                // larger than in the samples. So when `many` decreases, the warm-up is over: discard its times.
                if many < before {
                    times.clear();
                }
                before = many;
                times.push(1e6 * whole.as_secs_f64() / many as f64);
                whole
            });
        });
        times.sort_by(f64::total_cmp);
        // `cargo test` runs each bench only once. A single time is not a measurement, so do not record it.
        let [min_us, .., max_us] = times[..] else { return };
        let median_us = f64::midpoint(times[(times.len() - 1) / 2], times[times.len() / 2]);
        let row = Row {
            system: self.system.clone(),
            work: self.work.clone(),
            size: self.size.clone(),
            bytes,
            variant: variant.to_owned(),
            role,
            by_clock,
            median_us,
            min_us,
            max_us,
            samples: times.len() as u32,
        };
        record::append(&self.device, Line::Row(row));
    }

    /// Measures and records launches like [`measure`](Self::measure), but times them on the device, with one event
    /// before and one after the launches.
    fn measure_launches(
        &mut self,
        variant: &str,
        role: Role,
        bytes: u64,
        stream: &Stream,
        mut launch: impl FnMut(usize),
    ) {
        let sets = self.sets;
        let mut least = None;
        self.measure(variant, role, false, bytes, |launches| {
            let least = *least.get_or_insert_with(|| {
                // Do not measure the first launches, which build data such as a mesh.
                time(stream, sets, sets as u64, &mut launch);
                let mut many = 1;
                while many < 1 << 16 && time(stream, sets, many, &mut launch) < SAMPLE {
                    many *= 2;
                }
                many
            });
            let many = launches.max(least);
            time(stream, sets, many, &mut launch).mul_f64(launches as f64 / many as f64)
        });
    }
}

/// Calls `launch` `launches` times, each time with the index of the buffer set to use, from 0 to `sets - 1`. Returns
/// the device time from an event before the first launch to an event after the last launch.
///
/// # Panics
/// Panics if the device fails.
pub fn time(
    stream: &Stream,
    sets: usize,
    launches: u64,
    launch: &mut impl FnMut(usize),
) -> Duration {
    let event = || Event::new(stream.device()).expect("an event");
    let (start, end) = (event(), event());
    start.record(stream).expect("recording the start");
    for i in 0..launches {
        launch(i as usize % sets);
    }
    end.record(stream).expect("recording the end");
    end.synchronize().expect("the launches");
    end.since(&start).expect("the time between the events")
}

/// Measures and records launches of this library's variant `name`.
///
/// # Panics
/// Panics if the device fails, or the record cannot be written.
pub fn bench(group: &mut Group<'_>, name: &str, stream: &Stream, launch: impl FnMut(usize)) {
    group.measure_launches(name, Role::Ours, group.bytes, stream, launch);
}

/// Measures a kernel of the original system, reimplemented in CUDA C++, like [`bench()`]. The report compares our
/// variants with it if the text before the last `/` of the name is the same: it compares `fast/mesh` with `fast/c++`.
/// An original whose name has no `/` is the fallback for all other variants.
///
/// # Panics
/// Panics in the same cases as [`bench()`].
pub fn bench_original(
    group: &mut Group<'_>,
    name: &str,
    stream: &Stream,
    launch: impl FnMut(usize),
) {
    group.measure_launches(name, Role::Original, group.bytes, stream, launch);
}

/// Measures a copy that reads `bytes / 2` bytes and writes as many, like [`bench()`]. Its time is the lower bound for
/// work that moves `bytes` bytes, unless the work is so short that the pause between two copies matters.
///
/// # Panics
/// Panics in the same cases as [`bench()`].
pub fn bench_copy(group: &mut Group<'_>, stream: &Stream, bytes: u64) {
    // Copy a single row, which is faster: on an H100, 66 MB take 25.8 µs as one row, and 42.6 µs in rows of 16 KiB.
    let row = bytes.div_ceil(2) as u32;
    let image = || Image::<u8>::new(stream.device(), row, 1).expect("memory to copy");
    let mut sets: Vec<_> = (0..group.sets).map(|_| (image(), image())).collect();
    group.measure_launches("copy", Role::Copy, 2 * u64::from(row), stream, |set| {
        let (from, to) = &mut sets[set];
        to.copy_from(stream, from).expect("a copy");
    });
}

/// Measures work that includes host time, like [`bench()`] but with the host's clock. `run` returns the time of a given
/// number of repetitions.
///
/// # Panics
/// Panics in the same cases as [`bench()`].
pub fn bench_by_clock(group: &mut Group<'_>, name: &str, run: impl FnMut(u64) -> Duration) {
    group.measure(name, Role::Ours, true, group.bytes, run);
}

/// Measures an implementation by another library, like [`bench_by_clock`].
///
/// # Panics
/// Panics in the same cases as [`bench()`].
pub fn bench_peer_by_clock(group: &mut Group<'_>, name: &str, run: impl FnMut(u64) -> Duration) {
    group.measure(name, Role::Peer, true, group.bytes, run);
}

/// Measures only the copies that some work needs, like [`bench_by_clock`]. The time of the copies is a lower bound for
/// the time of this work.
///
/// # Panics
/// Panics in the same cases as [`bench()`].
pub fn bench_copies_by_clock(group: &mut Group<'_>, name: &str, run: impl FnMut(u64) -> Duration) {
    group.measure(name, Role::Copy, true, group.bytes, run);
}
