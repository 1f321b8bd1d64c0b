//! Adds nodes to a graph: kernels, copies, fills, child graphs and empty nodes.

use std::ptr;

use cust_raw::driver_sys as sys;
use cust_raw::driver_sys::CUmemorytype;

use super::{Graph, GraphNode, KernelInvocation};
use crate::driver;
use crate::error::{CudaError, CudaResult};
use crate::memory::{DeviceCopy, DevicePointer};

mod private {
    /// An integer type with which `add_memset_node` can fill memory.
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

impl Graph {
    /// Adds a node that launches a kernel. [`kernel_invocation!`](crate::kernel_invocation) creates
    /// the `invocation`.
    ///
    /// ```
    /// # // SAFETY: only the standard library accesses the environment.
    /// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
    /// use cuda_std::prelude::*;
    /// use cust::graph::{Graph, GraphCreationFlags};
    /// use cust::kernel_invocation;
    /// use cust::memory::DeviceBuffer;
    /// use cust::module::Module;
    /// use cust::stream::{Stream, StreamFlags};
    ///
    /// #[kernel]
    /// pub unsafe fn double_all(data: &mut [f32]) {
    ///     if let Some(value) = data.get_mut(thread::index_1d() as usize) {
    ///         *value *= 2.0;
    ///     }
    /// }
    ///
    /// # const PTX: &str = ".version 7.0\n.target sm_75\n.visible .entry double_all() { ret; }";
    /// let _context = cust::quick_init()?;
    /// let module = Module::from_ptx(PTX, &[])?;
    /// let stream = Stream::new(StreamFlags::DEFAULT, None)?;
    /// let data = DeviceBuffer::from_slice(&[1.0_f32, 2.0])?;
    /// let mut graph = Graph::new(GraphCreationFlags::NONE)?;
    /// let launch = kernel_invocation!(
    ///     module.double_all<<<1, 32, 0, stream>>>(data.as_device_ptr(), data.len())
    /// )?;
    /// // SAFETY: the arguments match the kernel, and the module outlives the graph.
    /// let node = unsafe { graph.add_kernel_node(launch, []) }?;
    /// assert_eq!(graph.kernel_node_params(node)?.block_dim, 32.into());
    ///
    /// let double = graph.instantiate()?;
    /// // SAFETY: nothing else uses the memory, and it lives until the launches are done.
    /// unsafe {
    ///     double.launch(&stream)?;
    ///     double.launch(&stream)?;
    /// }
    /// stream.synchronize()?;
    /// assert_eq!(data.as_host_vec()?, [4.0, 8.0]);
    /// # Ok::<(), cust::error::CudaError>(())
    /// ```
    ///
    /// # Safety
    /// The number and types of the invocation's arguments must match the kernel's parameters, and
    /// the kernel's module must be loaded.
    ///
    /// # Errors
    /// Returns `InvalidValue` for a dependency that occurs twice or belongs to another graph, or
    /// any other error of the driver.
    pub unsafe fn add_kernel_node(
        &mut self,
        invocation: KernelInvocation,
        dependencies: impl AsRef<[GraphNode]>,
    ) -> CudaResult<GraphNode> {
        let node = self.add(dependencies.as_ref(), |node, graph, nodes, count| {
            let mut pointers = invocation.pointers();
            let raw = invocation.raw(&mut pointers);
            // SAFETY: the caller guarantees that the kernel's module is loaded.
            unsafe { driver::check_arguments(raw.func, pointers.len()) }?;
            // SAFETY: `raw` points to live arguments, which the driver copies. The caller
            // guarantees that the arguments match the kernel's parameters.
            unsafe { driver::cuGraphAddKernelNode(node, graph, nodes, count, &raw const raw) }
        })?;
        self.invocations.insert(node, invocation);
        Ok(node)
    }

    /// Adds a node that copies `count` elements from host to device.
    ///
    /// # Errors
    /// Returns the errors of [`add_kernel_node`](Self::add_kernel_node), and
    /// `InvalidMemoryAllocation` if the size of the copy in bytes exceeds `usize::MAX`.
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

    /// Adds a node that copies `count` elements from device to host.
    ///
    /// # Errors
    /// Returns the errors of [`add_memcpy_htod_node`](Self::add_memcpy_htod_node).
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

    /// Adds a node that copies `count` elements from device to device.
    ///
    /// # Errors
    /// Returns the errors of [`add_memcpy_htod_node`](Self::add_memcpy_htod_node).
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

    /// Adds a node that sets `count` elements to `value`. The elements are `u8`, `u16` or `u32`.
    ///
    /// # Errors
    /// Returns the errors of [`add_memcpy_htod_node`](Self::add_memcpy_htod_node).
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
            // SAFETY: the driver copies the description. Nothing accesses the memory until a launch
            // of the graph, which is unsafe.
            unsafe {
                driver::cuGraphAddMemsetNode(node, graph, nodes, count, &raw const fill, context)
            }
        })
    }

    /// Adds a node that runs `child`. The node contains a copy of `child`, so later changes to
    /// `child` do not affect it.
    ///
    /// ```
    /// # // SAFETY: only the standard library accesses the environment.
    /// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
    /// use cust::graph::{Graph, GraphCreationFlags};
    ///
    /// let _context = cust::quick_init()?;
    /// let mut child = Graph::new(GraphCreationFlags::NONE)?;
    /// child.add_empty_node([])?;
    /// let mut graph = Graph::new(GraphCreationFlags::NONE)?;
    /// let first = graph.add_child_graph_node(&child, [])?;
    /// graph.add_child_graph_node(&child, [first])?;
    /// assert_eq!(graph.num_nodes()?, 2);
    /// # Ok::<(), cust::error::CudaError>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`add_kernel_node`](Self::add_kernel_node).
    pub fn add_child_graph_node(
        &mut self,
        child: &Self,
        dependencies: impl AsRef<[GraphNode]>,
    ) -> CudaResult<GraphNode> {
        self.add(dependencies.as_ref(), |node, graph, nodes, count| {
            // SAFETY: `graph` and `child` are live graphs.
            unsafe { driver::cuGraphAddChildGraphNode(node, graph, nodes, count, child.raw) }
        })
    }

    /// Adds an empty node, which can serve as a common dependency of other nodes.
    ///
    /// # Errors
    /// Returns the errors of [`add_kernel_node`](Self::add_kernel_node).
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
            // SAFETY: the driver copies the description. Nothing accesses the memory until a launch
            // of the graph, which is unsafe.
            unsafe {
                driver::cuGraphAddMemcpyNode(node, graph, nodes, count, &raw const copy, context)
            }
        })
    }

    /// Adds a node by calling the driver through `call`. `call` receives the address for the new
    /// node's handle, the graph, the dependencies, and the number of dependencies.
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
        // The cast is valid because `GraphNode` is a `repr(transparent)` wrapper of the driver's
        // handle.
        let nodes = dependencies.as_ptr().cast::<sys::CUgraphNode>();
        call(&raw mut node, self.raw, nodes, dependencies.len())?;
        let node = GraphNode::from_raw(node);
        self.nodes.push(node);
        Ok(node)
    }

    /// Returns an error if a node occurs twice in `nodes` or is not in this graph. The driver does
    /// not check node handles, so it would dereference a dangling handle.
    pub(super) fn check(&self, nodes: &[GraphNode]) -> CudaResult<()> {
        let repeats = |at: usize| nodes[..at].contains(&nodes[at]);
        let wrong = |at: usize| repeats(at) || !self.nodes.contains(&nodes[at]);
        match (0..nodes.len()).any(wrong) {
            true => Err(CudaError::InvalidValue),
            false => Ok(()),
        }
    }
}

/// Returns the size of `count` elements in bytes.
fn bytes<T>(count: usize) -> CudaResult<usize> {
    count.checked_mul(size_of::<T>()).ok_or(CudaError::InvalidMemoryAllocation)
}

fn current_context() -> CudaResult<sys::CUcontext> {
    let mut context = ptr::null_mut();
    // SAFETY: the driver writes the result to a local variable.
    unsafe { driver::cuCtxGetCurrent(&raw mut context) }?;
    match context.is_null() {
        true => Err(CudaError::InvalidContext),
        false => Ok(context),
    }
}
