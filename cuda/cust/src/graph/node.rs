//! Nodes of a graph: handles and types.

use cust_raw::driver_sys as sys;
use cust_raw::driver_sys::CUgraphNodeType as RawType;

/// A handle of a graph's node. It does not keep the graph alive.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GraphNode {
    pub(super) raw: sys::CUgraphNode,
}

// SAFETY: a plain identifier, which each use looks up in its graph.
unsafe impl Send for GraphNode {}
// SAFETY: as above.
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

/// The work of a node.
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
    /// Does nothing; serves as a common dependency.
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
    /// Several operations on memory.
    BatchMemoryOperation,
    /// Runs another graph under a condition.
    Conditional,
}

/// The types in the order of the driver's numbers.
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
    /// Converts the driver's type; `None` for a type of a newer driver.
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
