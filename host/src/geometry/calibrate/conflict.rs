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

use rayon::prelude::*;

use super::bundle_adjustment::{Common, PER_PAIR, common};
use super::tree::{Edge, Tree, tree};
use super::{CalibrateOptions, Photo, Refusal};

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
        edges: &[Edge],
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
    fn lost(&self, edges: &[Edge]) -> f64 {
        let lost = (0..edges.len()).filter(|&e| !self.holds(e));
        lost.map(|e| edges[e].inliers.len().min(PER_PAIR) as f64).sum()
    }

    /// Returns the pairs that the fit does not explain although it was fitted to them, each with the reason.
    fn unexplained(self) -> Result<Vec<(usize, Refusal)>, Refusal> {
        let figures = self.fit?.figures.into_iter().enumerate();
        let failed = figures.filter_map(|(e, figures)| Some((e, figures.err()?)));
        Ok(failed.filter(|(e, _)| self.kept.contains(e)).collect())
    }
}

/// The pairs that a common fit explains.
pub(super) enum Agreed {
    /// All pairs, except those in `ignored`. Each of these has the index of the pair, and whether the other pairs prove
    /// that it is false.
    All { common: Common, ignored: Vec<(usize, bool)> },
    /// Not all pairs. These pairs, in ascending order, do not fit the others, and without them the others do not
    /// connect all pictures.
    Contradicted(Vec<(usize, Refusal)>),
}

/// Returns a fit that explains all pairs except false ones, or the pairs that do not fit. `tree` is the spanning tree
/// over all pairs.
pub(super) fn agreed(
    pictures: &[Photo],
    edges: &[Edge],
    tree: Tree,
    options: &CalibrateOptions,
) -> Result<Agreed, Refusal> {
    let mut now = Try::new(pictures, edges, &tree, (0..edges.len()).collect(), options);
    let mut ignored = Vec::new();
    for _ in 0..ROUNDS {
        if now.whole() {
            break;
        }
        let Some(Removal { next, out, certain }) = without(pictures, edges, &now, options) else {
            break;
        };
        ignored.extend(out.into_iter().map(|e| (e, certain)));
        now = next;
    }
    if now.whole() {
        return Ok(Agreed::All { common: now.fit?, ignored });
    }
    Ok(Agreed::Contradicted(now.unexplained()?))
}

/// A fit without some of the pairs.
struct Removal {
    next: Try,
    /// The pairs that were removed.
    out: Vec<usize>,
    /// Whether no other removal is nearly as good.
    certain: bool,
}

/// Tries fits without some of the pairs, and returns the fit that leaves the fewest inliers unexplained. Returns `None`
/// if no pair can be removed without disconnecting a picture.
fn without(
    pictures: &[Photo],
    edges: &[Edge],
    now: &Try,
    options: &CalibrateOptions,
) -> Option<Removal> {
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
        .collect::<Vec<_>>()
        .into_par_iter()
        .map(|(out, tree, kept)| {
            let found = Try::new(pictures, edges, &tree, kept, options);
            (found.lost(edges), out, found)
        })
        .collect();
    tries.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut tries = tries.into_iter();
    let (lost, out, next) = tries.next()?;
    // A fit that removes the same pairs and others as well is not an alternative.
    let other = |(_, others, found): &(f64, Vec<usize>, Try)| {
        found.whole() && !out.iter().all(|e| others.contains(e))
    };
    let certain =
        !(next.whole() && tries.find(other).is_some_and(|(other, ..)| other < CLEARLY * lost));
    Some(Removal { next, out, certain })
}
