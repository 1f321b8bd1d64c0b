//! Finds the line through the peaks of all pieces that most pieces support, and its strongest rival.
//!
//! The lag of a piece depends on its time by a line: the offset and the drift of the clocks. A piece supports a line
//! with its highest peak near the line. A single loud noise, such as the beep of a camera at its start, can outvote
//! the others at its own time only.
//!
//! The rival is the line that explains the sound best without the peaks of the first line. Both are compared over the
//! samples that both recordings have at the rival's lag, so that a short overlap is no disadvantage. The ratio is near
//! 1 if the sound repeats.

use super::probe::{NEAR, Peak, Probe};
use super::{LEAST_SECONDS, MAX_DRIFT, Offset, RATE};

/// The height of a peak, in standard deviations, from which it may begin a line. The highest of 20 million unrelated
/// values is about 5.5.
const HIGH: f64 = 6.0;

/// The heights of a piece's highest peak at which its weight becomes greater than 0, and at which it is 1.
const WEIGHT: [f64; 2] = [7.0, 10.0];

/// The maximum number of a piece's peaks that may begin the best line.
const BEGINNERS: usize = 4;

/// The length of sound in samples that must agree with the best line, multiplied by the weights of its pieces. Less
/// sound is too often similar by chance, such as the same note or vowel.
const LEAST_AGREEING: f64 = LEAST_SECONDS * RATE as f64;

/// The expected error of a peak in samples (0.2 ms), divided by the expected drift (5e-5). It keeps the slope near 0 if
/// the pieces are too close in time to determine it.
const STIFFNESS: f64 = 2e-4 * RATE as f64 / 5e-5;

/// The highest ratio of two lines that is reported.
const MAX_CONFIDENCE: f64 = 100.0;

/// The lag as a function of the sample of the short recording.
#[derive(Clone, Copy, Debug)]
struct Line {
    lag: f64,
    slope: f64,
}

/// The best line, and its rival.
pub(super) struct Found {
    line: Line,
    rival: Option<Line>,
    /// How much better the line is than its rival.
    pub(super) confidence: f64,
    /// The number of pieces that support the line.
    pub(super) agreeing: usize,
}

impl Found {
    /// Returns the offset of the recording. `swapped` states that the short recording is the reference.
    pub(super) fn offset(&self, swapped: bool) -> Offset {
        self.line.offset(swapped)
    }

    /// Returns the offset of the rival in seconds, or that of the line if there is no rival.
    pub(super) fn rival_seconds(&self, swapped: bool) -> f64 {
        self.rival.unwrap_or(self.line).offset(swapped).seconds
    }
}

impl Line {
    fn at(&self, sample: f64) -> f64 {
        self.lag + self.slope * sample
    }

    /// Returns the line through two points, or `None` if its slope is not a possible drift.
    fn through([(x0, lag0), (x1, lag1)]: [(f64, f64); 2]) -> Option<Self> {
        let slope = (lag1 - lag0) / (x1 - x0);
        (slope.abs() <= MAX_DRIFT).then_some(Self { lag: lag0 - slope * x0, slope })
    }

    /// Fits the line to points by least squares.
    fn fit(points: &[(f64, f64)]) -> Self {
        let count = points.len().max(1) as f64;
        let x = points.iter().map(|(x, _)| x).sum::<f64>() / count;
        let lag = points.iter().map(|(_, lag)| lag).sum::<f64>() / count;
        let square: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
        let product: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - lag)).sum();
        let slope = product / (square + STIFFNESS * STIFFNESS);
        Self { lag: lag - slope * x, slope }
    }

    /// With `t` the time of the reference and `s` that of the other recording, the offset is `t` at `s` = 0, and
    /// 1 + drift is ds/dt.
    fn offset(&self, swapped: bool) -> Offset {
        let Self { lag, slope } = *self;
        let rate = f64::from(RATE);
        if swapped {
            Offset { seconds: -lag / (1.0 + slope) / rate, drift: slope }
        } else {
            Offset { seconds: lag / rate, drift: 1.0 / (1.0 + slope) - 1.0 }
        }
    }
}

/// A piece, and the weight of its vote.
struct Voter<'a> {
    probe: &'a Probe,
    /// The middle of the piece.
    middle: f64,
    highest: f64,
    weight: f64,
}

impl<'a> Voter<'a> {
    fn new(probe: &'a Probe) -> Self {
        let highest = probe.peaks.first().map_or(0.0, |peak| peak.height);
        let weight = ((highest - WEIGHT[0]) / (WEIGHT[1] - WEIGHT[0])).clamp(0.0, 1.0);
        let middle = (probe.range.start + probe.range.end) as f64 / 2.0;
        Self { probe, middle, highest, weight }
    }

    /// Returns the peaks that are high enough to begin a line, without those near `except`.
    fn beginners(&self, except: Option<Line>) -> impl Iterator<Item = (f64, f64)> {
        let high = self.probe.peaks.iter().take_while(|peak| peak.height >= HIGH);
        high.filter(move |peak| !self.is_near(peak, except)).map(|peak| (self.middle, peak.lag))
    }

    fn is_near(&self, peak: &Peak, line: Option<Line>) -> bool {
        line.is_some_and(|line| (peak.lag - line.at(self.middle)).abs() < NEAR)
    }

    /// Returns the highest peak near a line that is not near `except`.
    fn peak(&self, line: Line, except: Option<Line>) -> Option<&'a Peak> {
        let mut peaks = self.probe.peaks.iter();
        peaks.find(|peak| self.is_near(peak, Some(line)) && !self.is_near(peak, except))
    }

    /// Returns how much of the piece both recordings have at the lag of a line, 0 to 1.
    fn common(&self, line: Line, long: usize) -> f64 {
        let begin = self.probe.range.start as f64 + line.at(self.middle);
        let end = begin + self.probe.range.len() as f64;
        (end.min(long as f64) - begin.max(0.0)).max(0.0) / self.probe.range.len().max(1) as f64
    }
}

/// Finds the best line and its rival. Returns `None` if the pieces do not support any line. `long` is the length of the
/// long recording.
pub(super) fn vote(probes: &[Probe], long: usize) -> Option<Found> {
    let voters: Vec<_> = probes.iter().map(Voter::new).filter(|voter| voter.weight > 0.0).collect();
    let support = |line: Line| -> f64 {
        let vote = |voter: &Voter<'_>| {
            voter.peak(line, None).map_or(0.0, |peak| voter.weight * peak.height / voter.highest)
        };
        voters.iter().map(vote).sum()
    };
    let best = best(&lines(&voters, BEGINNERS, None), support)?.0;
    // The second fit uses the peaks near the first one.
    let line = fit(&voters, fit(&voters, best)?)?;
    let agreeing: Vec<_> = voters.iter().filter(|voter| voter.peak(line, None).is_some()).collect();
    let sound = |voter: &&Voter<'_>| {
        voter.weight * voter.common(line, long) * voter.probe.range.len() as f64
    };
    if agreeing.iter().map(sound).sum::<f64>() < LEAST_AGREEING {
        return None;
    }
    let likeness = |peak: Option<&Peak>| peak.map_or(0.0, |peak| peak.likeness);
    let own = |voter: &Voter<'_>| likeness(voter.peak(line, None));
    let usual = agreeing.iter().map(|voter| own(voter)).sum::<f64>() / agreeing.len() as f64;
    let rivalry = |rival: Line| {
        let [mut for_rival, mut for_line] = [0.0; 2];
        for voter in &voters {
            let weight = voter.weight * voter.common(rival, long);
            for_rival += weight * likeness(voter.peak(rival, Some(line)));
            // The line says nothing about a piece that only the rival lets both recordings have.
            let is_common = voter.common(line, long) > 0.0;
            for_line += weight * if is_common { own(voter) } else { usual };
        }
        if for_rival > 0.0 { for_rival / for_line } else { 0.0 }
    };
    let rival = self::best(&lines(&voters, usize::MAX, Some(line)), rivalry);
    let ratio = rival.map_or(0.0, |(_, ratio)| ratio);
    Some(Found {
        line,
        rival: rival.map(|(rival, _)| rival),
        confidence: (1.0 / ratio).min(MAX_CONFIDENCE),
        agreeing: agreeing.len(),
    })
}

/// Returns the level line through each of the highest `most` peaks of each piece, and the lines through two of them.
fn lines(voters: &[Voter<'_>], most: usize, except: Option<Line>) -> Vec<Line> {
    let mut lines = Vec::new();
    for (i, voter) in voters.iter().enumerate() {
        for begin in voter.beginners(except).take(most) {
            lines.push(Line { lag: begin.1, slope: 0.0 });
            let others =
                voters[i + 1..].iter().flat_map(|other| other.beginners(except).take(most));
            lines.extend(others.filter_map(|end| Line::through([begin, end])));
        }
    }
    lines
}

/// Returns the line with the highest score, and the score.
fn best(lines: &[Line], score: impl Fn(Line) -> f64) -> Option<(Line, f64)> {
    let scored = lines.iter().map(|line| (*line, score(*line)));
    scored.max_by(|a, b| a.1.total_cmp(&b.1))
}

/// Fits a line to the peaks near `line`.
fn fit(voters: &[Voter<'_>], line: Line) -> Option<Line> {
    let near = |voter: &Voter<'_>| Some((voter.middle, voter.peak(line, None)?.lag));
    let points: Vec<_> = voters.iter().filter_map(near).collect();
    (!points.is_empty()).then(|| Line::fit(&points))
}
