//! Surface objects: reads and writes of an array's texels by kernels.
//!
//! `cuda_std` has no surface instructions, so a surface is for kernels from elsewhere, such as CUDA C++.
//! On the CPU, making one returns `NotSupported`.

use std::ffi::c_ulonglong;
use std::mem::ManuallyDrop;

use cust_raw::driver_sys as sys;

use crate::driver;
use crate::error::CudaResult;
use crate::memory::array::ArrayObject;
use crate::texture::{ResourceDescriptor, ResourceDescriptorFlags, ResourceType};

/// The handle of a surface, as kernels take it.
pub type SurfaceHandle = c_ulonglong;

/// A surface object, together with its array.
#[derive(Debug)]
pub struct Surface {
    handle: sys::CUsurfObject,
    resource: ManuallyDrop<ResourceDescriptor>,
}

impl Surface {
    /// Returns the handle, as kernels take it. It is valid as long as the surface lives.
    #[must_use]
    pub fn handle(&self) -> SurfaceHandle {
        self.handle
    }

    /// Makes a surface over the resource, an array with
    /// [`SURFACE_LDST`](crate::memory::array::ArrayObjectFlags::SURFACE_LDST).
    ///
    /// # Errors
    /// Returns any error of the driver; on the CPU `NotSupported`. The resource is destroyed then.
    pub fn new(resource_desc: ResourceDescriptor) -> CudaResult<Self> {
        let raw = resource_desc.as_raw();
        let mut handle = 0;
        // SAFETY: the handle is written, the description is complete, and the array lives on in
        // `resource_desc`, longer than the surface.
        unsafe { driver::cuSurfObjectCreate(&raw mut handle, &raw const raw) }?;
        Ok(Self { handle, resource: ManuallyDrop::new(resource_desc) })
    }

    /// Makes a surface over an array.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn from_array(array: ArrayObject) -> CudaResult<Self> {
        let flags = ResourceDescriptorFlags::empty();
        Self::new(ResourceDescriptor { flags, ty: ResourceType::Array { array } })
    }

    /// Destroys the surface and returns its array.
    ///
    /// # Errors
    /// Returns any error of the driver; the array is not destroyed then.
    pub fn into_array(self) -> CudaResult<Option<ArrayObject>> {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: made once, destroyed once; nothing drops the resource again.
        unsafe {
            driver::cuSurfObjectDestroy(this.handle)?;
            let ResourceType::Array { array } = ManuallyDrop::take(&mut this.resource).ty;
            Ok(Some(array))
        }
    }
}

impl Drop for Surface {
    fn drop(&mut self) {
        // SAFETY: made once, destroyed once. An array that a surface is still bound to stays.
        unsafe {
            if driver::cuSurfObjectDestroy(self.handle).is_ok() {
                ManuallyDrop::drop(&mut self.resource);
            }
        }
    }
}
