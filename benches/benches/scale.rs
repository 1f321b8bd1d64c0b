//! Searches for the number of live camera pairs that each GPU of a machine sustains at once. Each pair has its own
//! stitcher, with NV12 input and output at 30 frames per second. The bench measures the first GPU alone, then all GPUs
//! at once, then each other GPU alone.
//!
//! The search doubles the number of pairs until the GPU cannot keep pace, and then bisects. A GPU cannot keep pace if a
//! pair of frames is dropped, or if the 99th percentile of the latency exceeds two frame intervals. The bottleneck is
//! the resource that is busy nearly all the time: the bus (copies, measured alone), the GPU (stitches, measured alone)
//! or the processor (measured during the run). If there is none, the bottleneck is unknown.
//!
//! This bench does not use criterion, because it searches without repeating measurements. It ends after
//! `PANOWEAVE_SCALE_SECONDS` (75 by default, and 5 without `--bench`), and prints which sizes it did not measure. By
//! default, it acts like a camera driver that writes frames into page-locked memory. With
//! `PANOWEAVE_SCALE_FEED=copied`, it copies frames there as [`Stitcher::push`] does.
//!
//! [`Stitcher::push`]: panoweave::live::Stitcher::push

use std::thread;
use std::time::{Duration, Instant};

use cust::sys;
use panoweave::device::{Device, DeviceError};
use panoweave::live::LiveError;
use panoweave::ops::stitch::{StitchOptions, stitch};
use panoweave::warp::DeviceWarp;
use panoweave_bench_report::record::{Line, Scale, Size};
use panoweave_benches::copies::{Copies, enter};
use panoweave_benches::crowd::{Crowd, Feed, Outcome, Pair, Watch, watch};
use panoweave_benches::search::{Found, largest};
use panoweave_benches::{SETS, frame, gpus, host, record, time};

/// The frame rate of each camera, in frames per second.
const FPS: f64 = 30.0;

/// The rows of a camera's frame, for 4K and 1080p.
const ROWS: [u32; 2] = [2160, 1080];

/// The maximum 99th percentile of the latency, in frame intervals, at which a GPU still keeps pace.
const INTERVALS: f64 = 2.0;

/// The precision of the search: if `n` is the largest number of pairs that kept pace, the search ends when a number of
/// at most `n + n / PART`, or of `n + 1`, did not keep pace.
const PART: u32 = 16;

/// The fraction of the time for which a resource must be busy to count as a bottleneck.
const FULL: f64 = 0.9;

/// A factor that limits the search. The times of one pair predict how many pairs the bus and the GPU can sustain; the
/// search tries at most this multiple of the prediction.
const BEYOND: f64 = 1.25;

/// The fraction of the host's free memory that may be page-locked.
const LOCKED: f64 = 0.6;
/// The fraction of a GPU's free memory that may be allocated.
const TAKEN: f64 = 0.9;

/// The maximum number of threads that create stitchers for one GPU. Each of them computes a whole warp.
const MAKERS: usize = 16;

/// The duration of a measurement with a number of pairs near the capacity of bus and GPU.
const WATCH: Watch =
    Watch { warm_up: Duration::from_millis(400), measure: Duration::from_millis(2500) };
/// The duration of a measurement with a number of pairs far below the capacity of bus and GPU.
const BRIEFLY: Watch = Watch { measure: Duration::from_millis(1000), ..WATCH };

/// The settings of the search.
struct Plan {
    /// The latest time at which the search may end.
    end: Instant,
    /// The maximum 99th percentile of the latency at which a GPU still keeps pace.
    most: Duration,
    feed: Feed,
    /// The number of host threads per GPU.
    cores: usize,
}

/// The times for which one pair of frames occupies the bus (`copies`) and the GPU (`stitch`).
#[derive(Clone, Copy)]
struct Taken {
    copies: Duration,
    stitch: Duration,
}

impl Taken {
    /// Measures the copies of a pair on all GPUs at once, and the stitch on the first GPU. Each [`Crowd`] contains the
    /// stitchers of one GPU.
    fn measure(crowds: &[Crowd<'_>], pair: &Pair) -> Result<Self, LiveError> {
        let formats = pair.formats();
        let mut copies = crowds
            .iter()
            .map(|crowd| Copies::new(crowd.device(), formats))
            .collect::<Result<Vec<_>, DeviceError>>()?;
        let pairs = (2_000_000_000 / pair.bytes()[0]).max(50);
        // The first round is a warm-up, because an idle bus is slower.
        let mut longest = Duration::ZERO;
        for pairs in [pairs / 10, pairs] {
            longest = thread::scope(|scope| {
                let run = |copies: &'_ mut Copies| copies.run(pairs);
                let running: Vec<_> =
                    copies.iter_mut().map(|copies| scope.spawn(move || run(copies))).collect();
                running.into_iter().map(|run| run.join().expect("copies")).max().unwrap_or_default()
            });
        }
        Ok(Self { copies: longest.div_f64(pairs as f64), stitch: Self::stitch(crowds, pair)? })
    }

    fn stitch(crowds: &[Crowd<'_>], pair: &Pair) -> Result<Duration, LiveError> {
        let stream = crowds[0].device().stream()?;
        let warp = DeviceWarp::render(&stream, pair.geometry())?;
        let mut sets: Vec<_> = (1..=SETS as u32)
            .map(|i| pair.formats().map(|format| frame(&stream, format, i)))
            .collect();
        let mut launch = |set: usize| {
            let [left, right, out] = &mut sets[set];
            stitch(
                &stream,
                &[(&*left).into(), (&*right).into()],
                &warp,
                &StitchOptions::default(),
                out,
            )
            .expect("a stitch");
        };
        time(&stream, SETS, 20, &mut launch);
        Ok(time(&stream, SETS, 200, &mut launch).div_f64(200.0))
    }

    /// Returns the fractions of the time for which `pairs` pairs at [`FPS`] keep the bus and the GPU busy.
    fn shares(&self, pairs: u32) -> [f64; 2] {
        let part = |time: Duration| f64::from(pairs) * FPS * time.as_secs_f64();
        [part(self.copies), part(self.stitch)]
    }

    /// Returns the largest number of pairs per GPU to try: [`BEYOND`] times as many as bus and GPU could sustain.
    fn most(&self) -> u32 {
        let [bus, gpu] = self.shares(1);
        (BEYOND / bus.max(gpu)).ceil() as u32 + 1
    }
}

/// Returns the number of stitchers per GPU for which device and host memory suffice. This number includes the stitchers
/// that already exist.
fn room(crowds: &[Crowd<'_>], pair: &Pair) -> u32 {
    let [on_device, locked] = pair.memory();
    let free = |crowd: &Crowd<'_>| {
        let _context = enter(crowd.device());
        let (mut free, mut total) = (0, 0);
        // SAFETY: The call writes `free` and `total`. `enter` has made the context current.
        let result = unsafe { sys::cuMemGetInfo_v2(&raw mut free, &raw mut total) };
        result.to_result().expect("the GPU's memory");
        crowd.len() as u32 + (TAKEN * free as f64 / on_device as f64) as u32
    };
    let there: usize = crowds.iter().map(Crowd::len).sum();
    let by_host = host::free_memory().map_or(u32::MAX, |free| {
        ((there as f64 + LOCKED * free as f64 / locked as f64) / crowds.len() as f64) as u32
    });
    crowds.iter().map(free).min().unwrap_or(0).min(by_host)
}

/// The results of a search. `held` contains the measurements with the largest number of pairs that kept pace.
struct Seen {
    found: Found,
    held: Option<Outcome>,
    /// The bottleneck, or the reason why larger numbers of pairs were not tried.
    limit: String,
}

impl Plan {
    fn new(begin: Instant, gpus: usize) -> Self {
        let variable = |name| std::env::var(name).ok();
        // `cargo bench` passes `--bench`, and `cargo test` does not.
        let is_bench = std::env::args().any(|argument| argument == "--bench");
        let seconds = match variable("PANOWEAVE_SCALE_SECONDS") {
            Some(text) => {
                text.parse().expect("PANOWEAVE_SCALE_SECONDS must be a number of seconds")
            }
            None if is_bench => 75,
            None => 5,
        };
        let feed = match variable("PANOWEAVE_SCALE_FEED").as_deref() {
            None | Some("in-place") => Feed::InPlace,
            Some("copied") => Feed::Copied,
            Some(other) => panic!("PANOWEAVE_SCALE_FEED must be in-place or copied, not {other}"),
        };
        let cores = (available() / gpus).max(1);
        let end = begin + Duration::from_secs(seconds);
        Self { end, most: Duration::from_secs_f64(INTERVALS / FPS), feed, cores }
    }

    /// Creates stitchers until each GPU has `n`, and measures them for the durations in `how`. Returns `None` if the
    /// search has not enough time left.
    fn run(
        &self,
        crowds: &mut [Crowd<'_>],
        n: u32,
        how: Watch,
    ) -> Result<Option<Outcome>, LiveError> {
        // The measurement must end before the search must end (`self.end`). Subtract its duration to get the latest
        // time at which the creation of stitchers may end.
        let end = self.end.checked_sub(how.warm_up + how.measure);
        let Some(end) = end.filter(|end| Instant::now() < *end) else { return Ok(None) };
        let makers = self.cores.min(MAKERS);
        let grow = |crowd: &mut Crowd<'_>| crowd.grow(n as usize, makers, end);
        let grown = thread::scope(|scope| {
            let growing: Vec<_> =
                crowds.iter_mut().map(|crowd| scope.spawn(move || grow(crowd))).collect();
            growing.into_iter().map(|grown| grown.join().expect("no panic")).collect::<Vec<_>>()
        });
        for grown in grown {
            if !grown? {
                return Ok(None);
            }
        }
        watch(crowds, n as usize, self.cores, how).map(Some)
    }

    /// Measures `n` pairs on each GPU. If `n` is far below the capacity of bus and GPU (`far`), measures only briefly.
    /// If the pairs then do not keep pace, measures for the full time, because a single delay of the machine is not a
    /// limit.
    fn judge(
        &self,
        crowds: &mut [Crowd<'_>],
        n: u32,
        far: bool,
    ) -> Result<Option<Outcome>, LiveError> {
        if far {
            match self.run(crowds, n, BRIEFLY)? {
                Some(outcome) if outcome.fault(self.most).is_some() => {}
                held => return Ok(held),
            }
        }
        self.run(crowds, n, WATCH)
    }

    /// Searches for the largest number of pairs per GPU that all given GPUs sustain at once. First tries `from` pairs.
    fn search(&self, crowds: &mut [Crowd<'_>], pair: &Pair, taken: Taken, from: u32) -> Seen {
        let (by_memory, by_time) = (room(crowds, pair), taken.most());
        let gpus = crowds.len();
        let (mut held, mut broke, mut stopped) = (None, None, None);
        let found = largest(from, by_memory.min(by_time), PART, |n| {
            let outcome = match self.judge(crowds, n, n < by_time / 4) {
                Ok(Some(outcome)) => outcome,
                Ok(None) => {
                    stopped = Some(format!("time ran out before {n} pairs were tried"));
                    return None;
                }
                Err(e) => {
                    stopped = Some(format!("{n} pairs cannot be tried: {e}"));
                    return None;
                }
            };
            let fault = outcome.fault(self.most);
            let kept = fault.as_deref().unwrap_or("held");
            println!("  {n:>4} pairs{}: {}: {kept}", each(gpus), line(&outcome, taken));
            let holds = fault.is_none();
            match fault {
                Some(fault) => broke = Some(format!("{}; {fault}", cause(&outcome, taken))),
                None => held = Some(outcome),
            }
            Some(holds)
        });
        let known = if by_memory < by_time {
            format!("there is memory for at most {by_memory} pairs")
        } else {
            format!(
                "more than {by_time} pairs were not tried: they exceed the capacity of bus or GPU"
            )
        };
        let limit = match (broke, stopped) {
            (Some(broke), Some(stopped)) => format!("{broke}; {stopped}"),
            (broke, stopped) => broke.or(stopped).unwrap_or(known),
        };
        Seen { found, held, limit }
    }
}

fn available() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

fn each(gpus: usize) -> &'static str {
    if gpus == 1 { "" } else { " per GPU" }
}

/// Returns a display name for the bus, the GPU and the processor, each with the fraction of the time for which the
/// resource was busy. The fraction is `None` if it is unknown.
fn shares(outcome: &Outcome, taken: Taken) -> [(&'static str, Option<f64>); 3] {
    let [bus, gpu] = taken.shares(outcome.pairs);
    let processor = outcome.cores.map(|cores| cores / available() as f64);
    [("copies over the bus", Some(bus)), ("GPU time", Some(gpu)), ("processor", processor)]
}

/// Returns a text that lists the bottlenecks, each with its busy time in percent. If there is no bottleneck, returns
/// `unknown:` and the busy times of all resources.
fn cause(outcome: &Outcome, taken: Taken) -> String {
    let known = shares(outcome, taken).into_iter();
    let known: Vec<_> = known.filter_map(|(name, share)| Some((name, share?))).collect();
    let text = |(name, share): &(&str, f64)| format!("{name} {:.0} %", 100.0 * share);
    let full: Vec<_> = known.iter().filter(|(_, share)| *share >= FULL).map(text).collect();
    if full.is_empty() {
        return format!("unknown: {}", known.iter().map(text).collect::<Vec<_>>().join(", "));
    }
    full.join(", ")
}

fn milliseconds(time: Duration) -> f64 {
    1e3 * time.as_secs_f64()
}

fn line(outcome: &Outcome, taken: Taken) -> String {
    let [p50, p99] = [0.5, 0.99].map(|part| milliseconds(outcome.latency(part)));
    let shares = shares(outcome, taken).map(|(name, share)| {
        share.map_or(String::new(), |s| format!(", {name} {:.0} %", 100.0 * s))
    });
    let rate = outcome.per_second();
    format!("p50 {p50:.2} ms, p99 {p99:.2} ms, {rate:.0}/s{}", shares.concat())
}

/// Searches on the GPUs of `crowds`, and prints and records the result. Returns the largest number of pairs per GPU
/// that kept pace.
fn measure(plan: &Plan, crowds: &mut [Crowd<'_>], pair: &Pair, from: u32) -> u32 {
    let on = match &*crowds {
        [one] => one.device().place().to_string(),
        all => format!("{} GPUs", all.len()),
    };
    let [left, _, panorama] = pair.formats();
    let [source, panorama] = [left, panorama].map(|format| Size::from(format.size.to_array()));
    let what = format!("scale: {source} at {FPS}/s on {on}");
    if Instant::now() + WATCH.warm_up + WATCH.measure > plan.end {
        println!("{what} was not measured: out of time; increase PANOWEAVE_SCALE_SECONDS");
        return 0;
    }
    println!("{what}");
    let taken = match Taken::measure(crowds, pair) {
        Ok(taken) => taken,
        Err(e) => {
            println!("{what} was not measured: {e}");
            return 0;
        }
    };
    let [up, down] = pair.bytes();
    println!(
        "  a pair alone: copies {:.1} µs for {:.1} MB up and {:.1} MB down, stitch {:.1} µs",
        1e3 * milliseconds(taken.copies),
        up as f64 / 1e6,
        down as f64 / 1e6,
        1e3 * milliseconds(taken.stitch),
    );
    let seen = plan.search(crowds, pair, taken, from);
    let Found { held, broke } = seen.found;
    println!("{what}: {held} pairs{} held; limit: {}", each(crowds.len()), seen.limit);
    let latency = |part| seen.held.as_ref().map_or(Duration::ZERO, |held| held.latency(part));
    let us = |time: Duration| 1e3 * milliseconds(time);
    let scale = Scale {
        on,
        gpus: crowds.len() as u32,
        source,
        panorama,
        feed: match plan.feed {
            Feed::InPlace => "in place".to_owned(),
            Feed::Copied => "copied".to_owned(),
        },
        fps: FPS,
        held,
        broke,
        limit: seen.limit,
        median_us: us(latency(0.5)),
        p99_us: us(latency(0.99)),
        per_second: seen.held.as_ref().map_or(0.0, Outcome::per_second),
        bytes: [up, down],
        copies_us: us(taken.copies),
        stitch_us: us(taken.stitch),
    };
    if held > 0 || broke.is_some() {
        record::append(crowds[0].device(), Line::Scale(scale));
    }
    held
}

fn main() {
    let begin = Instant::now();
    let gpus: Vec<Device> = gpus("scale");
    if gpus.is_empty() {
        return;
    }
    let plan = Plan::new(begin, gpus.len());
    let queues = std::env::var("CUDA_DEVICE_MAX_CONNECTIONS");
    println!(
        "scale: {} GPUs, {} processor cores, CUDA_DEVICE_MAX_CONNECTIONS {}",
        gpus.len(),
        available(),
        queues.as_deref().unwrap_or("not set"),
    );
    let pairs = ROWS.map(|rows| Pair::new(rows, FPS, plan.feed));
    let mut sizes: Vec<(&Pair, Vec<Crowd<'_>>, u32)> = pairs
        .iter()
        .map(|pair| (pair, gpus.iter().map(|gpu| Crowd::new(gpu, pair)).collect(), 1))
        .collect();
    let mut from = 1;
    for (pair, crowds, held) in &mut sizes {
        // Start at the result for the larger frames, because a GPU sustains at least as many pairs with smaller
        // frames.
        *held = measure(&plan, &mut crowds[..1], pair, from);
        from = (*held).max(1);
        if crowds.len() > 1 {
            measure(&plan, crowds, pair, from);
        }
    }
    for (pair, crowds, held) in &mut sizes {
        for crowd in crowds.iter_mut().skip(1) {
            measure(&plan, std::slice::from_mut(crowd), pair, (*held).max(1));
        }
    }
    // Free the memory of all GPUs in parallel.
    thread::scope(|scope| {
        for crowd in sizes.into_iter().flat_map(|(_, crowds, _)| crowds) {
            scope.spawn(move || drop(crowd));
        }
    });
}
