//! How many live pairs of cameras at once every GPU of a machine keeps pace with, each pair with a stitcher of its
//! own, NV12 in and out at 30 frames a second: the first GPU alone, all of them at once, then the others alone.
//!
//! Pairs are doubled and then bisected until latency breaks: a pair is dropped, or the 99th percentile exceeds two
//! frame intervals. What broke is told by arithmetic: what part of all time the copies alone take of the bus, the
//! stitches alone of the GPU, and the process of the processor. Where none of them is near 1, it is not known.
//!
//! Not criterion's: a search, not repetitions. It ends when `PANOWEAVE_SCALE_SECONDS` are up, 75 if not set, and says
//! what it did not measure for that. `PANOWEAVE_SCALE_FEED=copied` has frames copied into page-locked memory, as
//! [`Stitcher::push`] does it, where else the cameras' drivers write them there. Without `--bench` it is tried briefly.
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

/// Frames a second of every camera.
const FPS: f64 = 30.0;

/// Rows of the cameras: 4K, 1080p.
const ROWS: [u32; 2] = [2160, 1080];

/// Frame intervals that the 99th percentile of the latency may have.
const INTERVALS: f64 = 2.0;

/// What broke is known to this part of what held.
const PART: u32 = 16;

/// Where a share of something is at least this, it broke.
const FULL: f64 = 0.9;

/// How far over what bus or GPU can do by arithmetic is tried.
const BEYOND: f64 = 1.25;

/// Part of the host's free memory that may be page-locked, and of a GPU's that may be taken.
const LOCKED: f64 = 0.6;
const TAKEN: f64 = 0.9;

/// Most threads that make stitchers for one GPU: each computes on a whole warp.
const MAKERS: usize = 16;

/// How long a number of pairs is watched, and how long one that is far from what bus and GPU can do.
const WATCH: Watch =
    Watch { warm_up: Duration::from_millis(400), measure: Duration::from_millis(2500) };
const BRIEFLY: Watch = Watch { measure: Duration::from_millis(1000), ..WATCH };

/// What the environment asks for.
struct Plan {
    end: Instant,
    /// Most that the 99th percentile of the latency may be.
    most: Duration,
    feed: Feed,
    /// Threads of the host for each GPU.
    cores: usize,
}

/// What one pair takes of a GPU and its bus.
#[derive(Clone, Copy)]
struct Taken {
    copies: Duration,
    stitch: Duration,
}

impl Taken {
    /// By copies on all these GPUs at once, and stitches on the first.
    fn measure(crowds: &[Crowd<'_>], pair: &Pair) -> Result<Self, LiveError> {
        let formats = pair.formats();
        let mut copies = crowds
            .iter()
            .map(|crowd| Copies::new(crowd.device(), formats))
            .collect::<Result<Vec<_>, DeviceError>>()?;
        let pairs = (2_000_000_000 / pair.bytes()[0]).max(50);
        // The first round wakes the bus up.
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
            stitch(&stream, &*left, &*right, &warp, &StitchOptions::default(), out)
                .expect("a stitch");
        };
        time(&stream, SETS, 20, &mut launch);
        Ok(time(&stream, SETS, 200, &mut launch).div_f64(200.0))
    }

    /// The parts of all time that `pairs` pairs take of bus and GPU.
    fn shares(&self, pairs: u32) -> [f64; 2] {
        let part = |time: Duration| f64::from(pairs) * FPS * time.as_secs_f64();
        [part(self.copies), part(self.stitch)]
    }

    /// More pairs than these cannot keep pace.
    fn most(&self) -> u32 {
        let [bus, gpu] = self.shares(1);
        (BEYOND / bus.max(gpu)).ceil() as u32 + 1
    }
}

/// How many stitchers on each GPU there is memory for, those that there are included.
fn room(crowds: &[Crowd<'_>], pair: &Pair) -> u32 {
    let [on_device, locked] = pair.memory();
    let free = |crowd: &Crowd<'_>| {
        let _context = enter(crowd.device());
        let (mut free, mut total) = (0, 0);
        // SAFETY: the results are written; the context is current.
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

/// What a search saw.
struct Seen {
    found: Found,
    held: Option<Outcome>,
    /// What broke, or why no more were tried.
    limit: String,
}

impl Plan {
    fn new(begin: Instant, gpus: usize) -> Self {
        let variable = |name| std::env::var(name).ok();
        // `cargo test` gives no `--bench`.
        let is_bench = std::env::args().any(|argument| argument == "--bench");
        let seconds = match variable("PANOWEAVE_SCALE_SECONDS") {
            Some(text) => text.parse().expect("PANOWEAVE_SCALE_SECONDS is a number of seconds"),
            None if is_bench => 75,
            None => 5,
        };
        let feed = match variable("PANOWEAVE_SCALE_FEED").as_deref() {
            None | Some("in-place") => Feed::InPlace,
            Some("copied") => Feed::Copied,
            Some(other) => panic!("PANOWEAVE_SCALE_FEED is in-place or copied, not {other}"),
        };
        let cores = (available() / gpus).max(1);
        let end = begin + Duration::from_secs(seconds);
        Self { end, most: Duration::from_secs_f64(INTERVALS / FPS), feed, cores }
    }

    /// Has `n` stitchers on each GPU and watches them; `None` if the time is up.
    fn run(
        &self,
        crowds: &mut [Crowd<'_>],
        n: u32,
        how: Watch,
    ) -> Result<Option<Outcome>, LiveError> {
        // What cannot end in time is not begun.
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

    /// Watches `n` pairs on each GPU. Those that are `far` from what bus and GPU can do are watched briefly, and again
    /// if that broke: what holds the machine up for once is no limit.
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

    /// The most pairs on each of these GPUs at once, looked for from `from` on.
    fn search(&self, crowds: &mut [Crowd<'_>], pair: &Pair, taken: Taken, from: u32) -> Seen {
        let (by_memory, by_time) = (room(crowds, pair), taken.most());
        let gpus = crowds.len();
        let (mut held, mut broke, mut stopped) = (None, None, None);
        let found = largest(from, by_memory.min(by_time), PART, |n| {
            let outcome = match self.judge(crowds, n, n < by_time / 4) {
                Ok(Some(outcome)) => outcome,
                Ok(None) => {
                    stopped = Some(format!("the time was up before {n} were tried"));
                    return None;
                }
                Err(e) => {
                    stopped = Some(format!("{n} cannot be tried: {e}"));
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
            format!("there is memory for no more than {by_memory}")
        } else {
            format!("no more than {by_time} were tried: bus or GPU cannot do more")
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
    if gpus == 1 { "" } else { " a GPU" }
}

/// Shares of bus, GPU and processor, with their names.
fn shares(outcome: &Outcome, taken: Taken) -> [(&'static str, Option<f64>); 3] {
    let [bus, gpu] = taken.shares(outcome.pairs);
    let processor = outcome.cores.map(|cores| cores / available() as f64);
    [("copies over the bus", Some(bus)), ("GPU time", Some(gpu)), ("processor", processor)]
}

/// What broke, where that is known.
fn cause(outcome: &Outcome, taken: Taken) -> String {
    let known = shares(outcome, taken).into_iter();
    let known: Vec<_> = known.filter_map(|(name, share)| Some((name, share?))).collect();
    let text = |(name, share): &(&str, f64)| format!("{name} {:.0} %", 100.0 * share);
    let full: Vec<_> = known.iter().filter(|(_, share)| *share >= FULL).map(text).collect();
    if full.is_empty() {
        return format!("not known: {}", known.iter().map(text).collect::<Vec<_>>().join(", "));
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

/// Searches on some GPUs, tells and records. Returns how many pairs held on each.
fn measure(plan: &Plan, crowds: &mut [Crowd<'_>], pair: &Pair, from: u32) -> u32 {
    let on = match &*crowds {
        [one] => one.device().place().to_string(),
        all => format!("{} GPUs", all.len()),
    };
    let [left, _, panorama] = pair.formats();
    let [source, panorama] = [left, panorama].map(|format| Size::from(format.size.to_array()));
    let what = format!("scale: {source} at {FPS}/s on {on}");
    if Instant::now() + WATCH.warm_up + WATCH.measure > plan.end {
        println!("{what} was not measured: the time is up; PANOWEAVE_SCALE_SECONDS gives more");
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
        // Smaller frames of as many pairs are no more work.
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
    // Memory is given back GPU by GPU, side by side.
    thread::scope(|scope| {
        for crowd in sizes.into_iter().flat_map(|(_, crowds, _)| crowds) {
            scope.spawn(move || drop(crowd));
        }
    });
}
