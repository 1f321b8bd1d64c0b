//! Divides a run into cycles, and each cycle into phases. A cycle takes one minute in runs of six minutes or more.

use std::time::Duration;

use serde::Serialize;

/// A part of a cycle that tests one situation, such as a slow reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum Phase {
    /// Both cameras send frames at the full rate, and the reader takes every panorama in time.
    Normal,
    /// The reader takes only one panorama in the time of eight frames, so the session must drop panoramas.
    SlowReader,
    /// One camera sends nothing: the left one and the right one in alternate cycles.
    OneCamera,
    /// The warp and the options change, and the colour correction stops. Halfway through the phase, all three are
    /// restored.
    Reconfigured,
    /// The cameras send nothing, so nothing is in flight when the measurement at the end of the cycle is taken.
    Idle,
}

impl Phase {
    /// All phases in order, each with the fraction of the cycle at which it ends.
    pub(crate) const ALL: [(Self, f64); 5] = [
        (Self::Normal, 0.40),
        (Self::SlowReader, 0.55),
        (Self::OneCamera, 0.70),
        (Self::Reconfigured, 0.90),
        (Self::Idle, 1.0),
    ];
}

/// The division of a run into cycles.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Plan {
    /// Length of a cycle.
    pub(crate) cycle: Duration,
    /// Number of cycles.
    pub(crate) cycles: usize,
    /// Number of cycles at the start of the run in which memory and object counts may still grow: a quarter of all
    /// cycles, rounded up. In runs of four minutes or more, this warm-up takes at least one minute.
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
