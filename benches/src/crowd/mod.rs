//! Runs a crowd: many live stitchers at once on one device, each fed by two simulated cameras at their frame rate.
//!
//! All pairs show the same frames. The two cameras of a pair are synchronised. Different pairs are not: their frames
//! arrive spread over a frame interval. The latency of a panorama is the time from when its frames are due until a
//! reader has the panorama in host memory, so it includes delays of the feeding thread. A pair of frames whose panorama
//! was not read counts as dropped.
//!
//! | file | contents |
//! |---|---|
//! | `pair` | the description of each pair |
//! | `outcome` | the result of measuring crowds |
//!
//! The bench `scale` uses crowds to search for the number of pairs that a device sustains.

mod outcome;
mod pair;

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use panoweave::device::Device;
use panoweave::frame::Frame;
use panoweave::live::{LiveError, Stitcher};
use panoweave::warp::DeviceWarp;

pub use outcome::Outcome;
pub use pair::{Feed, Pair};

use crate::host;

/// The durations of the warm-up and of the measurement when crowds are measured.
#[derive(Clone, Copy, Debug)]
pub struct Watch {
    /// The time before the measurement, in which the crowd reaches a steady state.
    pub warm_up: Duration,
    /// The time after the warm-up in which due frames and their panoramas are counted.
    pub measure: Duration,
}

/// Live stitchers on one device. Each stitcher is a member of the crowd.
#[derive(Debug)]
pub struct Crowd<'a> {
    device: Device,
    pair: &'a Pair,
    members: Vec<Member>,
    /// The time at which the crowd was created. All timestamps of frames are relative to it.
    start: Instant,
}

/// A live stitcher of a crowd, with the thread that reads the stitcher's panoramas.
#[derive(Debug)]
struct Member {
    stitcher: Stitcher,
    read: Arc<Mutex<Vec<Read>>>,
    reader: Option<JoinHandle<()>>,
}

/// The due time and the latency of a panorama that was read.
#[derive(Clone, Copy, Debug)]
struct Read {
    /// The time at which the panorama's frames were due, relative to [`Crowd::start`].
    due: Duration,
    latency: Duration,
}

/// The numbers of frame pairs that a feeding thread counted. Feeding threads simulate the cameras.
#[derive(Clone, Copy, Debug, Default)]
struct Fed {
    /// The number of pairs of frames that were due.
    due: u64,
    /// The number of due pairs that were not pushed, because the thread was late by more than a frame interval.
    late: u64,
}

impl Member {
    fn new(device: &Device, pair: &Pair, start: Instant) -> Result<Self, LiveError> {
        let stream = device.stream()?;
        let warp = DeviceWarp::render(&stream, &pair.geometry)?;
        let stitcher = Stitcher::new(device, warp, pair.options())?;
        if pair.feed == Feed::InPlace {
            for (camera, frame) in (0..2).zip(&pair.frames) {
                let mut filled = Vec::new();
                while let Some(mut buffer) = stitcher.buffer(camera)? {
                    buffer.copy_from_slice(frame);
                    filled.push(buffer);
                }
            }
        }
        let read = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&read);
        let reader = stitcher.panoramas().for_each_on_thread(move |panorama| {
            let due = panorama.timestamp();
            let latency = start.elapsed().saturating_sub(due);
            drop(panorama);
            seen.lock().expect("no reader panics").push(Read { due, latency });
        });
        let reader = Some(reader.map_err(|e| LiveError::Thread(e.into()))?);
        Ok(Self { stitcher, read, reader })
    }

    /// Pushes a pair of frames with the timestamp `due` to the stitcher, as two cameras would. With [`Feed::InPlace`],
    /// drops the pair if the stitcher has no free buffer for each camera.
    fn push(&self, pair: &Pair, due: Duration) -> Result<(), LiveError> {
        if pair.feed == Feed::Copied {
            for (i, camera) in (0..2).enumerate() {
                let frame = Frame::tight(pair.formats[i], &pair.frames[i]);
                self.stitcher.push(camera, frame.expect("a whole frame"), due)?;
            }
            return Ok(());
        }
        let buffer = |camera| self.stitcher.buffer(camera);
        if let (Some(left), Some(right)) = (buffer(0)?, buffer(1)?) {
            self.stitcher.push_filled(0, left, due)?;
            self.stitcher.push_filled(1, right, due)?;
        }
        Ok(())
    }

    /// Returns whether the stitcher has no more work: each pair of frames that reached it was dropped, or its panorama
    /// was read.
    fn is_settled(&self) -> bool {
        let counters = self.stitcher.counters();
        let read = self.read.lock().expect("no reader panics").len() as u64;
        counters.sets == read + counters.dropped.sets()
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.stitcher.close();
        if let Some(reader) = self.reader.take() {
            // Wait for the reader thread, which ends after the last panorama. Then no panorama holds memory any more.
            drop(reader.join());
        }
    }
}

/// Returns the time within the frame interval at which a member's cameras deliver their frames, as a fraction from 0 to
/// 1. The hash function of SplitMix64 spreads these times.
fn phase(member: usize) -> f64 {
    let mut x = (member as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (x ^ (x >> 31)) as f64 / 2_f64.powi(64)
}

impl<'a> Crowd<'a> {
    /// Creates an empty crowd.
    #[must_use]
    pub fn new(device: &Device, pair: &'a Pair) -> Self {
        Self { device: device.clone(), pair, members: Vec::new(), start: Instant::now() }
    }

    /// Returns the device of the stitchers.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Returns the description that all pairs of the crowd share.
    #[must_use]
    pub fn pair(&self) -> &'a Pair {
        self.pair
    }

    /// Returns the number of stitchers.
    #[must_use]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Returns whether there are no stitchers.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Creates stitchers in `threads` parallel threads. Stops when the crowd has `to` stitchers or the time `end` is
    /// reached. Returns whether the crowd has at least `to` stitchers.
    ///
    /// # Errors
    /// Returns [`LiveError`] if a stitcher cannot be created. Stitchers that were created before stay in the crowd.
    ///
    /// # Panics
    /// Panics if creating a stitcher panics.
    pub fn grow(&mut self, to: usize, threads: usize, end: Instant) -> Result<bool, LiveError> {
        let (device, pair, start) = (&self.device, self.pair, self.start);
        let (next, made) = (AtomicUsize::new(self.members.len()), Mutex::new(Vec::new()));
        let make = || {
            while Instant::now() < end && next.fetch_add(1, Relaxed) < to {
                let member = Member::new(device, pair, start)?;
                made.lock().expect("no maker panics").push(member);
            }
            Ok(())
        };
        let result = thread::scope(|scope| {
            let makers: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(make)).collect();
            let join = |maker: thread::ScopedJoinHandle<'_, _>| maker.join().expect("no panic");
            makers.into_iter().map(join).fold(Ok(()), Result::and)
        });
        self.members.append(&mut made.into_inner().expect("no maker panics"));
        result.map(|()| self.members.len() >= to)
    }

    /// Pushes frames to the members in `fed` from `begin` to `end`. Each member's frames are due at its phase, a
    /// fraction of the frame interval. Counts the pairs of frames that are due at or after the time `from`.
    fn feed(
        &self,
        fed: &[(f64, &Member)],
        [begin, from, end]: [Instant; 3],
    ) -> Result<Fed, LiveError> {
        let mut count = Fed::default();
        if fed.is_empty() {
            return Ok(count);
        }
        for frame in 0_u32.. {
            for (phase, member) in fed {
                let due = begin + self.pair.period.mul_f64(f64::from(frame) + phase);
                if due >= end {
                    return Ok(count);
                }
                let now = Instant::now();
                thread::sleep(due.saturating_duration_since(now));
                let is_late = now.saturating_duration_since(due) > self.pair.period;
                if due >= from {
                    count.due += 1;
                    count.late += u64::from(is_late);
                }
                if !is_late {
                    member.push(self.pair, due - self.start)?;
                }
            }
        }
        Ok(count)
    }

    /// Runs the first `n` members, whose frames come from `feeders` threads. `times` are the start of the warm-up, of
    /// the measurement, and its end. Returns the counts of all feeding threads together, and the latencies of the
    /// panoramas that were read.
    fn run(
        &self,
        n: usize,
        feeders: usize,
        times: [Instant; 3],
    ) -> Result<(Fed, Vec<Duration>), LiveError> {
        let members = &self.members[..n];
        let of = |feeder: usize| {
            let own = members.iter().enumerate().skip(feeder).step_by(feeders);
            let mut own: Vec<_> = own.map(|(i, member)| (phase(i), member)).collect();
            own.sort_by(|a, b| a.0.total_cmp(&b.0));
            own
        };
        let before: Vec<_> = members.iter().map(|m| m.read.lock().map_or(0, |r| r.len())).collect();
        let fed = thread::scope(|scope| {
            let feeders: Vec<_> = (0..feeders)
                .map(|feeder| scope.spawn(move || self.feed(&of(feeder), times)))
                .collect();
            let join = |feeder: thread::ScopedJoinHandle<'_, _>| feeder.join().expect("no panic");
            feeders.into_iter().map(join).collect::<Result<Vec<Fed>, _>>()
        })?;
        let most = Instant::now() + Duration::from_secs(1);
        while !members.iter().all(Member::is_settled) && Instant::now() < most {
            thread::sleep(Duration::from_millis(1));
        }
        let first = times[1] - self.start;
        let mut latencies = Vec::new();
        for (member, before) in members.iter().zip(before) {
            member.stitcher.health()?;
            let read = member.read.lock().expect("no reader panics");
            let counts = read[before..].iter().filter(|read| read.due >= first);
            latencies.extend(counts.map(|read| read.latency));
        }
        let add = |a: Fed, b: Fed| Fed { due: a.due + b.due, late: a.late + b.late };
        Ok((fed.into_iter().fold(Fed::default(), add), latencies))
    }
}

/// Measures `n` stitchers of every crowd, all running at once. `feeders` threads per crowd simulate the cameras.
///
/// # Errors
/// Returns [`LiveError`] if a stitcher fails.
///
/// # Panics
/// Panics if a crowd has fewer than `n` members, or a thread panics.
pub fn watch(
    crowds: &[Crowd<'_>],
    n: usize,
    feeders: usize,
    watch: Watch,
) -> Result<Outcome, LiveError> {
    // Begin 20 ms from now, so that all threads have started by then.
    let begin = Instant::now() + Duration::from_millis(20);
    let from = begin + watch.warm_up;
    let times = [begin, from, from + watch.measure];
    let feeders = feeders.clamp(1, n.max(1));
    thread::scope(|scope| {
        let crowds: Vec<_> =
            crowds.iter().map(|crowd| scope.spawn(move || crowd.run(n, feeders, times))).collect();
        let time = |at: Instant| {
            thread::sleep(at.saturating_duration_since(Instant::now()));
            host::processor_time()
        };
        let (before, after) = (time(times[1]), time(times[2]));
        let busy = before.zip(after).map(|(before, after)| after.saturating_sub(before));
        let cores = busy.map(|busy| busy.div_duration_f64(watch.measure));
        let (pairs, measure) = (n as u32, watch.measure);
        let mut all = Outcome { pairs, due: 0, late: 0, measure, cores, latencies: Vec::new() };
        for crowd in crowds {
            let (fed, mut latencies) = crowd.join().expect("no crowd panics")?;
            all.due += fed.due;
            all.late += fed.late;
            all.latencies.append(&mut latencies);
        }
        all.latencies.sort_unstable();
        Ok(all)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::{Found, largest};

    const MINUTE: Duration = Duration::from_secs(60);

    fn crowd(pair: &Pair, n: usize) -> Crowd<'_> {
        let mut crowd = Crowd::new(&Device::cpu(), pair);
        assert!(crowd.grow(n, 2, Instant::now() + MINUTE).expect("stitchers"));
        assert_eq!(crowd.len(), n);
        crowd
    }

    fn watch_for(measure: u64) -> Watch {
        let milliseconds = Duration::from_millis;
        Watch { warm_up: milliseconds(200), measure: milliseconds(measure) }
    }

    /// Checks that two crowds at 5 frames per second lose no frame. At this low rate, a stitcher has enough buffers for
    /// most of a second, so that the test also passes on a busy machine.
    #[test]
    fn a_crowd_that_keeps_pace_loses_nothing() {
        // The system counts time in ticks of 10 ms, so a measurement may count none.
        let mut cores = 0.0;
        for feed in [Feed::InPlace, Feed::Copied] {
            let pair = Pair::new(48, 5.0, feed);
            let crowds = [crowd(&pair, 3), crowd(&pair, 2)];
            // Measure twice. Frames of the first round must not count in the second.
            for n in [2, 1] {
                let outcome = watch(&crowds, n, 2, watch_for(1000)).expect("stitchers that work");
                // There are two crowds with `n` pairs of cameras each, and 5 frames are due in the measured second.
                assert_eq!(outcome.due, 10 * n as u64, "{feed:?}");
                assert_eq!((outcome.dropped(), outcome.late), (0, 0), "{feed:?}: {outcome:?}");
                assert_eq!(outcome.fault(MINUTE), None);
                assert!(outcome.latency(0.0) > Duration::ZERO);
                assert!(outcome.latency(0.5) <= outcome.latency(0.99));
                assert!((outcome.per_second() - 10.0 * n as f64).abs() < 1e-9);
                assert!(outcome.fault(Duration::ZERO).is_some_and(|fault| fault.contains("p99")));
                cores += outcome.cores.expect("Linux");
            }
        }
        assert!(cores > 0.0);
    }

    #[test]
    fn a_search_over_a_crowd_that_keeps_pace_ends_with_the_most() {
        let pair = Pair::new(48, 5.0, Feed::InPlace);
        let mut crowds = [Crowd::new(&Device::cpu(), &pair)];
        let mut sizes = Vec::new();
        let found = largest(1, 3, 16, |n| {
            assert!(crowds[0].grow(n as usize, 2, Instant::now() + MINUTE).expect("stitchers"));
            sizes.push(crowds[0].len());
            let outcome = watch(&crowds, n as usize, 2, watch_for(400)).expect("stitchers");
            assert_eq!((outcome.pairs, outcome.due), (n, 2 * u64::from(n)));
            Some(outcome.fault(MINUTE).is_none())
        });
        assert_eq!((found, sizes), (Found { held: 3, broke: None }, vec![1, 2, 3]));
    }

    #[test]
    fn a_crowd_that_cannot_keep_pace_is_found() {
        let pair = Pair::new(180, 4000.0, Feed::InPlace);
        let mut crowds = [Crowd::new(&Device::cpu(), &pair)];
        let mut tried = Vec::new();
        let found = largest(1, 4, 16, |n| {
            tried.push(n);
            crowds[0].grow(n as usize, 1, Instant::now() + MINUTE).expect("stitchers");
            let outcome = watch(&crowds, n as usize, 1, watch_for(200)).expect("stitchers");
            assert_eq!(outcome.due, 800 * u64::from(n));
            Some(outcome.fault(MINUTE).is_none())
        });
        assert_eq!((found, tried), (Found { held: 0, broke: Some(1) }, vec![1]));
    }

    #[test]
    fn a_crowd_grows_while_there_is_time() {
        let pair = Pair::new(48, 5.0, Feed::InPlace);
        let mut crowd = crowd(&pair, 1);
        assert!(!crowd.grow(2, 2, Instant::now()).expect("stitchers"));
        assert_eq!(crowd.len(), 1);
        assert!(crowd.grow(1, 2, Instant::now()).expect("stitchers"));
    }

    #[test]
    fn cameras_are_strewn_over_a_frame_interval() {
        let mut phases: Vec<_> = (0..256).map(phase).collect();
        phases.sort_by(f64::total_cmp);
        assert!(phases[0] >= 0.0 && phases[255] < 1.0);
        // If the 256 phases were evenly spread from 0 to 1, the sorted phase `i` would be `i / 256`.
        for (i, phase) in phases.into_iter().enumerate() {
            assert!((phase - i as f64 / 256.0).abs() < 0.12, "{i}: {phase}");
        }
    }
}
