//! Predicts the levels of samples from a solution of the model.

use kernels_gpu::photometry::{level, slope};
use shared_types::photometry::Response;

use super::super::response;
use super::{Sample, Solution};

/// A solution, with numbers that many predictions share.
pub(super) struct Model<'a> {
    pub(super) solution: &'a Solution,
    /// The exponentials of the exposures.
    exposures: Vec<[f64; 3]>,
    curve: Curve,
}

/// The light of one picture, predicted from another one.
pub(super) struct Prediction {
    /// The other picture's light.
    pub(super) source: Point,
    /// The ratio of the lights.
    pub(super) factor: f64,
    /// The predicted light, and the slope of the response there.
    pub(super) light: f64,
    pub(super) steepness: f64,
    /// The difference between the level of the picture and the predicted one, in levels.
    pub(super) residual: f64,
}

impl<'a> Model<'a> {
    pub(super) fn new(solution: &'a Solution) -> Self {
        let exposures = solution.exposures.iter().map(|of| of.map(f64::exp)).collect();
        Self { solution, exposures, curve: Curve::new(&solution.response) }
    }

    /// Predicts the levels of one side of a sample from those of the other side. Returns the predictions of each
    /// channel: that of side 1 from side 0, and that of side 0 from side 1.
    ///
    /// `ratio` is the logarithm of the ratio of the light on side 1 to that on side 0 that the model does not contain.
    #[inline]
    pub(super) fn predict(&self, sample: &Sample, ratio: f64) -> [[Prediction; 2]; 3] {
        let [a, b] = sample.pictures;
        let falloff =
            |side: usize| self.solution.falloff(sample.pictures[side], sample.radii[side]);
        let common = (falloff(1) - falloff(0) + sample.given + ratio).exp();
        std::array::from_fn(|channel| {
            let factor = common * self.exposures[b][channel] / self.exposures[a][channel];
            let [left, right] = sample.levels.map(|levels| levels[channel]);
            [self.predicted(left, right, factor), self.predicted(right, left, factor.recip())]
        })
    }

    /// Predicts the level of one picture from that of another picture.
    #[inline]
    fn predicted(&self, from: f64, to: f64, factor: f64) -> Prediction {
        let response = &self.solution.response;
        let source = self.curve.at(from);
        let light = source.light * factor;
        let steepness = f64::from(slope(response, light.min(1.0) as f32));
        let residual = 255.0 * (to - f64::from(level(response, light as f32)));
        Prediction { source, factor, light, steepness, residual }
    }
}

impl Prediction {
    /// Returns the derivative of the residual by the logarithm of the factor.
    #[inline]
    pub(super) fn change(&self) -> f64 {
        -255.0 * self.steepness * self.light
    }

    /// Returns one plus the square of the residual divided by `scale`. The Cauchy loss is its logarithm, and reduces
    /// the weight of the residual by this factor.
    #[inline]
    pub(super) fn outlying(&self, scale: f64) -> f64 {
        1.0 + (self.residual / scale).powi(2)
    }
}

/// The inverse of a response as a table.
struct Curve(Vec<Point>);

/// The light of a level, and the slope of the response there.
#[derive(Clone, Copy)]
pub(super) struct Point {
    pub(super) light: f64,
    pub(super) slope: f64,
}

impl Curve {
    const STEPS: usize = 1024;

    fn new(response: &Response) -> Self {
        let point = |i: usize| {
            let light = response::light(response, i as f64 / Self::STEPS as f64);
            Point { light, slope: slope(response, light as f32).into() }
        };
        Self((0..=Self::STEPS).map(point).collect())
    }

    /// Returns the light of a level from 0 to 1, interpolated linearly.
    #[inline]
    fn at(&self, level: f64) -> Point {
        let place = level * Self::STEPS as f64;
        let i = (place as usize).min(Self::STEPS - 1);
        let (a, b, t) = (self.0[i], self.0[i + 1], place - i as f64);
        Point { light: a.light + t * (b.light - a.light), slope: a.slope + t * (b.slope - a.slope) }
    }
}
