//! Stream capture, which records the work submitted to a stream into a graph.

use std::ptr;

use super::Graph;
use crate::driver;
use crate::error::CudaResult;
use crate::stream::Stream;

/// The threads in which a capture makes unsafe driver calls fail. The driver considers calls such
/// as `cuMemAlloc` unsafe during a capture.
///
/// ```no_run
/// use cust::graph::StreamCaptureMode;
/// use cust::stream::{Stream, StreamFlags};
///
/// let _context = cust::quick_init()?;
/// let stream = Stream::new(StreamFlags::DEFAULT, None)?;
/// stream.begin_capture(StreamCaptureMode::ThreadLocal)?;
/// // Launches and copies in `stream` become nodes of the graph.
/// let graph = stream.end_capture()?;
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StreamCaptureMode {
    /// Unsafe calls fail in every thread.
    Global = 0,
    /// Unsafe calls fail in the thread that started the capture.
    ThreadLocal = 1,
    /// Unsafe calls are allowed in every thread.
    Relaxed = 2,
}

impl Stream {
    /// Starts a capture. Until [`end_capture`](Self::end_capture), work submitted to the stream is
    /// recorded into a graph instead of executed.
    ///
    /// # Errors
    /// Returns any error of the driver; on the CPU `NotSupported`.
    pub fn begin_capture(&self, mode: StreamCaptureMode) -> CudaResult<()> {
        // SAFETY: the handle is alive.
        unsafe { driver::cuStreamBeginCapture_v2(self.as_inner(), mode as u32) }
    }

    /// Ends the capture of this stream and returns the captured work as a graph.
    ///
    /// # Errors
    /// Returns `StreamCaptureInvalidated` if a call broke the capture, or any other error of the
    /// driver; on the CPU `NotSupported`.
    pub fn end_capture(&self) -> CudaResult<Graph> {
        let mut raw = ptr::null_mut();
        // SAFETY: the stream is alive, the driver writes the graph's handle to a local variable,
        // and nothing else owns the new graph.
        unsafe {
            driver::cuStreamEndCapture(self.as_inner(), &raw mut raw)?;
            Graph::from_raw(raw)
        }
    }
}
