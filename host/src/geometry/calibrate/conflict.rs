//! Finds false pairs among pairs that are valid alone but contradict each other.
//!
//! For example, the same poster on two walls makes a valid pair of pictures that do not overlap. These two pictures
//! alone cannot reveal the error, but a fit to all pictures can: it cannot explain both the poster and the other
//! pairs. A false pair distorts the fit, so the unexplained pair is not always the false one. Therefore several fits,
//! each without some of the pairs, are compared by the number of inliers that they do not explain (maximum consensus
//! over pairs). Pairs can contradict each other only if they form a ring; without a ring, no false pair is found.

use super::bundle_adjustment::{Common, PER_PAIR, common};
use super::tree::{Edge, Tree, tree};
use super::{CalibrateOptions, Photo, PhotoPair, Refusal};

/// Maximum number of rounds in which pairs are removed.
const ROUNDS: usize = 3;

/// Maximum number of candidates for removal per round. Each one takes a fit.
const SUSPECTS: usize = 8;

/// The best choice is clear if every alternative loses at least this many times as many inliers.
const CLEARLY: f64 = 1.25;

/// A fit to some of the pairs.
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

    /// Returns whether the fit explains a pair.
    fn holds(&self, e: usize) -> bool {
        self.fit.as_ref().is_ok_and(|fit| fit.figures[e].is_ok())
    }

    /// Returns whether the fit explains all pairs to which it was fitted.
    fn whole(&self) -> bool {
        self.kept.iter().all(|&e| self.holds(e))
    }

    /// Returns the number of inliers of unexplained pairs. Each pair counts at most [`PER_PAIR`], as many as a fit
    /// uses: a large poster is no more reliable than a small one.
    fn lost(&self, edges: &[Edge<'_>]) -> f64 {
        let lost = (0..edges.len()).filter(|&e| !self.holds(e));
        lost.map(|e| edges[e].inliers.len().min(PER_PAIR) as f64).sum()
    }

    /// Returns the error for pair `e`, or the fit if it explains this pair.
    fn against(self, e: usize, pictures: &[Photo], edges: &[Edge<'_>]) -> Result<Common, Refusal> {
        let mut fit = self.fit?;
        let Err(source) = fit.figures.swap_remove(e) else { return Ok(fit) };
        let PhotoPair { left, right, .. } = *edges[e].pair;
        let [left, right] = [left, right].map(|i| pictures[i].name.clone());
        Err(Refusal::Pair { left, right, source: Box::new(source) })
    }
}

/// Returns a fit that agrees with all pairs except those that are clearly false, or an error if it is not clear which
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

/// Tries fits without some of the pairs, and returns the one that loses the fewest inliers, or `None` if no pair can
/// be removed. Returns [`Refusal::Pair`] if an alternative is nearly as good.
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
    // A fit that removes these pairs and more is not an alternative.
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
