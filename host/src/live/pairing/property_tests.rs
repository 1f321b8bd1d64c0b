//! Property tests with simulated cameras: 2 to 16 cameras with rates, phases, jitter, lost frames, clocks and arrivals.

use super::tests::{MS, simple};
use super::*;

const SECOND: f64 = 1e9;

/// A simulated camera. Times are in nanoseconds.
#[derive(Clone, Debug)]
pub(super) struct Simulated {
    pub(super) frame_time: f64,
    pub(super) phase: f64,
    /// The largest error of a timestamp.
    pub(super) jitter: f64,
    /// The probability of a lost frame.
    pub(super) loss: f64,
    /// The offset of the camera's clock and its drift in seconds per second.
    pub(super) offset: f64,
    pub(super) drift: f64,
    pub(super) latency: f64,
    /// The mean of the random part of the latency.
    pub(super) delay: f64,
}

impl Simulated {
    pub(super) fn steady(frames_per_second: f64) -> Self {
        Self {
            frame_time: SECOND / frames_per_second,
            phase: 0.0,
            jitter: 0.0,
            loss: 0.0,
            offset: 0.0,
            drift: 0.0,
            latency: 20e6,
            delay: 0.0,
        }
    }
}

/// A simulated frame, of which pairing sees only `stamp` and `arrival`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Shot {
    pub(super) arrival: Duration,
    pub(super) camera: usize,
    /// The true time of the capture.
    pub(super) at: Duration,
    pub(super) stamp: Duration,
}

/// Returns the frames of all cameras in the order of their arrival.
pub(super) fn shoot(cameras: &[Simulated], seconds: f64, random: &mut fastrand::Rng) -> Vec<Shot> {
    let nanos = |value: f64| Duration::from_nanos(value.max(0.0) as u64);
    let mut shots = Vec::new();
    for (index, camera) in cameras.iter().enumerate() {
        let mut arrived = 0.0;
        for i in 0..(seconds * SECOND / camera.frame_time) as u64 {
            // All frames are a second late, so that no time is negative.
            let at = SECOND + camera.phase + i as f64 * camera.frame_time;
            let stamp = at + camera.jitter * (2.0 * random.f64() - 1.0);
            let stamp = stamp * (1.0 + camera.drift) + camera.offset;
            let delay = camera.latency - camera.delay * random.f64().max(1e-9).ln();
            // The frames of one camera arrive in order.
            arrived = f64::max(arrived + 1.0, at + delay);
            if random.f64() >= camera.loss {
                let (at, stamp, arrival) = (nanos(at), nanos(stamp), nanos(arrived));
                shots.push(Shot { arrival, camera: index, at, stamp });
            }
        }
    }
    shots.sort();
    shots
}

/// A set with its simulated frames.
pub(super) type Sets = Vec<MatchedSet<Shot>>;

/// Pushes the frames and checks what holds for all cameras: every frame is in a set or was dropped for a counted
/// reason, and the sets are in order.
fn pair_all(pairing: &mut Pairing<Shot>, shots: &[Shot]) -> Sets {
    let (mut sets, mut dropped) = (Vec::new(), Vec::new());
    for shot in shots {
        pairing.observe(shot.camera, shot.stamp, shot.arrival);
        let outcome = pairing.push(shot.camera, shot.stamp, *shot);
        sets.extend(outcome.sets);
        dropped.extend(outcome.alone);
        assert!(pairing.waiting(shot.camera) <= pairing.options.most);
    }
    dropped.extend(pairing.clear());
    check(pairing, shots, &sets, &dropped);
    sets
}

pub(super) fn check(
    pairing: &Pairing<Shot>,
    shots: &[Shot],
    sets: &Sets,
    dropped: &[(usize, Shot)],
) {
    assert!(sets.is_sorted_by(|a, b| a.time < b.time), "the sets are out of order");
    let mut seen: Vec<Shot> = dropped.iter().map(|(_, shot)| *shot).collect();
    for (index, timing) in pairing.timing().iter().enumerate() {
        let frames: Vec<Shot> = sets.iter().filter_map(|set| set.frames[index]).collect();
        assert!(frames.is_sorted_by(|a, b| a.at <= b.at), "frames out of order");
        let mut used = frames.clone();
        used.dedup();
        assert_eq!(timing.frames.used, used.len() as u64);
        assert_eq!(timing.frames.repeated, (frames.len() - used.len()) as u64);
        let gone = dropped.iter().filter(|(camera, _)| *camera == index).count();
        assert_eq!(timing.frames.dropped(), gone as u64);
        seen.extend(used);
    }
    let mut shots = shots.to_vec();
    shots.sort();
    seen.sort();
    assert_eq!(seen, shots, "every frame has exactly one outcome");
}

/// Returns the largest distance of a frame of `camera` from the reference frame of its set, in seconds.
fn judder(sets: &[MatchedSet<Shot>], camera: usize) -> f64 {
    let apart = |set: &MatchedSet<Shot>| {
        let (frame, reference) = (set.frames[camera]?, set.frames[0]?);
        Some(frame.at.abs_diff(reference.at).as_secs_f64())
    };
    sets.iter().filter_map(apart).fold(0.0, f64::max)
}

fn random_camera(random: &mut fastrand::Rng, rates: &[f64]) -> Simulated {
    let mut camera = Simulated::steady(rates[random.usize(..rates.len())]);
    camera.phase = random.f64() * camera.frame_time;
    camera.jitter = random.f64() * 0.08 * camera.frame_time;
    camera.loss = [0.0, 0.01, 0.1][random.usize(..3)];
    camera.latency = random.f64() * 50e6;
    camera.delay = random.f64() * 5e6;
    camera
}

/// Random cameras with random rates, phases, jitter and losses, with and without a deadline.
#[test]
fn every_frame_of_random_cameras_has_one_outcome() {
    for seed in 0..60 {
        let mut random = fastrand::Rng::with_seed(seed);
        let rates: &[f64] =
            [&[30.0][..], &[25.0, 30.0], &[15.0, 24.0, 50.0, 60.0, 120.0]][random.usize(..3)];
        let cameras: Vec<_> =
            (0..random.usize(2..=16)).map(|_| random_camera(&mut random, rates)).collect();
        let shots = shoot(&cameras, 8.0, &mut random);
        let deadline = random.bool().then(|| MS(random.u64(50..200)));
        let tolerance = MS(random.u64(5..40));
        let options = PairingOptions {
            tolerance,
            most: random.usize(1..8),
            deadline,
            reference: 0,
            ..Default::default()
        };
        let mut pairing = Pairing::new(cameras.len(), options);
        let sets = pair_all(&mut pairing, &shots);
        for (index, camera) in cameras.iter().enumerate() {
            let most = |camera: &Simulated| {
                (camera.frame_time * 0.63e-9).max(tolerance.as_secs_f64()) + camera.jitter * 2e-9
            };
            let apart = judder(&sets, index);
            // The limit is for timestamps, which differ from the true times by the jitter. With a deadline, a deputy
            // can open a set; the limit then holds between the deputy and each of the two cameras.
            let most = match deadline {
                Some(_) => most(camera) + most(&cameras[0]),
                None => most(camera) + cameras[0].jitter * 2e-9,
            };
            assert!(apart <= most, "seed {seed} camera {index}: {apart} > {most}");
        }
        if deadline.is_none() {
            assert!(sets.iter().all(|set| set.frames.iter().all(Option::is_some)));
        }
    }
}

/// Whatever the timestamps were, and whichever cameras were absent: when all cameras deliver in step again, all their
/// frames are in complete sets after 20 seconds.
#[test]
fn no_timestamp_stops_the_sets_for_ever() {
    for seed in 0..600 {
        let mut random = fastrand::Rng::with_seed(seed);
        let cameras = random.usize(2..=4);
        let options = PairingOptions {
            tolerance: MS(16),
            most: random.usize(1..6),
            deadline: random.bool().then(|| MS(50)),
            reference: random.usize(..cameras),
            clocks: if random.bool() { Clocks::Estimate } else { Clocks::Common },
            offsets: Vec::new(),
        };
        let mut pairing = Pairing::new(cameras, options.clone());
        let push = |pairing: &mut Pairing<u64>, camera, stamp, now: Duration| {
            pairing.observe(camera, stamp, now + MS(20));
            pairing.push(camera, stamp, 0).sets
        };
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
                push(&mut pairing, camera, stamp, now);
                if random.usize(..8) == 0 {
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
                let sets = push(&mut pairing, camera, now, now);
                let whole = sets.iter().filter(|set| set.frames.iter().all(Option::is_some));
                complete += if frame < 500 { 0 } else { whole.count() };
            }
            now += MS(40);
        }
        assert_eq!(complete, 50, "seed {seed}: {options:?}");
    }
}

/// Frames of 25 and 30 frames/s: the panorama has the reference camera's rate, and each set has the nearest frame. The
/// first second, in which the rates are not known yet, is left out.
#[test]
fn unequal_rates_give_the_nearest_frame_at_the_rate_of_the_reference() {
    for (reference, other) in
        [(30.0, 25.0), (25.0, 30.0), (60.0, 25.0), (24.0, 120.0), (30.0, 29.0)]
    {
        for phase in [0.0, 0.21, 0.5, 0.9] {
            let mut cameras = [reference, other].map(Simulated::steady);
            cameras[1].phase = phase * cameras[1].frame_time;
            let mut random = fastrand::Rng::with_seed(1);
            let shots = shoot(&cameras, 20.0, &mut random);
            let mut pairing = simple(2, MS(16), 5);
            let sets = pair_all(&mut pairing, &shots);
            let settled: Vec<_> = sets.into_iter().filter(|set| set.time > MS(3000)).collect();
            let expected = 18.0 * reference;
            assert!(
                (settled.len() as f64 - expected).abs() <= 4.0,
                "{reference}/{other}: {} sets instead of {expected}",
                settled.len()
            );
            let half = cameras[1].frame_time * 0.5e-9;
            let apart = judder(&settled, 1);
            assert!(apart <= half + 1e-6, "{reference}/{other}: {apart} > {half}");
            let unmatched: u64 =
                pairing.timing().iter().map(|timing| timing.frames.unmatched).sum();
            // Only in the first second, while the rates are not known yet, frames are unmatched.
            let most = (1.1 * (reference + other)) as u64;
            assert!(unmatched <= most, "{reference}/{other}: {unmatched}");
        }
    }
}

/// The frames of a slow reference camera arrive after those of a faster camera. Between two of its frames, its last one
/// becomes older than the deadline, but none of its frames is late.
#[test]
fn a_slow_reference_camera_leads_with_a_deadline() {
    for ([reference, other], later, deadline) in [
        ([15.0, 30.0], 0, 50),
        ([15.0, 30.0], 10, 50),
        ([25.0, 50.0], 25, 50),
        ([25.0, 50.0], 10, 33),
        ([18.0, 36.0], 1, 50),
        ([30.0, 60.0], 40, 50),
        ([5.0, 60.0], 30, 50),
    ] {
        for clocks in [Clocks::Common, Clocks::Estimate] {
            let name = format!("{reference}/{other}, {later} ms later, {deadline} ms, {clocks:?}");
            let mut cameras = [reference, other].map(Simulated::steady);
            cameras[0].latency += later as f64 * 1e6;
            cameras.iter_mut().for_each(|camera| camera.jitter = 1e6);
            let shots = shoot(&cameras, 20.0, &mut fastrand::Rng::with_seed(1));
            let options = PairingOptions {
                tolerance: MS(16),
                most: 5,
                deadline: Some(MS(deadline)),
                clocks,
                ..Default::default()
            };
            let mut pairing = Pairing::new(2, options);
            let sets = pair_all(&mut pairing, &shots);
            // The rates are known after 25 frames.
            let settled = |at: Duration| at.as_secs_f64() > 2.0 + 26.0 / reference;
            let (mut expected, mut found) = (0, 0);
            for shot in shots.iter().filter(|shot| shot.camera == 0 && settled(shot.at)) {
                expected += 1;
                found += usize::from(sets.iter().any(|set| set.frames[0] == Some(*shot)));
            }
            assert!(found + 2 >= expected, "{name}: {found} of {expected} frames");
            let after: Vec<_> = sets.into_iter().filter(|set| settled(set.time)).collect();
            assert!(after.len() <= expected + 3, "{name}: {} sets, {expected} frames", after.len());
            let none = after.iter().filter(|set| set.frames.iter().any(Option::is_none)).count();
            assert!(none <= 1, "{name}: {none} sets lack a frame");
            let apart = judder(&after, 1);
            let half = cameras[1].frame_time * 0.5e-9 + 2e-3;
            // An estimated clock has the difference of the latencies.
            let most = half + if clocks == Clocks::Estimate { later as f64 * 1e-3 } else { 0.0 };
            assert!(apart <= most, "{name}: {apart} > {most}");
        }
    }
}

/// The frames of the reference camera have unequal intervals, as with automatic exposure, so its rate is not known.
#[test]
fn an_irregular_reference_camera_leads_with_a_deadline() {
    let mut cameras = [15.0, 30.0].map(Simulated::steady);
    (cameras[0].jitter, cameras[0].latency) = (12e6, 40e6);
    let shots = shoot(&cameras, 20.0, &mut fastrand::Rng::with_seed(2));
    let options =
        PairingOptions { tolerance: MS(16), most: 5, deadline: Some(MS(50)), ..Default::default() };
    let mut pairing = Pairing::new(2, options);
    let sets = pair_all(&mut pairing, &shots);
    assert!(pairing.cameras[0].frame_rate.mean().is_none());
    let used = pairing.timing()[0].frames.used;
    assert!(used >= 299 && sets.len() <= 303, "{used} frames in {} sets", sets.len());
}

/// The reference camera leaves while its sets are open, and the other camera has another rate. No set is without a
/// frame.
#[test]
fn a_set_that_loses_its_only_frame_is_dropped() {
    for deadline in [None, Some(MS(50))] {
        let cameras = [24.0, 60.0].map(Simulated::steady);
        let shots = shoot(&cameras, 30.0, &mut fastrand::Rng::with_seed(3));
        let options = PairingOptions { tolerance: MS(16), most: 8, deadline, ..Default::default() };
        let mut pairing = Pairing::new(2, options);
        let (mut sets, mut dropped) = (Vec::new(), Vec::new());
        let mut present = true;
        for (i, shot) in shots.iter().enumerate() {
            // The reference camera is absent for 60 of 157 frames.
            if present != (i % 157 < 97) {
                present = !present;
                let outcome = pairing.set_present(0, present);
                sets.extend(outcome.sets);
                dropped.extend(outcome.alone);
            }
            let outcome = pairing.push(shot.camera, shot.stamp, *shot);
            sets.extend(outcome.sets);
            dropped.extend(outcome.alone);
        }
        dropped.extend(pairing.clear());
        check(&pairing, &shots, &sets, &dropped);
        assert!(sets.len() > 700, "{deadline:?}: {}", sets.len());
        assert!(sets.iter().all(|set| set.frames.iter().any(Option::is_some)), "{deadline:?}");
    }
}

/// The frames of a slow reference camera come 300 ms late for a second, while another camera leads. Then the reference
/// camera leads again. No frame is lost before and after, and the sets between them show all cameras.
#[test]
fn a_slow_reference_camera_leads_again_after_a_stall() {
    for [reference, other] in [[15.0, 30.0], [25.0, 50.0], [24.0, 60.0]] {
        let cameras = [reference, other].map(Simulated::steady);
        let mut shots = shoot(&cameras, 20.0, &mut fastrand::Rng::with_seed(1));
        for shot in shots.iter_mut().filter(|shot| shot.camera == 0 && shot.at > MS(10_000)) {
            shot.arrival = shot.arrival.max(MS(11_300).min(shot.arrival + MS(300)));
        }
        shots.sort();
        let options = PairingOptions {
            tolerance: MS(16),
            most: 5,
            deadline: Some(MS(50)),
            ..Default::default()
        };
        let mut pairing = Pairing::new(2, options);
        let sets = pair_all(&mut pairing, &shots);
        let is_steady =
            |at: Duration| (at > MS(4000) && at < MS(9900)) || (at > MS(11_500) && at < MS(20_000));
        let lost = |shot: &&Shot| {
            shot.camera == 0
                && is_steady(shot.at)
                && !sets.iter().any(|set| set.frames[0] == Some(**shot))
        };
        let lost: Vec<_> = shots.iter().filter(lost).collect();
        assert!(lost.is_empty(), "{reference}/{other}: {lost:?}");
        let led: Vec<_> = sets.iter().filter(|set| is_steady(set.time)).collect();
        assert!(led.iter().all(|set| set.frames.iter().all(Option::is_some)));
        let expected = (reference * 14.4) as usize;
        assert!(led.len().abs_diff(expected) <= 2, "{reference}/{other}: {} sets", led.len());
    }
}

/// Cameras that are triggered together, with clocks that start apart and drift by up to 200 ppm. After a minute, the
/// offset is right to 1 ms and within its stated uncertainty, and no set mixes frames of two triggers.
#[test]
fn estimated_clocks_are_right_to_a_millisecond() {
    for seed in 0..8 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut cameras = vec![Simulated::steady(30.0); random.usize(2..=4)];
        for camera in &mut cameras {
            camera.offset = (random.f64() - 0.2).max(0.0) * 1e12;
            camera.drift = (random.f64() * 2.0 - 1.0) * 200e-6;
            camera.delay = 1e6 + random.f64() * 5e6;
            camera.loss = 0.02;
        }
        let shots = shoot(&cameras, 120.0, &mut random);
        let options = PairingOptions {
            tolerance: MS(16),
            most: 5,
            clocks: Clocks::Estimate,
            ..Default::default()
        };
        let mut pairing = Pairing::new(cameras.len(), options);
        let mut sets = Vec::new();
        for shot in &shots {
            pairing.observe(shot.camera, shot.stamp, shot.arrival);
            sets.extend(pairing.push(shot.camera, shot.stamp, *shot).sets);
            // The figures are read once a second.
            if shot.at < MS(60_000) || shot.at.subsec_millis() >= 33 {
                continue;
            }
            for (camera, timing) in cameras.iter().zip(pairing.timing()).skip(1) {
                let ahead =
                    |camera: &Simulated| camera.offset + camera.drift * shot.at.as_nanos() as f64;
                let expected = (ahead(camera) - ahead(&cameras[0])) * 1e-9;
                let error = (timing.offset - expected).abs();
                assert!(error <= 1e-3, "seed {seed}: {error} at {:?}", shot.at);
                assert!(error <= timing.uncertainty, "seed {seed}: {error} {timing:?}");
                let drift = (camera.drift - cameras[0].drift) * 1e6;
                assert!((timing.drift_ppm - drift).abs() < 20.0, "seed {seed}: {drift} {timing:?}");
            }
        }
        for set in &sets {
            let at: Vec<_> = set.frames.iter().flatten().map(|shot| shot.at).collect();
            assert!(at.windows(2).all(|at| at[0] == at[1]), "seed {seed}: {at:?}");
        }
        assert!(sets.len() as f64 > 0.98_f64.powi(cameras.len() as i32 + 1) * 3600.0);
    }
}

/// A camera with its own clock restarts. The other cameras lose no frame.
#[test]
fn a_camera_that_restarts_does_not_disturb_the_others() {
    let mut random = fastrand::Rng::with_seed(7);
    let mut cameras = vec![Simulated::steady(30.0); 3];
    (cameras[1].offset, cameras[1].delay) = (1e12, 2e6);
    let mut shots = shoot(&cameras, 60.0, &mut random);
    for shot in shots.iter_mut().filter(|shot| shot.camera == 1 && shot.at > MS(30_000)) {
        shot.stamp -= MS(1_020_000);
    }
    let options = PairingOptions {
        tolerance: MS(16),
        most: 5,
        clocks: Clocks::Estimate,
        ..Default::default()
    };
    let mut pairing = Pairing::new(3, options);
    let sets = pair_all(&mut pairing, &shots);
    assert!(sets.len() >= 1795, "{}", sets.len());
    assert!(judder(&sets, 1) == 0.0 && judder(&sets, 2) == 0.0);
}

/// The cameras leave and return one after the other, the reference camera too. The panorama goes on with the others.
#[test]
fn cameras_leave_and_return() {
    let mut random = fastrand::Rng::with_seed(3);
    let cameras = vec![Simulated { jitter: 1e6, ..Simulated::steady(30.0) }; 4];
    let shots = shoot(&cameras, 40.0, &mut random);
    let mut pairing = simple(4, MS(16), 5);
    let (mut sets, mut dropped) = (Vec::new(), Vec::new());
    let mut absent = None;
    for shot in &shots {
        // In each period of 4 seconds, one camera is absent for 2 seconds.
        let period = shot.at.as_millis() / 2000;
        let leaves = (period % 2 == 1).then_some((period / 2) as usize % 4);
        if leaves != absent {
            for (camera, present) in [(absent, true), (leaves, false)] {
                let Some(camera) = camera else { continue };
                let outcome = pairing.set_present(camera, present);
                sets.extend(outcome.sets);
                dropped.extend(outcome.alone);
            }
            absent = leaves;
        }
        let outcome = pairing.push(shot.camera, shot.stamp, *shot);
        sets.extend(outcome.sets);
        dropped.extend(outcome.alone);
    }
    dropped.extend(pairing.clear());
    check(&pairing, &shots, &sets, &dropped);
    assert!(sets.len() >= 1180, "{}", sets.len());
    let partial = sets.iter().filter(|set| set.frames.iter().any(Option::is_none)).count();
    assert!((550..650).contains(&partial), "{partial}");
    assert!(sets.iter().all(|set| set.frames.iter().flatten().count() >= 3));
    let unmatched: u64 = pairing.timing().iter().map(|timing| timing.frames.unmatched).sum();
    assert!(unmatched <= 120, "{unmatched}");
}

/// With a deadline, a camera that stalls does not stop the others, even if it is the reference camera. Its frames that
/// come too late are counted as late.
#[test]
fn a_late_camera_does_not_stop_the_others() {
    for (stalled, most) in [(0, 8), (1, 8), (2, 8), (0, 2), (1, 2), (2, 1)] {
        let mut random = fastrand::Rng::with_seed(5);
        let cameras = vec![Simulated::steady(30.0); 3];
        let mut shots = shoot(&cameras, 20.0, &mut random);
        // The camera stalls for 3 seconds, then delivers all frames at once.
        for shot in shots.iter_mut().filter(|shot| shot.camera == stalled) {
            if shot.at > MS(5000) && shot.at < MS(8000) {
                shot.arrival = MS(8000) + shot.at / 1000;
            }
        }
        shots.sort();
        let options = PairingOptions {
            tolerance: MS(16),
            most,
            deadline: Some(MS(100)),
            ..Default::default()
        };
        let mut pairing = Pairing::new(3, options);
        let sets = pair_all(&mut pairing, &shots);
        assert!(sets.len() >= 595, "{stalled}: {}", sets.len());
        let without = sets.iter().filter(|set| set.frames[stalled].is_none()).count();
        assert!((80..=91).contains(&without), "{stalled}: {without}");
        let frames = pairing.timing()[stalled].frames;
        assert!((80..=91).contains(&frames.late), "{stalled}: {frames:?}");
        for (camera, timing) in pairing.timing().iter().enumerate() {
            assert!(camera == stalled || timing.frames.dropped() <= 3, "{stalled}: {timing:?}");
        }
    }
}

/// Cameras that are triggered together have clocks of their own and different latencies. The phase is the difference
/// between the latencies, and the set offsets correct it.
#[test]
fn the_phase_of_triggered_cameras_is_the_difference_of_their_latencies() {
    let mut random = fastrand::Rng::with_seed(11);
    let mut cameras = vec![Simulated { delay: 2e6, ..Simulated::steady(30.0) }; 3];
    (cameras[1].offset, cameras[1].latency) = (5e11, 29e6);
    (cameras[2].drift, cameras[2].latency) = (1e-4, 13e6);
    let shots = shoot(&cameras, 60.0, &mut random);
    let mut offsets = vec![0; 3];
    for expected in [[0.009, -0.007], [0.0, 0.0]] {
        let options = PairingOptions {
            tolerance: MS(16),
            most: 5,
            clocks: Clocks::Estimate,
            offsets: offsets.clone(),
            ..Default::default()
        };
        let mut pairing = Pairing::new(3, options);
        for shot in &shots {
            pairing.observe(shot.camera, shot.stamp, shot.arrival);
            pairing.push(shot.camera, shot.stamp, *shot);
        }
        for (index, expected) in [1, 2].into_iter().zip(expected) {
            let phase = pairing.timing()[index].phase;
            assert!((phase - expected).abs() < 1e-3, "{index}: {phase}");
            offsets[index] = (-phase * 1e9) as i64;
        }
    }
}

#[test]
fn a_set_offset_is_added_to_the_timestamps() {
    let options = PairingOptions {
        tolerance: MS(5),
        most: 3,
        offsets: vec![0, -1_000_000_000, 20_000_000],
        ..Default::default()
    };
    let mut pairing = Pairing::new(3, options);
    assert!(pairing.push(0, MS(500), 'a').waits && pairing.push(1, MS(1502), 'b').waits);
    let sets = pairing.push(2, MS(481), 'c').sets;
    assert_eq!(sets, [MatchedSet { time: MS(502), frames: vec![Some('a'), Some('b'), Some('c')] }]);
}
