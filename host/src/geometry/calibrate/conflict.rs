//! Finds false pairs of pictures: their own calibration succeeds, but it contradicts the other pairs.
//!
//! For example, two pictures that do not overlap may show the same poster on two walls. The correspondences on the
//! poster agree with each other, so these two pictures alone cannot reveal the error. A fit to all pictures can,
//! because it cannot explain both the poster and the other pairs.
//!
//! A false pair distorts the fit, so the pair that the fit does not explain is not always the false one. Therefore this
//! module compares several fits, each without some of the pairs, by the number of inliers that they do not explain
//! (maximum consensus over pairs). Pairs can contradict each other only if they form a ring of pictures, so this module
//! finds no false pair outside a ring.

use super::bundle_adjustment::{Common, PER_PAIR, common};
use super::tree::{Edge, Tree, tree};
use super::{CalibrateOptions, Photo, PhotoPair, Refusal};

/// Maximum number of rounds in which pairs are removed.
const ROUNDS: usize = 3;

/// Maximum number of sets of pairs whose removal is tried per round. Each try takes a fit to all other pairs.
const SUSPECTS: usize = 8;

/// The minimum ratio of the inliers that the second-best and the best fit leave unexplained. Below this ratio, it is
/// not clear which pairs are false.
const CLEARLY: f64 = 1.25;

/// A fit to the pairs with the indices `kept`.
struct Try {
    kept: Vec<usize>,
    fit: Result<Common, Refusal>,
}

impl Try {
    fn new(
        pictures: &[Photo],
        edges: &[Edge<'_>],
        tree: &Tree,
        kept: Vec<usize>,
        options: &CalibrateOptions,
    ) -> Self {
        let fit = common(pictures, tree, edges, &kept, options);
        Self { kept, fit }
    }

    /// Returns whether the fit explains the pair with the index `e`.
    fn holds(&self, e: usize) -> bool {
        self.fit.as_ref().is_ok_and(|fit| fit.figures[e].is_ok())
    }

    /// Returns whether the fit explains all pairs to which it was fitted.
    fn whole(&self) -> bool {
        self.kept.iter().all(|&e| self.holds(e))
    }

    /// Returns the number of inliers of all pairs that the fit does not explain. Each pair counts at most [`PER_PAIR`]
    /// inliers, the number that a fit uses, because a pair with more inliers is not more reliable.
    fn lost(&self, edges: &[Edge<'_>]) -> f64 {
        let lost = (0..edges.len()).filter(|&e| !self.holds(e));
        lost.map(|e| edges[e].inliers.len().min(PER_PAIR) as f64).sum()
    }

    /// Returns the fit if it explains pair `e`, and otherwise the error that names this pair.
    fn against(self, e: usize, pictures: &[Photo], edges: &[Edge<'_>]) -> Result<Common, Refusal> {
        let mut fit = self.fit?;
        let Err(source) = fit.figures.swap_remove(e) else { return Ok(fit) };
        let PhotoPair { left, right, .. } = *edges[e].pair;
        let [left, right] = [left, right].map(|i| pictures[i].name.clone());
        Err(Refusal::Pair { left, right, source: Box::new(source) })
    }
}

/// Returns a fit that explains all pairs except those that are clearly false, or an error if it is not clear which
/// pairs are false. `tree` is the spanning tree over all pairs.
pub(super) fn agreed(
    pictures: &[Photo],
    edges: &[Edge<'_>],
    tree: Tree,
    options: &CalibrateOptions,
) -> Result<Common, Refusal> {
    let mut now = Try::new(pictures, edges, &tree, (0..edges.len()).collect(), options);
    for _ in 0..ROUNDS {
        if now.whole() {
            break;
        }
        let Some(next) = without(pictures, edges, &now, options)? else { break };
        now = next;
    }
    match now.kept.iter().copied().find(|&e| !now.holds(e)) {
        Some(e) => now.against(e, pictures, edges),
        None => now.fit,
    }
}

/// Tries fits without some of the pairs, and returns the fit that leaves the fewest inliers unexplained. Returns `None`
/// if no pair can be removed, and [`Refusal::Pair`] if an alternative is nearly as good.
fn without(
    pictures: &[Photo],
    edges: &[Edge<'_>],
    now: &Try,
    options: &CalibrateOptions,
) -> Result<Option<Try>, Refusal> {
    let mut suspects = now.kept.clone();
    suspects.sort_by_key(|&e| (now.holds(e), edges[e].inliers.len()));
    let refused = suspects.iter().copied().filter(|&e| !now.holds(e)).collect::<Vec<_>>();
    let several = (refused.len() > 1).then_some(refused);
    let choices = several.into_iter().chain(suspects.into_iter().map(|e| vec![e]));
    let one = |out: Vec<usize>| {
        let kept: Vec<usize> = now.kept.iter().copied().filter(|e| !out.contains(e)).collect();
        let tree = tree(pictures.len(), edges, &kept).ok()?;
        Some((out, tree, kept))
    };
    let mut tries: Vec<(f64, Vec<usize>, Try)> = choices
        .filter_map(one)
        .take(SUSPECTS)
        .map(|(out, tree, kept)| {
            let found = Try::new(pictures, edges, &tree, kept, options);
            (found.lost(edges), out, found)
        })
        .collect();
    tries.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut tries = tries.into_iter();
    let Some((lost, out, best)) = tries.next() else { return Ok(None) };
    // A fit that removes the same pairs and others as well is not an alternative.
    let other = |(_, others, found): &(f64, Vec<usize>, Try)| {
        found.whole() && !out.iter().all(|e| others.contains(e))
    };
    if best.whole() && tries.find(other).is_some_and(|(other, ..)| other < CLEARLY * lost) {
        return best.against(out[0], pictures, edges).map(|_| None);
    }
    for &e in &out {
        let PhotoPair { left, right, .. } = *edges[e].pair;
        tracing::warn!(
            left,
            right,
            "this pair of pictures contradicts the other pairs and is left out"
        );
    }
    Ok(Some(best))
}
