//! Copies of rows between host memory, device memory, memory of another library and arrays.

use std::ptr;

use cuda_std::launch::Place;
use cust_raw::driver_sys as sys;
use cust_raw::driver_sys::CUmemorytype::{
    self, CU_MEMORYTYPE_ARRAY, CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST,
};

use super::error::{Check, DeviceError, ErrorKind};
use super::memory::Memory;
use super::{Kind, Stream};

/// The source of a copy: rows that start `pitch` bytes apart.
///
/// ```
/// use cust::typed::{Device, Rows, RowsMut};
///
/// let stream = Device::cpu().stream()?;
/// // Two rows of three bytes, of which the first two are copied.
/// let from = Rows::Host { bytes: &[1, 2, 0, 3, 4, 0], pitch: 3 };
/// let mut bytes = [0; 4];
/// // SAFETY: both sides have two rows of two bytes.
/// unsafe { stream.copy_rows_now(from, RowsMut::Host { bytes: &mut bytes, pitch: 2 }, 2, 2) }?;
/// assert_eq!(bytes, [1, 2, 3, 4]);
/// # Ok::<(), cust::typed::DeviceError>(())
/// ```
#[allow(missing_docs, reason = "each variant describes its fields")]
pub enum Rows<'a> {
    /// Rows in host memory. The bytes include the padding between rows.
    Host { bytes: &'a [u8], pitch: usize },
    /// Rows in device memory, which start `first` bytes after the start of an allocation.
    Device { memory: &'a Memory, first: usize, pitch: usize },
    /// Rows in device memory of another library, such as a decoder, whose first row has this address
    /// on the device of the stream. On the CPU, this is host memory.
    Raw { address: u64, pitch: usize },
}

/// The destination of a copy: rows that start `pitch` bytes apart.
#[allow(missing_docs, reason = "each variant describes its fields")]
pub enum RowsMut<'a> {
    /// Like [`Rows::Host`].
    Host { bytes: &'a mut [u8], pitch: usize },
    /// Like [`Rows::Device`].
    Device { memory: &'a Memory, first: usize, pitch: usize },
    /// Like [`Rows::Raw`].
    Raw { address: u64, pitch: usize },
    /// Rows of a CUDA array on the device `place`.
    Array { array: sys::CUarray, place: Place },
}

/// The source or the destination of a copy.
pub(crate) struct Side {
    kind: CUmemorytype,
    /// The address of the first row on the host or on the device.
    data: *mut u8,
    pitch: usize,
    array: sys::CUarray,
    /// The device that holds the rows, if it is known.
    place: Option<Place>,
}

impl Side {
    fn new(kind: CUmemorytype, data: *mut u8, pitch: usize) -> Self {
        Self { kind, data, pitch, array: ptr::null_mut(), place: None }
    }

    /// Describes one row in host memory.
    pub(crate) fn host(data: *mut u8) -> Self {
        Self::new(CU_MEMORYTYPE_HOST, data, 0)
    }

    pub(crate) fn device(memory: &Memory, first: usize, pitch: usize) -> Self {
        let data = memory.pointer::<u8>().wrapping_add(first);
        Self { place: Some(memory.place()), ..Self::new(CU_MEMORYTYPE_DEVICE, data, pitch) }
    }

    pub(crate) fn raw(address: u64, pitch: usize) -> Self {
        let data = ptr::with_exposed_provenance_mut(address as usize);
        Self::new(CU_MEMORYTYPE_DEVICE, data, pitch)
    }
}

impl From<Rows<'_>> for Side {
    fn from(rows: Rows<'_>) -> Self {
        match rows {
            Rows::Host { bytes, pitch } => {
                Self::new(CU_MEMORYTYPE_HOST, bytes.as_ptr().cast_mut(), pitch)
            }
            Rows::Device { memory, first, pitch } => Self::device(memory, first, pitch),
            Rows::Raw { address, pitch } => Self::raw(address, pitch),
        }
    }
}

impl From<RowsMut<'_>> for Side {
    fn from(rows: RowsMut<'_>) -> Self {
        match rows {
            RowsMut::Host { bytes, pitch } => {
                Self::new(CU_MEMORYTYPE_HOST, bytes.as_mut_ptr(), pitch)
            }
            RowsMut::Device { memory, first, pitch } => Self::device(memory, first, pitch),
            RowsMut::Raw { address, pitch } => Self::raw(address, pitch),
            RowsMut::Array { array, place } => {
                let side = Self::new(CU_MEMORYTYPE_ARRAY, ptr::null_mut(), 0);
                Self { array, place: Some(place), ..side }
            }
        }
    }
}

impl Stream {
    /// Copies `rows` rows of `width` bytes and waits until the copy is done. The function waits
    /// even if the device is lost in the meantime, because the borrow of host memory ends when the
    /// function returns.
    ///
    /// # Safety
    /// `from` and `to` must each contain `rows` rows of `width` bytes, spaced by their pitch. Raw
    /// addresses must be valid on the device of the stream.
    #[track_caller]
    pub unsafe fn copy_rows_now(
        &self,
        from: Rows<'_>,
        to: RowsMut<'_>,
        width: usize,
        rows: usize,
    ) -> Result<(), DeviceError> {
        // SAFETY: the caller guarantees that `from` and `to` contain the rows. The code below waits
        // for the copy, so the copy ends before the borrows of host memory end.
        unsafe { self.copy_rows(from, to, width, rows) }?;
        self.finish_copy()
    }

    /// Waits for a copy, even if the device is lost in the meantime.
    #[track_caller]
    pub(crate) fn finish_copy(&self) -> Result<(), DeviceError> {
        const OP: &str = "waiting for a copy";
        let Some(gpu) = self.device().gpu() else { return Ok(()) };
        // SAFETY: the handle is alive.
        gpu.insist(OP, || unsafe { sys::cuStreamSynchronize(self.as_raw()) })?;
        // Returns an error if another thread received a fatal error during the wait, because such an
        // error makes the device unusable.
        gpu.check_alive(OP)
    }

    /// Submits a copy of `rows` rows of `width` bytes without waiting.
    ///
    /// # Safety
    /// - `from` and `to` must each contain `rows` rows of `width` bytes, spaced by their pitch. Raw
    ///   addresses must be valid on the device of the stream.
    /// - Until the copy is done, host memory must stay alive, and nothing may change the source.
    #[track_caller]
    pub unsafe fn copy_rows(
        &self,
        from: Rows<'_>,
        to: RowsMut<'_>,
        width: usize,
        rows: usize,
    ) -> Result<(), DeviceError> {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { self.copy(from.into(), to.into(), width, rows) }
    }

    /// Submits the copy of [`copy_rows`](Self::copy_rows).
    ///
    /// # Safety
    /// The requirements are those of `copy_rows`.
    #[track_caller]
    pub(crate) unsafe fn copy(
        &self,
        from: Side,
        to: Side,
        width: usize,
        rows: usize,
    ) -> Result<(), DeviceError> {
        const OP: &str = "copying";
        let wanted = self.device().place();
        let places = [from.place, to.place];
        if let Some(&found) = places.iter().flatten().find(|&&place| place != wanted) {
            return Err(DeviceError::new(OP, ErrorKind::WrongDevice { found, wanted }));
        }
        match self.device().kind() {
            Kind::Cpu(_) => {
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
                cuda.enter(OP, || unsafe { submit(&copy, self.as_raw()) }.check(OP))
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
