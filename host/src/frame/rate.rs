//! Frame rates as exact fractions.
//!
//! A decimal number is not exact enough for long videos. For instance, 29.97 and 30000/1001 frames per second differ by
//! one frame in 10 hours.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;

/// The maximum frame rate, in frames per second.
pub const MAX_RATE: u32 = 1000;

/// The maximum time between two frames, in seconds. The minimum rate is therefore 1/1000 frames per second. The time
/// base of MP4 files does not support much longer intervals.
pub const MAX_INTERVAL: u32 = 1000;

/// Common frame rates of cameras, as numerator and denominator in ascending order.
const USUAL: [(u32, u32); 11] = [
    (24_000, 1001),
    (24, 1),
    (25, 1),
    (30_000, 1001),
    (30, 1),
    (50, 1),
    (60_000, 1001),
    (60, 1),
    (100, 1),
    (120_000, 1001),
    (120, 1),
];

/// The relative difference below which a decimal number becomes the nearest rate of [`USUAL`]. The number 29.97 differs
/// from 30000/1001 by only 1e-6, but the distinct rates 24 and 24000/1001 differ by 1e-3.
const NEAR: f64 = 1e-5;

/// A frame rate as an exact fraction, from 1/[`MAX_INTERVAL`] to [`MAX_RATE`] frames per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    numerator: u32,
    denominator: u32,
}

/// The error for a text or fraction that is not a valid frame rate.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "a frame rate must be a number such as 25 or a fraction such as 30000/1001, from 1/{MAX_INTERVAL} to {MAX_RATE} frames per second"
)]
pub struct RateError;

impl Rate {
    /// Returns the rate of `numerator` frames in `denominator` seconds.
    ///
    /// # Errors
    /// Returns [`RateError`] if the rate is outside the range of [`Rate`].
    pub fn new(numerator: u32, denominator: u32) -> Result<Self, RateError> {
        let [n, d] = [numerator, denominator].map(u64::from);
        if d == 0 || n > d * u64::from(MAX_RATE) || d > n * u64::from(MAX_INTERVAL) {
            return Err(RateError);
        }
        let common = common_divisor(numerator, denominator);
        Ok(Self { numerator: numerator / common, denominator: denominator / common })
    }

    /// Returns the rate at which frames are `seconds` apart, rounded to thousandths, or `None` if it is out of range.
    pub(crate) fn from_interval(seconds: f64) -> Option<Self> {
        // A number that does not fit into a `u32` becomes its maximum, which is out of range.
        Self::new((1000.0 / seconds).round() as u32, 1000).ok()
    }

    /// Returns this rate, or the lowest multiple of it that is not much lower than `other`. Conversion of a video of
    /// the rate `other` to this rate loses no frames.
    #[must_use]
    pub(crate) fn multiple(self, other: Self) -> Self {
        // A video that loses a few frames has a slightly lower rate.
        let times = (other.per_second() / self.per_second() - 0.1).ceil().max(1.0) as u32;
        let numerator = self.numerator.checked_mul(times);
        numerator.and_then(|numerator| Self::new(numerator, self.denominator).ok()).unwrap_or(self)
    }

    /// Returns the nearest common camera rate if its relative difference from this rate is less than `near`, otherwise
    /// this rate. Use it to round a measured average to the rate that the camera probably has.
    #[must_use]
    pub fn usual(self, near: f64) -> Self {
        let usual = USUAL.iter().map(|&(numerator, denominator)| Self { numerator, denominator });
        usual
            .min_by(|a, b| self.distance(*a).total_cmp(&self.distance(*b)))
            .filter(|rate| self.distance(*rate) < near)
            .unwrap_or(self)
    }

    /// Returns the absolute difference between this rate and `other`, divided by `other`.
    #[must_use]
    pub fn distance(self, other: Self) -> f64 {
        (self.per_second() / other.per_second() - 1.0).abs()
    }

    /// Returns the rate in frames per second.
    #[must_use]
    pub fn per_second(self) -> f64 {
        f64::from(self.numerator) / f64::from(self.denominator)
    }

    /// Returns the time of frame number `n`, counted from 0. Frame 0 is at time 0.
    #[must_use]
    pub fn time(self, n: u64) -> Duration {
        let (n, d) = (u128::from(n), u128::from(self.denominator));
        let nanoseconds = n * d * 1_000_000_000 / u128::from(self.numerator);
        Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
    }

    /// Returns the number of the frame in a video of this rate that is nearest in time to frame `n` of a video of the
    /// rate `other`. Frames are counted from 0.
    #[must_use]
    pub fn nearest(self, n: u64, other: Self) -> u64 {
        let own = u128::from(self.numerator) * u128::from(other.denominator);
        let others = u128::from(self.denominator) * u128::from(other.numerator);
        u64::try_from((u128::from(n) * own + others / 2) / others).unwrap_or(u64::MAX)
    }

    /// Returns the number of frames in `time`, rounded to the nearest whole number.
    #[must_use]
    pub fn frames(self, time: Duration) -> u64 {
        (time.as_secs_f64() * self.per_second()).round() as u64
    }

    /// Returns the numerator and the denominator of the rate in lowest terms.
    #[must_use]
    pub fn fraction(self) -> (u32, u32) {
        (self.numerator, self.denominator)
    }
}

impl FromStr for Rate {
    type Err = RateError;

    /// Parses a fraction with `/` or `:`, an integer, or a decimal number. A decimal number close to a common camera
    /// rate becomes that rate: 29.97 becomes 30000/1001.
    fn from_str(text: &str) -> Result<Self, RateError> {
        let digits = |text: &str| {
            let plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
            if plain { text.parse::<u32>().map_err(|_| RateError) } else { Err(RateError) }
        };
        if let Some((numerator, denominator)) = text.split_once(['/', ':']) {
            return Self::new(digits(numerator)?, digits(denominator)?);
        }
        let Some((whole, part)) = text.split_once('.') else {
            return Self::new(digits(text)?, 1);
        };
        let places = u32::try_from(part.len()).map_err(|_| RateError)?;
        let denominator = 10u32.checked_pow(places).ok_or(RateError)?;
        let numerator = digits(whole)?
            .checked_mul(denominator)
            .and_then(|n| n.checked_add(digits(part).ok()?))
            .ok_or(RateError)?;
        Ok(Self::new(numerator, denominator)?.usual(NEAR))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.denominator {
            1 => self.numerator.fmt(f),
            denominator => write!(f, "{}/{denominator}", self.numerator),
        }
    }
}

fn common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a.max(1) } else { common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(text: &str) -> Rate {
        text.parse().unwrap()
    }

    #[test]
    fn reads_fractions_and_decimals() {
        for (text, shown) in [
            ("30", "30"),
            ("30000/1001", "30000/1001"),
            ("60:2", "30"),
            ("29.97", "30000/1001"),
            ("23.976", "24000/1001"),
            ("59.94", "60000/1001"),
            ("12.5", "25/2"),
            ("24.0", "24"),
            ("1000", "1000"),
            ("1/1000", "1/1000"),
            ("0.001", "1/1000"),
        ] {
            assert_eq!(rate(text).to_string(), shown, "{text}");
        }
        for text in [
            "",
            "0",
            "-1",
            "+1",
            "x",
            "1001",
            "1/0",
            "0/0",
            "1/1001",
            "1/86400",
            "0/1",
            "1/",
            "/",
            "1.",
            "nan",
            "1e3",
            "4294967296",
        ] {
            assert_eq!(text.parse::<Rate>(), Err(RateError), "{text}");
        }
    }

    #[test]
    fn averages_near_a_common_rate_become_that_rate() {
        assert_eq!(rate("2397000/80000").usual(1e-3), rate("30000/1001"));
        assert_eq!(rate("17/1").usual(1e-3), rate("17"));
    }

    #[test]
    fn times_do_not_drift() {
        assert_eq!(rate("30000/1001").time(30_000 * 100), Duration::from_secs(100_100));
        assert_eq!(rate("30").time(1), Duration::from_nanos(33_333_333));
        assert_eq!(rate("30").frames(Duration::from_secs_f64(2.0)), 60);
    }

    #[test]
    fn frames_of_two_rates_pair_by_time() {
        let pairs = |own: &str, other: &str| -> Vec<u64> {
            (0..7).map(|n| rate(own).nearest(n, rate(other))).collect()
        };
        assert_eq!(pairs("30", "30"), [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(pairs("60", "30"), [0, 2, 4, 6, 8, 10, 12]);
        assert_eq!(pairs("15", "30"), [0, 1, 1, 2, 2, 3, 3]);
        assert_eq!(pairs("25", "30"), [0, 1, 2, 3, 3, 4, 5]);
    }
}
