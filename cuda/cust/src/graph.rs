//! Graphs of kernel launches, copies and fills, which are submitted to a device as one unit.
//!
//! A [`Graph`] describes work. Each node runs after the nodes that it depends on.
//! [`Graph::instantiate`] checks the graph and creates a [`GraphExec`], which can be launched any
//! number of times. A launch of a graph takes less CPU time than separate submissions of its nodes.
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
//! On the CPU, a launch runs the nodes one after the other. Stream capture is not supported on the
//! CPU, and a graph can contain only kernels, copies, fills, child graphs and empty nodes.

mod add;
mod capture;
mod exec;
mod invocation;
mod node;

use std::collections::HashMap;
use std::ffi::CString;
use std::fmt;
use std::mem::{self, ManuallyDrop};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use cust_raw::driver_sys as sys;
use cust_raw::driver_sys::CUgraphNodeType as RawType;

pub use capture::StreamCaptureMode;
pub use exec::GraphExec;
pub use invocation::KernelInvocation;
pub(crate) use invocation::Param;
pub use node::{GraphNode, GraphNodeType};

use crate::driver;
use crate::error::{CudaError, CudaResult, DropResult};

bitflags::bitflags! {
    /// Flags of [`Graph::new`]. The driver defines no flags yet.
    ///
    /// ```
    /// use cust::graph::GraphCreationFlags;
    ///
    /// assert_eq!(GraphCreationFlags::NONE, GraphCreationFlags::empty());
    /// ```
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct GraphCreationFlags: u32 {
        /// No flags. This is the only valid value.
        const NONE = 0;
    }
}

/// A graph of launches, copies and fills, with the dependencies between them.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::graph::{Graph, GraphCreationFlags, GraphNodeType};
/// use cust::memory::DeviceBuffer;
/// use cust::stream::{Stream, StreamFlags};
///
/// let _context = cust::quick_init()?;
/// let stream = Stream::new(StreamFlags::DEFAULT, None)?;
/// let data = DeviceBuffer::<u32>::zeroed(4)?;
/// let (first, last) = (data.as_device_ptr(), data[3..].as_device_ptr());
/// let (host, mut back) = ([1_u32, 2], [0_u32; 4]);
///
/// let mut graph = Graph::new(GraphCreationFlags::NONE)?;
/// let fill = graph.add_memset_node(first, 7_u32, 4, [])?;
/// let upload = graph.add_memcpy_htod_node(first, host.as_ptr(), 2, [fill])?;
/// let copy = graph.add_memcpy_dtod_node(last, first, 1, [upload])?;
/// let done = graph.add_empty_node([copy])?;
/// graph.add_memcpy_dtoh_node(back.as_mut_ptr(), first, 4, [done])?;
///
/// assert_eq!((graph.num_nodes()?, graph.num_edges()?), (5, 4));
/// assert_eq!((graph.nodes()?[0], graph.edges()?[0]), (fill, (fill, upload)));
/// assert_eq!(graph.node_type(fill)?, GraphNodeType::Memset);
/// assert!(graph.is_valid_node(copy)?);
/// assert!(graph.kernel_node_params(fill).is_err(), "the node is not a launch");
/// let file = format!("graph-{}.dot", std::process::id());
/// graph.dump_debug_dotfile(std::env::temp_dir().join(file))?;
///
/// // A graph can be part of another graph.
/// let mut twice = Graph::new(GraphCreationFlags::NONE)?;
/// let once = twice.add_child_graph_node(&graph, [])?;
/// twice.add_child_graph_node(&graph, [once])?;
/// // SAFETY: nothing else uses the memory, and it lives until the launch is done.
/// unsafe { twice.instantiate()?.launch(&stream) }?;
/// stream.synchronize()?;
/// assert_eq!(back, [1, 2, 7, 1]);
/// Graph::drop(twice).map_err(|(error, _)| error)?;
/// # Ok::<(), cust::error::CudaError>(())
/// ```
pub struct Graph {
    raw: sys::CUgraph,
    nodes: Vec<GraphNode>,
    /// The launch of each node that [`add_kernel_node`](Self::add_kernel_node) added. The driver
    /// could return only pointers to a launch's arguments, not their number.
    invocations: HashMap<GraphNode, KernelInvocation>,
}

// SAFETY: the driver requires that only one thread at a time changes a graph. All methods that
// change the graph borrow it exclusively.
unsafe impl Send for Graph {}
// SAFETY: the reason is the same as for `Send`.
unsafe impl Sync for Graph {}

impl Graph {
    /// Creates an empty graph.
    ///
    /// # Errors
    /// Returns any error of the driver.
    pub fn new(flags: GraphCreationFlags) -> CudaResult<Self> {
        let mut raw = ptr::null_mut();
        // SAFETY: the driver writes the handle to a local variable.
        unsafe { driver::cuGraphCreate(&raw mut raw, flags.bits()) }?;
        Ok(Self { raw, nodes: Vec::new(), invocations: HashMap::new() })
    }

    /// Takes ownership of a graph that another library created.
    ///
    /// ```
    /// # // SAFETY: only the standard library accesses the environment.
    /// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
    /// use cust::graph::{Graph, GraphCreationFlags};
    ///
    /// let _context = cust::quick_init()?;
    /// let mut graph = Graph::new(GraphCreationFlags::NONE)?;
    /// graph.add_empty_node([])?;
    /// // SAFETY: the handle comes from a graph that has just released it.
    /// let mut graph = unsafe { Graph::from_raw(graph.into_raw()) }?;
    /// assert_eq!(graph.num_nodes()?, 1);
    /// # Ok::<(), cust::error::CudaError>(())
    /// ```
    ///
    /// # Safety
    /// The graph must be alive, and nothing else may change or destroy it.
    ///
    /// # Errors
    /// Returns any error of the driver.
    pub unsafe fn from_raw(raw: sys::CUgraph) -> CudaResult<Self> {
        let mut count = 0;
        // SAFETY: the graph is alive. With a null array, the driver writes only the number of
        // nodes.
        unsafe { driver::cuGraphGetNodes(raw, ptr::null_mut(), &raw mut count) }?;
        let mut handles = vec![ptr::null_mut(); count];
        if count > 0 {
            // SAFETY: the graph is alive, and there is room for `count` nodes.
            unsafe { driver::cuGraphGetNodes(raw, handles.as_mut_ptr(), &raw mut count) }?;
        }
        let nodes = handles.into_iter().take(count).map(GraphNode::from_raw).collect();
        Ok(Self { raw, nodes, invocations: HashMap::new() })
    }

    /// Returns the handle without destroying the graph; the caller must destroy it.
    #[must_use]
    pub fn into_raw(self) -> sys::CUgraph {
        ManuallyDrop::new(self).raw
    }

    /// Returns whether the node belongs to this graph.
    ///
    /// # Errors
    /// Never returns an error. The function returns a `CudaResult` only for compatibility with
    /// rust-cuda.
    pub fn is_valid_node(&mut self, node: GraphNode) -> CudaResult<bool> {
        Ok(self.nodes.contains(&node))
    }

    /// Returns the number of nodes.
    ///
    /// # Errors
    /// Never returns an error. The function returns a `CudaResult` only for compatibility with
    /// rust-cuda.
    pub fn num_nodes(&mut self) -> CudaResult<usize> {
        Ok(self.nodes.len())
    }

    /// Returns the nodes in the order of their creation.
    ///
    /// # Errors
    /// Never returns an error. The function returns a `CudaResult` only for compatibility with
    /// rust-cuda.
    pub fn nodes(&mut self) -> CudaResult<&[GraphNode]> {
        Ok(&self.nodes)
    }

    /// Returns the number of dependencies between nodes.
    ///
    /// # Errors
    /// Returns any error of the driver.
    pub fn num_edges(&mut self) -> CudaResult<usize> {
        let mut count = 0;
        // SAFETY: the graph is alive. With null arrays, the driver writes only the number of edges.
        unsafe {
            driver::cuGraphGetEdges(self.raw, ptr::null_mut(), ptr::null_mut(), &raw mut count)
        }?;
        Ok(count)
    }

    /// Returns all dependencies between nodes as pairs. The second node of a pair runs after the
    /// first.
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
    /// Returns `InvalidValue` for a node of another graph, `NotSupported` for a node whose type has
    /// no variant in [`GraphNodeType`], or any other error of the driver.
    pub fn node_type(&mut self, node: GraphNode) -> CudaResult<GraphNodeType> {
        self.check(&[node])?;
        let mut raw = RawType(0);
        // SAFETY: the node is in the graph, which is alive. The driver writes the result to a local
        // variable.
        unsafe { driver::cuGraphNodeGetType(node.raw, &raw mut raw) }?;
        GraphNodeType::from_raw(raw).ok_or(CudaError::NotSupported)
    }

    /// Returns the kernel launch of a node.
    ///
    /// # Errors
    /// Returns `InvalidValue` for a node of another graph or a node that does not launch a kernel.
    /// Returns `NotSupported` for a kernel node that was not added by
    /// [`add_kernel_node`](Self::add_kernel_node), such as a captured launch.
    pub fn kernel_node_params(&mut self, node: GraphNode) -> CudaResult<KernelInvocation> {
        if self.node_type(node)? != GraphNodeType::KernelInvocation {
            return Err(CudaError::InvalidValue);
        }
        self.invocations.get(&node).cloned().ok_or(CudaError::NotSupported)
    }

    /// Writes the graph to a file in Graphviz format. `dot -Tsvg FILE` converts this file to an
    /// image.
    ///
    /// # Errors
    /// Returns `InvalidValue` for a path that contains a zero byte, or any error of the driver,
    /// such as a file that cannot be written.
    pub fn dump_debug_dotfile<P: AsRef<Path>>(&mut self, path: P) -> CudaResult<()> {
        let path = path.as_ref().as_os_str().as_bytes();
        let path = CString::new(path).map_err(|_| CudaError::InvalidValue)?;
        let flags = sys::CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE;
        // SAFETY: the graph is alive, and the path is zero-terminated.
        unsafe { driver::cuGraphDebugDotPrint(self.raw, path.as_ptr(), flags) }
    }

    /// Creates an executable copy of the graph. Later changes to `self` do not affect the copy.
    ///
    /// # Errors
    /// Returns any error of the driver.
    pub fn instantiate(&self) -> CudaResult<GraphExec> {
        let mut raw = ptr::null_mut();
        // SAFETY: the graph is alive, and the driver writes the handle to a local variable.
        unsafe { driver::cuGraphInstantiateWithFlags(&raw mut raw, self.raw, 0) }?;
        Ok(GraphExec { raw })
    }

    /// Destroys the graph and reports errors, unlike `Drop`.
    ///
    /// # Errors
    /// Returns any error of the driver, together with the graph.
    #[allow(clippy::should_implement_trait, reason = "rust-cuda's name")]
    pub fn drop(graph: Self) -> DropResult<Self> {
        let mut graph = ManuallyDrop::new(graph);
        // SAFETY: the handle is alive and is destroyed only once.
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
        // SAFETY: the handle is alive and is destroyed only once. Drop cannot report a failure.
        let _ = unsafe { driver::cuGraphDestroy(self.raw) };
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph").field("nodes", &self.nodes).finish_non_exhaustive()
    }
}
