//! Tests of camera clocks that are set while they are estimated, and of latencies that must not look like that.

use super::property_tests::{Sets, Shot, Simulated, check, shoot};
use super::tests::MS;
use super::*;

/// Two cameras that are triggered together, with clocks of their own and the jitter of a network.
fn cameras(frames_per_second: f64, jitter: f64) -> Vec<Simulated> {
    let mut cameras = vec![Simulated::steady(frames_per_second); 2];
    for (camera, drift) in cameras.iter_mut().zip([30e-6, -80e-6]) {
        (camera.offset, camera.drift) = (5e12 * (1.0 + drift * 1e4), drift);
        (camera.jitter, camera.delay, camera.loss) = (0.2e6, jitter, 0.01);
    }
    cameras
}

/// The result of pushing frames.
struct Run {
    sets: Sets,
    /// The times at which the sets were completed.
    at: Vec<Duration>,
    /// The number of steps that were noticed late.
    steps: usize,
    /// The offset of camera 1 from camera 0 at the end, in seconds.
    offset: f64,
}

fn run(deadline: Option<Duration>, shots: &[Shot]) -> Run {
    let options = PairingOptions {
        tolerance: MS(16),
        most: 3,
        deadline,
        clocks: Clocks::Estimate,
        ..Default::default()
    };
    let mut pairing = Pairing::new(2, options);
    let mut run = Run { sets: Vec::new(), at: Vec::new(), steps: 0, offset: 0.0 };
    let mut dropped = Vec::new();
    for shot in shots {
        pairing.observe(shot.camera, shot.stamp, shot.arrival);
        run.steps += usize::from(pairing.cameras[shot.camera].has_stepped);
        let outcome = pairing.push(shot.camera, shot.stamp, *shot);
        run.sets.extend(outcome.sets);
        run.at.resize(run.sets.len(), shot.arrival);
        dropped.extend(outcome.alone);
    }
    run.offset = pairing.timing()[1].offset;
    dropped.extend(pairing.clear());
    check(&pairing, shots, &run.sets, &dropped);
    run
}

/// Returns whether the frames of the set are of one trigger.
fn is_right(set: &MatchedSet<Shot>) -> bool {
    let mut frames = set.frames.iter().flatten();
    let first = frames.next();
    frames.all(|shot| first.is_some_and(|first| first.at == shot.at))
}

/// The clock of one camera is set by `step` milliseconds at `begin`. Checks that the sets are right, and as many as
/// before, from 3 seconds later on, or 4 for a camera that has just started. Returns the time in seconds until five
/// sets in a row are right.
fn recovery(
    frames_per_second: f64,
    step: i64,
    begin: Duration,
    camera: usize,
    deadline: Option<Duration>,
    random: &mut fastrand::Rng,
) -> f64 {
    let case = (frames_per_second, step, begin, camera, deadline);
    let jitter = 1e6 + random.f64() * 3e6;
    // The window of the estimate is one minute, so an old point would have an effect until then.
    let seconds = begin.as_secs_f64() + [8.0, 65.0][random.usize(..8) / 7];
    let mut shots = shoot(&cameras(frames_per_second, jitter), seconds, random);
    for shot in shots.iter_mut().filter(|shot| shot.camera == camera && shot.at >= begin) {
        let by = MS(step.unsigned_abs());
        shot.stamp = if step > 0 { shot.stamp + by } else { shot.stamp - by };
    }
    let run = run(deadline, &shots);
    // The first frame is captured at 1 s. A line through few points can follow a step without a restart.
    let is_young = begin < MS(6000);
    assert!(run.steps == 1 || (is_young && run.steps == 0), "{case:?}: {} steps", run.steps);
    let is_whole = |set: &MatchedSet<Shot>| is_right(set) && !set.frames.contains(&None);
    let whole: Vec<_> = run.at.iter().zip(&run.sets).filter(|(_, set)| is_whole(set)).collect();
    let later: Vec<_> =
        whole.iter().map(|(at, _)| **at).filter(|at| *at > begin + MS(60)).collect();
    let steady = |at: &&[Duration]| (at[4] - at[0]).as_secs_f64() < 5.5 / frames_per_second;
    let recovered = later.windows(5).find(steady).unwrap()[0];
    let settled = begin + if is_young { MS(4000) } else { MS(3000) };
    for (at, set) in run.at.iter().zip(&run.sets).filter(|(at, _)| **at > settled) {
        assert!(is_right(set), "{case:?}: {at:?} {set:?}");
    }
    let expected = (shots[shots.len() - 1].arrival - settled).as_secs_f64() * frames_per_second;
    let found = whole.iter().filter(|(at, _)| **at > settled).count();
    assert!(found as f64 > 0.93 * expected, "{case:?}: {found} of {expected}");
    (recovered - begin).as_secs_f64()
}

/// A clock is set forward or back by less than a second, soon after the start or late in the window of the estimate.
#[test]
fn a_small_step_of_a_clock_is_noticed_within_three_seconds() {
    let mut random = fastrand::Rng::with_seed(9);
    let mut times = Vec::new();
    for frames_per_second in [20.0, 30.0] {
        for step in [100, -100, 300, -300, 500, -500, 990, -990] {
            for after in [1, 2, 3, 8, 25, 75, 130] {
                for (camera, deadline) in [(0, None), (1, None), (0, Some(60)), (1, Some(60))] {
                    let begin = MS(after * 1000 + random.u64(0..1000));
                    let deadline = deadline.map(MS);
                    let time =
                        recovery(frames_per_second, step, begin, camera, deadline, &mut random);
                    times.push(time);
                }
            }
        }
    }
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    let slowest = times.iter().copied().fold(0.0, f64::max);
    assert!(mean < 2.5 && slowest < 4.0, "mean {mean} s, slowest {slowest} s");
}

/// Changes the latency of camera 1 in the last 5 of each 20 seconds. `delay` gets the time since the start of this
/// period in seconds, and returns the delay that is added to the arrival, in seconds. Frames arrive in order.
fn delayed(shots: &mut [Shot], mut delay: impl FnMut(f64) -> f64) {
    let mut last = Duration::ZERO;
    for shot in shots.iter_mut().filter(|shot| shot.camera == 1) {
        let since = shot.at.as_secs_f64() % 20.0 - 15.0;
        if since >= 0.0 {
            shot.arrival += Duration::from_secs_f64(delay(since));
        }
        last = shot.arrival.max(last + Duration::from_nanos(1));
        shot.arrival = last;
    }
    shots.sort();
}

/// Jitter, delayed frames, stalls, congestion and drift do not look like a step, and no set has frames of two triggers.
#[test]
fn latencies_that_vary_are_not_taken_for_a_step() {
    for seed in 0..4 {
        for disturbance in
            ["jitter", "frames", "stalls", "batches", "congestion", "loss", "queue", "drift"]
        {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut cameras = cameras(30.0, 2e6);
            match disturbance {
                "jitter" => cameras[1].delay = 20e6,
                "drift" => cameras[1].drift = 300e-6,
                _ => {}
            }
            let mut shots = shoot(&cameras, 200.0, &mut random);
            let mut walk = 0.3_f64;
            match disturbance {
                // A frame in ten is late by up to 0.8 s, and those after it wait for it.
                "frames" => {
                    delayed(
                        &mut shots,
                        |_| {
                            if random.u8(..10) == 0 { random.f64() * 0.8 } else { 0.0 }
                        },
                    )
                }
                // The connection stalls for 3 s, then delivers all frames at once.
                "stalls" => delayed(&mut shots, |since| (3.0 - since).max(0.0)),
                // Frames arrive 12 at a time.
                "batches" => delayed(&mut shots, |since| 0.4 - since % 0.4),
                // All frames are late, by a time that varies.
                "congestion" => delayed(&mut shots, |_| {
                    walk = (walk + (random.f64() - 0.5) * 0.05).clamp(0.05, 0.6);
                    walk
                }),
                // All frames are late by 60 ms, and a fifth of them is lost.
                "loss" => {
                    delayed(&mut shots, |_| 0.06);
                    shots.retain(|shot| {
                        let is_congested = shot.at.as_secs_f64() % 20.0 >= 15.0;
                        shot.camera != 1 || !is_congested || random.u8(..5) > 0
                    });
                }
                // A queue fills up to 0.4 s, and empties again.
                "queue" => delayed(&mut shots, |since| 0.4 - (0.16 * (since - 2.5)).abs()),
                _ => {}
            }
            let run = run(None, &shots);
            let settled =
                |set: &&MatchedSet<Shot>| set.frames[0].is_some_and(|shot| shot.at > MS(5000));
            let wrong = run.sets.iter().filter(settled).filter(|set| !is_right(set)).count();
            assert_eq!((run.steps, wrong), (0, 0), "{disturbance}, seed {seed}");
            let ahead = |camera: &Simulated| camera.offset * 1e-9 + camera.drift * 201.0;
            let error = (run.offset - ahead(&cameras[1]) + ahead(&cameras[0])).abs();
            assert!(error < 2e-3, "{disturbance}, seed {seed}: {error}");
        }
    }
}
