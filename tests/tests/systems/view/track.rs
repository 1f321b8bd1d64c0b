//! Tests of tracks, which interpolate and smooth the keyframes of a virtual camera. They compare tracks with a linear
//! interpolation and a Gaussian mean in f64, and check the errors for invalid files.

use std::path::Path;
use std::time::Duration;

use panoweave::device::{Device, Stream};
use panoweave::frame::Rate;
use panoweave::ops::trajectory::Trajectory;
use panoweave::ops::view::{MAX_FOV, MIN_FOV, Track, ViewPose};
use panoweave_tests::panoweave_devices;
use panoweave_tests::random::Random;

/// Keyframes. Each has a time in seconds, and the pan, tilt, roll and field of view in degrees.
type Keys = Vec<(f64, [f64; 4])>;

fn track(stream: &Stream, keys: &Keys, rate: Rate, smoothing: f64) -> Track {
    let columns = ["pan", "tilt", "roll", "fov"].map(str::to_owned).to_vec();
    let (times, values): (Vec<f64>, Vec<[f64; 4]>) = keys.iter().copied().unzip();
    let keyframes = Trajectory::new(columns, times, values.concat()).unwrap();
    Track::new(stream, &keyframes, Path::new("made up"), rate, smoothing).unwrap()
}

/// Interpolates linearly between keyframes. Before the first and after the last keyframe, the values are constant.
fn linear(keys: &Keys, t: f64) -> [f64; 4] {
    let Some(next) = keys.iter().position(|(time, _)| *time > t) else {
        return keys[keys.len() - 1].1;
    };
    if next == 0 {
        return keys[0].1;
    }
    let ((from, a), (to, b)) = (keys[next - 1], keys[next]);
    std::array::from_fn(|i| a[i] + (b[i] - a[i]) * (t - from) / (to - from))
}

/// Returns the Gaussian-weighted mean of the frames around `frame`, up to three standard deviations away. `smoothing`
/// is the standard deviation in seconds.
fn smoothed(keys: &Keys, frame: i64, rate: f64, smoothing: f64) -> [f64; 4] {
    let deviation = smoothing * rate;
    let reach = (3.0 * deviation).ceil() as i64;
    let (mut sum, mut weights) = ([0.0; 4], 0.0);
    for i in -reach..=reach {
        let weight = if i == 0 { 1.0 } else { (-0.5 * (i as f64 / deviation).powi(2)).exp() };
        let values = linear(keys, (frame + i) as f64 / rate);
        (0..4).for_each(|c| sum[c] += weight * values[c]);
        weights += weight;
    }
    sum.map(|sum| sum / weights)
}

fn values(view: ViewPose) -> [f64; 4] {
    [view.pan, view.tilt, view.roll, view.fov]
}

fn random_keys(seed: u64) -> Keys {
    let mut random = Random::new(seed);
    let r = &mut random;
    // Start before time 0 in some cases, so that keyframes precede the first frame.
    let mut time = f64::from(r.between(-1.0, 0.5));
    (0..1 + r.below(8))
        .map(|_| {
            let mut angle = |most: f32| f64::from(r.between(-most, most));
            let key = (time, [angle(180.0), angle(90.0), angle(30.0), 60.0 + angle(50.0)]);
            time += f64::from(r.between(0.01, 1.5));
            key
        })
        .collect()
}

fn check(device: &Device, keys: &Keys, rate: &str, smoothing: f64) {
    let stream = device.stream().unwrap();
    let rate: Rate = rate.parse().unwrap();
    let track = track(&stream, keys, rate, smoothing);
    let (numerator, denominator) = rate.fraction();
    let per_second = f64::from(numerator) / f64::from(denominator);
    // Also test 30 frames after the end of the smoothing, where the values are those of the last keyframe.
    let last = ((keys[keys.len() - 1].0.max(0.0) + 4.0 * smoothing) * per_second) as i64 + 30;
    for frame in 0..last {
        let found = values(track.at(rate.time(frame as u64)));
        let exact = smoothed(keys, frame, per_second, smoothing);
        for (found, exact) in found.iter().zip(exact) {
            let off = (found - exact).abs();
            assert!(off < 1e-9, "frame {frame} at {rate:?}: {found} is not {exact} on {device}");
        }
    }
    let far = values(track.at(Duration::from_secs(1_000_000)));
    let end = keys[keys.len() - 1].1;
    assert!(far.iter().zip(end).all(|(a, b)| (a - b).abs() < 1e-9), "{far:?} is not {end:?}");
}

#[test]
fn keyframes_are_interpolated_and_smoothed() {
    for device in panoweave_devices() {
        for seed in 0..40 {
            let keys = random_keys(seed);
            let rate = ["25", "30000/1001", "120", "1/2"][seed as usize % 4];
            check(&device, &keys, rate, 0.0);
            check(&device, &keys, rate, [0.01, 0.2, 0.7][seed as usize % 3]);
        }
    }
}

/// Checks that a track of equal keyframes is constant, except for rounding errors of at most 10⁻¹². Its views must be
/// valid even if the field of view is the smallest or the largest.
#[test]
fn a_track_that_stays_stays_and_is_a_view() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        for fov in [MIN_FOV, 60.0, 33.3, MAX_FOV] {
            for smoothing in [0.0, 0.05, 0.2, 0.31, 1.0] {
                let view = [-12.7, 3.1, 0.3, fov];
                let keys = vec![(0.0, view), (0.5, view), (2.0, view)];
                let rate = Rate::new(30, 1).unwrap();
                let track = track(&stream, &keys, rate, smoothing);
                for frame in 0..90 {
                    let found = track.at(rate.time(frame));
                    found.check().unwrap();
                    let off =
                        std::array::from_fn::<_, 4, _>(|i| (values(found)[i] - view[i]).abs());
                    assert!(off.into_iter().all(|off| off < 1e-12), "{found:?} on {device}");
                }
            }
        }
    }
}

#[test]
fn times_between_frames_are_the_nearest_frames() {
    let stream = Device::cpu().stream().unwrap();
    let keys = vec![(0.0, [0.0, 0.0, 0.0, 60.0]), (1.0, [30.0, 0.0, 0.0, 60.0])];
    let track = track(&stream, &keys, Rate::new(30, 1).unwrap(), 0.0);
    for (milliseconds, pan) in [(0, 0.0), (16, 0.0), (17, 1.0), (500, 15.0), (990, 30.0)] {
        let found = track.at(Duration::from_millis(milliseconds)).pan;
        assert!((found - pan).abs() < 1e-9, "{found} at {milliseconds} ms");
    }
}

#[test]
fn the_roll_may_be_left_out_and_columns_come_in_any_order() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("track.csv");
    let stream = Device::cpu().stream().unwrap();
    let rate = Rate::new(10, 1).unwrap();
    let open = |text: &str| {
        std::fs::write(&file, text).unwrap();
        Track::open(&stream, &file, rate, 0.0).unwrap()
    };
    let plain = open("t,fov,pan,tilt\n0,50,1,2\n1,40,3,4\n");
    let halfway = Duration::from_millis(500);
    assert_eq!(plain.at(halfway), ViewPose { pan: 2.0, tilt: 3.0, roll: 0.0, fov: 45.0 });
    let rolled = open("t,roll,fov,pan,tilt\n0,8,50,1,2\n1,4,40,3,4\n");
    assert_eq!(rolled.at(halfway), ViewPose { roll: 6.0, ..plain.at(halfway) });
    // After the last keyframe, the track returns the view of that keyframe.
    assert_eq!(plain.at(Duration::MAX), ViewPose { pan: 3.0, tilt: 4.0, roll: 0.0, fov: 40.0 });
}

#[test]
fn what_is_no_track_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let stream = Device::cpu().stream().unwrap();
    let file = folder.path().join("bad.csv");
    let refusal = |text: &str| {
        std::fs::write(&file, text).unwrap();
        Track::open(&stream, &file, Rate::new(60, 1).unwrap(), 0.2).unwrap_err()
    };
    for (text, part) in [
        (
            "t,pan,tilt\n0,1,2\n",
            "column fov is missing; a track needs the columns t, pan, tilt and fov",
        ),
        ("t,pan,fov\n0,1,60\n", "column tilt is missing"),
        ("t,tilt,fov\n0,1,60\n", "column pan is missing"),
        ("t,pan,tilt,fov,zoom\n0,1,2,60,1\n", "unknown column \"zoom\";"),
        ("0,1,2,60\n", "unknown column \"c1\";"),
        ("t,pan,tilt,fov\n0,0,0,60\n2.5,0,0,171\n", "the keyframe at 2.5 s: view: "),
        ("t,pan,tilt,fov\n0,0,0,60\n2.5,0,0,171\n", "field of view 171 degrees"),
        ("t,pan,tilt,fov\n-1.5,0,0,0\n", "the keyframe at -1.5 s: view: "),
        ("t,pan,tilt,fov\n0,0,0,-60\n", "must be 0.1 to 170 degrees"),
        ("t,pan,tilt,fov\n0,0,0,60\n86400,0,0,60\n", "the last keyframe is at 86400 s"),
        ("t,pan,tilt,fov\n0,0,0,60\n1e300,0,0,60\n", "at most 5184000 frames"),
        ("t,pan,tilt,fov\n0,0,0\n", "bad.csv:2: "),
        ("t,pan,tilt,fov\n0,nan,0,60\n", "bad.csv:2: "),
        ("", "no rows"),
    ] {
        let said = refusal(text).to_string();
        assert!(said.contains("bad.csv"), "{text:?}: {said}");
        assert!(said.contains(part), "{text:?}: {said}");
    }
    let missing = folder.path().join("missing.csv");
    let error = Track::open(&stream, &missing, Rate::new(60, 1).unwrap(), 0.2).unwrap_err();
    assert!(error.to_string().contains("missing.csv: cannot be read"), "{error}");

    std::fs::write(&file, "t,pan,tilt,fov\n0,0,0,60\n").unwrap();
    for smoothing in [-0.1, 60.1, f64::NAN, f64::INFINITY] {
        let error = Track::open(&stream, &file, Rate::new(60, 1).unwrap(), smoothing).unwrap_err();
        assert!(error.to_string().contains("0 to 60 s"), "{error}");
    }
    // Even the longest smoothing must not change the view of a single keyframe.
    let longest = Track::open(&stream, &file, Rate::new(60, 1).unwrap(), 60.0).unwrap();
    assert!((longest.at(Duration::from_secs(100)).fov - 60.0).abs() < 1e-9);
}
