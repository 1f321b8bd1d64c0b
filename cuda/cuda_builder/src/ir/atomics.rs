//! Reads the memory ordering of each atomic read-modify-write operation from the IR, by source
//! position.

use super::{Nodes, name};
use std::collections::HashMap;
use std::ops::BitOr;

/// The memory ordering of an operation. `total` is `true` for `seq_cst`, which additionally puts
/// all such operations into one total order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) acquire: bool,
    pub(crate) release: bool,
    pub(crate) total: bool,
}

/// The union of two orderings has the guarantees of both.
impl BitOr for Order {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self {
            acquire: self.acquire | other.acquire,
            release: self.release | other.release,
            total: self.total | other.total,
        }
    }
}

/// The orderings of the atomic operations in a module.
#[derive(Debug, Default)]
pub(crate) struct Orders {
    /// The ordering at each source position. A key is the file, line and column of the operation's
    /// innermost inlined location, with the file path written as in the `.file` directives of the
    /// PTX.
    places: HashMap<(String, String, String), Order>,
    /// The union of the orderings of all operations.
    strongest: Order,
    /// Whether any operation with an ordering stronger than relaxed has no source position.
    misses_one: bool,
}

impl Orders {
    pub(crate) fn read(ir: &str) -> Self {
        let mut orders = Self::default();
        let operations: Vec<(&str, Order)> =
            ir.lines().filter_map(|line| Some((line, order(line)?))).collect();
        if operations.iter().all(|(_, order)| *order == Order::default()) {
            return orders;
        }
        let nodes = Nodes::read(ir);
        for (line, order) in operations {
            orders.strongest = orders.strongest | order;
            let place = line.rsplit_once("!dbg ").and_then(|(_, node)| nodes.position(name(node)));
            match place {
                Some(place) => {
                    let slot = orders.places.entry(place).or_default();
                    *slot = *slot | order;
                }
                None => orders.misses_one |= order != Order::default(),
            }
        }
        orders
    }

    /// Returns the ordering of the operation at a position. Returns the union of all orderings in
    /// the module if the position is unknown or if any ordered operation has no position.
    pub(crate) fn at(&self, file: &str, line: &str, column: &str) -> Order {
        let place = (file.to_owned(), line.to_owned(), column.to_owned());
        match self.places.get(&place) {
            Some(order) if !self.misses_one => *order,
            _ => self.strongest,
        }
    }
}

/// Returns the ordering of an `atomicrmw` instruction, or `None` if the line is another
/// instruction.
fn order(line: &str) -> Option<Order> {
    let (_, operation) = line.split_once("atomicrmw ")?;
    let word = |text: &str| operation.contains(&format!(" {text},"));
    let total = word("seq_cst");
    let both = total || word("acq_rel");
    Some(Order { acquire: both || word("acquire"), release: both || word("release"), total })
}

#[cfg(test)]
mod tests {
    use super::*;

    const IR: &str = "\
  %1 = atomicrmw add ptr addrspace(1) %p, i32 1 acq_rel, align 4, !dbg !4
  %2 = atomicrmw xchg ptr %p, i32 1 monotonic, align 4, !dbg !5
  %3 = atomicrmw volatile umax ptr %p, i64 %2 syncscope(\"agent\") seq_cst, align 8, !dbg !6
!1 = !DIFile(filename: \"src/a.rs\", directory: \"/crates/a\")
!2 = !DIFile(filename: \"/crates/core/atomic.rs\", directory: \"/x\")
!3 = distinct !DISubprogram(name: \"f\", file: !1, line: 1)
!4 = !DILocation(line: 10, column: 5, scope: !3)
!5 = !DILocation(line: 11, column: 5, scope: !7, inlinedAt: !4)
!6 = !DILocation(line: 12, column: 5, scope: !7)
!7 = distinct !DILexicalBlock(scope: !3, file: !2, line: 1, column: 1)
";

    #[test]
    fn each_operation_has_its_own_ordering() {
        let orders = Orders::read(IR);
        let both = Order { acquire: true, release: true, total: false };
        let total = Order { total: true, ..both };
        assert_eq!(orders.at("/crates/a/src/a.rs", "10", "5"), both);
        assert_eq!(orders.at("/crates/core/atomic.rs", "11", "5"), Order::default());
        assert_eq!(orders.at("/crates/core/atomic.rs", "12", "5"), total);
        // An operation at an unknown position could be any of these, so it gets the strongest
        // ordering.
        assert_eq!(orders.at("/crates/core/atomic.rs", "0", "0"), total);
    }

    #[test]
    fn an_operation_without_a_place_makes_all_others_as_strong() {
        let orders = Orders::read(&IR.replace("align 4, !dbg !4", "align 4"));
        assert!(orders.at("/crates/core/atomic.rs", "11", "5").total);
    }

    #[test]
    fn relaxed_operations_stay() {
        let ir = IR.replace("acq_rel", "monotonic").replace("seq_cst", "monotonic");
        assert_eq!(Orders::read(&ir).at("anywhere", "1", "1"), Order::default());
    }
}
