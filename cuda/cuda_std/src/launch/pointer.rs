//! The address type that the host passes to kernels that take raw pointers.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;

use cust_core::DeviceCopy;

/// The address of a `T` in the memory of a CUDA device, or in host memory for the CPU device.
///
/// The pointer does not own the memory, and the host cannot dereference an address on a GPU. The
/// methods have the same names as those of rust-cuda's `cust::memory::DevicePointer`.
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
    pub const fn from_raw(address: u64) -> Self {
        Self { address, element: PhantomData }
    }

    /// Returns the null pointer.
    pub const fn null() -> Self {
        Self::from_raw(0)
    }

    /// Returns true if the pointer is null.
    pub const fn is_null(self) -> bool {
        self.address == 0
    }

    /// Returns the address as an integer.
    pub const fn as_raw(&self) -> u64 {
        self.address
    }

    /// Returns the address as a raw pointer, which only code on the device may dereference.
    pub fn as_ptr(&self) -> *const T {
        std::ptr::with_exposed_provenance(self.address as usize)
    }

    /// Returns the address as a mutable raw pointer; see [`as_ptr`](Self::as_ptr).
    pub fn as_mut_ptr(&self) -> *mut T {
        std::ptr::with_exposed_provenance_mut(self.address as usize)
    }

    /// Casts to a pointer of another type.
    pub const fn cast<U>(self) -> DevicePointer<U> {
        DevicePointer::from_raw(self.address)
    }

    /// Adds `count` elements of type `T` to the pointer.
    ///
    /// # Safety
    /// The pointer and the result must be within one allocation, or at its end.
    pub const unsafe fn offset(self, count: isize) -> Self {
        self.wrapping_offset(count)
    }

    /// Adds `count` elements of type `T` to the pointer.
    ///
    /// # Safety
    /// The requirements are those of [`offset`](Self::offset).
    pub const unsafe fn add(self, count: usize) -> Self {
        self.wrapping_add(count)
    }

    /// Subtracts `count` elements of type `T` from the pointer.
    ///
    /// # Safety
    /// The requirements are those of [`offset`](Self::offset).
    pub const unsafe fn sub(self, count: usize) -> Self {
        self.wrapping_sub(count)
    }

    /// Adds `count` elements, wrapping around at the end of the address space.
    pub const fn wrapping_offset(self, count: isize) -> Self {
        let bytes = (count as i64).wrapping_mul(size_of::<T>() as i64);
        Self::from_raw(self.address.wrapping_add_signed(bytes))
    }

    /// Adds `count` elements like [`wrapping_offset`](Self::wrapping_offset).
    pub const fn wrapping_add(self, count: usize) -> Self {
        self.wrapping_offset(count as isize)
    }

    /// Subtracts `count` elements, wrapping around at the start of the address space.
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
    fn from(pointer: *mut T) -> Self {
        pointer.cast_const().into()
    }
}

copy!([T] DevicePointer<T>);

impl<T> PartialEq for DevicePointer<T> {
    fn eq(&self, other: &Self) -> bool {
        self.address == other.address
    }
}

impl<T> Eq for DevicePointer<T> {}

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
