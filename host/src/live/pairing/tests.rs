//! Tests of the rules, most of them with two cameras.

use std::ops::Range;

use super::*;

pub(super) const MS: fn(u64) -> Duration = Duration::from_millis;
const LEFT: usize = 0;
const RIGHT: usize = 1;

/// Creates a pairing for timestamps on one clock, without a deadline.
pub(super) fn simple<T: Clone>(cameras: usize, tolerance: Duration, most: usize) -> Pairing<T> {
    Pairing::new(cameras, PairingOptions { tolerance, most, ..PairingOptions::default() })
}

type Lone = Vec<(usize, u64)>;

/// Adds frames in the given order to a pairing. Each frame carries its timestamp in milliseconds as its value. Returns
/// the pairs and the unpaired frames.
fn run(frames: &[(usize, u64)], tolerance: u64) -> (Vec<(u64, u64)>, Lone) {
    let mut pairing = simple(2, MS(tolerance), 3);
    let (mut pairs, mut alone) = (Vec::new(), Vec::new());
    for &(camera, time) in frames {
        let outcome = pairing.push(camera, MS(time), time);
        pairs.extend(outcome.sets.iter().filter_map(pair));
        alone.extend(outcome.alone);
    }
    alone.extend(pairing.clear());
    (pairs, alone)
}

/// Returns the two frames of a set.
fn pair(set: &MatchedSet<u64>) -> Option<(u64, u64)> {
    let &[left, right] = set.frames.as_slice() else { return None };
    left.zip(right)
}

#[test]
fn frames_within_the_tolerance_pair() {
    let (pairs, alone) = run(&[(LEFT, 0), (RIGHT, 5), (RIGHT, 38), (LEFT, 33)], 10);
    assert_eq!((pairs, alone), (vec![(0, 5), (33, 38)], vec![]));
}

#[test]
fn the_partner_of_a_lost_frame_stays_unpaired() {
    let (pairs, alone) = run(&[(LEFT, 0), (LEFT, 33), (RIGHT, 34), (LEFT, 66), (RIGHT, 67)], 10);
    assert_eq!((pairs, alone), (vec![(33, 34), (66, 67)], vec![(LEFT, 0)]));
}

#[test]
fn the_nearest_of_several_frames_is_the_partner() {
    let (pairs, alone) = run(&[(LEFT, 0), (LEFT, 8), (LEFT, 16), (RIGHT, 9)], 10);
    assert_eq!((pairs, alone), (vec![(8, 9)], vec![(LEFT, 0), (LEFT, 16)]));
}

/// Two cameras run at 120 frames/s with a tolerance of 16 ms, almost two frame times. The first frame of the right
/// camera is lost. Only the first pair is wrong; all later pairs have equal timestamps.
#[test]
fn a_lost_frame_does_not_shift_later_pairs() {
    let mut frames = vec![(LEFT, 0)];
    for i in 1..100 {
        frames.extend([(RIGHT, 25 * i / 3), (LEFT, 25 * i / 3)]);
    }
    let (pairs, alone) = run(&frames, 16);
    // The first pair is wrong, because the frame time is not known yet.
    assert_eq!((pairs[0], alone.len()), ((0, 8), 1));
    assert!(pairs[1..].iter().all(|(left, right)| left == right), "{pairs:?}");
    assert_eq!(pairs.len(), 99);
}

/// Two cameras run at 120 frames/s with jitter, a pause of 400 ms, lost frames of both cameras, and bursts of two
/// frames. The timestamps of each pair differ by at most 1 ms, the interval of a burst, and at least 182 of the 185
/// possible pairs are found.
#[test]
fn lost_frames_and_bursts_do_not_change_the_frame_time() {
    let mut frames = Vec::new();
    for i in 0..200_u64 {
        let time = 1000 * i / 120 + u64::from(i > 120) * 400 + (i * 7 % 3);
        for camera in [RIGHT, LEFT] {
            if (camera == RIGHT && i % 20 == 10) || (camera == LEFT && i % 33 == 4) {
                continue;
            }
            frames.push((camera, time));
            if camera == LEFT && i % 20 == 15 {
                frames.push((camera, time + 1));
            }
        }
    }
    let (pairs, _) = run(&frames, 16);
    assert!(pairs.iter().all(|(left, right)| left.abs_diff(*right) <= 1), "{pairs:?}");
    assert!(pairs.len() >= 182, "{}", pairs.len());
}

#[test]
fn frames_that_the_other_camera_has_passed_do_not_wait() {
    let mut pairing = simple(2, MS(10), 3);
    for time in [100, 120, 140] {
        assert!(!pairing.is_full(LEFT, MS(time)));
        assert_eq!(pairing.push(LEFT, MS(time), time).alone, []);
    }
    assert!(pairing.is_full(LEFT, MS(160)) && !pairing.is_full(LEFT, MS(140)));
    for time in [0, 20, 40, 60, 80] {
        assert!(!pairing.is_full(RIGHT, MS(time)));
        assert_eq!(pairing.push(RIGHT, MS(time), time).alone, [(RIGHT, time)]);
    }
    let sets = pairing.push(RIGHT, MS(101), 101).sets;
    assert_eq!(sets, [MatchedSet { time: MS(101), frames: vec![Some(100), Some(101)] }]);
    assert!(!pairing.is_full(LEFT, MS(160)));
}

/// A camera delivers one frame that is an hour ahead, and is absent then. The other camera makes sets without it at once,
/// and both make pairs when it is present again.
#[test]
fn a_wrong_time_of_an_absent_camera_does_not_stop_the_others() {
    for (wrong, deadline) in
        [(LEFT, None), (LEFT, Some(MS(50))), (RIGHT, None), (RIGHT, Some(MS(50)))]
    {
        let options = PairingOptions { tolerance: MS(10), most: 3, deadline, ..Default::default() };
        let mut pairing = Pairing::new(2, options);
        let other = 1 - wrong;
        let sets = |pairing: &mut Pairing<u64>, cameras: &[usize], times: Range<u64>| {
            let all = times.flat_map(|n| cameras.iter().map(move |camera| (*camera, 40 * n)));
            let sets = all.flat_map(|(camera, at)| pairing.push(camera, MS(at), at).sets);
            sets.map(|set| (set.time, set.frames.into_iter().flatten().count())).collect::<Vec<_>>()
        };
        let expected =
            |times: Range<u64>, frames| times.map(|n| (MS(40 * n), frames)).collect::<Vec<_>>();
        assert_eq!(sets(&mut pairing, &[LEFT, RIGHT], 0..10), expected(0..10, 2));
        let ahead = MS(400) + Duration::from_secs(3600);
        assert!(pairing.push(wrong, ahead, 0).sets.is_empty() || deadline.is_some());
        pairing.set_present(wrong, false);
        assert_eq!(
            sets(&mut pairing, &[other], 10..20),
            expected(10..20, 1),
            "{wrong} {deadline:?}"
        );
        pairing.set_present(wrong, true);
        assert_eq!(sets(&mut pairing, &[wrong, other], 20..30), expected(20..30, 2));
    }
}

/// All cameras are absent for a while, and their clocks start again.
#[test]
fn clocks_can_start_again_while_all_cameras_are_absent() {
    for deadline in [None, Some(MS(50))] {
        let options = PairingOptions { tolerance: MS(10), most: 3, deadline, ..Default::default() };
        let mut pairing = Pairing::new(2, options);
        for _ in 0..2 {
            for time in (0..400).step_by(40).map(MS) {
                let sets = [LEFT, RIGHT].map(|camera| pairing.push(camera, time, 0).sets.len());
                assert_eq!(sets.iter().sum::<usize>(), 1, "{time:?} {deadline:?}");
            }
            for present in [false, true] {
                for camera in [LEFT, RIGHT] {
                    pairing.set_present(camera, present);
                }
            }
        }
    }
}

/// Returns the largest number of frames of one camera between two frames of another one. Frames before the first frame
/// of the other camera count, too; frames after the last do not.
fn longest_gap(frames: &[(u64, usize)], cameras: usize) -> usize {
    let mut longest = 0;
    let mut since = vec![vec![0; cameras]; cameras];
    for &(_, camera) in frames {
        longest = longest.max(*since[camera].iter().max().unwrap());
        since[camera].fill(0);
        for other in (0..cameras).filter(|other| *other != camera) {
            since[other][camera] += 1;
        }
    }
    longest
}

/// One thread pushes the frames of cameras with equal rates in the order of time. It never blocks if there are at most
/// `most` frames of any camera between two frames of another one. With one frame more, it blocks for ever, because the
/// other camera's next frame, which would make room, comes later.
#[test]
fn one_thread_can_push_for_all_cameras_if_no_gap_is_too_long() {
    for seed in 0..400_u64 {
        let mut random = fastrand::Rng::with_seed(seed);
        let count = random.usize(2..5);
        let (mut frames, loss) = (Vec::new(), [0.0, 0.05, 0.3][random.usize(..3)]);
        for camera in 0..count {
            let phase = random.u64(..33);
            let times = (0..180).map(|i| phase + i * 33);
            frames.extend(times.filter(|_| random.f64() >= loss).map(|time| (time, camera)));
        }
        frames.sort_unstable();
        let last = (0..count).filter_map(|camera| frames.iter().rposition(|(_, c)| *c == camera));
        frames.truncate(last.min().unwrap() + 1);
        let most = longest_gap(&frames, count);
        let mut pairing = simple(count, MS(random.u64(5..40)), most);
        for &(time, camera) in &frames {
            assert!(!pairing.is_full(camera, MS(time)), "seed {seed} at {time}");
            pairing.push(camera, MS(time), time);
        }
    }
    let mut pairing = simple(2, MS(10), 3);
    for time in [0, 33, 66] {
        assert!(!pairing.is_full(LEFT, MS(time)));
        pairing.push(LEFT, MS(time), time);
    }
    assert!(pairing.is_full(LEFT, MS(99)));
}

/// Each camera has a thread, which pushes its frames unless the camera is full. The threads run in any order, and some
/// much faster than others. No set is lost after the rates are known.
#[test]
fn threads_of_cameras_with_different_rates_lose_no_set() {
    for seed in 0..300_u64 {
        let mut random = fastrand::Rng::with_seed(seed);
        let others = (0..random.usize(1..4)).map(|_| [30, 30, 15, 60, 25, 50][random.usize(..6)]);
        let rates: Vec<u64> = [30].into_iter().chain(others.collect::<Vec<_>>()).collect();
        let frames = |camera: usize| 15 * rates[camera];
        let speeds: Vec<f64> =
            rates.iter().map(|_| [1.0, 1.0, 0.05, 20.0][random.usize(..4)]).collect();
        let mut pairing = simple(rates.len(), MS(10), random.usize(3..8));
        let mut next = vec![0; rates.len()];
        let mut keys = Vec::new();
        while (0..rates.len()).all(|camera| next[camera] < frames(camera)) {
            let time =
                |camera: usize| Duration::from_nanos(next[camera] * 1_000_000_000 / rates[camera]);
            let ready = (0..rates.len()).filter(|camera| !pairing.is_full(*camera, time(*camera)));
            let mut turn = |camera: &usize| random.f64().powf(1.0 / speeds[*camera]);
            let Some((_, camera)) =
                { ready }.map(|camera| (turn(&camera), camera)).max_by(|a, b| a.0.total_cmp(&b.0))
            else {
                panic!("seed {seed}: {rates:?} wait for each other at {next:?}");
            };
            let sets = pairing.push(camera, time(camera), next[camera]).sets;
            keys.extend(sets.into_iter().filter_map(|set| set.frames[0]));
            next[camera] += 1;
        }
        // A rate is known after 25 frames.
        let known = 2 * 30 * 25 / rates.iter().min().unwrap();
        let gap = keys.windows(2).filter(|two| two[0] > known).map(|two| two[1] - two[0]).max();
        assert!(gap == Some(1), "seed {seed}: {rates:?} {speeds:?}, gap {gap:?}");
        assert!(*keys.last().unwrap() > 15 * 30 - 60, "seed {seed}: {rates:?} {speeds:?}");
    }
}

#[test]
fn few_frames_wait_if_the_other_camera_is_missing() {
    for camera in [LEFT, RIGHT] {
        let mut pairing = simple(2, MS(10), 3);
        let lone: usize = (0..100).map(|i| pairing.push(camera, MS(33 * i), i).alone.len()).sum();
        assert_eq!((lone, pairing.waiting(camera)), (97, 3));
    }
}

#[test]
fn pairing_restarts_after_a_clock_was_set_back() {
    let (pairs, alone) = run(&[(LEFT, 10_000), (RIGHT, 10_000), (LEFT, 5), (RIGHT, 6)], 10);
    assert_eq!((pairs, alone), (vec![(10_000, 10_000), (5, 6)], vec![]));
    let (pairs, alone) = run(&[(LEFT, 100), (LEFT, 100), (LEFT, 90), (RIGHT, 100)], 10);
    assert_eq!((pairs, alone), (vec![(100, 100)], vec![(LEFT, 100), (LEFT, 90)]));
}

/// Two cameras deliver random timestamps in random order. Each frame is returned exactly once, in a pair or alone.
/// Pairs are in order and within the tolerance.
#[test]
fn every_frame_is_returned_once() {
    for seed in 0..200_u64 {
        let mut random = fastrand::Rng::with_seed(seed);
        let (mut frames, mut at) = (Vec::new(), [0, 0]);
        for _ in 0..200 {
            let camera = random.usize(..2);
            at[camera] += random.u64(1..=60);
            frames.push((camera, at[camera]));
        }
        let (pairs, alone) = run(&frames, 20);
        assert!(pairs.iter().all(|(l, r)| l.abs_diff(*r) <= 20));
        assert!(pairs.is_sorted());
        let mut out: Vec<_> = pairs.iter().flat_map(|&(l, r)| [(LEFT, l), (RIGHT, r)]).collect();
        out.extend(alone);
        out.sort_unstable();
        frames.sort_unstable();
        assert_eq!(out, frames, "seed {seed}");
    }
}
