//! Finds the model that most correspondences agree with (RANSAC).
//!
//! Samples are drawn as in PROSAC (Chum and Matas, CVPR 2005): first from the best correspondences, later from more
//! and more of them. A good order makes the search fast, and a useless order costs little. The score of a model is the
//! marginalised [`Loss`]; a sequential test (Chum and Matas, PAMI 2008) stops the scoring of models that are unlikely
//! to win. Each new best model is refined with its inliers (LO-RANSAC with few points: Lebeda, Matas, Chum, BMVC
//! 2012). The search ends when a better model would have been drawn with [`CONFIDENCE`], or after [`MOST_SAMPLES`].
//!
//! The random numbers have a fixed seed, and all arithmetic is plain f64: the same input gives the same model on every
//! machine.

use fastrand::Rng;

use super::fit::{Model, Sight, fit, squared};
use super::loss::Loss;

/// Probability that no better model was missed.
const CONFIDENCE: f64 = 0.999;

/// Maximum number of samples: four of four correct with 0.999 at an inlier ratio of 0.11.
pub(super) const MOST_SAMPLES: u32 = 50_000;

/// The number of correspondences in a local fit. More make it slower and hardly better.
const LOCAL: usize = 128;

/// Inlier ratio of a wrong model in the sequential test.
const CHANCE: f64 = 0.02;

/// The sequential test discards one good model in so many.
const WALD: f64 = 200.0;

/// The model with the most agreement.
#[derive(Clone, Debug)]
pub(super) struct Found<M> {
    pub(super) model: M,
    /// Sum of the losses, at most the number of correspondences.
    pub(super) cost: f64,
}

/// Finds the model that `sights`, the best first, agree with.
///
/// `solve` computes a model from a sample of `SAMPLE` sights. `None` if no sample gave a model.
pub(super) fn search<M: Model, const SAMPLE: usize>(
    sights: &[Sight],
    solve: impl Fn(&[Sight; SAMPLE]) -> Option<M>,
    loss: &Loss,
    seed: u64,
) -> Option<Found<M>> {
    let many = sights.len();
    if many < SAMPLE {
        return None;
    }
    let mut rng = Rng::with_seed(seed);
    // The sequential test requires an order that is independent of quality.
    let mut shuffled = sights.to_vec();
    rng.shuffle(&mut shuffled);
    let mut best: Option<Found<M>> = None;
    let mut share = 0.1;
    let mut enough = MOST_SAMPLES;
    let mut growth = Growth::<SAMPLE>::new(many);
    let mut drawn = 0;
    while drawn < enough {
        drawn += 1;
        let sample = growth.draw(drawn, &mut rng).map(|i| sights[i]);
        let Some(model) = solve(&sample) else { continue };
        let limit = best.as_ref().map_or(f64::INFINITY, |best| best.cost);
        let Some(cost) = score(&model, &shuffled, loss, share, limit) else { continue };
        let found = improve(Found { model, cost }, &shuffled, loss);
        let agree: Vec<bool> =
            sights.iter().map(|s| squared(&found.model, s) < loss.cut()).collect();
        let agreeing = agree.iter().filter(|a| **a).count();
        share = (agreeing as f64 / many as f64).clamp(share, 0.95);
        enough = enough.min(samples_needed::<SAMPLE>(&agree));
        best = Some(found);
    }
    best
}

/// Returns the number of samples after which one without a wrong correspondence has been drawn with [`CONFIDENCE`],
/// for the best prefix of the order.
fn samples_needed<const SAMPLE: usize>(agree: &[bool]) -> u32 {
    /// A shorter prefix could agree by chance.
    const SHORTEST: usize = 20;
    let mut agreeing = 0;
    let mut least = f64::from(MOST_SAMPLES);
    for (i, agrees) in agree.iter().enumerate() {
        agreeing += usize::from(*agrees);
        if i + 1 < SHORTEST.min(agree.len()) || agreeing < SHORTEST / 2 {
            continue;
        }
        let share = agreeing as f64 / (i + 1) as f64;
        let whole = share.powi(SAMPLE as i32);
        let needed = libm::log(1.0 - CONFIDENCE) / libm::log1p(-whole.min(1.0 - 1e-12));
        least = least.min(needed.ceil());
    }
    least as u32
}

/// Returns the sum of losses, or `None` as soon as it is unlikely to stay under `limit`.
fn score<M: Model>(
    model: &M,
    sights: &[Sight],
    loss: &Loss,
    share: f64,
    limit: f64,
) -> Option<f64> {
    let (agrees, differs) = (CHANCE / share, (1.0 - CHANCE) / (1.0 - share));
    let (mut cost, mut odds) = (0.0, 1.0);
    for sight in sights {
        let squared = squared(model, sight);
        cost += loss.loss(squared);
        odds *= if squared < loss.cut() { agrees } else { differs };
        // Wald: the odds, so far, that the model is wrong.
        if odds > WALD || cost >= limit {
            return None;
        }
    }
    Some(cost)
}

/// Fits a model to its inliers.
fn improve<M: Model>(mut found: Found<M>, sights: &[Sight], loss: &Loss) -> Found<M> {
    let agreeing: Vec<&Sight> =
        sights.iter().filter(|s| squared(&found.model, s) < loss.cut()).take(LOCAL).collect();
    if let Some(model) = fit(&found.model, &agreeing, |r| loss.weight(r), 2)
        && let Some(cost) = score(&model, sights, loss, CHANCE, found.cost)
    {
        found = Found { model, cost };
    }
    found
}

/// PROSAC's growing set of the best correspondences.
struct Growth<const SAMPLE: usize> {
    /// The size of the set.
    size: usize,
    many: usize,
    /// The expected number of samples within the best `size` among [`MOST_SAMPLES`] uniform ones.
    within: f64,
    /// The number of draws after which the set grows.
    until: u32,
}

impl<const SAMPLE: usize> Growth<SAMPLE> {
    fn new(many: usize) -> Self {
        let share = |i: usize| (SAMPLE - i) as f64 / (many - i) as f64;
        let within = f64::from(MOST_SAMPLES) * (0..SAMPLE).map(share).product::<f64>();
        Self { size: SAMPLE, many, within, until: 1 }
    }

    /// Returns sample number `drawn`, counted from 1.
    fn draw(&mut self, drawn: u32, rng: &mut Rng) -> [usize; SAMPLE] {
        while drawn > self.until && self.size < self.many {
            let grown = self.within * (self.size + 1) as f64 / (self.size + 1 - SAMPLE) as f64;
            self.until += ((grown - self.within).ceil() as u32).max(1);
            self.within = grown;
            self.size += 1;
        }
        // The sample includes the newest of the set until the set is complete.
        let newest = (drawn <= self.until).then_some(self.size - 1);
        let mut sample = [usize::MAX; SAMPLE];
        for i in 0..SAMPLE {
            sample[i] = match newest {
                Some(newest) if i == 0 => newest,
                newest => loop {
                    let pick = rng.usize(0..self.size - usize::from(newest.is_some()));
                    if !sample[..i].contains(&pick) {
                        break pick;
                    }
                },
            };
        }
        sample
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_of_the_best_first_and_never_twice_the_same() {
        let mut growth = Growth::<4>::new(300);
        let mut rng = Rng::with_seed(7);
        let mut most = 0;
        for drawn in 1..=MOST_SAMPLES {
            let sample = growth.draw(drawn, &mut rng);
            for i in 0..4 {
                assert!(sample[i] < 300 && !sample[..i].contains(&sample[i]));
                most = most.max(sample[i]);
            }
            if drawn == 20 {
                assert!(most < 30, "{most}");
            }
        }
        assert_eq!(most, 299);
    }

    #[test]
    fn the_samples_needed_are_fischlers_and_bolless() {
        assert_eq!(samples_needed::<4>(&[true; 100]), 1);
        // Half of them agree, evenly: ln 0.001 / ln(1 − 0.5⁴) = 107.04, and fewer for the first 21.
        let half: Vec<bool> = (0..400).map(|i| i % 2 == 0).collect();
        assert!((80..=108).contains(&samples_needed::<4>(&half)));
        assert_eq!(samples_needed::<4>(&[false; 100]), MOST_SAMPLES);
    }
}
