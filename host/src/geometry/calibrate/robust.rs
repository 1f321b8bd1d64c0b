//! Finds the model that most correspondences agree with (RANSAC).
//!
//! - Samples are drawn as in PROSAC (Chum and Matas, CVPR 2005): first from the correspondences with the best scores,
//!   later from all of them. If the scores are meaningless, the search is only slightly slower than with uniform
//!   samples.
//! - The cost of a model is the sum of its robust [`Loss`].
//! - A sequential test (Chum and Matas, PAMI 2008) stops the scoring of a model that is probably wrong.
//! - Each new best model is refined with its inliers (LO-RANSAC with few points: Lebeda, Matas, Chum, BMVC 2012).
//! - The search ends when a better model would have been found with the probability [`CONFIDENCE`], or after
//!   [`MOST_SAMPLES`] samples.
//!
//! The random numbers have a fixed seed, and all arithmetic is plain f64, so the same input gives the same
//! model on every machine.

use fastrand::Rng;

use super::fit::{fit, squared};
use super::loss::Loss;
use super::model::{Match, Model};

/// Minimum probability that a better model would have been found before the search ends.
const CONFIDENCE: f64 = 0.999;

/// Maximum number of samples. At an inlier ratio of 0.11, at least one sample of four correspondences is all correct
/// with a probability of 0.999.
pub(super) const MOST_SAMPLES: u32 = 50_000;

/// Maximum number of inliers that refine a model. A fit to more of them would be slower and hardly more accurate.
const LOCAL: usize = 128;

/// Inlier ratio that the sequential test assumes for a wrong model.
const CHANCE: f64 = 0.02;

/// The sequential test wrongly discards at most one in this number of good models.
const WALD: f64 = 200.0;

/// The model with the lowest cost so far.
#[derive(Clone, Debug)]
pub(super) struct Found<M> {
    pub(super) model: M,
    /// Sum of the losses of all correspondences. Each loss is at most 1.
    pub(super) cost: f64,
}

/// Finds the model with the lowest cost for `matches`, which must be sorted by score, best first.
///
/// `solve` computes a model from a sample of `SAMPLE` correspondences. Returns `None` if `solve` returns no model for
/// any sample.
pub(super) fn search<M: Model, const SAMPLE: usize>(
    matches: &[Match],
    solve: impl Fn(&[Match; SAMPLE]) -> Option<M>,
    loss: &Loss,
) -> Option<Found<M>> {
    let many = matches.len();
    if many < SAMPLE {
        return None;
    }
    let mut rng = Rng::with_seed(1);
    // The sequential test requires an order that is independent of the scores.
    let mut shuffled = matches.to_vec();
    rng.shuffle(&mut shuffled);
    let mut best: Option<Found<M>> = None;
    let mut share = 0.1;
    let mut enough = MOST_SAMPLES;
    let mut growth = Growth::<SAMPLE>::new(many);
    let mut drawn = 0;
    while drawn < enough {
        drawn += 1;
        let sample = growth.draw(drawn, &mut rng).map(|i| matches[i]);
        let Some(model) = solve(&sample) else { continue };
        let limit = best.as_ref().map_or(f64::INFINITY, |best| best.cost);
        let Some(cost) = score(&model, &shuffled, loss, share, limit) else { continue };
        let found = improve(Found { model, cost }, &shuffled, loss);
        let agree: Vec<bool> =
            matches.iter().map(|s| squared(&found.model, s) < loss.cut()).collect();
        let agreeing = agree.iter().filter(|a| **a).count();
        share = (agreeing as f64 / many as f64).clamp(share, 0.95);
        enough = enough.min(samples_needed::<SAMPLE>(&agree));
        best = Some(found);
    }
    best
}

/// Returns the number of samples to draw, so that with the probability [`CONFIDENCE`] at least one of them has only
/// correct correspondences.
///
/// `agree` states for each correspondence, best score first, whether it agrees with the best model. The function
/// computes the number for samples from each prefix of `agree`, and returns the smallest.
fn samples_needed<const SAMPLE: usize>(agree: &[bool]) -> u32 {
    /// Minimum length of a prefix. In a shorter prefix, all correspondences could agree by chance.
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

/// Returns the sum of losses of a model, or `None` as soon as the sum reaches `limit` or the model is probably wrong.
/// `share` is the inlier ratio of a good model.
fn score<M: Model>(
    model: &M,
    matches: &[Match],
    loss: &Loss,
    share: f64,
    limit: f64,
) -> Option<f64> {
    let (agrees, differs) = (CHANCE / share, (1.0 - CHANCE) / (1.0 - share));
    let (mut cost, mut odds) = (0.0, 1.0);
    for one in matches {
        let squared = squared(model, one);
        cost += loss.loss(squared);
        odds *= if squared < loss.cut() { agrees } else { differs };
        // `odds` is the likelihood of the correspondences so far under a wrong model, divided by that under a good
        // model (Wald).
        if odds > WALD || cost >= limit {
            return None;
        }
    }
    Some(cost)
}

/// Fits a model to its inliers. Returns the fitted model if its cost is lower, and otherwise the model unchanged.
fn improve<M: Model>(mut found: Found<M>, matches: &[Match], loss: &Loss) -> Found<M> {
    let agreeing: Vec<&Match> =
        matches.iter().filter(|s| squared(&found.model, s) < loss.cut()).take(LOCAL).collect();
    if let Some(model) = fit(&found.model, &agreeing, |r| loss.weight(r), 2)
        && let Some(cost) = score(&model, matches, loss, CHANCE, found.cost)
    {
        found = Found { model, cost };
    }
    found
}

/// The growing set of correspondences from which PROSAC draws its samples: those with the best scores.
struct Growth<const SAMPLE: usize> {
    /// The number of correspondences in the set.
    size: usize,
    /// The total number of correspondences.
    many: usize,
    /// The expected number of samples, among [`MOST_SAMPLES`] uniform samples of all correspondences, that lie entirely
    /// in the set.
    within: f64,
    /// The number of the last sample before the set grows.
    until: u32,
}

impl<const SAMPLE: usize> Growth<SAMPLE> {
    fn new(many: usize) -> Self {
        let share = |i: usize| (SAMPLE - i) as f64 / (many - i) as f64;
        let within = f64::from(MOST_SAMPLES) * (0..SAMPLE).map(share).product::<f64>();
        Self { size: SAMPLE, many, within, until: 1 }
    }

    /// Returns the indices of the correspondences in sample number `drawn`, counted from 1.
    fn draw(&mut self, drawn: u32, rng: &mut Rng) -> [usize; SAMPLE] {
        while drawn > self.until && self.size < self.many {
            let grown = self.within * (self.size + 1) as f64 / (self.size + 1 - SAMPLE) as f64;
            self.until += ((grown - self.within).ceil() as u32).max(1);
            self.within = grown;
            self.size += 1;
        }
        // Until the set contains all correspondences, each sample includes the newest one. Samples that contain only
        // older correspondences were drawn before.
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
    fn samples_grow_from_the_best_and_have_distinct_indices() {
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
    fn samples_needed_match_fischler_and_bolles() {
        assert_eq!(samples_needed::<4>(&[true; 100]), 1);
        // If every other correspondence agrees, ln 0.001 / ln(1 − 0.5⁴) = 107.04 samples are needed. Fewer are needed
        // if samples come only from the first 21 correspondences, of which 11 agree.
        let half: Vec<bool> = (0..400).map(|i| i % 2 == 0).collect();
        assert!((80..=108).contains(&samples_needed::<4>(&half)));
        assert_eq!(samples_needed::<4>(&[false; 100]), MOST_SAMPLES);
    }
}
