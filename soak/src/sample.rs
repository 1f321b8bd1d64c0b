//! What the process holds: by the operating system, by the driver, by the library's own counters.

use std::fs::{self, File};
use std::io::{self, Read};

use cust::context::Context;
use cust::error::CudaResult;
use cust::sys;
use panoweave::device::{Counters, Device};
use serde::Serialize;

use crate::heap;

/// What is held at one time.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Sample {
    /// Resident memory in bytes.
    pub(crate) resident: u64,
    /// That part of it that no file backs.
    pub(crate) anonymous: u64,
    /// Bytes that Rust code holds on the heap.
    pub(crate) heap: i64,
    /// Bytes of the GPU's memory in use, by whomever, as its driver says.
    pub(crate) gpu: Option<u64>,
    /// Live objects of the library.
    pub(crate) objects: Counters,
    /// Open file descriptors.
    pub(crate) descriptors: u64,
    /// Threads.
    pub(crate) threads: u64,
}

/// Takes samples on one thread, without memory of its own growing.
pub(crate) struct Sampler {
    /// Keeps the GPU's context, which is current on this thread.
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

    /// Everything. The kernel adds up the resident pages for it: milliseconds, for gigabytes.
    pub(crate) fn take(&mut self) -> io::Result<Sample> {
        // `/proc/self/status` has the same numbers, but from counters that each processor keeps for
        // itself for a while: they may be off by megabytes.
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
            // But for the descriptor that reads the folder.
            descriptors: (fs::read_dir("/proc/self/fd")?.count() as u64).saturating_sub(1),
            threads: fs::read_dir("/proc/self/task")?.count() as u64,
            heap: heap::live(),
            gpu: self.gpu(),
            objects: Counters::now(),
        })
    }

    /// Resident memory alone, fast and rough.
    pub(crate) fn resident(&mut self) -> io::Result<u64> {
        self.read("/proc/self/status")?;
        Ok(self.kilobytes("VmRSS:"))
    }

    fn gpu(&self) -> Option<u64> {
        self.context.as_ref()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: the results are written; the context is current.
        unsafe { sys::cuMemGetInfo_v2(&raw mut free, &raw mut total) }.to_result().ok()?;
        Some((total - free) as u64)
    }

    fn read(&mut self, path: &str) -> io::Result<()> {
        self.text.clear();
        File::open(path)?.read_to_string(&mut self.text).map(drop)
    }

    /// The bytes that a line such as `Rss:  1234 kB` states.
    fn kilobytes(&self, name: &str) -> u64 {
        let line = self.text.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        number.unwrap_or(0) * 1024
    }
}
