//! The source and the destination of a copy: rows in host memory, in device memory, in memory of another library or in an
//! array.

use std::ptr;

use cuda_std::launch::Place;
use cust_raw::driver_sys as sys;
use cust_raw::driver_sys::CUmemorytype::{
    self, CU_MEMORYTYPE_ARRAY, CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST,
};

use super::memory::Memory;

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
pub enum Rows<'a> {
    /// Rows in host memory.
    Host {
        /// The bytes of all rows, including the padding between rows.
        bytes: &'a [u8],
        /// The distance between the starts of consecutive rows in bytes.
        pitch: usize,
    },
    /// Rows in device memory.
    Device {
        /// The allocation that contains the rows.
        memory: &'a Memory,
        /// The offset of the first row from the start of the allocation in bytes.
        first: usize,
        /// The distance between the starts of consecutive rows in bytes.
        pitch: usize,
    },
    /// Rows in device memory of another library, such as a decoder. On the CPU, this is host memory.
    Raw {
        /// The address of the first row on the device of the stream.
        address: u64,
        /// The distance between the starts of consecutive rows in bytes.
        pitch: usize,
    },
}

/// The destination of a copy: rows that start `pitch` bytes apart.
///
/// ```
/// use cust::typed::{Device, Image, Rows};
///
/// let device = Device::cpu();
/// let stream = device.stream()?;
/// let mut image = Image::<u8>::new(&device, 2, 2)?;
/// let from = Rows::Host { bytes: &[1, 2, 3, 4], pitch: 2 };
/// // SAFETY: both sides have two rows of two bytes, and the copy is done before `from` is freed.
/// unsafe {
///     stream.copy_rows(from, image.rows_mut(), 2, 2)?;
///     stream.synchronize()?;
/// }
/// assert_eq!(image.download(&stream)?, [1, 2, 3, 4]);
/// # Ok::<(), cust::typed::DeviceError>(())
/// ```
pub enum RowsMut<'a> {
    /// Rows in host memory.
    Host {
        /// The bytes of all rows, including the padding between rows.
        bytes: &'a mut [u8],
        /// The distance between the starts of consecutive rows in bytes.
        pitch: usize,
    },
    /// Rows in device memory.
    Device {
        /// The allocation that contains the rows.
        memory: &'a Memory,
        /// The offset of the first row from the start of the allocation in bytes.
        first: usize,
        /// The distance between the starts of consecutive rows in bytes.
        pitch: usize,
    },
    /// Rows in device memory of another library, such as an encoder. On the CPU, this is host memory.
    Raw {
        /// The address of the first row on the device of the stream.
        address: u64,
        /// The distance between the starts of consecutive rows in bytes.
        pitch: usize,
    },
    /// Rows of a CUDA array.
    Array {
        /// The handle of the array.
        array: sys::CUarray,
        /// The device that holds the array.
        place: Place,
    },
}

/// The source or the destination of a copy.
pub(super) struct Side {
    pub(super) kind: CUmemorytype,
    /// The address of the first row on the host or on the device.
    pub(super) data: *mut u8,
    pub(super) pitch: usize,
    pub(super) array: sys::CUarray,
    /// The device that holds the rows, if it is known.
    pub(super) place: Option<Place>,
}

impl Side {
    fn new(kind: CUmemorytype, data: *mut u8, pitch: usize) -> Self {
        Self { kind, data, pitch, array: ptr::null_mut(), place: None }
    }

    fn device(memory: &Memory, first: usize, pitch: usize) -> Self {
        let data = memory.pointer::<u8>().wrapping_add(first);
        Self { place: Some(memory.place()), ..Self::new(CU_MEMORYTYPE_DEVICE, data, pitch) }
    }

    fn raw(address: u64, pitch: usize) -> Self {
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
