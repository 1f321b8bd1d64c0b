//! Times launches with device events, with all implementations of a case in turn.

use std::time::Duration;

use cust::typed::{Buffer, Event, Stream};

use crate::{Case, Failure, Variant};

/// The number of samples per implementation.
const SAMPLES: usize = 25;

/// The minimum device time of a sample. The launches of a sample follow each other without a pause.
const SAMPLE: Duration = Duration::from_millis(4);

/// The times of one implementation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    /// The median time of a launch in µs.
    pub(crate) median: f64,
    /// The shortest and the longest time of a launch in µs, each the mean of one sample.
    pub(crate) range: [f64; 2],
}

/// Times `variants` in turn, so that a change of the GPU's clock affects all of them alike.
pub(crate) fn interleaved<C: Case>(
    stream: &Stream,
    case: &mut C,
    variants: &[Variant],
) -> Result<Vec<(Variant, Times)>, Failure> {
    let mut launches = Vec::new();
    for &variant in variants {
        launches.push(enough(stream, &mut |set| case.launch(stream, variant, set % case.sets()))?);
    }
    let mut samples = vec![Vec::new(); variants.len()];
    for round in 0..SAMPLES {
        for i in 0..variants.len() {
            // Each round starts with another implementation.
            let i = (i + round) % variants.len();
            let launch = &mut |set| case.launch(stream, variants[i], set % case.sets());
            samples[i].push(sample(stream, launches[i], launch)?);
        }
    }
    Ok(variants.iter().copied().zip(samples.into_iter().map(times)).collect())
}

/// Times a copy that reads `bytes / 2` bytes and writes as many. Returns the median in µs.
pub(crate) fn copy(stream: &Stream, bytes: u64) -> Result<f64, Failure> {
    let half = u32::try_from(bytes / 2)?;
    let from = Buffer::<u8>::new(stream.device(), half)?;
    let mut to = Buffer::<u8>::new(stream.device(), half)?;
    let mut launch = |_| Ok(to.copy_from(stream, &from)?);
    let launches = enough(stream, &mut launch)?;
    let samples: Result<Vec<_>, _> =
        (0..SAMPLES).map(|_| sample(stream, launches, &mut launch)).collect();
    Ok(times(samples?).median)
}

/// Returns the number of launches that take at least [`SAMPLE`]. Also warms up.
fn enough(
    stream: &Stream,
    launch: &mut impl FnMut(usize) -> Result<(), Failure>,
) -> Result<u32, Failure> {
    let mut launches = 2;
    loop {
        let one = sample(stream, launches, launch)?;
        if one * f64::from(launches) >= 1e6 * SAMPLE.as_secs_f64() || launches >= 1 << 14 {
            return Ok(launches);
        }
        launches *= 2;
    }
}

/// Returns the mean time of one of `launches` launches in µs, from an event before the first launch
/// to an event after the last launch.
fn sample(
    stream: &Stream,
    launches: u32,
    launch: &mut impl FnMut(usize) -> Result<(), Failure>,
) -> Result<f64, Failure> {
    let (start, end) = (Event::new(stream.device())?, Event::new(stream.device())?);
    start.record(stream)?;
    for i in 0..launches {
        launch(i as usize)?;
    }
    end.record(stream)?;
    end.synchronize()?;
    Ok(1e6 * end.since(&start)?.as_secs_f64() / f64::from(launches))
}

fn times(mut samples: Vec<f64>) -> Times {
    samples.sort_by(f64::total_cmp);
    let last = samples.len() - 1;
    Times { median: samples[last / 2], range: [samples[0], samples[last]] }
}
