//! Streams: queues of copies and launches that run in order.

use std::fmt;
use std::ptr;

use cuda_std::cpu;
use cuda_std::launch::{Kernel, KernelEntry, LaunchConfig, LaunchError, Params, SafeKernel};
use cust_raw::driver_sys as sys;

use super::counters::{self, Token};
use super::error::{Check, DeviceError, ErrorKind};
use super::rows::{Rows, RowsMut, Side};
use super::{Device, Event, Kind};

/// The scheduling priority of a stream on a GPU.
///
/// ```
/// use cust::typed::{Device, Priority, Stream};
///
/// let device = Device::cpu();
/// let (urgent, usual) = (Stream::new(&device, Priority::High)?, device.stream()?);
/// # Ok::<(), cust::typed::DeviceError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// The driver's default priority, which is also the lowest.
    Default,
    /// The driver's highest priority, for work with a deadline.
    High,
}

/// A queue of work on one device. On the CPU, an operation is done when the call that submits it
/// returns.
///
/// Work in different streams of a GPU can run concurrently. Use [`Event`]s to order work across
/// streams. If two streams access the same memory without such an order, and at least one of them
/// writes, the contents of that memory are unspecified. Other memory is not affected.
///
/// ```
/// use cuda_std::prelude::*;
/// use cust::typed::{Buffer, Device, LaunchConfig, Place, Priority, Stream};
///
/// #[kernel(dims(1))]
/// pub fn double(data: SliceMut<u32>) {
///     let i = thread::unique_1d();
///     if let Some(value) = data.get(i) {
///         data.set(i, 2 * value);
///     }
/// }
///
/// let device = Device::cpu();
/// let stream = Stream::new(&device, Priority::Default)?;
/// assert_eq!(stream.device().place(), Place::Cpu);
/// let mut data = Buffer::from_slice(&stream, &[1, 2, 3])?;
/// stream.launch(&LaunchConfig::for_1d(3, 256), &Double { data: data.view_mut() })?;
/// stream.synchronize()?;
/// assert!(stream.is_done()?);
/// assert_eq!(data.download(&stream)?, [2, 4, 6]);
///
/// // A stream of another library. The CPU ignores the handle.
/// // SAFETY: the handle is null, which is the default stream.
/// let other = unsafe { Stream::from_raw(&device, std::ptr::null_mut()) };
/// assert!(other.as_raw().is_null());
/// # Ok::<(), cust::typed::DeviceError>(())
/// ```
pub struct Stream {
    /// The driver's handle; null on the CPU.
    raw: sys::CUstream,
    device: Device,
    /// The token that counts the stream in the leak counters. `None` on the CPU, and for a stream
    /// that belongs to another library.
    counted: Option<Token>,
}

// SAFETY: any thread whose context is current may use a stream handle, and every operation makes
// the context current; driver calls are thread-safe.
unsafe impl Send for Stream {}
// SAFETY: the reason is the same as for `Send`.
unsafe impl Sync for Stream {}

impl Stream {
    /// Creates a stream that does not wait for the default stream.
    ///
    /// # Errors
    /// Returns the driver's error.
    #[track_caller]
    pub fn new(device: &Device, priority: Priority) -> Result<Self, DeviceError> {
        const OP: &str = "creating a stream";
        let (raw, counted) = match device.kind() {
            Kind::Cpu { .. } => (ptr::null_mut(), None),
            Kind::Cuda(cuda) => cuda.enter(OP, || {
                let (mut least, mut greatest) = (0, 0);
                // SAFETY: the driver writes the results to local variables.
                unsafe { sys::cuCtxGetStreamPriorityRange(&raw mut least, &raw mut greatest) }
                    .check(OP)?;
                let priority = match priority {
                    Priority::Default => least,
                    Priority::High => greatest,
                };
                let (mut raw, flags) = (ptr::null_mut(), sys::CU_STREAM_NON_BLOCKING);
                // SAFETY: the driver writes the handle to a local variable.
                unsafe { sys::cuStreamCreateWithPriority(&raw mut raw, flags, priority) }
                    .check(OP)?;
                Ok((raw, Some(Token::new(counters::Kind::Streams, 1))))
            })?,
        };
        Ok(Self { raw, device: device.clone(), counted })
    }

    /// Wraps a stream that another library created and will destroy. The CPU ignores the handle.
    ///
    /// # Safety
    /// `raw` must belong to the device's context, and must not be destroyed before the returned
    /// value is dropped.
    #[must_use]
    pub unsafe fn from_raw(device: &Device, raw: sys::CUstream) -> Self {
        let raw = match device.kind() {
            Kind::Cpu { .. } => ptr::null_mut(),
            Kind::Cuda(_) => raw,
        };
        Self { raw, device: device.clone(), counted: None }
    }

    /// Returns the stream's device.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Launches a kernel with its arguments.
    ///
    /// # Errors
    /// Returns an error before the launch reaches the driver if the block exceeds the kernel's
    /// launch bounds, the grid is empty or too large, or memory belongs to another device.
    /// Otherwise returns the kernel's fault on the CPU, or the driver's error on a GPU, which may
    /// come from earlier work.
    #[track_caller]
    pub fn launch<K: SafeKernel>(
        &self,
        config: &LaunchConfig,
        kernel: &K,
    ) -> Result<(), DeviceError> {
        // SAFETY: a `SafeKernel` has no requirements that its caller must meet.
        unsafe { self.launch_unchecked(config, kernel) }
    }

    /// Launches a kernel that is an `unsafe fn`.
    ///
    /// ```
    /// use cuda_std::prelude::*;
    /// use cust::typed::{Buffer, Device, LaunchConfig};
    ///
    /// #[kernel]
    /// pub unsafe fn fill(data: &mut [u32]) {
    ///     if let Some(value) = data.get_mut(thread::index_1d() as usize) {
    ///         *value = 7;
    ///     }
    /// }
    ///
    /// let device = Device::cpu();
    /// let stream = device.stream()?;
    /// let mut data = Buffer::new(&device, 3)?;
    /// // SAFETY: each thread accesses only its own element.
    /// unsafe {
    ///     let fill = Fill { data: data.view_mut() };
    ///     stream.launch_unchecked(&LaunchConfig::for_1d(3, 256), &fill)?;
    /// }
    /// assert_eq!(data.download(&stream)?, [7; 3]);
    /// # Ok::<(), cust::typed::DeviceError>(())
    /// ```
    ///
    /// # Safety
    /// The caller must meet the kernel's safety requirements.
    ///
    /// # Errors
    /// Returns the errors of [`launch`](Self::launch).
    #[track_caller]
    pub unsafe fn launch_unchecked<K: Kernel>(
        &self,
        config: &LaunchConfig,
        kernel: &K,
    ) -> Result<(), DeviceError> {
        // SAFETY: the parameters are those of the kernel. The caller upholds the rest of the safety contract.
        unsafe { self.launch_entry(config, K::ENTRY, kernel.params()) }
    }

    /// Launches a kernel with its parameters.
    ///
    /// # Safety
    /// `params` must be the parameters of the kernel, and the caller must meet the kernel's safety
    /// requirements.
    #[track_caller]
    unsafe fn launch_entry(
        &self,
        config: &LaunchConfig,
        entry: &'static KernelEntry,
        mut params: Params<'_>,
    ) -> Result<(), DeviceError> {
        const OP: &str = "launching a kernel";
        config.check_entry(entry).check(OP)?;
        let wanted = self.device.place();
        if let Some(found) = params.places().find(|&place| place != wanted) {
            return Err(LaunchError::wrong_device(entry.name, found, wanted)).check(OP);
        }
        match self.device.kind() {
            Kind::Cuda(cuda) => cuda.enter(OP, || {
                // SAFETY: the caller upholds this function's safety contract.
                unsafe { cuda.launch(self.raw, config, entry, params.pointers()) }
            }),
            Kind::Cpu { constants, checks, simulates } => {
                if !simulates && !cpu::is_in_launch() && !cpu::profile::is_wanted() {
                    // SAFETY: the memory arguments are in host memory. The caller upholds the rest of
                    // this function's safety contract.
                    match unsafe { entry.compute(config, params.pointers()) } {
                        Ok(Ok(true)) => return Ok(()),
                        Ok(Ok(false)) => {}
                        Ok(Err(fault)) => return Err(Box::new(fault)).check(OP),
                        Err(source) => return Err(DeviceError::refused(OP, source)),
                    }
                }
                let constants = constants.lock().unwrap_or_else(|e| e.into_inner()).clone();
                let launch = cpu::Launch {
                    kernel: entry.name,
                    grid: config.grid,
                    block: config.block,
                    dynamic_shared: config.dynamic_shared as usize,
                    constants: &constants,
                    checks: *checks,
                };
                // SAFETY: the memory arguments are in host memory. They are copies and checked
                // handles, or the caller keeps what they refer to until no other thread uses it.
                unsafe { entry.simulate(&launch, params.pointers()) }.map_err(Box::new).check(OP)
            }
        }
    }

    /// Waits until all work submitted so far is done.
    ///
    /// # Errors
    /// Returns the driver's error, for example if that work failed.
    #[track_caller]
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        const OP: &str = "waiting for a stream";
        match self.device.kind() {
            Kind::Cpu { .. } => Ok(()),
            Kind::Cuda(cuda) => cuda.enter(OP, || {
                // SAFETY: the handle is alive.
                unsafe { sys::cuStreamSynchronize(self.raw) }.check(OP)
            }),
        }
    }

    /// Returns whether all work submitted so far is done.
    ///
    /// # Errors
    /// Returns the driver's error, for example if that work failed.
    #[track_caller]
    pub fn is_done(&self) -> Result<bool, DeviceError> {
        const OP: &str = "querying a stream";
        match self.device.kind() {
            Kind::Cpu { .. } => Ok(true),
            Kind::Cuda(cuda) => cuda.enter(OP, || {
                // SAFETY: the handle is alive.
                match unsafe { sys::cuStreamQuery(self.raw) } {
                    sys::CUresult::CUDA_ERROR_NOT_READY => Ok(false),
                    result => result.check(OP).map(|()| true),
                }
            }),
        }
    }

    /// Makes all work that is submitted to this stream later wait for `event`. Another stream may
    /// have recorded the event.
    ///
    /// ```
    /// use cust::typed::{Device, Event};
    ///
    /// let device = Device::cpu();
    /// let (first, second) = (device.stream()?, device.stream()?);
    /// let uploaded = Event::for_order(&device)?;
    /// uploaded.record(&first)?;
    /// second.wait(&uploaded)?;
    /// # Ok::<(), cust::typed::DeviceError>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the event belongs to another device, or the driver's error.
    #[track_caller]
    pub fn wait(&self, event: &Event) -> Result<(), DeviceError> {
        event.make_wait(self)
    }

    /// Returns the raw handle for use with other libraries. Returns null on the CPU.
    #[must_use]
    pub fn as_raw(&self) -> sys::CUstream {
        self.raw
    }

    /// Copies `rows` rows of `width` bytes and waits until the copy is done. The function waits
    /// even if the device is lost in the meantime, because the borrow of host memory ends when the
    /// function returns.
    ///
    /// ```
    /// use cust::typed::{Device, Image, RowsMut};
    ///
    /// let stream = Device::cpu().stream()?;
    /// let image = Image::from_slice(&stream, 2, 2, &[1_u8, 2, 3, 4])?;
    /// let mut column = [0; 2];
    /// // SAFETY: both sides have two rows of one byte.
    /// unsafe {
    ///     let to = RowsMut::Host { bytes: &mut column, pitch: 1 };
    ///     stream.copy_rows_now(image.rows(), to, 1, 2)?;
    /// }
    /// assert_eq!(column, [1, 3]);
    /// # Ok::<(), cust::typed::DeviceError>(())
    /// ```
    ///
    /// # Safety
    /// `from` and `to` must each contain `rows` rows of `width` bytes, spaced by their pitch. Raw
    /// addresses must be valid on the device of the stream.
    ///
    /// # Errors
    /// Returns an error if memory belongs to another device, or the driver's error, which may come
    /// from earlier work.
    #[track_caller]
    pub unsafe fn copy_rows_now(
        &self,
        from: Rows<'_>,
        to: RowsMut<'_>,
        width: usize,
        rows: usize,
    ) -> Result<(), DeviceError> {
        const OP: &str = "waiting for a copy";
        // SAFETY: the caller guarantees that `from` and `to` contain the rows. The code below waits
        // for the copy, so the copy ends before the borrows of host memory end.
        unsafe { self.copy_rows(from, to, width, rows) }?;
        if let Kind::Cuda(cuda) = self.device.kind() {
            // SAFETY: the handle is alive.
            cuda.insist(OP, || unsafe { sys::cuStreamSynchronize(self.raw) })?;
            // Returns an error if another thread received a fatal error during the wait, because
            // such an error makes the device unusable.
            cuda.check_alive(OP)?;
        }
        Ok(())
    }

    /// Submits a copy of `rows` rows of `width` bytes without waiting.
    ///
    /// ```
    /// use cust::typed::{Device, Rows, RowsMut};
    ///
    /// let stream = Device::cpu().stream()?;
    /// let (from, mut to) = ([1, 2, 3, 4], [0; 4]);
    /// // SAFETY: both sides have one row of four bytes and stay alive until the copy is done.
    /// unsafe {
    ///     let from = Rows::Host { bytes: &from, pitch: 4 };
    ///     stream.copy_rows(from, RowsMut::Host { bytes: &mut to, pitch: 4 }, 4, 1)?;
    ///     stream.synchronize()?;
    /// }
    /// assert_eq!(to, [1, 2, 3, 4]);
    /// # Ok::<(), cust::typed::DeviceError>(())
    /// ```
    ///
    /// # Safety
    /// - `from` and `to` must each contain `rows` rows of `width` bytes, spaced by their pitch. Raw
    ///   addresses must be valid on the device of the stream.
    /// - Until the copy is done, host memory must stay alive, and nothing may change the source.
    ///
    /// # Errors
    /// Returns an error if memory belongs to another device, or the driver's error, which may come
    /// from earlier work.
    #[track_caller]
    pub unsafe fn copy_rows(
        &self,
        from: Rows<'_>,
        to: RowsMut<'_>,
        width: usize,
        rows: usize,
    ) -> Result<(), DeviceError> {
        const OP: &str = "copying";
        let wanted = self.device.place();
        let (from, to) = (Side::from(from), Side::from(to));
        let places = [from.place, to.place];
        if let Some(&found) = places.iter().flatten().find(|&&place| place != wanted) {
            return Err(DeviceError::new(OP, ErrorKind::WrongDevice { found, wanted }));
        }
        match self.device.kind() {
            Kind::Cpu { .. } => {
                assert!(to.array.is_null(), "on the CPU an array is an image");
                for row in 0..rows {
                    // SAFETY: the caller guarantees that source and destination contain `rows` rows
                    // of `width` bytes. They do not overlap, because they are different
                    // allocations, or the destination is borrowed exclusively.
                    unsafe {
                        let (from, to) =
                            (from.data.add(row * from.pitch), to.data.add(row * to.pitch));
                        ptr::copy_nonoverlapping(from.cast_const(), to, width);
                    }
                }
                Ok(())
            }
            Kind::Cuda(cuda) => {
                // The driver reads the address that belongs to the memory type.
                let copy = sys::CUDA_MEMCPY2D {
                    srcMemoryType: from.kind,
                    srcHost: from.data.cast(),
                    srcDevice: from.data.addr() as u64,
                    srcPitch: from.pitch,
                    dstMemoryType: to.kind,
                    dstHost: to.data.cast(),
                    dstDevice: to.data.addr() as u64,
                    dstPitch: to.pitch,
                    dstArray: to.array,
                    WidthInBytes: width,
                    Height: rows,
                    ..Default::default()
                };
                // SAFETY: the caller guarantees that source and destination contain the rows.
                cuda.enter(OP, || unsafe { submit(&copy, self.raw) }.check(OP))
            }
        }
    }
}

/// The largest pitch in bytes that every GPU accepts in a copy.
const MOST_PITCH: usize = i32::MAX as usize;

/// Submits a copy to the driver. If the copy is a single row longer than [`MOST_PITCH`], such as a
/// large buffer, calls a driver function that has no pitch parameter.
///
/// # Safety
/// The caller must meet the requirements of [`Stream::copy_rows`], and the context must be current.
unsafe fn submit(copy: &sys::CUDA_MEMCPY2D, stream: sys::CUstream) -> sys::CUresult {
    use sys::CUmemorytype::{CU_MEMORYTYPE_DEVICE as DEVICE, CU_MEMORYTYPE_HOST as HOST};
    let bytes = copy.WidthInBytes;
    let is_long = copy.Height == 1 && bytes > MOST_PITCH;
    // SAFETY: the caller upholds this function's safety contract.
    unsafe {
        match (copy.srcMemoryType, copy.dstMemoryType) {
            (HOST, DEVICE) if is_long => {
                sys::cuMemcpyHtoDAsync_v2(copy.dstDevice, copy.srcHost, bytes, stream)
            }
            (DEVICE, HOST) if is_long => {
                sys::cuMemcpyDtoHAsync_v2(copy.dstHost, copy.srcDevice, bytes, stream)
            }
            (DEVICE, DEVICE) if is_long => {
                sys::cuMemcpyDtoDAsync_v2(copy.dstDevice, copy.srcDevice, bytes, stream)
            }
            _ => sys::cuMemcpy2DAsync_v2(ptr::from_ref(copy), stream),
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let (Kind::Cuda(cuda), Some(counted)) = (self.device.kind(), &mut self.counted) {
            // SAFETY: the handle is alive and is destroyed only once; the driver lets the stream's
            // work finish.
            cuda.release(Some(counted), || unsafe { sys::cuStreamDestroy_v2(self.raw) });
        }
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream on {}", self.device)
    }
}
