//! Graphs: launches, copies and fills that are submitted to a device as one.
//!
//! A [`Graph`] is a description. Its nodes run after the nodes that they depend on.
//! [`Graph::instantiate`] checks it and makes a [`GraphExec`], which can be launched any number of times
//! at a fraction of the cost of its parts.
//!
//! ```no_run
//! # fn run(module: cust::module::Module, stream: cust::stream::Stream) -> cust::error::CudaResult<()> {
//! use cust::graph::{Graph, GraphCreationFlags};
//! use cust::kernel_invocation;
//! use cust::memory::{DeviceBuffer, GpuBuffer};
//!
//! let buffer = DeviceBuffer::<f32>::zeroed(1024)?;
//! let mut graph = Graph::new(GraphCreationFlags::NONE)?;
//! let fill = graph.add_memset_node(GpuBuffer::as_device_ptr(&buffer).cast(), 0_u32, 1024, [])?;
//! let scale = kernel_invocation!(module.scale<<<4, 256, 0, stream>>>(
//!     GpuBuffer::as_device_ptr(&buffer),
//!     1024_usize
//! ))?;
//! // SAFETY: the kernel takes a pointer and a length.
//! unsafe { graph.add_kernel_node(scale, [fill]) }?;
//! let exec = graph.instantiate()?;
//! // SAFETY: module and buffer outlive the launch, and the kernel stays within the buffer.
//! unsafe { exec.launch(&stream) }?;
//! stream.synchronize()
//! # }
//! ```
//!
//! On the CPU a launch runs the nodes one after the other. Streams cannot be captured there, and a graph
//! has kernels, copies, fills, child graphs and empty nodes only.

mod invocation;

use std::collections::HashMap;
use std::ffi::CString;
use std::fmt;
use std::mem::{self, ManuallyDrop};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use cust_raw::driver_sys as sys;
use cust_raw::driver_sys::{CUgraphNodeType as RawType, CUmemorytype};

pub use invocation::KernelInvocation;
pub(crate) use invocation::Param;

use crate::driver;
use crate::error::{CudaError, CudaResult, DropResult};
use crate::memory::{DeviceCopy, DevicePointer};
use crate::stream::Stream;

/// A node of a graph. It names the node and does not keep the graph alive.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GraphNode {
    raw: sys::CUgraphNode,
}

// SAFETY: a name, which each use looks up in its graph.
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
    /// Calls a function of the host.
    HostExecute,
    /// Runs another graph.
    ChildGraph,
    /// Nothing; a point for others to depend on.
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

/// The types, in the order of the driver's numbers.
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
    /// Converts the driver's type; `None` for one of a newer driver.
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

bitflags::bitflags! {
    /// Reserved by the driver.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct GraphCreationFlags: u32 {
        /// The only value.
        const NONE = 0;
    }
}

mod private {
    /// A value that memory can be filled with.
    pub trait MemsetValue: Copy {
        fn bits(self) -> u32;
    }

    impl MemsetValue for u8 {
        fn bits(self) -> u32 {
            self.into()
        }
    }

    impl MemsetValue for u16 {
        fn bits(self) -> u32 {
            self.into()
        }
    }

    impl MemsetValue for u32 {
        fn bits(self) -> u32 {
            self
        }
    }
}

/// Work, and the order that its parts depend on each other in.
pub struct Graph {
    raw: sys::CUgraph,
    nodes: Vec<GraphNode>,
    /// The kernels that were added here. The driver would return pointers whose number nobody knows.
    invocations: HashMap<GraphNode, KernelInvocation>,
}

// SAFETY: the driver wants operations on a graph one after the other, which exclusive borrows ensure;
// those that share the graph only read it.
unsafe impl Send for Graph {}
// SAFETY: as above.
unsafe impl Sync for Graph {}

impl Graph {
    /// Makes an empty graph.
    ///
    /// # Errors
    /// Returns any error of the driver.
    pub fn new(flags: GraphCreationFlags) -> CudaResult<Self> {
        let mut raw = ptr::null_mut();
        // SAFETY: the handle is written.
        unsafe { driver::cuGraphCreate(&raw mut raw, flags.bits()) }?;
        Ok(Self { raw, nodes: Vec::new(), invocations: HashMap::new() })
    }

    /// Takes over a graph that another library made.
    ///
    /// # Safety
    /// The graph is alive, nothing else destroys it, and nothing else changes it.
    ///
    /// # Errors
    /// Returns any error of the driver.
    pub unsafe fn from_raw(raw: sys::CUgraph) -> CudaResult<Self> {
        let mut count = 0;
        // SAFETY: the graph is alive; without room for nodes, their number is written.
        unsafe { driver::cuGraphGetNodes(raw, ptr::null_mut(), &raw mut count) }?;
        let mut handles = vec![ptr::null_mut(); count];
        if count > 0 {
            // SAFETY: as above, and there is room for `count` nodes.
            unsafe { driver::cuGraphGetNodes(raw, handles.as_mut_ptr(), &raw mut count) }?;
        }
        let nodes = handles.into_iter().take(count).map(GraphNode::from_raw).collect();
        Ok(Self { raw, nodes, invocations: HashMap::new() })
    }

    /// Gives up the graph, which the caller destroys.
    #[must_use]
    pub fn into_raw(self) -> sys::CUgraph {
        ManuallyDrop::new(self).raw
    }

    /// Returns whether the node belongs to this graph.
    ///
    /// # Errors
    /// None; rust-cuda's signature. So below.
    pub fn is_valid_node(&mut self, node: GraphNode) -> CudaResult<bool> {
        Ok(self.nodes.contains(&node))
    }

    /// Returns the number of nodes.
    ///
    /// # Errors
    /// None.
    pub fn num_nodes(&mut self) -> CudaResult<usize> {
        Ok(self.nodes.len())
    }

    /// Returns the nodes, in the order that they were added.
    ///
    /// # Errors
    /// None.
    pub fn nodes(&mut self) -> CudaResult<&[GraphNode]> {
        Ok(&self.nodes)
    }

    /// Returns the number of dependencies.
    ///
    /// # Errors
    /// Returns any error of the driver.
    pub fn num_edges(&mut self) -> CudaResult<usize> {
        let mut count = 0;
        // SAFETY: the graph is alive; without room for edges, their number is written.
        unsafe {
            driver::cuGraphGetEdges(self.raw, ptr::null_mut(), ptr::null_mut(), &raw mut count)
        }?;
        Ok(count)
    }

    /// Returns the dependencies. The second node of each pair waits for the first.
    ///
    /// # Errors
    /// Returns any error of the driver.
    pub fn edges(&mut self) -> CudaResult<Vec<(GraphNode, GraphNode)>> {
        let mut count = self.num_edges()?;
        if count == 0 {
            return Ok(Vec::new());
        }
        let (mut from, mut to) = (vec![ptr::null_mut(); count], vec![ptr::null_mut(); count]);
        // SAFETY: the graph is alive, and there is room for `count` edges.
        unsafe {
            driver::cuGraphGetEdges(self.raw, from.as_mut_ptr(), to.as_mut_ptr(), &raw mut count)
        }?;
        let pairs = from.into_iter().zip(to).take(count);
        Ok(pairs.map(|(from, to)| (GraphNode::from_raw(from), GraphNode::from_raw(to))).collect())
    }

    /// Returns the type of a node.
    ///
    /// # Errors
    /// Returns `InvalidValue` for a node of another graph, `NotSupported` for a type of a newer driver, or
    /// any other error of the driver.
    pub fn node_type(&mut self, node: GraphNode) -> CudaResult<GraphNodeType> {
        self.check(&[node])?;
        let mut raw = RawType(0);
        // SAFETY: the node is in the graph, which is alive; the result is written.
        unsafe { driver::cuGraphNodeGetType(node.raw, &raw mut raw) }?;
        GraphNodeType::from_raw(raw).ok_or(CudaError::NotSupported)
    }

    /// Returns the launch of a kernel node.
    ///
    /// # Errors
    /// Returns `InvalidValue` for a node of another graph or of another type, and `NotSupported` for one
    /// that was not added by [`add_kernel_node`](Self::add_kernel_node), such as a captured one.
    pub fn kernel_node_params(&mut self, node: GraphNode) -> CudaResult<KernelInvocation> {
        if self.node_type(node)? != GraphNodeType::KernelInvocation {
            return Err(CudaError::InvalidValue);
        }
        self.invocations.get(&node).cloned().ok_or(CudaError::NotSupported)
    }

    /// Adds the launch of a kernel. [`kernel_invocation!`](crate::kernel_invocation) makes one.
    ///
    /// # Safety
    /// Number and types of the arguments are the kernel's, and the kernel's module is loaded.
    ///
    /// # Errors
    /// Returns `InvalidValue` for a dependency that occurs twice or belongs to another graph, or any other
    /// error of the driver. So do the methods below.
    pub unsafe fn add_kernel_node(
        &mut self,
        invocation: KernelInvocation,
        dependencies: impl AsRef<[GraphNode]>,
    ) -> CudaResult<GraphNode> {
        let node = self.add(dependencies.as_ref(), |node, graph, nodes, count| {
            let mut pointers = invocation.pointers();
            let raw = invocation.raw(&mut pointers);
            // SAFETY: the kernel's module is loaded, by the caller.
            unsafe { driver::check_arguments(raw.func, pointers.len()) }?;
            // SAFETY: the driver copies the parameters, which are the kernel's by the caller.
            unsafe { driver::cuGraphAddKernelNode(node, graph, nodes, count, &raw const raw) }
        })?;
        self.invocations.insert(node, invocation);
        Ok(node)
    }

    /// Adds the copy of `count` elements from host to device.
    ///
    /// # Errors
    /// As [`add_kernel_node`](Self::add_kernel_node), and `InvalidMemoryAllocation` for a size beyond the
    /// address space.
    pub fn add_memcpy_htod_node<T: DeviceCopy>(
        &mut self,
        dst: DevicePointer<T>,
        src: *const T,
        count: usize,
        dependencies: impl AsRef<[GraphNode]>,
    ) -> CudaResult<GraphNode> {
        let copy = sys::CUDA_MEMCPY3D {
            srcMemoryType: CUmemorytype::CU_MEMORYTYPE_HOST,
            srcHost: src.cast(),
            dstMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
            dstDevice: dst.as_raw(),
            ..Default::default()
        };
        self.add_copy::<T>(copy, count, dependencies.as_ref())
    }

    /// Adds the copy of `count` elements from device to host.
    ///
    /// # Errors
    /// As [`add_memcpy_htod_node`](Self::add_memcpy_htod_node).
    pub fn add_memcpy_dtoh_node<T: DeviceCopy>(
        &mut self,
        dst: *mut T,
        src: DevicePointer<T>,
        count: usize,
        dependencies: impl AsRef<[GraphNode]>,
    ) -> CudaResult<GraphNode> {
        let copy = sys::CUDA_MEMCPY3D {
            srcMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
            srcDevice: src.as_raw(),
            dstMemoryType: CUmemorytype::CU_MEMORYTYPE_HOST,
            dstHost: dst.cast(),
            ..Default::default()
        };
        self.add_copy::<T>(copy, count, dependencies.as_ref())
    }

    /// Adds the copy of `count` elements from device to device.
    ///
    /// # Errors
    /// As [`add_memcpy_htod_node`](Self::add_memcpy_htod_node).
    pub fn add_memcpy_dtod_node<T: DeviceCopy>(
        &mut self,
        dst: DevicePointer<T>,
        src: DevicePointer<T>,
        count: usize,
        dependencies: impl AsRef<[GraphNode]>,
    ) -> CudaResult<GraphNode> {
        let copy = sys::CUDA_MEMCPY3D {
            srcMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
            srcDevice: src.as_raw(),
            dstMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
            dstDevice: dst.as_raw(),
            ..Default::default()
        };
        self.add_copy::<T>(copy, count, dependencies.as_ref())
    }

    /// Adds a fill of `count` elements of `u8`, `u16` or `u32`.
    ///
    /// # Errors
    /// As [`add_memcpy_htod_node`](Self::add_memcpy_htod_node).
    pub fn add_memset_node<T: private::MemsetValue>(
        &mut self,
        dst: DevicePointer<T>,
        value: T,
        count: usize,
        dependencies: impl AsRef<[GraphNode]>,
    ) -> CudaResult<GraphNode> {
        let pitch = bytes::<T>(count)?;
        let fill = sys::CUDA_MEMSET_NODE_PARAMS {
            dst: dst.as_raw(),
            pitch,
            value: value.bits(),
            elementSize: size_of::<T>() as u32,
            width: count,
            height: 1,
        };
        let context = current_context()?;
        self.add(dependencies.as_ref(), |node, graph, nodes, count| {
            // SAFETY: the description is complete; memory is touched by launches alone.
            unsafe {
                driver::cuGraphAddMemsetNode(node, graph, nodes, count, &raw const fill, context)
            }
        })
    }

    /// Adds a copy of another graph. Later changes to `child` have no effect on it.
    ///
    /// # Errors
    /// As [`add_kernel_node`](Self::add_kernel_node).
    pub fn add_child_graph_node(
        &mut self,
        child: &Self,
        dependencies: impl AsRef<[GraphNode]>,
    ) -> CudaResult<GraphNode> {
        self.add(dependencies.as_ref(), |node, graph, nodes, count| {
            // SAFETY: both graphs are alive.
            unsafe { driver::cuGraphAddChildGraphNode(node, graph, nodes, count, child.raw) }
        })
    }

    /// Adds a node without work, for others to depend on.
    ///
    /// # Errors
    /// As [`add_kernel_node`](Self::add_kernel_node).
    pub fn add_empty_node(
        &mut self,
        dependencies: impl AsRef<[GraphNode]>,
    ) -> CudaResult<GraphNode> {
        self.add(dependencies.as_ref(), |node, graph, nodes, count| {
            // SAFETY: the graph is alive.
            unsafe { driver::cuGraphAddEmptyNode(node, graph, nodes, count) }
        })
    }

    fn add_copy<T>(
        &mut self,
        copy: sys::CUDA_MEMCPY3D,
        count: usize,
        dependencies: &[GraphNode],
    ) -> CudaResult<GraphNode> {
        let bytes = bytes::<T>(count)?;
        let copy = sys::CUDA_MEMCPY3D {
            srcPitch: bytes,
            srcHeight: 1,
            dstPitch: bytes,
            dstHeight: 1,
            WidthInBytes: bytes,
            Height: 1,
            Depth: 1,
            ..copy
        };
        let context = current_context()?;
        self.add(dependencies, |node, graph, nodes, count| {
            // SAFETY: the description is complete; memory is touched by launches alone.
            unsafe {
                driver::cuGraphAddMemcpyNode(node, graph, nodes, count, &raw const copy, context)
            }
        })
    }

    /// Adds a node by a call of the driver's, which is given the place for the node, the graph, and the
    /// dependencies with their number.
    fn add(
        &mut self,
        dependencies: &[GraphNode],
        call: impl FnOnce(
            *mut sys::CUgraphNode,
            sys::CUgraph,
            *const sys::CUgraphNode,
            usize,
        ) -> CudaResult<()>,
    ) -> CudaResult<GraphNode> {
        self.check(dependencies)?;
        let mut node = ptr::null_mut();
        // A node is its handle and nothing else.
        let nodes = dependencies.as_ptr().cast::<sys::CUgraphNode>();
        call(&raw mut node, self.raw, nodes, dependencies.len())?;
        let node = GraphNode::from_raw(node);
        self.nodes.push(node);
        Ok(node)
    }

    /// Fails if a node occurs twice or is not of this graph: the driver would follow a dangling handle.
    fn check(&self, nodes: &[GraphNode]) -> CudaResult<()> {
        let repeats = |at: usize| nodes[..at].contains(&nodes[at]);
        let wrong = |at: usize| repeats(at) || !self.nodes.contains(&nodes[at]);
        match (0..nodes.len()).any(wrong) {
            true => Err(CudaError::InvalidValue),
            false => Ok(()),
        }
    }

    /// Writes the graph to a file in Graphviz's language: `dot -Tsvg FILE` draws it.
    ///
    /// # Errors
    /// Returns `InvalidValue` for a path with a zero in it, or any error of the driver, such as a file that
    /// cannot be written.
    pub fn dump_debug_dotfile<P: AsRef<Path>>(&mut self, path: P) -> CudaResult<()> {
        let path = path.as_ref().as_os_str().as_bytes();
        let path = CString::new(path).map_err(|_| CudaError::InvalidValue)?;
        let flags = sys::CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE;
        // SAFETY: the graph is alive, the path ends with a zero.
        unsafe { driver::cuGraphDebugDotPrint(self.raw, path.as_ptr(), flags) }
    }

    /// Makes an executable graph. Later changes to the graph have no effect on it.
    ///
    /// # Errors
    /// Returns any error of the driver.
    pub fn instantiate(&self) -> CudaResult<GraphExec> {
        let mut raw = ptr::null_mut();
        // SAFETY: the graph is alive, the handle is written.
        unsafe { driver::cuGraphInstantiateWithFlags(&raw mut raw, self.raw, 0) }?;
        Ok(GraphExec { raw })
    }

    /// Destroys the graph and reports failure, which `Drop` cannot.
    ///
    /// # Errors
    /// Returns any error of the driver, together with the graph.
    #[allow(clippy::should_implement_trait, reason = "named as the others are")]
    pub fn drop(graph: Self) -> DropResult<Self> {
        let mut graph = ManuallyDrop::new(graph);
        // SAFETY: made once, destroyed once.
        match unsafe { driver::cuGraphDestroy(graph.raw) } {
            Ok(()) => {
                let _ = (mem::take(&mut graph.nodes), mem::take(&mut graph.invocations));
                Ok(())
            }
            Err(error) => Err((error, ManuallyDrop::into_inner(graph))),
        }
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: made once, destroyed once. A failure cannot be reported from here.
        let _ = unsafe { driver::cuGraphDestroy(self.raw) };
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph").field("nodes", &self.nodes).finish_non_exhaustive()
    }
}

/// Bytes of so many elements.
fn bytes<T>(count: usize) -> CudaResult<usize> {
    count.checked_mul(size_of::<T>()).ok_or(CudaError::InvalidMemoryAllocation)
}

fn current_context() -> CudaResult<sys::CUcontext> {
    let mut context = ptr::null_mut();
    // SAFETY: the result is written.
    unsafe { driver::cuCtxGetCurrent(&raw mut context) }?;
    match context.is_null() {
        true => Err(CudaError::InvalidContext),
        false => Ok(context),
    }
}

/// A graph that can be launched.
#[derive(Debug)]
pub struct GraphExec {
    raw: sys::CUgraphExec,
}

// SAFETY: the handle may be used from any thread, and what needs order borrows it exclusively or is
// unsafe.
unsafe impl Send for GraphExec {}
// SAFETY: as above.
unsafe impl Sync for GraphExec {}

impl GraphExec {
    /// Submits all nodes to `stream`, behind its work so far. Launches of the same graph run one after the
    /// other.
    ///
    /// # Safety
    /// - Modules, device memory and host memory of the nodes live until the stream's work is done, and
    ///   are not touched meanwhile.
    /// - Each kernel's own requirements hold.
    /// - No other thread launches the same graph at the same time.
    ///
    /// # Errors
    /// Returns any error of the driver. On the CPU it returns the error of the first node that fails; nodes
    /// before it have run.
    pub unsafe fn launch(&self, stream: &Stream) -> CudaResult<()> {
        // SAFETY: both handles are alive; the rest is the caller's.
        unsafe { driver::cuGraphLaunch(self.raw, stream.as_inner()) }
    }

    /// Returns the driver's handle.
    #[must_use]
    pub fn as_raw(&self) -> sys::CUgraphExec {
        self.raw
    }

    /// Destroys the executable graph and reports failure, which `Drop` cannot.
    ///
    /// # Errors
    /// Returns any error of the driver, together with the graph.
    #[allow(clippy::should_implement_trait, reason = "named as the others are")]
    pub fn drop(exec: Self) -> DropResult<Self> {
        // SAFETY: made once, destroyed once.
        match unsafe { driver::cuGraphExecDestroy(exec.raw) } {
            Ok(()) => {
                mem::forget(exec);
                Ok(())
            }
            Err(error) => Err((error, exec)),
        }
    }
}

impl Drop for GraphExec {
    fn drop(&mut self) {
        // SAFETY: made once, destroyed once; the driver lets launches finish.
        let _ = unsafe { driver::cuGraphExecDestroy(self.raw) };
    }
}

/// The calls that a capture forbids meanwhile, since they are not safe to capture.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StreamCaptureMode {
    /// Such calls of every thread fail.
    Global = 0,
    /// Such calls of this thread fail.
    ThreadLocal = 1,
    /// No call fails for this reason.
    Relaxed = 2,
}

impl Stream {
    /// Starts to capture: until [`end_capture`](Self::end_capture), work that is submitted to the stream is
    /// recorded into a graph and not run.
    ///
    /// # Errors
    /// Returns any error of the driver. On the CPU `NotSupported`.
    pub fn begin_capture(&self, mode: StreamCaptureMode) -> CudaResult<()> {
        // SAFETY: the handle is alive.
        unsafe { driver::cuStreamBeginCapture_v2(self.as_inner(), mode as u32) }
    }

    /// Ends a capture and returns the graph of the captured work.
    ///
    /// # Errors
    /// Returns `StreamCaptureInvalidated` if a call broke the capture, or any other error of the driver. On
    /// the CPU `NotSupported`.
    pub fn end_capture(&self) -> CudaResult<Graph> {
        let mut raw = ptr::null_mut();
        // SAFETY: the handle is alive, the result is written; nobody else has the graph.
        unsafe {
            driver::cuStreamEndCapture(self.as_inner(), &raw mut raw)?;
            Graph::from_raw(raw)
        }
    }
}
