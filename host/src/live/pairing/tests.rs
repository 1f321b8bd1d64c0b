//! Tests with simulated cameras: 2 to 16 cameras with rates, phases, jitter, lost frames and delays.

use super::*;

const MS: fn(u64) -> Duration = Duration::from_millis;
const SECOND: f64 = 1e9;

fn pairing<T: Clone>(cameras: usize, most: usize, deadline: Option<Duration>) -> Pairing<T> {
    Pairing::new(cameras, PairingOptions { most, deadline, reference: 0 })
}

/// Frames of two cameras as pairs of camera and timestamp in milliseconds, and the timestamps in the expected sets.
struct Case {
    frames: &'static [(usize, u64)],
    sets: &'static [[u64; 2]],
}

#[test]
fn sets_have_the_nearest_frames() {
    let cases = [
        Case {
            frames: &[(0, 0), (1, 5), (1, 38), (0, 33), (0, 66), (1, 71)],
            sets: &[[0, 5], [33, 38], [66, 71]],
        },
        // Without the frame of one camera, there is no set.
        Case {
            frames: &[
                (0, 0),
                (1, 0),
                (0, 33),
                (1, 33),
                (0, 66),
                (1, 66),
                (0, 99),
                (0, 132),
                (1, 132),
            ],
            sets: &[[0, 0], [33, 33], [66, 66], [132, 132]],
        },
        Case {
            frames: &[(1, 0), (0, 0), (1, 33), (1, 66), (0, 66), (1, 99), (0, 99)],
            sets: &[[0, 0], [66, 66], [99, 99]],
        },
        // The second camera has half the rate, and then twice the rate.
        Case {
            frames: &[(0, 0), (1, 2), (0, 33), (1, 68), (0, 66), (0, 99), (1, 134), (0, 132)],
            sets: &[[0, 2], [33, 2], [66, 68], [99, 68], [132, 134]],
        },
        Case {
            frames: &[
                (1, 0),
                (0, 5),
                (1, 16),
                (1, 32),
                (0, 38),
                (1, 48),
                (1, 64),
                (0, 71),
                (1, 80),
            ],
            sets: &[[5, 0], [38, 32], [71, 64]],
        },
        // The clock is set back by more than a second, or frames are out of order.
        Case {
            frames: &[(0, 10_000), (1, 10_000), (0, 5), (1, 6)],
            sets: &[[10_000, 10_000], [5, 6]],
        },
        Case { frames: &[(0, 100), (0, 100), (0, 90), (1, 100)], sets: &[[100, 100]] },
    ];
    for Case { frames, sets } in cases {
        let mut pairing = pairing(2, 3, None);
        let mut found = Vec::new();
        for &(camera, time) in frames {
            found.extend(pairing.push(camera, MS(time), time).sets);
        }
        let found: Vec<_> = found.into_iter().map(|set| set.frames).collect();
        let expected: Vec<_> = sets.iter().map(|set| set.map(Some).to_vec()).collect();
        assert_eq!(found, expected, "{frames:?}");
    }
}

/// A simulated camera. Times are in nanoseconds.
#[derive(Clone, Debug)]
struct Simulated {
    frame_time: f64,
    phase: f64,
    /// The largest error of a timestamp.
    jitter: f64,
    /// The probability of a lost frame.
    loss: f64,
    latency: f64,
}

impl Simulated {
    fn steady(frames_per_second: f64) -> Self {
        let frame_time = SECOND / frames_per_second;
        Self { frame_time, phase: 0.0, jitter: 0.0, loss: 0.0, latency: 20e6 }
    }
}

/// A simulated frame, of which pairing sees only `stamp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Shot {
    arrival: Duration,
    camera: usize,
    stamp: Duration,
}

/// Returns the frames of all cameras in the order of their arrival.
fn shoot(cameras: &[Simulated], seconds: f64, random: &mut fastrand::Rng) -> Vec<Shot> {
    let nanos = |value: f64| Duration::from_nanos(value as u64);
    let mut shots = Vec::new();
    for (index, camera) in cameras.iter().enumerate() {
        for i in 0..(seconds * SECOND / camera.frame_time) as u64 {
            // All frames are a second late, so that no time is negative.
            let at = SECOND + camera.phase + i as f64 * camera.frame_time;
            let stamp = nanos(at + camera.jitter * (2.0 * random.f64() - 1.0));
            let arrival = nanos(at + camera.latency);
            if random.f64() >= camera.loss {
                shots.push(Shot { arrival, camera: index, stamp });
            }
        }
    }
    shots.sort();
    shots
}

type Sets = Vec<MatchedSet<Shot>>;

/// Pushes the frames; `present` gets the pairing and the number of each frame. Checks what holds for all cameras: every
/// frame is in a set or was dropped and counted, and the sets are in order.
fn run(
    pairing: &mut Pairing<Shot>,
    shots: &[Shot],
    mut present: impl FnMut(&mut Pairing<Shot>, usize) -> Option<Outcome<Shot>>,
) -> Sets {
    let (mut sets, mut dropped) = (Sets::new(), Vec::new());
    for (i, shot) in shots.iter().enumerate() {
        let changed = present(pairing, i);
        let pushed = pairing.push(shot.camera, shot.stamp, *shot);
        for outcome in changed.into_iter().chain([pushed]) {
            sets.extend(outcome.sets);
            dropped.extend(outcome.dropped);
        }
        assert!(pairing.cameras[shot.camera].queue.waiting() <= pairing.options.most);
    }
    dropped.extend(pairing.clear());
    assert!(sets.is_sorted_by(|a, b| a.time < b.time), "the sets are out of order");
    let mut seen: Vec<Shot> = dropped.iter().map(|(_, shot)| *shot).collect();
    for (index, counters) in pairing.counters.iter().enumerate() {
        let frames: Vec<Shot> = sets.iter().filter_map(|set| set.frames[index]).collect();
        assert!(frames.is_sorted_by(|a, b| a.stamp <= b.stamp), "frames out of order");
        let mut used = frames.clone();
        used.dedup();
        assert_eq!(counters.used, used.len() as u64);
        assert_eq!(counters.repeated, (frames.len() - used.len()) as u64);
        let lost = dropped.iter().filter(|(camera, _)| *camera == index).count();
        assert_eq!(counters.dropped(), lost as u64);
        seen.extend(used);
    }
    seen.sort();
    assert_eq!(seen, shots, "every frame has exactly one outcome");
    sets
}

fn run_all(pairing: &mut Pairing<Shot>, shots: &[Shot]) -> Sets {
    run(pairing, shots, |_, _| None)
}

fn is_whole(set: &MatchedSet<Shot>) -> bool {
    set.frames.iter().all(Option::is_some)
}

/// Returns the largest distance of a frame of `camera` from the time of its set, in seconds.
fn judder(sets: &[MatchedSet<Shot>], camera: usize) -> f64 {
    let apart = |set: &MatchedSet<Shot>| Some(set.frames[camera]?.stamp.abs_diff(set.time));
    sets.iter().filter_map(apart).max().unwrap_or_default().as_secs_f64()
}

/// Random cameras with random rates, phases, jitter and losses, with and without a deadline.
#[test]
fn every_frame_of_random_cameras_has_one_outcome() {
    for seed in 0..60 {
        let mut random = fastrand::Rng::with_seed(seed);
        let rates: &[f64] =
            [&[30.0][..], &[25.0, 30.0], &[15.0, 24.0, 50.0, 60.0, 120.0]][random.usize(..3)];
        let camera = |random: &mut fastrand::Rng| {
            let mut camera = Simulated::steady(rates[random.usize(..rates.len())]);
            camera.phase = random.f64() * camera.frame_time;
            camera.jitter = random.f64() * 0.08 * camera.frame_time;
            camera.loss = [0.0, 0.01, 0.1][random.usize(..3)];
            camera.latency = random.f64() * 50e6;
            camera
        };
        let cameras: Vec<_> = (0..random.usize(2..=16)).map(|_| camera(&mut random)).collect();
        let shots = shoot(&cameras, 8.0, &mut random);
        let deadline = random.bool().then(|| MS(random.u64(50..200)));
        let mut pairing = pairing(cameras.len(), random.usize(1..8), deadline);
        let mut sets = run_all(&mut pairing, &shots);
        assert!(deadline.is_some() || sets.iter().all(is_whole));
        // Until the frame time is known, and while many frames are lost, frames may be farther away.
        sets.retain(|set| set.time > MS(2000));
        for (index, camera) in cameras.iter().enumerate() {
            let is_far = |set: &&MatchedSet<Shot>| {
                judder(std::slice::from_ref(*set), index) > camera.frame_time * 0.75e-9
            };
            let far = sets.iter().filter(is_far).count();
            assert!(100 * far <= sets.len(), "seed {seed} camera {index}: {far} of {}", sets.len());
        }
    }
}

/// The panorama has the reference camera's rate, and each set has the nearest frame.
#[test]
fn unequal_rates_give_the_nearest_frame_at_the_rate_of_the_reference() {
    for [reference, other] in
        [[30.0, 25.0], [25.0, 30.0], [60.0, 25.0], [24.0, 120.0], [30.0, 29.0], [30.0, 30.0]]
    {
        for phase in [0.0, 0.21, 0.5, 0.9] {
            let mut cameras = [reference, other].map(Simulated::steady);
            cameras[1].phase = phase * cameras[1].frame_time;
            let shots = shoot(&cameras, 20.0, &mut fastrand::Rng::with_seed(1));
            let mut pairing = pairing(2, 5, None);
            let sets = run_all(&mut pairing, &shots);
            let name = format!("{reference}/{other}, phase {phase}");
            assert!(sets.len() as f64 >= 20.0 * reference - 8.0, "{name}: {} sets", sets.len());
            let half = cameras[1].frame_time * 0.5e-9;
            let apart = judder(&sets[10..], 1);
            assert!(apart <= half + 1e-6, "{name}: {apart} > {half}");
        }
    }
}

/// The frames of a slow reference camera arrive after those of a faster camera, regularly or not. Between two of its
/// frames, its last one becomes older than the deadline, but none of its frames is late.
#[test]
fn a_slow_reference_camera_leads_with_a_deadline() {
    for ([reference, other], later, deadline, jitter) in [
        ([15.0, 30.0], 0.0, 50, 1e6),
        ([15.0, 30.0], 10.0, 50, 1e6),
        ([25.0, 50.0], 25.0, 50, 1e6),
        ([25.0, 50.0], 10.0, 33, 1e6),
        ([30.0, 60.0], 40.0, 50, 1e6),
        ([5.0, 60.0], 30.0, 50, 1e6),
        ([15.0, 30.0], 20.0, 50, 12e6),
    ] {
        let name = format!("{reference}/{other}, {later} ms later, {deadline} ms");
        let mut cameras = [reference, other].map(Simulated::steady);
        cameras[0].latency += later * 1e6;
        cameras[0].jitter = jitter;
        let shots = shoot(&cameras, 20.0, &mut fastrand::Rng::with_seed(1));
        let mut pairing = pairing(2, 5, Some(MS(deadline)));
        let sets = run_all(&mut pairing, &shots);
        let expected = 20.0 * reference;
        let used = pairing.counters[0].used;
        assert!(used as f64 >= expected - 4.0, "{name}: {used} of {expected} frames");
        assert!(sets.len() as f64 <= expected + 12.0, "{name}: {} sets", sets.len());
        let partial = sets.iter().filter(|set| !is_whole(set)).count();
        assert!(partial <= 12, "{name}: {partial} sets lack a frame");
    }
}

/// With a deadline, a camera that stalls does not stop the others, even if it is the reference camera. Its frames that
/// come too late are counted as late.
#[test]
fn a_late_camera_does_not_stop_the_others() {
    for (stalled, most) in [(0, 8), (1, 8), (2, 8), (0, 2), (1, 2), (2, 1)] {
        let cameras = vec![Simulated::steady(30.0); 3];
        let mut shots = shoot(&cameras, 20.0, &mut fastrand::Rng::with_seed(5));
        // The camera stalls for 3 seconds, then delivers all frames at once.
        for shot in shots.iter_mut().filter(|shot| shot.camera == stalled) {
            if shot.stamp > MS(5000) && shot.stamp < MS(8000) {
                shot.arrival = MS(8000) + shot.stamp / 1000;
            }
        }
        shots.sort();
        let mut pairing = pairing(3, most, Some(MS(100)));
        let sets = run_all(&mut pairing, &shots);
        assert!(sets.len() >= 590, "{stalled}, {most}: {}", sets.len());
        let without = sets.iter().filter(|set| set.frames[stalled].is_none()).count();
        assert!((80..=91).contains(&without), "{stalled}, {most}: {without}");
        for (camera, counters) in pairing.counters.iter().enumerate() {
            let is_stalled = camera == stalled;
            assert_eq!((80..=91).contains(&counters.late), is_stalled, "{stalled}: {counters:?}");
            assert!(is_stalled || counters.dropped() <= 8, "{stalled}, {most}: {counters:?}");
        }
    }
}

/// The cameras leave and return one after the other, the reference camera too. The panorama goes on with the others.
#[test]
fn cameras_leave_and_return() {
    let cameras = vec![Simulated { jitter: 1e6, ..Simulated::steady(30.0) }; 4];
    let shots = shoot(&cameras, 40.0, &mut fastrand::Rng::with_seed(3));
    let mut pairing = pairing(4, 5, Some(MS(50)));
    // In each period of 4 seconds, one camera is absent for 2 seconds.
    let absent = |shot: &Shot| {
        let period = shot.arrival.as_millis() / 2000;
        (period % 2 == 1).then_some((period / 2) as usize % 4)
    };
    let mut before = None;
    let sets = run(&mut pairing, &shots, |pairing, i| {
        let now = absent(&shots[i]);
        let change = std::mem::replace(&mut before, now) != now;
        let returned =
            (0..4).find(|camera| pairing.cameras[*camera].attendance == Attendance::Absent);
        let changed = now.map(|camera| (camera, false)).or(returned.map(|camera| (camera, true)));
        let (camera, present) = changed.filter(|_| change)?;
        Some(pairing.set_present(camera, present))
    });
    assert!(sets.len() >= 1180, "{}", sets.len());
    let partial = sets.iter().filter(|set| !is_whole(set)).count();
    assert!((550..650).contains(&partial), "{partial}");
    assert!(sets.iter().all(|set| set.frames.iter().flatten().count() >= 3));
    let unmatched: u64 = pairing.counters.iter().map(|counters| counters.unmatched).sum();
    assert!(unmatched <= 120, "{unmatched}");
}

/// Whatever the timestamps were, and whichever cameras were absent: when all cameras deliver in step again, all their
/// frames are in complete sets after 20 seconds.
#[test]
fn no_timestamp_stops_the_sets_for_ever() {
    for seed in 0..600 {
        let mut random = fastrand::Rng::with_seed(seed);
        let cameras = random.usize(2..=4);
        let options = PairingOptions {
            most: random.usize(1..6),
            deadline: random.bool().then_some(MS(50)),
            reference: random.usize(..cameras),
        };
        let mut pairing = Pairing::new(cameras, options.clone());
        let mut now = Duration::from_secs(1000);
        for _ in 0..random.usize(1..30) {
            for camera in 0..cameras {
                let wild = Duration::from_secs_f64(random.f64() * 3600.0);
                let stamp = match random.usize(..60) {
                    0 => now + wild,
                    1 => now.saturating_sub(wild),
                    2 => [Duration::ZERO, Duration::MAX][random.usize(..2)],
                    3..6 => continue,
                    _ => now,
                };
                pairing.push(camera, stamp, 0);
                if options.deadline.is_some() && random.usize(..8) == 0 {
                    pairing.set_present(camera, random.bool());
                }
            }
            now += MS(40);
        }
        for camera in 0..cameras {
            pairing.set_present(camera, true);
        }
        let mut complete = 0;
        for frame in 0..550 {
            for camera in 0..cameras {
                let sets = pairing.push(camera, now, 0).sets;
                let whole = sets.iter().filter(|set| set.frames.iter().all(Option::is_some));
                complete += if frame < 500 { 0 } else { whole.count() };
            }
            now += MS(40);
        }
        assert_eq!(complete, 50, "seed {seed}: {options:?}");
    }
}
