//! [`GraphExec`], an executable graph, which a stream can launch repeatedly.

use std::mem;

use cust_raw::driver_sys as sys;

use crate::driver;
use crate::error::{CudaResult, DropResult};
use crate::stream::Stream;

/// An executable graph, created by [`Graph::instantiate`](super::Graph::instantiate).
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::graph::{Graph, GraphCreationFlags, GraphExec};
/// use cust::stream::{Stream, StreamFlags};
///
/// let _context = cust::quick_init()?;
/// let stream = Stream::new(StreamFlags::DEFAULT, None)?;
/// let exec = Graph::new(GraphCreationFlags::NONE)?.instantiate()?;
/// assert!(!exec.as_raw().is_null());
/// // SAFETY: the graph is empty.
/// unsafe { exec.launch(&stream) }?;
/// stream.synchronize()?;
/// GraphExec::drop(exec).map_err(|(error, _)| error)?;
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[derive(Debug)]
pub struct GraphExec {
    pub(super) raw: sys::CUgraphExec,
}

// SAFETY: any thread may use the handle. The driver forbids concurrent launches of one graph, and
// `launch` is unsafe and states this requirement.
unsafe impl Send for GraphExec {}
// SAFETY: the reason is the same as for `Send`.
unsafe impl Sync for GraphExec {}

impl GraphExec {
    /// Submits all nodes to `stream`. The nodes run after the work submitted to the stream so far.
    /// Launches of the same graph run one after another.
    ///
    /// # Safety
    /// - The modules and the memory that the nodes use must live until the launch is done. Until
    ///   then, no other code may access that memory.
    /// - The caller must meet the safety requirements of each kernel.
    /// - No other thread may launch the same graph at the same time.
    ///
    /// # Errors
    /// Returns any error of the driver. On the CPU, returns the error of the first node that fails,
    /// and does not run the nodes after it.
    pub unsafe fn launch(&self, stream: &Stream) -> CudaResult<()> {
        // SAFETY: both handles are alive. The caller upholds the rest of this function's safety
        // contract.
        unsafe { driver::cuGraphLaunch(self.raw, stream.as_inner()) }
    }

    /// Returns the driver's handle.
    #[must_use]
    pub fn as_raw(&self) -> sys::CUgraphExec {
        self.raw
    }

    /// Destroys the executable graph and reports errors, unlike `Drop`.
    ///
    /// # Errors
    /// Returns any error of the driver, together with the graph.
    #[allow(clippy::should_implement_trait, reason = "rust-cuda's name")]
    pub fn drop(exec: Self) -> DropResult<Self> {
        // SAFETY: the handle is alive and is destroyed only once.
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
        // SAFETY: the handle is alive and is destroyed only once; the driver lets running launches
        // finish.
        let _ = unsafe { driver::cuGraphExecDestroy(self.raw) };
    }
}
