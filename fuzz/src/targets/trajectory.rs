//! Targets of trajectories (CSV and TUM), lists of times, and view tracks.

use std::path::Path;
use std::time::Duration;

use panoweave::device::{Device, Stream};
use panoweave::frame::Rate;
use panoweave::ops::trajectory::{Trajectory, parse_times};
use panoweave::ops::view::{MAX_SMOOTHING, Track};

use super::NAME;

thread_local! {
    static STREAM: Stream = Device::cpu().stream().expect("a stream of the CPU");
}

/// A trajectory. A valid one survives writing and reading, and has finite values at its own times.
pub(crate) fn trajectory(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(trajectory) = Trajectory::parse(text, NAME) else { return };
    let mut written = Vec::new();
    trajectory.write(&mut written).expect("memory");
    let written = String::from_utf8(written).expect("a trajectory is text");
    let again = Trajectory::parse(&written, NAME).expect("a written trajectory");
    assert_eq!(again.columns(), trajectory.columns());
    assert_eq!(again.times(), trajectory.times());
    assert_eq!(again.values(), trajectory.values());
    STREAM.with(|stream| {
        if let Ok(resampled) = trajectory.resample(stream, trajectory.times()) {
            assert!(resampled.values().iter().all(|value| value.is_finite()));
        }
    });
}

/// A list of times.
pub(crate) fn times(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(times) = parse_times(text, NAME) {
        assert!(!times.is_empty() && times.iter().all(|time| time.is_finite()));
    }
}

/// The maximum number of frames of a track with its smoothing, which take time in proportion to it.
const FRAMES: f64 = 20_000.0;

/// A view track. The first two bytes are the frame rate and the smoothing. All poses of a valid track are valid.
pub(crate) fn track(data: &[u8]) {
    let Some((&[rate, smoothing], text)) = data.split_first_chunk() else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let Ok(keyframes) = Trajectory::parse(text, NAME) else { return };
    let Ok(rate) = Rate::new(u32::from(rate) + 1, 1) else { return };
    let smoothing = f64::from(smoothing) / 255.0 * (MAX_SMOOTHING + 1.0);
    let seconds = keyframes.times().last().map_or(0.0, |last| last + 6.0 * smoothing);
    if seconds * rate.per_second() > FRAMES {
        return;
    }
    STREAM.with(|stream| {
        let Ok(track) = Track::new(stream, &keyframes, Path::new(NAME), rate, smoothing) else {
            return;
        };
        for seconds in [0.0, 0.5, 1e3, 1e9] {
            let pose = track.at(Duration::from_secs_f64(seconds));
            pose.check().expect("a pose of a valid track");
        }
    });
}
