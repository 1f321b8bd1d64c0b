//! Distinguishes duplicated barriers from unrolled ones.
//!
//! One barrier in the source may become several in the PTX. The copies in an unrolled loop lie on
//! one path: every thread passes all of them in sequence. Copies on mutually exclusive paths are a
//! compiler bug: if threads of a block take different paths, each group waits at its own copy and
//! the GPU hangs.
//!
//! PTX shows only the innermost line of inlined code, which is the same line of `core` for every
//! barrier. The IR has the whole chain of call sites. Two barriers with equal chains are copies of
//! one barrier. They are exclusive if there is no path from either to the other, apart from back
//! edges of loops.

use super::{Frame, Nodes, name};
use crate::ptx::is_barrier;
use std::collections::HashMap;

/// A basic block of a function.
#[derive(Default)]
struct Block<'a> {
    next: Vec<&'a str>,
    /// The `!dbg` node of each barrier.
    barriers: Vec<&'a str>,
}

/// Returns the source position of a barrier of `kernel` that has copies on two exclusive paths, or
/// `None`.
pub(crate) fn duplicated_barrier(ir: &str, kernel: &str) -> Option<String> {
    let (labels, blocks) = blocks(ir, kernel);
    let nodes = Nodes::read(ir);
    let barriers: Vec<(usize, &str, Vec<Frame<'_>>)> = blocks
        .iter()
        .enumerate()
        .flat_map(|(at, block)| block.barriers.iter().map(move |&node| (at, node)))
        .map(|(at, node)| (at, node, nodes.chain(node)))
        .collect();
    let reaches = reachability(&labels, &blocks);
    for (i, (one, node, chain)) in barriers.iter().enumerate() {
        let copies = barriers[..i].iter().filter(|(_, _, other)| other == chain);
        for &(other, ..) in copies {
            if *one != other && !reaches[*one][other] && !reaches[other][*one] {
                return Some(nodes.place(node));
            }
        }
    }
    None
}

/// Returns the blocks of a function in textual order, and a map from each label to the index of its
/// block.
fn blocks<'a>(ir: &'a str, function: &str) -> (HashMap<&'a str, usize>, Vec<Block<'a>>) {
    let heads = [format!(" @{function}("), format!(" @\"{function}\"(")];
    let mut labels = HashMap::new();
    let mut blocks = vec![Block::default()];
    let body = ir
        .lines()
        .skip_while(|line| {
            !(line.starts_with("define ") && heads.iter().any(|head| line.contains(head)))
        })
        .skip(1)
        .take_while(|line| *line != "}");
    for line in body {
        if let Some(label) = label(line) {
            labels.insert(label, blocks.len());
            blocks.push(Block::default());
            continue;
        }
        let index = blocks.len() - 1;
        let targets = line.split("label %").skip(1).map(name).collect::<Vec<_>>();
        let block = &mut blocks[index];
        block.next.extend(targets);
        if waits(line) {
            block.barriers.push(line.rsplit_once("!dbg ").map_or("", |(_, node)| name(node)));
        }
    }
    // Block 0 is the code before the first label. If the entry block has a label, block 0 is empty
    // and leads to block 1.
    if let Some((&first, _)) = labels.iter().find(|&(_, &at)| at == 1)
        && blocks[0].next.is_empty()
    {
        blocks[0].next.push(first);
    }
    (labels, blocks)
}

/// Returns the label of a line that starts a block, or `None` for any other line.
fn label(line: &str) -> Option<&str> {
    let first = line.chars().next().filter(|c| !c.is_whitespace() && *c != ';')?;
    let label = name(line);
    let rest = &line[label.len() + if first == '"' { 2 } else { 0 }..];
    rest.starts_with(':').then_some(label)
}

/// Returns whether the line calls a block-wide barrier, either an intrinsic or one in `asm!`.
fn waits(line: &str) -> bool {
    line.contains(" call ")
        && line.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.'))).any(
            |word| match word.strip_prefix("llvm.nvvm.") {
                Some(name) => {
                    name.starts_with("barrier")
                        && !name.contains("cluster")
                        && !name.contains("arrive")
                }
                None => is_barrier(word),
            },
        )
}

/// Returns a table in which `table[a][b]` is `true` if a path without a back edge leads from block
/// `a` to block `b`.
fn reachability(labels: &HashMap<&str, usize>, blocks: &[Block<'_>]) -> Vec<Vec<bool>> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Done,
    }
    let next = |block: usize| blocks[block].next.iter().filter_map(|label| labels.get(label));
    let mut reaches = vec![vec![false; blocks.len()]; blocks.len()];
    let mut state = vec![State::New; blocks.len()];
    // A depth-first search fills the table. When it leaves a block, the block's row is complete. An
    // edge to a block that the search has entered but not left is a back edge.
    let mut open = vec![0];
    while let Some(&block) = open.last() {
        if state[block] == State::New {
            state[block] = State::Open;
            open.extend(next(block).copied().filter(|&to| state[to] == State::New));
            continue;
        }
        open.pop();
        if state[block] == State::Open {
            for &to in next(block) {
                if state[to] == State::Done {
                    let row = reaches[to].clone();
                    reaches[block].iter_mut().zip(row).for_each(|(own, of)| *own |= of);
                    reaches[block][to] = true;
                }
            }
            state[block] = State::Done;
        }
    }
    reaches
}

#[cfg(test)]
mod tests;
