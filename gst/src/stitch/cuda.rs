//! CUDA memory of GStreamer, so that frames of decoders stay on the GPU.
//!
//! GStreamer's library `libgstcuda-1.0.so.0` (1.22 or newer) manages such memory. It is looked up at run time, so the
//! plugin also works without it. Its API is declared here, because no crate declares it.
//!
//! Elements that share CUDA memory must share a CUDA context. panoweave uses the primary context of a GPU. A
//! [`Context`] wraps it and offers it to the other elements of the pipeline, before these create contexts of their own.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr;
use std::sync::LazyLock;

use cust_raw::driver_sys as sys;
use gst::glib;
use gst::glib::ffi::gboolean;
use gst::glib::translate::{FromGlibPtrFull, ToGlibPtr};
use gst::prelude::*;
use gst_video::VideoInfo;
use libloading::Library;
use panoweave::device::Device;

/// The caps feature of CUDA memory.
pub(super) const FEATURE: &str = "memory:CUDAMemory";

/// The type of the context that elements share.
const CONTEXT: &str = "gst.cuda.context";

/// The map flag that selects the device memory, `GST_MAP_CUDA`.
pub(super) const MAP_CUDA: c_uint = gst::ffi::GST_MAP_FLAG_LAST << 1;

/// Declares the functions of the library that are called here.
macro_rules! functions {
    ($($name:ident: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        struct Functions {
            $($name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
            /// Waits until the memory is written. Since GStreamer 1.24, elements push memory before. Version 1.22 waits
            /// before the push and does not have this function.
            gst_cuda_memory_sync: Option<unsafe extern "C" fn(*mut gst::ffi::GstMemory)>,
            _library: Library,
        }

        impl Functions {
            /// Loads the library. Returns `None` if it is missing or too old.
            fn load() -> Option<Self> {
                // SAFETY: loading GStreamer's library only registers types.
                let library = unsafe { Library::new("libgstcuda-1.0.so.0") }.ok()?;
                Some(Self {
                    // SAFETY: the signatures are those of the header files of GStreamer 1.22.
                    $($name: *unsafe { library.get(stringify!($name)) }.ok()?,)*
                    // SAFETY: the signature is that of the header file of GStreamer 1.24.
                    gst_cuda_memory_sync: unsafe { library.get("gst_cuda_memory_sync") }
                        .ok()
                        .map(|function| *function),
                    _library: library,
                })
            }
        }
    };
}

functions! {
    gst_cuda_load_library: fn() -> gboolean;
    gst_cuda_memory_init_once: fn();
    gst_cuda_context_new_wrapped: fn(sys::CUcontext, sys::CUdevice) -> *mut c_void;
    gst_cuda_context_get_handle: fn(*mut c_void) -> *mut c_void;
    gst_context_new_cuda_context: fn(*mut c_void) -> *mut gst::ffi::GstContext;
    gst_cuda_handle_context_query:
        fn(*mut gst::ffi::GstElement, *mut gst::ffi::GstQuery, *mut c_void) -> gboolean;
    gst_is_cuda_memory: fn(*mut gst::ffi::GstMemory) -> gboolean;
    gst_cuda_buffer_pool_new: fn(*mut c_void) -> *mut gst::ffi::GstBufferPool;
}

/// The library, if it and a driver can be loaded.
static FUNCTIONS: LazyLock<Option<Functions>> = LazyLock::new(|| {
    let functions = Functions::load()?;
    // SAFETY: both functions may be called at any time after `gst_init`, which has registered this plugin.
    unsafe {
        if (functions.gst_cuda_load_library)() == glib::ffi::GFALSE {
            return None;
        }
        (functions.gst_cuda_memory_init_once)();
    }
    Some(functions)
});

/// Returns whether CUDA memory is available on this machine.
pub(super) fn is_available() -> bool {
    FUNCTIONS.is_some()
}

/// Returns whether a query asks for a CUDA context.
pub(super) fn is_asked_for(query: &gst::QueryRef) -> bool {
    match query.view() {
        gst::QueryView::Context(query) => query.context_type() == CONTEXT && is_available(),
        _ => false,
    }
}

/// The public fields of `GstCudaMemory`.
#[repr(C)]
struct CudaMemory {
    memory: gst::ffi::GstMemory,
    context: *mut c_void,
}

/// The primary context of a GPU, as a `GstCudaContext`.
#[derive(Clone, Debug)]
pub(super) struct Context {
    object: gst::Object,
    handle: sys::CUcontext,
}

// SAFETY: a CUDA context may be used on any thread, and `GstObject`s are thread-safe.
unsafe impl Send for Context {}

impl Context {
    /// Wraps the primary context of the device. Returns `None` on the CPU, and if CUDA memory is not available.
    pub(super) fn of(device: &Device) -> Option<Self> {
        let functions = FUNCTIONS.as_ref()?;
        let ordinal = device.cuda_info()?.ordinal;
        let mut handle = ptr::null_mut();
        let (mut number, ordinal) = (0, c_int::try_from(ordinal).ok()?);
        // SAFETY: the driver writes the results to local variables. `device` exists, so the driver is initialised. The
        // primary context stays retained until the process ends, because the wrapper does not release it.
        let object = unsafe {
            sys::cuDeviceGet(&raw mut number, ordinal).to_result().ok()?;
            sys::cuDevicePrimaryCtxRetain(&raw mut handle, number).to_result().ok()?;
            let object = (functions.gst_cuda_context_new_wrapped)(handle, number);
            if object.is_null() {
                return None;
            }
            gst::Object::from_glib_full(object.cast::<gst::ffi::GstObject>())
        };
        Some(Self { object, handle })
    }

    fn as_ptr(&self) -> *mut c_void {
        let object: *mut gst::ffi::GstObject = self.object.to_glib_none().0;
        object.cast()
    }

    /// Offers this context to the other elements of the pipeline.
    pub(super) fn share(&self, element: &gst::Element) {
        let Some(functions) = &*FUNCTIONS else { return };
        // SAFETY: the function returns a new reference.
        let context: gst::Context = unsafe {
            gst::Context::from_glib_full((functions.gst_context_new_cuda_context)(self.as_ptr()))
        };
        element.set_context(&context);
        let message = gst::message::HaveContext::builder(context).src(element).build();
        let _ = element.post_message(message);
    }

    /// Answers a query for a context. Returns whether it was one for a CUDA context.
    pub(super) fn answer(&self, element: &gst::Element, query: &mut gst::QueryRef) -> bool {
        let Some(functions) = &*FUNCTIONS else { return false };
        if !is_asked_for(query) {
            return false;
        }
        // SAFETY: the element and the query are valid during the call.
        let answered = unsafe {
            (functions.gst_cuda_handle_context_query)(
                element.to_glib_none().0,
                query.as_mut_ptr(),
                self.as_ptr(),
            )
        };
        answered != glib::ffi::GFALSE
    }

    /// Returns a pool of CUDA memory for frames with these caps, and the bytes of each buffer.
    pub(super) fn pool(
        &self,
        caps: &gst::Caps,
        info: &VideoInfo,
        least: u32,
        most: u32,
    ) -> Option<(gst::BufferPool, u32)> {
        let functions = FUNCTIONS.as_ref()?;
        // SAFETY: the function returns a new reference to a pool, or null.
        let pool: Option<gst::BufferPool> = unsafe {
            glib::translate::from_glib_full((functions.gst_cuda_buffer_pool_new)(self.as_ptr()))
        };
        let pool = pool?;
        let mut config = pool.config();
        config.add_option(gst_video::BUFFER_POOL_OPTION_VIDEO_META.as_ref());
        config.set_params(Some(caps), u32::try_from(info.size()).ok()?, least, most);
        pool.set_config(config).ok()?;
        // The pool has padded the rows.
        let (_, size, ..) = pool.config().params()?;
        Some((pool, size))
    }

    /// Returns whether all memory of the buffer is CUDA memory of this context.
    pub(super) fn owns(&self, buffer: &gst::BufferRef) -> bool {
        let Some(functions) = &*FUNCTIONS else { return false };
        let is_own = |memory: &gst::MemoryRef| {
            let memory = memory.as_mut_ptr();
            // SAFETY: the memory is valid while the buffer is borrowed. If it is CUDA memory, it has the fields of
            // `CudaMemory`.
            unsafe {
                if (functions.gst_is_cuda_memory)(memory) == glib::ffi::GFALSE {
                    return false;
                }
                let context = (*memory.cast::<CudaMemory>()).context;
                (functions.gst_cuda_context_get_handle)(context).cast() == self.handle
            }
        };
        buffer.n_memory() > 0 && buffer.iter_memories().all(is_own)
    }
}

/// Waits until a buffer of CUDA memory, for which [`Context::owns`] has returned true, is written. Returns `None` if
/// GStreamer's library is missing.
pub(super) fn await_written(buffer: &gst::BufferRef) -> Option<()> {
    if let Some(sync) = FUNCTIONS.as_ref()?.gst_cuda_memory_sync {
        for memory in buffer.iter_memories() {
            // SAFETY: the memory is CUDA memory, as `Context::owns` has checked, and valid during the call.
            unsafe { sync(memory.as_mut_ptr()) };
        }
    }
    Some(())
}
