//! Times of several recordings: which frame of each camera shows the moment of a panorama.
//!
//! The first camera's recording is the time base. The panoramas have ticks, which are the times n / rate of this
//! recording for whole numbers n. The first panorama is at the first tick at which all cameras record.
//!
//! The arithmetic is exact for offsets without drift, so that ties between two frames are resolved in the same way
//! everywhere in a video of any length.

use std::time::Duration;

use crate::frame::Rate;

/// The largest reasonable offset of a recording in seconds: a day.
pub const MAX_OFFSET: f64 = 86_400.0;

/// Nanoseconds in a second, and parts in a billion.
const BILLION: i128 = 1_000_000_000;

/// The time of a camera's recording relative to the first camera's recording.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Offset {
    /// The time in seconds from the start of the first recording to the start of this one. It is negative if this
    /// recording starts earlier.
    pub seconds: f64,
    /// The number of seconds that this camera's clock gains in a second of the first camera's clock. 1e-5 means that
    /// it runs 10 ppm fast.
    pub drift: f64,
}

impl Offset {
    /// The offset of the first camera: no offset and no drift.
    pub const NONE: Self = Self { seconds: 0.0, drift: 0.0 };

    /// Returns the number of the frame that is nearest in time to a tick, in a recording of this offset with frames at
    /// `rate`. Frames are counted from 0. `ticks` is the rate of the ticks. Returns `None` if the recording has not
    /// begun.
    #[must_use]
    pub fn frame(self, rate: Rate, tick: u64, ticks: Rate) -> Option<u64> {
        self.rounded(rate, tick, ticks, |frames, unit| frames.saturating_add(unit / 2) / unit)
    }

    /// Returns the number of the last frame that begins before a tick or at it; see [`frame`](Self::frame).
    pub(crate) fn begun(self, rate: Rate, tick: u64, ticks: Rate) -> Option<u64> {
        self.rounded(rate, tick, ticks, |frames, unit| frames / unit)
    }

    /// Returns the number of frames from the beginning of a recording to a tick, rounded. `round` divides its first
    /// argument by the second one.
    fn rounded(
        self,
        rate: Rate,
        tick: u64,
        ticks: Rate,
        round: impl Fn(i128, i128) -> i128,
    ) -> Option<u64> {
        let [(frames, frame_seconds), (ticks, tick_seconds)] =
            [rate, ticks].map(|rate| rate.fraction()).map(|(a, b)| (i128::from(a), i128::from(b)));
        // The time since the start of the recording, in units of 1 / (BILLION · ticks) seconds.
        let time = i128::from(tick).saturating_mul(tick_seconds * BILLION);
        let time = time.saturating_sub(self.nanoseconds().saturating_mul(ticks));
        if time < 0 {
            return None;
        }
        let drift = (self.drift * BILLION as f64).round() as i128;
        let time = time.saturating_add(time.saturating_mul(drift) / BILLION);
        let unit = BILLION * ticks * frame_seconds;
        let number = round(time.saturating_mul(frames), unit);
        Some(u64::try_from(number).unwrap_or(u64::MAX))
    }

    /// Returns the first tick at which all of the recordings have begun.
    #[must_use]
    pub fn first_tick(offsets: &[Self], ticks: Rate) -> u64 {
        let (ticks, seconds) = ticks.fraction();
        let latest = offsets.iter().map(|offset| offset.nanoseconds()).max().unwrap_or(0).max(0);
        let unit = i128::from(seconds) * BILLION;
        let tick = latest.saturating_mul(ticks.into()).saturating_add(unit - 1) / unit;
        u64::try_from(tick).unwrap_or(u64::MAX)
    }

    /// Returns the time from the start of the first recording to the first panorama.
    #[must_use]
    pub fn start(offsets: &[Self], ticks: Rate) -> Duration {
        ticks.time(Self::first_tick(offsets, ticks))
    }

    fn nanoseconds(self) -> i128 {
        (self.seconds * BILLION as f64).round() as i128
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATES: [&str; 6] = ["25", "30000/1001", "30", "60", "15", "1797/60"];

    fn rates() -> impl Iterator<Item = [Rate; 2]> {
        RATES.iter().flat_map(|a| RATES.map(|b| [a, b].map(|text| text.parse().unwrap())))
    }

    #[test]
    fn frames_without_an_offset_pair_as_before() {
        for [rate, ticks] in rates() {
            for tick in (0..100).chain([12_345_678, 1_000_000_000]) {
                assert_eq!(Offset::NONE.frame(rate, tick, ticks), Some(rate.nearest(tick, ticks)));
            }
        }
    }

    /// Compares with times in floating point, except where two frames are equally near.
    #[test]
    fn each_frame_is_the_nearest_one() {
        let mut rng = fastrand::Rng::with_seed(7);
        for [rate, ticks] in rates() {
            for _ in 0..300 {
                let seconds = (rng.f64() - 0.5) * 200.0;
                let offset = Offset { seconds, drift: (rng.f64() - 0.5) * 6e-4 };
                let tick = rng.u64(0..400_000);
                let time = tick as f64 / ticks.per_second() - seconds;
                let place = time * (1.0 + offset.drift) * rate.per_second();
                let Some(frame) = offset.frame(rate, tick, ticks) else {
                    assert!(time < 1e-9, "{offset:?} {tick}");
                    continue;
                };
                assert!(
                    time > -1e-9 && (place - frame as f64).abs() < 0.5 + 1e-4,
                    "{offset:?} {tick}"
                );
            }
        }
    }

    #[test]
    fn panoramas_begin_when_all_cameras_record() {
        let offsets = |seconds: &[f64]| -> Vec<Offset> {
            let offset = |seconds: &f64| Offset { seconds: *seconds, drift: 1e-4 };
            [Offset::NONE].into_iter().chain(seconds.iter().map(offset)).collect()
        };
        let rate = |text: &str| -> Rate { text.parse().unwrap() };
        for (seconds, text, tick) in [
            (&[][..], "25", 0),
            (&[-3.0, -0.5], "25", 0),
            (&[0.04], "25", 1),
            (&[0.040_000_001, -7.0], "25", 2),
            (&[1001.0], "30000/1001", 30_000),
        ] {
            let (offsets, rate) = (offsets(seconds), rate(text));
            assert_eq!(Offset::first_tick(&offsets, rate), tick, "{seconds:?}");
            let all = |tick| offsets.iter().all(|offset| offset.frame(rate, tick, rate).is_some());
            assert!(all(tick) && (tick == 0 || !all(tick - 1)), "{seconds:?}");
            assert_eq!(Offset::start(&offsets, rate), rate.time(tick));
        }
    }

    /// Values that a caller may compute from damaged files must not panic.
    #[test]
    fn extreme_offsets_do_not_overflow() {
        let rates = ["1000", "1/1000", "999999999/1000001"].map(|text| text.parse().unwrap());
        for seconds in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, -MAX_OFFSET] {
            let offset = Offset { seconds, drift: seconds };
            for rate in rates {
                for tick in [0, 1, u64::MAX] {
                    let _ = offset.frame(rate, tick, rates[0]);
                }
                let _ = Offset::first_tick(&[offset], rate);
            }
        }
    }
}
