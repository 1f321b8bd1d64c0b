//! Measuring: variants of the same work side by side, timed by device events or the clock, printed by criterion, and
//! recorded.

use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, SamplingMode, Throughput};
use panoweave::device::{Device, Event, Image, Stream};
use panoweave_bench_report::record::{Line, Role, Row, Size, Timer, Work};

use crate::{SETS, record};

/// Samples of each variant.
const SAMPLES: usize = 20;

/// How long the launches of a sample take at least, so that the way to the device and back, some µs, is not in it.
/// Criterion plans samples by the warm-up, where a slow first launch would have it ask for one launch at a time.
const SAMPLE: Duration = Duration::from_millis(5);

/// Bytes that buffers in rotation move in a round at least: more than the cache of any GPU holds.
const ROUND: u64 = 192 << 20;

/// Variants of the same work.
pub struct Group<'a> {
    criterion: BenchmarkGroup<'a, WallTime>,
    device: Device,
    work: Work,
    sets: usize,
}

impl<'a> Group<'a> {
    /// Of the system `system` the work `of`, that much of it, which must move that many bytes, each counted once.
    pub fn new(
        criterion: &'a mut Criterion,
        device: &Device,
        system: &str,
        of: &str,
        size: impl Into<Size>,
        bytes: u64,
    ) -> Self {
        let size = size.into();
        let name = format!("{system}/{of}/{size}/{device}");
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Bytes(bytes)).sample_size(SAMPLES).nresamples(2000);
        // Every sample of as many launches.
        group.sampling_mode(SamplingMode::Flat);
        group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_millis(600));
        let work = Work { system: system.to_owned(), of: of.to_owned(), size, bytes };
        Self { criterion: group, device: device.clone(), work, sets: SETS }
    }

    /// For one of a row of sizes: shorter, and over as many buffers as it takes for none to stay in a cache.
    #[must_use]
    pub fn briefly(mut self) -> Self {
        self.criterion
            .warm_up_time(Duration::from_millis(150))
            .measurement_time(Duration::from_millis(300));
        self.sets = ROUND.div_ceil(self.work.bytes.max(1)).clamp(2, 96) as usize;
        self
    }

    /// Other than the usual number of samples.
    pub fn samples(&mut self, samples: usize) {
        self.criterion.sample_size(samples);
    }

    /// How many sets of buffers launches rotate over: those given to a launch are below.
    #[must_use]
    pub fn sets(&self) -> usize {
        self.sets
    }

    /// Ends it, as criterion wants.
    pub fn finish(self) {
        self.criterion.finish();
    }

    /// Measures what takes the time of so many, and records it. Returns the median time of one in µs, or `None` where
    /// the command line left it out.
    fn measure(
        &mut self,
        variant: &str,
        role: Role,
        timer: Timer,
        bytes: u64,
        mut run: impl FnMut(u64) -> Duration,
    ) -> Option<f64> {
        let (mut times, mut before) = (Vec::new(), 0);
        self.criterion.bench_function(variant, |bencher| {
            bencher.iter_custom(|many| {
                let whole = run(many);
                // Criterion warms up by twice as many each time, more than a sample then has.
                if many < before {
                    times.clear();
                }
                before = many;
                times.push(1e6 * whole.as_secs_f64() / many as f64);
                whole
            });
        });
        times.sort_by(f64::total_cmp);
        // A run of `cargo test` tries each once, which is no measurement.
        let [min_us, .., max_us] = times[..] else { return None };
        let median_us = f64::midpoint(times[(times.len() - 1) / 2], times[times.len() / 2]);
        let work = Work { bytes, ..self.work.clone() };
        let (variant, samples) = (variant.to_owned(), times.len() as u32);
        let row = Row { work, variant, role, timer, median_us, min_us, max_us, samples };
        record::append(&self.device, Line::Row(row));
        Some(median_us)
    }

    /// As above, by events before and after the launches.
    fn measure_launches(
        &mut self,
        variant: &str,
        role: Role,
        bytes: u64,
        stream: &Stream,
        mut launch: impl FnMut(usize),
    ) -> Option<f64> {
        let sets = self.sets;
        let mut least = None;
        self.measure(variant, role, Timer::Events, bytes, |launches| {
            let least = *least.get_or_insert_with(|| {
                // What the first launches make, such as a mesh, is not measured.
                time(stream, sets, sets as u64, &mut launch);
                let mut many = 1;
                while many < 1 << 16 && time(stream, sets, many, &mut launch) < SAMPLE {
                    many *= 2;
                }
                many
            });
            let many = launches.max(least);
            time(stream, sets, many, &mut launch).mul_f64(launches as f64 / many as f64)
        })
    }
}

/// Time of `launches` calls of `launch`, which gets the number of the buffer set to use, between two
/// events on the stream.
///
/// # Panics
/// If the device fails.
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

/// Benches `launch` under a name, and returns the median time of a launch in µs, or `None` where the
/// command line left it out.
///
/// # Panics
/// If the device fails, or the record cannot be written.
pub fn bench(
    group: &mut Group<'_>,
    name: &str,
    stream: &Stream,
    launch: impl FnMut(usize),
) -> Option<f64> {
    group.measure_launches(name, Role::Ours, group.work.bytes, stream, launch)
}

/// The same of the original design. It is compared with variants of the same manner, `fast` of `fast/c++`, and with
/// all of them if its name has no `/`.
///
/// # Panics
/// As of [`bench()`].
pub fn bench_original(
    group: &mut Group<'_>,
    name: &str,
    stream: &Stream,
    launch: impl FnMut(usize),
) -> Option<f64> {
    group.measure_launches(name, Role::Original, group.work.bytes, stream, launch)
}

/// Benches a copy of half of so many bytes, which moves as much as what must read and write them together: the floor under
/// it, where a launch is long enough that the pause between two copies is little.
///
/// # Panics
/// As of [`bench()`].
pub fn bench_copy(group: &mut Group<'_>, stream: &Stream, bytes: u64) -> Option<f64> {
    // One row. In rows of 16 KiB the driver's copy of 66 MB takes an H100 42.6 µs, in one 25.8.
    let row = bytes.div_ceil(2) as u32;
    let image = || Image::<u8>::new(stream.device(), row, 1).expect("memory to copy");
    let mut sets: Vec<_> = (0..group.sets).map(|_| (image(), image())).collect();
    group.measure_launches("copy", Role::Copy, 2 * u64::from(row), stream, |set| {
        let (from, to) = &mut sets[set];
        to.copy_from(stream, from).expect("a copy");
    })
}

/// Benches what takes the host's time too: `run` returns that of so many.
///
/// # Panics
/// As of [`bench()`].
pub fn bench_by_clock(
    group: &mut Group<'_>,
    name: &str,
    run: impl FnMut(u64) -> Duration,
) -> Option<f64> {
    group.measure(name, Role::Ours, Timer::Clock, group.work.bytes, run)
}

/// The same of another library.
///
/// # Panics
/// As of [`bench()`].
pub fn bench_peer_by_clock(
    group: &mut Group<'_>,
    name: &str,
    run: impl FnMut(u64) -> Duration,
) -> Option<f64> {
    group.measure(name, Role::Peer, Timer::Clock, group.work.bytes, run)
}

/// The same of copies alone, than which nothing that copies as much is faster.
///
/// # Panics
/// As of [`bench()`].
pub fn bench_copies_by_clock(
    group: &mut Group<'_>,
    name: &str,
    run: impl FnMut(u64) -> Duration,
) -> Option<f64> {
    group.measure(name, Role::Copy, Timer::Clock, group.work.bytes, run)
}
