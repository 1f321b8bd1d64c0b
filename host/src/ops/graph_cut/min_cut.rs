//! Minimum cuts of a graph: splits its nodes into two sides at the lowest cost.
//!
//! Each node has a cost on either side, and each arc has a cost if it leads from the first side to the second. The
//! minimum cut is found as a maximum flow (Dinic 1970): shortest augmenting paths, all paths of one length at a time.
//! All costs are integers, so the result is the same on every machine.

use std::collections::VecDeque;

/// The value that stands for no arc.
const NONE: u32 = u32::MAX;

/// The level of a node that the search did not reach.
const UNREACHED: u32 = u32::MAX;

/// An arc that can still carry `rest` units of flow. The arc in the other direction has the same index with the lowest
/// bit flipped.
struct Arc {
    to: u32,
    next: u32,
    rest: i64,
}

/// A graph with costs.
pub(super) struct Graph {
    /// The first arc of each node.
    first: Vec<u32>,
    arcs: Vec<Arc>,
    /// The cost of the second side minus that of the first side, per node. During the search, a positive number is what
    /// the source can still supply, and a negative one is what the sink can still take.
    terminal: Vec<i64>,
}

impl Graph {
    /// Creates a graph of `nodes` nodes without costs.
    pub(super) fn new(nodes: usize) -> Self {
        Self { first: vec![NONE; nodes], arcs: Vec::new(), terminal: vec![0; nodes] }
    }

    /// Adds costs to a node: `first` if it is on the first side, and `second` if it is on the second side. Both may be
    /// negative.
    pub(super) fn add_node_cost(&mut self, node: usize, first: i64, second: i64) {
        self.terminal[node] += second - first;
    }

    /// Adds the costs `forward` if `a` is on the first side and `b` on the second, and `back` if it is the other way
    /// round. Neither may be negative.
    pub(super) fn add_arc(&mut self, [a, b]: [usize; 2], forward: i64, back: i64) {
        for (from, to, rest) in [(a, b, forward), (b, a, back)] {
            let index = self.arcs.len() as u32;
            self.arcs.push(Arc { to: to as u32, next: self.first[from], rest });
            self.first[from] = index;
        }
    }

    /// Returns, for each node, whether it is on the second side of a minimum cut.
    pub(super) fn second_side(mut self) -> Vec<bool> {
        loop {
            let mut levels = self.levels();
            let reached = |&(level, &terminal): &(&u32, &i64)| *level != UNREACHED && terminal < 0;
            if !levels.iter().zip(&self.terminal).any(|pair| reached(&pair)) {
                return levels.into_iter().map(|level| level == UNREACHED).collect();
            }
            let mut current = self.first.clone();
            for node in 0..self.terminal.len() {
                while self.terminal[node] > 0 && self.augment(node, &mut levels, &mut current) {}
            }
        }
    }

    /// Returns the number of arcs on the shortest path from a node with supply to each node.
    fn levels(&self) -> Vec<u32> {
        let mut levels = vec![UNREACHED; self.terminal.len()];
        let supply = (0..levels.len()).filter(|&node| self.terminal[node] > 0);
        let mut queue: VecDeque<usize> = supply.collect();
        queue.iter().for_each(|&node| levels[node] = 0);
        while let Some(node) = queue.pop_front() {
            let mut at = self.first[node];
            while at != NONE {
                let Arc { to, next, rest } = self.arcs[at as usize];
                let to = to as usize;
                if rest > 0 && levels[to] == UNREACHED {
                    levels[to] = levels[node] + 1;
                    queue.push_back(to);
                }
                at = next;
            }
        }
        levels
    }

    /// Sends flow along one path from `source` to a node that the sink can take from. `current` is the next arc to try
    /// at each node. Returns whether there is such a path.
    fn augment(&mut self, source: usize, levels: &mut [u32], current: &mut [u32]) -> bool {
        let mut path: Vec<u32> = Vec::new();
        let mut node = source;
        while self.terminal[node] >= 0 {
            let at = current[node];
            if at == NONE {
                // A dead end. Return to the node before it, and never come here again at this level.
                levels[node] = UNREACHED;
                let Some(arc) = path.pop() else { return false };
                node = self.arcs[(arc ^ 1) as usize].to as usize;
                current[node] = self.arcs[arc as usize].next;
                continue;
            }
            let Arc { to, next, rest } = self.arcs[at as usize];
            let to = to as usize;
            if rest > 0 && levels[node] != UNREACHED && levels[to] == levels[node] + 1 {
                path.push(at);
                node = to;
            } else {
                current[node] = next;
            }
        }
        let most = path.iter().map(|&arc| self.arcs[arc as usize].rest).min().unwrap_or(i64::MAX);
        let flow = most.min(self.terminal[source]).min(-self.terminal[node]);
        self.terminal[source] -= flow;
        self.terminal[node] += flow;
        for arc in path {
            self.arcs[arc as usize].rest -= flow;
            self.arcs[(arc ^ 1) as usize].rest += flow;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the cost of the cut with that of every other split, for random graphs of up to nine nodes.
    #[test]
    fn no_split_is_cheaper() {
        let mut random = fastrand::Rng::with_seed(5);
        for _ in 0..300 {
            let nodes = random.usize(1..10);
            let costs: Vec<[i64; 2]> =
                (0..nodes).map(|_| [random.i64(0..20), random.i64(0..20)]).collect();
            let mut arcs: Vec<([usize; 2], i64, i64)> = Vec::new();
            for _ in 0..random.usize(0..20) {
                let ends = [random.usize(0..nodes), random.usize(0..nodes)];
                if ends[0] != ends[1] {
                    arcs.push((ends, random.i64(0..15), random.i64(0..15)));
                }
            }
            let cost = |second: &dyn Fn(usize) -> bool| -> i64 {
                let own = (0..nodes).map(|node| costs[node][usize::from(second(node))]);
                let cut =
                    arcs.iter().map(|&([a, b], forward, back)| match (second(a), second(b)) {
                        (false, true) => forward,
                        (true, false) => back,
                        _ => 0,
                    });
                own.sum::<i64>() + cut.sum::<i64>()
            };
            let mut graph = Graph::new(nodes);
            for (node, [first, second]) in costs.iter().enumerate() {
                graph.add_node_cost(node, *first, *second);
            }
            arcs.iter().for_each(|&(ends, forward, back)| graph.add_arc(ends, forward, back));
            let found = graph.second_side();
            let found = cost(&|node| found[node]);
            let least = (0..1_u32 << nodes).map(|split| cost(&|node| split >> node & 1 == 1)).min();
            assert_eq!(Some(found), least);
        }
    }
}
