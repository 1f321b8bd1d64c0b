//! CUDA graphs on the CPU, whose nodes run one after another.
//!
//! A node can depend only on nodes added before it, so the nodes can run in the order in which they
//! were added.

use std::ffi::{CStr, OsStr, c_char, c_uint, c_void};
use std::fmt::Write;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::ptr;
use std::slice;

use cuda_std::launch::KernelEntry;
use cust_raw::driver_sys::{
    CUDA_KERNEL_NODE_PARAMS, CUDA_MEMCPY3D, CUDA_MEMSET_NODE_PARAMS, CUcontext, CUfunction,
    CUgraph, CUgraphExec, CUgraphNode, CUgraphNodeType, CUresult, CUstream,
};

use super::context;
use super::copy::slices;
use super::memory::{code, fill};
use super::module::{self, kernel};
use crate::graph::Param;

/// A graph on the CPU.
#[derive(Default)]
struct Graph {
    #[expect(clippy::vec_box, reason = "a node keeps its address, which is its handle")]
    nodes: Vec<Box<Work>>,
    edges: Vec<(CUgraphNode, CUgraphNode)>,
}

/// The operation that a graph node runs, with its arguments.
#[derive(Clone)]
enum Work {
    Kernel(Launch),
    Copy(CUDA_MEMCPY3D),
    Fill(CUDA_MEMSET_NODE_PARAMS),
    Child(Vec<Work>),
    Empty,
}

/// A kernel launch that owns a copy of the argument values.
#[derive(Clone)]
struct Launch {
    function: CUfunction,
    /// The kernel's name. The name stays valid even if the function's module is unloaded before the
    /// graph is destroyed.
    name: &'static str,
    grid: [u32; 3],
    block: [u32; 3],
    dynamic_shared: u32,
    params: Vec<Param>,
}

impl Launch {
    /// Copies the description of a launch, including the argument values that it points to.
    ///
    /// # Safety
    /// `raw.func` must be null or belong to a loaded module, and `raw.kernelParams` must point to
    /// arguments that match the kernel.
    unsafe fn new(raw: &CUDA_KERNEL_NODE_PARAMS) -> Result<Self, CUresult> {
        if !raw.extra.is_null() {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        // SAFETY: the caller upholds this function's safety contract.
        let KernelEntry { name, params: layouts, .. } = unsafe { kernel(raw.func) }?;
        if layouts.iter().any(|layout| layout.align > Param::ALIGN) {
            return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED);
        }
        let copied = layouts.iter().enumerate().map(|(at, layout)| {
            // SAFETY: the caller guarantees that `kernelParams` has one pointer for each parameter
            // of the kernel, to a value of `layout.size` bytes.
            unsafe { Param::copy((*raw.kernelParams.add(at)).cast(), layout.size) }
        });
        Ok(Self {
            function: raw.func,
            name,
            grid: [raw.gridDimX, raw.gridDimY, raw.gridDimZ],
            block: [raw.blockDimX, raw.blockDimY, raw.blockDimZ],
            dynamic_shared: raw.sharedMemBytes,
            params: copied.collect(),
        })
    }
}

impl Work {
    /// Returns the `CUgraphNodeType` value of this node.
    fn kind(&self) -> u32 {
        match self {
            Self::Kernel(_) => 0,
            Self::Copy(_) => 1,
            Self::Fill(_) => 2,
            Self::Child(_) => 4,
            Self::Empty => 5,
        }
    }

    /// Runs the node's operation.
    ///
    /// # Safety
    /// The kernels, memory and arrays that the node uses must still exist, and the caller must meet
    /// the safety requirements of each kernel.
    unsafe fn run(&self) -> Result<(), CUresult> {
        match self {
            Self::Kernel(launch) => {
                let Launch { function, grid, block, dynamic_shared, .. } = *launch;
                let mut params: Vec<*mut c_void> =
                    launch.params.iter().map(Param::pointer).collect();
                let (params, none) = (params.as_mut_ptr(), ptr::null_mut());
                // SAFETY: the caller upholds this function's safety contract.
                unsafe { module::launch(function, grid, block, dynamic_shared, params, none) }
            }
            // SAFETY: the caller upholds this function's safety contract.
            Self::Copy(copied) => unsafe { slices(copied) },
            Self::Fill(filled) => run_fill(filled).to_result(),
            // SAFETY: the caller upholds this function's safety contract.
            Self::Child(nodes) => nodes.iter().try_for_each(|node| unsafe { node.run() }),
            Self::Empty => Ok(()),
        }
    }
}

fn run_fill(filled: &CUDA_MEMSET_NODE_PARAMS) -> CUresult {
    let CUDA_MEMSET_NODE_PARAMS { dst, value, width, .. } = *filled;
    if filled.height != 1 {
        return CUresult::CUDA_ERROR_NOT_SUPPORTED;
    }
    match filled.elementSize {
        1 => fill(dst, value as u8, width),
        2 => fill(dst, value as u16, width),
        4 => fill(dst, value, width),
        _ => CUresult::CUDA_ERROR_INVALID_VALUE,
    }
}

/// Returns the graph that a handle refers to.
///
/// # Safety
/// The handle must be null or belong to a live graph that nothing modifies concurrently.
unsafe fn graph<'a>(handle: CUgraph) -> Result<&'a Graph, CUresult> {
    // SAFETY: the caller upholds this function's safety contract.
    unsafe { handle.cast::<Graph>().as_ref() }.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)
}

/// Adds a node that runs `work` after the `count` nodes in `dependencies`, and stores its handle in
/// `node`.
///
/// # Safety
/// The handle must be null or belong to a live graph that nothing else uses concurrently.
/// `dependencies` must point to `count` nodes, and `node` must be valid for a write.
unsafe fn add(
    node: *mut CUgraphNode,
    handle: CUgraph,
    dependencies: *const CUgraphNode,
    count: usize,
    work: Result<Work, CUresult>,
) -> CUresult {
    // SAFETY: the caller upholds this function's safety contract.
    let graph = unsafe { handle.cast::<Graph>().as_mut() };
    code(graph.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE).and_then(|graph| {
        let work = Box::new(work?);
        let before = match count {
            0 => &[],
            // SAFETY: the caller upholds this function's safety contract.
            _ => unsafe { slice::from_raw_parts(dependencies, count) },
        };
        let is_known =
            |node: &CUgraphNode| graph.nodes.iter().any(|known| handle_of(known) == *node);
        if !before.iter().all(is_known) {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let added = handle_of(&work);
        graph.nodes.push(work);
        graph.edges.extend(before.iter().map(|&from| (from, added)));
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { *node = added };
        Ok(())
    }))
}

fn handle_of(node: &Work) -> CUgraphNode {
    ptr::from_ref(node).cast_mut().cast()
}

pub(crate) unsafe fn cuGraphCreate(to: *mut CUgraph, _flags: c_uint) -> CUresult {
    // SAFETY: the caller passes a valid address for the result.
    unsafe { *to = Box::into_raw(Box::<Graph>::default()).cast() };
    CUresult::CUDA_SUCCESS
}

pub(crate) unsafe fn cuGraphDestroy(handle: CUgraph) -> CUresult {
    if handle.is_null() {
        return CUresult::CUDA_ERROR_INVALID_VALUE;
    }
    // SAFETY: the handle comes from `cuGraphCreate`, and the caller guarantees that it is destroyed
    // only once.
    drop(unsafe { Box::from_raw(handle.cast::<Graph>()) });
    CUresult::CUDA_SUCCESS
}

pub(crate) unsafe fn cuGraphGetNodes(
    handle: CUgraph,
    nodes: *mut CUgraphNode,
    count: *mut usize,
) -> CUresult {
    // SAFETY: the caller passes a live graph and a valid pointer `count`. `nodes` is null or has
    // room for `*count` nodes.
    code(unsafe { graph(handle) }.map(|graph| unsafe {
        if !nodes.is_null() {
            for (at, node) in graph.nodes.iter().take(*count).enumerate() {
                nodes.add(at).write(handle_of(node));
            }
        }
        *count = graph.nodes.len();
    }))
}

pub(crate) unsafe fn cuGraphGetEdges(
    handle: CUgraph,
    from: *mut CUgraphNode,
    to: *mut CUgraphNode,
    count: *mut usize,
) -> CUresult {
    // SAFETY: the caller passes a live graph and a valid pointer `count`. `from` and `to` are null
    // or have room for `*count` nodes each.
    code(unsafe { graph(handle) }.map(|graph| unsafe {
        if !from.is_null() && !to.is_null() {
            for (at, edge) in graph.edges.iter().take(*count).enumerate() {
                from.add(at).write(edge.0);
                to.add(at).write(edge.1);
            }
        }
        *count = graph.edges.len();
    }))
}

pub(crate) unsafe fn cuGraphNodeGetType(node: CUgraphNode, kind: *mut CUgraphNodeType) -> CUresult {
    // SAFETY: the caller passes a node of a live graph and a valid address for the result.
    match unsafe { node.cast::<Work>().as_ref() } {
        Some(work) => {
            // SAFETY: the caller passes a valid address for the result.
            unsafe { *kind = CUgraphNodeType(work.kind()) };
            CUresult::CUDA_SUCCESS
        }
        None => CUresult::CUDA_ERROR_INVALID_VALUE,
    }
}

pub(crate) unsafe fn cuGraphAddKernelNode(
    node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    count: usize,
    launch: *const CUDA_KERNEL_NODE_PARAMS,
) -> CUresult {
    // SAFETY: the caller passes a launch with the kernel's parameters and meets the requirements of
    // `add`.
    unsafe { add(node, graph, dependencies, count, Launch::new(&*launch).map(Work::Kernel)) }
}

pub(crate) unsafe fn cuGraphAddMemcpyNode(
    node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    count: usize,
    copied: *const CUDA_MEMCPY3D,
    _context: CUcontext,
) -> CUresult {
    // SAFETY: the caller passes a valid copy description and meets the requirements of `add`.
    unsafe { add(node, graph, dependencies, count, Ok(Work::Copy(*copied))) }
}

pub(crate) unsafe fn cuGraphAddMemsetNode(
    node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    count: usize,
    filled: *const CUDA_MEMSET_NODE_PARAMS,
    _context: CUcontext,
) -> CUresult {
    // SAFETY: the caller passes a valid fill description and meets the requirements of `add`.
    unsafe { add(node, graph, dependencies, count, Ok(Work::Fill(*filled))) }
}

pub(crate) unsafe fn cuGraphAddChildGraphNode(
    node: *mut CUgraphNode,
    handle: CUgraph,
    dependencies: *const CUgraphNode,
    count: usize,
    child: CUgraph,
) -> CUresult {
    // SAFETY: the caller passes a live child graph.
    let child = unsafe { graph(child) }.map(|child| Work::Child(copy_of(child)));
    // SAFETY: the caller meets the requirements of `add`.
    unsafe { add(node, handle, dependencies, count, child) }
}

fn copy_of(graph: &Graph) -> Vec<Work> {
    graph.nodes.iter().map(|node| (**node).clone()).collect()
}

pub(crate) unsafe fn cuGraphAddEmptyNode(
    node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    count: usize,
) -> CUresult {
    // SAFETY: the caller meets the requirements of `add`.
    unsafe { add(node, graph, dependencies, count, Ok(Work::Empty)) }
}

pub(crate) unsafe fn cuGraphDebugDotPrint(
    handle: CUgraph,
    path: *const c_char,
    _flags: c_uint,
) -> CUresult {
    // SAFETY: the caller passes a live graph and a zero-terminated string.
    let (graph, path) = unsafe { (graph(handle), CStr::from_ptr(path)) };
    code(graph.and_then(|graph| {
        let text = dot(graph);
        fs::write(OsStr::from_bytes(path.to_bytes()), text)
            .map_err(|_| CUresult::CUDA_ERROR_OPERATING_SYSTEM)
    }))
}

/// Returns the graph in Graphviz's DOT language.
fn dot(graph: &Graph) -> String {
    let number = |node: CUgraphNode| graph.nodes.iter().position(|known| handle_of(known) == node);
    let mut text = "digraph graph_1 {\n".to_owned();
    for (at, node) in graph.nodes.iter().enumerate() {
        let label = match &**node {
            Work::Kernel(launch) => {
                format!("{} {:?} {:?}", launch.name, launch.grid, launch.block)
            }
            Work::Copy(copied) => format!("copy of {} bytes", copied.WidthInBytes),
            Work::Fill(filled) => format!("fill of {} elements", filled.width),
            Work::Child(nodes) => format!("graph of {} nodes", nodes.len()),
            Work::Empty => "empty".to_owned(),
        };
        // Writing to a string does not fail.
        let _ = writeln!(text, "  node_{at} [label=\"{label}\"];");
    }
    for &(from, to) in &graph.edges {
        if let (Some(from), Some(to)) = (number(from), number(to)) {
            let _ = writeln!(text, "  node_{from} -> node_{to};");
        }
    }
    text + "}\n"
}

pub(crate) unsafe fn cuGraphInstantiateWithFlags(
    exec: *mut CUgraphExec,
    handle: CUgraph,
    _flags: u64,
) -> CUresult {
    // SAFETY: the caller passes a live graph and a valid address for the result.
    code(unsafe { graph(handle) }.map(|graph| unsafe {
        *exec = Box::into_raw(Box::new(copy_of(graph))).cast();
    }))
}

pub(crate) unsafe fn cuGraphLaunch(exec: CUgraphExec, _stream: CUstream) -> CUresult {
    code(context::check().and_then(|()| {
        // SAFETY: the caller passes a live executable graph.
        let nodes = unsafe { exec.cast::<Vec<Work>>().as_ref() };
        let nodes = nodes.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
        // SAFETY: the caller guarantees that the kernels, memory and arrays of all nodes still
        // exist and meets the safety requirements of each kernel.
        nodes.iter().try_for_each(|node| unsafe { node.run() })
    }))
}

pub(crate) unsafe fn cuGraphExecDestroy(exec: CUgraphExec) -> CUresult {
    if exec.is_null() {
        return CUresult::CUDA_ERROR_INVALID_VALUE;
    }
    // SAFETY: the handle comes from `cuGraphInstantiateWithFlags`, and the caller guarantees that
    // it is destroyed only once.
    drop(unsafe { Box::from_raw(exec.cast::<Vec<Work>>()) });
    CUresult::CUDA_SUCCESS
}
