//! Handles and types of graph nodes.

use cust_raw::driver_sys as sys;
use cust_raw::driver_sys::CUgraphNodeType as RawType;

/// A handle of a graph node. The handle becomes invalid when its graph is destroyed.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::graph::{Graph, GraphCreationFlags, GraphNode};
///
/// let _context = cust::quick_init()?;
/// let mut graph = Graph::new(GraphCreationFlags::NONE)?;
/// let node = graph.add_empty_node([])?;
/// assert_eq!(GraphNode::from_raw(node.to_raw()), node);
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GraphNode {
    pub(super) raw: sys::CUgraphNode,
}

// SAFETY: the handle is a plain identifier. Before `Graph` passes a handle to the driver, it checks
// that the node belongs to the graph.
unsafe impl Send for GraphNode {}
// SAFETY: the reason is the same as for `Send`.
unsafe impl Sync for GraphNode {}

impl GraphNode {
    /// Wraps the driver's handle.
    #[must_use]
    pub fn from_raw(raw: sys::CUgraphNode) -> Self {
        Self { raw }
    }

    /// Returns the driver's handle.
    #[must_use]
    pub fn to_raw(self) -> sys::CUgraphNode {
        self.raw
    }
}

/// The type of a node, which determines the work that the node does.
///
/// ```
/// use cust::graph::GraphNodeType;
///
/// let raw = GraphNodeType::Memset.to_raw();
/// assert_eq!(GraphNodeType::from_raw(raw), Some(GraphNodeType::Memset));
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GraphNodeType {
    /// Launches a kernel.
    KernelInvocation,
    /// Copies memory.
    Memcpy,
    /// Fills memory.
    Memset,
    /// Calls a host function.
    HostExecute,
    /// Runs another graph.
    ChildGraph,
    /// Does nothing, but can serve as a common dependency of other nodes.
    Empty,
    /// Waits for an event.
    WaitEvent,
    /// Records an event.
    EventRecord,
    /// Signals a semaphore of another API.
    SemaphoreSignal,
    /// Waits for a semaphore of another API.
    SemaphoreWait,
    /// Allocates memory.
    MemoryAllocation,
    /// Frees memory.
    MemoryFree,
    /// Runs several memory operations.
    BatchMemoryOperation,
    /// Runs other graphs depending on a condition.
    Conditional,
}

/// The node types, indexed by the driver's `CUgraphNodeType` value.
const TYPES: [GraphNodeType; 14] = [
    GraphNodeType::KernelInvocation,
    GraphNodeType::Memcpy,
    GraphNodeType::Memset,
    GraphNodeType::HostExecute,
    GraphNodeType::ChildGraph,
    GraphNodeType::Empty,
    GraphNodeType::WaitEvent,
    GraphNodeType::EventRecord,
    GraphNodeType::SemaphoreSignal,
    GraphNodeType::SemaphoreWait,
    GraphNodeType::MemoryAllocation,
    GraphNodeType::MemoryFree,
    GraphNodeType::BatchMemoryOperation,
    GraphNodeType::Conditional,
];

impl GraphNodeType {
    /// Converts from the driver's type. Returns `None` for a type without a variant in this enum.
    #[must_use]
    pub fn from_raw(raw: sys::CUgraphNodeType) -> Option<Self> {
        TYPES.get(raw.0 as usize).copied()
    }

    /// Converts to the driver's type.
    #[must_use]
    pub fn to_raw(self) -> sys::CUgraphNodeType {
        RawType(self as u32)
    }
}
