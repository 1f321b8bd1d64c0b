//! The tree of pairs with the most inliers, from whose middle pictures hang on each other.

use super::fit::Sight;
use super::matches::Matches;
use super::{Calibration, PhotoPair};

/// A pair that holds by itself.
pub(super) struct Edge<'p> {
    pub(super) pair: &'p PhotoPair,
    pub(super) calibration: Calibration,
    pub(super) matches: Matches,
    /// Those of the matches that agree.
    pub(super) inliers: Vec<Sight>,
}

/// A picture that hangs on another by a pair.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hung {
    pub(super) child: usize,
    pub(super) parent: usize,
    /// Number of the pair.
    pub(super) edge: usize,
}

/// How pictures hang together.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    /// The picture in the middle.
    pub(super) reference: usize,
    /// The others, each after the one that it hangs on.
    pub(super) hung: Vec<Hung>,
}

/// The tree of `many` pictures by the pairs `kept` that has the most inliers, or the pictures that those do not
/// connect to most of the others.
pub(super) fn tree(many: usize, edges: &[Edge<'_>], kept: &[usize]) -> Result<Tree, Vec<usize>> {
    // Kruskal: the strongest first, each that joins two parts.
    let mut order = kept.to_vec();
    order.sort_by_key(|&e| std::cmp::Reverse(edges[e].inliers.len()));
    let mut part: Vec<usize> = (0..many).collect();
    let mut near: Vec<Vec<(usize, usize)>> = vec![Vec::new(); many];
    for e in order {
        let PhotoPair { left, right, .. } = *edges[e].pair;
        let (a, b) = (part[left], part[right]);
        if a != b {
            part.iter_mut().filter(|p| **p == a).for_each(|p| *p = b);
            near[left].push((right, e));
            near[right].push((left, e));
        }
    }
    let count = |p: usize| part.iter().filter(|q| **q == p).count();
    let main = (0..many).map(|i| part[i]).max_by_key(|&p| count(p)).unwrap_or(0);
    let lost: Vec<usize> = (0..many).filter(|&i| part[i] != main).collect();
    if !lost.is_empty() {
        return Err(lost);
    }
    let walk = |from: usize| {
        let mut hung = Vec::new();
        let mut depth = vec![usize::MAX; many];
        depth[from] = 0;
        let mut queue = std::collections::VecDeque::from([from]);
        while let Some(parent) = queue.pop_front() {
            for &(child, edge) in &near[parent] {
                if depth[child] == usize::MAX {
                    depth[child] = depth[parent] + 1;
                    hung.push(Hung { child, parent, edge });
                    queue.push_back(child);
                }
            }
        }
        (depth.into_iter().max().unwrap_or(0), hung)
    };
    // Errors add up along the tree: from its middle the ways are shortest.
    let reference = (0..many).min_by_key(|&i| walk(i).0).unwrap_or(0);
    Ok(Tree { reference, hung: walk(reference).1 })
}
