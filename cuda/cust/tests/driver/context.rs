//! Tests devices, the current context of a thread, and its limits.

use std::thread;

use cust::CudaApiVersion;
use cust::context::{Context, CurrentContext, ResourceLimit};
use cust::device::{Device, DeviceAttribute};
use cust::error::CudaError;
use cust::memory::DeviceBuffer;

use crate::cpu;

#[test]
fn the_cpu_is_one_device() {
    let _context = cpu();
    assert_eq!(Device::num_devices(), Ok(1));
    assert_eq!(Device::devices().expect("a list").count(), 1);
    assert_eq!(Device::get_device(1), Err(CudaError::InvalidDevice));
    let device = Device::get_device(0).expect("device 0");
    assert_eq!(device.name().as_deref(), Ok("CPU"));
    assert_eq!(device.get_attribute(DeviceAttribute::WarpSize), Ok(32));
    assert_eq!(device.get_attribute(DeviceAttribute::MaxThreadsPerBlock), Ok(1024));
    assert!(device.total_memory().expect("a size") > 1 << 20);
    let (free, total) = cust::memory::mem_get_info().expect("sizes");
    assert!(free <= total && total == device.total_memory().expect("a size"));
    assert!(CudaApiVersion::get().expect("a version").major() >= 12);
}

#[test]
fn a_call_without_a_context_fails() {
    let context = cpu();
    let other = thread::spawn(move || {
        let invalid = CudaError::InvalidContext;
        assert_eq!(DeviceBuffer::<u8>::zeroed(1).map(drop), Err(invalid));
        assert_eq!(CurrentContext::get_device(), Err(invalid));
        assert_eq!(CurrentContext::synchronize(), Err(invalid));
        assert_eq!(CurrentContext::get_resource_limit(ResourceLimit::StackSize), Err(invalid));
        let limit = CurrentContext::set_resource_limit(ResourceLimit::StackSize, 1 << 12);
        assert_eq!(limit, Err(invalid));
        assert_eq!(CurrentContext::get_stream_priority_range().map(drop), Err(invalid));
        CurrentContext::set_current(&context).expect("any thread may use the context");
        assert_eq!(CurrentContext::get_device(), Device::get_device(0));
        assert!(DeviceBuffer::<u8>::zeroed(1).is_ok());
    });
    other.join().expect("the other thread");
}

/// Checks that a program can read back the limit that it has set. Limits are process-wide, so no
/// other test changes them.
#[test]
fn limits_are_read_back() {
    let _context = cpu();
    CurrentContext::set_resource_limit(ResourceLimit::MallocHeapSize, 3 << 20).expect("a limit");
    assert_eq!(CurrentContext::get_resource_limit(ResourceLimit::MallocHeapSize), Ok(3 << 20));
    let range = CurrentContext::get_stream_priority_range().expect("a range");
    assert!(range.greatest < range.least);
}

#[test]
fn clones_are_the_same_context() {
    let context = cpu();
    let clone = context.clone();
    assert_eq!(clone.as_raw(), context.as_raw());
    Context::drop(context).expect("released");
    assert!(DeviceBuffer::<u8>::zeroed(1).is_ok());
    drop(clone);
}
