//! Measures the resources that the process holds. The numbers come from the operating system, the GPU driver and the
//! library's own counters.

use std::fs::{self, File};
use std::io::{self, Read};

use cust::context::Context;
use cust::error::CudaResult;
use cust::sys;
use panoweave::device::{Counters, Device};
use serde::Serialize;

use crate::heap;

/// The resources that the process holds at one time.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Sample {
    /// Resident memory in bytes.
    pub(crate) resident: u64,
    /// The part of the resident memory that is not backed by a file, in bytes.
    pub(crate) anonymous: u64,
    /// Bytes that Rust code holds on the heap.
    pub(crate) heap: i64,
    /// Bytes of GPU memory in use by all processes, according to the driver; `None` on the CPU.
    pub(crate) gpu: Option<u64>,
    /// Numbers of the library's live objects, such as streams and buffers.
    pub(crate) objects: Counters,
    /// Number of open file descriptors.
    pub(crate) descriptors: u64,
    /// Number of threads.
    pub(crate) threads: u64,
}

/// Takes samples. Use it only on the thread that created it. It reuses its text buffer, so that its own memory does not
/// appear as growth.
pub(crate) struct Sampler {
    /// The GPU's context. To query GPU memory, it must be current on this thread. `None` on the CPU.
    context: Option<Context>,
    text: String,
}

impl Sampler {
    pub(crate) fn new(device: &Device) -> CudaResult<Self> {
        let context = match device.cuda_info() {
            Some(info) => Some(Context::new(cust::device::Device::get_device(info.ordinal)?)?),
            None => None,
        };
        Ok(Self { context, text: String::with_capacity(1 << 14) })
    }

    /// Measures all resources. This takes milliseconds if gigabytes are resident, because the kernel visits every page
    /// to add up `smaps_rollup`.
    pub(crate) fn take(&mut self) -> io::Result<Sample> {
        // `/proc/self/status` has the same numbers, but the kernel batches the updates of these numbers per processor,
        // so they can be wrong by megabytes.
        let exact = self.read("/proc/self/smaps_rollup").is_ok();
        let (resident, anonymous) = if exact {
            (self.kilobytes("Rss:"), self.kilobytes("Anonymous:"))
        } else {
            self.read("/proc/self/status")?;
            (self.kilobytes("VmRSS:"), self.kilobytes("RssAnon:"))
        };
        Ok(Sample {
            resident,
            anonymous,
            // Subtract the descriptor that `read_dir` itself opens.
            descriptors: (fs::read_dir("/proc/self/fd")?.count() as u64).saturating_sub(1),
            threads: fs::read_dir("/proc/self/task")?.count() as u64,
            heap: heap::live(),
            gpu: self.gpu(),
            objects: Counters::now(),
        })
    }

    fn gpu(&self) -> Option<u64> {
        self.context.as_ref()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: both pointers are valid for writes, and `self.context` is current on this thread.
        unsafe { sys::cuMemGetInfo_v2(&raw mut free, &raw mut total) }.to_result().ok()?;
        Some((total - free) as u64)
    }

    fn read(&mut self, path: &str) -> io::Result<()> {
        self.text.clear();
        File::open(path)?.read_to_string(&mut self.text).map(drop)
    }

    /// Returns the size in bytes from a line such as `Rss:  1234 kB`, whose first word is `name`. Returns 0 if no line
    /// starts with `name`.
    fn kilobytes(&self, name: &str) -> u64 {
        let line = self.text.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        number.unwrap_or(0) * 1024
    }
}
