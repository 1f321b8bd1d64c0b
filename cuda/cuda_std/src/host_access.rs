//! Access to the memory of kernel arguments as Rust slices, for the functions that compute whole launches on the CPU
//! (option `cpu` of `#[kernel]`).
//!
//! The functions below do not report faults: such a function runs outside the simulator.

use core::slice;

use bytemuck::Pod;
use cuda_cpu::texture::Texture;

use crate::{Slice, SliceMut, Texture2d, View, ViewMut};

impl<T: Pod> Slice<T> {
    /// Returns the elements on the CPU.
    ///
    /// # Safety
    /// The elements must be valid host memory that nothing writes during `'a`.
    pub unsafe fn as_host_slice<'a>(self) -> &'a [T] {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { slice::from_raw_parts(self.data, self.len as usize) }
    }
}

impl<T: Pod> SliceMut<T> {
    /// Returns the elements on the CPU.
    ///
    /// # Safety
    /// The elements must be valid host memory that nothing else accesses during `'a`.
    pub unsafe fn as_host_slice<'a>(self) -> &'a mut [T] {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { slice::from_raw_parts_mut(self.data, self.len as usize) }
    }
}

impl<T: Pod> View<T> {
    /// Returns row `y` on the CPU.
    ///
    /// # Safety
    /// `y` must be less than `height`. The row must be valid host memory that nothing writes during `'a`.
    pub unsafe fn host_row<'a>(self, y: u32) -> &'a [T] {
        debug_assert!(y < self.height);
        let start = self.data.wrapping_byte_add(y as usize * self.pitch as usize);
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { slice::from_raw_parts(start, self.width as usize) }
    }

    /// Returns the address of the first row on the CPU.
    pub fn host_address(self) -> *const T {
        self.data
    }

    /// Returns the distance in bytes from a row to the next.
    pub fn host_pitch(self) -> u32 {
        self.pitch
    }
}

impl<T: Pod> ViewMut<T> {
    /// Returns row `y` on the CPU.
    ///
    /// # Safety
    /// `y` must be less than `height`. The row must be valid host memory that nothing else accesses during `'a`.
    pub unsafe fn host_row<'a>(self, y: u32) -> &'a mut [T] {
        debug_assert!(y < self.height);
        let start = self.data.wrapping_byte_add(y as usize * self.pitch as usize);
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { slice::from_raw_parts_mut(start, self.width as usize) }
    }
}

impl<T: Pod> ViewMut<T> {
    /// Returns the address of row `y` on the CPU, for code in which several cores write parts of a row.
    pub fn host_address(self, y: u32) -> *mut T {
        debug_assert!(y < self.height);
        self.data.wrapping_byte_add(y as usize * self.pitch as usize)
    }
}

impl<T> Texture2d<T> {
    /// Returns the texture object on the CPU.
    ///
    /// # Safety
    /// The handle must belong to a texture of the CPU that lives during `'a`.
    pub unsafe fn host_texture<'a>(self) -> &'a Texture {
        // SAFETY: on the CPU, the handle is the exposed address of a texture object, which the caller keeps alive.
        unsafe { &*core::ptr::with_exposed_provenance::<Texture>(self.handle as usize) }
    }
}
