//! Finds the tree of pairs with the most inliers that connects all pictures. Its root is the picture in the middle.
//!
//! The fit to all pictures starts from the models of the pairs, chained along this tree.

use super::matches::checked;
use super::model::Match;
use super::select::choose;
use super::{CalibrateOptions, Correspondence, PairFigures, Photo, Refusal, Views};

/// A pair of pictures that was calibrated on its own.
#[derive(Clone)]
pub(super) struct Edge {
    /// Indices of the left and the right picture.
    pub(super) link: [usize; 2],
    /// The model of the two pictures alone, left then right.
    pub(super) views: Views,
    pub(super) figures: PairFigures,
    pub(super) matches: Vec<Match>,
    /// The correspondences that agree with `views`.
    pub(super) inliers: Vec<Match>,
}

impl Edge {
    /// Calibrates a pair. Its pictures have the indices 0 and 1.
    pub(super) fn new(
        correspondences: &[Correspondence],
        pictures: [&Photo; 2],
        options: &CalibrateOptions,
    ) -> Result<Self, Refusal> {
        let link = [0, 1];
        let matches = checked(correspondences, link, pictures)?;
        let judged = choose(&matches, pictures, options).and_then(|choice| {
            let figures = choice.judged(&matches, pictures)?;
            Ok((choice, figures))
        });
        let (choice, figures) = judged.map_err(|refusal| refusal.or_sizes(pictures))?;
        let inlier = |&index: &usize| {
            let Correspondence { left, right, .. } = correspondences[index];
            Match { link, left, right, index }
        };
        let inliers = figures.inliers.iter().map(inlier).collect();
        Ok(Self { link, views: choice.views(), figures, matches, inliers })
    }

    /// Returns the edge with other indices of its pictures.
    pub(super) fn linked(mut self, link: [usize; 2]) -> Self {
        self.link = link;
        self.inliers.iter_mut().chain(&mut self.matches).for_each(|one| one.link = link);
        self
    }
}

/// A picture and its parent in the tree.
#[derive(Clone, Copy, Debug)]
pub(super) struct TreeLink {
    pub(super) child: usize,
    pub(super) parent: usize,
    /// Index of the edge between child and parent.
    pub(super) edge: usize,
}

/// A spanning tree of all pictures.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    /// Index of the root, which is the picture in the middle of the tree.
    pub(super) reference: usize,
    /// A link for each other picture. The link of a parent comes before those of its children.
    pub(super) links: Vec<TreeLink>,
}

/// Returns the spanning tree of `many` pictures with the most inliers, over the edges with the indices `kept`. If these
/// edges do not connect all pictures, the error contains the indices of the pictures outside the largest connected
/// group.
pub(super) fn tree(many: usize, edges: &[Edge], kept: &[usize]) -> Result<Tree, Vec<usize>> {
    // Kruskal's algorithm: take the edges in descending order of inliers, and skip an edge if its pictures are already
    // connected.
    let mut order = kept.to_vec();
    order.sort_by_key(|&e| std::cmp::Reverse(edges[e].inliers.len()));
    let mut part: Vec<usize> = (0..many).collect();
    let mut near: Vec<Vec<(usize, usize)>> = vec![Vec::new(); many];
    for e in order {
        let [left, right] = edges[e].link;
        let (a, b) = (part[left], part[right]);
        if a != b {
            part.iter_mut().filter(|p| **p == a).for_each(|p| *p = b);
            near[left].push((right, e));
            near[right].push((left, e));
        }
    }
    // Of several groups with the most pictures, take the one with the most inliers.
    let inliers = |p: usize| -> usize {
        let own = kept.iter().filter(|&&e| part[edges[e].link[0]] == p);
        own.map(|&e| edges[e].inliers.len()).sum()
    };
    let count = |p: usize| part.iter().filter(|q| **q == p).count();
    let main = part.iter().copied().max_by_key(|&p| (count(p), inliers(p))).unwrap_or(0);
    let lost: Vec<usize> = (0..many).filter(|&i| part[i] != main).collect();
    if !lost.is_empty() {
        return Err(lost);
    }
    let walk = |from: usize| {
        let mut links = Vec::new();
        let mut depth = vec![usize::MAX; many];
        depth[from] = 0;
        let mut queue = std::collections::VecDeque::from([from]);
        while let Some(parent) = queue.pop_front() {
            for &(child, edge) in &near[parent] {
                if depth[child] == usize::MAX {
                    depth[child] = depth[parent] + 1;
                    links.push(TreeLink { child, parent, edge });
                    queue.push_back(child);
                }
            }
        }
        (depth.into_iter().max().unwrap_or(0), links)
    };
    // Errors add up along the tree, so the root is the picture whose longest path to another picture is the shortest.
    let reference = (0..many).min_by_key(|&i| walk(i).0).unwrap_or(0);
    Ok(Tree { reference, links: walk(reference).1 })
}
