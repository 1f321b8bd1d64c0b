//! The address type that the host passes to kernels that take raw pointers.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;

use cust_core::DeviceCopy;

/// The address of a `T` in the memory of a CUDA device, or in host memory for the CPU device.
///
/// The pointer does not own the memory, and the host cannot dereference an address on a GPU. The
/// methods have the same names as those of rust-cuda's `cust::memory::DevicePointer`.
///
/// ```
/// use cuda_std::launch::DevicePointer;
///
/// let start = DevicePointer::<f32>::from_raw(0x1000);
/// assert_eq!(start.wrapping_add(3).as_raw(), 0x100c);
/// assert_eq!(start.wrapping_sub(1), start.wrapping_offset(-1));
/// assert_eq!(start.cast::<u8>().wrapping_add(4), start.wrapping_add(1).cast());
/// assert!(DevicePointer::<f32>::null().is_null());
///
/// // On the CPU, the address is that of host memory.
/// let mut values = [1.0, 2.0, 3.0];
/// let first = DevicePointer::from(values.as_mut_ptr());
/// // SAFETY: the results are within `values`, and no reference to it is in use.
/// unsafe {
///     assert_eq!(*first.add(2).as_ptr(), 3.0);
///     assert_eq!(first.add(2).sub(1), first.offset(1));
///     *first.as_mut_ptr() = 9.0;
/// }
/// assert_eq!(values, [9.0, 2.0, 3.0]);
/// ```
#[repr(transparent)]
pub struct DevicePointer<T> {
    address: u64,
    element: PhantomData<*mut T>,
}

// SAFETY: the type is a plain address; dereferencing it is unsafe.
unsafe impl<T> DeviceCopy for DevicePointer<T> {}
// SAFETY: the type is a plain address; dereferencing it is unsafe.
unsafe impl<T> Send for DevicePointer<T> {}
// SAFETY: the type is a plain address; dereferencing it is unsafe.
unsafe impl<T> Sync for DevicePointer<T> {}

impl<T> DevicePointer<T> {
    /// Creates a pointer from an integer address.
    #[must_use]
    pub const fn from_raw(address: u64) -> Self {
        Self { address, element: PhantomData }
    }

    /// Returns the null pointer.
    #[must_use]
    pub const fn null() -> Self {
        Self::from_raw(0)
    }

    /// Returns true if the pointer is null.
    #[must_use]
    pub const fn is_null(self) -> bool {
        self.address == 0
    }

    /// Returns the address as an integer.
    #[must_use]
    pub const fn as_raw(&self) -> u64 {
        self.address
    }

    /// Returns the address as a raw pointer, which only code on the device may dereference.
    #[must_use]
    pub fn as_ptr(&self) -> *const T {
        std::ptr::with_exposed_provenance(self.address as usize)
    }

    /// Returns the address as a mutable raw pointer; see [`as_ptr`](Self::as_ptr).
    #[must_use]
    pub fn as_mut_ptr(&self) -> *mut T {
        std::ptr::with_exposed_provenance_mut(self.address as usize)
    }

    /// Casts to a pointer of another type.
    #[must_use]
    pub const fn cast<U>(self) -> DevicePointer<U> {
        DevicePointer::from_raw(self.address)
    }

    /// Adds `count` elements of type `T` to the pointer.
    ///
    /// # Safety
    /// The pointer and the result must be within one allocation, or at its end.
    #[must_use]
    pub const unsafe fn offset(self, count: isize) -> Self {
        self.wrapping_offset(count)
    }

    /// Adds `count` elements of type `T` to the pointer.
    ///
    /// # Safety
    /// The pointer and the result must be within one allocation, or at its end.
    #[must_use]
    pub const unsafe fn add(self, count: usize) -> Self {
        self.wrapping_add(count)
    }

    /// Subtracts `count` elements of type `T` from the pointer.
    ///
    /// # Safety
    /// The pointer and the result must be within one allocation, or at its end.
    #[must_use]
    pub const unsafe fn sub(self, count: usize) -> Self {
        self.wrapping_sub(count)
    }

    /// Adds `count` elements, wrapping around at the end of the address space.
    #[must_use]
    pub const fn wrapping_offset(self, count: isize) -> Self {
        let bytes = (count as i64).wrapping_mul(size_of::<T>() as i64);
        Self::from_raw(self.address.wrapping_add_signed(bytes))
    }

    /// Adds `count` elements like [`wrapping_offset`](Self::wrapping_offset).
    #[must_use]
    pub const fn wrapping_add(self, count: usize) -> Self {
        self.wrapping_offset(count as isize)
    }

    /// Subtracts `count` elements, wrapping around at the start of the address space.
    #[must_use]
    pub const fn wrapping_sub(self, count: usize) -> Self {
        self.wrapping_offset((count as isize).wrapping_neg())
    }
}

impl<T> From<*const T> for DevicePointer<T> {
    /// Wraps a raw pointer: a host address, or a device address from the driver.
    fn from(pointer: *const T) -> Self {
        Self::from_raw(pointer.expose_provenance() as u64)
    }
}

impl<T> From<*mut T> for DevicePointer<T> {
    /// Wraps a raw pointer: a host address, or a device address from the driver.
    fn from(pointer: *mut T) -> Self {
        Self::from_raw(pointer.expose_provenance() as u64)
    }
}

impl<T> Clone for DevicePointer<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for DevicePointer<T> {}

impl<T> PartialEq for DevicePointer<T> {
    fn eq(&self, other: &Self) -> bool {
        self.address == other.address
    }
}

impl<T> Eq for DevicePointer<T> {}

impl<T> PartialOrd for DevicePointer<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for DevicePointer<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.address.cmp(&other.address)
    }
}

impl<T> Hash for DevicePointer<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.address.hash(state);
    }
}

impl<T> fmt::Debug for DevicePointer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(self, f)
    }
}

impl<T> fmt::Pointer for DevicePointer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&self.as_ptr(), f)
    }
}
