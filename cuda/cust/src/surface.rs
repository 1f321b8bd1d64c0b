//! Surface objects, through which kernels read and write the texels of an array.
//!
//! `cuda_std` has no surface instructions, so only kernels from another source, such as CUDA C++,
//! can use surfaces. On the CPU, creating a surface returns `NotSupported`.
//!
//! ```no_run
//! use cust::surface::Surface;
//! use cust::util::SliceExt;
//!
//! let _context = cust::quick_init()?;
//! let surface: Surface = [0.0_f32; 16].as_2d_surface(4, 4)?;
//! println!("the kernel's argument: {}", surface.handle());
//! # Ok::<(), cust::error::CudaError>(())
//! ```

use std::ffi::c_ulonglong;
use std::mem::ManuallyDrop;

use cust_raw::driver_sys as sys;

use crate::driver;
use crate::error::CudaResult;
use crate::memory::array::ArrayObject;
use crate::texture::{ResourceDescriptor, ResourceDescriptorFlags, ResourceType};

/// The handle of a surface, which kernels take as an argument.
///
/// ```no_run
/// use cust::surface::SurfaceHandle;
/// use cust::util::SliceExt;
///
/// let _context = cust::quick_init()?;
/// let surface = [0.0_f32; 16].as_2d_surface(4, 4)?;
/// let handle: SurfaceHandle = surface.handle();
/// # Ok::<(), cust::error::CudaError>(())
/// ```
pub type SurfaceHandle = c_ulonglong;

/// A surface object, which owns the array that it accesses.
///
/// ```no_run
/// use cust::memory::array::{ArrayDescriptor, ArrayFormat, ArrayObject, ArrayObjectFlags};
/// use cust::surface::Surface;
/// use cust::texture::{ResourceDescriptor, ResourceDescriptorFlags, ResourceType};
///
/// let _context = cust::quick_init()?;
/// let flags = ArrayObjectFlags::SURFACE_LDST;
/// let descriptor = ArrayDescriptor::new([4, 4, 0], ArrayFormat::F32, 1, flags);
/// let surface = Surface::from_array(ArrayObject::from_descriptor(&descriptor)?)?;
/// if let Some(array) = surface.into_array()? {
///     println!("{:?}", array.as_host_vec::<f32>()?);
///     let (flags, ty) = (ResourceDescriptorFlags::empty(), ResourceType::Array { array });
///     let surface = Surface::new(ResourceDescriptor { flags, ty })?;
/// }
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[derive(Debug)]
pub struct Surface {
    handle: sys::CUsurfObject,
    resource: ManuallyDrop<ResourceDescriptor>,
}

impl Surface {
    /// Returns the handle that a kernel takes as an argument. The handle is valid until the surface
    /// is dropped.
    #[must_use]
    pub fn handle(&self) -> SurfaceHandle {
        self.handle
    }

    /// Creates a surface that accesses the array in `resource_desc`. The array must have the flag
    /// [`SURFACE_LDST`](crate::memory::array::ArrayObjectFlags::SURFACE_LDST).
    ///
    /// # Errors
    /// Returns the driver's error; `NotSupported` on the CPU. On an error, the array is destroyed.
    pub fn new(resource_desc: ResourceDescriptor) -> CudaResult<Self> {
        let raw = resource_desc.as_raw();
        let mut handle = 0;
        // SAFETY: all required fields of the description are set, the driver writes the handle to a
        // local variable, and the surface stores `resource_desc`, which keeps the array alive.
        unsafe { driver::cuSurfObjectCreate(&raw mut handle, &raw const raw) }?;
        Ok(Self { handle, resource: ManuallyDrop::new(resource_desc) })
    }

    /// Creates a surface for an array.
    ///
    /// # Errors
    /// Returns the errors of [`new`](Self::new).
    pub fn from_array(array: ArrayObject) -> CudaResult<Self> {
        let flags = ResourceDescriptorFlags::empty();
        Self::new(ResourceDescriptor { flags, ty: ResourceType::Array { array } })
    }

    /// Destroys the surface and returns its array.
    ///
    /// # Errors
    /// Returns the driver's error. On an error, the array is not destroyed.
    pub fn into_array(self) -> CudaResult<Option<ArrayObject>> {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: the handle is alive and is destroyed only once; `this` is `ManuallyDrop`, so the
        // array is not dropped a second time.
        unsafe {
            driver::cuSurfObjectDestroy(this.handle)?;
            let ResourceType::Array { array } = ManuallyDrop::take(&mut this.resource).ty;
            Ok(Some(array))
        }
    }
}

impl Drop for Surface {
    fn drop(&mut self) {
        // SAFETY: the handle is alive and is destroyed only once. If the driver cannot destroy the
        // surface, the array is leaked, because the surface may still use it.
        unsafe {
            if driver::cuSurfObjectDestroy(self.handle).is_ok() {
                ManuallyDrop::drop(&mut self.resource);
            }
        }
    }
}
