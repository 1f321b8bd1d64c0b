//! Tests the objects of launches by name: contexts, memory, modules and events.

use std::thread;
use std::time::Duration;

use cuda_std::cpu::POISON;
use cuda_std::launch::{KERNELS, KernelEntry, LaunchBounds};
use cust::__private::linkme::distributed_slice;
use cust::context::{CurrentContext, ResourceLimit};
use cust::device::{Device, DeviceAttribute};
use cust::error::CudaError;
use cust::event::{Event, EventFlags, EventStatus};
use cust::launch;
use cust::memory::{
    AsyncCopyDestination, CopyDestination, DeviceBox, DeviceBuffer, LockedBuffer, UnifiedBuffer,
};
use cust::module::Module;
use cust::util::SliceExt;

use crate::{cpu, module, ptx, stream};

#[test]
fn the_cpu_is_one_device() {
    let context = cpu();
    assert_eq!(Device::get_device(1), Err(CudaError::InvalidDevice));
    let device = Device::get_device(0).expect("device 0");
    assert_eq!(device.name().as_deref(), Ok("CPU"));
    assert_eq!(device.get_attribute(DeviceAttribute::MaxThreadsPerBlock), Ok(1024));
    let other = thread::spawn(move || {
        let invalid = CudaError::InvalidContext;
        let limit = || CurrentContext::set_resource_limit(ResourceLimit::StackSize, 1 << 12);
        assert_eq!(DeviceBuffer::<u8>::zeroed(1).map(drop), Err(invalid));
        assert_eq!(limit(), Err(invalid));
        CurrentContext::set_current(&context).expect("any thread may use the context");
        assert_eq!(limit(), Ok(()));
        assert!(DeviceBuffer::<u8>::zeroed(1).is_ok());
    });
    other.join().expect("the other thread");
}

#[test]
fn fresh_memory_is_poisoned_or_zero() {
    let _context = cpu();
    // SAFETY: every bit pattern is a valid `u32`.
    let poisoned = unsafe { DeviceBuffer::<u32>::uninitialized(3) }.expect("memory");
    assert_eq!(poisoned.as_host_vec().expect("copied"), [u32::from_ne_bytes([POISON; 4]); 3]);
    let zeros = DeviceBuffer::<u32>::zeroed(3).expect("memory");
    assert_eq!(zeros.as_host_vec().expect("copied"), [0; 3]);
}

#[test]
fn buffers_without_bytes_need_no_memory() {
    let _context = cpu();
    let empty = DeviceBuffer::<u32>::from_slice(&[]).expect("no memory");
    assert!(empty.is_empty() && empty.as_device_ptr().is_null());
    assert_eq!(empty.as_host_vec().expect("nothing to copy"), []);
    let units = DeviceBuffer::<()>::from_slice(&[(); 5]).expect("no memory");
    assert_eq!((units.len(), units.as_host_vec()), (5, Ok(vec![(); 5])));
    assert!(LockedBuffer::new(&0_u32, 0).expect("no memory").is_empty());
    assert_eq!(UnifiedBuffer::from_slice(&[(); 5]).expect("no memory")[..], [(); 5]);
    assert_eq!(DeviceBox::new(&()).expect("no memory").as_host_value(), Ok(()));
}

/// The sizes exceed the address space, or the alignment of the elements that of the memory: a
/// reference to a misaligned element would be undefined behaviour.
#[test]
fn impossible_allocations_are_refused() {
    #[derive(Clone, Copy, Debug, PartialEq, cust::DeviceCopy)]
    #[repr(align(512))]
    struct Page(u8);

    let _context = cpu();
    let invalid = CudaError::InvalidMemoryAllocation;
    assert_eq!(DeviceBuffer::<u64>::zeroed(usize::MAX / 4).map(drop), Err(invalid));
    assert_eq!(LockedBuffer::new(&0_u64, usize::MAX / 4).map(drop), Err(invalid));
    assert_eq!(UnifiedBuffer::new(&0_u64, usize::MAX / 4).map(drop), Err(invalid));
    let most = DeviceBuffer::<u8>::zeroed(isize::MAX as usize - 4096).map(drop);
    assert_eq!(most, Err(CudaError::OutOfMemory));
    assert_eq!(LockedBuffer::from_slice(&[Page(1); 2]).map(drop), Err(invalid));
    assert_eq!(UnifiedBuffer::from_slice(&[Page(1); 2]).map(drop), Err(invalid));
    assert_eq!(DeviceBuffer::from_slice(&[Page(1); 2]).map(drop), Err(invalid));
}

#[test]
#[should_panic(expected = "a buffer of 3 elements cannot be copied from or to 2 elements")]
fn a_copy_of_another_length_panics() {
    let _context = cpu();
    let mut buffer = [1_u8, 2, 3].as_dbuf().expect("memory");
    let _ = buffer.copy_from(&[1, 2]);
}

#[test]
fn copies_wait_or_are_submitted() {
    let _context = cpu();
    let stream = stream();
    let mut buffer = [1_u16, 2, 3].as_dbuf().expect("memory");
    let mut host = [0; 3];
    buffer.copy_to(&mut host).expect("copied");
    assert_eq!(host, [1, 2, 3]);
    let locked = LockedBuffer::from_slice(&[4_u16, 5, 6]).expect("memory");
    let mut back = LockedBuffer::new(&0_u16, 3).expect("memory");
    // SAFETY: all buffers live, and nothing accesses them, until the stream is synchronised.
    unsafe {
        buffer.async_copy_from(&locked, &stream).expect("submitted");
        buffer.async_copy_to(&mut back, &stream).expect("submitted");
    }
    stream.synchronize().expect("done");
    assert_eq!(back.as_slice(), [4, 5, 6]);

    let mut one = DeviceBox::new(&5_u64).expect("memory");
    one.copy_from(&6).expect("copied");
    let mut value = 0;
    one.copy_to(&mut value).expect("copied");
    assert_eq!(value, 6);
}

#[test]
fn kernels_reach_unified_memory() {
    let _context = cpu();
    let (module, stream) = (module(), stream());
    let numbers = UnifiedBuffer::from_slice(&[1_u32, 2, 3, 4]).expect("memory");
    let mut total = UnifiedBuffer::new(&100_u32, 1).expect("memory");
    total[0] += 1;
    // SAFETY: the kernel stays within the slice.
    unsafe {
        launch!(module.sum<<<2, 4, 0, stream>>>(
            numbers.as_device_ptr(),
            numbers.len(),
            total.as_device_ptr()
        ))
    }
    .expect("the kernel runs");
    stream.synchronize().expect("done");
    assert_eq!(total[0], 111);
}

#[test]
fn a_module_has_the_kernels_that_its_ptx_names() {
    let _context = cpu();
    let module = Module::from_ptx(ptx(&["add", "nowhere"], ""), &[]).expect("the PTX loads");
    assert!(module.get_function("add").is_ok());
    // `unlisted` is linked but not in the PTX. `nowhere` is in the PTX but not linked. `ad` is
    // neither.
    for name in ["unlisted", "nowhere", "ad", "ad\0d"] {
        let found = module.get_function(name).map(drop);
        assert_eq!(found, Err(CudaError::NotFound), "{name:?}");
    }
}

/// Registers a kernel `twice` of the package `$package` with a limit of `$threads` threads per
/// block, as `#[kernel]` would.
macro_rules! twice {
    ($name:ident, $package:literal, $threads:literal) => {
        #[distributed_slice(KERNELS)]
        #[linkme(crate = cust::__private::linkme)]
        static $name: KernelEntry = KernelEntry {
            name: "twice",
            package: $package,
            bounds: LaunchBounds { max_threads: $threads, min_blocks: 0, block_multiple: 1 },
            dims: 1,
            params: &[],
            threads: |_, _| (),
            cpu: None,
        };
    };
}
twice!(FIRST, "first", 32);
twice!(SECOND, "second", 64);

#[test]
fn the_package_chooses_among_kernels_of_one_name() {
    let _context = cpu();
    let load = |comment: &str| {
        Module::from_ptx(format!("{comment}\n{}", ptx(&["add", "twice"], "")), &[])
            .expect("the PTX loads")
    };
    for (package, threads) in [("first", 32), ("second", 64)] {
        let module = load(&format!("// cuda_builder.package {package} 0.1.0"));
        let twice = module.get_function("twice").expect("a kernel");
        let (grid, block) = twice.suggested_launch_configuration(0, 0.into()).expect("a shape");
        assert!(grid >= 1);
        assert_eq!(block, threads);
        assert!(module.get_function("add").is_ok(), "only one kernel has this name");
    }
    for comment in ["", "// cuda_builder.package third"] {
        let twice = load(comment).get_function("twice").map(drop);
        assert_eq!(twice, Err(CudaError::NotFound), "{comment:?}");
    }
}

#[test]
fn constants_are_set_by_name() {
    let _context = cpu();
    let (module, stream) = (module(), stream());
    let mut taps = module.get_global::<[f32; 4]>(c"TAPS").expect("a constant");
    let mut value = [9.0; 4];
    taps.copy_to(&mut value).expect("copied");
    assert_eq!(value, [0.0; 4]);
    taps.copy_from(&[1.0, 2.0, 3.0, 4.0]).expect("copied");
    taps.copy_to(&mut value).expect("copied");
    let out = DeviceBuffer::<f32>::zeroed(4).expect("memory");
    // SAFETY: each of the four threads writes one of the four elements.
    unsafe { launch!(module.taps<<<1, 4, 0, stream>>>(out.as_device_ptr())) }
        .expect("the kernel runs");
    assert_eq!(out.as_host_vec().expect("copied"), [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(value, [1.0, 2.0, 3.0, 4.0]);

    let wrong = module.get_global::<[f32; 3]>(c"TAPS").map(drop);
    assert_eq!(wrong, Err(CudaError::InvalidValue));
    assert_eq!(module.get_global::<f32>(c"TAP").map(drop), Err(CudaError::NotFound));
}

#[test]
fn launch_shapes_have_a_limit() {
    let _context = cpu();
    let module = module();
    let narrow = module.get_function("narrow").expect("a kernel");
    for (limit, block) in [(0, 64), (32, 32)] {
        let shape = narrow.suggested_launch_configuration(0, limit.into()).expect("a shape");
        assert_eq!(shape.1, block);
    }
    let huge = narrow.suggested_launch_configuration(0, (u32::MAX, 2).into());
    assert_eq!(huge, Err(CudaError::InvalidValue));
}

#[test]
fn events_measure_time() {
    let _context = cpu();
    let [first, second] = [stream(), stream()];
    let [start, end, never] = [(); 3].map(|()| Event::new(EventFlags::DEFAULT).expect("an event"));
    start.record(&first).expect("recorded");
    thread::sleep(Duration::from_millis(5));
    second.wait_event(&start).expect("waits");
    end.record(&second).expect("recorded");
    end.synchronize().expect("done");
    assert_eq!(end.query(), Ok(EventStatus::Ready));
    assert!(end.elapsed(&start).expect("a time") >= Duration::from_millis(5));
    assert!(end.elapsed_time_f32(&start).expect("a time") >= 5.0);
    assert_eq!(start.elapsed(&end), Ok(Duration::ZERO));
    assert!(end.elapsed(&never).is_err());
}
