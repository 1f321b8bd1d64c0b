//! Finding the model that most correspondences agree on, whatever the others say.
//!
//! Samples are drawn as PROSAC does (Chum and Matas, CVPR 2005): from the best correspondences first,
//! from ever more of them later, so that a good order makes it fast and a useless one costs little. A
//! sample's model is scored by the marginalised [`Loss`]; a sequential test (Chum and Matas, PAMI 2008)
//! ends the scoring of one that will hardly win. Each new best is fitted to what agrees with it (LO-RANSAC
//! with few points: Lebeda, Matas, Chum, BMVC 2012). It ends when a better model would have been drawn
//! with [`CONFIDENCE`], or after [`MOST_SAMPLES`].
//!
//! Numbers are drawn by a generator with a seed, and all is plain f64 arithmetic: the same input gives the
//! same model on every machine.

use fastrand::Rng;

use super::fit::{Model, Sight, fit, squared};
use super::loss::Loss;

/// How sure it is that no better model was missed.
const CONFIDENCE: f64 = 0.999;

/// Samples after which nothing more is expected: four of four right with 0.999 at a share of 0.11.
pub(super) const MOST_SAMPLES: u32 = 50_000;

/// Correspondences that a local fit uses. More make it slower and hardly better.
const LOCAL: usize = 128;

/// Agreement by chance that the sequential test expects of a wrong model.
const CHANCE: f64 = 0.02;

/// One wrong decision in so many lets the sequential test give up a model that would have won.
const WALD: f64 = 200.0;

/// The model most agree on.
#[derive(Clone, Debug)]
pub(super) struct Found<M> {
    pub(super) model: M,
    /// Sum of the losses, at most the number of correspondences.
    pub(super) cost: f64,
}

/// Finds the model that `sights`, the most trustworthy first, agree on.
///
/// `solve` makes one of a sample of `SAMPLE`. `None` if no sample gave any.
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
    // Scored in an order that says nothing about quality, which the sequential test relies on.
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

/// Samples after which one without a wrong correspondence has been drawn with [`CONFIDENCE`], for the best
/// first part of the order.
fn samples_needed<const SAMPLE: usize>(agree: &[bool]) -> u32 {
    /// A shorter part could agree by chance.
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

/// The sum of losses, or `None` as soon as it will hardly stay under `limit`.
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
        // Wald: the odds, after these, that it is a wrong model.
        if odds > WALD || cost >= limit {
            return None;
        }
    }
    Some(cost)
}

/// Fits a model to what agrees with it.
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

/// PROSAC's growing set of the best.
struct Growth<const SAMPLE: usize> {
    /// How many of the best are drawn from.
    size: usize,
    many: usize,
    /// Samples, on average, that lie within the best `size` after [`MOST_SAMPLES`] uniform ones.
    within: f64,
    /// Draws after which the set grows.
    until: u32,
}

impl<const SAMPLE: usize> Growth<SAMPLE> {
    fn new(many: usize) -> Self {
        let share = |i: usize| (SAMPLE - i) as f64 / (many - i) as f64;
        let within = f64::from(MOST_SAMPLES) * (0..SAMPLE).map(share).product::<f64>();
        Self { size: SAMPLE, many, within, until: 1 }
    }

    /// Sample number `drawn`, from 1.
    fn draw(&mut self, drawn: u32, rng: &mut Rng) -> [usize; SAMPLE] {
        while drawn > self.until && self.size < self.many {
            let grown = self.within * (self.size + 1) as f64 / (self.size + 1 - SAMPLE) as f64;
            self.until += ((grown - self.within).ceil() as u32).max(1);
            self.within = grown;
            self.size += 1;
        }
        // The newest of the set is in the sample, until the set is everything.
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
        // Half of them agree, evenly: ln 0.001 / ln(1 − 0.5⁴) = 107.04, and less for the first 21.
        let half: Vec<bool> = (0..400).map(|i| i % 2 == 0).collect();
        assert!((80..=108).contains(&samples_needed::<4>(&half)));
        assert_eq!(samples_needed::<4>(&[false; 100]), MOST_SAMPLES);
    }
}
