//! Host memory that the device reads directly, for the buffers of upstream elements.

use std::sync::OnceLock;

use gst::glib;
use gst::glib::translate::IntoGlibPtr;
use gst::prelude::*;
use gst::subclass::prelude::*;
use panoweave::device::{Device, Pinned};

glib::wrapper! {
    /// An allocator of host memory that is page-locked for a GPU.
    pub(crate) struct HostAllocator(ObjectSubclass<Allocator>) @extends gst::Allocator, gst::Object;
}

impl HostAllocator {
    pub(super) fn new(device: Device) -> Self {
        let this: Self = glib::Object::new();
        this.imp().device.get_or_init(|| device);
        this
    }
}

#[derive(Debug, Default)]
pub(crate) struct Allocator {
    device: OnceLock<Device>,
}

/// Memory from an aligned index on.
struct Block(Pinned<u8>, usize);

impl AsMut<[u8]> for Block {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.0[self.1..]
    }
}

#[glib::object_subclass]
impl ObjectSubclass for Allocator {
    const NAME: &'static str = "GstPanoweaveAllocator";
    type Type = HostAllocator;
    type ParentType = gst::Allocator;
}

impl ObjectImpl for Allocator {}
impl GstObjectImpl for Allocator {}

impl Allocator {
    /// Returns memory, or `None` if page-locked memory is exhausted.
    fn allocate(&self, size: usize, params: &gst::AllocationParams) -> Option<gst::Memory> {
        let (prefix, align) = (params.prefix(), params.align());
        let whole = size.checked_add(prefix)?.checked_add(params.padding())?.checked_add(align)?;
        let pinned = Pinned::<u8>::new(self.device.get()?, whole).ok()?;
        let start = pinned.as_ptr().addr().wrapping_neg() & align;
        let mut memory = gst::Memory::from_mut_slice(Block(pinned, start));
        memory.get_mut()?.resize(prefix..prefix + size);
        Some(memory)
    }
}

// SAFETY: `alloc` returns new memory of at least the requested size, or null. Another allocator frees it.
unsafe impl AllocatorImpl for Allocator {
    unsafe fn alloc(
        &self,
        size: usize,
        params: &gst::AllocationParams,
    ) -> *mut gst::ffi::GstMemory {
        let pageable = || gst::Allocator::find(None)?.alloc(size, Some(params)).ok();
        let memory = self.allocate(size, params).or_else(pageable);
        memory.map_or(std::ptr::null_mut(), |memory| memory.into_glib_ptr())
    }
}
