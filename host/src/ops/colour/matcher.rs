//! Matches the colours of cameras over time: remembers the overlaps that are too dark or too bright at the moment.
//!
//! An overlap gives no estimate while it is dark or saturated. If it is the only connection between two groups of
//! cameras, the groups would be matched separately, and their colours would drift apart. The cameras themselves are
//! most likely unchanged, so the matcher continues with the latest usable means of this overlap.

use shared_types::stitch::Colour;

use super::{Edge, solve};

/// The latest usable edges between the cameras, and the latest solution.
#[derive(Clone, Debug)]
pub struct ColourMatcher {
    anchor: Option<usize>,
    edges: Vec<Edge>,
    colours: Vec<Colour>,
}

impl ColourMatcher {
    /// Creates a matcher for a number of cameras. The camera `anchor` keeps its colours; see [`solve`].
    #[must_use]
    pub fn new(cameras: usize, anchor: Option<usize>) -> Self {
        Self { anchor, edges: Vec::new(), colours: vec![Colour::IDENTITY; cameras] }
    }

    /// Solves the colours of all cameras from the edges of one moment, at most one edge per pair of cameras. Pairs
    /// without a new edge keep their previous one, which has no influence where a new edge contradicts it. A camera
    /// that never had an edge has the identity.
    ///
    /// Returns `None` if there are no edges, because then nothing is known about this moment.
    pub fn observe(&mut self, edges: &[Edge]) -> Option<&[Colour]> {
        if edges.is_empty() {
            return None;
        }
        let pair = |edge: &Edge| (edge.cameras.into_iter().min(), edge.cameras.into_iter().max());
        self.edges.retain(|old| !edges.iter().any(|new| pair(new) == pair(old)));
        let outdated = self.edges.iter().map(|edge| edge.outdated());
        let all: Vec<Edge> = outdated.chain(edges.iter().copied()).collect();
        self.edges.extend(edges);
        self.colours = solve(self.colours.len(), &all, self.anchor, &self.colours);
        Some(&self.colours)
    }
}

#[cfg(test)]
mod tests {
    use shared_types::colour::ColourSums;

    use super::*;

    /// Returns the edges of these pairs of cameras, which see a gray with these exposures.
    fn edges(exposures: &[f32], pairs: &[[usize; 2]]) -> Vec<Edge> {
        let edge = |&pair: &[usize; 2]| {
            let [left, right] = pair.map(|i| [60.0 * exposures[i] * 2e4; 4]);
            Edge::new(pair, &ColourSums { left, right, weight: 2e4 }, 1e4)
        };
        pairs.iter().filter_map(edge).collect()
    }

    /// While the overlap between two pairs of cameras is dark, the pairs keep their relation, although one of the
    /// cameras changes.
    #[test]
    fn a_dark_overlap_keeps_its_ratio() {
        let mut matcher = ColourMatcher::new(4, None);
        let (all, dark) = ([[0, 1], [1, 2], [2, 3]], [[0, 1], [2, 3]]);
        let exposures = [1.0, 1.2, 0.9, 0.7];
        let ratio = |colours: &[Colour], [a, b]: [usize; 2]| colours[a].gain.x / colours[b].gain.x;
        let colours = matcher.observe(&edges(&exposures, &all)).unwrap().to_vec();
        assert!((ratio(&colours, [1, 2]) - 0.9 / 1.2).abs() < 1e-6);
        assert_eq!(matcher.observe(&edges(&exposures, &dark)).unwrap(), colours);
        assert_eq!(matcher.observe(&[]), None);
        // Camera 0 becomes brighter while the overlap of cameras 1 and 2 is dark.
        let brighter = [1.5, 1.2, 0.9, 0.7];
        let colours = matcher.observe(&edges(&brighter, &dark)).unwrap().to_vec();
        assert!((ratio(&colours, [0, 1]) - 1.2 / 1.5).abs() < 1e-6);
        assert!((ratio(&colours, [1, 2]) - 0.9 / 1.2).abs() < 1e-6);
        assert_eq!(matcher.observe(&edges(&brighter, &all)).unwrap(), colours);
    }

    /// In a loop, an old edge has no influence on newer ones.
    #[test]
    fn old_edges_do_not_contradict_new_ones() {
        let mut matcher = ColourMatcher::new(3, None);
        matcher.observe(&edges(&[1.0; 3], &[[0, 1], [1, 2], [2, 0]]));
        let now = [1.0, 1.25, 1.1];
        let colours = matcher.observe(&edges(&now, &[[0, 1], [2, 1]])).unwrap();
        let levels: Vec<f32> = colours.iter().zip(now).map(|(c, e)| c.gain.x * e).collect();
        assert!(levels.iter().all(|level| (level / levels[0] - 1.0).abs() < 2e-3), "{levels:?}");
    }
}
