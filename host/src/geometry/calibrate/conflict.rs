//! Pairs that hold by themselves but contradict each other: which of them are false.
//!
//! The same poster on two walls is a pair that holds, and no geometry of the two pictures tells it apart. A fit of
//! all pictures does: it cannot explain the poster and the pairs around. Since a false pair pulls at the fit,
//! the one that a fit does not explain need not be the false one; fits without one pair or the other are
//! compared by the inliers that they lose (maximum consensus, over pairs). Without a ring of pairs there is nothing
//! that could contradict, and nothing is found.

use super::common::{Common, PER_PAIR, common};
use super::tree::{Edge, Tree, tree};
use super::{CalibrateOptions, Photo, PhotoPair, Refusal};

/// How many times pairs are left out, one time after the other.
const ROUNDS: usize = 3;

/// Pairs that are tried for it each time: each takes a fit.
const SUSPECTS: usize = 8;

/// It is clear which pairs are false if any other choice loses so many times as many inliers.
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

    /// Whether the fit explains a pair.
    fn holds(&self, e: usize) -> bool {
        self.fit.as_ref().is_ok_and(|fit| fit.figures[e].is_ok())
    }

    /// Whether all pairs that took part agree.
    fn whole(&self) -> bool {
        self.kept.iter().all(|&e| self.holds(e))
    }

    /// Inliers of pairs that are not explained, each pair with as many as a fit takes: a large poster is no truer
    /// than a small one.
    fn lost(&self, edges: &[Edge<'_>]) -> f64 {
        let lost = (0..edges.len()).filter(|&e| !self.holds(e));
        lost.map(|e| edges[e].inliers.len().min(PER_PAIR) as f64).sum()
    }

    /// Why the pair `e` is not explained.
    fn against(self, e: usize, pictures: &[Photo], edges: &[Edge<'_>]) -> Result<Common, Refusal> {
        let mut fit = self.fit?;
        let Err(source) = fit.figures.swap_remove(e) else { return Ok(fit) };
        let PhotoPair { left, right, .. } = *edges[e].pair;
        let [left, right] = [left, right].map(|i| pictures[i].name.clone());
        Err(Refusal::Pair { left, right, source: Box::new(source) })
    }
}

/// One fit that all pairs agree with, but for those that are clearly false. It begins with `tree`, of all of them.
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

/// The fit without some of the pairs that loses least; `None` if no pair can be left out.
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
    // What leaves out even more is no other choice.
    let other = |(_, others, found): &(f64, Vec<usize>, Try)| {
        found.whole() && !out.iter().all(|e| others.contains(e))
    };
    if best.whole() && tries.find(other).is_some_and(|(other, ..)| other < CLEARLY * lost) {
        return best.against(out[0], pictures, edges).map(|_| None);
    }
    for &e in &out {
        let PhotoPair { left, right, .. } = *edges[e].pair;
        tracing::warn!(left, right, "the other pairs contradict this one: it is left out");
    }
    Ok(Some(best))
}
