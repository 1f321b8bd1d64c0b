//! What happens within a cycle, a minute long in long runs, and in which order.

use std::time::Duration;

use serde::Serialize;

/// What the cameras and the reader do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum Phase {
    /// All as it should be.
    Normal,
    /// The reader takes one panorama of eight.
    SlowReader,
    /// One camera sends nothing: the left and the right one in turn.
    OneCamera,
    /// Another warp, other options, colours that no longer follow; then all back again.
    Reconfigured,
    /// No frames, so that nothing is under way when the cycle's measurement is taken at its end.
    Idle,
}

impl Phase {
    /// In order, each with the part of the cycle at which it ends.
    pub(crate) const ALL: [(Self, f64); 5] = [
        (Self::Normal, 0.40),
        (Self::SlowReader, 0.55),
        (Self::OneCamera, 0.70),
        (Self::Reconfigured, 0.90),
        (Self::Idle, 1.0),
    ];
}

/// How a run is divided.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Plan {
    /// Length of a cycle.
    pub(crate) cycle: Duration,
    /// How many there are.
    pub(crate) cycles: usize,
    /// The first so many are left out of what is fitted and compared: a quarter of the run, at least
    /// one minute in runs of four and more.
    pub(crate) warm_up: usize,
}

impl Plan {
    pub(crate) fn new(length: Duration) -> Self {
        let cycle = (length / 6).clamp(Duration::from_secs(1), Duration::from_secs(60));
        let cycles = (length.as_secs_f64() / cycle.as_secs_f64()).round() as usize;
        let cycles = cycles.max(1);
        Self { cycle, cycles, warm_up: cycles.div_ceil(4) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_runs_have_minutes_and_short_ones_six_cycles() {
        let plan = |seconds| {
            let Plan { cycle, cycles, warm_up } = Plan::new(Duration::from_secs(seconds));
            (cycle.as_millis(), cycles, warm_up)
        };
        assert_eq!(plan(3600), (60_000, 60, 15));
        assert_eq!(plan(600), (60_000, 10, 3));
        assert_eq!(plan(240), (40_000, 6, 2));
        assert_eq!(plan(12), (2_000, 6, 2));
        assert_eq!(plan(1), (1_000, 1, 1));
    }
}
